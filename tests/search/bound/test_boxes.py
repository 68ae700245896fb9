"""What a search by bounds splits first, and spaces that would not close without."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

import dse
from benchmarks.shared_aes import shared_aes
from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.model import monotonic
from dse.search.bound.boxes import measure_variables
from dse.search.bound.cells import Boxes
from dse.search.bound.monotonicity import find_unordered_variables
from dse.search.bound.ranges import Ranges
from tests.search.bound.test_search import covers, front, searched

_Share = Annotated[Floats, Quantity("1", "a share", low=0)]


class Wait(NamedTuple):
    wait: Annotated[Array, Quantity("1", "wait", low=0)]


class Price(NamedTuple):
    price: Annotated[Array, Quantity("1", "price", low=0)]


@monotonic(wait="-speed")
def wait(slot: _Share, turn: _Share, speed: _Share) -> Wait:
    """Return a wait that slot and turn move any way."""
    jagged = 2.0 + np.sin(3.0 * np.asarray(slot)) + np.cos(5.0 * np.asarray(turn))
    return Wait(jagged / (1.0 + np.asarray(speed)))


@monotonic(price="+speed")
def price(speed: _Share) -> Price:
    """Return a price that jumps at every whole speed."""
    return Price(1.0 + np.ceil(speed))


class Gain(NamedTuple):
    gain: Annotated[Array, Quantity("1", "gain", low=0)]


@monotonic(gain="+size")
def gain(size: _Share) -> Gain:
    """Return the size and 1."""
    return Gain(1.0 + np.asarray(size))


def study(speed: dict[str, Any], most: int = 600) -> Evaluator:
    return dse.from_mapping(
        {
            "study": {"name": "slots", "models": ["wait", "price"]},
            "space": {
                "slot": {"integer": [0, most]},
                "turn": {"integer": [0, most]},
                "speed": speed,
            },
            "objective": [{"minimize": "wait"}, {"minimize": "price"}],
        },
        models={"wait": wait, "price": price},
    ).evaluator


def test_variables_that_tell_nothing_one_by_one_are_measured_together() -> None:
    ranges = Ranges(study({"real": [0.0, 4.0], "steps": 64}))
    names = [axis.name for axis in ranges.axes]
    assert [names[i] for i in find_unordered_variables(ranges)] == ["slot", "turn"]
    widths = measure_variables(ranges, ranges, ranges.whole())[0]
    assert (widths[:2] > 0.1).all()


def test_a_constraint_that_is_nearly_met_is_not_what_is_split() -> None:
    evaluator = dse.from_mapping(
        {
            "study": {"name": "sized", "models": ["price", "gain"]},
            "space": {"speed": {"real": [0.0, 4.0]}, "size": {"real": [0.0, 1.0]}},
            "objective": [{"minimize": "price"}, {"maximize": "gain"}],
            "constraint": [{"relation": "size + speed <= 4"}, {"quantity": "gain", "at_most": 3}],
        },
        models={"price": price, "gain": gain},
    ).evaluator
    ranges = Ranges(evaluator)
    np.testing.assert_allclose(ranges.scales, [5.0, 3.0])  # -4 to 1; the bound
    level = np.array([[4, 4]], dtype=np.int8)  # 2**4 of 2**30 cells: around 3.5 and 0.5
    top = ranges.axes[0].top
    cell = np.array([[7 << (top - 3 - 4), 1 << (top - 1 - 4)]])
    boxes = Boxes(level, cell)
    assert ranges(boxes).most[0, 0] > 0  # undecided
    assert (measure_variables(ranges, ranges, boxes) < 1e-3).all()


def test_jumps_of_a_continuum_end_at_neighbouring_points() -> None:
    evaluator = study({"real": [0.0, 4.0]}, most=12)
    found = searched(evaluator, "bound", 0.01)
    assert found.complete
    assert found.gap is not None
    assert found.gap.boxes < 20_000
    near = front(found)[1]
    ways = np.arange(13)
    jagged = 2.0 + np.sin(3.0 * ways).min() + np.cos(5.0 * ways).min()
    for speed in range(5):  # the most speed of each price
        cheap = near[near[:, 1] <= 1.01 * (1 + speed)]
        assert cheap[:, 0].min() <= 1.01 * jagged / (1 + speed)


def test_a_shared_engine_has_the_front_that_enumeration_found() -> None:
    """565 designs of 313 points, counted by an enumeration before bounding was written."""
    evaluator = shared_aes()
    found = searched(evaluator, "bound")
    values = front(found)[1]
    assert (evaluator.space.size, len(values)) == (1_269_760, 565)
    assert len(np.unique(values, axis=0)) == 313
    near = searched(evaluator, "bound", 0.01)
    assert covers(near, found, evaluator.signs, 0.01)
    assert near.gap is not None
    assert near.gap.boxes < 60_000
