"""Floors: what an output is declared to be never below, in a search and put to the test."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity, lower_bound, monotonic
from dse.model import Model
from dse.model.pairs import moves_hold
from dse.problems import DseError, InputError
from dse.search.bound.ranges import Ranges
from objectives.machine.calls import call_time
from objectives.sharing.calls import call_latency, call_service, engine_line
from objectives.sharing.pace import stream_interval

_Place = Annotated[Floats, Quantity("1", "place", low=0, typical=(0, 40))]


class Height(NamedTuple):
    height: Annotated[Array, Quantity("1", "height", low=0)]


class Ground(NamedTuple):
    height: Annotated[Array, Quantity("1", "ground", low=0)]


@monotonic(height="+x +y")
def ground(x: _Place, y: _Place) -> Ground:
    return Ground(np.add(x, y))


@monotonic(height="+x +y")
def high(x: _Place, y: _Place) -> Ground:
    return Ground(np.add(x, y) + 1.0)


def hills(x: _Place, y: _Place) -> Height:
    x, y = np.asarray(x), np.asarray(y)
    return Height(x + y + 2.0 * (np.mod(3 * x + y, 5) > 1))


def study(function: Any, **search: Any) -> Any:
    return dse.from_mapping(
        {
            "study": {"name": "hills", "models": ["hills"]},
            "space": {"x": {"integer": [0, 999]}, "y": {"integer": [0, 999]}},
            "objective": [{"minimize": "height"}],
            "constraint": [{"relation": "x + 2 * y >= 30"}],
            "search": {"method": "bound", **search},
        },
        models={"hills": function},
    )


def floored(floor: Any) -> Any:
    def found(x: _Place, y: _Place) -> Height:
        return hills(x, y)

    found.__annotations__ = hills.__annotations__
    return lower_bound(height=floor)(found)


def test_a_floor_bounds_what_no_move_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranges, "_tabulated", lambda *_: None)
    found = study(floored(ground)).run()
    assert found.certificate.complete
    assert found.certificate.evaluated < 100_000
    places = np.indices((60, 60)).reshape(2, -1)
    places = places[:, places[0] + 2 * places[1] >= 30]
    assert found.front.designs["height"].min() == hills(*places).height.min()


def test_a_floor_that_is_too_high_is_refuted_and_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    told = r"'height' is .*, and never less than .* by 'high'"
    with pytest.raises(AssertionError, match=told):
        moves_hold(Model.from_function(floored(high)), {}, 1_000, 0)
    moves_hold(Model.from_function(floored(ground)), {}, 1_000, 0)
    monkeypatch.setattr(Ranges, "_tabulated", lambda *_: None)
    with pytest.raises(DseError, match=told):
        study(floored(high)).run()


def test_a_floor_is_of_the_model_s_own_quantities() -> None:
    def other(z: _Place) -> Ground:
        return Ground(np.asarray(z))

    with pytest.raises(InputError, match="z: is an input of other only"):
        lower_bound(height=other)(floored(ground))


_SLOTS = {"schedule_period": np.array([1.0, 2, 3, 4, 5, 8, 12, 16, 32])}
_CALLS = {"calls_in_flight": np.array([1.0, 2, 3, 4, 6, 8, 64, 100])}


@pytest.mark.parametrize(
    ("function", "pairs", "fixed"),
    [
        (call_service, 30_000, {}),
        (engine_line, 30_000, {}),
        (call_time, 30_000, _CALLS),
        (stream_interval, 3_000, _CALLS),
        (call_latency, 10_000, _SLOTS),
    ],
)
def test_times_on_a_shared_engine_keep_to_moves_and_floors(
    function: Any, pairs: int, fixed: dict[str, Any]
) -> None:
    moves_hold(Model.from_function(function), fixed, pairs, 3)
