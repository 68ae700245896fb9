"""The overview of the page: the answer, its reasons and its confidence, as data.

The page recommends a design by the rule of `dse.explain.recommendation`, with the reader's weights,
bounds and excluded options: of the designs of the front that are beneficial, meet the target and
all bounds and have no excluded option, it is the one with the largest Nash product. If the target
leaves one objective free, it is the best of this objective. If no design is left, it is the design
nearest to the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import SUBSET, Choice
from dse.explain.benefit import main_objective
from dse.explain.changes import describe_value
from dse.explain.provenance import InputProvenance
from dse.explain.recommendation import Answer, describe_size, select_designs
from dse.explain.switch_points import SwitchPoints
from dse.explain.targets import free_objectives
from dse.model.quantity import Array
from dse.model.values import json_value, show, show_count, show_percent, show_tolerance, word_name
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


EMPTY: Mapping[str, Any] = {
    "preferences": {"weights": {}, "bounds": {}, "excluded": {}},
    "sharers": ("", 0.0),
    **{name: {} for name in ("limits", "descriptions", "engines")},
    **dict.fromkeys(("bounds", "blocks", "flags", "assumptions", "searched"), ()),
    **dict.fromkeys(("idle", "rejected"), ()),
    **dict.fromkeys(("free", "main", "link", "clock", "switch_label", "nearest", "assumed"), ""),
    **dict.fromkeys(("size", "spread", "reason", "baseline", "next_step"), ""),
}
"""The overview of a result of which no study is known; see `make_overview`."""


def make_overview(
    study: ResolvedStudy, result: Result, inputs: InputProvenance, answer: Answer
) -> dict[str, Any]:
    """Return the overview of a result as the page's script takes it.

    Returns
    -------
    dict
        Ready for JSON, but for what depends on the designs that the page holds: ``rejected``, the
        numbers of designs on the front that are not beneficial, and ``engines``, the count of
        engines by number, if a model computes it. ``assumed`` is a text of the bar.
    """
    evaluator, selection = study.evaluator, select_designs(study, result)
    preferences, front = study.preferences, result.front.designs.index
    target = study.target if result.target is not None else None
    free = free_objectives(result, target) if target else []
    bounds = target.bounds if target else ()
    sharers = next((name for name in _SHARERS if name in result.constants), "")
    return {
        "preferences": {
            "weights": dict(preferences.weights),
            "bounds": {b.objective: json_value(b.value) for b in preferences.bounds},
            "excluded": {
                name: [_written(option) for option in options]
                for name, options in preferences.excluded.items()
            },
        },
        "free": free[0].name if len(free) == 1 else "",  # to optimize within the bounds
        "main": main_objective(evaluator).name,
        "bounds": [[b.objective, b.sign, json_value(b.value)] for b in bounds],
        "blocks": _blocks(study),
        "link": "" if study.kernels is not None else _link(evaluator),
        "sharers": [sharers, result.constants[sharers][0] if sharers else 0.0],
        "clock": show(*result.constants["clock"]) if "clock" in result.constants else "",
        "flags": _flags(evaluator),
        "limits": json_value(_limits(evaluator, result)),
        "assumptions": _assumptions(inputs),
        "switch_label": answer.switch_label,
        "nearest": "; ".join(c.nearest for c in inputs.changes if isinstance(c, SwitchPoints)),
        "searched": [change.searched for change in inputs.changes],
        "idle": list(answer.idle),
        "descriptions": _descriptions(evaluator),
        "size": describe_size(study),
        "spread": answer.fields.get("one input off", ""),
        "reason": answer.fields.get("why", ""),
        "baseline": answer.fields.get("build nothing", ""),
        "next_step": _next_step(answer),
        "rejected": frozenset(front[~selection.beneficial].tolist() if selection else ()),
        "engines": _engines(evaluator, result),
        "assumed": _assumed(inputs),
    }


def _written(option: str | float) -> str:
    """Return an option as the page's script writes it: whole numbers without a point."""
    if isinstance(option, str):
        return option
    return str(int(option)) if float(option).is_integer() else repr(float(option))


def _blocks(study: ResolvedStudy) -> list[tuple[str, str]]:
    """Return the variables whose options are built, with the kind of the options.

    They are the engines of a kernel, the kernels that get an engine, or engines.
    """
    variables = study.evaluator.space.variables
    if study.kernels is not None:
        return [(name, "kernel") for name in variables]
    choices = [(n, v) for n, v in variables.items() if isinstance(v, Choice)]
    subsets = [(name, "kernels") for name, v in choices if v.about == SUBSET]
    named = [n for n, _ in choices if any(word in n for word in _ENGINE_WORDS)]
    return subsets or [(name, "engine") for name in named[:1]]


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
        return f"Within {show_tolerance(certificate.gap)}: {designs} designs {decided}"
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
