"""Breakdowns: the parts of the time and the area of a design, as models declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.evaluate.criteria import Objective, select_scenario
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import ModelGraph
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.units import resolve_unit
from dse.model.values import show, show_number, show_percent, word_name

_NEARLY_ALL = 0.98  # chosen: the fraction of a time from which its largest part says nothing


@dataclass(frozen=True)
class Part:
    """One additive part of an output of one design: where the time, or the area, goes."""

    objective: str  # for whose conditions (``at``, ``over``) it was computed; "" for none
    total: str
    name: str
    unit: str
    value: float
    share: float  # of the total, in [0, 1]
    scenario: str = ""  # of the objective, such as "granularity = 64 B"


class _Parts(NamedTuple):
    """A part of a total, for all designs."""

    objective: str
    scenario: str
    total: str
    name: str
    unit: str
    part: Array
    whole: Array


def break_down(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> list[tuple[Part, ...]]:
    """Return the declared parts of every total that an objective's conditions determine.

    A ratio, such as a speedup, goes where the total goes that it divides by. One tuple a design,
    though all designs are evaluated at once.
    """
    model_graph = evaluator.model_graph
    needed = {}
    for o in evaluator.objectives:
        requested = [o.quantity, find_divisor(model_graph, o.quantity) or o.quantity]
        needed[o.name] = set(model_graph.needs(requested, o.conditions).names)
    totals = {model.name: _totals(model) for model in model_graph.models}
    breakdowns: list[list[_Parts]] = []
    # Totals that an objective needs come first, then totals that its conditions affect.
    for is_needed in (True, False):
        for objective in evaluator.objectives:
            for model in filter(lambda m: totals[m.name], model_graph.models):
                needs = not needed[objective.name].isdisjoint(totals[model.name])
                affects = not model_graph.upstream[model.name].isdisjoint(objective.conditions)
                if needs if is_needed else affects:
                    breakdowns += _divide_totals(model_graph, model, objective, columns, count)
    return [_list_parts(breakdowns, row) for row in range(count)]


def find_divisor(model_graph: ModelGraph, name: str) -> str | None:
    """Return the total that explains an output, such as a ratio; None if nothing gives it.

    It is an output of the same model, an input of it, or an output of a model that takes the same
    inputs: another part of the same whole.
    """
    producer = model_graph.producers.get(name)
    if producer is None or not producer.outputs[name].over:
        return None
    over = producer.outputs[name].over
    own = {field: output for output, field in producer.fields.items()}
    if over in own:
        return own[over]
    other = model_graph.producers.get(over)
    related = other is not None and (
        over in producer.inputs or other.inputs.keys() == producer.inputs.keys()
    )
    return over if related else None


def _list_parts(breakdowns: Sequence[Sequence[_Parts]], row: int) -> tuple[Part, ...]:
    """Return the parts of one design; of equal totals, the first parts."""
    kept: dict[tuple[str, float], list[Part]] = {}
    for breakdown in breakdowns:
        mine: dict[tuple[str, float], list[Part]] = {}
        for each in breakdown:
            part, whole = float(each.part[row]), float(each.whole[row])
            if np.isfinite(whole) and whole != 0:
                about = (each.objective, each.total, each.name, each.unit)
                shown = Part(*about, part, part / whole, each.scenario)
                mine.setdefault((each.total, whole), []).append(shown)
        for key, parts in mine.items():
            kept.setdefault(key, parts)
    return tuple(part for parts in kept.values() for part in parts)


def _totals(model: Model) -> set[str]:
    """Return the outputs of a model of which others are parts."""
    own = {field: name for name, field in model.fields.items()}
    return {own[q.part_of] for q in model.outputs.values() if q.part_of}


def _divide_totals(
    model_graph: ModelGraph,
    model: Model,
    objective: Objective,
    columns: Mapping[str, Array],
    count: int,
) -> list[list[_Parts]]:
    """Return the parts of each total of a model, for each scenario of an objective."""
    upstream = model_graph.upstream[model.name]
    bound = {n: v for n, v in objective.conditions.items() if n in upstream}
    relevant = Objective(**{**vars(objective), "conditions": bound})
    own = {field: name for name, field in model.fields.items()}
    named = [
        (own[q.part_of], name, q.unit)
        for name, q in model.outputs.items()
        if q.part_of and not model_graph.needs([name, own[q.part_of]], bound).missing
    ]
    asked = [(each, bound) for total, name, _ in named for each in (name, total)]
    shape = (relevant.scenarios, count)
    values = [np.broadcast_to(v, shape) for v in model_graph.evaluate(asked, columns)]
    labels = scenario_labels(model_graph, relevant)
    return [
        [
            _Parts(objective.name, label, *which, part[k], whole[k])
            for which, part, whole in zip(named, values[::2], values[1::2], strict=True)
        ]
        for k, label in enumerate(labels)
    ]


def scenario_labels(model_graph: ModelGraph, objective: Objective) -> list[str]:
    """Return the label of each scenario of an objective; "" if there is only one.

    A label includes the weight of its scenario, if weights differ.
    """
    weights = objective.reduction.weights if objective.reduction is not None else ()
    varied = [n for n, v in objective.conditions.items() if isinstance(v, tuple)]
    labels = []
    for k in range(objective.scenarios):
        one = select_scenario(objective.conditions, k)
        words = [_describe_condition(model_graph, n, one[n]) for n in varied]
        labels.append(
            ", ".join([*words, f"weight {show_number(weights[k])}"] if weights else words)
        )
    return labels


def _describe_condition(model_graph: ModelGraph, name: str, value: float) -> str:
    """Return an input of a scenario in words; the name of the object if it selects one."""
    for key, resource in model_graph.resources.items():
        names = resource.names(model_graph.constants[key]) if resource.names else {}
        if name in names:
            return str(names[name][int(value)])
    return f"{name} = {show(value, model_graph.quantities[name].unit)}"


def largest_parts(
    evaluator: Evaluator, parts: Sequence[Part], remarks: Mapping[str, str] | None = None
) -> str:
    """Return the largest part of each time of which objectives are made, a mean over scenarios.

    Objectives with different largest parts each have theirs. A part that is nearly all of its time
    names no limit. Then the parts of the other times follow. Some times have a remark.
    """
    names = (o.quantity for o in evaluator.objectives)
    totals = [find_divisor(evaluator.model_graph, name) or name for name in names]
    times: dict[str, list[Part]] = {total: [] for total in totals}
    for part in parts:
        if _is_time(part.unit):
            times.setdefault(part.total, []).append(part)
    largest, whole_times = [], []
    for total, mine in times.items():
        objectives = dict.fromkeys(part.objective for part in mine)
        each = {o: _largest_part([p for p in mine if p.objective == o]) for o in objectives}
        each = {o: largest_part for o, largest_part in each.items() if largest_part[0]}
        name, fraction = _largest_part(mine)
        of = f"of {word_name(total)}{(remarks or {}).get(total, '')}"
        if len({name for name, _ in each.values()}) > 1:
            texts = [
                f"{word_name(name)} {show_percent(fraction, digits=2)} {of} (for {word_name(o)})"
                for o, (name, fraction) in each.items()
            ]
        else:
            texts = [f"{word_name(name)} {show_percent(fraction, digits=2)} {of}"]
        if len(texts) == 1 and fraction >= _NEARLY_ALL:
            whole_times += texts
        elif name and (total in totals or whole_times):
            largest += texts
    return ", ".join(largest or whole_times)


def _largest_part(parts: Sequence[Part]) -> tuple[str, float]:
    """Return the name of the largest part of a time, and its fraction; empty and 0 without time."""
    fractions: dict[str, float] = {}
    for part in parts:
        fractions[part.name] = fractions.get(part.name, 0.0) + part.share
    whole = sum(fractions.values())
    if not whole > 0:
        return "", 0.0
    name = max(fractions, key=lambda name: fractions[name])
    return name, fractions[name] / whole


def _is_time(unit: str) -> bool:
    _, dimension = resolve_unit(unit)
    return unit == "cycle" or dimension == {"[time]": 1}


def group_parts(parts: Sequence[Part]) -> dict[tuple[str, str], list[Part]]:
    """Return the parts by total and by the conditions for which they hold, in words."""
    groups: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        condition = ", ".join(filter(None, (part.objective, part.scenario)))
        groups.setdefault((part.total, condition), []).append(part)
    return groups


def part_fields(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Return each total with its parts as label and text, the largest part first."""
    fields = []
    for (total, condition), mine in group_parts(parts).items():
        ordered = sorted(mine, key=lambda part: -part.share)
        texts = (f"{word_name(part.name)} {100 * part.share:.0f} %" for part in ordered)
        fields.append((f"{word_name(total)} (for {word_name(condition)})", ", ".join(texts)))
    return fields
