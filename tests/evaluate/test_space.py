"""Spaces: designs by number, in the unit cube, as columns and as labels, and back."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dse.evaluate.space import Choice, Integer, Points, Real, Space, Values, Variable

numbers = st.floats(-1e12, 1e12).map(lambda x: round(x, 3))
positive = st.floats(1e-9, 1e12)


@st.composite
def reals(draw: st.DrawFn, steps: bool) -> Real:
    log = draw(st.booleans())
    low, high = sorted(draw(st.tuples(*[positive if log else numbers] * 2)))
    count = draw(st.integers(2, 60)) if steps and high > low * (1 + 1e-6) + 1e-6 else None
    return Real(low, low if steps and count is None else high, log, count or (1 if steps else None))


@st.composite
def integers(draw: st.DrawFn) -> Integer:
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -50, 300))
    return Integer(low, low + draw(st.integers(0, 2_000)), draw(st.integers(1, 70)), log)


values = st.lists(numbers, min_size=1, max_size=20, unique=True).map(lambda v: Values(tuple(v)))
choices = st.integers(1, 6).map(
    lambda n: Choice({f"option {i}": {"a": i * 1.5, "b": -1.0 * i} for i in range(n)})
)
gridded = st.one_of(reals(steps=True), integers(), values, choices)


def plain_levels(variable: Variable) -> list[float]:
    """Count the values in Python's own numbers."""
    match variable:
        case Integer(low, high, step):
            return [float(x) for x in range(low, high + 1, step)]
        case Values(given):
            return list(given)
        case Choice(rows):
            return [float(i) for i in range(len(rows))]
        case Real(low, high, log, steps) if steps is not None:
            share = [i / max(steps - 1, 1) for i in range(steps)]
            if log:
                return [low * (high / low) ** s for s in share]
            return [low + (high - low) * s for s in share]
    raise AssertionError(variable)


@given(gridded)
@example(Real(-16777216.0, 0.062, False, 2))
def test_levels_count_and_round_trips(variable: Variable) -> None:
    wanted = plain_levels(variable)
    levels = variable.levels()
    assert variable.count == len(wanted) == len(levels)
    largest = max(map(abs, wanted))  # sums of numbers of this size are rounded
    assert levels.tolist() == pytest.approx(wanted, rel=1e-12, abs=max(1e-9, 1e-15 * largest))
    unit = variable.to_unit(levels)
    assert ((unit >= 0) & (unit < 1)).all()
    assert np.array_equal(variable.from_unit(unit), levels)
    if not isinstance(variable, Real) or variable.count == 1 or np.diff(levels).min() > 0:
        assert variable.position(levels).tolist() == list(range(len(wanted)))
    assert np.array_equal(variable.at(np.arange(len(wanted))), levels)


@given(gridded, st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_every_point_of_the_unit_interval_is_a_level(variable: Variable, unit: list[float]) -> None:
    found = variable.from_unit(np.array([0.0, *unit, math.nextafter(1, 0), 1.0]))
    assert np.isin(found, variable.levels()).all()
    assert found[0] == variable.levels()[0]
    assert found[-1] == variable.levels()[-1]


@pytest.mark.parametrize(
    "variable",
    [
        Integer(1, 1_000, log=True),
        Integer(1, 10, 3, log=True),
        Integer(3, 3, log=True),
        Integer(-3, 11, 5),
        Real(0.1, 10.0, log=True, steps=7),
        Values((5.0, 1.0, 3.0)),
    ],
)
def test_no_level_is_out_of_reach(variable: Variable) -> None:
    found = variable.from_unit(np.linspace(0, 1, 200_001))
    assert set(found.tolist()) == set(variable.levels().tolist())


def test_log_integers_are_spread_evenly_in_the_logarithm() -> None:
    found = Integer(1, 1_023, log=True).from_unit(np.linspace(0, 1, 100_000, endpoint=False))
    octaves = np.histogram(np.log2(found + 0.5), bins=10, range=(0, 10))[0]
    assert octaves == pytest.approx(10_000, rel=0.001)


@given(reals(steps=False), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_continuous_round_trip(variable: Real, unit: list[float]) -> None:
    found = variable.from_unit(np.array([0.0, 1.0, *unit]))
    assert found[0] == variable.low
    assert found[1] == variable.high
    assert ((found >= variable.low) & (found <= variable.high)).all()
    again = variable.from_unit(variable.to_unit(found))
    span = max(abs(variable.low), abs(variable.high))
    assert again == pytest.approx(found, rel=1e-13 if variable.log else 0, abs=1e-15 * span)


def test_the_widest_ranges_do_not_overflow() -> None:
    linear, log = Real(-1.7e308, 1.7e308), Real(1e-300, 1e300, log=True)
    assert linear.from_unit(np.array([0.5])) == 0.0
    assert linear.to_unit(np.array([0.0])) == 0.5
    assert log.from_unit(log.to_unit(np.array([1.0]))) == pytest.approx(1.0, rel=1e-12)


@given(st.lists(gridded, min_size=1, max_size=4), st.data())
def test_numbers_and_designs(variables: list[Variable], data: st.DataObject) -> None:
    space = Space({f"v{i}": v for i, v in enumerate(variables)})
    size = math.prod(len(plain_levels(v)) for v in variables)
    assert space.size == size
    index = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5).map(np.array))
    points = space.from_index(index)
    for row, number in enumerate(index.tolist()):
        for name, variable in reversed(
            list(space.variables.items())
        ):  # by hand, the last one fastest
            number, digit = divmod(number, len(plain_levels(variable)))
            assert points[name][row] == variable.levels()[digit]
    if all(len(np.unique(v.levels())) == v.count for v in variables):
        assert np.array_equal(space.to_index(points), index)
    assert same(space.from_unit(space.to_unit(points)), points)
    assert same(space.from_labels(space.labels(points)), points)


def same(one: Points, other: Points) -> bool:
    return list(one) == list(other) and all(np.array_equal(one[n], other[n]) for n in one)


def test_choices_set_their_quantities_together() -> None:
    rows = {"card": {"overhead": 9.0, "area": 4.0}, "port": {"overhead": 1.0, "area": 7.0}}
    space = Space({"interface": Choice(rows), "lanes": Integer(1, 2)})
    assert space.quantities() == {"overhead": "interface", "area": "interface", "lanes": "lanes"}
    columns = space.columns(space.from_index(np.arange(4)))
    assert {n: c.tolist() for n, c in columns.items()} == {
        "overhead": [9.0, 9.0, 1.0, 1.0],
        "area": [4.0, 4.0, 7.0, 7.0],
        "lanes": [1.0, 2.0, 1.0, 2.0],
    }


def test_huge_spaces_are_counted_exactly_and_decode_what_64_bits_number() -> None:
    space = Space({f"v{i}": Integer(0, 9) for i in range(30)})
    assert space.size == 10**30
    points = space.from_index(np.array([9_223_372_036_854_775_807]))
    digits = "".join(str(int(v[0])) for v in points.values())
    assert int(digits) == 2**63 - 1
    with pytest.raises(ValueError, match="too many to number"):
        space.to_index(points)


def test_wide_integers_are_not_listed_to_decode_a_few() -> None:
    space = Space({"wide": Integer(0, 10**12), "few": Values((1.0, 2.0))})
    tracemalloc.start()
    points = space.from_index(np.array([2 * 10**12 + 1, 7]))
    index = space.to_index(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert points["wide"].tolist() == [1e12, 3.0]
    assert index.tolist() == [2 * 10**12 + 1, 7]
    assert peak < 1_000_000


def test_continuous_spaces_have_no_numbers() -> None:
    space = Space({"x": Real(0, 1), "n": Integer(1, 2)})
    assert space.size is None
    with pytest.raises(ValueError, match="'x' is continuous"):
        space.from_index(np.arange(2))
    with pytest.raises(ValueError, match="'x' is continuous"):
        space.to_index({"x": np.array([0.5]), "n": np.array([1.0])})
    with pytest.raises(ValueError, match="no levels"):
        Real(0, 1).levels()


@given(st.one_of(reals(steps=True), integers(), values), st.floats(-1e13, 1e13))
def test_snap_is_the_nearest_allowed_value(variable: Variable, value: float) -> None:
    space = Space({"x": variable})
    snapped = space.snap("x", value)
    levels = variable.levels().tolist()
    assert snapped in levels
    nearest = min(abs(value - level) for level in levels)
    assert abs(value - snapped) <= nearest * (1 + 1e-12) + 1e-9


def test_snap_to_a_continuum_keeps_to_its_bounds() -> None:
    space = Space({"x": Real(0.25, 2.0)})
    assert [space.snap("x", v) for v in (-1.0, 0.3, 9.0)] == [0.25, 0.3, 2.0]
