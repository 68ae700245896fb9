"""Breakdowns: the parts of the time and the area of a design, as models declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.evaluate.criteria import Objective, scenario
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.wiring import Wiring
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.units import base
from dse.model.values import listed, number, show, worded


@dataclass(frozen=True)
class Part:
    """One additive part of an output of one design: where the time, or the area, goes.

    Parameters
    ----------
    objective : str
        The objective for whose conditions it was computed (``at``, ``over``), or "" for none.
    total, name, unit : str
        The output, its part, and their unit.
    value, share : float
        The part [unit] and its share of the total in [0, 1].
    scenario : str
        Which of the objective's scenarios, such as ``"granularity = 64 B"``; "" for none.
    """

    objective: str
    total: str
    name: str
    unit: str
    value: float
    share: float
    scenario: str = ""


class _Share(NamedTuple):
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
    wiring = evaluator.wiring
    visited = [
        (objective, set(wiring.needs(_asked(wiring, objective), objective.conditions).names))
        for objective in evaluator.objectives
    ]
    upstream = wiring.upstream
    with_parts = [(model, totals) for model in wiring.models if (totals := _totals(model))]
    shares: list[list[_Share]] = []
    # totals that an objective needs first, then totals that its conditions affect
    for asked in (True, False):
        for objective, names in visited:
            for model, totals in with_parts:
                matters = not upstream[model.name].isdisjoint(objective.conditions)
                if not names.isdisjoint(totals) if asked else matters:
                    shares += _shares(wiring, model, objective, columns, count)
    return [_of_design(shares, row) for row in range(count)]


def find_divisor(wiring: Wiring, name: str) -> str | None:
    """Return the total that a ratio divides by; None if it is not a ratio, or nothing gives it.

    It is an output of the same model, or of a model that takes the same inputs: another part of the
    same whole.
    """
    producer = wiring.producers.get(name)
    if producer is None or not producer.outputs[name].over:
        return None
    over = producer.outputs[name].over
    own = {field: output for output, field in producer.fields.items()}
    if over in own:
        return own[over]
    other = wiring.producers.get(over)
    return over if other is not None and other.inputs.keys() == producer.inputs.keys() else None


def _asked(wiring: Wiring, objective: Objective) -> list[str]:
    total = find_divisor(wiring, objective.quantity)
    return [objective.quantity] if total is None else [objective.quantity, total]


def _of_design(shares: Sequence[Sequence[_Share]], row: int) -> tuple[Part, ...]:
    """Return the parts of one design; of equal totals, the first parts."""
    found: dict[tuple[str, float], list[Part]] = {}
    for breakdown in shares:
        mine: dict[tuple[str, float], list[Part]] = {}
        for each in breakdown:
            part, whole = float(each.part[row]), float(each.whole[row])
            if np.isfinite(whole) and whole != 0:
                about = (each.objective, each.total, each.name, each.unit)
                shown = Part(*about, part, part / whole, each.scenario)
                mine.setdefault((each.total, whole), []).append(shown)
        for key, parts in mine.items():
            found.setdefault(key, parts)
    return tuple(part for parts in found.values() for part in parts)


def _totals(model: Model) -> set[str]:
    """Return the outputs of a model of which others are parts."""
    own = {field: name for name, field in model.fields.items()}
    return {own[q.part_of] for q in model.outputs.values() if q.part_of}


def _shares(
    wiring: Wiring, model: Model, objective: Objective, columns: Mapping[str, Array], count: int
) -> list[list[_Share]]:
    """Return the parts of each total of a model, for each scenario of an objective."""
    upstream = wiring.upstream[model.name]
    bound = {n: v for n, v in objective.conditions.items() if n in upstream}
    relevant = Objective(**{**vars(objective), "conditions": bound})
    own = {field: name for name, field in model.fields.items()}
    named = [
        (own[q.part_of], name, q.unit)
        for name, q in model.outputs.items()
        if q.part_of and not wiring.needs([name, own[q.part_of]], bound).missing
    ]
    asked = [(each, bound) for total, name, _ in named for each in (name, total)]
    shape = (relevant.scenarios, count)
    values = [np.broadcast_to(v, shape) for v in wiring.evaluate(asked, columns)]
    labels = scenario_labels(wiring, relevant)
    return [
        [
            _Share(objective.name, label, *which, part[k], whole[k])
            for which, part, whole in zip(named, values[::2], values[1::2], strict=True)
        ]
        for k, label in enumerate(labels)
    ]


def scenario_labels(wiring: Wiring, objective: Objective) -> list[str]:
    """Return the label of each scenario of an objective; "" if there is only one.

    A label includes the weight of its scenario, if weights differ.
    """
    weights = objective.reduction.weights if objective.reduction is not None else ()
    varied = [n for n, v in objective.conditions.items() if isinstance(v, tuple)]
    found = []
    for k in range(objective.scenarios):
        one = scenario(objective.conditions, k)
        words = [f"{n} = {show(one[n], wiring.quantities[n].unit)}" for n in varied]
        found.append(", ".join([*words, f"weight {number(weights[k])}"] if weights else words))
    return found


_HALF = 0.5  # of a total, that the largest parts are named for


@dataclass(frozen=True)
class LargePart:
    """One of the largest parts of a total time, which together are half of it.

    Parameters
    ----------
    objective, total, name, about : str
        For which objective it was computed; the total, the part, and its description.
    share : float
        The fraction of the total, a mean over scenarios.
    """

    objective: str
    total: str
    name: str
    about: str
    share: float

    def __str__(self) -> str:
        return f"{100 * self.share:.0f} % is {worded(self.name)} ({self.about})"


def largest_time_parts(evaluator: Evaluator, parts: Sequence[Part]) -> tuple[LargePart, ...]:
    """Return the largest parts of each time of which objectives are made: half of it at least.

    Parameters
    ----------
    parts : sequence of Part
        The breakdown of one design.
    """
    wiring, largest, totals = evaluator.wiring, list[LargePart](), set[str]()
    for objective in evaluator.objectives:
        total = find_divisor(wiring, objective.quantity) or objective.quantity
        if total in totals:
            continue
        shares: dict[str, float] = {}
        for part in parts:
            if part.total == total and _is_time(part.unit):
                shares[part.name] = shares.get(part.name, 0.0) + part.share
        whole, covered = sum(shares.values()), 0.0
        for name, share in sorted(shares.items(), key=lambda item: -item[1]):
            if covered >= _HALF or not whole > 0:
                break
            covered += share / whole
            about = wiring.quantities[name].about
            largest.append(LargePart(objective.name, total, name, about, share / whole))
        if whole > 0:
            totals.add(total)
    return tuple(largest)


def _is_time(unit: str) -> bool:
    _, dimension = base(unit)
    return unit == "cycle" or dimension == {"[time]": 1}


def time_words(largest: Sequence[LargePart]) -> list[str]:
    """Return a sentence for each time: its largest parts."""
    sentences = []
    for total in dict.fromkeys(each.total for each in largest):
        parts = listed(str(each) for each in largest if each.total == total)
        sentences.append(f"Of its {worded(total)}, {parts}.")
    return sentences
