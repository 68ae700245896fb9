"""Searches for costly models: how many designs each needs to cover a certified front.

    python -m benchmarks.guided [--quick] [--designs N] [--seeds N] [--only SEARCH] [problem ...]

Problems: `rotate` and `compress`, shipped studies, and `queue` (streams that share a pipeline,
12,288 designs); `five` (LogCA with five variables), `crypto` and `jpeg` if they are named. Each
front is certified by enumeration. A point of it is covered once a feasible design was evaluated
that is worse by at most 1 % in each objective. What counts is the number of different designs until
half, nine tenths and all of the front's distinct points are covered, and until its hypervolume is
reached to 99 % (objectives in the logarithm if the front spans more than two decades). Then the
shares of both at 60 and 200 designs and at the end, and the seconds of processor that the search
itself takes for a design. Medians over seeds, and in brackets the quartiles of designs; – stands
for more designs than were given. GP takes so long that it gets fewer.

No search but random and Sobol points is told of forbidden combinations twice: those two skip them,
and repeat no design. Optuna's samplers get generations of their own size, and constraints as Optuna
takes them. GP needs PyTorch (`pip install torch`, or the extra `peers`); if it is not installed, it
is named and skipped.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import peer_problems
from benchmarks.peers import Truth, enumerated
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import evaluate_designs
from dse.evaluate.samples import sobol_points
from dse.model import Array
from dse.search.base import SearchSettings, Start, method_of
from dse.search.evolution import VisitedDesigns
from dse.study.study import ResolvedStudy, read_study

_MARKS = (60, 200)
_VOLUME = 0.99
_NEAR = 0.01  # of each objective: what a design may be worse by that covers a point


@dataclass(frozen=True)
class Contestant:
    """A search: how it judges so many designs for a seed, and how many it is given at most."""

    run: Callable[[Evaluator, int, int], Evaluated]
    designs: int = 2**31
    seeds: int = 2**31
    needs: str = ""


def searched(method: str, generation: int) -> Callable[[Evaluator, int, int], Evaluated]:
    """Return a search of the product; of designs that it repeats, the first counts."""

    def run(evaluator: Evaluator, designs: int, seed: int) -> Evaluated:
        plan = SearchSettings(method, designs, generation, seed, None, {})
        search = method_of(method).start(Start(evaluator, plan))
        for _ in search.steps():
            pass
        return search.outcome().evaluated

    return run


def random(evaluator: Evaluator, designs: int, seed: int) -> Evaluated:
    rng = np.random.default_rng(seed)
    none = np.empty((0, len(evaluator.space.variables)))
    drawn = rng.random((designs, none.shape[1]))
    unit = VisitedDesigns(evaluator, none).visit(drawn, designs, rng)
    return evaluate_designs(evaluator, evaluator.space.from_unit(unit), 0)


def sobol(evaluator: Evaluator, designs: int, seed: int) -> Evaluated:
    none = np.empty((0, len(evaluator.space.variables)))
    points = sobol_points(none.shape[1], 8 * designs, np.random.default_rng(seed))
    unit = VisitedDesigns(evaluator, none).find_new(points)[:designs]
    return evaluate_designs(evaluator, evaluator.space.from_unit(unit), 0)


SEARCHES: Mapping[str, Contestant] = {
    "dse guided": Contestant(searched("guided", 32)),
    "dse evolution": Contestant(searched("evolution", 50)),
    "optuna NSGA-II": Contestant(searched("NSGAIISampler", 50)),
    "optuna TPE": Contestant(searched("TPESampler", 8), designs=200),
    "optuna GP": Contestant(searched("GPSampler", 4), designs=60, needs="torch"),
    "random": Contestant(random),
    "sobol": Contestant(sobol),
}


@dataclass(frozen=True)
class Course:
    """How a run went, design by design.

    Parameters
    ----------
    covered : ndarray, shape (designs,)
        Share of the front's distinct points covered so far.
    volumes : dict of int to float
        Share of its hypervolume at some numbers of designs.
    reached : float
        Designs until 99 % of the hypervolume; inf if they were not reached.
    seconds : float
        Of processor, for a design.
    """

    covered: Array
    volumes: Mapping[int, float]
    reached: float
    seconds: float

    def to_cover(self, share: float) -> float:
        """Return the designs until a share of the front is covered; inf if it is not."""
        at = np.flatnonzero(self.covered >= share - 1e-12)
        return float(at[0] + 1) if len(at) else np.inf


def course(truth: Truth, judged: Evaluated, seconds: float, near: float = _NEAR) -> Course:
    """Return how a run went; `near` is the share by which what covers a point may be worse."""
    points = judged.objectives * truth.signs
    points[~judged.feasible] = np.inf
    finite = np.where(np.isfinite(truth.points), truth.points, 0.0)
    wanted = truth.points + near * np.abs(finite)
    new = np.zeros(len(points))
    for target in wanted:
        covers = (points <= target).all(axis=1) & judged.feasible
        new[np.argmax(covers)] += covers.any()
    inside = np.where(judged.feasible[:, None], points, np.nan)

    def volume(count: int) -> float:
        rows = inside[:count][judged.feasible[:count]]
        return truth.volume(rows) if len(rows) else 0.0

    marks = [mark for mark in (*_MARKS, len(points)) if mark <= len(points)]
    volumes = {mark: volume(mark) for mark in marks}
    reached = np.inf
    if volumes[len(points)] >= _VOLUME:
        low, high = 0, len(points)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if volume(middle) >= _VOLUME else (middle, high)
        reached = high
    return Course(np.cumsum(new) / len(wanted), volumes, reached, seconds / len(points))


def quartiles(designs: Sequence[float]) -> str:
    """Return the median and the quartiles in brackets, each a count that some run needed."""
    ordered = sorted(designs)
    picked = (ordered[math.ceil(share * (len(ordered) - 1))] for share in (0.5, 0.25, 0.75))
    middle, low, high = (f"{n:,.0f}" if math.isfinite(n) else "–" for n in picked)
    return middle if low == high == middle else f"{middle} ({low} to {high})"


def row(name: str, courses: list[Course]) -> str:
    """Return a line of the table."""
    cells = [quartiles([c.to_cover(share) for c in courses]) for share in (0.5, 0.9, 1.0)]
    cells.append(quartiles([c.reached for c in courses]))
    for mark in _MARKS:
        held = [c for c in courses if len(c.covered) >= mark]
        cells.append(
            f"{np.median([c.covered[mark - 1] for c in held]):.2f}, "
            f"{np.median([c.volumes[mark] for c in held]):.3f}"
            if held
            else "–"
        )
    last = [len(c.covered) for c in courses]
    cells.append(
        f"{np.median([c.covered[-1] for c in courses]):.2f}, "
        f"{np.median([c.volumes[n] for c, n in zip(courses, last, strict=True)]):.3f}"
    )
    cells.append(f"{np.median(last):,.0f}")
    cells.append(f"{1e3 * np.median([c.seconds for c in courses]):.2g}")
    cells.append(f"{len(courses)}")
    return f"| {name} | " + " | ".join(cells) + " |"


def compared(name: str, study: ResolvedStudy, only: str, designs: int, seeds: int) -> None:
    """Run every search on a problem and print the table."""
    evaluator = study.evaluator
    points, _, size = enumerated(evaluator)
    truth = Truth.of(points, evaluator.signs, "")
    heads = ["search", "to 50 %", "to 90 %", "to 100 %", "to 99 % of volume"]
    heads += [f"at {mark}" for mark in _MARKS] + ["at the end", "designs", "ms each", "seeds"]
    front = f"{len(truth.points):,} distinct points on the certified front"
    print(f"\n{name}: {size:,} designs, {front}; shares: covered, volume")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for label, contestant in _wanted(only):
        courses = []
        for seed in range(min(seeds, contestant.seeds)):
            began = time.process_time()
            judged = contestant.run(evaluator, min(designs, contestant.designs), seed)
            courses.append(course(truth, judged, time.process_time() - began))
        print(row(label, courses), flush=True)


def _wanted(only: str) -> Iterator[tuple[str, Contestant]]:
    for label, contestant in SEARCHES.items():
        if only in label and (not contestant.needs or find_spec(contestant.needs)):
            yield label, contestant


def _shipped(name: str) -> Callable[[], ResolvedStudy]:
    return lambda: read_study(Path(__file__).parents[1] / "studies" / f"{name}.toml")


PROBLEMS: Mapping[str, Callable[[], ResolvedStudy]] = {
    "rotate": _shipped("rotate"),
    "compress": _shipped("compress"),
    "queue": lambda: peer_problems.queue(16),
    "five": lambda: peer_problems.five(6),
    "crypto": _shipped("crypto"),
    "jpeg": _shipped("jpeg"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=["rotate", "compress", "queue"])
    parser.add_argument("--quick", action="store_true", help="a small problem, few designs")
    parser.add_argument("--designs", type=int, default=600, help="for each search, at most")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="searches whose names have this in them")
    given = parser.parse_args()
    unknown = sorted(set(given.problems) - set(PROBLEMS))
    if unknown:
        parser.error(f"no problem {', '.join(unknown)}; there are {', '.join(PROBLEMS)}")
    for label, contestant in SEARCHES.items():
        if contestant.needs and not find_spec(contestant.needs):
            print(f"not installed, skipped: {label} (pip install {contestant.needs})")
    if given.quick:
        compared("five, small", peer_problems.five(3), "", 70, 1)
        return
    for name in given.problems:
        compared(name, PROBLEMS[name](), given.only, given.designs, given.seeds)


if __name__ == "__main__":
    main()
