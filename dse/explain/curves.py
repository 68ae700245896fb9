"""Curves: quantities of a design along an input, and the best of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.model.quantity import Array
from dse.study.resolve.plots import CurvePlan
from dse.study.study import ResolvedStudy

Better: TypeAlias = Literal["lower", "higher"] | None


@dataclass(frozen=True)
class Line:
    """One quantity along a curve's axis.

    Parameters
    ----------
    quantity, unit, about : str
        The quantity.
    values : ndarray, shape (points,)
        Along the axis.
    low, high : ndarray or None, shape (points,)
        An interval around it, if models give ``<quantity>_low`` and ``<quantity>_high``.
    better : {"lower", "higher", None}
        Which way is better: as the objectives of the quantity say, else as it declares.
    """

    quantity: str
    unit: str
    about: str
    values: Array
    low: Array | None
    high: Array | None
    better: Better = None


@dataclass(frozen=True)
class Curve:
    """Quantities of one design along an axis, as the study's ``[[curve]]`` lists them.

    Parameters
    ----------
    name, axis, axis_unit, axis_about : str
        The title, and the swept input.
    here : float
        The design's own place on the axis; NaN if it has none.
    grid : ndarray, shape (points,)
        The axis, ascending.
    log : bool
        Whether the axis is better drawn in the logarithm.
    lines : tuple of Line
        The quantities.
    """

    name: str
    axis: str
    axis_unit: str
    axis_about: str
    here: float
    grid: Array
    log: bool
    lines: tuple[Line, ...]


class Best(NamedTuple):
    """Where a line is best.

    Attributes
    ----------
    quantity, unit : str
        The quantity.
    word : str
        ``"least"``, ``"greatest"``, or "" if neither way is better.
    value, at : float
        The best finite value [unit] and its point on the axis; NaN if no value is finite, or
        neither way is better.
    here : float
        The value at the design [unit]; NaN if it has no place on the axis.
    edge : bool
        Whether the point is an end of the axis: a better one may be outside.
    """

    quantity: str
    unit: str
    word: str
    value: float
    at: float
    here: float
    edge: bool


def draw_curves(study: ResolvedStudy, one: Mapping[str, float]) -> tuple[Curve, ...]:
    """Return the curves of a design given by the quantities that the space sets."""
    return tuple(_curve(study, plan, one) for plan in study.curves)


def _curve(study: ResolvedStudy, plan: CurvePlan, one: Mapping[str, float]) -> Curve:
    wiring = study.evaluator.wiring
    here = float(one.get(plan.axis, wiring.constants.get(plan.axis, np.nan)))
    grid = plan.grid
    if grid[0] <= here <= grid[-1]:
        grid = np.union1d(grid, here)  # so that the design itself has values on the curve
    columns = {n: np.asarray(v) for n, v in one.items()} | {plan.axis: grid}
    names = [
        (q, f"{q}_low", f"{q}_high")
        if f"{q}_low" in wiring.producers and f"{q}_high" in wiring.producers
        else (q,)
        for q in plan.quantities
    ]
    flat = [(name, plan.conditions) for group in names for name in group]
    answers = iter(wiring.evaluate(flat, columns))
    lines = []
    for group in names:
        drawn = [_along(next(answers), grid) for _ in group]
        declared = wiring.quantities[group[0]]
        low, high = (drawn[1], drawn[2]) if len(drawn) == 3 else (None, None)
        better = _better(study.evaluator, group[0])
        lines.append(Line(group[0], declared.unit, declared.about, drawn[0], low, high, better))
    axis = wiring.quantities[plan.axis]
    return Curve(plan.name, plan.axis, axis.unit, axis.about, here, grid, plan.log, tuple(lines))


def _along(values: Any, grid: Array) -> Array:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), grid.shape)


def _better(evaluator: Evaluator, quantity: str) -> Better:
    """Return which way a quantity is better; None if nothing says, or objectives disagree."""
    ways = {o.direction for o in evaluator.objectives if o.quantity == quantity}
    if len(ways) == 1:
        return "lower" if ways == {"minimize"} else "higher"
    return None if ways else evaluator.wiring.quantities[quantity].better


def find_best_point(curve: Curve, line: Line) -> Best:
    """Return the best finite value of a line among the points drawn, and the design's own."""
    here = np.flatnonzero(curve.grid == curve.here)
    now = float(line.values[here[0]]) if here.size else np.nan
    word = {"lower": "least", "higher": "greatest", None: ""}[line.better]
    finite = np.isfinite(line.values)
    if not word or not finite.any():
        return Best(line.quantity, line.unit, word, np.nan, np.nan, now, False)
    sign = 1.0 if line.better == "lower" else -1.0
    row = int(np.argmin(np.where(finite, sign * line.values, np.inf)))
    edge = row in (0, len(curve.grid) - 1)
    value, at = float(line.values[row]), float(curve.grid[row])
    return Best(line.quantity, line.unit, word, value, at, now, edge)
