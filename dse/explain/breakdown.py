"""Breakdowns: where the time and the area of a design go, by the parts that models declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective, scenario
from dse.evaluate.space import SUBSET, Choice, Points
from dse.evaluate.table import TableSpace
from dse.evaluate.wiring import ModelError, Wiring
from dse.explain.neighbours import judged, neighbours
from dse.explain.sensitivity import GIVEN, PART, SPACE, Kind, gain, improvable, improved, kind_of
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.units import base
from dse.model.values import listed, number, show, worded
from dse.result.record import Result
from dse.study.resolve.regions import Rule


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


def breakdowns(
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
    # totals that an objective needs first, then those that its conditions bear on
    for asked in (True, False):
        for objective, names in visited:
            for model, totals in with_parts:
                matters = not upstream[model.name].isdisjoint(objective.conditions)
                if not names.isdisjoint(totals) if asked else matters:
                    shares += _shares(wiring, model, objective, columns, count)
    return [_of_design(shares, row) for row in range(count)]


def divisor(wiring: Wiring, name: str) -> str | None:
    """Return the total that a ratio divides by; None if it is not a ratio, or nothing gives it.

    It is an output of the same model, or of one that takes the same inputs: another part of the
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
    total = divisor(wiring, objective.quantity)
    return [objective.quantity] if total is None else [objective.quantity, total]


def _of_design(shares: Sequence[Sequence[_Share]], row: int) -> tuple[Part, ...]:
    """Return the parts of one design; of equal totals, those that came first."""
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
    """Return what tells each scenario of an objective from the others; "" if there is one.

    The weight of one that counts more or less than the others is part of it.
    """
    weights = objective.reduction.weights if objective.reduction is not None else ()
    varied = [n for n, v in objective.conditions.items() if isinstance(v, tuple)]
    found = []
    for k in range(objective.scenarios):
        one = scenario(objective.conditions, k)
        words = [f"{n} = {show(one[n], wiring.quantities[n].unit)}" for n in varied]
        found.append(", ".join([*words, f"weight {number(weights[k])}"] if weights else words))
    return found


_HALF = 0.5
_SHORTER = 1.05  # a part that is not shorter by this factor is as long as it was
_BETTER = 1.02  # and an objective that is not better by this one is as good


@dataclass(frozen=True)
class Shortened:
    """An input by which a part of the time gets shorter.

    Parameters
    ----------
    input : str
        Its name.
    kind : Kind
        Who sets it.
    owner : str
        The variable that sets it; empty if none does.
    told : str
        The input in words.
    factor : float
        By which the objective is better once the input is improved.
    """

    input: str
    kind: Kind
    owner: str
    told: str
    factor: float


@dataclass(frozen=True)
class Half:
    """One of the largest parts of a total time, which together are half of it.

    Parameters
    ----------
    objective, total, name, about : str
        For which objective it was computed; the total, the part, and what it is.
    share : float
        Of the total, a mean over scenarios.
    by : tuple of Shortened
        What shortens it, what shortens it most first.
    """

    objective: str
    total: str
    name: str
    about: str
    share: float
    by: tuple[Shortened, ...]

    def __str__(self) -> str:
        common = {*self.total.split("_"), "time"}
        own = " ".join(word for word in self.name.split("_") if word not in common)
        said = self.about.split()  # "compute" too is said by "computing"
        if all(any(each.startswith(word[:-1]) for each in said) for word in own.split()):
            return f"{100 * self.share:.0f} % is {self.about}"
        own = f"{own} time" if own and self.name.endswith("_time") else own or worded(self.name)
        return f"{100 * self.share:.0f} % is {own} ({self.about})"


def halves(
    evaluator: Evaluator, result: Result, rule: Rule, points: Points, parts: Sequence[Part]
) -> tuple[Half, ...]:
    """Return what half of each time goes to that the objectives are made of.

    Parameters
    ----------
    points : Points
        The design: one.
    parts : sequence of Part
        Of the design.
    """
    wiring, found, told = evaluator.wiring, list[Half](), set[str]()
    for objective in evaluator.objectives:
        total = divisor(wiring, objective.quantity) or objective.quantity
        shares: dict[str, float] = {}
        for part in parts:
            if part.total == total and _is_time(part.unit) and total not in told:
                shares[part.name] = shares.get(part.name, 0.0) + part.share
        whole, said = sum(shares.values()), 0.0
        for name, share in sorted(shares.items(), key=lambda item: -item[1]):
            if said >= _HALF or not whole > 0:
                break
            said += share / whole
            by = _shortened(evaluator, result, rule, points, objective, name)
            about = wiring.quantities[name].about
            found.append(Half(objective.name, total, name, about, share / whole, by))
        if whole > 0:
            told.add(total)
    return tuple(found)


def _is_time(unit: str) -> bool:
    _, dimension = base(unit)
    return unit == "cycle" or dimension == {"[time]": 1}


def _shortened(
    evaluator: Evaluator,
    result: Result,
    rule: Rule,
    points: Points,
    objective: Objective,
    part: str,
) -> tuple[Shortened, ...]:
    """Return what shortens a part and improves the objective: of each kind the best, if any."""
    wiring, space = evaluator.wiring, evaluator.space
    owners, columns = space.quantities(), space.columns(points)
    needed = wiring.needs([part], objective.conditions).names
    free = {n for n in needed if n not in objective.conditions and n not in wiring.producers}
    found = _within(evaluator, result, points, objective, part)
    declared = free & improvable(evaluator).keys()
    for some in (declared, free - declared):  # what declares no way to be better is moved both ways
        values: dict[str, Array] = {}
        for name in sorted(some & wiring.quantities.keys()):
            if name not in declared and wiring.quantities[name].integer:
                continue  # a number that only tells things apart, perhaps
            now = columns[name] if name in columns else wiring.constants.get(name)
            if now is not None and kind_of(space, owners.get(name)) != SPACE:
                values[name] = _moved(wiring, name, np.atleast_1d(now), rule.factor, columns)
        for name, factor in _improved(wiring, objective, part, columns, values).items():
            kind = kind_of(space, owners.get(name))
            if factor >= _BETTER and (kind not in found or factor > found[kind].factor):
                found[kind] = Shortened(name, kind, owners.get(name, ""), worded(name), factor)
        if found:
            break
    return tuple(found[kind] for kind in (SPACE, PART, GIVEN) if kind in found)


def _improved(
    wiring: Wiring,
    objective: Objective,
    part: str,
    columns: Mapping[str, Array],
    values: Mapping[str, Array],
) -> dict[str, float]:
    """Return by which factor each input helps at most if it alone takes one of some values."""
    of = np.repeat(np.arange(len(values)), [len(each) for each in values.values()])
    every = {name: np.broadcast_to(value, of.shape) for name, value in columns.items()}
    for k, (name, each) in enumerate(values.items()):
        now = columns[name] if name in columns else np.atleast_1d(wiring.constants[name])
        every[name] = np.array(np.broadcast_to(now, of.shape), dtype=np.float64)
        every[name][of == k] = each
    found = _gains(wiring, objective, part, columns, every) if len(of) else np.zeros(0)
    return {name: float(found[of == k].max()) for k, name in enumerate(values)}


def _within(
    evaluator: Evaluator, result: Result, points: Points, objective: Objective, part: str
) -> dict[Kind, Shortened]:
    """Return the variable whose change alone shortens a part, feasibly, and helps most."""
    space = evaluator.space
    if isinstance(space, TableSpace):
        return {}
    near = neighbours(space, points)
    feasible = judged(evaluator, result, near.points).feasible if len(near.of) else near.of > 0
    if not feasible.any():
        return {}
    columns = space.columns({n: v[feasible] for n, v in near.points.items()})
    factors = _gains(evaluator.wiring, objective, part, space.columns(points), columns)
    best = int(np.argmax(factors))
    name, factor = list(space.variables)[near.moved[feasible][best]], float(factors[best])
    variable, told = space.variables[name], worded(name)
    if isinstance(variable, Choice):
        told = f"another {f'choice of {told}' if variable.about == SUBSET else told}"
    return {SPACE: Shortened(name, SPACE, name, told, factor)} if factor >= _BETTER else {}


def _moved(
    wiring: Wiring, name: str, now: Array, factor: float, columns: Mapping[str, Array]
) -> Array:
    """Return an input improved, or moved either way if nothing says which way is better."""
    quantity = wiring.quantities[name]
    if quantity.better is not None:
        return improved(wiring, name, now, factor, columns)
    values = np.concatenate([now / factor, now * factor])
    if quantity.integer:
        values = np.round(values)
    return np.where(quantity.contains(values), values, np.tile(now, 2))


def _gains(
    wiring: Wiring,
    objective: Objective,
    part: str,
    one: Mapping[str, Array],
    others: Mapping[str, Array],
) -> Array:
    """Return by which factor an objective is better in other designs than in one.

    It is 0 if the part is not shorter there, or a model raises.
    """
    count = len(next(iter(others.values()), np.zeros(1)))
    asked = [(name, objective.conditions) for name in (part, objective.quantity)]
    means, values = [], []
    for columns, size in ((one, 1), (others, count)):
        try:
            time, value = wiring.evaluate(asked, columns)
        except ModelError:
            return np.zeros(count)
        means.append(np.broadcast_to(time, (objective.scenarios, size)).mean(axis=0))
        values.append(objective.reduced(value, size))
    with np.errstate(all="ignore"):
        shorter = means[0] / means[1] >= _SHORTER
    return np.where(shorter, np.nan_to_num(gain(objective, *values), nan=0.0), 0.0)


def time_words(found: Sequence[Half]) -> list[str]:
    """Return what half of each time goes to, and what would shorten that, in sentences."""
    told = []
    for total in dict.fromkeys(each.total for each in found):
        mine = listed(str(each) for each in found if each.total == total)
        told.append(f"of its {worded(total)}, {mine}")
    if not told:
        return []
    said = "; ".join(told)
    by = listed(_who([one for each in found for one in each.by]))
    sentences = [f"{said[0].upper()}{said[1:]}."]
    return [*sentences, f"What would shorten that: {by}."] if by else sentences


def _who(found: Sequence[Shortened]) -> list[str]:
    """Return what would shorten a time, by who sets it."""
    within = {one.owner for one in found if one.kind == SPACE}  # it is in the space, as it is
    inputs: dict[tuple[Kind, str], dict[str, None]] = {}
    for one in sorted(found, key=lambda one: (SPACE, PART, GIVEN).index(one.kind)):
        if one.kind == SPACE or one.owner not in within:
            owner = one.owner if one.kind == PART and one.owner != one.input else ""
            inputs.setdefault((one.kind, owner), {})[one.told] = None
    return [
        f"another {worded(owner)} ({', '.join(names)})" if owner else f"{listed(names)} ({kind})"
        for (kind, owner), names in inputs.items()
    ]
