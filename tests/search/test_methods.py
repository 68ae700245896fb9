"""One contract of all search methods: plan, steps, interruptions, resumption and counts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dse.search
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Integer
from dse.evaluate.wiring import ModelError
from dse.problems import Problem
from dse.search.base import METHODS, Plan, Search, Settings, Start, method_of
from dse.search.outcome import Outcome
from tests.core_examples import constraint, evaluator, model, objective

CODE = str(Path(dse.search.__file__).parent)
SIZE = 30 * 30
Hook = Callable[[], None]


class Interruption(BaseException):
    """Ctrl-C or SIGTERM, as a handler raises it."""


class Storage:
    """Trials in memory, written as a database writes them: all of a batch or none."""

    def __init__(self) -> None:
        self._trials: list[Any] = []
        self._state: dict[str, Any] = {}

    def trials(self) -> Sequence[Any]:
        return list(self._trials)

    def append(self, trials: Sequence[Any], state: Mapping[str, Any] | None = None) -> None:
        self._trials, self._state = [*self._trials, *trials], dict(state or self._state)

    def state(self) -> dict[str, Any]:
        return dict(self._state)


TESTED = [name for name in METHODS if name != "GPSampler"]
"""All methods but one: it is a sampler of Optuna like others, and needs PyTorch."""


def judging(hook: Hook = lambda: None) -> Evaluator:
    """Return an evaluator with some hundred designs; the hook is called in its model."""

    def costs(x: Any, y: Any) -> tuple[Any, Any]:
        hook()
        return np.hypot(x - 20.0, y - 3.0), np.hypot(x - 4.0, y - 22.0) + x % 3

    return evaluator(
        {"x": Integer(0, 29), "y": Integer(0, 29)},
        [model("costs", costs, ["x", "y"], ["a", "b"])],
        [objective("a"), objective("b")],
        [constraint("a", 25.0)],
    )


def planned(name: str) -> Plan:
    """Return the plan of a method for a few designs."""
    problems: list[Problem] = []
    settings = Settings(evaluations=SIZE if name == "exhaustive" else 80, seed=3, generation=16)
    plan = method_of(name).plan(name, settings, judging().space, 2, problems)
    assert not problems and plan.method == name
    return plan


def begin(
    plan: Plan, storage: Storage, hook: Hook = lambda: None, state: Mapping[str, Any] | None = None
) -> Search:
    return method_of(plan.method).start(
        Start(judging(hook), plan, chunk=64, state=state or {}, trials=storage)
    )


def finish(search: Search) -> Search:
    for _ in search.steps():
        check_counts(search)
    check_counts(search)
    return search


def check_counts(search: Search) -> None:
    progress = search.progress()
    assert 0 <= progress.done - progress.repeats <= SIZE
    assert progress.done <= progress.total
    if progress.done:
        assert search.outcome().tally.evaluated <= SIZE


def as_values(outcome: Outcome) -> tuple[Any, ...]:
    judged, points = outcome.judged, outcome.points
    columns = [outcome.numbers, outcome.on_front, judged.objectives, *points.values()]
    return (outcome.tally.evaluated, *(column.tobytes() for column in columns))


@contextmanager
def cut_at(line: int, lines: list[int]) -> Iterator[None]:
    """Interrupt at so many lines of the searches' code; count the lines."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == line:
                raise Interruption
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("name", TESTED)
def test_an_interruption_at_any_place_leaves_the_state_before_the_step(name: str) -> None:
    plan, calls, lines = planned(name), [0], [0]

    def count() -> None:
        calls[0] += 1

    whole = as_values(finish(begin(plan, Storage(), count)).outcome())
    search = begin(plan, Storage())
    with cut_at(-1, lines):
        finish(search)
    errors = [KeyboardInterrupt(), Interruption(), OSError("the model's file is gone")]
    rng = np.random.default_rng(0)
    for turn, at in enumerate(sorted(rng.choice(calls[0], min(6, calls[0]), replace=False) + 1)):
        made, error = [0], errors[turn % 3]

        def fail(made: list[int] = made, at: int = at, error: BaseException = error) -> None:
            made[0] += 1
            if made[0] == at:
                raise error

        storage, cut = Storage(), None
        with suppress(KeyboardInterrupt, Interruption, DesignError, ModelError):
            cut = begin(plan, storage, fail)  # a method may call models before its steps
            finish(cut)
        if cut is not None:
            check_resumed(plan, cut, storage, whole)
    for at in rng.integers(1, lines[0], 6):
        storage = Storage()
        cut = begin(plan, storage)
        with pytest.raises(Interruption), cut_at(int(at), [0]):
            finish(cut)
        check_resumed(plan, cut, storage, whole)


def check_resumed(plan: Plan, cut: Search, storage: Storage, whole: tuple[Any, ...]) -> None:
    check_counts(cut)
    resumed = finish(begin(plan, storage, state=cut.state()))
    assert as_values(resumed.outcome()) == whole
