"""Sensitivities and breakdowns against direct calls."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.explain.explanation import Explanation, explain
from dse.explain.sensitivity import (
    find_sensitivities,
    gain_factor,
    improvable_inputs,
    improve_values,
)
from dse.model import Array, Floats, Quantity
from dse.problems import InputError
from tests.core_examples import objective

OVERHEAD, INDEX, ACCELERATION = 1_000.0, 50.0, 20.0


def logca(rule: dict[str, float] | None = None, **inputs: Any) -> dse.Study:
    content: dict[str, Any] = {
        "study": {"name": "t", "models": ["objectives.logca:offload"]},
        "inputs": {"latency": 0.0, "computational_index": INDEX, "complexity": 1.0} | inputs,
        "space": {
            "acceleration": {"integer": [10, 20], "step": 10},
            "overhead": {"values": [OVERHEAD, 4 * OVERHEAD]},
        },
        "objective": [{"maximize": "speedup", "at": {"granularity": "1 KiB"}}],
        "regions": {"axis": "granularity", "low": "1 B", "high": "1 GiB"},
    }
    if rule:
        content["bottlenecks"] = rule
    return dse.from_mapping(content)


def one(study: dse.Study, number: int) -> Explanation:
    return explain(study, study.run(), [number])[0]


def test_each_input_is_improved_alone() -> None:
    study = dse.load("studies/jpeg.toml")
    evaluator = study.evaluator
    columns = evaluator.space.columns(evaluator.space.from_index(np.array([7, 50_000, 999])))
    before = evaluator.objective_values(columns, 3)
    found = {
        (s.input, s.objective): s
        for s in find_sensitivities(evaluator, study.rule, columns, before)[1]
    }
    assert len({name for name, _ in found}) > 5
    for (name, objective_name), each in found.items():
        alone = {n: np.asarray(v)[1:2] for n, v in columns.items()}
        alone[name] = np.array([each.improved])
        values = evaluator.objective_values(alone, 1)[0]
        names = [o.name for o in evaluator.objectives]
        assert each.after == values[names.index(objective_name)]


class Engine(NamedTuple):
    time: Annotated[Array, Quantity("s", "time", low=0)]
    work: Annotated[Array, Quantity("s", "work", part_of="time")]
    wait: Annotated[Array, Quantity("s", "wait", part_of="time")]
    area: Annotated[Array, Quantity("1", "area", low=0)]


def engine(
    lanes: Annotated[
        Floats, Quantity("1", "lanes", "n", low=1, high=16, integer=True, better="higher")
    ],
    idle: Annotated[Floats, Quantity("1", "idle share", "i", low=0, below=1, better="lower")],
    size: Annotated[Floats, Quantity("1", "size", "s", above=0)],
) -> Engine:
    work, wait = np.asarray(size / lanes / (1 - idle)), np.asarray(idle * size + 0 * lanes)
    return Engine(work + wait, work, wait, np.asarray(lanes * 3.0))


def small(**change: Any) -> dse.Study:
    content: dict[str, Any] = {
        "study": {"name": "t", "models": ["engine"]},
        "inputs": {"idle": 0.5},
        "space": {"lanes": {"integer": [1, 16]}, "size": {"values": [8.0, 80.0]}},
        "objective": [{"minimize": "time"}, {"minimize": "area"}],
    }
    return dse.from_mapping(content | change, {"engine": engine})


def test_gains_against_direct_calls() -> None:
    study = small()
    found = one(study, 2 * 4)  # 5 lanes, size 8
    assert found.values["lanes"] == 5
    gains = {(s.objective, s.input): s for s in found.sensitivities}
    assert set(gains) == {(o, i) for o in ("time", "area") for i in ("lanes", "idle")}
    before = float(engine(5.0, 0.5, 8.0).time)
    lanes = gains["time", "lanes"]
    assert (lanes.value, lanes.improved) == (5.0, 16.0)  # 50 lanes are beyond the domain
    assert lanes.before == before
    assert lanes.after == float(engine(16.0, 0.5, 8.0).time)
    assert lanes.gain == before / lanes.after
    assert lanes.bottleneck == (lanes.gain >= 1.2)
    idle = gains["time", "idle"]
    assert idle.improved == 0.05
    assert idle.gain == pytest.approx(before / float(engine(5.0, 0.05, 8.0).time), rel=1e-15)
    assert gains["area", "lanes"].gain == 15.0 / 48.0
    assert gains["area", "idle"].gain == 1.0
    assert not gains["area", "lanes"].bottleneck
    kinds = ["within your space", "another part", "not yours to change"]
    ordered = [(kinds.index(s.kind), -s.gain) for s in found.sensitivities]
    assert ordered == sorted(ordered)


def test_parts_add_up_to_their_total() -> None:
    parts = one(small(), 9).parts  # 5 lanes, size 80
    assert {(p.total, p.name) for p in parts} == {("time", "work"), ("time", "wait")}
    result = engine(5.0, 0.5, 80.0)
    assert {p.name: p.value for p in parts} == {"work": float(result.work), "wait": 40.0}
    assert sum(p.value for p in parts) == float(result.time)
    assert sum(p.share for p in parts) == pytest.approx(1.0, rel=1e-15)


def test_improvable_are_inputs_that_say_which_way_is_better() -> None:
    assert list(improvable_inputs(small().evaluator)) == ["lanes", "idle"]
    speedup = logca(latency=30.0, latency_per_byte=0.05)  # in the order of the model's inputs
    symbols = [q.symbol for q in improvable_inputs(speedup.evaluator).values()]
    assert symbols == ["o", "L", "l", "C", "A"]


def test_improving_a_bound_input_changes_nothing_for_its_objective() -> None:
    study = small(objective=[{"minimize": "time", "at": {"idle": 0.25}}, {"minimize": "area"}])
    gains = {(s.objective, s.input): s.gain for s in one(study, 0).sensitivities}
    assert gains.get(("time", "idle"), 1.0) == 1.0


def test_designs_that_are_not_there() -> None:
    study = small()
    result = study.run()
    for number in (-1, 32):
        with pytest.raises(InputError, match=f"there is no design {number}"):
            explain(study, result, [number])
    sampled = small(search={"method": "evolution", "evaluations": 10, "generation": 5})
    result = sampled.run()
    assert [e.design for e in explain(sampled, result, [9, 0])] == [9, 0]
    with pytest.raises(InputError, match="10 designs are kept"):
        explain(sampled, result, [10])


RATES = [
    (Quantity("1", "x", low=1, high=64, better="higher"), 10.0, 64.0),
    (Quantity("1", "x", low=1, high=64, better="higher"), 2.0, 20.0),
    (Quantity("1", "x", low=1, high=64, better="lower"), 4.0, 1.0),
    (Quantity("1", "x", above=0, better="lower"), 4.0, 0.4),
    (Quantity("1", "x", low=1, integer=True, better="lower"), 26.0, 3.0),
    (Quantity("1", "x", low=0, integer=True, better="lower"), 4.0, 0.0),
    (Quantity("1", "x", above=0, integer=True, better="lower"), 4.0, 1.0),
    (Quantity("1", "x", low=0, below=1, better="higher"), 0.75, 0.975),  # a tenth stays exposed
    (Quantity("1", "x", above=1, better="lower"), 4.0, 1.3),
    (Quantity("1", "x", low=1, below=9, integer=True, better="higher"), 3.0, 8.0),
    (Quantity("1", "x", better="higher"), -3.0, -3.0),  # ten times -3 is not higher
]


@pytest.mark.parametrize(("quantity", "value", "wanted"), RATES)
def test_improvements_go_as_far_as_the_domain(
    quantity: Quantity, value: float, wanted: float
) -> None:
    assert float(improve_values(quantity, value, 10.0)) == wanted


@given(
    st.sampled_from([q for q, _, _ in RATES]), st.floats(1, 64), st.floats(1.001, 1e6), st.data()
)
def test_improvements_stay_in_the_domain_and_go_the_right_way(
    quantity: Quantity, value: float, factor: float, data: st.DataObject
) -> None:
    x = float(round(value)) if quantity.integer else value
    x = float(quantity.clip(x))
    better = float(improve_values(quantity, np.array([x]), factor)[0])
    assert quantity.contains(better)
    assert better <= x if quantity.better == "lower" else better >= x


@pytest.mark.parametrize(
    ("direction", "before", "after", "wanted"),
    [
        ("minimize", 8.0, 2.0, 4.0),
        ("maximize", 2.0, 8.0, 4.0),
        ("minimize", 2.0, 8.0, 0.25),
        ("minimize", math.inf, 5.0, math.inf),
        ("minimize", 5.0, math.inf, 0.0),
        ("minimize", math.inf, math.inf, 1.0),
        ("minimize", 3.0, 0.0, math.inf),
        ("maximize", 0.0, 3.0, math.inf),
        ("maximize", 3.0, 0.0, 0.0),
        ("minimize", 0.0, 0.0, 1.0),
        ("minimize", -2.0, -3.0, 1.5),
        ("maximize", -2.0, -1.0, 1.5),
        ("minimize", 1.0, -1.0, 3.0),
        ("minimize", 1.0, math.nan, math.nan),
    ],
)
def test_gain(direction: Any, before: float, after: float, wanted: float) -> None:
    got = float(gain_factor(objective("y", direction), before, after))
    assert got == wanted or (math.isnan(got) and math.isnan(wanted))


def test_a_rule_may_be_set() -> None:
    strict = small(bottlenecks={"factor": 10.0, "threshold": 1e6})
    assert not any(s.bottleneck for s in one(strict, 0).sensitivities)
    assert dataclasses.asdict(one(strict, 0))["design"] == 0
