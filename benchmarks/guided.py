"""Searches for slow models: how many designs each needs for a fraction of the true hypervolume.

    python -m benchmarks.guided [--quick] [--designs N] [--seeds N] [--only SEARCH] [problem ...]

Three problems are tables of evaluated designs from public sources (`benchmarks/tables`):
`black_scholes` (all designs of an FPGA kernel, 4 % of them valid), `matrix_multiplication` and
`sobel` (measured on an FPGA board). Three are models of `dse`: the shipped studies `rotate` and
`compress`, and `queue` (streams that share a pipeline). `five`, `crypto` and `jpeg` run if they are
named. The true front of each problem comes from an enumeration.

The score is the number of different designs until 50, 80 and 95 % of the true hypervolume: medians
over seeds, and quartiles in brackets. Objectives count in the logarithm if the front spans more
than two decades. "–" is more designs than the search was given. The last columns have the designs
and the seconds of the processor that the search itself takes per design.

Guided search selects 8 designs at a time, as for 8 workers, and once more one at a time. TPE
selects one design at a time and NSGA-II a population of 50, which suits them best. GP selects 4
designs at a time and gets fewer designs, because it takes about a second per design. GP needs
PyTorch (the extra `peers`). If PyTorch is missing, the benchmark skips GP.
"""

from __future__ import annotations

import argparse
import gzip
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import peer_problems
from benchmarks.peers import Truth, enumerated
from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.failures import evaluate_naming_failures
from dse.evaluate.space import Points
from dse.search.base import SearchSettings, Start, find_method
from dse.search.evolution import VisitedDesigns
from dse.search.workers import BatchEvaluator
from dse.study.study import ResolvedStudy, read_study

SHARES = (0.5, 0.8, 0.95)
"""The fractions of the true hypervolume until which designs are counted."""


@dataclass(frozen=True)
class Contestant:
    """A search: a function of evaluator, designs and seed, and how many designs it gets."""

    run: Callable[[Evaluator, int, int], Evaluated]
    designs: int = 2**31
    needs: str = ""


def searched(method: str, generation: int) -> Callable[[Evaluator, int, int], Evaluated]:
    """Return a search of the product; of designs that it repeats, the first counts."""

    def run(evaluator: Evaluator, designs: int, seed: int) -> Evaluated:
        plan = SearchSettings(method, designs, generation, seed)
        search = find_method(method).start(Start(evaluator, plan))
        batches: list[tuple[Points, Evaluated]] = []
        evaluate = BatchEvaluator.evaluate

        def record(self: BatchEvaluator, points: Points, *others: Any) -> Evaluated:
            evaluated = evaluate(self, points, *others)
            batches.append((points, evaluated))
            return evaluated

        with patch.object(BatchEvaluator, "evaluate", record):  # an outcome is in order of rows
            for _ in search.steps():
                pass
        columns = [
            np.concatenate(column) for column in zip(*(b[0].values() for b in batches), strict=True)
        ]
        first = np.unique(np.column_stack(columns), axis=0, return_index=True)[1]
        return concatenate_batches([evaluated for _, evaluated in batches]).rows(np.sort(first))

    return run


def random(evaluator: Evaluator, designs: int, seed: int) -> Evaluated:
    """Evaluate random designs, none twice and none that a relation forbids."""
    rng = np.random.default_rng(seed)
    none = np.empty((0, len(evaluator.space.variables)))
    drawn = rng.random((designs, none.shape[1]))
    unit = VisitedDesigns(evaluator, none).visit(drawn, designs, rng)
    return evaluate_naming_failures(evaluator, evaluator.space.from_unit(unit), 0)


SEARCHES: Mapping[str, Contestant] = {
    "dse guided": Contestant(searched("guided", 8)),
    "dse guided, one at a time": Contestant(searched("guided", 1), designs=200),
    "Optuna TPE": Contestant(searched("TPESampler", 1)),
    "Optuna GP": Contestant(searched("GPSampler", 4), designs=80, needs="torch"),
    "Optuna NSGA-II": Contestant(searched("NSGAIISampler", 50)),
    "random": Contestant(random),
}


@dataclass(frozen=True)
class Course:
    """The designs until each fraction of `SHARES`, inf if it was not reached; designs; seconds."""

    reached: tuple[float, ...]
    designs: int
    seconds: float


def count_designs(truth: Truth, evaluated: Evaluated, share: float) -> float:
    """Return the number of designs, in order, until a fraction of the true hypervolume."""

    def volume(count: int) -> float:
        rows = evaluated.objectives[:count][evaluated.feasible[:count]] * truth.signs
        return truth.volume(rows) if len(rows) else 0.0

    low, high = 0, len(evaluated)
    if volume(high) < share:
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if volume(middle) >= share else (middle, high)
    return high


def show_quartiles(designs: Sequence[float]) -> str:
    """Return the median and the quartiles in brackets, each a count that some run needed."""
    ordered = sorted(designs)
    picked = (ordered[math.ceil(share * (len(ordered) - 1))] for share in (0.5, 0.25, 0.75))
    middle, low, high = (f"{n:,.0f}" if math.isfinite(n) else "–" for n in picked)
    return middle if low == high == middle else f"{middle} ({low} to {high})"


def show_row(name: str, courses: list[Course]) -> str:
    """Return a line of the table."""
    cells = [show_quartiles([c.reached[k] for c in courses]) for k in range(len(SHARES))]
    cells.append(f"{np.median([c.designs for c in courses]):,.0f}")
    cells.append(f"{1e3 * np.median([c.seconds / c.designs for c in courses]):.2g}")
    return f"| {name} | " + " | ".join(cells) + " |"


def compare(name: str, study: ResolvedStudy, only: str, designs: int, seeds: int) -> None:
    """Run every search on a problem and print the table."""
    evaluator = study.evaluator
    points, _, size = enumerated(evaluator)
    truth = Truth.of(points, evaluator.signs, "")
    heads = ["search", *(f"to {share:.0%}" for share in SHARES), "designs", "ms per design"]
    print(f"\n{name}: {size:,} designs, {len(truth.points):,} distinct points on the front")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for label, contestant in _wanted(only):
        courses = []
        for seed in range(seeds):
            began = time.process_time()
            evaluated = contestant.run(evaluator, min(designs, contestant.designs), seed)
            seconds = time.process_time() - began
            reached = tuple(count_designs(truth, evaluated, share) for share in SHARES)
            courses.append(Course(reached, len(evaluated), seconds))
        print(show_row(label, courses), flush=True)


def _wanted(only: str) -> Iterator[tuple[str, Contestant]]:
    for label, contestant in SEARCHES.items():
        if only in label and (not contestant.needs or find_spec(contestant.needs)):
            yield label, contestant


def _shipped(name: str) -> Callable[[], ResolvedStudy]:
    return lambda: read_study(Path(__file__).parents[1] / "studies" / f"{name}.toml")


_TABLE = """
[study]
name = "{name}"
table = "{name}.csv"

[[objective]]
minimize = "{time}"

[[objective]]
minimize = "{area}"
"""


def _tabled(name: str, time: str, area: str, more: str = "") -> Callable[[], ResolvedStudy]:
    """Return how to read a table as a study, in a folder of its own."""

    def make() -> ResolvedStudy:
        source = Path(__file__).parent / "tables"
        packed = source / f"{name}.csv.gz"
        text = (
            gzip.decompress(packed.read_bytes())
            if packed.exists()
            else (source / f"{name}.csv").read_bytes()
        )
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{name}.csv").write_bytes(text)
            study = Path(folder, "study.toml")
            study.write_text(_TABLE.format(name=name, time=time, area=area) + more)
            return read_study(study)

    return make


PROBLEMS: Mapping[str, Callable[[], ResolvedStudy]] = {
    "black_scholes": _tabled(
        "black_scholes", "cycles", "alms", '[[constraint]]\nquantity = "valid"\nat_least = 1\n'
    ),
    "matrix_multiplication": _tabled("matrix_multiplication", "time_ms", "logic"),
    "sobel": _tabled("sobel", "time_ms", "logic"),
    "rotate": _shipped("rotate"),
    "compress": _shipped("compress"),
    "queue": lambda: peer_problems.queue(16),
    "five": lambda: peer_problems.five(6),
    "crypto": _shipped("crypto"),
    "jpeg": _shipped("jpeg"),
}
SIX = tuple(PROBLEMS)[:6]
"""The problems that run if none is named."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=SIX)
    parser.add_argument("--quick", action="store_true", help="a small problem, few designs")
    parser.add_argument("--designs", type=int, default=400, help="for each search, at most")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="searches whose names have this in them")
    given = parser.parse_args()
    unknown = sorted(set(given.problems) - set(PROBLEMS))
    if unknown:
        parser.error(f"no problem {', '.join(unknown)}; there are {', '.join(PROBLEMS)}")
    for label, contestant in SEARCHES.items():
        if contestant.needs and not find_spec(contestant.needs):
            print(f"not installed, skipped: {label} (pip install {contestant.needs})")
    if given.quick:
        compare("five, small", peer_problems.five(3), "", 70, 1)
        return
    for name in given.problems:
        compare(name, PROBLEMS[name](), given.only, given.designs, given.seeds)


if __name__ == "__main__":
    main()
