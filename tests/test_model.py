"""Models: what is read from an annotated function, and what is refused."""

from __future__ import annotations

import functools
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from dse.model import Array, Floats, Model, Quantity, Resource, composed_of, nan_outside
from dse.problems import InputError

Data = Annotated[Floats, Quantity("B", "data", "g", low=1)]
Rate = Annotated[Floats, Quantity("B/s", "rate", above=0)]


class Times(NamedTuple):
    total: Annotated[Array, Quantity("s", "total time", "T")]
    moving: Annotated[Array, Quantity("s", "time on the way", part_of="total")]
    waiting: Annotated[Array, Quantity("s", "time in the queue", part_of="total")]


def transfer(data: Data, rate: Rate, wait: Annotated[Floats, Quantity("s", "wait")] = 2.0) -> Times:
    moving = np.asarray(data / rate)
    waiting = np.broadcast_to(wait, moving.shape)
    return Times(moving + waiting, moving, waiting)


def test_what_is_read() -> None:
    model = Model.from_function(transfer)
    assert model.name == f"{__name__}:transfer"
    assert list(model.inputs) == ["data", "rate", "wait"]
    assert model.defaults == {"wait": 2.0}
    assert list(model.outputs) == ["total", "moving", "waiting"]
    assert model.quantities["data"].symbol == "g"
    assert model.leaves == (model,)


def test_columns_in_columns_out_with_nan_outside_and_no_warning() -> None:
    model = Model.from_function(transfer)
    out = model({"data": np.array([8.0, 0.5, np.inf]), "rate": 4.0, "beside": "the point"})
    assert np.array_equal(out["total"], [4.0, np.nan, np.inf], equal_nan=True)
    assert np.array_equal(out["waiting"], [2.0, np.nan, 2.0], equal_nan=True)
    assert model({"data": 8.0, "rate": 4.0, "wait": 1.0})["total"] == 3.0


def test_renamed_quantities_reach_the_same_parameters() -> None:
    model = Model.from_function(transfer).renamed({"data": "rate", "rate": "data", "total": "T"})
    out = model({"rate": 8.0, "data": 4.0})
    assert out == {"T": 4.0, "moving": 2.0, "waiting": 2.0}
    assert model.inputs["rate"].unit == "B"  # type: ignore[union-attr]
    assert model.fields["T"] == "total"


@pytest.mark.parametrize(
    "names",
    [{"data": "rate"}, {"moving": "waiting"}, {"total": "data"}, {"data": "x", "rate": "x"}],
)
def test_two_quantities_of_one_name_are_refused(names: dict[str, str]) -> None:
    with pytest.raises(InputError, match="would have two quantities called"):
        Model.from_function(transfer).renamed(names)


class Half(NamedTuple):
    moving: Annotated[Array, Quantity("s", "time on the way")]


class Both(NamedTuple):
    moving: Annotated[Array, Quantity("s", "time on the way")]
    square: Annotated[Array, Quantity("s**2", "its square")]


class Square(NamedTuple):
    square: Annotated[Array, Quantity("s**2", "square")]


def half(data: Data, rate: Rate) -> Half:
    return Half(np.asarray(data / rate))


def square(moving: Annotated[Floats, Quantity("s", "time")]) -> Square:
    return Square(np.asarray(moving) ** 2)


@composed_of(half)
def inner(data: Data, rate: Rate) -> Half:
    return half(data, rate)


@composed_of(inner, square)
def both(data: Data, rate: Rate) -> Both:
    return Both(half(data, rate).moving, half(data, rate).moving ** 2)


def test_parts_of_parts_are_the_leaves_and_are_renamed_along() -> None:
    leaves = Model.from_function(both).leaves
    assert [leaf.name.partition(":")[2] for leaf in leaves] == ["half", "square"]
    renamed = Model.from_function(both).renamed({"moving": "travel", "rate": "pace"}).leaves
    assert list(renamed[0].inputs) == ["data", "pace"]
    assert list(renamed[0].outputs) == ["travel"]
    assert list(renamed[1].inputs) == ["travel"]
    assert renamed[0]({"data": 8.0, "pace": 2.0}) == {"travel": 4.0}


def test_all_that_is_missing_is_said_at_once() -> None:
    class Bare(NamedTuple):
        value: Array
        part: Annotated[Array, Quantity("s", "part", part_of="whole")]

    def bad(x: float, /, y: Data, *more: float, z: float, **rest: float) -> Bare:
        raise NotImplementedError

    bad.__annotations__["return"] = Bare
    with pytest.raises(InputError) as caught:
        Model.from_function(bad, "bad")
    places = [p.where for p in caught.value.problems]
    assert places == ["x", "more", "z", "rest", "Bare.value", "Bare.part"]
    assert "is part of 'whole', which is no output" in str(caught.value)


def test_a_return_that_is_no_named_tuple_is_refused() -> None:
    def plain(x: Data) -> tuple[float, float]:
        raise NotImplementedError

    with pytest.raises(InputError, match="is not a NamedTuple"):
        Model.from_function(plain)


def test_resources_are_inputs_but_no_quantities() -> None:
    def model(profile: Annotated[Any, Resource(str, "a profile")], data: Data) -> Half:
        return Half(np.asarray(data) * len(profile))

    read = Model.from_function(model)
    assert list(read.inputs) == ["profile", "data"]
    assert list(read.quantities) == ["data", "moving"]
    assert read({"profile": [1, 2, 3], "data": 2.0}) == {"moving": 6.0}


def test_a_function_around_a_wrapped_one_is_wrapped_itself() -> None:
    guarded = nan_outside(half)

    @functools.wraps(guarded)
    def filled(*args: Any, **kwargs: Any) -> Half:
        return Half(np.nan_to_num(guarded(*args, **kwargs).moving, nan=7.0))

    filled.__annotations__ = half.__annotations__
    filled.__wrapped__ = half
    model = Model.from_function(filled)
    assert np.isnan(model({"data": np.array([-1.0]), "rate": 1.0})["moving"]).all()
