"""The outcome of a search: the kept designs, the counts of all designs, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from dse.search.convergence import Mark, convergence, marks
from dse.search.tally import Tally


class Tolerance(NamedTuple):
    """By how much a front may miss the best in one objective.

    Parameters
    ----------
    share : float
        Of the value.
    amount : float
        In the objective's unit.
    """

    share: float = 0.0
    amount: float = 0.0


class Ground(NamedTuple):
    """The basis of the bounds of one output.

    Parameters
    ----------
    model, output : str
        Whose.
    by : str
        ``"table"``: all values of the variables that reach it were run. ``"monotonic"``: the
        author declares it. ``"lower bound"``: a function that the author
        declares.
        ``"domain"``: only the declared domain, until its inputs have one value.
    how : str
        The variables of the table, the signs of the inputs, the lower bound, or the domain.
    """

    model: str
    output: str
    by: str
    how: str


@dataclass(frozen=True)
class Gap:
    """The tolerance that a search with bounds has proven.

    Parameters
    ----------
    tolerance : float
        The relative tolerance that was asked for; 0 for an exact front.
    reached : float
        The tolerance that holds; inf if nothing does yet.
    apart : mapping of str to pair of float
        By objective the share and the amount that hold, if they differ.
    boxes : int
        Boxes whose bounds were computed.
    decided : float
        Share of the space that was evaluated or proven not to matter.
    rests_on : tuple of Ground
        What the bounds rest on.
    floor : mapping of str to float
        By objective, the value below which the tolerance is a fraction of this value.
    unbounded : tuple of str
        The objectives for which no finite tolerance holds yet.
    missing : tuple of str
        Sentences that name the declarations that the open boxes lack.
    """

    tolerance: float
    reached: float
    apart: Mapping[str, Tolerance]
    boxes: int
    decided: float
    rests_on: tuple[Ground, ...] = ()
    floor: Mapping[str, float] = field(default_factory=dict)
    unbounded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a search.

    Parameters
    ----------
    numbers : ndarray of int, shape (kept,)
        Design numbers, ascending.
    points : dict
        The kept designs by variable.
    judged : Evaluated
        What they give.
    on_front : ndarray of bool, shape (kept,)
        The non-dominated ones among all that were evaluated.
    tally : Tally
        Counts over all that were evaluated, each design once.
    convergence : DataFrame
        ``evaluations``, ``front``, ``hypervolume`` (share of the final one) as the search went.
    complete : bool
        Whether every design of the space was evaluated: the front is then the whole Pareto front.
    numbered : bool
        Whether designs are numbered as the space numbers them, and not as they were found.
    statement : str
        What the certificate says, in a sentence.
    gap : Gap or None
        What a search that bounds has proven.
    ended : str
        Why the search ended before it had used its evaluations, in words; empty if it did not.
    """

    numbers: NDArray[np.int64]
    points: Points
    judged: Evaluated
    on_front: NDArray[np.bool_]
    tally: Tally
    convergence: pd.DataFrame
    complete: bool
    numbered: bool
    statement: str
    gap: Gap | None = None
    ended: str = ""


def count_distinct(points: Array) -> int:
    """Return how many different points there are; of many, without much memory."""
    order = np.lexsort(points.T)
    same = np.ones(max(len(points) - 1, 0), dtype=bool)
    for column in points.T:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    return len(points) - int(same.sum())


def of_sample(evaluator: Evaluator, points: Points, judged: Evaluated, by: str) -> Outcome:
    """Return the outcome of a search that drew designs one after the other.

    All designs are kept, each once: of repeated samples, the first.

    Parameters
    ----------
    evaluator : Evaluator
        What judged them.
    points, judged : dict, Evaluated
        The samples.
    by : str
        The search method.
    """
    numbers = np.flatnonzero(~pd.DataFrame(points).duplicated().to_numpy())
    repeats = len(judged) - len(numbers)
    if repeats:
        points = {name: values[numbers] for name, values in points.items()}
        judged = judged.rows(numbers)
    archive, reached = _front(evaluator, judged)
    on_front = np.zeros(len(numbers), dtype=bool)
    on_front[archive.index] = True
    space = evaluator.space
    complete = space.size == len(numbers)
    numbered = isinstance(space, TableSpace)
    numbers = points[ROW] if numbered else numbers
    order = np.argsort(numbers, kind="stable")
    return Outcome(
        numbers[order],
        {name: values[order] for name, values in points.items()},
        judged.rows(order),
        on_front[order],
        Tally.of(numbers[order], judged.rows(order), evaluator.constraints, evaluator.domains),
        convergence(reached, evaluator.signs),
        complete,
        numbered,
        statement(by, space.size, len(numbers), archive.points, repeats, complete, numbered),
    )


def _front(evaluator: Evaluator, judged: Evaluated) -> tuple[Archive, list[Mark]]:
    """Return the front of designs in the order of their evaluation, and its earlier states."""
    points = judged.objectives * evaluator.signs
    archive = Archive.empty(points.shape[1])
    reached, start = [], 0
    for stop in marks(len(points)):
        rows = np.arange(start, stop)[judged.feasible[start:stop]]
        archive = archive.merged(Archive(rows, points[rows], np.zeros((len(rows), 0))))
        reached.append((stop, archive))
        start = stop
    return archive, reached


def statement(
    by: str,
    size: int | None,
    evaluated: int,
    front: NDArray[np.float64],
    repeats: int,
    whole: bool,
    tabled: bool = False,
) -> str:
    """Return the statement of a certificate.

    Parameters
    ----------
    by : str
        The search method.
    size : int or None
        Designs of the space.
    evaluated, repeats : int
        Designs that were evaluated, each once; draws beyond these, which repeated one.
    front : ndarray, shape (designs, objectives)
        The non-dominated points.
    whole : bool
        Whether every design of the space was evaluated.
    tabled : bool
        Whether the designs are the rows of a table.
    """
    if whole:
        points = count_distinct(front)
        distinct = f" ({plural(points, 'distinct point')})"
        are = "is" if len(front) == 1 else "are"
        were = "was" if evaluated == 1 else "were"
        alls = "the 1 design" if evaluated == 1 else f"all {evaluated:,} designs"
        looked = f"table {were} looked at" if tabled else f"space {were} evaluated"
        return (
            f"Complete: {alls} of the {looked}, and the "
            f"{len(front):,} on the front {are} its whole Pareto front"
            f"{distinct if points < len(front) else ''}."
            f"{' It says nothing of designs that are not in the table.' if tabled else ''}"
        )
    nearest = tabled and by != "exhaustive"
    share = f" of {size:,}" if size is not None else " of a continuous space"
    how = "exhaustive search" if by == "exhaustive" else by
    draws = evaluated + repeats
    were = "was" if evaluated == 1 else "were"
    again = f" in {draws:,} draws, {repeats:,} of which repeated one" if repeats else ""
    return (
        f"Not certified: {plural(evaluated, 'design')}{share} {were} evaluated by {how}{again}; "
        f"{len(front):,} {'is' if len(front) == 1 else 'are'} non-dominated among them."
        f"{' Each sample counts as the nearest row of the table.' if nearest else ''}"
    )


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
