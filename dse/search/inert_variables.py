"""Inert variables: a model takes them, and they change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.table_space import TableSpace
from dse.evaluate.wiring import ModelError
from dse.model.quantity import Array
from dse.model.values import plural
from dse.search.outcome import Outcome

_SAMPLED = 64  # designs
_POSITIONS = (0.0, 0.5, float(np.nextafter(1.0, 0.0)))


def find_inert_variables(evaluator: Evaluator, outcome: Outcome) -> list[str]:
    """Return a note for each variable that changes nothing, though a model takes it.

    Up to 64 of the kept designs are evaluated with the variable at both bounds of its range and in
    its middle.
    """
    if isinstance(evaluator.space, TableSpace):
        return []  # between the rows of a table there is nothing
    rows = np.unique(np.linspace(0, len(outcome.numbers) - 1, _SAMPLED).astype(int))
    unit = evaluator.space.to_unit({n: v[rows] for n, v in outcome.points.items()})
    notes = []
    names = [n for n, variable in evaluator.space.variables.items() if variable.count != 1]
    for name, flat in _count_unchanged(evaluator, unit, names).items():
        if isinstance(flat, ModelError):  # the result stands
            notes.append(f"space.{name} was not tested for an effect: {flat}")
        elif flat:
            notes.append(
                f"space.{name} changed no objective and no constraint in "
                f"{plural(flat, 'sampled design')}: it may have no effect in this range"
            )
    return notes


def _count_unchanged(
    evaluator: Evaluator, unit: Array, names: Sequence[str]
) -> dict[str, int | ModelError]:
    """Return for each variable in how many designs it has no effect, or the error of a model.

    0 if it changes something. All at once, for models on few designs take as long as on many; each
    alone if one raises, and then without the objectives of designs that constraints exclude: there
    a model may raise that the search did not ask.

    Parameters
    ----------
    unit : ndarray, shape (designs, variables)
        Points of the unit cube in which a variable is moved.
    """
    places = list(evaluator.space.variables)
    moved = []
    for name in names:
        for position in _POSITIONS:
            moved.append(unit.copy())
            moved[-1][:, places.index(name)] = position
    if not moved:
        return {}
    try:
        found = evaluator.evaluate(evaluator.space.from_unit(np.concatenate(moved)))
    except ModelError as error:
        if len(names) == 1 and evaluator.screens:
            return {names[0]: error}
        evaluator = replace(evaluator, screens=len(names) == 1)
        return {
            k: v for name in names for k, v in _count_unchanged(evaluator, unit, [name]).items()
        }
    values = np.concatenate([found.objectives, found.constrained], axis=1)
    each = values.reshape(len(names), len(_POSITIONS), len(unit), -1)
    excluded = (evaluator.violations(found.constrained) > 0).any(axis=1)
    asked = ~(excluded & evaluator.screens)
    counts = asked.reshape(len(names), len(_POSITIONS), len(unit))[:, 0].sum(axis=1)
    return {
        name: int(count)
        if np.array_equal(at[1:], np.broadcast_to(at[0], at[1:].shape), equal_nan=True)
        else 0
        for name, at, count in zip(names, each, counts, strict=True)
    }
