"""Targets: which designs meet one, and the obstacles of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.front import find_nash_design
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table_space import TableSpace
from dse.evaluate.target import (
    EXAMPLE,
    Bound,
    Target,
    bound_requires_better,
    find_bounded_objective,
    read_bound,
    read_target,
)
from dse.explain.benefit import are_beneficial
from dse.explain.changes import (
    Neighbours,
    describe_design,
    describe_sampling,
    find_neighbours,
    limit_values,
)
from dse.model.grammar import GrammarError
from dse.model.quantity import Array, Quantity
from dse.model.relation import Relation
from dse.model.units import UnitError
from dse.model.values import show_amount, show_number, show_tolerance, word_name
from dse.problems import InputError, Problem, nearest
from dse.result.record import Best, Certificate, Front, Result, TargetAnswer
from dse.search.outcome import count_distinct
from dse.study.study import ResolvedStudy

_OBSTACLES = 3  # obstacles that are listed
_ELSEWHERE = "write it under [target] in the study, or pick from the front with where(...)"
_DIGITS = 8  # digits of a value that misses a target by little


# The answer to a target ----------------------------------------------------------------------


def answer_target(study: ResolvedStudy, result: Result) -> TargetAnswer | None:
    """Return the answer of a result to its study's target, with its obstacles."""
    target, front, evaluator = study.target, result.front, study.evaluator
    if target is None:
        return None
    reached = meets_bounds(front.objectives, front.points * front.signs, target.bounds)
    numbers = tuple(front.designs.index[reached].tolist())
    best, nearest = tuple[Best, ...](), tuple[Best, ...]()
    if numbers:
        best = tuple(_best(front, o, reached) for o in free_objectives(result, target))
    elif len(front):
        nearest = tuple(_nearest(front, target.bounds))
    words = _words(evaluator, result, target, len(numbers), best or nearest)
    if nearest:
        words += _obstacles(evaluator, result, target, nearest[0])
    return TargetAnswer(target.reach, target.least, numbers, best, nearest, tuple(words))


def design_values(result: Result, number: int) -> dict[str, Any]:
    """Return the values of a kept design by column."""
    return {str(name): value for name, value in result.designs.loc[number].items()}


def _obstacles(evaluator: Evaluator, result: Result, target: Target, best: Best) -> list[str]:
    """Return the obstacles of a target: constraints, and variables at a bound.

    Each variable takes its values while the others are as in the design `best`; a text says if
    not all of them are evaluated. Of a table, all rows are looked at.
    """
    evaluator = ignore_errors(evaluator)
    space = evaluator.space
    if isinstance(space, TableSpace):
        rows = np.arange(space.size)
        points = space.from_index(rows)
        judged = evaluator.evaluate(points)
        return _constraint_obstacles(evaluator, judged, "design {}".format, target, best)
    row = result.designs.loc[[best.design]]
    design = space.from_labels({name: row[name].to_numpy() for name in space.variables})
    most = limit_values(result)
    near = find_neighbours(space, design, most)
    if len(near.of):
        judged = evaluator.evaluate(near.points)
        label = partial(_label, space, evaluator.model_graph.quantities, near)
        found = _constraint_obstacles(evaluator, judged, label, target, best)
        found += _bound_obstacles(evaluator, design, near, judged, best)
        if found:
            return found
    word = "more" if best.word == "most" else "less"
    return [
        f"No other value of one variable gives {word} {best.objective}, whatever the constraints "
        f"({describe_sampling(space, most)})."
    ]


def _label(space: Space, quantities: Mapping[str, Quantity], near: Neighbours, row: int) -> str:
    name = list(space.variables)[near.moved[row]]
    value = space.labels({n: values[[row]] for n, values in near.points.items()})[name][0]
    text = value if isinstance(value, str) else show_amount(float(value), quantities[name].unit)
    return f"{name} = {text}"


def _signed(evaluator: Evaluator, judged: Evaluated, best: Best) -> tuple[Array, float]:
    """Return an objective so that less is better, of designs and the best one."""
    (index,) = (i for i, o in enumerate(evaluator.objectives) if o.name == best.objective)
    sign = evaluator.objectives[index].sign
    return judged.objectives[:, index] * sign, best.value * sign


def _constraint_obstacles(
    evaluator: Evaluator,
    judged: Evaluated,
    label: Callable[[int], str],
    target: Target,
    best: Best,
) -> list[str]:
    """Return for each set of constraints that cut better designs the best of these.

    A better design that no constraint cuts is one that the search did not evaluate.
    """
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
    better = np.flatnonzero(values < here)
    worth = better[are_beneficial(evaluator, judged.objectives[better])]
    if len(better) and not len(worth):
        word = "more" if best.word == "most" else "less"
        breaks = " and ".join(np.array(whats)[broken[better].any(axis=0)].tolist()) or "nothing"
        return [
            f"The design with {word} {best.objective} breaks {breaks}, and would not be beneficial."
        ]
    for row in worth[np.argsort(values[worth], kind="stable")]:
        cut = tuple(what for what, is_broken in zip(whats, broken[row], strict=True) if is_broken)
        if cut not in found:
            value = show_amount(
                float(judged.objectives[row, names.index(best.objective)]), best.unit
            )
            given = f"{best.objective} = {value}"
            text = label(row)
            gives = "" if text == given else f" gives {best.objective} {value}, but"
            verdict = f"breaks {' and '.join(cut)}" if cut else "is not on the front"
            found[cut] = f"{text}{gives} {verdict}."
    return list(found.values())[:_OBSTACLES]


def _bound_obstacles(
    evaluator: Evaluator, design: Points, near: Neighbours, judged: Evaluated, best: Best
) -> list[str]:
    """Return the variables at an end of their range towards which the objective gets better."""
    values, here = _signed(evaluator, judged, best)
    found = []
    for k, (name, variable) in enumerate(evaluator.space.variables.items()):
        rows = np.flatnonzero(near.moved == k)
        if isinstance(variable, Choice) or not len(rows):
            continue
        own, others = design[name][0], near.points[name][rows]
        for next_row, is_end, word in (
            (rows[others.argmax()], own > others.max(), "greatest"),
            (rows[others.argmin()], own < others.min(), "least"),
        ):
            if is_end and values[next_row] > here:
                shown = show_amount(float(own), evaluator.model_graph.quantities[name].unit)
                found.append(f"{name} is at its {word} value in the space, {shown}.")
    return found[:_OBSTACLES]


# Designs that meet a target -------------------------------------------------------------------


def describe_target(evaluator: Evaluator, target: Target | None, values: Array) -> str:
    """Return whether a feasible design meets a target, with the values that miss it."""
    if target is None:
        return ""
    own = dict(zip((o.name for o in evaluator.objectives), values.tolist(), strict=True))
    misses = {
        f"{word_name(bound.objective)} {_distinct_amount(own[bound.objective], bound)}": None
        for bound in target.bounds
        if not bound.reached(own[bound.objective])
    }
    return f"{target.reach}: {'missed, ' + ', '.join(misses) if misses else 'met'}"


def _distinct_amount(value: float, bound: Bound) -> str:
    """Return a value that misses a bound, with more digits if both look equal."""
    shown = show_amount(value, bound.unit)
    if shown != show_amount(bound.value, bound.unit):
        return shown
    shown = show_number(value, _DIGITS)
    return f"{shown} {bound.unit}" if bound.unit != "1" else shown


def meets_bounds(
    objectives: Sequence[Objective], values: Array, bounds: Sequence[Bound]
) -> NDArray[np.bool_]:
    """Return which designs meet all bounds.

    `values` have the shape (designs, objectives), and their signs as they are.
    """
    names = [o.name for o in objectives]
    meets = np.ones(len(values), dtype=bool)
    for bound in bounds:
        meets &= bound.reached(values[:, names.index(bound.objective)])
    return meets


def find_meeting(front: Front, text: str) -> NDArray[np.bool_]:
    """Return which designs of a front meet a target.

    Raises
    ------
    InputError
        If the text is not a target, or a front cannot answer it: see `dse.evaluate.target`.
    """
    try:
        asked = read_target(str(text))
    except GrammarError as error:
        raise InputError(front.source.name, [Problem("target", str(error), EXAMPLE)]) from None
    clock = front.source.constants.get("clock", (None, ""))[0]
    bounds, problems = [], []
    for bound in asked:
        if isinstance(bound, Relation):
            message = (
                f"'{bound.text}' is not a bound of one objective, so the front cannot answer it"
            )
            problems.append(Problem("target", message, _ELSEWHERE))
            continue
        objective, wrong = find_bounded_objective(bound, front.objectives)
        if wrong is not None:
            problems.append(Problem("target", wrong.message, wrong.remedy))
        elif objective is None:
            near = nearest(bound.name, [o.name for o in front.objectives])
            message = f"'{bound.name}' is not an objective"
            remedy = f"{near}; a bound on another quantity belongs into the study's [target]"
            problems.append(Problem("target", message, remedy))
        elif not bound_requires_better(bound, objective):
            message = (
                f"'{bound.text}' does not ask for a better value, so the front cannot answer it"
            )
            problems.append(Problem("target", message, _ELSEWHERE))
        else:
            try:
                bounds.append(read_bound(bound, objective, clock))
            except UnitError as error:
                problems.append(Problem("target", f"'{bound.text}': {error}"))
    if problems:
        raise InputError(front.source.name, problems)
    return meets_bounds(front.objectives, front.points * front.signs, bounds)


def find_nearest(
    objectives: Sequence[Objective],
    points: Array,
    bounds: Sequence[Bound],
    allowed: NDArray[np.bool_],
) -> int:
    """Return the row of a front that comes nearest to some bounds.

    It is the design whose largest miss is smallest, as a fraction of the bound; for a bound of 0,
    in the bound's unit. Of equals, it is the one with the largest Nash product.

    `points`, of shape (designs, objectives), are signed: lower is better. If no design is
    `allowed`, all are.
    """
    names, missed = [o.name for o in objectives], np.zeros(len(points))
    for bound in bounds:
        position = names.index(bound.objective)
        values = points[:, position] * objectives[position].sign
        short = np.where(bound.reached(values), 0.0, np.abs(values - bound.value))
        missed = np.maximum(missed, short / (abs(bound.value) or 1.0))
    among = allowed if allowed.any() else np.ones(len(points), dtype=bool)
    return find_nash_design(points, objectives, among & (missed == missed[among].min()))


def find_best(
    objectives: Sequence[Objective],
    points: Array,
    objective: Objective,
    among: NDArray[np.bool_],
) -> tuple[int, int]:
    """Return the row of some designs that is best in an objective, and how many equal it.

    Of distinct equals, the one with the largest Nash product. `points` as for `find_nearest`; if no
    design is `among` them, all are.
    """
    values = points[:, [o.name for o in objectives].index(objective.name)]
    among = among if among.any() else np.ones(len(points), dtype=bool)
    equal = among & (values == values[among].min())
    return find_nash_design(points, objectives, equal), count_distinct(points[equal])


def free_objectives(result: Result, target: Target) -> list[Objective]:
    """Return the objectives to optimize among the designs that meet a target."""
    bounded = {bound.objective for bound in target.bounds}
    least = [o for o in result.objectives if o.name == target.least]
    return least or [o for o in result.objectives if o.name not in bounded]


def _best(front: Front, objective: Objective, among: NDArray[np.bool_]) -> Best:
    row, equal = find_best(front.objectives, front.points, objective, among)
    value = float(front.designs[objective.name].iloc[row])
    word = "least" if objective.sign > 0 else "most"
    number = int(front.designs.index[row])
    return Best(objective.name, objective.unit, word, value, number, equal)


def _nearest(front: Front, bounds: Sequence[Bound]) -> list[Best]:
    """Return the best value of each bounded objective, the other bounds kept if that can be."""
    by_name, values = {o.name: o for o in front.objectives}, front.points * front.signs
    kept = {
        b: meets_bounds(front.objectives, values, [other for other in bounds if other is not b])
        for b in bounds
    }
    among = {b: rows for b, rows in kept.items() if rows.any()}
    among = among or dict.fromkeys(bounds, np.ones(len(front), dtype=bool))
    return [_best(front, by_name[bound.objective], rows) for bound, rows in among.items()]


def _words(
    evaluator: Evaluator, result: Result, target: Target, count: int, named: Sequence[Best]
) -> list[str]:
    """Return the answer in sentences: how many designs meet the target, and the named ones."""
    if not len(result.front):
        return ["No design is on the front yet: none is known to reach it."]
    words = ["No design on the front reaches it."]
    if count:
        reach = "reaches" if count == 1 else "reach"
        words = [f"{count:,} of the {result.front.size} on the front {reach} it."]
    for best in named:
        others = [b.text for b in target.bounds if b.objective != best.objective and not count]
        words.append(f"With {' and '.join(others)}, the {best}." if others else f"The {best}.")
    for design in dict.fromkeys(best.design for best in named):
        words.append(
            f"Design {design}: {describe_design(evaluator, design_values(result, design))}."
        )
    if target.searched:
        names = " and ".join(target.searched)
        words.append(f"The search kept to {names}: all designs of this run do.")
    return [*words, _certain(result.certificate, count > 0)]


def _certain(certificate: Certificate, reached: bool) -> str:
    """Return how far an answer is to be trusted."""
    least = "needs less" if reached else "comes nearer"
    if not certificate.complete:
        return "The front is not certified: a design that was not evaluated may do better."
    if certificate.tolerances:
        return "A design that is not on the front may do better by the certificate's tolerances."
    if certificate.gap:
        return (
            f"The front is certified up to {show_tolerance(certificate.gap)}: a design that is not "
            "on it may do better by as much in each objective."
        )
    return f"That is exact: the front is certified, and no feasible design {least}."
