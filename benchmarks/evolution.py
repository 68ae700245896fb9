"""What a design costs evolution, part by part, on the five-variable problem of `benchmarks.peers`.

    python -m benchmarks.evolution [--designs N] [--generation N ...] [--seeds N] [problem ...]

Each part is measured by the processor's time while a search runs, a whole generation at once, so
that measuring takes some hundredths of a microsecond a design. Evaluating alone is the floor: a
search that chose its designs for nothing would take as long. Medians over seeds; `front` is the
share of the certified front's points that were reached within 1 % in each objective, by then.
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

from benchmarks import peer_problems
from benchmarks.peers import MAX_ENUMERATED, Truth, enumerated
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Space
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


def compared(name: str, evaluator: Evaluator, given: argparse.Namespace) -> None:
    """Print a column for each size of a generation."""
    truth = None
    if (evaluator.space.size or MAX_ENUMERATED + 1) <= MAX_ENUMERATED:
        truth = Truth.of(enumerated(evaluator)[0], evaluator.signs, "")
    searched(evaluator, 10_000, 0, 0)  # imports, and tables that are made once
    columns: dict[str, dict[str, float]] = {}
    for generation in given.generation or [0]:
        runs, fronts = [], []
        for seed in range(given.seeds):
            costs, state = searched(evaluator, given.designs, generation, seed)
            runs.append(costs)
            inside = state.evaluated.objectives[state.evaluated.feasible] * evaluator.signs
            fronts.append(truth.covered(inside) if truth else float("nan"))
        column = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
        columns[str(generation or "as planned")] = column | {"front": statistics.median(fronts)}
    print(f"\n{name}: microseconds of processor for each of {given.designs:,} designs")
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
