"""The conformance check passes good models and names what is wrong with each kind of bad one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from dse.model import Array, Floats, Quantity, Resource, composed_of, model
from dse.problems import InputError
from dse.testing import check_model

X = Annotated[Floats, Quantity("s", "x", above=0, high=1e6)]
Y = Annotated[Floats, Quantity("s", "y", low=0, high=10)]
Lanes = Annotated[Floats, Quantity("1", "lanes", low=1, high=8, integer=True)]


class Sum(NamedTuple):
    total: Annotated[Array, Quantity("s", "sum", low=0)]


class Parts(NamedTuple):
    total: Annotated[Array, Quantity("s", "sum", low=0)]
    first: Annotated[Array, Quantity("s", "first part", part_of="total")]
    second: Annotated[Array, Quantity("s", "second part", part_of="total")]


@dataclass(frozen=True, eq=False)
class Measured:
    measured: Annotated[Array, Quantity("s", "sum", low=0)]


class Doubled(NamedTuple):
    doubled: Annotated[Array, Quantity("s", "twice the sum", low=0)]


def good(x: X, y: Y) -> Sum:
    return Sum(np.asarray(x + y))


def good_parts(x: X, lanes: Lanes) -> Parts:
    whole = np.asarray(x * lanes)
    return Parts(whole, np.asarray(x * 1.0), np.asarray(x * (lanes - 1)))


@model
def good_wrapped(x: X, y: Y = 1.0) -> Sum:
    return Sum(np.asarray(x * (1.0 + y)))


@composed_of(good_wrapped)
def good_composed(x: X, y: Y = 1.0) -> Sum:
    """Signature and docstring alone: the part gives the body."""


class Sides(NamedTuple):
    x: X
    y: Y = 1.0


@dataclass(frozen=True, eq=False)
class Whole(Measured):
    """What `good_record` gives, and its part: inherited."""

    doubled: Annotated[Array, Quantity("s", "twice the sum", low=0)]


@model
def good_record(sides: Sides, lanes: Lanes) -> Measured:
    return Measured(np.asarray((sides.x + sides.y) * lanes))


@model
def good_double(measured: Annotated[Floats, Quantity("s", "sum", low=0)]) -> Doubled:
    return Doubled(np.asarray(2.0 * measured))


@composed_of(good_record, good_double)
def good_chain(sides: Sides, lanes: Lanes) -> Whole:
    """Take in the second part what the first one gives."""


def good_single_value(x: X, unit: Annotated[Floats, Quantity("1", "u", low=2, high=2)]) -> Sum:
    return Sum(np.asarray(x * unit))


def good_saturating(x: X) -> Sum:
    return Sum(np.where(np.asarray(x) > 10, np.inf, x))


@pytest.mark.parametrize(
    "model",
    [
        good,
        good_parts,
        good_wrapped,
        good_composed,
        good_record,
        good_chain,
        good_single_value,
        good_saturating,
    ],
)
def test_good_models_pass(model: Callable[..., Any]) -> None:
    check_model(model)


def test_a_model_with_a_resource_passes_with_it() -> None:
    def scaled(table: Annotated[Any, Resource(str, "a table")], x: X) -> Sum:
        return Sum(np.asarray(x * table[0]))

    check_model(scaled, fixed={"table": (2.0,)})
    with pytest.raises(AssertionError, match="give the resource 'table'"):
        check_model(scaled)


class _Calls:
    count = 0


def remembers(x: X) -> Sum:
    _Calls.count += 1
    return Sum(np.asarray(x * _Calls.count))


def changes_input(x: X) -> Sum:
    if isinstance(x, np.ndarray):
        x *= 2
    return Sum(np.asarray(x))


def changes_input_by_force(x: X) -> Sum:
    if isinstance(x, np.ndarray):
        x.flags.writeable = True
        x[-1] = 3.0
    return Sum(np.asarray(x))


def sums_over_the_batch(x: X) -> Sum:
    return Sum(np.asarray(x / np.sum(x)))


def sorts_the_batch(x: X) -> Sum:
    return Sum(np.sort(np.atleast_1d(x))[::-1].reshape(np.shape(x)))


def gives_arrays_for_scalars(x: X) -> Sum:
    return Sum(np.atleast_1d(x))


def takes_scalars_only(x: X) -> Sum:
    return Sum(np.asarray(math.sqrt(x)))


def takes_arrays_only(x: X) -> Sum:
    return Sum(np.asarray(x[:] * 1.0))  # type: ignore[index]


def takes_equal_shapes_only(x: X, y: Y) -> Sum:
    return Sum(
        np.asarray([a + b for a, b in zip(np.ravel(x), np.ravel(y), strict=True)])[
            () if np.ndim(x) else 0
        ]
    )


def pairs_by_position(x: X, y: Y) -> Sum:
    if np.ndim(x) == 2:
        return Sum(np.asarray(x + np.flip(y)))
    return Sum(np.asarray(x + y))


def leaves_its_domain(x: X) -> Sum:
    return Sum(np.asarray(x - 100.0))


def is_nan_inside(x: X) -> Sum:
    return Sum(np.sqrt(np.asarray(x) - 1e3))


def minds_its_neighbours(x: X) -> Sum:
    if np.isnan(x).any():
        return Sum(np.zeros_like(x))
    return Sum(np.asarray(x * 1.0))


def fills_nan(x: X) -> Sum:
    return Sum(np.nan_to_num(np.asarray(x), nan=1.0).clip(0.1))


fills_nan.__model__ = fills_nan  # type: ignore[attr-defined]


def raises_outside(x: X) -> Sum:
    if np.any(np.asarray(x) <= 0):
        raise ValueError("x must be positive")
    return Sum(np.asarray(x * 1.0))


def ignores_y(x: X, y: Y) -> Sum:
    return Sum(np.asarray(x + 0.0))


def parts_do_not_add_up(x: X, y: Y) -> Parts:
    return Parts(np.asarray(x + y + 1e-3), np.asarray(x + 0 * y), np.asarray(y + 0 * x))


def is_nan_in_a_record(sides: Sides) -> Sum:
    return Sum(np.sqrt(np.asarray(sides.x) - 1e3))


def unlike_its_part(x: X, y: Y = 1.0) -> Sum:
    return Sum(np.asarray(x * (1.0 + y) * (1 + 1e-15)))


unlike_its_part.__parts__ = (good_wrapped,)  # type: ignore[attr-defined]


def unknown_unit(x: Annotated[Floats, Quantity("furlong", "x")]) -> Sum:
    return Sum(np.abs(x))


def says_nothing(x: Annotated[Floats, Quantity("s", "")]) -> Sum:
    return Sum(np.abs(x))


def no_whole_number(
    x: Annotated[Floats, Quantity("s", "x", low=0.2, high=0.8, integer=True)],
) -> Sum:
    return Sum(np.abs(x))


def empty_open_domain(x: Annotated[Floats, Quantity("s", "x", above=1, high=1)]) -> Sum:
    return Sum(np.abs(x))


def typically_outside(x: Annotated[Floats, Quantity("s", "x", low=0, typical=(-1, 1))]) -> Sum:
    return Sum(np.abs(x))


def typically_upside_down(x: Annotated[Floats, Quantity("s", "x", typical=(2, 1))]) -> Sum:
    return Sum(np.abs(x))


def default_outside(x: X = -1.0) -> Sum:
    return Sum(np.asarray(x * 1.0))


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (remembers, "'total' differs between two equal calls"),
        (changes_input, "it changes its inputs, which are read-only"),
        (changes_input_by_force, "changes its input 'x'"),
        (sums_over_the_batch, "'total' of the array is"),
        (sorts_the_batch, "'total' of the array is"),
        (gives_arrays_for_scalars, r"returned 'total' of shape \(1,\) for inputs of shape \(\)"),
        (takes_scalars_only, "raises TypeError inside the domain"),
        (takes_arrays_only, "raises .* for the scalars"),
        (takes_equal_shapes_only, r"raises ValueError for arrays of shapes \(3, 1\) and \(4,\)"),
        (pairs_by_position, "'total' does not broadcast"),
        (leaves_its_domain, r"'total' leaves its declared domain \[0, inf\)"),
        (is_nan_inside, "'total' is NaN inside the domain"),
        (minds_its_neighbours, "'total' changes next to an element outside the domain"),
        (fills_nan, "'total' is not NaN where x = nan"),
        (raises_outside, "raises ValueError where x = "),
        (ignores_y, "no output depends on 'y'"),
        (parts_do_not_add_up, "the parts of 'total' do not add up to it"),
        (is_nan_in_a_record, "'total' is NaN inside the domain"),
        (unlike_its_part, "'total' of the whole differs from its part's"),
        (unknown_unit, "'x' has the unknown unit 'furlong'"),
        (says_nothing, "'x' has no description"),
        (no_whole_number, "'x' has the empty domain"),
        (empty_open_domain, "'x' has the empty domain"),
        (typically_outside, r"'x' is typically in \(-1, 1\), outside its domain"),
        (typically_upside_down, r"'x' is typically in \(2, 1\), outside"),
        (default_outside, "'x' is -1.0 by default, outside its domain"),
    ],
)
def test_bad_models_are_named_with_what_is_wrong(model: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint) as caught:
        check_model(model)
    assert str(caught.value).startswith(f"{__name__}:{model.__name__}: ")


def test_a_model_that_ignores_integrality_is_still_held_to_it() -> None:
    def halves(lanes: Lanes) -> Sum:
        return Sum(np.asarray(lanes * 1.0))

    check_model(halves)  # the engine makes 1.5 lanes NaN, whatever the function does
    halves.__model__ = halves  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="'total' is not NaN where lanes"):
        check_model(halves)


def test_undeclared_is_an_input_error() -> None:
    def undeclared(x: float) -> Sum:
        raise NotImplementedError

    with pytest.raises(InputError, match="has no quantity"):
        check_model(undeclared)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 4"):
        check_model(good, samples=3)


def test_other_seeds_and_samples_draw_others() -> None:
    seen: list[Array] = []

    def spy(x: X) -> Sum:
        if np.ndim(x) == 1 and not np.isnan(x).any():
            seen.append(np.array(x))
        return Sum(np.asarray(x * 1.0))

    check_model(spy, samples=8, seed=1)
    first = seen[0]
    seen.clear()
    check_model(spy, samples=8, seed=2)
    assert first.shape == seen[0].shape == (8,)
    assert not np.array_equal(first, seen[0])
