"""Models: what is read from an annotated function, and what is refused."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from dse.model import (
    Array,
    Floats,
    Model,
    Quantity,
    Resource,
    composed_of,
    list_declarations,
    model,
)
from dse.model.contract import ContractError
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


def test_columns_in_columns_out_with_nan_outside_and_no_warning() -> None:
    model = Model.from_function(transfer)
    out = model({"data": np.array([8.0, 0.5, np.inf]), "rate": 4.0, "beside": "the point"})
    assert np.array_equal(out["total"], [4.0, np.nan, np.inf], equal_nan=True)
    assert np.array_equal(out["waiting"], [2.0, np.nan, 2.0], equal_nan=True)
    assert model({"data": 8.0, "rate": 4.0, "wait": 1.0})["total"] == 3.0


def test_a_masked_array_is_refused_also_if_an_input_is_outside_its_domain() -> None:
    def hide(data: Data, rate: Rate) -> Times:
        total = np.ma.masked_greater(np.asarray(data / rate), 1.0)
        return Times(total, total, total)

    for data in ([8.0, 2.0], [8.0, 0.5]):  # the second one is outside
        with pytest.raises(ContractError, match="masked array for 'total'"):
            Model.from_function(hide)({"data": np.array(data), "rate": 4.0})


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
    """Half."""


@composed_of(inner, square)
def both(data: Data, rate: Rate) -> Both:
    """Both."""


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
    assert "is part of 'whole', which is not an output" in str(caught.value)


def test_a_return_that_is_no_named_tuple_is_refused() -> None:
    def plain(x: Data) -> tuple[float, float]:
        raise NotImplementedError

    with pytest.raises(InputError, match="is not a NamedTuple or a dataclass"):
        Model.from_function(plain)


def test_resources_are_inputs_but_no_quantities() -> None:
    def model(profile: Annotated[Any, Resource(str, "a profile")], data: Data) -> Half:
        return Half(np.asarray(data) * len(profile))

    read = Model.from_function(model)
    assert list(read.inputs) == ["profile", "data"]
    assert list(read.quantities) == ["data", "moving"]
    assert read({"profile": [1, 2, 3], "data": 2.0}) == {"moving": 6.0}


def test_a_function_around_a_wrapped_one_is_wrapped_itself() -> None:
    guarded = model(half)

    @functools.wraps(guarded)
    def filled(*args: Any, **kwargs: Any) -> Half:
        return Half(np.nan_to_num(guarded(*args, **kwargs).moving, nan=7.0))

    filled.__annotations__ = half.__annotations__
    filled.__wrapped__ = half
    read = Model.from_function(filled)
    assert np.isnan(read({"data": np.array([-1.0]), "rate": 1.0})["moving"]).all()


# ------------------------------------------------------------------------------------------ records


class Link(NamedTuple):
    rate: Rate
    wait: Annotated[Floats, Quantity("s", "wait")] = 2.0


@dataclass(frozen=True, eq=False)
class Moved:
    moving: Annotated[Array, Quantity("s", "time on the way")]


@dataclass(frozen=True, eq=False)
class Waited:
    waiting: Annotated[Array, Quantity("s", "time in the queue")]


@dataclass(frozen=True, eq=False)
class Sent(Moved, Waited):
    """Both, inherited; dataclasses list the fields of the last base first."""


@model
def move(data: Data, link: Link) -> Moved:
    """Move."""
    return Moved(np.asarray(data / link.rate))


@model
def wait_for(link: Link, turns: Annotated[Floats, Quantity("1", "turns", low=1)]) -> Waited:
    return Waited(np.asarray(link.wait * turns))


@composed_of(move, wait_for)
def send(data: Data, link: Link, turns: Annotated[Floats, Quantity("1", "turns", low=1)]) -> Sent:
    """Send."""


def test_a_record_is_laid_flat() -> None:
    parameters = inspect.signature(wait_for).parameters
    assert list(parameters) == ["rate", "wait", "turns"]
    assert parameters["wait"].default == 2.0
    # no default may stand before turns, so it goes by name
    assert [p.kind.name for p in parameters.values()] == [
        "POSITIONAL_OR_KEYWORD",
        "POSITIONAL_OR_KEYWORD",
        "KEYWORD_ONLY",
    ]
    assert list(list_declarations(move)) == ["data", "rate", "wait"]
    assert list(list_declarations(Link)) == ["rate", "wait"]
    read = Model.from_function(move)
    assert list(read.inputs) == ["data", "rate", "wait"]
    assert read.defaults == {"wait": 2.0}
    assert list(read.outputs) == ["moving"]
    assert (move.__name__, move.__doc__) == ("move", "Move.")


def test_a_record_is_called_flat_by_position_and_by_name() -> None:
    assert move(8.0, 4.0).moving == move(8.0, rate=4.0).moving == move(rate=4.0, data=8.0).moving
    assert wait_for(4.0, turns=3.0).waiting == 6.0
    assert wait_for(4.0, 5.0, turns=3.0).waiting == 15.0
    assert np.isnan(move(np.array([8.0, 0.5]), 4.0).moving).tolist() == [False, True]
    assert np.isnan(move(8.0, rate=-1.0).moving)
    assert isinstance(move(8.0, rate=-1.0), Moved)
    plain = Model.from_function(inspect.unwrap(move))  # the engine decorates what is not
    assert plain({"data": 8.0, "rate": 4.0}) == {"moving": 2.0}


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((8.0,), {}, r"move\(\): missing a required argument: 'rate'"),
        ((8.0, 4.0, 1.0, 1.0), {}, r"move\(\): too many positional"),
        ((8.0,), {"rat": 1.0}, r"move\(\): .*'(rate|rat)'"),
        ((8.0, 4.0), {"rate": 1.0}, r"move\(\): multiple values for argument 'rate'"),
    ],
)
def test_a_wrong_call_of_a_record_is_reported(
    args: tuple[float, ...], kwargs: dict[str, float], told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        move(*args, **kwargs)


def test_a_record_may_have_a_default_and_be_a_dataclass() -> None:
    @dataclass(frozen=True)
    class Queue:
        turns: Annotated[Floats, Quantity("1", "turns", low=1)]
        slot: Annotated[Floats, Quantity("s", "slot")] = 1.0

    def queue(data, queue=Queue(3.0)):  # type: ignore[no-untyped-def]
        return Waited(np.asarray(data * queue.turns * queue.slot))

    queue.__annotations__ = {"data": Data, "queue": Queue, "return": Waited}
    read = Model.from_function(queue)
    assert read.defaults == {"turns": 3.0, "slot": 1.0}
    assert read({"data": 2.0, "slot": 4.0}) == {"waiting": 24.0}


def test_what_is_wrong_with_a_record_is_reported() -> None:
    class Half(NamedTuple):
        rate: Rate
        wait: float

    def twice(rate: Rate, link: Link) -> Waited:
        raise NotImplementedError

    def bare(data: Data, half: Half) -> Waited:
        raise NotImplementedError

    bare.__annotations__["half"] = Half
    with pytest.raises(InputError, match="rate: is a parameter twice"):
        Model.from_function(twice, "twice")
    with pytest.raises(InputError, match=r"Half\.wait: has no quantity"):
        Model.from_function(bare, "bare")


def test_a_composed_model_is_a_signature() -> None:
    sent = send(8.0, 4.0, turns=2.0)
    assert isinstance(sent, Sent)
    assert sent.moving == 2.0 and sent.waiting == 4.0
    read = Model.from_function(send)
    assert list(read.outputs) == ["moving", "waiting"]  # in the order of the parts
    assert read({"data": 8.0, "rate": 4.0, "turns": 2.0}) == {"moving": 2.0, "waiting": 4.0}
    with pytest.raises(TypeError, match=r"send\(\): missing a required argument: 'turns'"):
        send(8.0, 4.0)


def test_parts_that_do_not_make_the_whole_are_reported() -> None:
    @composed_of(move, half, square)
    def whole(data: Data) -> Sent:
        raise NotImplementedError

    with pytest.raises(InputError) as caught:
        Model.from_function(whole, "whole")
    assert [(p.where, p.message.partition(",")[0]) for p in caught.value.problems] == [
        ("rate", f"is an input of the part {__name__}:move"),
        ("moving", f"is given twice by {__name__}:half and by a part before"),
        ("square", f"is given by the part {__name__}:square"),
        ("waiting", "is given by no part"),
    ]
