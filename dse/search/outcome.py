"""The outcome of a search: the kept designs, the counts of all designs, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import Archive
from dse.evaluate.space import Points
from dse.evaluate.table_space import ROW, TableSpace
from dse.model.quantity import Array
from dse.model.values import plural
from dse.search.convergence import Mark, convergence_table, list_marks
from dse.search.tally import Tally


class Tolerance(NamedTuple):
    """By how much a front may miss the best in one objective."""

    fraction: float = 0.0
    """Of the value."""
    amount: float = 0.0
    """In the objective's unit."""


class Ground(NamedTuple):
    """The basis of the bounds of one output."""

    model: str
    output: str
    by: str
    """``"table"``: all values of the variables that affect it were run. ``"monotonic"``: the author
    declares it. ``"lower bound"``: a function that the author declares. ``"domain"``: only the
    declared domain, until its inputs have one value."""
    how: str
    """The variables of the table, the signs of the inputs, the lower bound, or the domain."""


def describe_ground(ground: Mapping[str, str]) -> str:
    """Return a ground in words.

    >>> describe_ground(Ground("m:f", "speedup", "monotonic", "+lanes")._asdict())
    'speedup (m:f) is monotonic as declared: +lanes'
    """
    words = {
        "table": "was run for all values of",
        "monotonic": "is monotonic as declared:",
        "lower bound": "is never below its lower bound",
        "domain": "is in its declared domain",
    }
    return f"{ground['output']} ({ground['model']}) {words[ground['by']]} {ground['how']}"


@dataclass(frozen=True)
class Gap:
    """The tolerance that a search with bounds has proven."""

    tolerance: float
    """The relative tolerance of the study; 0 for an exact front."""
    reached: float
    """The tolerance that is proven; inf if none is yet."""
    tolerances: Mapping[str, Tolerance]
    """By objective the fraction and the amount that are proven, if they differ."""
    boxes: int
    """Boxes whose bounds were computed."""
    decided: float
    """Fraction of the space that was evaluated or proven not to matter."""
    rests_on: tuple[Ground, ...] = ()
    unbounded: tuple[str, ...] = ()
    """The objectives for which no finite tolerance holds yet."""
    missing: tuple[str, ...] = ()
    """Sentences that name the declarations that the open boxes lack."""


@dataclass(frozen=True)
class Outcome:
    """The result of a search."""

    numbers: NDArray[np.int64]
    """Design numbers, ascending. Shape (kept,)."""
    points: Points
    """The kept designs by variable."""
    evaluated: Evaluated
    on_front: NDArray[np.bool_]
    """The non-dominated ones among all that were evaluated. Shape (kept,)."""
    tally: Tally
    """Counts over all that were evaluated, each design once."""
    convergence: pd.DataFrame
    """``evaluations``, ``front``, ``hypervolume`` (fraction of the final one) as the search
    went."""
    complete: bool
    """Whether every design of the space was evaluated: the front is then the whole Pareto front."""
    numbered: bool
    """Whether designs have the numbers of the space; else they are numbered as they were found."""
    statement: str
    gap: Gap | None = None
    """The tolerance that a search by bounds has proven."""
    ended: str = ""
    """Why the search ended before it had used its evaluations, in words; empty if it did not."""


def count_distinct(points: Array) -> int:
    """Return how many different points there are; of many, without much memory."""
    order = np.lexsort(points.T)
    same = np.ones(max(len(points) - 1, 0), dtype=bool)
    for column in points.T:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    return len(points) - int(same.sum())


def describe_count(points: Array, noun: str = "design") -> str:
    """Return the number of designs with some points, and of distinct points if they are fewer.

    >>> describe_count(np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]]))
    '3 designs (2 distinct)'
    """
    distinct = count_distinct(points)
    more = f" ({distinct:,} distinct)" if distinct < len(points) else ""
    return plural(len(points), noun) + more


def make_sample_outcome(
    evaluator: Evaluator, points: Points, evaluated: Evaluated, method: str
) -> Outcome:
    """Return the outcome of a search method that evaluated designs one after the other.

    All designs are kept, each once: of repeated samples, the first.
    """
    numbers = np.flatnonzero(~pd.DataFrame(points).duplicated().to_numpy())
    repeats = len(evaluated) - len(numbers)
    if repeats:
        points = {name: values[numbers] for name, values in points.items()}
        evaluated = evaluated.rows(numbers)
    fronts, archive = _find_fronts(evaluator, evaluated)
    on_front = np.zeros(len(numbers), dtype=bool)
    on_front[archive.index] = True
    space = evaluator.space
    complete, is_table = space.size == len(numbers), isinstance(space, TableSpace)
    numbers = points[ROW] if is_table else numbers
    order = np.argsort(numbers, kind="stable")
    numbers, evaluated = numbers[order], evaluated.rows(order)
    size = space.size
    return Outcome(
        numbers,
        {name: values[order] for name, values in points.items()},
        evaluated,
        on_front[order],
        Tally.of(numbers, evaluated, evaluator.constraints, evaluator.domains),
        convergence_table(fronts, evaluator.signs),
        complete,
        is_table,
        state_certificate(method, size, len(numbers), archive.points, repeats, complete, is_table),
    )


def _find_fronts(evaluator: Evaluator, evaluated: Evaluated) -> tuple[list[Mark], Archive]:
    """Return the fronts at each mark, in the order of evaluation, and the last front."""
    points = evaluated.objectives * evaluator.signs
    archive = Archive.empty(points.shape[1])
    fronts, start = list[Mark](), 0
    for stop in list_marks(len(points)):
        rows = np.arange(start, stop)[evaluated.feasible[start:stop]]
        archive = archive.merged(Archive(rows, points[rows], np.zeros((len(rows), 0))))
        fronts.append((stop, archive))
        start = stop
    return fronts, archive


def state_certificate(
    method: str,
    size: int | None,
    evaluated: int,
    front: Array,
    repeats: int,
    complete: bool,
    is_table: bool = False,
) -> str:
    """Return the statement of a certificate.

    Of a space of `size` designs, None for a continuum, `evaluated` were evaluated, each once.
    `repeats` further samples repeated one. The front has the shape (designs, objectives).
    """
    are = "is" if len(front) == 1 else "are"
    were = "was" if evaluated == 1 else "were"
    if complete:
        every = "the 1 design" if evaluated == 1 else f"all {evaluated:,} designs"
        looked = f"table {were} looked at" if is_table else f"space {were} evaluated"
        return (
            f"Complete: {every} of the {looked}, and the "
            f"{describe_count(front)} on the front {are} its whole Pareto front."
            f"{' It says nothing of designs that are not in the table.' if is_table else ''}"
        )
    nearest = is_table and method != "exhaustive"
    space = f" of {size:,}" if size is not None else " of a continuous space"
    how = "exhaustive search" if method == "exhaustive" else method
    samples = f" in {evaluated + repeats:,} draws, {repeats:,} of which repeated one"
    return (
        f"Not certified: {plural(evaluated, 'design')}{space} {were} evaluated by {how}"
        f"{samples if repeats else ''}; {describe_count(front)} {are} non-dominated among them."
        f"{' Each sample counts as the nearest row of the table.' if nearest else ''}"
    )
