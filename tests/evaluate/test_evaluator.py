"""Evaluation: scenarios reduced, constraints and relations judged, NaN and infinity handled."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.cli import main
from dse.evaluate.criteria import Reduction
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError, evaluate_naming_failures
from dse.evaluate.space import Choice, Integer, Space, Values
from objectives.logca import offload
from tests.core_examples import constraint, evaluator, model, model_graph, objective, relation

SPACE: dict[str, Any] = {
    "lanes": Integer(1, 8),
    "row": Choice({"card": {"overhead": 9.0}, "port": {"overhead": 1.0}}),
}
TIME = model(
    "time",
    lambda lanes, overhead, size: overhead + size / lanes,
    ["lanes", "overhead", "size"],
    ["time"],
)
AREA = model("area", lambda lanes: lanes**2, ["lanes"], ["area"])

positive = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9)


def reduced(values: list[float], how: str, quantile: float = 0.5) -> float:
    each = [{"x": float(i)} for i in range(len(values))]
    both = np.array([[v, v] for v in values])
    result = objective("y", "minimize", each, how, quantile).reduced(both, 2)
    assert result.shape == (2,)
    assert np.array_equal(result[0], result[1], equal_nan=True)
    return float(result[0])


@given(positive, st.floats(0, 1))
def test_reductions_agree_with_the_standard_library(values: list[float], share: float) -> None:
    assert reduced(values, "mean") == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert reduced(values, "min") == min(values)
    assert reduced(values, "max") == max(values)
    assert reduced(values, "harmonic mean") == pytest.approx(
        statistics.harmonic_mean(values), rel=1e-12
    )
    assert reduced(values, "quantile") == pytest.approx(statistics.median(values), rel=1e-12)
    assert reduced(values, "quantile", share) == pytest.approx(
        float(np.quantile(values, share)), rel=1e-9
    )


@pytest.mark.parametrize(
    ("values", "how", "share", "wanted"),
    [
        ([1.0, math.inf, math.inf], "quantile", 0.5, math.inf),
        ([1.0, 2.0, math.inf], "quantile", 0.5, 2.0),
        ([1.0, 2.0, math.inf], "quantile", 0.75, math.inf),
        ([-math.inf, 2.0], "quantile", 0.5, -math.inf),
        ([math.inf, math.inf], "quantile", 0.3, math.inf),
        ([1.0, math.nan, 3.0], "quantile", 0.0, math.nan),
        ([1.0, math.inf], "mean", 0, math.inf),
        ([1.0, math.inf], "min", 0, 1.0),
        ([1.0, math.nan], "min", 0, math.nan),
        ([1.0, math.nan], "max", 0, math.nan),
        ([1.0, math.inf], "harmonic mean", 0, 2.0),
        ([math.inf, math.inf], "harmonic mean", 0, math.inf),
        ([-math.inf, -math.inf], "harmonic mean", 0, -math.inf),
        ([1.0, 0.0], "harmonic mean", 0, 0.0),
        ([1.0, math.nan], "harmonic mean", 0, math.nan),
    ],
)
def test_infinity_and_nan(values: list[float], how: str, share: float, wanted: float) -> None:
    assert np.array_equal(reduced(values, how, share), wanted, equal_nan=True)


def test_a_quantile_never_falls_if_a_value_rises() -> None:
    low = np.random.default_rng(0).uniform(0.1, 10, 10_000)
    terms, raised = np.array([low, low]), np.array([low, np.nextafter(low, np.inf)])
    for share in (0.05, 0.3, 0.95):
        quantile = Reduction("quantile", share)
        assert (quantile(raised) >= quantile(terms)).all()


def test_scenarios_that_do_not_depend_on_the_design_broadcast() -> None:
    each = [{"x": 0.0}, {"x": 1.0}]
    combined = objective("y", "minimize", each, "mean").reduced(np.array([[1.0], [5.0]]), 2)
    assert combined.tolist() == [3.0, 3.0]
    assert objective("y", "minimize", each, "max").reduced(np.array(7.0), 2).tolist() == [7.0, 7.0]


def test_objectives_and_constraints_against_a_loop_over_designs() -> None:
    sizes = (4.0, 8.0, 32.0)
    judge = evaluator(
        SPACE,
        [AREA, TIME],
        [
            objective("time", scenarios=[{"size": s} for s in sizes], reduction="harmonic mean"),
            objective("area", "maximize"),
        ],
        [
            constraint("time", 12.0),
            constraint("area", 4.0, upper=False),
            relation("lanes * overhead < 36"),
        ],
        size=16.0,
    )
    judged = judge.evaluate(judge.space.from_index(np.arange(16)))
    for row, (lanes, overhead) in enumerate(itertools.product(range(1, 9), (9.0, 1.0))):
        times = [overhead + s / lanes for s in sizes]
        assert judged.objectives[row].tolist() == [
            pytest.approx(statistics.harmonic_mean(times), rel=1e-14),
            lanes**2,
        ]
        time = overhead + 16.0 / lanes
        assert judged.constrained[row, 0] == time
        assert judged.constrained[row, 1] == lanes**2
        assert judge.violations(judged.constrained)[row].tolist()[1] == 4.0 - lanes**2
        holds = time <= 12.0 and lanes**2 >= 4.0 and lanes * overhead < 36
        assert judged.feasible[row] == holds
    assert judge.signs.tolist() == [1.0, -1.0]
    assert 0 < judged.feasible.sum() < 16


def test_undefined_objectives_and_constraints_are_infeasible_and_infinite_ones_are_not() -> None:
    odd = model(
        "odd",
        lambda x: (
            np.where(x == 2, np.nan, np.where(x == 3, np.inf, x)),
            np.where(x == 4, np.nan, 0),
        ),
        ["x"],
        ["y", "z"],
    )
    judge = evaluator(
        {"x": Values((1.0, 2.0, 3.0, 4.0))}, [odd], [objective("y")], [constraint("z", 1.0)]
    )
    judged = judge.evaluate(judge.space.from_index(np.arange(4)))
    assert judged.feasible.tolist() == [True, False, True, False]
    assert judged.objectives[2, 0] == math.inf
    bare = evaluator({"x": Values((1.0, 2.0, 3.0, 4.0))}, [odd], [objective("y")])
    assert bare.evaluate(bare.space.from_index(np.arange(4))).constrained.shape == (4, 0)
    assert bare.evaluate(bare.space.from_index(np.arange(4))).feasible.tolist() == [1, 0, 1, 1]


def test_objectives_alone_are_the_objectives() -> None:
    judge = evaluator(SPACE, [AREA, TIME], [objective("time"), objective("area")], size=16.0)
    points = judge.space.from_index(np.arange(16))
    alone = judge.objective_values(judge.space.columns(points), 16)
    assert np.array_equal(alone, judge.evaluate(points).objectives)


@pytest.mark.parametrize(("how", "wanted"), [("max", [3, 6]), ("min", [1, 2]), ("mean", [2, 4])])
def test_a_constraint_takes_scenarios_as_an_objective_does(how: Any, wanted: list[float]) -> None:
    sizes = (8.0, 16.0, 24.0)
    bounded = dataclasses.replace(
        constraint("time", 4.0), conditions={"size": sizes}, reduction=Reduction(how)
    )
    related = dataclasses.replace(
        relation("time <= 4"), conditions={"size": sizes}, reduction=Reduction(how)
    )
    judged = evaluator(
        {"lanes": Values((8.0, 4.0))},
        [TIME],
        [objective("time", "minimize", [{"size": s} for s in sizes], how)],
        [bounded, related],
        overhead=0.0,
    )
    assert judged.scenarios == 3
    found = judged.evaluate({"lanes": np.array([8.0, 4.0])})
    assert found.objectives[:, 0].tolist() == wanted
    assert found.constrained[:, 0].tolist() == wanted
    assert judged.violations(found.constrained).tolist() == [[w - 4, w - 4] for w in wanted]
    assert found.feasible.tolist() == [w <= 4 for w in wanted]


# Errors of models, located: the designs that a message names ----------------------------------


def test_an_output_of_one_length_is_found_on_a_single_design() -> None:
    """Half of the batch has that length by chance, so no half of it shows the fault."""
    fixed = model("fixed", lambda x: np.arange(8.0), ["x"], ["y"])
    space = Space({"x": Integer(0, 15)})
    evaluator = Evaluator(model_graph([fixed], ["x"]), space, (objective("y"),), ())
    with pytest.raises(DesignError, match=r"design 0 \(x = 0\).*shape \(8,\)"):
        evaluate_naming_failures(evaluator, {"x": np.arange(16.0)}, 0)


# One quantity under several conditions: each has its own column, in tables and explanations ---


STUDY = """
[study]
name = "t"
models = ["objectives.logca:offload"]
[inputs]
overhead = 29000
latency = 1500
computational_index = 90
[space]
acceleration = { integer = [2, 64] }
[[objective]]
maximize = "speedup"
at = { granularity = "1 KiB" }
[[constraint]]
quantity = "speedup"
at_least = 1.5
at = { granularity = "4 KiB" }
[[constraint]]
quantity = "speedup"
at_most = 30
at = { granularity = "64 KiB" }
[[constraint]]
quantity = "speedup"
at_least = 1
at = { granularity = "1 KiB" }
"""


def _dse(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["dse", *arguments])
    main()


def test_each_condition_of_a_quantity_has_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "study.toml", tmp_path / "out"
    path.write_text(STUDY)
    _dse(monkeypatch, "run", str(path), "--out", str(out))
    designs = pd.read_csv(out / "designs.csv", index_col="design")
    acceleration = designs["acceleration"].to_numpy(dtype=np.float64)
    columns = {  # the third constraint is the objective's own column
        "speedup": 2.0**10,
        "speedup at granularity = 4 KiB": 2.0**12,
        "speedup at granularity = 64 KiB": 2.0**16,
    }
    assert {str(name) for name in designs if str(name).startswith("speedup")} == set(columns)
    for name, granularity in columns.items():
        truth = offload(granularity, 29000.0, 1500.0, 0.0, 90.0, 1.0, acceleration).speedup
        assert designs[name].to_numpy() == pytest.approx(truth, rel=1e-15)
    number = int(designs.index[0])
    capsys.readouterr()
    _dse(monkeypatch, "explain", str(out), "--design", str(number), "--json")
    (told,) = json.loads(capsys.readouterr().out)["designs"]
    assert told["values"]["speedup"] == pytest.approx(designs["speedup"].iloc[0], rel=1e-15)
