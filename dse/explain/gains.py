"""Gains: which inputs may be improved, what improving one gives, and by which factor that helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.model.quantity import Array, Floats, Quantity


def improvable(evaluator: Evaluator) -> dict[str, Quantity]:
    """Return the inputs that objectives depend on and that declare which way is better.

    Those whose symbols the objectives' own models take come first, in that order: o, L, C, A.
    """
    wiring = evaluator.wiring
    used: dict[str, None] = {}
    symbols: dict[str, None] = {}
    for objective in evaluator.objectives:
        used |= dict.fromkeys(wiring.needs([objective.quantity], objective.conditions).names)
        if objective.quantity in wiring.producers:
            inputs = wiring.producers[objective.quantity].inputs.values()
            symbols |= dict.fromkeys(q.symbol for q in inputs if isinstance(q, Quantity))
    order = {symbol: i for i, symbol in enumerate(symbols) if symbol}
    found = {
        name: wiring.quantities[name]
        for name in used
        if name in wiring.quantities
        and name not in wiring.producers
        and wiring.quantities[name].better is not None
    }
    ranked = sorted(found, key=lambda name: order.get(found[name].symbol, len(order)))
    return {name: found[name] for name in ranked}


def improve(quantity: Quantity, values: Any, factor: float) -> Array:
    """Return values improved by a factor, as far as the domain goes."""
    x = np.asarray(values, dtype=np.float64)
    better = x / factor if quantity.better == "lower" else x * factor
    if quantity.integer:
        better = np.round(better)
    better = quantity.clip(better)
    return np.where(quantity.contains(better), better, x)


def gain(objective: Objective, before: Floats, after: Floats) -> Array:
    """Return the factor by which an objective got better; 1 where it did not change.

    The ratio of the values where neither is negative (inf for what becomes 0 or ceases to be inf);
    else 1 and the change as a share of the value before.
    """
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    with np.errstate(all="ignore"):
        ratio = b / a if objective.direction == "minimize" else a / b
        share = 1.0 + (b - a) * objective.sign / np.abs(b)
        factor = np.where((a >= 0) & (b >= 0), ratio, share)
    return np.where(a == b, 1.0, factor)
