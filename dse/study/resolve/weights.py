"""Weights: how much each scenario of an objective counts in its mean."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dse.evaluate.conditions import Conditions, chosen
from dse.model.values import plural
from dse.problems import nearest
from dse.study.resolve.context import Context
from dse.study.schema import ObjectiveTable


def read_weights(
    ctx: Context, where: str, table: ObjectiveTable, scenarios: Conditions
) -> tuple[Conditions, tuple[float, ...]]:
    """Read ``weights``: a list, one number a scenario, or for each input of ``over`` a list.

    Of lists by input, a scenario's weight is the product; an input without one weighs its values
    alike. Scenarios of weight 0 are left out: they count for nothing, whatever they give.

    Parameters
    ----------
    where : str
        The objective's place in the file.
    scenarios : mapping of str to tuple of float
        Every combination of the values of ``over``; empty if there are too many.

    Returns
    -------
    tuple
        The scenarios that count, and their weights; no weights if there is a problem.
    """
    before = len(ctx.problems)
    _check(ctx, f"{where}.weights", table)
    if len(ctx.problems) > before or not scenarios:
        return scenarios, ()
    weights = np.array(_weights(table))
    if any(isinstance(v, tuple) and len(v) != len(weights) for v in scenarios.values()):
        return scenarios, ()  # a value cannot be read, which is told
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not weights.any():
        ctx.add(f"{where}.weights", "are all 0", "at least one must be above 0")
    elif not math.isfinite(total):
        remedy = "only their ratios matter: give smaller ones"
        ctx.add(f"{where}.weights", "have too large a sum", remedy)
    some = [int(k) for k in np.flatnonzero(weights)]
    return chosen(scenarios, some), tuple(weights[some].tolist())


def _weights(table: ObjectiveTable) -> list[float]:
    if not isinstance(table.weights, dict):
        return [float(weight) for weight in table.weights]
    each = [table.weights.get(name, [1] * len(values)) for name, values in table.over.items()]
    return [float(math.prod(row)) for row in itertools.product(*each)]


def _check(ctx: Context, place: str, table: ObjectiveTable) -> None:
    """Require as many weights as there are scenarios, or values of each input."""
    over = table.over
    if not isinstance(table.weights, dict):
        count, given = math.prod(len(values) for values in over.values()), len(table.weights)
        if given != count:
            several = len(over) > 1
            remedy = "give one a scenario" + (
                f": each combination of {' and '.join(over)} is one, and the values of the last "
                "change first; or give a list for each" * several
            )
            ctx.add(place, f"has {plural(given, 'number')} for {plural(count, 'scenario')}", remedy)
        return
    for name, weights in table.weights.items():
        if name not in over:
            message = f"'{name}' is not an input of over"
            ctx.add(f"{place}.{name}", message, nearest(name, over))
        elif len(weights) != len(over[name]):
            values = plural(len(over[name]), "value")
            message = f"has {plural(len(weights), 'number')} for {values}"
            ctx.add(f"{place}.{name}", message, "give one a value")
