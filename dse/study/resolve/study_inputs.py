"""Study inputs: each number and file that a study is given and that its results depend on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import Uncertain
from dse.evaluate.space import Choice
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Quantity
from dse.study.findings import Place
from dse.study.input_value import InputValue, Provenance
from dse.study.resolve.inputs import Inputs
from dse.study.resolve.variables import Variables


@dataclass(frozen=True)
class StudyInput:
    """An input value that the results of a study depend on.

    Parameters
    ----------
    name : str
        The quantity.
    label : str
        For people: with the row that it is of, if a variable chooses that.
    unit : str
        The quantity's; empty for a file.
    value : float
        In that unit; the middle if it is uncertain, NaN for a file.
    provenance : Provenance
        How well it is founded.
    source : str
        The reference that it is taken from.
    objectives : tuple of str
        The objectives that depend on it; only constraints do if there are none.
    variable, option : str
        The variable that chooses its row, and the row; empty if it is the same for all designs.
    uncertain : Uncertain or None
        How it is sampled.
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
    uncertain: Uncertain | None = None
    bound: bool = False
    default: bool = False


def list_inputs(
    evaluator: Evaluator, inputs: Inputs, variables: Variables, bound: Mapping[Place, InputValue]
) -> tuple[StudyInput, ...]:
    """Return the input values that objectives or constraints depend on.

    What `at` and `over` bind is a question, and not an input value unless it is uncertain. An
    input that only relations name is a bound, and a default that chooses something in a file,
    such as a program, is no value either.

    Parameters
    ----------
    bound : mapping of Place to InputValue
        The uncertain input values of conditions, by place.
    """
    by_objective, used = _dependencies(evaluator)
    wiring = evaluator.wiring

    def made(name: str, value: InputValue, label: str, **more: object) -> StudyInput:
        objectives = tuple(o for o, names in by_objective.items() if name in names)
        number = math.nan if name in inputs.resources else float(value.value)
        quantity = wiring.quantities.get(name)
        unit = quantity.unit if quantity is not None else "Hz" if name == "clock" else ""
        given = (value.provenance, value.source, objectives)
        fields = {"uncertain": value.distribution, **more}
        return StudyInput(name, label, unit, number, *given, **fields)

    found = []
    for name in wiring.constants:
        if name in used and name not in wiring.free and name in inputs.values:
            found.append(made(name, inputs.values[name], name))
    for key, rows in variables.rows.items():
        for option, row in rows.items():
            for name, value in row.items():
                if name in used:
                    label = f"{name} of {option}"
                    found.append(made(name, value, label, variable=key, option=option))
    for name, default, model in _defaults(wiring, used - {*inputs.limits}):
        value = InputValue(default, source=f"default of {model}")
        found.append(made(name, value, name, default=True))
    return (*found, *_conditions(evaluator, bound))


def _dependencies(evaluator: Evaluator) -> tuple[dict[str, set[str]], set[str]]:
    """Return the inputs of each objective, and of all targets.

    A clock counts wherever another input value does: that may have been given in seconds.
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


def _conditions(evaluator: Evaluator, bound: Mapping[Place, InputValue]) -> Iterator[StudyInput]:
    """Yield the uncertain input values of conditions."""
    for place, value in bound.items():
        name, target = str(place.steps[-1]), Place(place.section, place.steps[:1])
        of_objective = place.section == "objective"
        reached = (evaluator.objectives[int(place.steps[0])].name,) if of_objective else ()
        unit = evaluator.wiring.quantities[name].unit
        yield StudyInput(
            name,
            f"{name} of {target}",
            unit,
            float(value.value),
            value.provenance,
            value.source,
            reached,
            uncertain=value.distribution,
            bound=True,
        )
