"""Deadline: a search ends early enough for what it has found to be written in time."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dse.evaluate.evaluator import Evaluated
from dse.evaluate.space import Points
from dse.result.folder import save_tables
from dse.result.tables import designs_table
from dse.study.study import ResolvedStudy

_SIZES = (1_000, 5_000)  # rows of the tables that are tried: the difference is free of fixed costs
_TRIES = 3  # of each; the quickest counts, as the first loads what was not needed before
TRIED = ".pace-"
"""How the names of the folders begin that are written to measure; gone when it is measured."""
_PAGE, _MOST = 1.0, 0.2  # seconds that a page takes; at most this share of the time-out
_REST = 1.5  # the whole, for each second of writing: ordering designs, the best ones, the page


class Deadline(NamedTuple):
    """When a run is to be over, its tables and its report included.

    Attributes
    ----------
    end : float
        By `time.monotonic`.
    pace : float
        Seconds that each kept design takes to be written; see `pace_of_writing`.
    """

    end: float
    pace: float

    def is_over(self, kept: int) -> bool:
        """Tell whether a search is to stop that has so many designs to be written."""
        return time.monotonic() > self.end - _REST * self.pace * kept


def deadline_of(study: ResolvedStudy, out: Path | None) -> Deadline | None:
    """Return when a run that begins now is to be over; None if the study does not say."""
    if study.plan.timeout is None:
        return None
    pace = pace_of_writing(study, out)
    page = min(_PAGE, _MOST * study.plan.timeout)
    return Deadline(time.monotonic() + study.plan.timeout - page, pace)


def pace_of_writing(study: ResolvedStudy, out: Path | None) -> float:
    """Return the seconds that each design of the tables takes, as measured here and now.

    Tables of the study's columns are made of random designs, with random numbers in the place of
    what models would give, and written into the folder, unless it is None.
    """
    few, many = (
        min(_seconds(_sample(study, size), study, out) for _ in range(_TRIES)) for size in _SIZES
    )
    return max(many - few, 0.0) / (_SIZES[1] - _SIZES[0])


def _sample(study: ResolvedStudy, size: int) -> tuple[Points, Evaluated]:
    evaluator, random = study.evaluator, np.random.default_rng(0)
    judged = Evaluated(
        random.random((size, len(evaluator.objectives))),
        random.random((size, len(evaluator.constraints))),
        np.ones(size, dtype=bool),
    )
    unit = random.random((size, len(evaluator.space.variables)))
    return evaluator.space.from_unit(unit), judged


def _seconds(sample: tuple[Points, Evaluated], study: ResolvedStudy, out: Path | None) -> float:
    points, judged = sample
    numbers = np.arange(len(judged))
    began = time.perf_counter()
    table = designs_table(study, numbers, points, judged, np.ones(len(judged), dtype=bool))
    if out is not None:
        with tempfile.TemporaryDirectory(dir=out, prefix=TRIED) as folder:
            save_tables(table, Path(folder))
    return time.perf_counter() - began
