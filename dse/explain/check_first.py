"""What to check before building: assumed and uncertain figures, by how far each moves the front.

Each figure is moved alone to both ends of its range, all else as it is, and designs of the front
and near it are evaluated anew. The range is that in which the study says the figure lies; an
assumed figure of which nothing is said is halved and doubled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from dse.evaluate.certain import at_middles
from dse.evaluate.ends import Ends, at_ends
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import is_nondominated
from dse.evaluate.laws import Law
from dse.evaluate.samples import Middle, Source, Uncertainty
from dse.evaluate.space import Points
from dse.evaluate.table import TableSpace
from dse.evaluate.wiring import ModelError
from dse.explain.front_moves import change, distance
from dse.explain.robustness import candidates, in_samples
from dse.explain.sensitivity import common
from dse.model.quantity import Array, Quantity
from dse.problems import InputError
from dse.result.record import Result
from dse.result.spare import EXPLAINED, evaluations_of_an_explanation, pace_of
from dse.search.cost import COSTLY
from dse.search.workers import ALONE, Workers
from dse.study.resolve.figures import Stated
from dse.study.study import ResolvedStudy, rewritten

FACTOR = 2.0
"""By which an assumed figure is moved if the study does not say how far off it may be."""
_FEWEST = 4  # designs, below which a front is not looked at
_MOST, _MOST_SLOW = 60_000, 1_000  # evaluations, of formulas and of simulators
_BATCH = 1.0  # seconds; formulas over arrays take less, however busy the machine
_SLOW = 0.1  # seconds; likewise, of a design more
_LONG = 120.0  # seconds; what takes longer than that, and than the search, is left out
_SHARE = 0.25  # of what explanations take, if there is a time-out
_INSIDE = (0.025, 0.975)  # of a law without ends


@dataclass(frozen=True)
class Check:
    """A figure that may be off, and what that does.

    Parameters
    ----------
    figure : Stated
    ends : (float, float)
        The range that it was moved in, in its unit.
    told : str
        The range as the study gives it. Empty if it does not: then the figure is halved and
        doubled.
    moves : float
        How far it moves the front, at the worse end; see `dse.explain.front_moves.distance`.
    objective : str
        The objective that it changes most; empty if it changes none of a design on the front.
    overturns : tuple of float
        The ends at which the recommended design is no longer on the front.
    """

    figure: Stated
    ends: tuple[float, float]
    told: str
    moves: float
    objective: str
    overturns: tuple[float, ...]


def check_first(
    study: ResolvedStudy, result: Result, choice: int | None = None, explained: int = EXPLAINED
) -> tuple[Check, ...]:
    """Return what to check before building, what moves the front most first.

    Parameters
    ----------
    choice : int, optional
        The design that is recommended.
    explained : int
        How many designs there is time to explain; fewer designs are looked at if it is little.

    Raises
    ------
    ModelError
        If a model raises for the designs as they are.
    """
    ranges = [(f, *r) for f in study.figures if (r := range_of(study, f)) is not None]
    if not ranges or not len(result.front) or isinstance(study.evaluator.space, TableSpace):
        return ()
    samples = 1 + 2 * len(ranges)
    numbers = _designs(study, result, choice, samples, explained)
    if len(numbers) < min(_FEWEST, len(result.front)):
        return ()
    rows = result.designs.loc[numbers]
    space = study.evaluator.space
    points = space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    asked = [_asked(f, e) for f, e, _ in ranges if not _is_clock(f)]
    slow = _is_slow(study.evaluator, asked, points)
    if slow:
        evaluations = min(_MOST_SLOW, _evaluations_elsewhere(study, result) // 2)
        fewer = max(_FEWEST, evaluations // samples)
        points = {n: v[:fewer] for n, v in points.items()}
    kept = None if choice is None else 0
    found: list[Check] = []
    moves = _moved(study.evaluator, asked, points)
    if slow:
        moves = _moved_by(_threads(result), study.evaluator, asked, points)
    for figure, ends, told in ranges:
        moved = _clock_moved(study, points, ends) if _is_clock(figure) else next(moves)
        if moved is not None:
            found.append(_check(study.evaluator, (figure, ends, told), moved, kept))
    return tuple(sorted(found, key=lambda c: (-c.moves, c.figure.label)))


def _is_clock(figure: Stated) -> bool:
    """Tell whether a figure converts others, which are then read anew."""
    return figure.name == "clock" and not figure.variable


def range_of(study: ResolvedStudy, figure: Stated) -> tuple[tuple[float, float], str] | None:
    """Return the ends of a figure's range, and how the study gives it; empty if it does not.

    None if the figure is neither assumed nor uncertain, or if it cannot be moved: a file, or 0.
    """
    if isinstance(figure.value, Middle):
        source = next(s for s in study.uncertainty.sources if s.where == figure.value.where)
        return _ends_of(study.uncertainty, source, figure.value.number), source.told
    if figure.provenance != "assumed" or not math.isfinite(figure.value) or figure.value == 0:
        return None
    low, high = sorted((figure.value / FACTOR, figure.value * FACTOR))
    if figure.name in study.evaluator.wiring.quantities:
        quantity = common(study.evaluator.wiring, figure.name)
        low, high = (_inside(quantity, figure.value, end) for end in (low, high))
    return ((low, high), "") if low < high else None


def _inside(quantity: Quantity, value: float, end: float) -> float:
    """Return an end within the domain; half way to a bound that it may not reach."""
    end = float(np.round(end)) if quantity.integer else end
    end = min(max(end, quantity.low), quantity.high)
    if end <= quantity.above:
        end = (value + quantity.above) / 2
    if end >= quantity.below:
        end = (value + quantity.below) / 2
    return float(end) if quantity.contains_all(np.array([end])) else value


def _ends_of(uncertainty: Uncertainty, source: Source, number: int) -> tuple[float, float]:
    """Return the ends of a law, or between which 95 % of it lie."""
    if isinstance(source.law, Law):
        if source.law.kind in ("between", "uniform", "triangular"):
            return source.law.numbers[0], source.law.numbers[-1]
        low, high = source.law(np.array(_INSIDE)).tolist()
        return low, high
    drawn = uncertainty.values[source.where][uncertainty.corners :, number]
    low, high = np.quantile(drawn, _INSIDE).tolist()
    return low, high


def _designs(
    study: ResolvedStudy, result: Result, choice: int | None, samples: int, explained: int
) -> list[int]:
    """Return the designs to look at, the choice first; none if the fewest would take too long."""
    if explained <= 0:
        return []
    evaluated = result.certificate.evaluated
    seconds = float(result.provenance.get("seconds") or 0.0)
    pace = pace_of(seconds, int(result.provenance.get("workers") or 1), evaluated)
    if _FEWEST * samples > evaluated and _FEWEST * samples * pace > _LONG:
        return []
    evaluations = float(_MOST)
    if explained < EXPLAINED or study.plan.timeout is not None:
        explaining = explained * evaluations_of_an_explanation(study)
        evaluations = min(evaluations, _SHARE * explaining)
    numbers = candidates(result, samples)[: int(evaluations / samples)]
    return numbers if choice is None else [choice, *(n for n in numbers if n != choice)]


def _asked(figure: Stated, ends: tuple[float, float]) -> Ends:
    where = figure.value.where if figure.bound and isinstance(figure.value, Middle) else ""
    return Ends(figure.name, float(figure.value), ends, figure.variable, figure.option, where)


_Moved: TypeAlias = tuple[Array, NDArray[np.bool_]]
"""Values (3, designs, objectives) as they are and at both ends, and whether designs hold."""


def _is_slow(evaluator: Evaluator, asked: Sequence[Ends], points: Points) -> bool:
    """Tell whether models take more than `COSTLY` a design: see `dse.search.cost`."""
    costly = COSTLY * (1 + 2 * len(asked))

    def timed(count: int, asked: Sequence[Ends]) -> float:
        few = {name: values[:count] for name, values in points.items()}
        began = time.perf_counter()
        with suppress(ModelError):  # told when all are asked
            if not [*_moved(evaluator, asked, few)]:  # only the clock moves
                _evaluated(at_middles(evaluator), few)
        return time.perf_counter() - began

    timed(1, ())  # the first of all loads what was not needed before
    if timed(_FEWEST, ()) - timed(1, ()) > _SLOW * (_FEWEST - 1):
        return True
    one = timed(1, asked)
    if one <= costly or one > _BATCH:
        return one > costly
    return timed(_FEWEST, asked) - one > costly * (_FEWEST - 1)


def _evaluations_elsewhere(study: ResolvedStudy, result: Result) -> int:
    """Return about how many designs the search and the first explanations evaluate."""
    return result.certificate.evaluated + _FEWEST * evaluations_of_an_explanation(study)


def _moved(evaluator: Evaluator, asked: Sequence[Ends], points: Points) -> Iterator[_Moved | None]:
    """Yield what designs are with each figure moved; None for one at which a model raises."""
    if not asked:
        return
    try:
        values, holds = _evaluated(at_ends(evaluator, asked), points)
    except ModelError:
        if len(asked) == 1:
            yield None
            return
        middle = len(asked) // 2
        yield from _moved(evaluator, asked[:middle], points)
        yield from _moved(evaluator, asked[middle:], points)
        return
    for k in range(len(asked)):
        rows = [0, 1 + 2 * k, 2 + 2 * k]
        yield values[rows], holds[rows]


def _threads(result: Result) -> Workers:
    """Return as many threads as searched, if there are cores; one if models ran in processes."""
    given = result.provenance
    if given.get("backend") != "threading":
        return ALONE
    return Workers(min(int(given.get("workers") or 1), cpu_count()))


def _moved_by(
    workers: Workers, evaluator: Evaluator, asked: Sequence[Ends], points: Points
) -> Iterator[_Moved | None]:
    """Yield the same as `_moved`, each design a task of its own."""

    def one(row: int) -> list[_Moved | None]:
        return [*_moved(evaluator, asked, {n: v[row : row + 1] for n, v in points.items()})]

    count = len(next(iter(points.values())))
    for designs in zip(*workers.each(one, ((row,) for row in range(count))), strict=True):
        known = [each for each in designs if each is not None]
        if len(known) < count:
            yield None
            continue
        values, holds = zip(*known, strict=True)
        yield np.concatenate(values, axis=1), np.concatenate(holds, axis=1)


def _evaluated(evaluator: Evaluator, points: Points) -> _Moved:
    count = len(next(iter(points.values())))
    return in_samples(evaluator, evaluator.space.columns(points), count)


def _clock_moved(study: ResolvedStudy, points: Points, ends: tuple[float, float]) -> _Moved | None:
    """Return what designs are with another clock: what is given in seconds is read anew."""
    inputs = study.content.get("inputs", {})
    parts = [_evaluated(at_middles(study.evaluator), points)]
    for end in ends:
        try:
            other = rewritten(study, {**study.content, "inputs": {**inputs, "clock": end}})
            mine, own = study.evaluator.space.variables, other.evaluator.space.variables
            same = {n: own[n].from_unit(mine[n].to_unit(v)) for n, v in points.items()}
            parts.append(_evaluated(at_middles(other.evaluator), same))
        except (InputError, ModelError):
            return None
    values, holds = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(holds)


def _check(
    evaluator: Evaluator,
    ranged: tuple[Stated, tuple[float, float], str],
    moved: _Moved,
    kept: int | None,
) -> Check:
    """Return what moving a figure did."""
    (figure, ends, told), (values, holds) = ranged, moved
    fronts = [np.flatnonzero(rows) for rows in holds]
    points = values * evaluator.signs
    fronts = [rows[is_nondominated(points[k, rows])] for k, rows in enumerate(fronts)]
    before = points[0, fronts[0]]
    shares = [distance(before, points[k, fronts[k]]) for k in (1, 2)]
    worse = 1 + int(np.argmax(shares))
    changed = np.abs(change(values[0, fronts[0]], values[worse, fronts[0]]))
    sizes = np.nan_to_num(changed, nan=1.0).mean(axis=0) if len(fronts[0]) else np.zeros(1)
    most = int(np.argmax(sizes))
    objective = evaluator.objectives[most].name if sizes[most] > 0 else ""
    overturns: tuple[float, ...] = ()
    if kept is not None and kept in fronts[0]:
        overturns = tuple(end for k, end in enumerate(ends, 1) if kept not in fronts[k])
    return Check(figure, ends, told, max(shares), objective, overturns)
