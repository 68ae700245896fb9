"""Tallies: parts add up to the whole, and the relaxation that is named lets the design in."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dse.evaluate.criteria import Constraint, measure_violations
from dse.evaluate.evaluator import Evaluated
from dse.result.tables import SAMPLE, list_cuts
from dse.search.diagnosis import explain_infeasibility
from dse.search.outcome import Outcome
from dse.search.tally import Tally
from tests.core_examples import constraint, relation

numbers = st.integers(-3, 3).map(float) | st.sampled_from([math.nan, math.inf]) | st.floats(-5, 5)
CONSTRAINTS = (constraint("a", 2.0), constraint("b", 1.0, upper=False), constraint("c", -4.0))


@st.composite
def batches(draw: st.DrawFn) -> Evaluated:
    rows = draw(st.lists(st.tuples(*[numbers] * 4), max_size=30))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    objectives, constrained = table[:, :1], table[:, 1:]
    holds = (measure_violations(CONSTRAINTS, constrained) <= 0).all(axis=1)
    feasible = ~np.isnan(objectives).any(axis=1) & holds
    return Evaluated(objectives, constrained, np.asarray(feasible))


def part(evaluated: Evaluated, low: int, high: int) -> Tally:
    return Tally.of(np.arange(low, high), evaluated.rows(slice(low, high)), CONSTRAINTS)


def fields(tally: Tally) -> dict[str, Any]:
    return {k: np.asarray(v).tolist() for k, v in dataclasses.asdict(tally).items()}


@given(batches(), st.lists(st.integers(0, 30), max_size=5), st.randoms())
def test_parts_add_up_to_the_whole_in_any_order(
    evaluated: Evaluated, cuts: list[int], rng: Any
) -> None:
    count = len(evaluated.feasible)
    edges = [0, *sorted(min(c, count) for c in cuts), count]
    parts = [part(evaluated, low, high) for low, high in itertools.pairwise(edges)]
    rng.shuffle(parts)
    total = fields(reduce(Tally.__add__, parts, Tally.empty(3)))
    whole = fields(part(evaluated, 0, count))
    if evaluated.feasible.any():  # the nearest design matters only where none is feasible
        for name in ("distance", "nearest", "missed"):
            total.pop(name), whole.pop(name)
    assert total == whole


@given(batches())
def test_counts_and_least_violations_against_a_loop(evaluated: Evaluated) -> None:
    tally = part(evaluated, 0, len(evaluated.feasible))
    defined = [not math.isnan(y) for y in evaluated.objectives[:, 0]]
    amounts = measure_violations(CONSTRAINTS, evaluated.constrained).tolist()
    assert tally.evaluated == len(amounts)
    assert tally.undefined == defined.count(False)
    assert tally.feasible == sum(
        ok and all(e <= 0 for e in row) for ok, row in zip(defined, amounts, strict=True)
    )
    for k in range(3):
        assert tally.violated[k] == sum(not row[k] <= 0 for row in amounts)
        candidates = [
            (row[k], i)
            for i, (ok, row) in enumerate(zip(defined, amounts, strict=True))
            if ok and not math.isnan(row[k]) and all(row[j] <= 0 for j in range(3) if j != k)
        ]
        best = min(candidates, default=(math.inf, -1))
        assert (tally.least[k], tally.admitted[k]) == best
        alone = [row[k] > 0 and all(row[j] <= 0 for j in range(3) if j != k) for row in amounts]
        assert tally.alone[k] == sum(alone)


def infeasible(
    values: dict[str, list[float]], constraints: tuple[Constraint, ...]
) -> tuple[str, list[tuple[str, int]]]:
    """Return what is said, and each way out as (its text, the design that it admits)."""
    columns = {name: np.array(column) for name, column in values.items()}
    objectives = next(iter(columns.values()))[:, None]
    index = np.arange(len(objectives))
    constrained = np.column_stack([c.value(columns, len(index)) for c in constraints])
    holds = (measure_violations(constraints, constrained) <= 0).all(axis=1)
    evaluated = Evaluated(objectives, constrained, holds & ~np.isnan(objectives[:, 0]))
    assert not evaluated.feasible.any()
    message, remedy = explain_infeasibility(Tally.of(index, evaluated, constraints), constraints)
    ways = [w for w in remedy.split("; ") if w]
    found = [
        (w, int(m[1].replace(",", ""))) for w in ways if (m := re.search(r"design ([\d,]+)", w))
    ]
    return message, found


def relaxed(text: str, constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Write the bounds that a text names into the constraints."""
    new = list(constraints)
    for key, value, quantity in re.findall(r"(at_most|at_least) = (\S+) \(.*?\) for (\w+)", text):
        for i, given_constraint in enumerate(constraints):
            if given_constraint.quantity == quantity and given_constraint.upper == (
                key == "at_most"
            ):
                new[i] = dataclasses.replace(given_constraint, bound=float(value))
    return tuple(new)


@given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float), min_size=1, max_size=8),
    st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float),
    st.booleans(),
)
@example([-4.0], np.finfo(np.float64).tiny, False)
def test_the_named_relaxation_of_one_constraint_admits_the_named_design(
    values: list[float], bound: float, upper: bool
) -> None:
    constraints = (constraint("a", bound, upper=upper),)
    broken = [v for v in values if (v > bound if upper else v < bound)]
    if not broken:
        return
    message, ways = infeasible({"a": broken}, constraints)
    ((text, design),) = ways
    designs = "1 design" if len(broken) == 1 else f"{len(broken)} designs"
    assert f"of {designs}, '{constraints[0].name}' excludes {len(broken)}" in message
    (new,) = relaxed(text, constraints)
    assert broken[design] <= new.bound if upper else broken[design] >= new.bound
    best = min(broken) if upper else max(broken)
    assert abs(broken[design] - bound) == abs(best - bound)
    assert abs(new.bound - best) <= 1e-5 * abs(best) + 1e-9 * abs(bound)  # and hardly more


def test_each_constraint_that_alone_is_to_blame_is_named() -> None:
    values = {"a": [5.0, 1.0, 9.0], "b": [1.0, 7.0, 9.0]}
    constraints = (constraint("a", 2.0), constraint("b", 3.0))
    message, ways = infeasible(values, constraints)
    assert "'a <= 2' excludes 2, 'b <= 3' excludes 2" in message
    assert [design for _, design in ways] == [0, 1]
    for text, design in ways:
        for new in relaxed(text, constraints):
            assert values[new.quantity][design] <= new.bound
    assert ways[0][0].startswith("at_most = 5 (5) for a")


def test_constraints_that_are_to_blame_together_are_relaxed_together() -> None:
    values = {"a": [5.0, 4.0, 90.0], "b": [4.0, 70.0, 9.0]}
    constraints = (constraint("a", 2.0), constraint("b", 3.0))
    _, ((text, design),) = infeasible(values, constraints)
    assert text.startswith("at_most = 5 (5) for a and at_most = 4 (4) for b")
    assert design == 0
    assert all(values[new.quantity][0] <= new.bound for new in relaxed(text, constraints))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a <= 2", "relaxing 'a <= 2' by 1.23457 would"),
        ("a < 3.2345678", "writing <= in 'a < 3.2345678' would"),
        ("a == 3", "relaxing 'a == 3' by 0.234568 would"),
    ],
)
def test_relations_are_relaxed_by_their_violation_rounded_up(written: str, text: str) -> None:
    _, ((way, design),) = infeasible({"a": [7.0, 3.2345678]}, (relation(written),))
    assert way.startswith(text)
    assert design == 1


def test_undefined_and_infinite_designs_are_counted_and_not_offered() -> None:
    constraints = (constraint("b", 1.0),)
    message, ways = infeasible({"a": [math.nan, 1.0], "b": [0.0, math.inf]}, constraints)
    assert "1 has no value: an input is outside a model's domain" in message
    assert "or the model gives NaN" in message
    assert "'b <= 1' excludes 1" in message
    assert ways == []


def test_a_sample_of_infeasible_designs_is_reported_with_the_first_constraint_of_each() -> None:
    rng = np.random.default_rng(2)
    objectives, constrained = rng.normal(size=(6_000, 1)), rng.normal(0.0, 4.0, size=(6_000, 3))
    broken = measure_violations(CONSTRAINTS, constrained) > 0
    evaluated = Evaluated(objectives, constrained, np.asarray(~broken.any(axis=1)))
    numbers = np.arange(6_000) * 3 + 1
    tally = Tally.of(numbers, evaluated, CONSTRAINTS)
    none = np.zeros(6_000, dtype=bool)
    outcome = Outcome(numbers, {}, evaluated, none, tally, pd.DataFrame(), False, True, "")
    cuts = list_cuts(CONSTRAINTS, outcome)
    told = {number: k for k, cut in enumerate(cuts) for number in cut.first}
    assert len(told) == sum(len(cut.first) for cut in cuts) == SAMPLE
    for number, k in told.items():
        assert np.flatnonzero(broken[(number - 1) // 3])[0] == k
    assert [cut.violated for cut in cuts] == broken.sum(axis=0).tolist()
    only = broken & (broken.sum(axis=1) == 1)[:, None]
    assert [cut.alone for cut in cuts] == only.sum(axis=0).tolist()
