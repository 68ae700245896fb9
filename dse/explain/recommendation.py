"""The recommendation: the designs that a run names, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.front import find_nash_design, is_nondominated
from dse.evaluate.input_variation import fix_at_middles
from dse.explain.advice import best_trade, find_steps
from dse.explain.benefit import are_beneficial, list_benefits, main_objective
from dse.explain.changes import ENTRY, SPACE, describe_design, find_idle_variables
from dse.explain.explanation import Explanation, explain, explanation_cost
from dse.explain.limits import Limits, find_limits
from dse.explain.provenance import InputProvenance, check_assumptions
from dse.explain.robustness import Robustness, assess_robustness
from dse.explain.switch_points import SECONDS, SwitchPoints, find_switch_points
from dse.explain.system import (
    answer_kernels,
    describe_kernels,
    describe_losses,
    describe_nothing_built,
)
from dse.explain.targets import (
    design_values,
    find_best,
    find_nearest,
    free_objectives,
    meets_bounds,
)
from dse.model.quantity import Array
from dse.model.values import (
    add_conditions,
    join_words,
    plural,
    show_amount,
    show_percent,
    word_name,
)
from dse.result.record import Certificate, Result
from dse.search.outcome import describe_count
from dse.study.study import ResolvedStudy

_RUNNERS_UP = 3
_UTILIZATION = "_utilization"  # ends the name of a quantity that the answer shows
EXPLAINED = 16
"""Designs that a report explains in full; the command explains any other."""
_EFFORT = 0.5  # evaluations that further explanations may take, as a fraction of the search's
RECOMMENDED, NEAREST = "recommended", "nearest"


# Selection ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The designs that an answer names, and from which they were selected.

    `beneficial` and `meets` tell for each design of the front whether it is beneficial, and whether
    it meets the target, if there is one.
    """

    design: int  # the number of the recommended design, or of the nearest if none is beneficial
    role: str  # RECOMMENDED or NEAREST
    row: int  # on the front
    beneficial: NDArray[np.bool_]
    meets: NDArray[np.bool_]
    least: Objective | None = None  # its best value among designs that meet the target is best
    equal: int = 1  # how many distinct designs have this value
    runners_up: Mapping[str, tuple[int, Objective]] = field(default_factory=dict)

    @property
    def among(self) -> NDArray[np.bool_]:
        """The designs of the front that are beneficial and meet the target."""
        return np.asarray(self.beneficial & self.meets)


def select_designs(study: ResolvedStudy, result: Result) -> Selection | None:
    """Return which designs the answer of a result names; None if nothing is on the front."""
    front, points, preferences = result.front, result.front.points, study.preferences
    if not len(front):
        return None
    target = study.target if result.target is not None else None
    allowed = preferences.allow(front.designs, len(front))
    beneficial, meets = _accepted(study, result, points)
    meets &= allowed
    among, numbers = beneficial & meets, front.designs.index.to_numpy()
    objectives = preferences.weigh(front.objectives)
    if not among.any():
        bounds = [*(target.bounds if target else ()), *preferences.bounds]
        if bounds and not meets.any():
            row = find_nearest(objectives, points, bounds, allowed)
        else:
            row, _ = find_best(objectives, points, main_objective(study.evaluator), meets)
        return Selection(int(numbers[row]), NEAREST, row, beneficial, meets)
    row, least, equal = _select_row(study, result, points, among)
    runners_up = _runners_up(study, result, row, among)
    number = int(numbers[row])
    return Selection(number, RECOMMENDED, row, beneficial, meets, least, equal, runners_up)


def select_recommended(
    study: ResolvedStudy, result: Result, points: Array, allowed: NDArray[np.bool_]
) -> int | None:
    """Return the row that is recommended of feasible designs; None if none is good enough.

    `points`, of shape (designs, objectives), are signed: lower is better. They need not be the
    values of the result. `allowed` marks designs without an excluded option.
    """
    rows = np.flatnonzero(is_nondominated(points))
    among = np.logical_and(*_accepted(study, result, points[rows])) & allowed[rows]
    if not among.any():
        return None
    return int(rows[_select_row(study, result, points[rows], among)[0]])


def _accepted(
    study: ResolvedStudy, result: Result, points: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which designs are beneficial, and which meet the target and preferred bounds."""
    values = points * study.evaluator.signs
    bounds = study.target.bounds if study.target and result.target is not None else ()
    meets = meets_bounds(result.objectives, values, (*bounds, *study.preferences.bounds))
    return are_beneficial(study.evaluator, values), meets


def _select_row(
    study: ResolvedStudy, result: Result, points: Array, among: NDArray[np.bool_]
) -> tuple[int, Objective | None, int]:
    """Return the recommended row of a front, as `Selection` has it."""
    target = study.target if result.target is not None else None
    free, objectives = free_objectives(result, target) if target else [], result.objectives
    objectives = study.preferences.weigh(objectives)
    if len(free) == 1:
        row, equal = find_best(objectives, points, free[0], among)
        return row, free[0], equal
    return find_nash_design(points, objectives, among), None, 1


def _runners_up(
    study: ResolvedStudy, result: Result, row: int, among: NDArray[np.bool_]
) -> dict[str, tuple[int, Objective]]:
    """Return by role the best design of each objective that differs in its variables."""
    front = result.front
    names = [n for n in study.evaluator.space.variables if n in front.designs]
    columns, numbers = [front.designs[n].to_numpy() for n in names], front.designs.index
    seen = {tuple(column[row] for column in columns)}
    runners_up: dict[str, tuple[int, Objective]] = {}
    for i, objective in enumerate(result.objectives):
        best, _ = find_best(front.objectives, front.points, objective, among)
        design = tuple(column[best] for column in columns)
        if front.points[row, i] == front.points[best, i] or design in seen:
            continue
        seen.add(design)
        word = "highest" if objective.direction == "maximize" else "lowest"
        runners_up[f"{word} {word_name(objective.name)}"] = (int(numbers[best]), objective)
    return dict(list(runners_up.items())[:_RUNNERS_UP])


def named_designs(study: ResolvedStudy, result: Result) -> list[int]:
    """Return the numbers of the designs that the answer names, the recommended one first."""
    selection = select_designs(study, result)
    if selection is None:
        return []
    return [selection.design, *(number for number, _ in selection.runners_up.values())]


# The answer -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recommendation:
    """One design in words, by label.

    The fields are the variables (of a runner-up, the different ones), the objectives, the reason,
    the largest parts of its time, its bottleneck, the first change within the space, and the best
    catalog entry. The role is RECOMMENDED, NEAREST to the target or a benefit, or the objective in
    which the design is best, such as ``"highest speedup"``.
    """

    design: int
    role: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """The answer of a run.

    Parameters
    ----------
    verdict : str
        The state of the search if it was cut short; whether the target is met, and whether designs
        are beneficial, if a quantity of the study declares this. Empty if all of the front is.
    beneficial : bool
        False if no design of the front meets the target and is beneficial.
    designs : tuple of Recommendation
        The recommended design first, then runners-up; only the nearest if nothing is beneficial;
        none without a front.
    steps : mapping of str to str
        By wanted improvement: the design with the lowest price that is a tenth better.
    confidence : mapping of str to str
        By label: the robustness of the recommended design, and the provenance of the input values.
    warnings : tuple of str
        The values and catalog entries of the study that are probably wrong.
    idle : tuple of str
        The variables without effect on the first design; its description leaves them out.
    switch_label : {"Changes at", "Beneficial at", "Met at"}
        The question that switch points answer.
    """

    verdict: str
    beneficial: bool
    designs: tuple[Recommendation, ...]
    steps: Mapping[str, str] = field(default_factory=dict)
    confidence: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    switch_label: str = "Changes at"

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the recommended design, and the confidence."""
        return {**(self.designs[0].fields if self.designs else {}), **self.confidence}

    @property
    def next_step(self) -> str:
        """The change of a variable that is a better compromise, else the first of `steps`."""
        if not self.beneficial:
            return ""
        wanted, step = next(iter(self.steps.items()), ("", ""))
        if step and not step.startswith("design "):  # there is none
            step = f"{wanted}: {step}"
        return self.fields.get("change") or step

    def __str__(self) -> str:
        others = (" ".join(each.fields.values()) for each in self.designs[1:])
        lines = [f"warning: {text}" for text in self.warnings]
        lines += [f"{label}: {text}" for label, text in self.fields.items()]
        return "\n".join(filter(None, (self.verdict, *lines, *others)))


def make_answer(
    study: ResolvedStudy,
    result: Result,
    explanations: Sequence[Explanation] = (),
    inputs: InputProvenance | None = None,
) -> Answer:
    """Return the answer of a result; only explained designs get limits and changes."""
    selection = select_designs(study, result)
    if selection is None:
        verdict = "No design is on the front: none that was evaluated is feasible."
        return Answer(verdict, False, (), warnings=study.warnings)
    by_number = {each.design: each for each in explanations}
    idle: list[str] = []
    if selection.design in by_number and not result.is_guided:  # else models may be slow
        values = design_values(result, selection.design)
        idle = find_idle_variables(fix_at_middles(study.evaluator), values)
    main = selection.least or main_objective(study.evaluator)
    named = {selection.role: (selection.design, main), **selection.runners_up}
    designs = tuple(
        Recommendation(
            number,
            role,
            _describe(study, result, selection, role, number, number in by_number, idle)
            | _describe_changes(by_number.get(number), role, objective),
        )
        for role, (number, objective) in named.items()
    )
    recommended = selection.role == RECOMMENDED
    explanation = by_number.get(selection.design)
    robust = explanation.robustness if explanation is not None else None
    confidence = (robust.fields if robust else {}) | (inputs.fields if inputs else {})
    verdicts = (
        *list_missing_resource_data(study),
        describe_interruption(result.certificate),
        _verdict(study, result, selection),
    )
    steps = {}
    if recommended:
        steps = find_steps(study.evaluator, result, selection.design, selection.among)
    verdict = " ".join(filter(None, verdicts))
    label = "Changes at"
    if not recommended:
        label = "Beneficial at" if selection.meets.any() else "Met at"
    return Answer(
        verdict, recommended, designs, steps, confidence, study.warnings, tuple(idle), label
    )


def list_missing_resource_data(study: ResolvedStudy) -> list[str]:
    """Return in sentences the data that the study's resources lack."""
    graph = study.evaluator.model_graph
    return [
        sentence
        for name, declared in graph.resources.items()
        if declared.unknown is not None and name in graph.constants
        for sentence in declared.unknown(graph.constants[name])
    ]


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, for JSON."""
    return {"fields": answer.fields, "next_step": answer.next_step, **asdict(answer)}


def _describe(
    study: ResolvedStudy,
    result: Result,
    selection: Selection,
    role: str,
    number: int,
    explained: bool,
    idle: Sequence[str],
) -> dict[str, str]:
    """Return the variables and objectives of a design, and the reason for it."""
    values, own = design_values(result, number), design_values(result, selection.design)
    names = [n for n in study.evaluator.space.variables if n in values]
    if number == selection.design:
        names = [n for n in names if n not in idle]
    else:
        names = [n for n in names if values[n] != own[n]]
    kernels = answer_kernels(study, values) if number == selection.design else []
    variables = "" if kernels else describe_design(study.evaluator, values, names)
    objectives = ", ".join(
        f"{word_name(add_conditions(o.name, o.condition))} "
        f"{show_amount(float(values[o.name]), o.unit)}"
        for o in result.objectives
    )
    fields = {role: f"design {number}{f': {variables}' if variables else ''}"}
    fields |= describe_kernels(study, kernels) | {"gives": objectives}
    if role in (RECOMMENDED, NEAREST):
        fields["build nothing"] = _describe_no_accelerator(study, own, explained)
    if role == RECOMMENDED:
        fields["why"] = _reason(study, result, selection)
        fields["worse than nothing built"] = describe_losses(study, own) if explained else ""
        used = [n for n in values if n.endswith(_UTILIZATION)]
        fields["utilization"] = ", ".join(
            f"{word_name(n.removesuffix(_UTILIZATION))} {show_percent(float(values[n]), 2)}"
            for n in used
        )
    return {label: text for label, text in fields.items() if text}


def _describe_no_accelerator(
    study: ResolvedStudy, values: Mapping[str, Any], explained: bool
) -> str:
    """Return the objectives without an accelerator, as models declare them.

    Models run for the times of the host only if designs are `explained`.
    """
    evaluator = fix_at_middles(study.evaluator)
    if text := describe_nothing_built(study):
        return text
    space, graph, texts = evaluator.space, evaluator.model_graph, []
    for objective in evaluator.objectives:
        producer = graph.producers.get(objective.quantity)
        declared = producer.outputs[objective.quantity] if producer else None
        value = declared.worth if declared else None
        own = {field: name for name, field in producer.fields.items()} if producer else {}
        name = own.get(declared.without, declared.without) if declared else ""
        if name in graph.producers and explained:
            point = space.from_labels({n: np.array([values[n]]) for n in space.variables})
            requests = [(name, objective.conditions)]
            (found,) = graph.evaluate(requests, space.columns(point))
            value = float(objective.reduced(found, 1)[0])
        if value is not None:
            texts.append(f"{word_name(objective.name)} {show_amount(value, objective.unit)}")
    size = describe_size(study) if texts else ""
    return ", ".join([*texts, f"at {size}"] if size else texts)


def describe_size(study: ResolvedStudy) -> str:
    """Return the size of a call, on which gains depend; empty if the study does not fix it."""
    graph = study.evaluator.model_graph
    axis = study.regions.axis if study.regions is not None else ""
    size = graph.constants.get(axis)
    if not isinstance(size, float | int):
        return ""
    return f"{word_name(axis)} {show_amount(float(size), graph.quantities[axis].unit)}"


def _describe_changes(
    explanation: Explanation | None, role: str, objective: Objective
) -> dict[str, str]:
    """Return the limits of a design, and its first changes that keep an objective."""
    if explanation is None:
        return {}
    fields = {
        "limits": explanation.limits,
        "bottleneck": explanation.limiting_input(objective.name),
    }
    if role != NEAREST:
        fields["change"] = str(best_trade(explanation.advice, SPACE, objective.name) or "")
    fields[ENTRY] = str(best_trade(explanation.advice, ENTRY, objective.name) or "")
    return {label: text for label, text in fields.items() if text}


def _reason(study: ResolvedStudy, result: Result, selection: Selection) -> str:
    """Return why a design is recommended."""
    front = result.front
    points = front.points[selection.among]
    meets = f"meets {study.target.reach}" if study.target is not None else ""
    objectives = study.preferences.weigh(result.objectives)
    weights = [f"{word_name(o.name)} {o.weight:g}" for o in objectives if o.weight != 1]
    largest = "largest Nash product"
    largest += f" with the weight {join_words(weights)}" if weights else ""
    if selection.least is not None:
        reason = f"best {word_name(selection.least.name)}"
        if selection.equal > 1:
            reason += f", of {selection.equal:,} distinct designs the {largest}"
    elif front.distinct == 1:
        reason = "the only design on the front"
    elif bool(np.all(front.points[selection.row] == points.min(axis=0))):
        some = "" if selection.beneficial.all() else " of the beneficial designs"
        reason = f"best in every objective{some}"
    else:
        some = "design" if selection.beneficial.all() else "beneficial design"
        among = f"{describe_count(points, some)} on the front"
        reason = f"best balance: {largest}, of {among}"
    return ", ".join(filter(None, (meets, reason)))


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


def _verdict(study: ResolvedStudy, result: Result, selection: Selection) -> str:
    """Return whether designs meet the target and are beneficial; empty if all are."""
    where = "in this space" if result.certificate.complete else "that was found"
    meets, beneficial = selection.meets, selection.beneficial
    allowed = study.preferences.allow(result.front.designs, len(meets))
    if not allowed.any():
        return "Each design on the front has an excluded option."
    if not allowed.all():  # a dominated design may be better than the front without them
        where = "on the front without an excluded option"
    bounds = [bound.text for bound in study.preferences.bounds]
    wanted = [study.target.reach, *bounds] if study.target is not None else bounds
    unmet = not meets.any()
    if unmet and (study.target is not None or (beneficial & allowed).any()):
        return f"No design {where} meets {join_words(wanted, 'and')}."
    if not (beneficial & meets).any():
        among = allowed if unmet else meets
        objectives = [(result.objectives[i], limit) for i, limit in list_benefits(study.evaluator)]
        best = ", ".join(
            f"best {word_name(o.name)} "
            f"{show_amount(result.front.designs[o.name][among].max(), o.unit)}, "
            f"beneficial above {show_amount(limit, o.unit)}"
            for o, limit in objectives
        )
        met = "" if unmet or not wanted else f" that meets {join_words(wanted, 'and')}"
        return f"No design {where}{met} is beneficial: {best}."
    if study.target is None and not beneficial.all():
        of = f"{int(beneficial.sum()):,} of {result.front.size}"
        return f"{of} on the front {'is' if beneficial.sum() == 1 else 'are'} beneficial."
    return ""


# Explanations of a report ---------------------------------------------------------------------


def explain_most_important(
    study: ResolvedStudy, result: Result, most: int = EXPLAINED
) -> tuple[list[Explanation], Robustness]:
    """Explain the recommended, Nash and best designs, and an even sample of the others.

    The sample has as many designs as take half of the evaluations of the search. That depends on
    counts only, so it is the same on a busy machine. If it has none (`most`), nothing is explained.

    Raises
    ------
    ModelError
        If a model raises.
    """
    if most <= 0:
        return [], Robustness()
    front, best = result.front, list[int]()
    if len(front):
        names = (o.name for o in result.objectives)
        best = [int(str(row.name)) for row in (front.nash(), *map(front.best, names))]
    named = list(dict.fromkeys([*named_designs(study, result), *best]))
    sample = [n for n in _sample(result, most) if n not in named][: max(0, most - len(named))]
    affordable = int(_EFFORT * result.certificate.evaluated / explanation_cost(study, result))
    numbers = [*named, *sample[:affordable]]
    robustness = assess_robustness(study, result, numbers)
    return explain(study, result, numbers, robustness), robustness


def assess_inputs(
    study: ResolvedStudy, result: Result, effort: bool = True, thorough: bool = False
) -> InputProvenance:
    """Return the provenance of the inputs of a result, and which to check first.

    Without `effort`, no model runs. If it is `thorough`, switch points are searched in a large
    space too.

    Raises
    ------
    ModelError
        If a model raises.
    """
    if not effort or (selection := select_designs(study, result)) is None:
        return InputProvenance(study.inputs)
    checks = check_assumptions(study, result, selection.design)
    return InputProvenance(study.inputs, checks, assess_changes(study, result, thorough))


def assess_changes(
    study: ResolvedStudy, result: Result, thorough: bool = True, seconds: float = SECONDS
) -> tuple[SwitchPoints | Limits, ...]:
    """Return the switch points of the recommended design, and the limits near it, if it has any.

    If no design is recommended, a switch point is where one is.

    Switch points for which the models need more processor seconds are not searched.
    """
    selection = select_designs(study, result)
    if selection is None:
        return ()
    given = study, result, selection.design, partial(select_recommended, study, result), thorough
    if selection.role != RECOMMENDED:
        points = find_switch_points(*given, seconds, unmet=True)
        return () if points is None else (points,)
    found = find_switch_points(*given, seconds), find_limits(*given)
    return tuple(each for each in found if each is not None)


def _sample(result: Result, count: int) -> list[int]:
    """Return an even sample of the front; all feasible designs if they are few."""
    if not len(result.front):
        return []
    numbers = result.front.designs.index.to_numpy()
    if len(result.designs) <= count:
        numbers = result.designs.index[result.designs["feasible"].to_numpy(dtype=bool)].to_numpy()
    rows = np.unique(np.linspace(0, len(numbers) - 1, count).astype(int))
    return [int(n) for n in numbers[rows]]
