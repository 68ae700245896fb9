"""What the whole must satisfy: nothing missing, nothing given twice, no dead knob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.evaluate.conditions import Conditions
from dse.evaluate.constraint import Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.evaluate.space import Choice, Space
from dse.evaluate.trace import reaches
from dse.evaluate.wiring import Wiring
from dse.study.resolve.context import Context, shown
from dse.study.resolve.uncertain import in_words
from dse.study.schema import CatalogRow, CatalogTable
from dse.study.uncertain import UncertainTable

_NAMED = 3  # targets in a message


def check_given_twice(ctx: Context, wiring: Wiring, space: Space) -> None:
    """Require that no quantity has two origins."""
    owner: dict[str, str] = dict.fromkeys(wiring.constants, "[inputs]")
    for key, variable in space.variables.items():
        names = next(iter(variable.rows.values())) if isinstance(variable, Choice) else [key]
        for name in names:
            if name in owner:
                ctx.add(
                    f"space.{key}",
                    f"'{name}' is given twice: by space.{key} and by {owner[name]}",
                    "leave one out",
                )
            owner[name] = f"space.{key}"
    for name, where in owner.items():
        if name in wiring.producers:
            model = wiring.producers[name].name
            ctx.add(
                f"inputs.{name}" if where == "[inputs]" else where,
                f"'{name}' is given twice: by {where} and by {model}, as its output",
                f"leave it out and take what {model} gives, leave that model out, "
                f'or rename its output: rename = {{ {name} = "another_name" }}',
            )


def check_overrides(ctx: Context, wiring: Wiring) -> None:
    """Require that a model takes what the study sets of a row, and note it."""
    overridden = [
        (f"{section}.{key}.override", option, name, number)
        for section, entries in (("inputs", ctx.file.inputs), ("space", ctx.file.space))
        for key, entry in entries.items()
        for option, numbers in _overrides(entry).items()
        for name, number in numbers.items()
    ]
    for where, option, name, number in overridden:
        if name in wiring.quantities:
            told = in_words(number) if isinstance(number, UncertainTable) else shown(number)
            text = f"{name} of {option} is {told}, the study's own figure"
            ctx.notes.append(f"{where}: {text}")
        elif name not in ctx.doubtful and not ctx.incomplete:
            ctx.add(f"{where}.{name}", f"no model takes '{name}'", "leave it out")


def _overrides(entry: Any) -> Mapping[str, Mapping[str, float | str | UncertainTable]]:
    if isinstance(entry, CatalogRow):
        return {entry.row: entry.override}
    return entry.override if isinstance(entry, CatalogTable) else {}


def check_missing(
    ctx: Context, wiring: Wiring, objectives: list[Objective], constraints: list[Constraint]
) -> None:
    """Require that every input that a target needs has an origin."""
    wanted: dict[str, tuple[str, list[str]]] = {}
    for target, names, binding in targets(objectives, constraints):
        for name, by in wiring.needs(names, binding).missing.items():
            if name not in ctx.doubtful:
                wanted.setdefault(name, (by, []))[1].append(target)
    for name, (by, needing) in wanted.items():
        needed = f", needed by {by}" if by else ""
        more = f" and {len(needing) - _NAMED} more" if len(needing) > _NAMED else ""
        message = f"missing input '{name}'{_what(wiring, name)}{needed} for "
        ctx.add("inputs", message + ", ".join(needing[:_NAMED]) + more, _remedy(wiring, name))


def _what(wiring: Wiring, name: str) -> str:
    """Return what an input is, in brackets."""
    if name in wiring.resources:
        return f" ({wiring.resources[name].about})"
    if name in wiring.quantities:
        return f" [{wiring.quantities[name].unit}] ({wiring.quantities[name].about})"
    return " [Hz] (what relates cycles and seconds)" if name == "clock" else ""


def _remedy(wiring: Wiring, name: str) -> str:
    if name in wiring.resources:
        return f'give {name} = "its file or folder" in [inputs]'
    quantity = wiring.quantities.get(name)
    domain = f", in {quantity.domain()}" if quantity else ""
    return f"give {name} in [inputs], in [space], or under at{domain}"


def check_dead(
    ctx: Context,
    wiring: Wiring,
    space: Space,
    objectives: list[Objective],
    constraints: list[Constraint],
) -> None:
    """Require that every variable matters to a target, and every objective to a variable.

    Every target and variable must have been read: what was left out may be what matters.
    """
    used: set[str] = set()
    owners = space.quantities()
    for target, names, binding in targets(objectives, constraints):
        live = set(wiring.needs(names, binding).names) - set(binding)
        used |= live
        if not live & set(owners) and target.startswith("objective"):
            ctx.add(
                "space",
                f"no variable changes {target}: every design gives the same",
                "add a variable that it depends on, or leave the objective out",
            )
    for key in space.variables:
        if not used & {q for q, owner in owners.items() if owner == key}:
            reach = sorted(used & (set(wiring.quantities) - set(wiring.producers)))
            ctx.add(
                f"space.{key}",
                "dead knob: no objective and no constraint depends on it",
                f"they depend on {', '.join(reach)}" if reach else "",
            )
    for name in wiring.constants:
        if name not in used and name in ctx.file.inputs and name != "clock":  # it converts texts
            ctx.notes.append(unused(name))


def unused(name: str) -> str:
    """Return the note that an input has no effect."""
    return f"inputs.{name} is not used by any objective or constraint"


def note_reach(ctx: Context, evaluator: Evaluator) -> None:
    """Note the variables that move some objectives alone, or none."""
    for key, reach in reaches(evaluator).items():
        if not reach.objectives:
            ctx.notes.append(f"{key} has no part in any objective: constraints alone depend on it")
        elif reach.unmoved:
            ctx.notes.append(f"{key} has no part in {', '.join(reach.unmoved)}")


def targets(
    objectives: list[Objective], constraints: list[Constraint]
) -> list[tuple[str, tuple[str, ...], Conditions]]:
    """Return every target: what it is, the quantities it needs, what is bound for it."""
    found: list[tuple[str, tuple[str, ...], Conditions]] = []
    for objective in objectives:
        found.append((f"objective '{objective.name}'", (objective.quantity,), objective.conditions))
    for constraint in constraints:
        found.append((f"constraint '{constraint.name}'", constraint.names, constraint.conditions))
    return found
