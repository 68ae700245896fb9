"""The model graph as people read it: the origin of each input, and the effects of each variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dse.evaluate.criteria import Conditions, Constraint, show_conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import SAMPLE, Sampled
from dse.evaluate.space import Choice
from dse.model.contract import Model


@dataclass(frozen=True)
class ModelStep:
    """One model of a study, in the order in which they are run."""

    model: str
    gives: tuple[str, ...]
    """The outputs that an objective, a constraint or another model uses."""
    takes: Mapping[str, tuple[str, ...]]
    """By origin (``"variable"``, ``"row of interface"``, ``"input"``, ``"uncertain input"``, a
    model, ``"default"``, ``"condition"``): the inputs."""


@dataclass(frozen=True)
class VariableEffects:
    """The objectives and constraints that a variable affects, and the others."""

    objectives: tuple[str, ...]
    constraints: tuple[str, ...]
    """The ones that depend on it."""
    others: tuple[str, ...]
    """The ones that do not."""
    unmoved: tuple[str, ...]
    """The objectives that do not, although a model computes them."""


def list_steps(evaluator: Evaluator) -> tuple[ModelStep, ...]:
    """Return the models that an evaluation runs, in the order of running."""
    model_graph, requests = evaluator.model_graph, evaluator.requests()
    models = {model.name: model for model in model_graph.models}
    gives: dict[str, dict[str, None]] = {}
    takes: dict[str, dict[str, dict[str, None]]] = {}

    def uses(name: str, conditions: Conditions) -> None:
        if name not in conditions and name in model_graph.producers:
            gives.setdefault(model_graph.producers[name].name, {}).setdefault(name)

    for name, conditions in requests:
        uses(name, conditions)
    for key, bound in model_graph.runs(requests):
        conditions = dict(bound)
        mine = takes.setdefault(key, {})
        for name in model_graph.reads[key]:
            uses(name, conditions)
            origin, shown = _origin(evaluator, models[key], name, conditions)
            mine.setdefault(origin, {}).setdefault(shown)
    return tuple(
        ModelStep(
            key,
            tuple(name for name in models[key].outputs if name in gives[key]),
            {origin: tuple(names) for origin, names in mine.items()},
        )
        for key, mine in takes.items()
    )


def _origin(
    evaluator: Evaluator, model: Model, name: str, conditions: Conditions
) -> tuple[str, str]:
    """Return the origin of an input of a model, and its text there."""
    model_graph = evaluator.model_graph
    if isinstance(conditions.get(name), Sampled):
        return "condition", f"{name}, sampled"
    if name in conditions:
        return "condition", show_conditions({name: conditions[name]}, model_graph.quantities)
    if name in model_graph.producers:
        return model_graph.producers[name].name, name
    owner = evaluator.space.quantities().get(name)
    if owner is not None:
        choice = isinstance(evaluator.space.variables[owner], Choice)
        return f"row of {owner}" if choice else "variable", name
    if name in model_graph.constants:
        drawn = name in model_graph.spread and SAMPLE in conditions
        return "uncertain input" if drawn else "input", name
    return "default", f"{name} = {model.defaults[name]:g}"


def list_variable_effects(evaluator: Evaluator) -> dict[str, VariableEffects]:
    """Return for each variable the names that depend on it, by the model graph."""
    owners = evaluator.space.quantities()

    def moved(names: Iterable[str], conditions: Conditions) -> set[str]:
        live = set(evaluator.model_graph.needs(names, conditions).names) - set(conditions)
        return {owners[name] for name in live & owners.keys()}

    producers = evaluator.model_graph.producers
    given = {o.name for o in evaluator.objectives if o.quantity in producers}  # not a variable
    objectives = [(o.name, moved([o.quantity], o.conditions)) for o in evaluator.objectives]
    constraints = [(_short(c), moved(c.names, c.conditions)) for c in evaluator.constraints]
    return {
        key: VariableEffects(
            tuple(name for name, keys in objectives if key in keys),
            tuple(name for name, keys in constraints if key in keys),
            tuple(name for name, keys in (*objectives, *constraints) if key not in keys),
            tuple(name for name, keys in objectives if key not in keys and name in given),
        )
        for key in evaluator.space.variables
    }


def _short(constraint: Constraint) -> str:
    """Return a constraint without the sentence of a model that requires it."""
    if constraint.required_by and constraint.relation is not None:
        return constraint.relation.text
    return constraint.name
