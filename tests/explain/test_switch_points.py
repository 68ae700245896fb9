"""Switch points, against searches of the whole space at other values of an input."""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
import pytest

import dse
from dse.explain.recommendation import assess_changes, assess_inputs, named_designs
from dse.explain.switch_points import SwitchPoint, SwitchPoints, find_switch_points
from dse.model import Array, Floats, Quantity
from tests.commands import called
from tests.explain.examples import content, machine
from tests.pages import read_page

ROWS = {
    "slow": {"bus_wait": 300, "bus_area": 50},
    "fast": {"bus_wait": 200, "bus_area": 150},
    "none": {"bus_wait": 500, "bus_area": 0},
}
MODELS = {"machine": machine}
LABELS = [f"bus_{name} of {row}" for row in ("slow", "fast") for name in ("wait", "area")]


def small() -> dict[str, Any]:
    """Return a study of 96 designs."""
    made = copy.deepcopy(content())
    made["space"]["bus"]["rows"] = copy.deepcopy(ROWS)
    return made


def study_with(label: str, value: Any) -> dse.Study:
    """Return the study with another value of an input."""
    made = small()
    name, _, option = label.partition(" of ")
    place = made["space"]["bus"]["rows"][option] if option else made["inputs"]
    assert name in place
    place[name] = value
    return dse.from_mapping(made, {"machine": machine})


@cache
def recommended(label: str, value: float) -> int:
    """Return the recommendation of a search of the whole space."""
    study = study_with(label, value)
    return named_designs(study, study.run(workers=1))[0]


def found_in(study: dse.Study, result: Any) -> SwitchPoints:
    """Return the switch points of a result."""
    (found,) = assess_changes(study, result)
    assert isinstance(found, SwitchPoints)
    return found


@cache
def switches() -> SwitchPoints:
    study = dse.from_mapping(small(), {"machine": machine})
    return found_in(study, study.run(workers=1))


@pytest.mark.parametrize("label", ["host_time", "bus_wait of none", *LABELS])
def test_switch_points_are_those_of_searches_of_the_whole_space(label: str) -> None:
    study = dse.from_mapping(small(), {"machine": machine})
    (own,) = (given.value for given in study.inputs if given.label == label)
    base = recommended(label, own)
    for end in (own / 2, own * 2):
        values = [
            point
            for point in switches().points
            if point.label == label and (point.value - own) * (end - own) > 0
        ]
        inside = end
        for point in values:
            assert recommended(label, point.value) == point.design != base
            inside = point.value * (1 + 3e-4 * float(np.sign(own - point.value)))
        for value in np.geomspace(own, inside, 7):
            assert recommended(label, float(value)) == base, value
        assert len(values) <= 1


def test_some_inputs_switch_and_all_designs_of_a_small_space_are_evaluated() -> None:
    assert len(switches().points) >= 3
    assert switches().searched.startswith(
        "among 96 designs (all of the space), at 4 values of each"
    )
    distances = [abs(p.value / p.now - 1) for p in switches().points]
    assert distances == sorted(distances)


def test_a_declared_range_is_searched_and_counts_are_not_halved() -> None:
    label = switches().points[0].label
    point = switches().points[0]
    low, high = sorted((point.value, 2 * point.now - point.value))
    middle = (low + high) / 2
    width = 0.9 * (high - low) / 2
    narrow = study_with(label, {"between": [middle - width, middle + width]})
    found = found_in(narrow, narrow.run(workers=1))
    assert label not in [other.label for other in found.points]
    made = small()
    made["inputs"]["depth"] = 4
    del made["space"]["depth"]
    study = dse.from_mapping(made, {"machine": machine})
    assert "depth" in [given.label for given in study.inputs]
    assert "depth" not in [c.given.label for c in assess_inputs(study, study.run()).checks]


def test_guided_searches_and_other_recommendations_are_not_searched() -> None:
    study = dse.from_mapping(small(), {"machine": machine})
    result = study.run(workers=1)
    other = find_switch_points(study, result, 95, lambda points, allowed: 0)
    assert other is not None
    assert not other.points
    assert "not searched" in other.fields["switch points"]
    guided = dse.from_mapping(small() | {"search": {"method": "guided", "evaluations": 60}}, MODELS)
    assert "guided" in found_in(guided, guided.run(workers=1)).searched


def test_switch_points_of_slow_models_are_searched_on_demand() -> None:
    @functools.wraps(machine)
    def simulator(*args: Any, **kwargs: Any) -> Any:
        outputs = machine(*args, **kwargs)
        for _ in range(np.size(outputs[0])):
            sum(range(100_000))  # some ms of the processor
        return outputs

    study, formulas = (dse.from_mapping(small(), {"machine": m}) for m in (simulator, machine))
    result = formulas.run(workers=1)  # equal, and quick
    (hasty,) = assess_changes(study, result, seconds=0.01)
    assert "--verbose" in hasty.fields["switch points"]
    (formula,) = assess_changes(formulas, result, seconds=0.0)
    assert formula == switches()


def test_the_time_of_a_search_has_no_effect_and_a_run_leaves_most_to_explain() -> None:
    study = dse.from_mapping(small(), MODELS)
    result = study.run(workers=1)
    slow = dict(result.provenance) | {"seconds": 9_600.0}
    object.__setattr__(result, "provenance", slow)
    assert found_in(study, result) == switches()
    fields = assess_inputs(study, result).fields
    assert fields["switch points"] == "dse explain searches them"


def counted_calls(evaluations: list[int]) -> Any:
    """Return the machine, which also counts the designs that it evaluates."""

    def counting(lanes: Any, depth: Any, bus_wait: Any, bus_area: Any, host_time: Any) -> Any:
        made = machine(lanes, depth, bus_wait, bus_area, host_time)
        evaluations.append(np.size(made.time))
        return made

    counting.__annotations__ = get_type_hints(machine, include_extras=True)
    return counting


def test_the_effort_is_bounded_in_evaluations_of_scenarios() -> None:
    """With 40 scenarios, the front of 96 designs is evaluated at fewer values of an input."""
    evaluations: list[int] = []
    made = small()
    scenarios = np.linspace(800, 1_000, 40).tolist()
    made["objective"][0] |= {"over": {"host_time": scenarios}, "reduce": "mean"}
    study = dse.from_mapping(made, {"machine": counted_calls(evaluations)})
    result = study.run(workers=1)
    evaluations.clear()
    found = found_in(study, result)
    assert found.points
    assert "on the front" in found.searched
    assert sum(evaluations) < 12 * 96 * len(scenarios)


class Cost(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost", low=0)]


def parts(
    part: Annotated[Floats, Quantity("1", "part", low=0, high=2, integer=True)],
    load: Annotated[Floats, Quantity("1", "load", low=0)],
) -> Cost:
    """Return costs of three parts: the second is the cheapest from a load of 1.3 to 1.36 only."""
    load = np.asarray(load, dtype=np.float64)
    costs = (10 + load, 11.3 + 0 * load, 11.35 - 5 * (load - 1.35))
    return Cost(np.select([np.equal(part, k) for k in range(3)], costs, np.nan))


def test_a_third_design_between_two_values_is_found() -> None:
    made = {
        "study": {"name": "parts", "models": ["parts"]},
        "inputs": {"load": 1.0},
        "space": {"part": {"integer": [0, 2]}},
        "objective": [{"minimize": "cost"}],
    }
    study = dse.from_mapping(made, {"parts": parts})
    (point,) = found_in(study, study.run(workers=1)).points
    assert point.design == 1
    assert point.value == pytest.approx(1.3, rel=2e-4)


def test_designs_for_which_a_model_raises_are_infeasible() -> None:
    def raising(lanes: Any, depth: Any, bus_wait: Any, bus_area: Any, host_time: Any) -> Any:
        if np.any((np.asarray(lanes) == 8) & (np.asarray(depth) == 1)):
            raise ValueError("no such machine")
        return machine(lanes, depth, bus_wait, bus_area, host_time)

    raising.__annotations__ = get_type_hints(machine, include_extras=True)
    made = small() | {"run": {"on_error": "skip"}}
    study = dse.from_mapping(made, {"machine": raising})
    result = study.run(workers=1)
    assert result.certificate.feasible == 93
    assert found_in(study, result).points == switches().points


def test_a_near_tie_is_named_and_close_values_differ() -> None:
    near = SwitchPoint("granularity", "B", 2048.0, 2047.6, 3, ())
    assert str(near) == "granularity −0.0195 % (near tie)"
    assert near.texts[1:3] == ("2,048 B", "2,047.6 B")
    far = SwitchPoint("granularity", "B", 2048.0, 1536.0, 3, ("lanes 2 → 4",))
    assert SwitchPoints((near, far), "").nearest == (
        "granularity −0.0195 % (near tie): design 3; granularity −25 %: lanes 2 → 4"
    )
    same = SwitchPoints((far, replace(far, label="load")), "").nearest
    assert same == "granularity −25 % or load −25 %: lanes 2 → 4"


def test_if_nothing_is_beneficial_the_points_are_where_a_design_is() -> None:
    """LogCA: one design, whose speedup C g / (o + L + C g / A) is 1 at each point."""
    made = {
        "study": {"name": "calls", "models": ["objectives.logca:offload"]},
        "inputs": {
            **{"granularity": 10.0, "computational_index": 8.0, "complexity": 1.0},
            **{"overhead": 40.0, "latency": 80.0, "acceleration": 4.0},
        },
        "space": {"latency_per_byte": {"values": [0.0]}},
        "objective": [{"maximize": "speedup"}],
    }
    study = dse.from_mapping(made)
    found = found_in(study, study.run(workers=1))
    values = {point.label: point.value for point in found.points}
    # C g (1 − 1/A) = o + L, where 60 is less than 120
    expected = {"granularity": 20.0, "computational_index": 16.0, "latency": 20.0}
    assert values == pytest.approx(expected, rel=3e-4)
    assert all(point.unmet and point.design == 0 for point in found.points)
    assert found.nearest == (
        "latency 19.9 cycles or less, granularity 20.1 B or more "  # a speedup of 1 is not enough
        "or computational index 16.1 cycles/B or more"
    )


def test_answers_explanations_and_reports_have_them(tmp_path: Path) -> None:
    made = small()
    made["space"] |= {"lanes": {"values": [2, 8]}, "depth": {"values": [4]}}
    study = dse.from_mapping(made, MODELS)
    points = found_in(study, study.run(tmp_path / "run", workers=1)).points
    assert points
    answer = json.loads((tmp_path / "run" / "summary.json").read_text())["answer"]
    written = answer["input_values"]["switch_points"]["points"]
    assert [p["value"] for p in written] == [p.value for p in points]
    assert "among 6 designs (all of the space)" in answer["fields"]["switch points"]
    assert "Switch points" in read_page(tmp_path / "run" / "report.html")


def test_the_command_prints_them_and_no_selector(tmp_path: Path) -> None:
    study = Path(__file__).parents[2] / "studies" / "rotate.toml"
    assert called("run", str(study), "--out", "run", "--quiet", cwd=tmp_path).returncode == 0
    text = called("explain", "run", "--verbose", cwd=tmp_path, columns=200).stdout
    (data,) = json.loads(called("explain", "run", "--json", cwd=tmp_path).stdout)["designs"]
    points = data["switch_points"]["points"]
    assert points
    assert text.count("(now ") == len(points)
    assert "workload" not in text.partition("switch point")[2].partition("near the front")[0]


class Gain(NamedTuple):
    gain: Annotated[Array, Quantity("1", "gain", low=0, worth=1.0)]


def gain_of(
    p: Annotated[Floats, Quantity("1", "p")], k: Annotated[Floats, Quantity("1", "k")]
) -> Gain:
    """Return a gain that is above 1 for p above 0.1."""
    return Gain(np.maximum(9.999 * np.asarray(p) * k, 0.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"value": 0.005, "range": [0.001, 5]}, "p 0.101 or more"),  # beyond ten times the value
        ({"value": 0.0, "range": [-2, 3]}, "p 0.101 or more"),
        ({"value": 0.05, "range": [0.04, 0.06]}, "p 0.101 or more"),
    ],
)
def test_the_search_for_a_benefit_covers_the_range_and_rounds_to_the_safe_side(
    given: dict[str, Any], words: str
) -> None:
    made = {
        "study": {"name": "gains", "models": ["gain_of"]},
        "inputs": {"p": given},
        "space": {"k": {"values": [1.0]}},
        "objective": [{"maximize": "gain"}],
    }
    study = dse.from_mapping(made, {"gain_of": gain_of})
    result = study.run(workers=1)
    (found,) = assess_changes(study, result)
    assert isinstance(found, SwitchPoints)
    assert found.nearest == words
    assert "p " in found.lines[0][1]
    assert result.answer().switch_label == "Beneficial at"


def test_a_switch_point_of_zero_has_its_value() -> None:
    point = SwitchPoint("delay", "s", 0.0, 1e-6, 1, ("k 1 → 2",))
    assert SwitchPoints((point,), "").nearest == "delay 1 µs (now 0): k 1 → 2"
