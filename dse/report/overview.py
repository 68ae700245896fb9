"""The overview of the page: the answer, its reasons and its confidence, as data.

The page recommends a design by the rule of `dse.explain.recommendation`, with the reader's weights,
bounds and excluded options: of the designs of the front that are beneficial, meet the target and
all bounds and have no excluded option, it is the one with the largest Nash product. If the target
leaves one objective free, it is the best of this objective. If no design is left, it is the design
nearest to the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.preferences import Preferences
from dse.evaluate.space import SUBSET, Choice
from dse.explain.benefit import main_objective
from dse.explain.changes import describe_value
from dse.explain.limits import Limits
from dse.explain.provenance import InputProvenance
from dse.explain.recommendation import Answer, Selection, describe_size, select_designs
from dse.explain.switch_points import SwitchPoints
from dse.explain.targets import free_objectives
from dse.model.quantity import Array
from dse.model.values import json_value, show, show_count, show_percent, word_name
from dse.result.record import Certificate, Result
from dse.study.study import ResolvedStudy

_LINK_WORDS = ("interface", "link", "medium", "shared_level", "shared_cache")
"""Words in the names of quantities that the entries of a link set."""
_ENGINE_WORDS = ("engine", "accelerator")
_SHARERS = ("total_streams", "cores", "streams")  # inputs that count who calls the engines
_ASSUMPTIONS = 8  # rows of the tornado chart
_MIN_SHIFT = 0.0005  # of the front: smaller front shifts are not shown
_STOPPED = {
    "complete": "The search went through the whole space.",
    "evaluations": "The search used up its evaluations.",
    "stalled": "The search ended since the front has stalled.",
    "interrupted": "The search was interrupted; run the study again to go on.",
    "timeout": "The search ran out of its time.",
}


@dataclass(frozen=True)
class Block:
    """A block of the diagram: a variable whose option is built.

    Parameters
    ----------
    variable : str
        The column.
    kind : {"kernel", "kernels", "engine"}
        Whether its options are the engines of a kernel, the kernels that get an engine, or engines.
    """

    variable: str
    kind: str


@dataclass(frozen=True)
class Overview:
    """The data behind the first screen of the page.

    Parameters
    ----------
    rejected : frozenset of int
        The numbers of designs on the front that are not beneficial.
    preferences : Preferences
        The preferences of the study.
    free, main : str
        The objective to optimize among the designs that meet the target, empty for the Nash
        product; and the main objective.
    bounds : sequence of (str, str, float)
        The target: objectives, signs and values in base units.
    blocks : sequence of Block
        The blocks of engines.
    link : str
        The variable whose option is the link; empty if none is.
    sharers : (str, float)
        The word and the count of the callers, such as ``("streams", 64)``.
    clock : str
        The clock of the host; empty if the study has none.
    engines : mapping of int to float
        By number of a design on the front: the count of engines, if a model computes it.
    flags : sequence of str
        The variables with the values yes and no.
    limits : mapping of str to float
        By column: the upper bound that a constraint sets.
    assumptions : sequence of mapping
        Input values that may be off, by falling front shift, with their switch points.
    switch_label, nearest : str
        The label of the switch points, as `Answer` has it, and the nearest ones in words; empty if
        none is known.
    searched : sequence of str
        Which designs were evaluated for switch points.
    assumed : str
        The fraction of input values that are assumed, in words.
    idle : sequence of str
        The variables without effect on the recommended design.
    descriptions : mapping of str to mapping of str to str
        By variable and option: the description of a catalog's entry.
    size : str
        The size of a call, if the study fixes it.
    spread : str
        The objectives of the recommended design if one input is off.
    reason, baseline, next_step : str
        Why the recommended design is it, the objectives without an engine, and the next step.
    """

    rejected: frozenset[int] = frozenset()
    preferences: Preferences = field(default_factory=Preferences)
    free: str = ""
    main: str = ""
    bounds: Sequence[tuple[str, str, float]] = ()
    blocks: Sequence[Block] = ()
    link: str = ""
    sharers: tuple[str, float] = ("", 0.0)
    clock: str = ""
    engines: Mapping[int, float] = field(default_factory=dict)
    flags: Sequence[str] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    assumptions: Sequence[Mapping[str, str]] = ()
    switch_label: str = ""
    nearest: str = ""
    searched: Sequence[str] = ()
    assumed: str = ""
    idle: Sequence[str] = ()
    descriptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    size: str = ""
    spread: str = ""
    reason: str = ""
    baseline: str = ""
    next_step: str = ""


def make_overview(
    study: ResolvedStudy, result: Result, inputs: InputProvenance, answer: Answer
) -> Overview:
    """Return the overview of a result.

    Parameters
    ----------
    inputs : InputProvenance
        The provenance of the input values.
    answer : Answer
        The answer of the run.
    """
    evaluator, selection = study.evaluator, select_designs(study, result)
    target = study.target if result.target is not None else None
    free = free_objectives(result, target) if target else []
    sharers = next(
        ((name, result.constants[name][0]) for name in _SHARERS if name in result.constants),
        ("", 0.0),
    )
    return Overview(
        rejected=_rejected(result, selection),
        preferences=study.preferences,
        free=free[0].name if len(free) == 1 else "",
        main=main_objective(evaluator).name,
        bounds=[(b.objective, b.sign, b.value) for b in target.bounds] if target else [],
        blocks=_blocks(study),
        link="" if study.kernels is not None else _link(evaluator),
        sharers=sharers,
        clock=show(*result.constants["clock"]) if "clock" in result.constants else "",
        engines=_engines(evaluator, result),
        flags=_flags(evaluator),
        limits=_limits(evaluator, result),
        assumptions=_assumptions(inputs),
        switch_label=answer.switch_label,
        nearest=_nearest(inputs),
        searched=[c.searched for c in inputs.changes if isinstance(c, SwitchPoints | Limits)],
        assumed=_assumed(inputs),
        idle=answer.idle,
        descriptions=_descriptions(evaluator),
        size=describe_size(study),
        spread=answer.fields.get("one input off", ""),
        reason=answer.fields.get("why", ""),
        baseline=answer.fields.get("build nothing", ""),
        next_step=_next_step(answer),
    )


def overview_data(overview: Overview) -> dict[str, Any]:
    """Return what does not depend on the designs that the page holds, ready for JSON."""
    return {
        "preferences": {
            "weights": dict(overview.preferences.weights),
            "bounds": {b.objective: json_value(b.value) for b in overview.preferences.bounds},
            "excluded": {
                name: [_written(option) for option in options]
                for name, options in overview.preferences.excluded.items()
            },
        },
        "free": overview.free,
        "main": overview.main,
        "bounds": [[name, sign, json_value(value)] for name, sign, value in overview.bounds],
        "blocks": [[block.variable, block.kind] for block in overview.blocks],
        "link": overview.link,
        "sharers": list(overview.sharers),
        "clock": overview.clock,
        "flags": list(overview.flags),
        "limits": json_value(overview.limits),
        "assumptions": list(overview.assumptions),
        "switch_label": overview.switch_label,
        "nearest": overview.nearest,
        "searched": list(overview.searched),
        "idle": list(overview.idle),
        "descriptions": overview.descriptions,
        "size": overview.size,
        "spread": overview.spread,
        "reason": overview.reason,
        "baseline": overview.baseline,
        "next_step": overview.next_step,
    }


def _written(option: str | float) -> str:
    """Return an option as the page's script writes it: whole numbers without a point."""
    if isinstance(option, str):
        return option
    return str(int(option)) if float(option).is_integer() else repr(float(option))


def _rejected(result: Result, selection: Selection | None) -> frozenset[int]:
    if selection is None:
        return frozenset()
    return frozenset(result.front.designs.index[~selection.beneficial].tolist())


def _blocks(study: ResolvedStudy) -> list[Block]:
    """Return the variables whose options are engines."""
    variables = study.evaluator.space.variables
    if study.kernels is not None:
        return [Block(name, "kernel") for name in variables]
    choices = [(n, v) for n, v in variables.items() if isinstance(v, Choice)]
    subsets = [Block(name, "kernels") for name, v in choices if v.about == SUBSET]
    named = [n for n, _ in choices if any(word in n for word in _ENGINE_WORDS)]
    return subsets or [Block(name, "engine") for name in named[:1]]


def _link(evaluator: Evaluator) -> str:
    """Return the first variable whose entries set a quantity of a link."""
    for name, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice) and variable.about != SUBSET:
            quantities = next(iter(variable.rows.values()), {})
            if any(word in quantity for quantity in quantities for word in _LINK_WORDS):
                return name
    return ""


def _engines(evaluator: Evaluator, result: Result) -> dict[int, float]:
    """Return the count of engines of each design on the front; empty if no model computes it."""
    if "engines" not in evaluator.model_graph.producers or not len(result.front):
        return {}
    evaluator, front = ignore_errors(evaluator), result.front.designs
    space = evaluator.space
    points = space.from_labels({n: front[n].to_numpy() for n in space.variables})
    (values,) = evaluator.model_graph.evaluate([("engines", {})], space.columns(points))
    counts: Array = np.broadcast_to(values, (1, len(front)))[0]
    return dict(zip(front.index.tolist(), counts.tolist(), strict=True))


def _descriptions(evaluator: Evaluator) -> dict[str, Mapping[str, str]]:
    variables = evaluator.space.variables
    return {
        n: v.descriptions for n, v in variables.items() if isinstance(v, Choice) and v.descriptions
    }


def _flags(evaluator: Evaluator) -> list[str]:
    quantities = evaluator.model_graph.quantities
    return [
        name
        for name, variable in evaluator.space.variables.items()
        if not isinstance(variable, Choice)
        and describe_value(variable, 1.0, quantities.get(name)) == "yes"
    ]


def _limits(evaluator: Evaluator, result: Result) -> dict[str, float]:
    """Return the upper bounds of constraints on columns; the lowest of several."""
    limits: dict[str, float] = {}
    for constraint in evaluator.constraints:
        name = constraint.quantity
        if constraint.relation is None and constraint.upper and name in result.columns:
            limits[name] = min(limits.get(name, np.inf), constraint.bound)
    return limits


def _assumptions(inputs: InputProvenance) -> list[dict[str, Any]]:
    """Return the input values with the largest front shifts, and their switch points."""
    points: dict[str, list[str]] = {}
    for change in inputs.changes:
        if isinstance(change, SwitchPoints):
            for point in change.points:
                label, _, value, design, _ = point.texts
                points.setdefault(label, []).append(f"{value}: {design}")
    rows = []
    for check in [c for c in inputs.checks if c.shift >= _MIN_SHIFT][:_ASSUMPTIONS]:
        given, unit = check.given, check.given.unit or "1"
        label = word_name(given.label)
        rows.append(
            {
                "label": label,
                "value": show(given.value, unit),
                "provenance": given.provenance,
                "range": " to ".join(show(end, unit) for end in check.ends),
                "shift": check.shift,
                "shown": show_percent(check.shift, 2),
                "objective": word_name(check.objective),
                "switch": points.get(label, []),
            }
        )
    return rows


def _nearest(inputs: InputProvenance) -> str:
    """Return the nearest switch points in words."""
    return "; ".join(each.nearest for each in inputs.changes if isinstance(each, SwitchPoints))


def _next_step(answer: Answer) -> str:
    """Return the next step with the improvement of which it has the lowest price."""
    wanted, step = next(iter(answer.steps.items()), ("", ""))
    if answer.next_step == step:
        return f"{wanted}, at the lowest price: {step}" if step else ""
    return answer.next_step


def _assumed(inputs: InputProvenance) -> str:
    if not inputs.inputs:
        return ""
    fraction = inputs.provenances.get("assumed", 0) / len(inputs.inputs)
    return f"Inputs: {show_percent(fraction, 2)} assumed"


def front_status(certificate: Certificate) -> str:
    """Return in few words how far the front goes."""
    designs = show_count(
        certificate.evaluated if certificate.designs is None else certificate.designs
    )
    if not certificate.complete:
        if not certificate.non_dominated:
            return "No feasible design yet"
        return f"Not complete: best of {show_count(certificate.evaluated)} designs"
    decided = "decided by bounds" if certificate.boxes else "evaluated"
    if certificate.gap:
        return f"Within {show_percent(certificate.gap)}: {designs} designs {decided}"
    return f"Complete: all {designs} designs {decided}"


def explain_stop(certificate: Certificate) -> str:
    """Return why the search ended, in a sentence."""
    return _STOPPED.get(certificate.stopped, f"The search stopped: {certificate.stopped}")


def list_key_numbers(result: Result) -> list[tuple[str, str]]:
    """Return the key numbers of a run, each with its name."""
    certificate = result.certificate
    space = certificate.designs
    figures = [
        ("designs in the space", "continuous" if space is None else show_count(space)),
        ("evaluated", show_count(certificate.evaluated)),
        ("feasible", show_count(certificate.feasible)),
        ("on the front", show_count(certificate.non_dominated)),
    ]
    if result.front.distinct < len(result.front):
        figures.append(("distinct on the front", show_count(result.front.distinct)))
    seconds = result.provenance.get("seconds")
    if isinstance(seconds, int | float):
        figures.append(("seconds", f"{seconds:,.3g}" if seconds < 1000 else f"{seconds:,.0f}"))
    return figures
