"""Drawing quantities of designs along an input: the numbers behind the study's curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.explain.explanation import Curve, Line
from dse.model.quantity import Array
from dse.study.resolve.curves import CurvePlan
from dse.study.study import ResolvedStudy


def curves_of(study: ResolvedStudy, one: Mapping[str, float]) -> tuple[Curve, ...]:
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
        lines.append(Line(group[0], declared.unit, declared.about, drawn[0], low, high))
    axis = wiring.quantities[plan.axis]
    return Curve(plan.name, plan.axis, axis.unit, axis.about, here, grid, plan.log, tuple(lines))


def _along(values: Any, grid: Array) -> Array:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), grid.shape)
