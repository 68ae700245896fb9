"""Dependencies of the whole study: missing inputs, variables without effect, the inputs used."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.graph_summary import list_variable_effects
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.samples import Uncertain
from dse.evaluate.space import Choice, Space
from dse.model.quantity import Quantity
from dse.study.findings import Findings, Place
from dse.study.resolve.inputs import Inputs
from dse.study.resolve.objectives import BoundValues
from dse.study.resolve.variables import Variables
from dse.study.schema import InputValue, KernelStudyFile, Provenance, StudyFile

_NAMED = 3  # targets in a message

# Checks


def check_given_twice(findings: Findings, model_graph: ModelGraph, space: Space) -> None:
    """Check that no quantity is set at two places."""
    owners = {name: Place("inputs") for name in model_graph.constants}
    for key, variable in space.variables.items():
        place = Place("space") / key
        for name in next(iter(variable.rows.values())) if isinstance(variable, Choice) else [key]:
            if name in owners:
                message = f"'{name}' is given twice: by {place} and by {_shown(owners[name])}"
                findings.add(place, message, "leave one out")
            owners[name] = place
    for name, place in owners.items():
        if name in model_graph.producers:
            model = model_graph.producers[name].name
            findings.add(
                place if place.steps else place / name,
                f"'{name}' is given twice: by {_shown(place)} and by {model}, as its output",
                f"leave it out and take what {model} gives, leave that model out, "
                f'or rename its output: rename = {{ {name} = "another_name" }}',
            )


def _shown(place: Place) -> str:
    return str(place) if place.steps else f"[{place}]"


def check_missing(findings: Findings, evaluator: Evaluator) -> None:
    """Check that the study sets every input that a target needs."""
    model_graph = evaluator.model_graph
    missing: dict[str, tuple[str, list[str]]] = {}
    for target, names, conditions in _targets(evaluator):
        for name, model in model_graph.needs(names, conditions).missing.items():
            missing.setdefault(name, (model, []))[1].append(target)
    for name, (model, targets) in missing.items():
        about, domain = " [Hz] (what relates cycles and seconds)" if name == "clock" else "", ""
        if name in model_graph.resources:
            about = f" ({model_graph.resources[name].about})"
        elif name in model_graph.quantities:
            quantity = model_graph.quantities[name]
            about = f" [{quantity.unit}] ({quantity.about})"
            domain = f", in {quantity.domain()}"
        needed = f", needed by {model}" if model else ""
        more = f" and {len(targets) - _NAMED} more" if len(targets) > _NAMED else ""
        message = f"missing input '{name}'{about}{needed} for {', '.join(targets[:_NAMED])}{more}"
        remedy = f"give {name} in [inputs], in [space], or under at{domain}"
        if name in model_graph.resources:
            remedy = f'give {name} = "its file or folder" in [inputs]'
        findings.add(Place("inputs"), message, remedy)


def check_effects(
    file: StudyFile, findings: Findings, evaluator: Evaluator, shown: Collection[str]
) -> None:
    """Check that every variable affects a target, and every objective depends on a variable.

    Inputs without effect, and variables that affect some objectives only, are noted. Inputs that
    sections of the report need (`shown`) have one.
    """
    model_graph, reached = evaluator.model_graph, list_variable_effects(evaluator)
    used = set[str]().union(*(names for _, names in _live_names(evaluator)))
    for objective in evaluator.objectives if not isinstance(file, KernelStudyFile) else ():
        if not any(objective.name in reach.objectives for reach in reached.values()):
            message = f"no variable changes objective '{objective.name}': every design is the same"
            remedy = "add a variable that it depends on, or leave the objective out"
            findings.add(Place("space"), message, remedy)
    for key, reach in reached.items():
        if not reach.objectives and not reach.constraints:
            inputs = sorted(used & (model_graph.quantities.keys() - model_graph.producers.keys()))
            message = "has no effect: no objective and no constraint depends on it"
            remedy = f"they depend on {', '.join(inputs)}" if inputs else ""
            findings.add(Place("space") / key, message, remedy)
        elif not reach.objectives:
            findings.notes.append(f"{key} affects no objective: only constraints depend on it")
        elif reach.unmoved:
            findings.notes.append(f"{key} does not affect {', '.join(reach.unmoved)}")
    for name in model_graph.constants:
        idle = name not in used and name not in shown
        if idle and name in file.inputs and name != "clock":  # it converts texts
            findings.notes.append(unused_note(name))


def unused_note(name: str) -> str:
    """Return the note that an input has no effect."""
    return f"inputs.{name} is not used by any objective or constraint"


def _targets(evaluator: Evaluator) -> Iterator[tuple[str, tuple[str, ...], Conditions]]:
    """Yield every objective and constraint: its name, its quantities, and its conditions."""
    for objective in evaluator.objectives:
        yield f"objective '{objective.name}'", (objective.quantity,), objective.conditions
    for constraint in evaluator.constraints:
        yield f"constraint '{constraint.name}'", constraint.names, constraint.conditions


def _live_names(evaluator: Evaluator) -> Iterator[tuple[str, set[str]]]:
    """Yield for each target the names that it depends on, without the names that it binds."""
    for target, names, conditions in _targets(evaluator):
        yield target, {*evaluator.model_graph.needs(names, conditions).names} - {*conditions}


# The input values that results depend on


@dataclass(frozen=True)
class StudyInput:
    """An input value that the results of a study depend on.

    Parameters
    ----------
    label : str
        For people: with the row that it is of, if a variable chooses that.
    unit : str
        The quantity's; empty for a file.
    value : float
        In that unit; the middle if it is uncertain, NaN for a file.
    objectives : tuple of str
        The objectives that depend on it; only constraints do if there are none.
    variable, option : str
        The variable that chooses its row, and the row; empty if it is the same for all designs.
    bound : bool
        Whether it is a condition of one objective or constraint, and uncertain.
    default : bool
        Whether it is a model's default that the study leaves as it is.
    range : tuple of float
        The bounds of its plausible values; empty if neither the study nor the catalog gives them.
    kernels : tuple of str
        The kernels of a system that have it; none for an input of the study itself.
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
    uncertain: Uncertain | None = None
    bound: bool = False
    default: bool = False
    range: tuple[float, ...] = ()
    range_source: str = ""
    kernels: tuple[str, ...] = ()


def list_inputs(
    evaluator: Evaluator, inputs: Inputs, variables: Variables, bound: BoundValues
) -> tuple[StudyInput, ...]:
    """Return the input values that objectives or constraints depend on.

    What `at` and `over` bind is a question, and not an input value unless it is uncertain. An
    input that only relations name is a bound, and a default that chooses something in a file,
    such as a program, is no value either.
    """
    model_graph = evaluator.model_graph
    by_target = [names for _, names in _live_names(evaluator)]
    by_objective = by_target[: len(evaluator.objectives)]
    numbers = {*model_graph.constants}.union(
        *(row for rows in variables.rows.values() for row in rows.values())
    ) - {"clock"}
    for names in by_objective:
        if names & numbers:  # a clock counts: another value may have been given in seconds
            names.add("clock")
    used = {"clock"}.union(*by_target)

    def study_input(name: str, value: InputValue, label: str = "") -> StudyInput:
        pairs = zip(evaluator.objectives, by_objective, strict=True)
        quantity = model_graph.quantities.get(name)
        return StudyInput(
            name,
            label or name,
            quantity.unit if quantity is not None else "Hz" if name == "clock" else "",
            math.nan if name in inputs.resources else float(value.value),
            value.provenance,
            value.source,
            tuple(objective.name for objective, names in pairs if name in names),
            uncertain=value.distribution,
            range=tuple(map(float, value.range)),
            range_source=value.range_source,
        )

    listed = [
        study_input(name, inputs.values[name])
        for name in model_graph.constants
        if name in used and name not in model_graph.free and name in inputs.values
    ]
    for key, rows in variables.rows.items():
        for option, row in rows.items():
            for name, value in row.items():
                if name in used:
                    given = study_input(name, value, f"{name} of {option}")
                    listed.append(replace(given, variable=key, option=option))
    for name, default, model in _defaults(model_graph, used - {*inputs.limits}):
        value = InputValue(default, source=f"default of {model}")
        listed.append(replace(study_input(name, value), default=True))
    for place, value in bound.items():
        name, target = str(place.steps[-1]), Place(place.section, place.steps[:1])
        objectives: tuple[str, ...] = ()
        if place.section == "objective":
            objectives = (evaluator.objectives[int(place.steps[0])].name,)
        given = study_input(name, value, f"{name} of {target}")
        listed.append(replace(given, objectives=objectives, bound=True))
    return tuple(listed)


def _defaults(model_graph: ModelGraph, used: set[str]) -> Iterator[tuple[str, float, str]]:
    """Yield inputs that are left to a model's default: name, value, model.

    A default that means "none" is no assumption.
    """
    seen = {*model_graph.constants, *model_graph.varied, *model_graph.producers}
    for model in model_graph.models:
        for name, value in model.defaults.items():
            declared = model.inputs[name]
            if name in used and name not in seen and isinstance(declared, Quantity):
                seen.add(name)
                if (
                    not _is_none(declared, value)
                    and declared.unit == model_graph.quantities[name].unit
                ):
                    yield name, float(value), model.name


def _is_none(quantity: Quantity, value: float) -> bool:
    """Return whether a value is the usual 0 of a quantity, and not the best case of a cost."""
    usual = quantity.typical is not None and quantity.typical[0] == 0
    return value == 0 and usual and quantity.better != "lower"
