"""The conformance check passes good models and names what is wrong with each kind of bad one."""

from __future__ import annotations

import itertools
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


GOOD = [good, good_parts, good_wrapped, good_composed, good_record, good_chain]


@pytest.mark.parametrize("model", [*GOOD, good_single_value, good_saturating])
def test_good_models_pass(model: Callable[..., Any]) -> None:
    check_model(model)


def test_a_model_with_a_resource_passes_with_it() -> None:
    def scaled(table: Annotated[Any, Resource(str, "a table")], x: X) -> Sum:
        return Sum(np.asarray(x * table[0]))

    check_model(scaled, fixed={"table": (2.0,)})
    with pytest.raises(AssertionError, match="give the resource 'table'"):
        check_model(scaled)


def of_x(give: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a model with one input."""

    def bad(x: X) -> Sum:
        return Sum(give(x))

    return bad


def of_both(give: Callable[[Any, Any], Any], kind: Any = Sum) -> Callable[..., Any]:
    """Return a model with two inputs, which gives a record of this kind."""

    def bad(x, y):  # type: ignore[no-untyped-def]
        given = give(x, y)
        return kind(*given) if isinstance(given, tuple) else kind(given)

    bad.__annotations__ = {"x": X, "y": Y, "return": kind}
    return bad


def declared(unit: str, about: str = "x", default: Any = None, **more: Any) -> Any:
    """Return a good model whose input has this declaration."""

    def bad(x):  # type: ignore[no-untyped-def]
        return Sum(np.abs(x))

    bad.__annotations__ = {"x": Annotated[Floats, Quantity(unit, about, **more)], "return": Sum}
    bad.__defaults__ = None if default is None else (default,)
    return bad


calls = itertools.count(1)


def changed(x: Any, by_force: bool) -> Any:
    if isinstance(x, np.ndarray):
        x.flags.writeable = x.flags.writeable or by_force
        x *= 2
    return np.asarray(x)


def equal_shapes(x: Any, y: Any) -> Any:
    sums = [a + b for a, b in zip(np.ravel(x), np.ravel(y), strict=True)]
    return np.asarray(sums)[() if np.ndim(x) else 0]


def raise_outside(x: Any) -> Any:
    if np.any(np.asarray(x) <= 0):
        raise ValueError("x must be positive")
    return np.asarray(x * 1.0)


def is_nan_in_a_record(sides: Sides) -> Sum:
    return Sum(np.sqrt(np.asarray(sides.x) - 1e3))


def unlike_its_part(x: X, y: Y = 1.0) -> Sum:
    return Sum(np.asarray(x * (1.0 + y) * (1 + 1e-15)))


unlike_its_part.__parts__ = (good_wrapped,)  # type: ignore[attr-defined]
fills_nan = of_x(lambda x: np.nan_to_num(np.asarray(x), nan=1.0).clip(0.1))
fills_nan.__model__ = fills_nan  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (of_x(lambda x: np.asarray(x * next(calls))), "'total' differs between two equal calls"),
        (of_x(lambda x: changed(x, False)), "it changes its inputs, which are read-only"),
        (of_x(lambda x: changed(x, True)), "changes its input 'x'"),
        (of_x(lambda x: x / np.sum(x)), "'total' of the array is"),
        (
            of_x(lambda x: np.sort(np.atleast_1d(x))[::-1].reshape(np.shape(x))),
            "'total' of the array is",
        ),
        (of_x(np.atleast_1d), r"returned 'total' of shape \(1,\) for inputs of shape"),
        (of_x(math.sqrt), "raises TypeError inside the domain"),
        (of_x(lambda x: x[:] * 1.0), "raises .* for the scalars"),
        (of_both(equal_shapes), r"raises ValueError for arrays of shapes \(3, 1\) and \(4,\)"),
        (
            of_both(lambda x, y: x + (np.flip(y) if np.ndim(x) == 2 else y)),
            "'total' does not broadcast",
        ),
        (of_x(lambda x: x - 100.0), r"'total' leaves its declared domain \[0, inf\)"),
        (of_x(lambda x: np.sqrt(np.asarray(x) - 1e3)), "'total' is NaN inside the domain"),
        (
            of_x(lambda x: x * (0.0 if np.isnan(x).any() else 1.0)),
            "'total' changes next to an element outside the domain",
        ),
        (fills_nan, "'total' is not NaN where x = nan"),
        (of_x(raise_outside), "raises ValueError where x = "),
        (of_both(lambda x, y: x + 0.0), "no output depends on 'y'"),
        (
            of_both(lambda x, y: (x + y + 1e-3, x + 0 * y, y + 0 * x), Parts),
            "the parts of 'total' do not add up to it",
        ),
        (is_nan_in_a_record, "'total' is NaN inside the domain"),
        (unlike_its_part, "'total' of the whole differs from its part's"),
        (declared("furlong"), "'x' has the unknown unit 'furlong'"),
        (declared("s", ""), "'x' has no description"),
        (declared("s", low=0.2, high=0.8, integer=True), "'x' has the empty domain"),
        (declared("s", above=1, high=1), "'x' has the empty domain"),
        (
            declared("s", low=0, typical=(-1, 1)),
            r"'x' is typically in \(-1, 1\), outside its domain",
        ),
        (declared("s", typical=(2, 1)), r"'x' is typically in \(2, 1\), outside"),
        (declared("s", default=-1.0, above=0), "'x' is -1.0 by default, outside its domain"),
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
