"""Models that remember: the same numbers, each computed once."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

import dse
from dse import Array, Floats, Quantity
from dse.search.bound.cache import remember_runs

_Size = Annotated[Floats, Quantity("1", "size", low=0)]
_Speed = Annotated[Floats, Quantity("1", "speed", low=0)]


class Made(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost", low=0)]


ROWS: list[int] = []


def made(size: _Size, speed: _Speed) -> Made:
    shape = np.broadcast(size, speed).shape
    ROWS.append(int(np.prod(shape)))
    return Made(np.asarray(np.multiply(size, 10.0) + np.exp(-np.asarray(speed))))


def evaluator(**space: Any) -> Any:
    study = {
        "study": {"name": "made", "models": ["made"]},
        "space": {"size": {"integer": [1, 40]}, "speed": {"integer": [1, 9]}, **space},
        "objective": [{"minimize": "cost"}],
    }
    return dse.from_mapping(study, models={"made": made}).evaluator


def test_equal_inputs_are_run_once() -> None:
    plain = evaluator()
    kept = remember_runs(plain)
    rng = np.random.default_rng(0)
    ROWS.clear()
    for _ in range(5):
        given = {"size": rng.integers(1, 41, 300), "speed": rng.integers(1, 10, 300)}
        found = kept.evaluate(given).objectives
        before = sum(ROWS)
        np.testing.assert_array_equal(found, plain.evaluate(given).objectives)
        ROWS[:] = [before]
    assert sum(ROWS) <= 360  # as many as there are designs


def test_scenarios_and_what_is_bound_are_distinguished() -> None:
    (model,) = remember_runs(evaluator()).model_graph.models
    speeds = np.array([[1.0], [2.0], [np.nan]])
    sizes = np.array([1.0, 2.0, 2.0, -0.0])
    for size, speed in ((sizes, speeds), (sizes, 3.0), (sizes, 4.0), (2.0, speeds), (2.0, 1.0)):
        for _ in range(2):
            found = model({"size": size, "speed": speed})["cost"]
            np.testing.assert_array_equal(found, made(size, speed).cost)
