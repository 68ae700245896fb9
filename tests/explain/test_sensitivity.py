"""Sensitivities and breakdowns against direct calls."""

from __future__ import annotations

import math
from typing import Any

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
from dse.model import Quantity
from dse.problems import InputError
from tests.core_examples import objective
from tests.explain.examples import machine, study

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
    jpeg = dse.load("studies/jpeg.toml")
    evaluator = jpeg.evaluator
    columns = evaluator.space.columns(evaluator.space.from_index(np.array([7, 50_000, 999])))
    before = evaluator.objective_values(columns, 3)
    found = {
        (s.input, s.objective): s
        for s in find_sensitivities(evaluator, jpeg.rule, columns, before)[1]
    }
    assert len({name for name, _ in found}) > 5
    for (name, objective_name), each in found.items():
        alone = {n: np.asarray(v)[1:2] for n, v in columns.items()}
        alone[name] = np.array([each.improved])
        values = evaluator.objective_values(alone, 1)[0]
        names = [o.name for o in evaluator.objectives]
        assert each.after == values[names.index(objective_name)]


def made(**change: Any) -> dse.Study:
    return study(objective=[{"minimize": "time"}, {"minimize": "area"}], **change)


NUMBER, DESIGN = 52, (5.0, 2.0, 50.0, 300.0, 900.0)  # 5 lanes, 2 stages and the fast bus


def test_gains_against_direct_calls() -> None:
    found = one(made(), NUMBER)
    assert (found.values["lanes"], found.values["bus"]) == (5, "fast")
    gains = {(s.objective, s.input): s for s in found.sensitivities}
    inputs = ("lanes", "bus_wait", "host_time")
    assert set(gains) == {(o, i) for o in ("time", "area") for i in inputs}
    before = machine(*DESIGN)
    lanes = gains["time", "lanes"]
    assert (lanes.value, lanes.improved, lanes.before) == (5.0, 50.0, float(before.time))
    assert lanes.after == float(machine(50.0, *DESIGN[1:]).time)
    assert lanes.gain == lanes.before / lanes.after
    wait = gains["time", "bus_wait"]
    assert (wait.improved, wait.after) == (5.0, float(machine(5, 2, 5, 300, 900).time))
    assert gains["area", "lanes"].gain == 900.0 / 6300.0
    assert gains["area", "bus_wait"].gain == 1.0
    assert all(each.bottleneck == (each.gain >= 1.2) for each in gains.values())
    assert {each.bottleneck for each in gains.values()} == {True, False}
    kinds = ["variable", "selected bus", "study"]
    ordered = [(kinds.index(s.set_by), -s.gain) for s in found.sensitivities]
    assert ordered == sorted(ordered)


def test_parts_add_up_to_their_total() -> None:
    parts, direct = one(made(), NUMBER).parts, machine(*DESIGN)
    assert {p.name: p.value for p in parts} == {"work": float(direct.work), "wait": 50.0}
    assert {p.total for p in parts} == {"time"}
    assert sum(p.value for p in parts) == float(direct.time)
    assert sum(p.share for p in parts) == pytest.approx(1.0, rel=1e-15)


def test_improvable_are_inputs_that_say_which_way_is_better() -> None:
    assert list(improvable_inputs(made().evaluator)) == ["lanes", "bus_wait", "host_time"]
    speedup = logca(latency=30.0, latency_per_byte=0.05)  # in the order of the model's inputs
    symbols = [q.symbol for q in improvable_inputs(speedup.evaluator).values()]
    assert symbols == ["o", "L", "l", "C", "A"]


def test_improving_a_bound_input_changes_nothing_for_its_objective() -> None:
    bound = [{"maximize": "speedup", "at": {"host_time": 500}}, {"minimize": "area"}]
    gains = {(s.objective, s.input): s.gain for s in one(study(objective=bound), 0).sensitivities}
    assert gains.get(("speedup", "host_time"), 1.0) == 1.0


def test_designs_that_are_not_there() -> None:
    whole = made()
    result = whole.run()
    for number in (-1, 96):
        with pytest.raises(InputError, match=f"there is no design {number}"):
            explain(whole, result, [number])
    sampled = made(search={"method": "evolution", "evaluations": 10, "generation": 5})
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
    strict = made(bottlenecks={"factor": 10.0, "threshold": 1e6})
    assert not any(s.bottleneck for s in one(strict, 0).sensitivities)
