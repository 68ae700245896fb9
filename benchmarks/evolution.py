"""What a design costs evolution, part by part, on the five-variable problem of `benchmarks.peers`.

    python -m benchmarks.evolution [--designs N] [--generation N ...] [--seeds N] [problem ...]

Each part is measured by the processor's time while a search runs, a whole generation at once, so
that measuring takes some hundredths of a microsecond a design. Evaluating alone is the floor: a
search that chose its designs for nothing would take as long. Medians over seeds; `front` is the
share of the true front's points that were reached within 1 % in each objective, by then. The true
front of a space that is too large to enumerate is not known: it is the front of all these searches
and of one with ten times the designs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import peer_problems
from benchmarks.peers import MAX_ENUMERATED, Truth, enumerated
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.search import evolution
from dse.search.base import SearchSettings, Start
from dse.search.convergence import StallDetector
from dse.search.workers import BatchEvaluator

_PARTS: tuple[tuple[str, Any, str], ...] = (
    ("evaluating", BatchEvaluator, "evaluate"),
    ("values of designs", Space, "from_unit"),
    ("children", evolution, "make_children"),
    ("repeats", evolution.VisitedDesigns, "visit"),
    ("selection", evolution, "select"),
    ("stalled?", StallDetector, "add_generations"),
    ("storage", evolution._GrowingArray, "append"),
)
"""What is measured: its name, and the function that does it."""
_LONG = 10  # times the designs of the search that stands for an unknown front


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Add up the seconds of processor that each part takes, less those of parts that it calls."""
    spent: dict[str, float] = defaultdict(float)
    called = [0.0]  # what parts took that each part under way has called

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **given: Any) -> Any:
            began = time.process_time()
            called.append(0.0)
            try:
                return function(*args, **given)
            finally:
                took = time.process_time() - began
                spent[name] += took - called.pop()
                called[-1] += took

        return call

    with ExitStack() as stack:
        for name, owner, function in _PARTS:
            stack.enter_context(
                patch.object(owner, function, timed(name, getattr(owner, function)))
            )
        yield spent


def searched(
    evaluator: Evaluator, designs: int, generation: int, seed: int
) -> tuple[dict[str, float], evolution.Population]:
    """Return the microseconds a design of each part and of all, and where the search ended."""
    settings = SearchSettings("evolution", designs, generation=generation, seed=seed)
    plan = evolution.plan(settings, evaluator.space, len(evaluator.objectives), [])
    with measured() as spent:
        began = time.process_time()
        search = evolution.Evolution(Start(evaluator, plan))
        deque(search.steps(), maxlen=0)
        state = search.population
        whole = time.process_time() - began
    found = {name: spent[name] for name, _, _ in _PARTS}
    found["all else"] = whole - sum(found.values())
    found["together"] = whole
    return {name: seconds / len(state.unit) * 1e6 for name, seconds in found.items()}, state


def feasible_front(state: evolution.Population, evaluator: Evaluator) -> Array:
    """Return the objectives of the front that a search reached, less being better."""
    points = state.evaluated.objectives[state.evaluated.feasible] * evaluator.signs
    return np.asarray(points[is_nondominated(points)])


def true_front(evaluator: Evaluator, found: list[Array], given: argparse.Namespace) -> Truth:
    """Return the certified front, or that of all searches and of a long one."""
    if (evaluator.space.size or MAX_ENUMERATED + 1) <= MAX_ENUMERATED:
        return Truth.of(enumerated(evaluator)[0], evaluator.signs, "certified")
    _, state = searched(evaluator, _LONG * given.designs, 0, given.seeds)
    every = np.concatenate([*found, feasible_front(state, evaluator)])
    return Truth.of(every, evaluator.signs, "not known: all searches and a long one")


def compared(name: str, evaluator: Evaluator, given: argparse.Namespace) -> None:
    """Print a column for each size of a generation."""
    searched(evaluator, 10_000, 0, 0)  # imports, and tables that are made once
    columns: dict[str, dict[str, float]] = {}
    fronts: dict[str, list[Array]] = {}
    for generation in given.generation or [0]:
        label = str(generation or "as planned")
        runs = [searched(evaluator, given.designs, generation, seed) for seed in range(given.seeds)]
        columns[label] = {
            part: statistics.median(costs[part] for costs, _ in runs) for part in runs[0][0]
        }
        fronts[label] = [feasible_front(state, evaluator) for _, state in runs]
    truth = true_front(evaluator, [front for own in fronts.values() for front in own], given)
    for label, own in fronts.items():
        columns[label]["front"] = statistics.median(truth.covered(front) for front in own)
    print(f"\n{name}: microseconds of processor for each of {given.designs:,} designs")
    print(f"true front: {truth.words}")
    print(f"{'generation':<20}" + "".join(f"{head:>14}" for head in columns))
    for part in next(iter(columns.values())):
        print(f"{part:<20}" + "".join(f"{column[part]:>14.2f}" for column in columns.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=["five"])
    parser.add_argument("--designs", type=int, default=100_000)
    parser.add_argument("--generation", type=int, nargs="*", default=[], help="default: as planned")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    unknown = sorted(set(given.problems) - set(peer_problems.NAMES))
    if unknown:
        parser.error(f"no problem {', '.join(unknown)}; there are {', '.join(peer_problems.NAMES)}")
    for name in given.problems:
        compared(name, getattr(peer_problems, name)().evaluator, given)


if __name__ == "__main__":
    main()
