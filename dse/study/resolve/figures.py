"""Figures: each number and file that a study is given and that its results depend on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import Middle, Sampled
from dse.evaluate.space import SUBSET, Choice
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Quantity
from dse.study.provenance import Origin, Provenance
from dse.study.resolve.context import Context


@dataclass(frozen=True)
class Stated:
    """A figure that a study is given, and where it is from.

    Parameters
    ----------
    name : str
        The quantity.
    label : str
        For people: with the row that it is of, if a variable chooses that.
    unit : str
        The quantity's; empty for a file.
    value : float
        In that unit; a `Middle` if it is uncertain, NaN for a file.
    provenance : Provenance
        How well it is founded.
    source : str
        What it is taken from.
    objectives : tuple of str
        Those that depend on it; constraints alone do if there are none.
    variable, option : str
        The variable that chooses its row, and the row; empty if it is the same for all designs.
    bound : bool
        Whether it is a condition of one objective or constraint, and uncertain.
    default : bool
        Whether it is a model's default that the study leaves as it is.
    """

    name: str
    label: str
    unit: str
    value: float
    provenance: Provenance
    source: str
    objectives: tuple[str, ...]
    variable: str = ""
    option: str = ""
    bound: bool = False
    default: bool = False


def stated(ctx: Context, evaluator: Evaluator) -> tuple[Stated, ...]:
    """Return the figures that objectives or constraints depend on.

    What `at` and `over` bind is what is asked, not what is known: it is no figure unless it is
    uncertain. Neither is an input that relations alone name, which is a bound, nor a default that
    chooses something in a file, such as a program.
    """
    by_objective, used = _used(evaluator)

    def made(
        name: str, label: str, value: float, origin: Origin, option: tuple[str, str]
    ) -> Stated:
        reached = tuple(o for o, names in by_objective.items() if name in names)
        quantity = evaluator.wiring.quantities.get(name)
        unit = quantity.unit if quantity is not None else "Hz" if name == "clock" else ""
        return Stated(name, label, unit, value, origin.provenance, origin.source, reached, *option)

    found = []
    for name, value in evaluator.wiring.constants.items():
        if name in used and name not in evaluator.wiring.free:
            number = value if isinstance(value, int | float) else math.nan
            found.append(made(name, name, number, ctx.origins["", "", name], ("", "")))
    for key, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice) and variable.about != SUBSET:
            for option, row in variable.rows.items():
                for name in (n for n in row if n in used):
                    origin = ctx.origins[key, option, name]
                    label = f"{name} of {option}"
                    found.append(made(name, label, row[name], origin, (key, option)))
    for name, value, model in _defaults(evaluator.wiring, used - {*ctx.greatest}):
        figure = made(name, name, value, Origin(source=f"default of {model}"), ("", ""))
        found.append(replace(figure, default=True))
    return (*found, *_bound(ctx, evaluator))


def _used(evaluator: Evaluator) -> tuple[dict[str, set[str]], set[str]]:
    """Return what each objective depends on, and what anything does.

    A clock counts wherever another figure does: it may have been given in seconds.
    """
    wiring = evaluator.wiring
    rows = (v.rows for v in evaluator.space.variables.values() if isinstance(v, Choice))
    given = {*wiring.constants}.union(*(next(iter(each.values())) for each in rows)) - {"clock"}
    by_objective = {}
    for objective in evaluator.objectives:
        names = wiring.needs([objective.quantity], objective.conditions).names
        live = {*names} - {*objective.conditions}
        by_objective[objective.name] = live | {"clock"} if live & given else live
    used = {"clock"}.union(*by_objective.values())
    for constraint in evaluator.constraints:
        names = wiring.needs(constraint.names, constraint.conditions).names
        used |= {*names} - {*constraint.conditions}
    return by_objective, used


def _defaults(wiring: Wiring, used: set[str]) -> Iterator[tuple[str, float, str]]:
    """Yield inputs that are left to a model's default: name, value, model."""
    seen = {*wiring.constants, *wiring.varied, *wiring.producers}
    for model in wiring.models:
        for name, value in model.defaults.items():
            declared = model.inputs[name]
            if name in used and name not in seen and isinstance(declared, Quantity):
                seen.add(name)
                if declared.unit == wiring.quantities[name].unit:
                    yield name, float(value), model.name


def _bound(ctx: Context, evaluator: Evaluator) -> Iterator[Stated]:
    """Yield what is uncertain among the conditions of an objective or a constraint."""
    asked = [(o.name, o.conditions) for o in evaluator.objectives]
    asked += [("", c.conditions) for c in evaluator.constraints]
    seen = set()
    for objective, conditions in asked:
        for name, value in conditions.items():
            middle = value.middle if isinstance(value, Sampled) else value
            if isinstance(middle, Middle) and middle.where not in seen:
                seen.add(middle.where)
                label = f"{name} of {middle.where.partition('.')[0]}"
                unit = evaluator.wiring.quantities[name].unit
                origin = ctx.origins[middle.where, "", name]
                reached = (objective,) if objective else ()
                yield Stated(
                    name, label, unit, middle, origin.provenance, origin.source, reached, bound=True
                )
