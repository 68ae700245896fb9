"""Threads of a search by bounds: the same bytes for any number of them, and pieces worth a call."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Integer
from dse.search import workers as module
from dse.search.base import Search, SearchSettings, Start, find_method
from dse.search.workers import BatchEvaluator, Threads, Workers
from tests.core_examples import evaluator, model, objective
from tests.search.bound.test_search import made, study


def begun(
    judge: Evaluator, tolerance: float, workers: int, state: Mapping[str, Any] | None = None
) -> Search:
    plan = SearchSettings("bound", judge.space.size or 2**62, 1, 0, None, {}, tolerance)
    team = Workers(workers)
    return find_method("bound").start(Start(judge, plan, 32_768, team, state or {}))


def ended(search: Search) -> tuple[Any, ...]:
    for _ in search.steps():
        pass
    outcome = search.outcome()
    front = (outcome.numbers, outcome.evaluated.objectives, outcome.on_front)
    assert outcome.gap is not None
    return (*front, outcome.statement, outcome.gap.boxes, outcome.tally.evaluated)


def assert_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    for mine, true in zip(one, other, strict=True):
        if isinstance(mine, np.ndarray):
            assert mine.tobytes() == true.tobytes()
        else:
            assert mine == true


@pytest.mark.parametrize("tolerance", [0.0, 0.001])
def test_any_number_of_workers_gives_the_same_bytes(
    tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECE", 128)  # so that there are many
    judge = study(made, 3_000).evaluator
    alone = ended(begun(judge, tolerance, 1))
    assert_same(ended(begun(judge, tolerance, 3)), alone)
    for first, then in ((1, 3),):
        cut = begun(judge, tolerance, first)
        for _ in itertools.islice(cut.steps(), 32):
            pass
        assert_same(ended(begun(judge, tolerance, then, cut.state())), alone)


def test_the_first_error_in_order_is_reported_whichever_comes_first() -> None:
    def work(number: int) -> int:
        if number % 2:
            time.sleep(0.02 / number)  # the first error is the last to come
            raise ValueError(str(number))
        return number

    with pytest.raises(ValueError, match=r"^1$"):
        list(Threads(3).each(work, [(k,) for k in range(6)]))


def test_what_a_call_takes_whatever_its_size_is_not_what_a_design_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, calls = [0.0], [0]

    def slow_to_call(x: Any) -> Any:
        now[0] += 0.05 + 1e-6 * np.size(x)
        calls[0] += 1
        return -x

    judge = evaluator(
        {"x": Integer(1, 30_000)}, [model("m", slow_to_call, ["x"], ["y"])], [objective("y")]
    )
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    found = BatchEvaluator(judge).evaluate(judge.space.from_index(np.arange(30_000)), 0)
    assert len(found) == 30_000
    assert calls[0] < 20
