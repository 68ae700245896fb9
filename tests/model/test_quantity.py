"""Quantities: domains, draws, clipping, and NaN outside."""

from __future__ import annotations

import math
import pickle
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dse.model import Array, Floats, Quantity, list_declarations, model
from dse.problems import InputError, Problem

bounds = st.floats(-1e6, 1e6) | st.integers(-20, 20).map(float)


@st.composite
def quantities(draw: st.DrawFn) -> Quantity:
    """Draw a quantity whose domain is not empty."""
    low, above = (draw(bounds | st.just(-math.inf)) for _ in range(2))
    high, below = (draw(bounds | st.just(math.inf)) for _ in range(2))
    assume(min(high, below) - max(low, above) > 3.0)
    integer = draw(st.booleans())
    return Quantity("1", "x", low=low, high=high, above=above, below=below, integer=integer)


def plainly_inside(quantity: Quantity, x: float) -> bool:
    """Say the domain in Python's own comparisons."""
    if math.isnan(x) or not quantity.low <= x <= quantity.high:
        return False
    if not math.isinf(quantity.above) and not x > quantity.above:
        return False
    if not math.isinf(quantity.below) and not x < quantity.below:
        return False
    return not quantity.integer or math.isinf(x) or x == int(x)


@given(quantities(), st.lists(st.floats() | st.integers(-25, 25).map(float), max_size=8))
def test_contains_is_plain_comparison(quantity: Quantity, values: list[float]) -> None:
    edges = [quantity.low, quantity.high, quantity.above, quantity.below]
    every = [*values, *edges, *(math.nextafter(e, math.inf) for e in edges)]
    inside = quantity.contains(np.array(every)).tolist()
    assert inside == [plainly_inside(quantity, x) for x in every]
    for x in every:
        assert quantity.contains_all(np.array([x])) == plainly_inside(quantity, x)
        assert quantity.contains_all(x) == plainly_inside(quantity, x)  # a number is no array
    assert quantity.contains_all(np.array(values)) == all(
        plainly_inside(quantity, x) for x in values
    )


@given(st.lists(st.integers(-5, 5), min_size=1), quantities())
def test_whole_number_arrays_are_judged_as_the_numbers_they_are(
    values: list[int], quantity: Quantity
) -> None:
    wanted = all(plainly_inside(quantity, float(x)) for x in values)
    assert quantity.contains_all(np.array(values)) == wanted


@given(quantities(), st.integers(0, 2**32 - 1))
def test_draws_are_in_the_domain(quantity: Quantity, seed: int) -> None:
    drawn = quantity.draw(np.random.default_rng(seed), 50)
    assert drawn.shape == (50,)
    assert all(plainly_inside(quantity, x) for x in drawn.tolist())


@pytest.mark.parametrize(
    ("quantity", "allowed"),
    [
        (Quantity("1", "lanes", above=0, high=2, integer=True), {1.0, 2.0}),
        (Quantity("1", "lanes", low=1, below=3, integer=True), {1.0, 2.0}),
        (Quantity("1", "lanes", low=0.5, high=2.5, integer=True), {1.0, 2.0}),
        (Quantity("1", "only", low=7, high=7), {7.0}),
    ],
)
def test_draws_of_few_values_take_all_of_them(quantity: Quantity, allowed: set[float]) -> None:
    assert set(quantity.draw(np.random.default_rng(0), 200).tolist()) == allowed


def test_wide_ranges_are_drawn_evenly_in_the_logarithm() -> None:
    drawn = Quantity("B", "data", low=1, high=1e6).draw(np.random.default_rng(0), 6_000)
    decades, _ = np.histogram(np.log10(drawn), bins=6, range=(0, 6))
    assert decades.min() > 850  # 1,000 each, five standard deviations off at most
    assert decades.max() < 1_150


def test_typical_values_are_where_draws_come_from() -> None:
    quantity = Quantity("B", "data", low=0, typical=(3.0, 5.0))
    drawn = quantity.draw(np.random.default_rng(0), 100)
    assert drawn.min() >= 3.0
    assert drawn.max() <= 5.0


@given(quantities(), st.floats(-1e9, 1e9) | st.integers(-30, 30).map(float), st.integers(0, 99))
def test_clip_is_the_nearest_value_inside(quantity: Quantity, x: float, seed: int) -> None:
    x = float(round(x)) if quantity.integer else x
    clipped = float(quantity.clip(x))
    assert plainly_inside(quantity, clipped)
    inside = quantity.draw(np.random.default_rng(seed), 20).tolist()
    bounds_of = [quantity.low, quantity.high, quantity.above, quantity.below]
    ends = [x, *filter(math.isfinite, bounds_of)]
    inside += [v for end in ends for v in (end, math.nextafter(end, math.inf), math.ceil(end))]
    nearest_of = min(abs(v - x) for v in inside if plainly_inside(quantity, v))
    assert abs(clipped - x) <= nearest_of


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        (Quantity("1", "x"), "(-inf, inf)"),
        (Quantity("1", "x", low=0), "[0, inf)"),
        (Quantity("1", "x", above=0, high=1), "(0, 1]"),
        (Quantity("1", "x", low=0, below=1), "[0, 1)"),
        (Quantity("1", "x", low=1, high=64, integer=True), "whole numbers in [1, 64]"),
    ],
)
def test_domain_in_words(quantity: Quantity, words: str) -> None:
    assert quantity.domain() == words


def test_declarations_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the domain \[2, 1\] of 'x' is empty"):
        Quantity("s", "x", low=2, high=1)
    with pytest.raises(ValueError, match="better = 'more' is not"):
        Quantity("s", "x", better="more")  # type: ignore[arg-type]


class Pair(NamedTuple):
    total: Annotated[Array, Quantity("1", "sum")]
    first: Annotated[Array, Quantity("1", "the first")]


Positive = Annotated[Floats, Quantity("1", "positive", above=0)]
Count = Annotated[Floats, Quantity("1", "a count", low=1, high=8, integer=True)]


@model
def add(x: Positive, n: Count = 1.0) -> Pair:
    """Add."""
    return Pair(np.asarray(np.log(x) + n), np.asarray(x))


def test_nan_exactly_where_an_input_is_outside() -> None:
    x = np.array([1.0, 0.0, -1.0, np.nan, np.e, np.e, np.e, np.inf])
    n = np.array([1.0, 1.0, 1.0, 1.0, 1.5, 9.0, 2.0, 1.0])
    kept = x.copy(), n.copy()
    result = add(x, n)
    assert np.isnan(result.total).tolist() == [0, 1, 1, 1, 1, 1, 0, 0]
    assert np.isnan(result.first).tolist() == [0, 1, 1, 1, 1, 1, 0, 0]
    assert result.total[[0, 6]].tolist() == [1.0, 3.0]
    assert np.array_equal(x, kept[0], equal_nan=True)
    assert np.array_equal(n, kept[1])


def test_nan_outside_broadcasts_the_bad_elements() -> None:
    result = add(np.array([[1.0], [-1.0]]), np.array([1.0, 2.0, 0.0]))
    assert np.isnan(result.total).tolist() == [[0, 0, 1], [1, 1, 1]]


def test_nan_outside_is_applied_once_and_keeps_the_function_readable() -> None:
    assert model(add) is add
    assert add.__name__ == "add"
    assert list(list_declarations(add)) == ["x", "n"]


def test_input_errors_cross_between_processes() -> None:
    error = InputError("file.toml", [Problem("a", "is wrong", "mend it"), Problem("b", "too")])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert str(again) == str(error)
    assert again.problems == error.problems
    assert str(error) == "file.toml: 2 problems\n  a: is wrong\n      mend it\n  b: too"
