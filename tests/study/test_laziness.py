"""Loading a study runs no model, however the search is chosen: a model may take hours."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest

import dse
from dse import Array, Floats, Quantity
from dse.model import monotonic
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import Ranges


class Half(NamedTuple):
    half: Annotated[Array, Quantity("1", "half of the lanes")]


class Speed(NamedTuple):
    speed: Annotated[Array, Quantity("1", "speed")]


def half(lanes: Annotated[Floats, Quantity("1", "lanes", low=0)]) -> Half:
    raise AssertionError("a model was run")


@monotonic(speed="+depth")
def speed(
    half: Annotated[Floats, Quantity("1", "half of the lanes")],
    depth: Annotated[Floats, Quantity("1", "depth", low=0)],
    width: Annotated[Floats, Quantity("1", "width", low=0)],
) -> Speed:
    raise AssertionError("a model was run")


def _study(search: dict[str, Any], **space: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "slow", "models": ["half", "speed"]},
            "inputs": {n: 1 for n in ("lanes", "depth", "width") if n not in space},
            "space": space,
            "objective": [{"maximize": "speed"}],
            "search": search,
        },
        models={"half": half, "speed": speed},
    )


MANY, REAL = {"integer": [1, 100_000]}, {"real": [0, 1]}


@pytest.mark.parametrize(
    ("space", "method"),
    [
        ({"lanes": {"integer": [1, 60_000]}, "depth": MANY}, "evolution"),  # half, which is tabled
        ({"depth": REAL}, "bound"),
        ({"depth": MANY, "width": MANY}, "evolution"),
        ({"lanes": {"integer": [1, 1]}, "depth": REAL}, "bound"),  # one value needs no move
    ],
)
def test_the_search_is_chosen_without_running_a_model(space: dict[str, Any], method: str) -> None:
    study = _study({"method": "auto"}, **space)
    assert study.plan.method == method
    told = find_missing_declarations(Ranges(study.evaluator))
    assert bool(told) == (method == "evolution")


def test_that_bounds_would_never_end_is_reported_without_running_a_model() -> None:
    with pytest.raises(dse.InputError, match="bound would never end: speed does not declare how"):
        _study({"method": "bound", "tolerance": 0.01}, depth=REAL, width=REAL)
