"""What an explanation says of a design: advice inside the domain, violations, scenarios, ends."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.breakdown import Part
from dse.explain.curves import Better, Curve, Line, draw_curves, find_best_point
from dse.explain.explanation import Explanation, Violation, explain
from dse.explain.sensitivity import improvable_inputs
from dse.model import Array, Floats, Quantity
from dse.model.values import show, tell
from dse.terminal import Terminal, explanation_data

CRYPTO = Path(__file__).parents[2] / "studies" / "crypto.toml"
DESIGN = 603_675  # on its front, as README has it


class Call(NamedTuple):
    time: Annotated[Array, Quantity("s", "time of a call", low=0)]
    setup: Annotated[Array, Quantity("s", "set-up", low=0, part_of="time")]
    work: Annotated[Array, Quantity("s", "work", low=0, part_of="time")]
    speed: Annotated[Array, Quantity("1/s", "calls a second", low=0)]


class Loaded(NamedTuple):
    load: Annotated[Array, Quantity("1", "load", low=0)]


def call(
    size: Annotated[Floats, Quantity("B", "data of a call", above=0)],
    overlap: Annotated[
        Floats, Quantity("1", "share that is hidden", low=0, below=1, better="higher")
    ],
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
) -> Call:
    setup = np.asarray((1 - overlap) * 1e-6 + 0.0 * size * lanes)
    work = np.asarray(size * 1e-8 / lanes + 0.0 * overlap)
    with np.errstate(divide="ignore"):
        return Call(setup + work, setup, work, 1 / (setup + work))


def loaded(lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)]) -> Loaded:
    return Loaded(np.asarray(lanes / 8.0))


MODELS: dict[str, Callable[..., Any]] = {"call": call, "loaded": loaded}


def study(**change: Any) -> dse.Study:
    content: dict[str, Any] = {
        "study": {"name": "calls", "models": list(MODELS)},
        "inputs": {"overlap": 0.75},
        "space": {"lanes": {"integer": [1, 16]}},
        "objective": [
            {
                "minimize": "time",
                "over": {"size": ["64 B", "1 KiB"]},
                "reduce": "mean",
            },
            {"minimize": "load"},
        ],
    }
    return dse.from_mapping(content | change, MODELS)


def told(found: Explanation, capsys: pytest.CaptureFixture[str], result: dse.StudyResult) -> str:
    Terminal().explanation(result, found)
    return capsys.readouterr().out


def test_no_advice_for_crypto_leaves_a_domain() -> None:
    crypto = dse.load(CRYPTO)
    wiring = crypto.evaluator.wiring
    (found,) = explain(crypto, _enumerated(crypto), [DESIGN])
    advised = {s.input: s for s in found.sensitivities}
    assert {"calls_in_flight", "interface_latency"} <= set(advised)
    for name, item in advised.items():
        for model in wiring.models:
            declared = model.inputs.get(name)
            if isinstance(declared, Quantity) and declared.unit == item.unit:
                assert declared.contains(item.improved), name


def _enumerated(crypto: dse.Study) -> dse.StudyResult:
    """Return what an enumeration would: explaining asks for the method and the constants only."""
    small = dse.from_mapping(_tiny(), MODELS).run()
    objectives = crypto.evaluator.objectives
    names = [*crypto.evaluator.space.variables, *(o.name for o in objectives)]
    none = pd.DataFrame(columns=[*names, "feasible", "on_front"], index=pd.Index([], dtype=int))
    other = {"constants": {}, "name": crypto.name, "objectives": objectives, "designs": none}
    return dse.StudyResult(**{**vars(small), **other})


def _tiny() -> dict[str, Any]:
    return {
        "study": {"name": "tiny", "models": list(MODELS)},
        "inputs": {"overlap": 0.5, "size": 1.0},
        "space": {"lanes": {"integer": [1, 2]}},
        "objective": [{"minimize": "time"}, {"minimize": "load"}],
    }


def test_the_shown_value_is_in_the_domain_too() -> None:
    near = study(inputs={"overlap": 0.9996})
    (found,) = near.explain(near.run(), 3)
    (item,) = [s for s in found.sensitivities if s.objective == "time"]
    assert item.improved == pytest.approx(0.99996, abs=1e-15)
    assert float(item.shown[1]) < 1.0
    share = Quantity("1", "share", low=0, below=1)
    for value in (0.99999, math.nextafter(1.0, 0.0)):
        assert share.contains(float(show(value, "1", share)))
    period = Quantity("s", "period", above=1e-6)
    text = show(1.00001e-6, "s", period)
    assert text.endswith(" µs")
    assert float(text.split()[0]) > 1.0


def test_a_model_with_a_narrower_domain_bounds_the_advice() -> None:
    def share(
        overlap: Annotated[Floats, Quantity("1", "share that is hidden", low=0, high=0.9)],
    ) -> Exposed:
        return Exposed(np.asarray(1.0 - overlap))

    content = _tiny() | {
        "study": {"name": "narrow", "models": [*MODELS, "share"]},
        "inputs": {"overlap": 0.75, "size": 1.0},
    }
    content["constraint"] = [{"quantity": "exposed", "at_most": 1}]
    both = dse.from_mapping(content, {**MODELS, "share": share})
    assert improvable_inputs(both.evaluator)["overlap"].high == 0.9
    (found,) = both.explain(both.run(), 0)
    assert {s.improved for s in found.sensitivities if s.input == "overlap"} == {0.9}


class Exposed(NamedTuple):
    exposed: Annotated[Array, Quantity("1", "share that stays", low=0)]


def test_an_infeasible_design_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    bounded = study(
        constraint=[{"quantity": "load", "at_most": 0.5}, {"relation": "lanes * 2 <= 12"}]
    )
    result = bounded.run()
    bad, good = bounded.explain(result, 7, 1)  # 8 lanes, and 2
    assert good.feasible
    assert good.violations == ()
    assert not bad.feasible
    assert [(v.name, v.amount) for v in bad.violations] == [
        ("load <= 0.5", 0.5),
        ("lanes * 2 <= 12", 4.0),
    ]
    text = told(bad, capsys, result)
    assert "design 7 is infeasible" in text
    assert "load <= 0.5 is violated by 0.5" in text
    assert "lanes * 2 <= 12 is violated by 4" in text
    data = json.loads(json.dumps(explanation_data(bad)))
    assert data["feasible"] is False
    assert data["violations"][0] == {
        "name": "load <= 0.5",
        "unit": "1",
        "value": 1.0,
        "amount": 0.5,
        "why": "",
    }
    assert "infeasible" not in told(good, capsys, result)


def test_a_violation_without_a_value() -> None:
    assert str(Violation("time", "s", math.nan, math.nan)) == (
        "time has no value: it is not a number"
    )


def test_scenarios_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    several = study()
    result = several.run()
    (found,) = several.explain(result, 3)  # 4 lanes
    direct = {size: call(size, 0.75, 4.0) for size in (64.0, 1024.0)}
    assert [(s.objective, s.scenario, s.value) for s in found.scenarios] == [
        ("time", "size = 64 B", float(direct[64.0].time)),
        ("time", "size = 1,024 B", float(direct[1024.0].time)),
    ]
    shares: dict[tuple[str, str], float] = {
        (p.scenario, p.name): p.value for p in found.parts if p.total == "time"
    }
    assert shares == {
        ("size = 64 B", "setup"): float(direct[64.0].setup),
        ("size = 64 B", "work"): float(direct[64.0].work),
        ("size = 1,024 B", "setup"): float(direct[1024.0].setup),
        ("size = 1,024 B", "work"): float(direct[1024.0].work),
    }
    text = told(found, capsys, result)
    assert "time at size = 64 B" in text
    assert "time (for time, size = 1,024 B): work" in text


def test_regions_are_of_the_reduced_objective() -> None:
    swept = study(
        space={"lanes": {"integer": [1, 16]}, "overlap": {"values": [0.0, 0.5]}},
        inputs={},
        regions={"axis": "lanes", "low": 1, "high": 16},
    )
    result = swept.run()
    (found,) = swept.explain(result, 0)
    (regions,) = found.regions
    assert regions.condition == "mean over size"
    overlap = float(found.values["overlap"])
    assert (regions.grid == np.round(regions.grid)).all()  # only whole numbers are lanes
    mean = np.mean([call(s, overlap, regions.grid).time for s in (64.0, 1024.0)], axis=0)
    np.testing.assert_allclose(regions.base, mean, rtol=1e-12)


def test_the_axis_of_regions_takes_the_place_of_its_own_scenarios() -> None:
    swept = study(regions={"axis": "size", "low": "1 B", "high": "1 MiB"})
    (regions,) = swept.explain(swept.run(), 3)[0].regions
    assert regions.condition == ""
    np.testing.assert_allclose(regions.base, call(regions.grid, 0.75, 4.0).time, rtol=1e-12)


def test_a_total_that_scenarios_do_not_change_is_told_once() -> None:
    parts = study(
        objective=[
            {"minimize": "time", "at": {"size": 64}},
            {"minimize": "load"},
        ],
    )
    found = parts.explain(parts.run(), 0)[0].parts
    assert [(p.name, p.scenario) for p in found] == [("setup", ""), ("work", "")]
    assert isinstance(found[0], Part)


GRID = np.array([1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize(
    ("better", "word", "at"), [("lower", "least", 2.0), ("higher", "greatest", 4.0), (None, "", 0)]
)
def test_a_curve_marks_the_best_and_not_the_least(better: Better, word: str, at: float) -> None:
    line = Line("q", "1", "a quantity", np.array([3.0, 1.0, 9.0, 5.0]), None, None, better)
    best = find_best_point(Curve("c", "x", "1", "", 1.0, GRID, True, (line,)), line)
    assert best.word == word
    assert best.here == 3.0
    assert best.at == at or (not word and math.isnan(best.at))


def test_which_way_is_better_is_the_objectives_or_declared() -> None:
    content = _tiny() | {
        "objective": [{"maximize": "speed"}, {"minimize": "load"}],
        "curve": [
            {
                "name": "along lanes",
                "axis": "lanes",
                "integer": [1, 16],
                "quantities": ["speed", "time", "load", "overlap"],
            }
        ],
    }
    drawn = dse.from_mapping(content, MODELS)
    (curve,) = draw_curves(drawn, {"lanes": 2.0})
    assert [line.better for line in curve.lines] == ["higher", None, "lower", "higher"]
    best = find_best_point(curve, curve.lines[0])
    assert (best.word, best.at) == ("greatest", 16.0)


def test_infinite_values_are_called_by_what_they_mean() -> None:
    assert tell(math.inf, "s") == "saturated"
    assert tell(math.inf, "cycle") == "saturated"
    assert tell(math.inf, "B") == "never"
    assert tell(math.inf, "LUT") == "∞"


def test_an_infinite_time_is_saturated_in_the_summary(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    content = _tiny() | {"objective": [{"minimize": "time"}, {"minimize": "load"}]}
    result = dse.from_mapping(content, MODELS).run()
    endless = result.designs.assign(time=math.inf)
    held = dse.StudyResult(**{**vars(result), "designs": endless})
    Terminal().summary(held, tmp_path / "report.html")
    text = capsys.readouterr().out
    assert "saturated" in text
    assert "never" not in text


def test_regions_along_whole_numbers_end_at_whole_numbers() -> None:
    swept = study(
        space={"lanes": {"integer": [1, 64]}},
        inputs={"overlap": 0.0},
        regions={"axis": "lanes", "low": 1, "high": 1000},
    )
    (regions,) = swept.explain(swept.run(), 0)[0].regions
    (span,) = [s for s in regions.spans if s.input == "overlap"]

    def helps(lanes: float) -> bool:
        before, after = (
            np.mean([call(size, overlap, lanes).time for size in (64.0, 1024.0)])
            for overlap in (0.0, 0.9)
        )
        return bool(before / after >= 1.2)

    every = [lanes for lanes in range(1, 1001) if helps(float(lanes))]
    assert (span.low, span.high) == (every[0], every[-1])
    for left, right in zip(regions.regions, regions.regions[1:], strict=False):
        assert left.high + 1 == right.low
