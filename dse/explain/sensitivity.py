"""Sensitivities: which inputs may be improved, how far, and by which factor that helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.space import SUBSET, Choice, Space
from dse.model.quantity import Array, Floats, Quantity
from dse.model.units import conversion_factor as conversion
from dse.model.values import show
from dse.study.schema import BottleneckTable

VARIABLE, STUDY = "variable", "study"
"""Who sets an input, if it is not the selected entry of a variable."""


@dataclass(frozen=True)
class Sensitivity:
    """The effect of improving one input, alone, on one objective of one design.

    It is no advice: no design and no catalog entry needs to have the improved value.
    """

    objective: str
    input: str
    symbol: str
    unit: str
    value: float
    improved: float
    before: float  # of the objective
    after: float
    gain: float  # the factor by which the objective gets better
    bottleneck: bool  # whether the gain reaches the threshold
    shown: tuple[str, str]  # both values of the input, rounded to stay in its domain
    set_by: str = STUDY  # VARIABLE, STUDY, or such as "selected engine"

    @property
    def label(self) -> str:
        """The input with its symbol."""
        return f"{self.input} ({self.symbol})" if self.symbol != self.input else self.input

    @property
    def gain_text(self) -> str:
        """The gain in words."""
        if np.isfinite(self.gain):
            return f"{self.gain:.3g}×"
        if np.isnan(self.gain):
            return "undefined"
        return "now possible" if self.after else "down to nothing"


def find_sensitivities(
    evaluator: Evaluator, rule: BottleneckTable, columns: Mapping[str, Array], before: Array
) -> list[tuple[Sensitivity, ...]]:
    """Return every improvable input against every objective, the best gain first.

    The inputs of variables come first, then of selected entries, then of the study. The gain is NaN
    if a model raises for the improved input: only designs of the space are promised to work.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (designs,)
        The quantities that the space sets.
    before : ndarray, shape (designs, objectives)
        The objectives as they are.
    """
    count = len(before)
    model_graph, owners = evaluator.model_graph, evaluator.space.quantities()
    values = {
        name: np.broadcast_to(
            columns[name] if name in columns else model_graph.constants[name], count
        )
        for name in improvable_inputs(evaluator)
        if name in columns or name in model_graph.constants
    }
    improved = {
        name: improve_input(model_graph, name, value, rule.factor, columns)
        for name, value in values.items()
    }
    outside = ignore_errors(evaluator)  # an improved input may be outside the space
    runs = outside.objective_runs(columns, count)
    after = {  # only the models downstream of the input run again
        name: outside.objective_values(
            {**columns, name: better}, count, model_graph.unmoved(runs, name)
        )
        for name, better in improved.items()
    }
    items: list[list[Sensitivity]] = [[] for _ in range(count)]
    for name, better in improved.items():
        quantity = common_domain(model_graph, name)
        set_by = _set_by(evaluator.space, owners.get(name, ""))
        for row in range(count):
            ends = float(values[name][row]), float(better[row])
            shown = (show(ends[0], quantity.unit, quantity), show(ends[1], quantity.unit, quantity))
            for i, objective in enumerate(evaluator.objectives):
                pair = float(before[row, i]), float(after[name][row, i])
                gain = float(gain_factor(objective, *pair))
                bottleneck = gain >= 1.0 + rule.threshold
                items[row].append(
                    Sensitivity(
                        objective.name, name, quantity.symbol or name, quantity.unit, *ends, *pair,
                        gain, bottleneck, shown, set_by,
                    )
                )  # fmt: skip

    def order(item: Sensitivity) -> tuple[bool, bool, float]:
        gain = np.inf if np.isnan(item.gain) else -item.gain
        return item.set_by == STUDY, item.set_by != VARIABLE, gain

    return [tuple(sorted(mine, key=order)) for mine in items]


def _set_by(space: Space, owner: str) -> str:
    """Return who sets an input, by the variable that sets it; "" if none does."""
    if not owner:
        return STUDY
    variable = space.variables[owner]
    is_entry = isinstance(variable, Choice) and variable.about != SUBSET
    return f"selected {owner}" if is_entry else VARIABLE


def improvable_inputs(evaluator: Evaluator) -> dict[str, Quantity]:
    """Return the inputs that objectives depend on and that declare which way is better.

    Those whose symbols the objectives' own models take come first, in that order: o, L, C, A.
    Each has the domain in which all models that take it in its unit are defined.
    """
    model_graph = evaluator.model_graph
    used: dict[str, None] = {}
    symbols: dict[str, None] = {}
    for objective in evaluator.objectives:
        used |= dict.fromkeys(model_graph.needs([objective.quantity], objective.conditions).names)
        if objective.quantity in model_graph.producers:
            inputs = model_graph.producers[objective.quantity].inputs.values()
            symbols |= dict.fromkeys(q.symbol for q in inputs if isinstance(q, Quantity))
    order = {symbol: i for i, symbol in enumerate(symbols) if symbol}
    found = {
        name: common_domain(model_graph, name)
        for name in used
        if name in model_graph.quantities
        and name not in model_graph.producers
        and model_graph.quantities[name].better is not None
    }
    ranked = sorted(found, key=lambda name: order.get(found[name].symbol, len(order)))
    return {name: found[name] for name in ranked}


def common_domain(model_graph: ModelGraph, name: str) -> Quantity:
    """Return an input's declaration, with the domain that all models of its unit share."""
    held = model_graph.quantities[name]
    every = [held] + [q for q in _declarations(model_graph, name) if q.unit == held.unit]
    return replace(
        held,
        low=max(q.low for q in every),
        high=min(q.high for q in every),
        above=max(q.above for q in every),
        below=min(q.below for q in every),
        integer=any(q.integer for q in every),
        typical=None,
    )


def _declarations(model_graph: ModelGraph, name: str) -> Iterator[Quantity]:
    for model in model_graph.models:
        declared = model.inputs.get(name)
        if isinstance(declared, Quantity):
            yield declared


def improve_input(
    model_graph: ModelGraph, name: str, values: Array, factor: float, columns: Mapping[str, Any]
) -> Array:
    """Return an input improved by a factor, within the domain of every model that takes it.

    A model may take it in another unit; if it is not defined there, the value stays as it is.
    """
    quantity = common_domain(model_graph, name)
    better = improve_values(quantity, values, factor)
    for other in _declarations(model_graph, name):
        if other.unit != quantity.unit:
            scale, power = conversion(quantity.unit, other.unit)
            clock = (
                columns.get("clock", model_graph.constants.get("clock", np.nan)) if power else 1.0
            )
            taken = better * scale * np.asarray(clock, dtype=np.float64) ** power
            better = np.where(other.contains(taken), better, values)
    return better


def improve_values(quantity: Quantity, values: Any, factor: float) -> Array:
    """Return values improved by a factor, within the domain.

    Towards a finite bound that is open, the *distance to it* is divided by the factor: of an
    overlap in [0, 1), 0.75 becomes 0.975, and a tenth stays exposed. Otherwise the value itself is
    multiplied or divided, up to a bound that is closed.
    """
    x = np.asarray(values, dtype=np.float64)
    lower = quantity.better == "lower"
    is_open = quantity.above >= quantity.low if lower else quantity.below <= quantity.high
    bound = quantity.above if lower else quantity.below
    if is_open and np.isfinite(bound) and not quantity.integer:
        better = bound + (x - bound) / factor
    else:
        better = x / factor if lower else x * factor
    if quantity.integer:
        better = np.round(better)
    better = quantity.clip(better)
    onwards = better <= x if lower else better >= x
    return np.where(quantity.contains(better) & onwards, better, x)


def gain_factor(objective: Objective, before: Floats, after: Floats) -> Array:
    """Return the factor by which an objective got better; 1 if it did not change.

    The ratio of the values if neither is negative (inf for what becomes 0 or ceases to be inf);
    else 1 plus the change as a fraction of the value before.
    """
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    with np.errstate(all="ignore"):
        ratio = b / a if objective.direction == "minimize" else a / b
        share = 1.0 + (b - a) * objective.sign / np.abs(b)
        factor = np.where((a >= 0) & (b >= 0), ratio, share)
    return np.where(a == b, 1.0, factor)
