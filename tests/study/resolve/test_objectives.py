"""Scenarios are an axis of the arrays: against one objective a scenario, however they are run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.evaluate.lookup_tables import look_up_outputs, tabulate_models

SIZES = [64.0, 1024.0, 65536.0]


def content(objectives: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
    return {
        "study": {"name": "scenarios", "models": ["objectives.logca:offload"]},
        "inputs": {
            "overhead": 2000,
            "latency_per_byte": 1.5,
            "computational_index": 90,
            "complexity": 1.1,
        },
        "space": {
            "acceleration": {"integer": [2, 40]},
            "latency": {"values": [0, 10, 100]},
        },
        "objective": [*objectives, {"minimize": "acceleration"}],
        "run": run,
    }


def study(objectives: list[dict[str, Any]], **run: Any) -> dse.Study:
    return dse.from_mapping(content(objectives, **run))


def evaluated(of: dse.Study) -> Any:
    index = np.arange(of.evaluator.space.size or 0)
    return of.evaluator.evaluate(of.evaluator.space.from_index(index)).objectives


@pytest.mark.parametrize("weights", [None, [3, 1, 0.5]])
@pytest.mark.parametrize("reduction", ["mean", "harmonic mean", "min", "max"])
def test_scenarios_against_one_objective_each(reduction: str, weights: list[float] | None) -> None:
    given: dict[str, Any] = {"maximize": "speedup", "over": {"granularity": SIZES}}
    given["reduce"] = reduction
    if weights is not None and "mean" in reduction:
        given["weights"] = weights
    each = [{"maximize": "speedup", "at": {"granularity": s}, "name": f"s{s:g}"} for s in SIZES]
    columns = evaluated(study(each))[:, :3]
    by_hand = {
        "mean": np.average(columns, axis=1, weights=weights),
        "min": columns.min(axis=1),
        "max": columns.max(axis=1),
        "harmonic mean": 1 / np.average(1 / columns, axis=1, weights=weights),
    }[reduction]
    assert evaluated(study([given]))[:, 0] == pytest.approx(by_hand, rel=1e-14)


def test_two_axes_of_scenarios_are_every_combination() -> None:
    over = {"granularity": SIZES, "computational_index": [50, 90]}
    at = {"complexity": 1.0}
    both = study([{"maximize": "speedup", "over": over, "reduce": "min", "at": at}])
    (objective, _) = both.evaluator.objectives
    assert objective.scenarios == 2 * len(SIZES)
    assert objective.conditions == {
        "complexity": 1.0,
        "granularity": (64.0, 64.0, 1024.0, 1024.0, 65536.0, 65536.0),
        "computational_index": (50.0, 90.0) * 3,
    }


def test_tables_chunks_and_workers_give_the_same_bytes() -> None:
    objective = {"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": "mean"}
    whole = study([objective]).run().designs.to_csv()
    for run in ({"chunk": 1}, {"chunk": 7, "workers": 2}, {"chunk": 50}):
        assert study([objective], **run).run().designs.to_csv() == whole


class Moved(NamedTuple):
    moved: Annotated[Array, Quantity("s", "time on the way")]


class Gained(NamedTuple):
    gain: Annotated[Array, Quantity("1", "gain")]


Lanes = Annotated[Floats, Quantity("1", "lanes", above=0)]
Size = Annotated[Floats, Quantity("B", "data of a call", above=0)]


def moving(lanes: Lanes, size: Size) -> Moved:
    return Moved(np.sqrt(size) / lanes)


def gaining(
    moved: Annotated[Floats, Quantity("s", "time on the way")],
    depth: Annotated[Floats, Quantity("1", "depth", above=0)],
) -> Gained:
    return Gained(np.log1p(depth) / (1.0 + moved))


@pytest.mark.parametrize("weights", [{}, {"weights": [3, 1, 0.5]}])
@pytest.mark.parametrize("bound", [{"quantity": "moved", "at_most": 2}, {"relation": "lanes > 9"}])
def test_other_designs_have_the_same_bits_if_excluded_ones_are_not_asked(
    bound: dict[str, Any], weights: dict[str, Any]
) -> None:
    at = {"at": {"size": 1024.0}} if "quantity" in bound else {}
    over = {"over": {"size": SIZES}, "reduce": "mean", **weights}
    judge = dse.from_mapping(
        {
            "study": {"name": "screened", "models": ["moving", "gaining"]},
            "space": {"lanes": {"integer": [1, 30]}, "depth": {"integer": [1, 40]}},
            "objective": [{"maximize": "gain", **over}],
            "constraint": [{**bound, **at}],
        },
        {"moving": moving, "gaining": gaining},
    ).evaluator
    space, tables = judge.space, tabulate_models(judge)
    assert any(np.ndim(v) == 2 for table in tables.values() for v in table.outputs.values())
    digits = space.digits(np.arange(space.size or 0))
    points = space.from_digits(digits)
    every = judge.evaluate(points)
    excluded = (judge.violations(every.constrained) > 0).any(axis=1)
    assert 0 < excluded.sum() < len(every)
    screening, known = replace(judge, screens=True), look_up_outputs(space, tables, digits)
    for found in (
        screening.evaluate(points),
        screening.evaluate_columns(space.columns(points), len(every), known),
    ):
        assert np.array_equal(found.objectives[~excluded], every.objectives[~excluded])
        assert np.isnan(found.objectives[excluded]).all()
        assert np.array_equal(found.constrained, every.constrained)
        assert np.array_equal(found.feasible, every.feasible)


def test_one_scenario_is_its_condition() -> None:
    over = {"maximize": "speedup", "over": {"granularity": [1024]}, "reduce": "max"}
    at = {"maximize": "speedup", "at": {"granularity": 1024}}
    fronts = [study([each]).run().front.designs for each in (over, at)]
    assert fronts[0].to_numpy().tolist() == fronts[1].to_numpy().tolist()


def test_a_scenario_of_weight_0_counts_for_nothing() -> None:
    """At 1e300 bytes the time is infinite, and so is each mean in which it counts."""
    over = {"granularity": [64.0, 1024.0, 1e300]}
    given = {"minimize": "accelerated_time", "over": over, "reduce": "mean", "weights": [1, 3, 0]}
    two = given | {"over": {"granularity": [64.0, 1024.0]}, "weights": [1, 3]}
    found = evaluated(study([given]))
    assert np.isfinite(found).all()
    assert np.isinf(evaluated(study([given | {"weights": [1, 3, 1e-9]}]))[:, 0]).all()
    assert np.array_equal(found, evaluated(study([two])))


def test_bounds_and_enumeration_agree_on_a_weighted_mean() -> None:
    given = {"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": "harmonic mean"}
    whole = content([given | {"weights": [5, 1, 1]}])
    fronts = [
        dse.from_mapping(whole | {"search": {"method": method}}).run().front.designs
        for method in ("exhaustive", "bound")
    ]
    assert fronts[0].equals(fronts[1])


def test_weights_are_kept_with_the_result_and_shown(tmp_path: Any) -> None:
    given = {"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": "mean"}
    of = study([given | {"weights": [3, 1, 1]}])
    result = of.run(tmp_path / "run")
    assert dse.load_result(tmp_path / "run").objectives == result.objectives
    (explained,) = of.explain(result)
    labels = [each.scenario for each in explained.scenarios]
    assert labels[0] == "granularity = 64 B, weight 3"
    assert result.objectives[0].condition == "weighted mean over granularity"


def test_regions_along_one_of_two_weighted_inputs_sum_the_weights_of_the_other() -> None:
    """Along the granularity, the weight of a complexity is the sum over granularities."""
    over = {"granularity": [64, 1024], "complexity": [1, 1.1]}
    given = {"maximize": "speedup", "over": over, "reduce": "mean", "weights": [1, 2, 3, 5]}
    swept = {"axis": "granularity", "low": "16 B", "high": "1 MiB"}
    alone: dict[str, Any] = {"maximize": "speedup", "over": {"complexity": [1, 1.1]}}
    alone |= {"reduce": "mean", "weights": [4, 7], "at": {"granularity": 64}}
    regions = []
    for each in (given, alone):
        of = dse.from_mapping(content([each]) | {"regions": swept})
        result = of.run()
        (explained,) = of.explain(result, 5)
        regions.append(explained.regions[0].regions)
    assert regions[0] == regions[1]
