"""Judging batches of designs, in pieces that follow what they take, over workers if it pays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import evaluate_designs
from dse.evaluate.space import Points
from dse.search.workers import (
    ALONE,
    NEVER,
    PIECE,
    PROBE_SECONDS,
    TASK_SECONDS,
    EndedError,
    LateError,
    Workers,
    is_late,
)

_INSTANT = 1e-12  # seconds


class Judges:
    """Judge batches of designs, spread over workers if that pays or processes were asked for.

    Parameters
    ----------
    evaluator : Evaluator
        What judges.
    workers : Workers
        Over whom.
    chunk : int
        Designs evaluated at once, at most; a matter of speed alone.
    """

    def __init__(self, evaluator: Evaluator, workers: Workers = ALONE, chunk: int = 65_536) -> None:
        self._evaluator, self._workers, self._chunk = evaluator, workers, chunk
        self._threads = workers.threads()
        self._most = max(1, chunk // evaluator.scenarios)  # arrays have a row for each scenario
        self._pace: float | None = None  # seconds that a design takes
        self._size = 1  # designs that one thread judges at once
        self._spent, self._judged = 0.0, 0  # by one thread

    def screening(self) -> Judges:
        """Return judges who ask objectives only of what no constraint excludes."""
        return Judges(replace(self._evaluator, screens=True), self._workers, self._chunk)

    def judge(self, points: Points, first: int, until: float = NEVER) -> Evaluated:
        """Judge designs numbered from `first`: all, or the first of them if the deadline comes.

        Some are judged in any case, unless the workers are processes, which are ended.

        Raises
        ------
        DesignError
            If a model raises.
        """
        count = len(next(iter(points.values())))
        parts: list[Evaluated] = []
        done = 0
        if self._workers.one_thread:
            parts = list(self._alone(points, first, count, until))
            return concatenate(parts)
        if self._pace is None and not self._workers.asked_for:
            for part in self._probed(points, first, count, until):
                parts.append(part)
                done += len(part)
        elif self._pace is None:  # in the processes: a few, to know how many make a task
            parts += self._rest(points, first, 0, min(count, 2 * self._workers.count), until)
            done = sum(map(len, parts))
        if done < count and not (parts and is_late(until)):
            parts += self._rest(points, first, done, count, until)
        return concatenate(parts) if parts else Evaluated.empty(self._evaluator)

    def _alone(self, points: Points, first: int, count: int, until: float) -> Iterator[Evaluated]:
        """Judge here, in pieces that follow what they take: a call takes time, however few."""
        low = 0
        while low < count and not (low and is_late(until)):
            high = min(low + self._size, count)
            part, seconds = _timed(self._evaluator, *_cut(points, first, low, high), NEVER)
            yield part
            self._follow(seconds, high - low)
            low = high

    def _follow(self, seconds: float, count: int) -> None:
        """Choose how many designs one thread judges next, if the last so many took these seconds.

        A quick piece may have been of designs that a model remembers: the mean of all tells.
        """
        self._spent, self._judged = self._spent + seconds, self._judged + count
        pace = max(self._spent / self._judged, _INSTANT)
        if seconds > 2 * TASK_SECONDS:
            self._size = max(1, int(count * TASK_SECONDS / seconds))
        elif seconds < TASK_SECONDS:
            larger = min(8 * self._size, int(TASK_SECONDS / pace))
            if seconds > TASK_SECONDS / 8:  # which may be what a call takes, however few
                larger = max(larger, 2 * self._size)
            self._size = min(max(self._size, larger), self._most, PIECE)

    def _probed(self, points: Points, first: int, count: int, until: float) -> Iterator[Evaluated]:
        """Judge pieces that grow, until two in a row tell how long a design takes.

        One is not enough: the first of all loads what was not needed before. Nor are two of which
        the larger takes as long: what a call takes, however few its designs, is no pace.
        """
        low, size, last = 0, 1, 0.0  # `last`: what a design took in the piece before, if slow
        while low < count and self._pace is None:
            high = min(low + size, count)
            part, seconds = _timed(self._evaluator, *_cut(points, first, low, high), NEVER)
            yield part
            pace = seconds / (high - low)
            known = 0 < last < 2 * pace
            if known or size >= self._most or high == count or is_late(until):
                self._pace = min(pace, last or pace)
            if seconds > PROBE_SECONDS or last:
                last = pace
            size = max(1, min(8 * size, int(TASK_SECONDS / max(pace, _INSTANT)), self._most))
            low = high

    def _rest(
        self, points: Points, first: int, done: int, count: int, until: float
    ) -> list[Evaluated]:
        left, workers = count - done, self._workers
        spread = not workers.one_thread and (
            workers.asked_for or (self._pace or 0.0) * left > TASK_SECONDS
        )
        size = self._most
        if self._pace:
            size = max(1, min(size, int(TASK_SECONDS / self._pace)))
        size = min(size, -(-left // (2 * workers.count)) if spread else PIECE)
        bounds = [(low, min(low + size, count)) for low in range(done, count, size)]
        work = partial(_timed, self._evaluator)
        tasks = (
            (*_cut(points, first, low, high), NEVER if low == 0 else until) for low, high in bounds
        )
        parts, spent = [], 0.0
        try:
            for part, seconds in (workers if spread else self._threads).each(work, tasks):
                parts.append(part)
                spent += seconds
                if len(part) == 0 or is_late(until):
                    break
        except EndedError as ended:
            low, high = bounds[ended.task]
            raise ended.at(first + low, first + high - 1) from None
        except LateError as late:
            low, high = bounds[late.task]
            pace = self._pace if self._pace is not None else NEVER
            if hung := late.told(first + low, first + high - 1, pace * (high - low)):
                raise hung from None
        judged = sum(map(len, parts))
        self._pace = spent / judged if judged else self._pace
        return parts


def _cut(points: Points, first: int, low: int, high: int) -> tuple[Points, int]:
    return {name: values[low:high] for name, values in points.items()}, first + low


def _timed(
    evaluator: Evaluator, points: Points, first: int, until: float
) -> tuple[Evaluated, float]:
    """Judge designs, unless it is too late; say how many seconds that took."""
    if is_late(until):
        return Evaluated.empty(evaluator), 0.0
    began = time.perf_counter()
    return evaluate_designs(evaluator, points, first), time.perf_counter() - began
