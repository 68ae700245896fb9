"""The outcome of a search: the designs that are kept, and the counts over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import Archive, FrontBuilder, hypervolume, scaled
from dse.evaluate.space import Points
from dse.search.exhaustive import State
from dse.search.tally import Tally

SAMPLE = 2_000
"""Designs of an exhaustive run that are kept beside the front, to draw what lies behind it."""


@dataclass(frozen=True)
class Outcome:
    """What a search found.

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
        Counts over all that were evaluated.
    convergence : DataFrame
        ``evaluations``, ``front``, ``hypervolume`` (share of the final one) as the search went.
    """

    numbers: NDArray[np.int64]
    points: Points
    judged: Evaluated
    on_front: NDArray[np.bool_]
    tally: Tally
    convergence: pd.DataFrame


def of_enumeration(evaluator: Evaluator, state: State) -> Outcome:
    """Keep the front and an even sample of the enumerated designs."""
    sample = np.unique(np.linspace(0, max(state.done - 1, 0), min(SAMPLE, state.done)).astype(int))
    numbers = np.union1d(state.archive.index, sample)
    points = evaluator.space.from_index(numbers)
    judged = evaluator.evaluate(points)
    on_front = np.isin(numbers, state.archive.index)
    return Outcome(numbers, points, judged, on_front, state.tally, _no_convergence())


def of_sample(evaluator: Evaluator, points: Points, judged: Evaluated) -> Outcome:
    """Keep all evaluated designs; a design that was drawn twice counts once on the front."""
    numbers = np.arange(len(judged.feasible))
    stream = FrontBuilder(len(evaluator.objectives))
    first = _first_of_equals(points) & judged.feasible
    stream.add(numbers[first], (judged.objectives * evaluator.signs)[first])
    archive = stream.archive()
    return Outcome(
        numbers,
        points,
        judged,
        np.isin(numbers, archive.index),
        Tally.of(numbers, judged, evaluator.constraints),
        _convergence(evaluator, judged, archive),
    )


def _first_of_equals(points: Points) -> NDArray[np.bool_]:
    table = np.column_stack([np.asarray(v, dtype=np.float64) for v in points.values()])
    first = np.zeros(len(table), dtype=bool)
    first[np.unique(table, axis=0, return_index=True)[1]] = True
    return first


def _no_convergence() -> pd.DataFrame:
    return pd.DataFrame({"evaluations": [], "front": [], "hypervolume": []})


def _convergence(evaluator: Evaluator, judged: Evaluated, archive: Archive) -> pd.DataFrame:
    """Return how front and hypervolume grew, in the cube that the final front spans."""
    if len(archive.index) == 0:
        return _no_convergence()
    signs = evaluator.signs
    everything = judged.objectives * signs
    _, logs = scaled(archive.points, signs)
    low, high = _bounds(archive.points, logs, signs)
    reference = np.full(len(signs), 1.1)
    stream = FrontBuilder(len(signs))
    rows = []
    marks = np.unique(np.geomspace(1, len(everything), 40).round().astype(int))
    for start, stop in zip([0, *marks[:-1]], marks, strict=True):
        rows_in = np.arange(start, stop)[judged.feasible[start:stop]]
        stream.add(rows_in, everything[rows_in])
        points = stream.archive().points
        unit = (_shown(points, logs, signs) - low) / np.where(high > low, high - low, 1.0)
        rows.append((stop, len(points), hypervolume(np.maximum(unit, 0.0), reference)))
    table = pd.DataFrame(rows, columns=["evaluations", "front", "hypervolume"])
    final = table["hypervolume"].iloc[-1]
    table["hypervolume"] = table["hypervolume"] / final if final > 0 else 0.0
    return table


def _shown(
    points: NDArray[np.float64], logs: NDArray[np.bool_], signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.where(logs, signs * np.log(np.maximum(points * signs, 1e-300)), points)


def _bounds(
    points: NDArray[np.float64], logs: NDArray[np.bool_], signs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shown = _shown(points, logs, signs)
    finite = np.where(np.isfinite(shown), shown, np.nan)
    none = np.isnan(finite).all(axis=0)
    finite[:, none] = 0.0
    return np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
