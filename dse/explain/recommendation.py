"""The recommendation: which designs a run names, and why, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.explain.advice import select_keeping
from dse.explain.assumptions import check_assumptions
from dse.explain.benefit import are_beneficial, list_benefits, main_objective
from dse.explain.breakdown import time_words
from dse.explain.explanation import Explanation, explain, explanation_cost
from dse.explain.provenance import InputProvenance
from dse.explain.robustness import Robustness, assess_robustness
from dse.explain.sensitivity import PART, SPACE
from dse.explain.targets import find_best, find_compromise_among, find_nearest, meets_bounds
from dse.explain.tradeoffs import Effect, Step, compare_objectives, effect_words, find_steps
from dse.explain.wording import describe_build, describe_changes
from dse.model.amounts import amount
from dse.model.values import listed, plural, worded
from dse.result.record import Certificate, Result, tie_words
from dse.study.study import ResolvedStudy

_RUNNERS_UP = 3
RECOMMENDED, NEAREST = "recommended", "nearest"


@dataclass(frozen=True)
class Selection:
    """The designs that an answer names, and from which they were chosen.

    Parameters
    ----------
    design : int
        The number of the recommended design, or of the nearest if none is beneficial.
    role : {"recommended", "nearest"}
        Which of both it is.
    row : int
        Its row on the front.
    pays, reaches : ndarray of bool, shape (designs of the front,)
        Which designs are beneficial, and which meet the target; all if there is none.
    least : Objective or None
        The objective whose best value among designs that meet the target is recommended.
    equal : int
        How many have that: of these it is the nearest to the best of every objective.
    others : tuple of (int, str)
        Runners-up: number and role.
    roles : mapping of str to Objective
        The objective that a runner-up is best in, by its role.
    """

    design: int
    role: str
    row: int
    pays: NDArray[np.bool_]
    reaches: NDArray[np.bool_]
    least: Objective | None = None
    equal: int = 1
    others: tuple[tuple[int, str], ...] = ()
    roles: dict[str, Objective] = field(default_factory=dict)

    @property
    def among(self) -> NDArray[np.bool_]:
        """The designs of the front that are beneficial and meet the target."""
        return np.asarray(self.pays & self.reaches)

    def role_objective(self, role: str) -> Objective | None:
        """Return the objective that a role is about; None of a role that is about all."""
        return self.least if role == RECOMMENDED and self.least else self.roles.get(role)


def select_designs(study: ResolvedStudy, result: Result) -> Selection | None:
    """Return which designs the answer of a result names; None if nothing is on the front."""
    front, evaluator = result.front, study.evaluator
    if not len(front):
        return None
    target = study.target if result.target is not None else None
    reached = meets_bounds(front, target.bounds) if target else np.ones(len(front), dtype=bool)
    values = front.designs[[o.name for o in result.objectives]].to_numpy(np.float64)
    pays = are_beneficial(evaluator, values)
    among, numbers = pays & reached, front.designs.index.to_numpy()
    if not among.any():
        if target and not reached.any():
            row = find_nearest(front, target.bounds)
        else:
            row, _ = find_best(front, main_objective(evaluator, result.objectives), reached)
        return Selection(int(numbers[row]), NEAREST, row, pays, reached)
    least = None
    if target:
        bounded = {bound.objective for bound in target.bounds}
        wanted = [o for o in result.objectives if o.name == target.least]
        wanted = wanted or [o for o in result.objectives if o.name not in bounded]
        least = wanted[0] if len(wanted) == 1 else None
    row, equal = find_compromise_among(front, among), 1
    if least is not None:
        row, equal = find_best(front, least, among)
    roles = _runners_up(evaluator, result, row, among)
    others = tuple((number, role) for role, (number, _) in roles.items())
    about = {role: objective for role, (_, objective) in roles.items()}
    return Selection(
        int(numbers[row]), RECOMMENDED, row, pays, reached, least, equal, others, about
    )


def _runners_up(
    evaluator: Evaluator, result: Result, row: int, among: NDArray[np.bool_]
) -> dict[str, tuple[int, Objective]]:
    """Return by role the best design of each objective that differs in its variables."""
    front = result.front
    names = [n for n in evaluator.space.variables if n in front.designs]
    seen = {tuple(front.designs.iloc[row][names])}
    found: dict[str, tuple[int, Objective]] = {}
    for i, objective in enumerate(result.objectives):
        points = front.points[:, i]
        best, _ = find_best(front, objective, among)
        design = tuple(front.designs.iloc[best][names])
        if points[row] == points[best] or design in seen:
            continue
        seen.add(design)
        word = "highest" if objective.direction == "maximize" else "lowest"
        number = int(front.designs.index[best])
        found[f"{word} {worded(objective.name)}"] = (number, objective)
    return dict(list(found.items())[:_RUNNERS_UP])


@dataclass(frozen=True)
class Recommendation:
    """One design in words; a sentence that has nothing to say is empty.

    Parameters
    ----------
    design : int
        Its number.
    role : str
        ``"recommended"``; ``"nearest"`` to the target or a benefit, if no design has both; or the
        objective in which it is best, such as ``"highest speedup"``.
    build : str
        The variables; of a runner-up only the ones that differ from the recommended design.
    gives : str
        Its objectives: gains first, then prices.
    why : str
        Why this design.
    time : str
        The largest parts of its time.
    change : str
        The first variable to change within the space: its main objective stays as good as it is.
    part : str
        The best part that the study leaves out.
    """

    design: int
    role: str
    build: str
    gives: str
    why: str = ""
    time: str = ""
    change: str = ""
    part: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said of it, in order."""
        every = (self.build, self.gives, self.why, self.time, self.change, self.part)
        return tuple(each for each in every if each)


@dataclass(frozen=True)
class Answer:
    """The answer of a run.

    Parameters
    ----------
    verdict : str
        The state of the search if it was cut short; whether the target is met, and whether designs
        are beneficial, if a quantity of the study declares this. Empty if all of the front is.
    pays : bool
        False if no design of the front meets the target and is beneficial.
    designs : tuple of Recommendation
        The recommended design first, then runners-up; only the nearest if nothing is beneficial;
        none without a front.
    steps : tuple of str
        What a tenth more of each objective costs, from the recommended design.
    holds : str
        The fraction of samples in which the recommended design is valid and on the front, if inputs
        are uncertain; empty if none is.
    rests : str
        The provenance of the input values, and the ones to check before building.
    """

    verdict: str
    pays: bool
    designs: tuple[Recommendation, ...]
    steps: tuple[str, ...] = ()
    holds: str = ""
    rests: str = ""

    @property
    def short(self) -> tuple[str, ...]:
        """The verdict, and all that is said of the recommended design, for a terminal."""
        told = [self.verdict]
        if self.designs:
            best = self.designs[0]
            told += [*best.sentences, self.holds, self.rests]
        return tuple(each for each in told if each)

    def __str__(self) -> str:
        said = [self.verdict, *(" ".join(each.sentences) for each in self.designs)]
        said += [self.holds, self.rests]
        return "\n".join(each for each in said if each)


def make_answer(
    study: ResolvedStudy,
    result: Result,
    explanations: Sequence[Explanation] = (),
    inputs: InputProvenance | None = None,
) -> Answer:
    """Return the answer of a result.

    Parameters
    ----------
    explanations : sequence of Explanation
        Of some designs: only these get a breakdown and advice.
    inputs : InputProvenance, optional
        Where the inputs come from.
    """
    chosen = select_designs(study, result)
    if chosen is None:
        return Answer("No design is on the front: none that was evaluated is feasible.", False, ())
    known = {each.design: each for each in explanations}
    every = [_recommendation(study, result, chosen, chosen.design, chosen.role, known)]
    for number, role in chosen.others:
        every.append(_recommendation(study, result, chosen, number, role, known))
    steps = _steps(study, result, chosen) if chosen.role == RECOMMENDED else ()
    pays = chosen.role == RECOMMENDED
    mine = known.get(chosen.design)
    holds = (
        mine.holding.sentence("The recommended design") if mine is not None and mine.holding else ""
    )
    rests = inputs.sentence() if inputs is not None else ""
    verdict = " ".join(
        filter(
            None, (describe_interruption(result.certificate), verdict_words(study, result, chosen))
        )
    )
    return Answer(verdict, pays, tuple(every), steps, holds, rests)


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, for JSON."""
    return {"short": list(answer.short), **asdict(answer)}


def named_designs(study: ResolvedStudy, result: Result) -> list[int]:
    """Return the numbers of the designs that the answer names, the recommended one first."""
    chosen = select_designs(study, result)
    return [] if chosen is None else [chosen.design, *(number for number, _ in chosen.others)]


def _steps(study: ResolvedStudy, result: Result, chosen: Selection) -> tuple[str, ...]:
    """Return the cost of a tenth more, among the beneficial designs."""
    steps = find_steps(result, chosen.design, among=chosen.among)
    return tuple(
        step_words(study, result, chosen.design, step)
        for step in steps
        if step.design is not None or chosen.among.all()
    )


def _recommendation(
    study: ResolvedStudy,
    result: Result,
    chosen: Selection,
    number: int,
    role: str,
    known: Mapping[int, Explanation],
) -> Recommendation:
    build = build_words(study, result, chosen, number, role)
    why = why_words(study, result, chosen) if number == chosen.design else ""
    gives = gives_words(result, number)
    explanation = known.get(number)
    if explanation is None:
        return Recommendation(number, role, build, gives, why)
    objective = chosen.role_objective(role) or main_objective(study.evaluator, result.objectives)
    change = ""
    if role != NEAREST:  # what to change within the space does not make that pay either
        change = change_words(study, result, chosen, explanation, objective, role == RECOMMENDED)
    return Recommendation(
        design=number,
        role=role,
        build=build,
        gives=gives,
        why=why,
        time=" ".join(time_words(explanation.time_parts)),
        change=change,
        part=part_words(explanation, objective),
    )


_GAINS = 1.05  # what more of an objective is, at least, for a trade that costs more than it gains


def describe_interruption(certificate: Certificate) -> str:
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


def verdict_words(study: ResolvedStudy, result: Result, chosen: Selection) -> str:
    """Return whether designs meet the target and are beneficial; empty if all are."""
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
        floor = amount(list_benefits(study.evaluator)[0][1], "1")
        told.append(f"{some} is beneficial: {best}, and a {what} is beneficial only above {floor}.")
    elif not chosen.pays.all() and study.target is None:
        count = int((~chosen.pays).sum())
        designs, their = ("design is", "its") if count == 1 else ("designs are", "their")
        floor = amount(list_benefits(study.evaluator)[0][1], "1")
        told.append(
            f"Of the {plural(len(pays), 'design')} on the front, {count:,} {designs} not "
            f"beneficial: {their} {what} is not above {floor}."
        )
    return " ".join(told)


def _benefits(study: ResolvedStudy, result: Result) -> tuple[str, dict[str, Any]]:
    """Return the objectives with a break-even in words, and their values on the front."""
    found = {}
    for i, _ in list_benefits(study.evaluator):
        objective = result.objectives[i]
        found[worded(objective.name)] = result.front.designs[objective.name].to_numpy(np.float64)
    return listed(found), found


def build_words(
    study: ResolvedStudy, result: Result, chosen: Selection, number: int, role: str
) -> str:
    """Return what to build: of a runner-up, what differs from the recommended design."""
    space, quantities = study.evaluator.space, study.evaluator.wiring.quantities
    values, own = values_of(result, number), values_of(result, chosen.design)
    names = [n for n in space.variables if n in values]
    if number != chosen.design:
        names = [n for n in names if values[n] != own[n]]
    parts = describe_build(space, quantities, values, names)
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
    """Return the objectives of a design: gains first, then prices."""
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


def why_words(study: ResolvedStudy, result: Result, chosen: Selection) -> str:
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
    chosen: Selection,
    explanation: Explanation,
    objective: Objective,
    recommended: bool,
) -> str:
    """Return the change to make first: a good trade that keeps the main objective.

    If nothing does, the best trade for more of that, of one variable or of several.
    """
    items = select_keeping(explanation.advice, SPACE, objective.name)
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
    steps = find_steps(result, chosen.design, among=chosen.among)
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
    told = {o.quantity for o in result.objectives}  # their change is shown as an effect
    before, after = values_of(result, one), values_of(result, other)
    before = {n: v for n, v in before.items() if n not in told}
    every = describe_changes(space, quantities, before, after)
    return "; ".join(every) if any(" and " in each for each in every) else listed(every)


def _effects(result: Result, one: int, other: int) -> Sequence[Effect]:
    names = [o.name for o in result.objectives]
    values: Mapping[int, Any] = {
        n: result.designs.loc[n, names].to_numpy(np.float64) for n in (one, other)
    }
    return compare_objectives(result.objectives, values[one], values[other])


def part_words(explanation: Explanation, objective: Objective) -> str:
    """Return the best part that the study leaves out; empty if none gains more than it costs."""
    items = select_keeping(explanation.advice, PART, objective.name)
    return f"Another part: {items[0]}." if items and items[0].trade > 0 else ""


def step_words(study: ResolvedStudy, result: Result, start: int, step: Step) -> str:
    """Return the cost of a step up from a design, and the variables that differ."""
    if step.design is None:
        return str(step)
    apart = _apart(study, result, start, step.design)
    number = f"design {step.design}"
    return f"{step.asks}: {number}{f', with {apart}' if apart else ''}: {step.gives}"


EXPLAINED = 16
"""Designs that a report explains in full; the command explains any other."""
_EFFORT = 0.5  # evaluations that further explanations may take, as a fraction of the search's


def explain_most_important(
    study: ResolvedStudy, result: Result, most: int = EXPLAINED
) -> tuple[list[Explanation], Robustness]:
    """Explain the recommended, compromise and best designs, and an even sample of the others.

    The sample has as many designs as take half of the evaluations of the search. That depends on
    counts only, so it is the same on a busy machine.

    Parameters
    ----------
    most : int
        The size of the sample at most; 0 for no explanation at all.

    Returns
    -------
    list of Explanation
        Of those designs.
    Robustness
        The robustness of these and other designs against uncertain inputs.

    Raises
    ------
    ModelError
        If a model raises.
    """
    if most <= 0:
        return [], Robustness()
    named = list(dict.fromkeys([*named_designs(study, result), *_best(result)]))
    sample = [n for n in _spread(result, most) if n not in named][: max(0, most - len(named))]
    affordable = int(_EFFORT * result.certificate.evaluated / explanation_cost(study, result))
    numbers = [*named, *sample[:affordable]]
    held = assess_robustness(study, result, numbers)
    return explain(study, result, numbers, held=held), held


def assess_inputs(study: ResolvedStudy, result: Result, effort: bool = True) -> InputProvenance:
    """Return where the inputs of a result come from, and which to check first.

    Parameters
    ----------
    effort : bool
        Whether models are run; else no input is changed.

    Raises
    ------
    ModelError
        If a model raises.
    """
    recommended = next(iter(named_designs(study, result)), None)
    checks = check_assumptions(study, result, recommended) if effort else ()
    return InputProvenance(study.inputs, checks)


def _best(result: Result) -> list[int]:
    """Return the compromise design and the best design in each objective."""
    front = result.front
    if not len(front):
        return []
    return [int(str(each.name)) for each in (front.compromise(), *map(front.best, _names(result)))]


def _names(result: Result) -> list[str]:
    return [objective.name for objective in result.objectives]


def _spread(result: Result, count: int) -> list[int]:
    """Return an even sample of the front; all feasible designs if they are few."""
    if not len(result.front):
        return []
    every = result.front.designs.index.to_numpy()
    if len(result.designs) <= count:
        every = result.designs.index[result.designs["feasible"].to_numpy(dtype=bool)].to_numpy()
    rows = np.unique(np.linspace(0, len(every) - 1, count).astype(int))
    return [int(n) for n in every[rows]]
