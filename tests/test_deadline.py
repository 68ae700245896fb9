"""Deadlines: a run is over in time, the writing of what it found included; by a clock of ours."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.evaluate.space import Integer
from dse.result import deadline
from dse.result.deadline import Deadline, pace_of_writing
from dse.run import _follow, run
from dse.search import exhaustive, workers
from dse.search.base import Progress
from dse.search.exhaustive import _Cuts, enumerate_designs
from dse.search.slabs import Slab, slab
from dse.search.workers import NEVER, TASK_SECONDS, Workers
from tests.core_examples import evaluator, model, objective
from tests.test_storage import study

JUDGE = evaluator(
    {"x": Integer(1, 40_000)},
    [model("m", lambda x: (x, -x), ["x"], ["a", "b"])],
    [objective("a"), objective("b")],
)


class Clock:
    """A second is over when we say so."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Steady:
    """A search that finds a thousand designs a second and keeps them all."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def steps(self, until: float = NEVER) -> Iterator[None]:
        while True:
            self.clock.now += 1.0
            yield

    def progress(self) -> Progress:
        found = int(self.clock.now) * 1_000
        return Progress(found, 10**9, found, kept=found)


@pytest.mark.parametrize("pace", [0.0, 1e-4, 1e-3, 5e-3])
def test_a_search_ends_so_early_that_what_it_has_found_is_written_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pace: float
) -> None:
    clock = Clock()
    monkeypatch.setattr(deadline, "time", clock)
    steady: Any = Steady(clock)
    assert _follow(study(tmp_path, ""), steady, None, None, Deadline(100.0, pace)) == "timeout"
    writing = pace * steady.progress().kept
    assert clock.now + writing <= 102.0  # the last step was begun in time
    assert clock.now + 2 * writing >= 100.0  # and the time is used


def test_writing_that_takes_more_than_half_the_time_is_kept_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "pace_of_writing", lambda study, out: 1e4)
    found = run(study(tmp_path, "method = 'exhaustive'\ntimeout = 3600"), tmp_path / "out")
    assert found.certificate.stopped == "timeout"
    assert found.certificate.evaluated == 1


def test_the_pace_of_writing_is_that_of_one_more_design(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pace_of_writing(study(tmp_path, "timeout = 9"), tmp_path) >= 0
    assert {p.name for p in tmp_path.iterdir()} == {"study.toml", "toy_model.py"}  # none is left
    late = iter([7.0, *[0.0] * 99])  # the first call loads what it needs
    monkeypatch.setattr(
        deadline, "_seconds", lambda sample, *_: 0.5 + 2e-6 * len(sample[1]) + next(late)
    )
    assert pace_of_writing(study(tmp_path, "timeout = 9"), tmp_path) == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("search", "count"),  # a sampler's tables have all designs, however few
    [("exhaustive", 30_000), ("evolution", 30_000), ("RandomSampler", 3_000)],
)
def test_progress_says_how_many_designs_the_tables_would_have(
    tmp_path: Path, search: str, count: int
) -> None:
    seen: list[Progress] = []
    chosen = study(
        tmp_path, f"method = '{search}'\nevaluations = {count}\ngeneration = {count // 10}"
    )
    rows = len(run(chosen, None, 1, seen.append).designs)
    assert rows <= seen[-1].kept <= min(seen[-1].done, rows + count // 10)
    assert all(state.front <= state.kept for state in seen)


def test_slabs_before_a_deadline_follow_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def slow(*given: Any) -> Slab:
        done = slab(*given)
        if given[6] is not None:  # not a probe
            sizes.append(given[3] - given[2])
        return done._replace(seconds=1e-3 * (done.done - given[2]))

    monkeypatch.setattr(exhaustive, "slab", slow)
    monkeypatch.setattr(exhaustive, "_slab_size", lambda *_: 16_000)
    whole = list(enumerate_designs(JUDGE, 64, Workers(1)))[-1]
    assert sizes[0] == 16_000  # nobody waits for it
    assert set(sizes[1:-1]) <= {int(TASK_SECONDS / 1e-3), 16_000}
    sizes.clear()
    cut = list(enumerate_designs(JUDGE, 64, Workers(1), until=1e12))[-1]
    assert sizes[0] == 2_000
    assert set(sizes[1:-1]) == {int(TASK_SECONDS / 1e-3)}
    assert cut.done == whole.done == 40_000
    assert np.array_equal(cut.archive.points, whole.archive.points)
    assert cut.tally.evaluated == whole.tally.evaluated


def test_a_probe_that_was_held_up_does_not_cut_the_work_into_crumbs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def quick(*given: Any) -> Slab:
        if given[6] is not None:  # not a probe
            sizes.append(given[3] - given[2])
        return slab(*given)._replace(seconds=1e-9)

    def held_up(*given: Any) -> Any:
        yield given[4], 1.0  # seconds a design: another program had the machine

    monkeypatch.setattr(exhaustive, "slab", quick)
    monkeypatch.setattr(exhaustive, "_probed", held_up)
    whole = list(enumerate_designs(JUDGE, 64, Workers(1)))[-1]
    assert whole.done == sum(sizes) == 40_000
    assert sizes[0] == 4
    assert len(sizes) < 20


def test_cuts_leave_no_design_out() -> None:
    cuts, bounds = _Cuts(5, 9_000, 800, 100), []
    for i, low_high in enumerate(cuts):
        bounds.append(low_high)
        cuts.follow((1e-9, 1e-2, 1e-3, 1e3)[i % 4])
    assert [low for low, _ in bounds] == [5, *(high for _, high in bounds[:-1])]
    assert bounds[-1][1] == 9_000
    assert list(cuts.under_way) == bounds
    assert all(0 < high - low <= 800 for low, high in bounds)


def test_threads_leave_tasks_that_wait_when_the_rest_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dropped, begun = threading.Event(), []

    def suppress(*errors: type[Exception]) -> Any:
        dropped.set()  # the rest is not wanted from here on
        return contextlib.suppress(*errors)

    def task(number: int) -> int:
        begun.append(number)
        return number if number == 0 or dropped.wait() else -1

    monkeypatch.setattr(workers, "contextlib", type("", (), {"suppress": staticmethod(suppress)}))
    results = Workers(2).each(task, [(n,) for n in range(50)])
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert set(begun) <= {0, 1, 2}  # of those that were dispatched, two threads had begun two
