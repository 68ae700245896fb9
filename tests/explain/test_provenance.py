"""Input values to check before building, against searches with changed inputs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.explain.provenance import check_assumptions, front_distance
from dse.explain.recommendation import assess_inputs, named_designs
from dse.explain.switch_points import input_range
from dse.model.values import show_amount
from dse.study.input_files import to_toml
from tests.pages import read_page

ASSUMED = {"latency_per_byte": 0.5, "latency": "1.2 us", "complexity": 1.1}


def content(**inputs: Any) -> dict[str, Any]:
    """Return a study whose input values have provenances of every kind."""
    made: dict[str, Any] = {
        "study": {"name": "founded", "models": ["objectives.logca:offload"]},
        "inputs": {
            "clock": {"value": "1 GHz", "provenance": "data sheet", "source": "a manual"},
            "computational_index": {"value": 90, "provenance": "measured", "source": "a log"},
            **ASSUMED,
            **inputs,
        },
        "space": {
            "acceleration": {"values": [2, 4, 8, 32]},
            "engine": {
                "rows": {
                    "near": {
                        "overhead": {"value": 900, "provenance": "derived", "source": "a sum"}
                    },
                    "far": {"overhead": 1500},
                }
            },
        },
        "objective": [
            {"maximize": "speedup", "at": {"granularity": 4096}},
            {"minimize": "acceleration"},
            {"minimize": "break_even"},
        ],
    }
    return copy.deepcopy(made)


def front(made: dict[str, Any]) -> list[list[float]]:
    """Return the front of a study that is searched anew, less is better."""
    result = dse.from_mapping(made).run()
    signs = {o.name: -1.0 if o.direction == "maximize" else 1.0 for o in result.objectives}
    columns = [sign * result.front.designs[name] for name, sign in signs.items()]
    return [list(row) for row in zip(*columns, strict=True)]


def lacks(wanted: list[list[float]], had: list[list[float]]) -> float:
    """Return by how much the nearest of some points misses each wanted one, on average."""
    every = []
    for p in wanted:
        nearest = np.inf
        for q in had:
            worse = 0.0
            for a, b in zip(p, q, strict=True):
                if b > a:
                    size = max(abs(a), abs(b))
                    worse = max(worse, 1.0 if np.isinf(size) else (b - a) / size)
            nearest = min(nearest, worse)
        every.append(nearest)
    return sum(every) / len(every)


def moved(made: dict[str, Any], changes: list[dict[str, Any]]) -> float:
    """Return how far searches of changed studies come from that of a study."""
    before = front(made)
    fronts = [front(each) for each in changes]
    return max(max(lacks(before, f), lacks(f, before)) for f in fronts)


def with_overhead(value: Any) -> dict[str, Any]:
    made = content()
    made["space"]["engine"]["rows"]["far"]["overhead"] = value
    return made


def test_the_order_is_that_of_searches_with_each_figure_moved() -> None:
    study = dse.from_mapping(content())
    told = {c.given.label: c.shift for c in assess_inputs(study, study.run()).checks}
    base = content()
    expected = {
        "latency_per_byte": moved(base, [content(latency_per_byte=v) for v in (0.25, 1.0)]),
        "latency": moved(base, [content(latency=v) for v in ("0.6 us", "2.4 us")]),
        "overhead of far": moved(base, [with_overhead(v) for v in (750, 3000)]),
    }
    assert told.keys() == expected.keys()
    for label, moves in expected.items():
        assert told[label] == pytest.approx(moves, rel=1e-9), label
    assert list(told) == sorted(expected, key=lambda label: -expected[label])
    assert len(set(told.values())) == len(told)


def test_a_given_range_takes_the_place_of_half_and_double_and_changes_the_order() -> None:
    wide, narrow = {"between": [0.05, 5.0]}, {"between": [1.099, 1.101]}
    study = dse.from_mapping(content(latency_per_byte=wide, complexity=narrow))
    checks = assess_inputs(study, study.run()).checks
    told = {check.given.label: check for check in checks}
    middles = content(latency_per_byte=2.525, complexity=1.1)
    expected = moved(middles, [content(latency_per_byte=v, complexity=1.1) for v in (0.05, 5.0)])
    # The front is searched for the mean of the samples; held against it are designs at the middle.
    assert told["latency_per_byte"].shift == pytest.approx(expected, rel=1e-6)
    assert told["latency_per_byte"].ends == (0.05, 5.0)
    assert told["latency_per_byte"].range_text == "0.05 cycle/B to 5 cycle/B"
    assert list(told).index("complexity") > list(told).index("latency_per_byte")
    before = dse.from_mapping(content())  # an exponent is never halved and doubled
    order = [check.given.label for check in assess_inputs(before, before.run()).checks]
    assert order[0] != "latency_per_byte"
    assert "complexity" not in order


def test_an_assumed_clock_moves_all_that_is_given_in_seconds() -> None:
    study = dse.from_mapping(content(clock="1 GHz"))
    told = {c.given.label: c.shift for c in assess_inputs(study, study.run()).checks}
    expected = moved(content(), [content(clock=v) for v in ("0.5 GHz", "2 GHz")])
    assert told["clock"] == pytest.approx(expected, rel=1e-9)
    assert expected > 0


def test_provenances_are_counted_and_shown(tmp_path: Path) -> None:
    study = dse.from_mapping(content())
    result = study.run(tmp_path / "run")
    provenances = {f.label: (f.provenance, f.source) for f in study.inputs}
    assert provenances["clock"] == ("data sheet", "a manual")
    assert provenances["computational_index"] == ("measured", "a log")
    assert provenances["overhead of near"] == ("derived", "a sum")
    assert provenances["overhead of far"] == ("assumed", "")
    kept = json.loads((tmp_path / "run" / "summary.json").read_text())["answer"]
    counts = {"measured": 1, "data sheet": 1, "derived": 1, "assumed": 4}
    assert kept["input_values"]["provenances"] == counts
    assert kept["input_values"]["objectives"] == {"speedup": "assumed", "break_even": "assumed"}
    assert kept["confidence"]["inputs"] == "4 of 7 inputs assumed"
    assert kept["confidence"]["check first"].count("half to double") == 3
    assert result.answer().confidence == kept["confidence"]
    page = read_page(tmp_path / "run" / "report.html")
    assert "Provenance of the input values" in page
    assert "Inputs: 57 % assumed" in page
    assert '"label":"latency","value":' in page


def test_the_spread_is_that_of_the_recommended_design_in_changed_studies() -> None:
    """The speedup of the same design if one assumed value is halved or doubled, by LogCA."""
    study = dse.from_mapping(content())
    result = study.run()
    inputs = assess_inputs(study, result)
    number = named_designs(study, result)[0]
    design: Any = result.designs.loc[number]
    options = {"acceleration": design["acceleration"], "engine": design["engine"]}
    speedups = {}
    for label, ends in {
        "latency": (("latency", "0.6 us"), ("latency", "2.4 us")),
        "latency per byte": (("latency_per_byte", 0.25), ("latency_per_byte", 1.0)),
    }.items():
        for name, value in ends:
            other = dse.from_mapping(content(**{name: value}))
            columns = {key: [option] for key, option in options.items()}
            speedups[label, value] = float(other.evaluate(columns)["speedup"].iloc[0])
    low, high = (f(speedups, key=lambda key: speedups[key]) for f in (min, max))
    assert speedups[low] < design["speedup"] < speedups[high]
    assert low[0] == high[0] == "latency per byte"  # it is named once
    texts = (show_amount(speedups[key], "1") for key in (low, high))
    spread = inputs.fields["one input off"]
    assert spread.startswith(f"speedup {' to '.join(texts)} (latency per byte), break even ")
    assert spread.count("acceleration") == 0  # no input changes it


def test_a_range_replaces_half_to_double() -> None:
    """A value is varied over the range of its measured siblings, whatever its provenance."""
    given = {"value": "1.2 us", "range_source": "three cards"}
    study = dse.from_mapping(content(latency=given | {"range": ["1 us", "9 us"]}))
    latency = next(f for f in study.inputs if f.name == "latency")
    assert input_range(study, latency) == ((1000.0, 9000.0), "between 1,000 cycle and 9,000 cycle")
    checks = {c.given.label: c for c in assess_inputs(study, study.run()).checks}
    expected = moved(content(), [content(latency=v) for v in ("1 us", "9 us")])
    assert checks["latency"].shift == pytest.approx(expected, rel=1e-9)
    assert checks["latency"].range_text == "1,000 cycle to 9,000 cycle"
    # at a slow clock, the time is less than the cycles
    study = dse.from_mapping(content(latency=given | {"range": [5000, "3 us"]}))
    latency = next(f for f in study.inputs if f.name == "latency")
    assert latency.range == (1200.0, 5000.0)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (["1 B", "9 us"], "unit of information"),
        ([-5, "9 us"], "outside its domain"),
    ],
)
def test_a_range_that_cannot_be_is_refused(bounds: list[Any], words: str) -> None:
    with pytest.raises(dse.InputError, match=words):
        dse.from_mapping(content(latency={"value": "1.2 us", "range": bounds}))


def test_a_study_without_doubts_says_its_worst_provenance() -> None:
    fitted = {
        n: {"value": v, "provenance": "fitted", "source": "a fit"} for n, v in ASSUMED.items()
    }
    measured = {"value": 5000, "provenance": "measured", "source": "a log"}
    made = content(**fitted) | {"space": with_overhead(measured)["space"]}
    assert dse.from_mapping(made).run().answer().confidence == {"inputs": "1 of 7 inputs derived"}


def test_defaults_and_laws_are_named() -> None:
    made = content(latency={"between": [500, 2000], "provenance": "measured", "source": "a log"})
    del made["inputs"]["latency_per_byte"], made["inputs"]["complexity"]
    confidence = dse.from_mapping(made).run().answer().confidence
    defaults = "defaults of models: latency per byte, complexity"
    assert confidence["inputs"] == f"3 of 7 inputs assumed; {defaults}"
    assert "latency 500 cycle to 2,000 cycle: speedup " in confidence["check first"]


def test_which_program_is_asked_about_is_no_figure() -> None:
    """A default chose the only program of a profile, and counted as assumed."""
    study = dse.load(Path(__file__).parents[2] / "studies" / "compress.toml")
    assert "workload" not in [given.label for given in study.inputs]
    assert "shared_store" in [given.label for given in study.inputs if given.default]


def test_the_distance_of_fronts_is_that_of_a_loop_over_points() -> None:
    assert front_distance(np.array([[1.0, 2.0], [2.0, 1.0]]), np.empty((0, 2))) == 1.0
    rng = np.random.default_rng(0)
    values = np.array([0.0, -2.0, 1.0, 1.5, 4.0, np.inf])

    for _ in range(20):
        one, other = (rng.choice(values, (size, 3)) for size in (5, 9))
        other[:2] = one[:2]  # points of both
        expected = max(lacks(a.tolist(), b.tolist()) for a, b in ((one, other), (other, one)))
        assert front_distance(one, other) == pytest.approx(expected, rel=1e-12)


def test_what_is_not_known_exactly_is_an_input_value_wherever_it_stands() -> None:
    made = content(latency={"value": 5, "provenance": "derived"})  # needs no source
    made["objective"][0]["at"]["granularity"] = {"between": [512, 2048], "source": "a log"}
    inputs = {f.label: f.provenance for f in dse.from_mapping(made).inputs}
    assert inputs["latency"] == "derived"
    assert "granularity of objective[1]" in inputs


def test_a_catalog_says_provenance_for_figures_rows_and_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'about = "engines"\nsource = "a book"\nprovenance = "data sheet"\n'
        '[a]\nabout = "one"\noverhead = 900\n'
        '[b]\nabout = "two"\nprovenance = "measured"\n'
        'overhead = { value = 800, provenance = "derived" }\n'
        '[c]\nabout = "three"\nprovenance = "fitted"\noverhead = 700\n'
    )
    made = content()
    made["space"]["engine"] = {"catalog": "mine.toml"}
    (tmp_path / "study.toml").write_text(to_toml(made))
    provenances = {f.label: f.provenance for f in dse.load(tmp_path / "study.toml").inputs}
    assert [provenances[f"overhead of {row}"] for row in "abc"] == [
        "data sheet",
        "derived",
        "fitted",
    ]
    (tmp_path / "mine.toml").write_text(
        'about = "engines"\nsource = "a book"\n[a]\nabout = "one"\nprovenance = "true"\n'
        "overhead = 900\n"
    )
    with pytest.raises(dse.InputError, match=r"a\.provenance: .* should be 'measured'"):
        dse.load(tmp_path / "study.toml")


# Models that take long or raise -------------------------------------------------------------


Width = Annotated[Floats, Quantity("B/s", "of the link", above=0)]
Size = Annotated[Floats, Quantity("B", "of a transfer", low=0)]
Latency = Annotated[Floats, Quantity("s", "of the link", low=0)]


class Link(NamedTuple):
    transfer_time: Annotated[Array, Quantity("s", "time of a transfer", low=0)]


def study_of(link: Callable[..., Link], latency: Any) -> dse.Study:
    """Return a study of links of 40 widths."""
    made = {
        "study": {"name": "links", "models": ["link"]},
        "inputs": {"size": 1000, "latency": latency},
        "space": {"width": {"integer": [1, 40]}},
        "objective": [{"minimize": "transfer_time"}, {"minimize": "width"}],
    }
    return dse.from_mapping(made, {"link": link})


@pytest.mark.parametrize(("evaluated", "looked_at"), [(1, 20), (600, 30), (2_000, 40)])
def test_a_budget_of_evaluations_limits_the_designs(evaluated: int, looked_at: int) -> None:
    seen = set[float]()

    def link(width: Width, size: Size, latency: Latency) -> Link:
        seen.update(np.ravel(width).tolist())
        return Link(np.asarray(latency + size / width))

    study = study_of(link, latency=1e-6)
    result = study.run(workers=1)
    certificate = replace(result.certificate, evaluated=evaluated)
    result = replace(result, certificate=certificate)
    seen.clear()
    checks = check_assumptions(study, result)
    assert len(seen) == looked_at
    assert len(checks) == 2
    assert assess_inputs(study, result, effort=False).checks == ()


def test_a_model_that_raises_at_a_middle_leaves_a_figure_out() -> None:
    def link(width: Width, size: Size, latency: Latency) -> Link:
        if np.any(np.asarray(latency) == 2.0):
            raise ValueError("in the middle")
        return Link(np.asarray(latency + size / width))

    result = study_of(link, latency=1.0).run(workers=1)
    moved = study_of(link, latency={"uniform": [1.0, 3.0]})
    assert assess_inputs(moved, result).checks == ()
