"""Searches beside their peers at equal time: designs, cost of a design, share of the true front.

    python -m benchmarks.peers [--quick] [--seconds S] [--seeds N] [problem ...]

Problems: crypto, five, twenty, rare, options, queue (`benchmarks.peer_problems`). Each search gets
the same seconds of processor, which do not depend on what else the machine does, and stops earlier
only by its own rule; bounding gets ten times as many. All evaluate the same models by arrays: peers
hand over a whole generation at once, so that the figures are what the searches themselves cost.
Peers see objectives on a logarithmic scale where ours does, and constraints as a penalty beyond any
objective; pygmo and pymoo search the unit cube, and pygmo mutates one variable of a design on
average, as ours does.

Of crypto, five and queue the true front is certified by enumeration. The front of a larger space is
not known: all searches together give it, and the fractions are of that front. `volume`: share of
its hypervolume, objectives in the logarithm if the true front spans more than two decades; `front`:
share of 1,000 of its points that a found design reaches within 1 % in each objective. Medians over
seeds. A peer that is not installed is named and skipped.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks import peer_problems
from benchmarks.peer_searches import SEARCHES, Task, installed, shown
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import hypervolume, is_nondominated, scale_front
from dse.model import Array
from dse.search.base import SearchSettings, Start, find_method
from dse.search.workers import Workers
from dse.study.study import ResolvedStudy
from tests.quality import recall

_TARGETS = 1_000
MAX_ENUMERATED = 10_000_000
"""Designs of a space up to which its front is certified."""
_MARGIN = 1.1
_QUICK = {"five": lambda: peer_problems.five(4), "queue": lambda: peer_problems.queue(4)}


@dataclass(frozen=True)
class Truth:
    """A front to compare with, less being better, and how to see it."""

    points: Array
    logs: NDArray[np.bool_]
    signs: Array
    words: str

    @classmethod
    def of(cls, points: Array, signs: Array, words: str) -> Truth:
        front = np.unique(points[is_nondominated(points)], axis=0)
        return cls(front, scale_front(front, signs)[1], signs, words)

    def unit(self, points: Array) -> Array:
        low, high = (shown(end, self.logs, self.signs) for end in self._ends())
        width = np.where(high > low, high - low, 1.0)
        return np.asarray((shown(points, self.logs, self.signs) - low) / width)

    def _ends(self) -> tuple[Array, Array]:
        finite = np.where(np.isfinite(self.points), self.points, np.nan)
        return np.nanmin(finite, axis=0)[None], np.nanmax(finite, axis=0)[None]

    def volume(self, points: Array) -> float:
        corner = np.full(self.points.shape[1], _MARGIN)
        of_all = hypervolume(np.maximum(self.unit(self.points), 0.0), corner)
        return hypervolume(np.maximum(self.unit(points), 0.0), corner) / of_all

    def covered(self, points: Array) -> float:
        step = max(1, len(self.points) // _TARGETS)
        return recall(points, self.points[::step], 0.01)


@dataclass
class Row:
    """The runs of one search on one problem."""

    designs: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    fronts: list[Array] = field(default_factory=list)

    def add(self, task: Task, seconds: float) -> None:
        points = task.points()
        self.designs.append(task.designs)
        self.seconds.append(seconds)
        self.fronts.append(points[is_nondominated(points)])

    def text(self, name: str, truth: Truth) -> str:
        designs, seconds = statistics.median(self.designs), statistics.median(self.seconds)
        volume = statistics.median(truth.volume(front) for front in self.fronts)
        covered = statistics.median(truth.covered(front) for front in self.fronts)
        return (
            f"{name:<26}{designs:>12,.0f}{seconds:>9.2f}{seconds / max(designs, 1) * 1e6:>12.2f}"
            f"{volume:>10.4f}{covered:>9.3f}"
        )


def enumerated(evaluator: Evaluator) -> tuple[Array, float, int]:
    """Return the whole front, the seconds of processor, and the designs."""
    method = find_method("exhaustive")
    settings = SearchSettings("exhaustive")
    plan = method.plan(settings, evaluator.space, len(evaluator.objectives), [])
    search = method.start(Start(evaluator, plan, workers=Workers(2)))
    began = time.process_time()
    for _ in search.steps():
        pass
    seconds = time.process_time() - began
    outcome = search.outcome()
    assert outcome.complete
    points = outcome.evaluated.objectives[outcome.on_front] * evaluator.signs
    return points, seconds, outcome.tally.evaluated


def compared(name: str, study: ResolvedStudy, seconds: float, seeds: int) -> None:
    """Run every search on a problem, in turn for each seed, and print the table."""
    evaluator = study.evaluator
    rows: dict[str, Row] = {}
    truth: Truth | None = None
    if (evaluator.space.size or MAX_ENUMERATED + 1) <= MAX_ENUMERATED:
        points, took, designs = enumerated(evaluator)
        truth = Truth.of(points, evaluator.signs, f"certified, {len(points):,} designs")
        rows["dse exhaustive"] = Row([designs], [took], [points])
    logs = truth.logs if truth else np.ones(len(evaluator.objectives), dtype=bool)
    for label, run in SEARCHES.items():
        if installed(label):
            run(Task(evaluator, logs, 0, 0.01))  # imports, and tables that are made once
    for seed in range(seeds):
        for label, run in SEARCHES.items():
            if not installed(label):
                continue
            task = Task(evaluator, logs, seed, seconds)
            began = time.process_time()
            if run(task):
                rows.setdefault(label, Row()).add(task, time.process_time() - began)
    if truth is None:
        every = np.concatenate([front for row in rows.values() for front in row.fronts])
        truth = Truth.of(every, evaluator.signs, "not known: what all found together")
        truth = replace(truth, logs=scale_front(truth.points, evaluator.signs)[1])
    space = evaluator.space
    size = "a continuum" if space.size is None else f"{space.size:,} designs"
    print(f"\n{name}: {len(space.variables)} variables, {size}; true front: {truth.words}")
    heads = ("designs", "seconds", "µs/design", "volume", "front")
    print(" " * 26 + "{:>12}{:>9}{:>12}{:>10}{:>9}".format(*heads))
    for label, row in rows.items():
        print(row.text(label, truth), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true", help="small problems, a moment each")
    parser.add_argument("--seconds", type=float, default=1.0, help="of processor, for each")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    made = _QUICK if given.quick else {n: getattr(peer_problems, n) for n in peer_problems.NAMES}
    unknown = sorted(set(given.problems) - set(made))
    if unknown:
        parser.error(f"no problem {', '.join(unknown)}; there are {', '.join(made)}")
    seconds, seeds = (0.05, 1) if given.quick else (given.seconds, given.seeds)
    missing = [label for label in SEARCHES if not installed(label)]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}")
    print(f"{seconds:g} s of processor for each search, medians of {seeds} seeds")
    for name in given.problems or made:
        compared(name, made[name](), seconds, seeds)


if __name__ == "__main__":
    main()
