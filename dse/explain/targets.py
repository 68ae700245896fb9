"""Obstacles: what keeps a target from being reached, seen from the design that comes nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Choice, Points
from dse.evaluate.table import TableSpace
from dse.evaluate.target import Bound, Target
from dse.explain.benefit import paying
from dse.explain.wording import build_of
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import listed, number, worded
from dse.result.reaching import answered
from dse.result.record import Result
from dse.result.target import Best, TargetAnswer
from dse.study.study import ResolvedStudy

_VALUES = 241  # of a variable that has more, so many that are spread evenly
_TOLD = 3  # obstacles that are told


def answer(study: ResolvedStudy, result: Result) -> TargetAnswer | None:
    """Return what a result says to its study's target, with what stands in the way of it."""
    if study.target is None:
        return None
    found = answered(result, study.target)
    named = dict.fromkeys(each.design for each in (*found.best, *found.nearest))
    told = [f"Design {number}: {built(study.evaluator, result, number)}." for number in named]
    at = 1 + len(found.best or found.nearest)
    words = (*found.words[:at], *told, *found.words[at:])
    if found.nearest:
        words += tuple(obstacles(study.evaluator, result, study.target, found.nearest[0]))
    return replace(found, words=words)


def built(evaluator: Evaluator, result: Result, number: int) -> str:
    """Return what a kept design is: every variable."""
    values = {str(n): v for n, v in result.designs.loc[number].items()}
    names = [name for name in evaluator.space.variables if name in values]
    return build_of(evaluator.space, evaluator.wiring.quantities, values, names)


def obstacles(evaluator: Evaluator, result: Result, target: Target, best: Best) -> list[str]:
    """Say what stands in the way of a target: constraints that cut, and variables at their ends.

    Each variable is moved through its values alone, the others as in the design. Of a table, all
    rows are looked at.

    Parameters
    ----------
    evaluator : Evaluator
        Of the study.
    result : Result
        Its result.
    target : Target
        What is not reached.
    best : Best
        The objective that comes nearest, and the design that has it.
    """
    evaluator = ignore_errors(evaluator)
    space = evaluator.space
    if isinstance(space, TableSpace):
        rows = np.arange(space.size)
        points = space.from_index(rows)
        labels = [f"design {row}" for row in rows]
        return _cuts(evaluator, evaluator.evaluate(points), labels, target, best)
    row = result.designs.loc[[best.design]]
    design = space.from_labels({name: row[name].to_numpy() for name in space.variables})
    points, moved = _around(evaluator, design)
    judged = evaluator.evaluate(points)
    labels = list(_labels(evaluator, points, moved))
    found = _cuts(evaluator, judged, labels, target, best)
    found += _ends(evaluator, design, points, moved, judged, best)
    if found:
        return found
    word = "more" if best.word == "most" else "less"
    return [
        f"No variable, changed alone, gives {word} {best.objective}, whatever the constraints: "
        "what decides is not in the space."
    ]


def _around(evaluator: Evaluator, design: Points) -> tuple[Points, list[str]]:
    """Return the designs that differ from one in a variable, and in which."""
    moved: list[str] = []
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in design}
    for name, variable in evaluator.space.variables.items():
        count = variable.count
        if count is None or count > _VALUES:
            values = np.unique(variable.from_unit(np.linspace(0.0, 1.0, _VALUES)))
            values = np.union1d(values, design[name])
        else:
            values = np.asarray(variable.levels())
        moved += [name] * len(values)
        for other, column in columns.items():
            column.append(values if other == name else np.repeat(design[other], len(values)))
    return {name: np.concatenate(each) for name, each in columns.items()}, moved


def _labels(evaluator: Evaluator, points: Points, moved: list[str]) -> Iterator[str]:
    labels, quantities = evaluator.space.labels(points), evaluator.wiring.quantities
    for row, name in enumerate(moved):
        value = labels[name][row]
        text = value if isinstance(value, str) else amount(float(value), quantities[name].unit)
        yield f"{name} = {text}"


def _signed(evaluator: Evaluator, judged: Evaluated, best: Best) -> tuple[Array, float]:
    """Return an objective so that less is better, of designs and the best one."""
    (index,) = (i for i, o in enumerate(evaluator.objectives) if o.name == best.objective)
    sign = evaluator.objectives[index].sign
    return judged.objectives[:, index] * sign, best.value * sign


def _cuts(
    evaluator: Evaluator, judged: Evaluated, labels: list[str], target: Target, best: Best
) -> list[str]:
    """Return for each set of constraints that cut better designs the best of these."""
    values, here = _signed(evaluator, judged, best)
    names = [o.name for o in evaluator.objectives]
    broken = ~(evaluator.violations(judged.constrained) <= 0)
    whats = [constraint.name for constraint in evaluator.constraints]
    for bound in target.bounds:
        if bound.objective != best.objective:
            reached = bound.reached(judged.objectives[:, names.index(bound.objective)])
            broken = np.column_stack([broken, ~reached])
            whats.append(bound.text)
    found: dict[tuple[str, ...], str] = {}
    better = np.flatnonzero((values < here) & broken.any(axis=1))
    worth = better[paying(evaluator, judged.objectives[better])]
    if len(better) and not len(worth):
        word = "more" if best.word == "most" else "less"
        breaks = " and ".join(np.array(whats)[broken[better].any(axis=0)].tolist())
        return [
            f"What has {word} {best.objective} breaks {breaks}, and would not be worth building."
        ]
    for row in worth[np.argsort(values[worth], kind="stable")]:
        cut = tuple(what for what, is_broken in zip(whats, broken[row], strict=True) if is_broken)
        if cut not in found:
            value = amount(float(judged.objectives[row, names.index(best.objective)]), best.unit)
            given = f"{best.objective} = {value}"
            gives = "" if labels[row] == given else f" gives {best.objective} {value}, but"
            found[cut] = f"{labels[row]}{gives} breaks {' and '.join(cut)}."
    return list(found.values())[:_TOLD]


def _ends(
    evaluator: Evaluator,
    design: Points,
    points: Points,
    moved: list[str],
    judged: Evaluated,
    best: Best,
) -> list[str]:
    """Return the variables at an end of their range towards which the objective gets better."""
    values, here = _signed(evaluator, judged, best)
    found = []
    for name, variable in evaluator.space.variables.items():
        rows = np.flatnonzero(np.array(moved) == name)
        if isinstance(variable, Choice) or len(rows) < 2:
            continue
        x = points[name][rows]
        order = rows[np.argsort(x, kind="stable")]
        for end, inside, word in ((-1, -2, "greatest"), (0, 1, "least")):
            at = points[name][order[end]]
            if at == design[name][0] and values[order[inside]] > here:
                told = amount(float(at), evaluator.wiring.quantities[name].unit)
                found.append(f"{name} is at its {word} value in the space, {told}.")
    return found[:_TOLD]


_CLOSE = 8  # digits of what misses a target by little


def reach_words(evaluator: Evaluator, target: Target | None, values: Array) -> str:
    """Return whether a feasible design reaches a target, and if not, what it has instead.

    Parameters
    ----------
    target : Target or None
        Empty words if it is None.
    values : ndarray, shape (objectives,)
        Signs as they are.
    """
    if target is None:
        return ""
    has = dict(zip((o.name for o in evaluator.objectives), values.tolist(), strict=True))
    missed = [bound for bound in target.bounds if not bound.reached(has[bound.objective])]
    if not missed:
        return f"it reaches the target, {target.reach}"
    told = {f"{worded(b.objective)} is {_beside(has[b.objective], b)}": None for b in missed}
    return f"it misses the target, {target.reach}: its {listed(told)}"


def _beside(value: float, bound: Bound) -> str:
    """Return what misses a bound, in more digits if it looks as if it did not."""
    told = amount(value, bound.unit)
    if told != amount(bound.value, bound.unit):
        return told
    shown = number(value, _CLOSE)
    return f"{shown} {bound.unit}" if bound.unit != "1" else shown
