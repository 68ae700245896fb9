"""Checks of the whole study: nothing missing, nothing given twice, every variable has an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dse.evaluate.criteria import Conditions, Constraint, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Space
from dse.evaluate.trace import reaches
from dse.evaluate.wiring import Wiring
from dse.study.findings import Findings, Place
from dse.study.resolve.scope import shown
from dse.study.resolve.uncertainty import describe_distribution
from dse.study.schema import CatalogRow, CatalogTable, StudyFile, UncertainTable, input_value

_NAMED = 3  # targets in a message


def check_given_twice(findings: Findings, wiring: Wiring, space: Space) -> None:
    """Check that no quantity is set at two places."""
    owner: dict[str, Place] = {name: Place("inputs") for name in wiring.constants}
    for key, variable in space.variables.items():
        names = next(iter(variable.rows.values())) if isinstance(variable, Choice) else [key]
        place = Place("space") / key
        for name in names:
            if name in owner:
                other = str(owner[name]) if owner[name].steps else "[inputs]"
                message = f"'{name}' is given twice: by {place} and by {other}"
                findings.add(place, message, "leave one out")
            owner[name] = place
    for name, place in owner.items():
        if name in wiring.producers:
            model = wiring.producers[name].name
            where = str(place) if place.steps else "[inputs]"
            findings.add(
                place if place.steps else place / name,
                f"'{name}' is given twice: by {where} and by {model}, as its output",
                f"leave it out and take what {model} gives, leave that model out, "
                f'or rename its output: rename = {{ {name} = "another_name" }}',
            )


def check_missing(
    findings: Findings,
    wiring: Wiring,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
) -> None:
    """Check that the study sets every input that a target needs."""
    missing: dict[str, tuple[str, list[str]]] = {}
    for target, names, binding in _targets(objectives, constraints):
        for name, by in wiring.needs(names, binding).missing.items():
            missing.setdefault(name, (by, []))[1].append(target)
    for name, (by, needing) in missing.items():
        needed = f", needed by {by}" if by else ""
        more = f" and {len(needing) - _NAMED} more" if len(needing) > _NAMED else ""
        message = f"missing input '{name}'{_describe_input(wiring, name)}{needed} for "
        message += ", ".join(needing[:_NAMED]) + more
        findings.add(Place("inputs"), message, _remedy(wiring, name))


def _describe_input(wiring: Wiring, name: str) -> str:
    """Return the unit and the meaning of an input, in brackets."""
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


def check_effects(
    file: StudyFile,
    findings: Findings,
    wiring: Wiring,
    space: Space,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
) -> None:
    """Check that every variable affects a target, and every objective depends on a variable."""
    used: set[str] = set()
    owners = space.quantities()
    for target, names, binding in _targets(objectives, constraints):
        live = set(wiring.needs(names, binding).names) - set(binding)
        used |= live
        if not live & set(owners) and target.startswith("objective"):
            message = f"no variable changes {target}: every design gives the same"
            remedy = "add a variable that it depends on, or leave the objective out"
            findings.add(Place("space"), message, remedy)
    for key in space.variables:
        if not used & {q for q, owner in owners.items() if owner == key}:
            inputs = sorted(used & (set(wiring.quantities) - set(wiring.producers)))
            message = "has no effect: no objective and no constraint depends on it"
            remedy = f"they depend on {', '.join(inputs)}" if inputs else ""
            findings.add(Place("space") / key, message, remedy)
    for name in wiring.constants:
        if name not in used and name in file.inputs and name != "clock":  # it converts texts
            findings.note(unused_note(name))


def unused_note(name: str) -> str:
    """Return the note that an input has no effect."""
    return f"inputs.{name} is not used by any objective or constraint"


def effect_notes(evaluator: Evaluator) -> Iterator[str]:
    """Yield a note on each variable that affects some objectives only, or none."""
    for key, reach in reaches(evaluator).items():
        if not reach.objectives:
            yield f"{key} affects no objective: only constraints depend on it"
        elif reach.unmoved:
            yield f"{key} does not affect {', '.join(reach.unmoved)}"


def override_notes(file: StudyFile) -> Iterator[str]:
    """Yield a note on each value of a catalog entry that the study replaces."""
    for section, entries in (("inputs", file.inputs), ("space", file.space)):
        for key, entry in entries.items():
            if isinstance(entry, CatalogRow):
                overrides = {entry.row: entry.override}
            elif isinstance(entry, CatalogTable):
                overrides = dict(entry.override)
            else:
                continue
            for option, numbers in overrides.items():
                for name, number in numbers.items():
                    text = (
                        describe_distribution(number)
                        if isinstance(number, UncertainTable)
                        else shown(input_value(number).written)
                    )
                    place = Place(section) / key / "override"
                    yield f"{place}: {name} of {option} is {text}, the study's own value"


def _targets(
    objectives: Sequence[Objective], constraints: Sequence[Constraint]
) -> list[tuple[str, tuple[str, ...], Conditions]]:
    """Return every target: its name, the quantities that it needs, and its conditions."""
    found: list[tuple[str, tuple[str, ...], Conditions]] = []
    for objective in objectives:
        found.append((f"objective '{objective.name}'", (objective.quantity,), objective.conditions))
    for constraint in constraints:
        found.append((f"constraint '{constraint.name}'", constraint.names, constraint.conditions))
    return found
