"""The sentences of an answer: whether it pays, what to build, what it gives, what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.evaluate.objective import Objective
from dse.explain.advice import PART, SPACE, Effect, effect_words, keeping
from dse.explain.chosen import NEAREST, RECOMMENDED, Chosen
from dse.explain.standing import effects
from dse.explain.verdict import Explanation
from dse.explain.words import build_of, changed
from dse.explain.worth import benefits
from dse.model.amounts import amount
from dse.model.values import listed, plural, worded
from dse.result.more import Step, more
from dse.result.record import Certificate, Result
from dse.result.target import tie_words
from dse.study.study import ResolvedStudy

_GAINS = 1.05  # what more of an objective is, at least, for a trade that costs more than it gains


def cut_words(certificate: Certificate) -> str:
    """Return how far a search came that should have decided every design; empty if it did."""
    whole = certificate.complete or certificate.stopped == "complete"
    if whole or certificate.method not in ("exhaustive", "bound"):
        return ""
    count = plural(certificate.evaluated, "design")
    if certificate.designs is not None:
        count = f"{certificate.evaluated:,} of {plural(certificate.designs, 'design')}"
    came = f"{count} {'was' if certificate.evaluated == 1 else 'were'} evaluated"
    if certificate.decided is not None:
        came = f"{certificate.decided:.3%} of the space is decided"
    return f"The search was cut short, and there may be better: {came}."


def verdict_words(study: ResolvedStudy, result: Result, chosen: Chosen) -> str:
    """Return whether the target is reached, and whether it pays; empty if all is well."""
    told, where = [], "in this space" if result.certificate.complete else "that was found"
    if not chosen.reaches.all() and not chosen.reaches.any() and study.target is not None:
        told.append(f"No design {where} reaches {study.target.reach}.")
    if told and chosen.pays.any():
        return told[0]
    among = chosen.reaches if chosen.reaches.any() else np.ones_like(chosen.reaches)
    what, values = _benefits(study, result)
    pays = chosen.pays & among
    if not values:
        return " ".join(told)
    if not pays.any():
        best = " and ".join(
            f"the best {name} is {amount(float(each[among].max()), '1')}"
            for name, each in values.items()
        )
        some = "Nothing" if among.all() else f"Nothing that reaches the target {where}"
        some = f"{some} {where}" if among.all() else some
        floor = amount(benefits(study.evaluator)[0][1], "1")
        told.append(f"{some} is worth building: {best}, and a {what} pays only above {floor}.")
    elif not chosen.pays.all() and study.target is None:
        count = int((~chosen.pays).sum())
        designs, their = ("design does", "its") if count == 1 else ("designs do", "their")
        floor = amount(benefits(study.evaluator)[0][1], "1")
        told.append(
            f"Of the {plural(len(pays), 'design')} on the front, {count:,} {designs} not pay: "
            f"{their} {what} is not above {floor}."
        )
    return " ".join(told)


def _benefits(study: ResolvedStudy, result: Result) -> tuple[str, dict[str, Any]]:
    """Return what says from where on it pays, in words, and the values on the front."""
    found = {}
    for i, _ in benefits(study.evaluator):
        objective = result.objectives[i]
        found[worded(objective.name)] = result.front.designs[objective.name].to_numpy(np.float64)
    return listed(found), found


def build_words(
    study: ResolvedStudy, result: Result, chosen: Chosen, number: int, role: str
) -> str:
    """Return what to build: of a runner-up, what differs from the recommended design."""
    space, quantities = study.evaluator.space, study.evaluator.wiring.quantities
    values, own = values_of(result, number), values_of(result, chosen.design)
    names = [n for n in space.variables if n in values]
    if number != chosen.design:
        names = [n for n in names if values[n] != own[n]]
    parts = build_of(space, quantities, values, names)
    if role == RECOMMENDED:
        return f"Build design {number}: {parts}." if parts else f"Build design {number}."
    if role == NEAREST:
        return f"Nearest is design {number}{f': {parts}' if parts else ''}."
    differs = f", the same but for {parts}" if parts else ""
    return f"{role[0].upper()}{role[1:]}: design {number}{differs}."


def values_of(result: Result, number: int) -> dict[str, Any]:
    """Return what a design has, by column."""
    return {str(n): v for n, v in result.designs.loc[number].items()}


def gives_words(result: Result, number: int) -> str:
    """Return what a design has of what is maximized, and for what."""
    values = values_of(result, number)
    told: dict[str, list[str]] = {"maximize": [], "minimize": []}
    for objective in result.objectives:
        own = objective.name == objective.quantity or objective.name.startswith(
            f"{objective.quantity} "
        )
        name = objective.quantity if own else objective.name
        condition = f" ({worded(objective.condition)})" if own and objective.condition else ""
        shown = amount(float(values[objective.name]), objective.unit)
        told[objective.direction].append(f"{worded(name)} {shown}{condition}")
    gains, prices = listed(told["maximize"]), listed(told["minimize"])
    if not gains or not prices:
        return f"It has {gains or prices}."
    return f"It gives {gains}, with {prices}."


def why_words(study: ResolvedStudy, result: Result, chosen: Chosen) -> str:
    """Return why this design was chosen."""
    front, among = result.front, chosen.among
    if chosen.role == NEAREST:
        return ""
    points = front.points[among]
    best = bool(np.all(front.points[chosen.row] == points.min(axis=0)))
    of = f"the {len(front):,} designs on the front" if among.all() else f"the {len(points):,} that"
    if study.target is not None:
        reach = study.target.reach
        if chosen.least is not None:
            least = chosen.least
            value = float(front.designs[least.name].iloc[chosen.row])
            word = "least" if least.sign > 0 else "most"
            told = f"{worded(least.name)}, {amount(value, least.unit)}"
            tie = tie_words(chosen.equal)
            return f"It reaches the target, {reach}, with the {word} {told}{tie}."
        some = f"the {len(points):,} designs" if len(points) > 1 else "the designs"
        if best:
            return f"It reaches the target, {reach}, and is best in every objective of {some}."
        nearest = f"of {some} that do, it is the nearest to the best of every objective at once"
        return f"It reaches the target, {reach}; {nearest}."
    if len(front) == 1:
        return "It is the only design on the front: no other is better in anything."
    if best:
        return "It is best in every objective."
    if len(result.objectives) == 1:
        return ""
    of = of if among.all() else f"{of} pay"
    return f"Of {of} it is the nearest to the best of every objective at once."


def change_words(
    study: ResolvedStudy,
    result: Result,
    chosen: Chosen,
    explanation: Explanation,
    objective: Objective,
    recommended: bool,
) -> str:
    """Return what to change first: what pays, and leaves what the design is for as good as it is.

    If nothing does, the best trade for more of that, of one variable or of several.
    """
    items = keeping(explanation.advice, SPACE, objective.name)
    if items and items[0].trade > 0:
        return f"To change first: {items[0]}."
    if not recommended or not len(study.evaluator.space.variables):
        return ""
    more_of = f"{'more' if objective.sign < 0 else 'less'} {worded(objective.name)}"
    better = [item for item in items if item.on(objective.name).gain >= _GAINS]
    if better:
        return (
            f"No single change gains more than it costs; the best trade for {more_of}: {better[0]}."
        )
    steps = more(result, chosen.design, among=chosen.among)
    step = next((s for s in steps if s.gain.objective == objective.name), None)
    if step is None or step.design is None:
        return f"No single change gives {more_of}, or gains more elsewhere than it costs."
    told = _apart(study, result, chosen.design, step.design)
    words = effect_words(_effects(result, chosen.design, step.design), objective.name)
    together = f"{told} (design {step.design}){words}"
    return f"No single change gives {more_of}; several at once do: {together}."


def _apart(study: ResolvedStudy, result: Result, one: int, other: int) -> str:
    """Return what differs between two designs."""
    space, quantities = study.evaluator.space, study.evaluator.wiring.quantities
    told = {o.quantity for o in result.objectives}  # their change is told as what it gives
    before, after = values_of(result, one), values_of(result, other)
    before = {n: v for n, v in before.items() if n not in told}
    every = changed(space, quantities, before, after)
    return "; ".join(every) if any(" and " in each for each in every) else listed(every)


def _effects(result: Result, one: int, other: int) -> Sequence[Effect]:
    names = [o.name for o in result.objectives]
    values: Mapping[int, Any] = {
        n: result.designs.loc[n, names].to_numpy(np.float64) for n in (one, other)
    }
    return effects(result, values[one], values[other])


def part_words(explanation: Explanation, objective: Objective) -> str:
    """Return the best part that the study leaves out; empty if none gains more than it costs."""
    items = keeping(explanation.advice, PART, objective.name)
    return f"Another part: {items[0]}." if items and items[0].trade > 0 else ""


def step_words(study: ResolvedStudy, result: Result, start: int, step: Step) -> str:
    """Return what a step up from a design costs, and what is built differently then."""
    if step.design is None:
        return str(step)
    apart = _apart(study, result, start, step.design)
    number = f"design {step.design}"
    return f"{step.asks}: {number}{f', with {apart}' if apart else ''}: {step.gives}"
