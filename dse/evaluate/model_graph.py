"""The model graph: models joined by quantity name, run in order, and only if they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions, Constraint, Reduction, show_conditions
from dse.evaluate.samples import SAMPLE, Spread
from dse.model.contract import ContractError, Model, changes_inputs
from dse.model.declarations import ModelRequirement
from dse.model.grammar import Expression, Number
from dse.model.quantity import Array, Quantity, Resource
from dse.model.relation import Relation, scale_quantity
from dse.model.units import UnitError, conversion_factor
from dse.model.values import show
from dse.problems import DseError, Problem

Key = tuple[str, frozenset[tuple[str, float | tuple[float, ...]]]]
"""A model's name, with the conditions of the inputs that affect it."""

_UNCONDITIONAL: frozenset[tuple[str, float | tuple[float, ...]]] = frozenset()


@dataclass(frozen=True)
class NeededNames:
    """The names that some targets need, each with the model that needs it first."""

    names: dict[str, str]
    missing: dict[str, str]


@dataclass(frozen=True)
class ModelGraph:
    """Models and constants, joined by quantity name."""

    models: tuple[Model, ...]
    """Leaves only (see `Model.leaves`)."""
    constants: Mapping[str, Any]
    """Numbers in base units, and resources."""
    varied: frozenset[str]
    """Quantities that the space sets."""
    free: Mapping[str, Quantity] = field(default_factory=dict)
    """Quantities that only the study's relations name."""
    spread: Mapping[str, Spread] = field(default_factory=dict)
    """Uncertain quantities: their numbers in the samples of conditions."""

    @cached_property
    def producers(self) -> dict[str, Model]:
        """The model that computes each output; the first if two do."""
        found: dict[str, Model] = {}
        for model in self.models:
            for name in model.outputs:
                found.setdefault(name, model)
        return found

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """Every quantity by name: as its producer declares it, else its first consumer."""
        found: dict[str, Quantity] = dict(self.free)
        for model in self.models:
            for name, quantity in model.quantities.items():
                found.setdefault(name, quantity)
        for name, model in self.producers.items():
            found[name] = model.outputs[name]
        return found

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Every input that is not an array, by name."""
        return {n: d for m in self.models for n, d in m.inputs.items() if isinstance(d, Resource)}

    @cached_property
    def known(self) -> frozenset[str]:
        """Every name that some model takes or gives."""
        return frozenset(self.quantities) | frozenset(self.resources)

    @cached_property
    def conversions(self) -> dict[str, dict[str, tuple[float, int]]]:
        """For each model, its inputs that are held in another unit: factor and clock's power."""
        conversions: dict[str, dict[str, tuple[float, int]]] = {m.name: {} for m in self.models}
        for model in self.models:
            for name, declaration in model.inputs.items():
                held = self.quantities.get(name)
                if isinstance(declaration, Quantity) and held and held.unit != declaration.unit:
                    with suppress(UnitError):  # a conflict
                        conversions[model.name][name] = conversion_factor(
                            held.unit, declaration.unit
                        )
        return conversions

    @cached_property
    def reads(self) -> dict[str, dict[str, bool]]:
        """For each model, the names that it reads, and whether each has a default.

        A model that takes cycles as seconds reads the clock too.
        """
        reads = {m.name: {name: name in m.defaults for name in m.inputs} for m in self.models}
        for model, conversions in self.conversions.items():
            if any(power for _, power in conversions.values()):
                reads[model]["clock"] = False
        return reads

    @cached_property
    def upstream(self) -> dict[str, frozenset[str]]:
        """For each model, every name that its outputs depend on."""
        upstream: dict[str, frozenset[str]] = {}

        def visit(model: Model) -> frozenset[str]:
            if model.name not in upstream:
                upstream[model.name] = (
                    frozenset()
                )  # a circle ends here; `find_conflicts` reports it
                names = set(self.reads[model.name])
                if not names.isdisjoint(self.spread):
                    names.add(SAMPLE)
                producers = [self.producers[name] for name in names if name in self.producers]
                upstream[model.name] = frozenset(names.union(*map(visit, producers)))
            return upstream[model.name]

        for model in self.models:
            visit(model)
        return upstream

    def needs(self, targets: Iterable[str], bound: Iterable[str] = ()) -> NeededNames:
        """Return every name that these targets need, and the names without a source."""
        names: dict[str, str] = {}
        missing: dict[str, str] = {}
        held = set(bound)

        def visit(name: str, by: str, default: bool) -> None:
            first = name not in names
            names.setdefault(name, by)
            if name in self.spread and name not in held:
                names.setdefault(SAMPLE, by)
            if name in held or name in self.varied or name in self.constants:
                return
            producer = self.producers.get(name)
            if producer is None:
                if not default:
                    missing.setdefault(name, by)
            elif first:
                for inner, has_default in self.reads[producer.name].items():
                    visit(inner, producer.name, has_default)

        for target in targets:
            visit(target, "", False)
        return NeededNames(names, missing)

    def affecting(self, targets: Iterable[str], bound: Iterable[str] = ()) -> set[str]:
        """Return the names that affect these targets, without inputs declared to have no effect."""
        affecting: set[str] = set()
        left, ends = [*targets], {*bound, *self.varied, *self.constants}
        while left:
            name = left.pop()
            producer = self.producers.get(name)
            if name not in affecting and name not in ends and producer is not None:
                signs = producer.monotonic.get(name, {})
                left += [inner for inner in self.reads[producer.name] if signs.get(inner) != 0]
            affecting.add(name)
        return affecting

    def evaluate(
        self,
        requests: Iterable[tuple[str, Conditions]],
        columns: Mapping[str, Array],
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> list[Any]:
        """Compute quantities on columns, each under its own conditions.

        Columns have what the space sets, one element per design. Runs of models whose outputs are
        `known` are not done again.

        Returns
        -------
        list
            One array per request, in the quantity's unit: of shape (designs,), with several
            scenarios (scenarios, designs); any axis without effect may be 1 or absent.
        """
        return Evaluation(self, columns, dict(known or {})).values(requests)

    def done(
        self, requests: Iterable[tuple[str, Conditions]], columns: Mapping[str, Array]
    ) -> dict[Key, Mapping[str, Any]]:
        """Return the outputs of every run that these requests take, as `evaluate` does them."""
        evaluation = Evaluation(self, columns, {})
        for name, conditions in requests:
            evaluation.value(name, conditions)
        return evaluation.done

    def unmoved(
        self, done: Mapping[Key, Mapping[str, Any]], name: str
    ) -> dict[Key, Mapping[str, Any]]:
        """Return the runs that an input does not affect: they are `known` if only it changes."""
        return {key: run for key, run in done.items() if name not in self.upstream[key[0]]}

    def given(
        self, model: Model, conditions: Conditions, columns: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the inputs of a model, in its units; without an input that has its default."""
        return Evaluation(self, columns, {}).given(model, conditions)

    def relevant(self, model: Model, conditions: Conditions) -> tuple[Conditions, Key]:
        """Return the conditions that affect a model, and the key of that run."""
        if not conditions:
            return conditions, (model.name, _UNCONDITIONAL)
        upstream = self.upstream[model.name]
        found = {n: v for n, v in conditions.items() if n in upstream}
        return found, (model.name, frozenset(found.items()))

    def runs(self, requests: Iterable[tuple[str, Conditions]]) -> list[Key]:
        """Return the keys of the runs that these requests take, inner ones before outer ones."""
        keys: dict[Key, None] = {}

        def visit(name: str, conditions: Conditions) -> None:
            producer = self.producers.get(name)
            if name in conditions or producer is None:
                return
            relevant, key = self.relevant(producer, conditions)
            if key not in keys:
                for inner in self.reads[producer.name]:
                    visit(inner, relevant)
                keys[key] = None

        for name, conditions in requests:
            visit(name, conditions)
        return list(keys)


@dataclass(frozen=True)
class Evaluation:
    """Quantities on columns; each run of a model is done once."""

    model_graph: ModelGraph
    columns: Mapping[str, Array]
    """The values of the designs that the space sets, one element per design."""
    done: dict[Key, Mapping[str, Any]]
    """Outputs of models that need no run; the outputs of each new run are added."""

    def among(self, rows: NDArray[np.intp], count: int) -> Evaluation:
        """Return the evaluation for some of its `count` designs, with the finished runs."""
        columns = _Rows(self.columns, rows, count)
        return Evaluation(self.model_graph, columns, {**select_outputs(self.done, rows, count)})

    def values(self, requests: Iterable[tuple[str, Conditions]]) -> list[Any]:
        """Return quantities, each under its own conditions; see `ModelGraph.evaluate`."""
        return [self.value(name, conditions) for name, conditions in requests]

    def value(self, name: str, conditions: Conditions) -> Any:
        """Return a quantity in its own unit."""
        if name in conditions:
            return _bound(conditions[name])
        producer = self.model_graph.producers.get(name)
        if producer is not None:
            return self.run(producer, conditions)[name]
        given = self.columns[name] if name in self.columns else self.model_graph.constants[name]
        if name in self.model_graph.spread and SAMPLE in conditions:
            return self.model_graph.spread[name](conditions[SAMPLE], self.columns, given)
        return given

    def run(self, model: Model, conditions: Conditions) -> Mapping[str, Any]:
        """Return a model's outputs; an input without a source has its default."""
        relevant, key = self.model_graph.relevant(model, conditions)
        if key not in self.done:
            given = self.given(model, relevant)
            self.done[key] = call_model(model, given)
        return self.done[key]

    def given(self, model: Model, conditions: Conditions) -> dict[str, Any]:
        """Return the inputs of a run of a model."""
        graph, columns = self.model_graph, self.columns
        return {
            name: self._taken(name, conditions, model)
            for name in model.inputs
            if name in graph.producers
            or name in graph.constants
            or name in columns
            or name in conditions
        }

    def _taken(self, name: str, conditions: Conditions, model: Model) -> Any:
        """Return an input in the unit of the model."""
        given = self.value(name, conditions)
        conversions = self.model_graph.conversions[model.name]
        if name in conversions:
            scale, power = conversions[name]
            given = given * scale
            if power:
                given = given * np.asarray(self.value("clock", conditions), np.float64) ** power
        return given


def select_outputs(
    done: Mapping[Key, Mapping[str, Any]], rows: NDArray[np.intp], count: int
) -> dict[Key, Mapping[str, Any]]:
    """Return the outputs of runs on `count` designs for some of these, in any order, or often."""
    return {key: _Rows(outputs, rows, count) for key, outputs in done.items()}


class _Rows(Mapping[str, Any]):
    """Columns of some of `count` designs, selected at the first use."""

    def __init__(self, columns: Mapping[str, Any], rows: NDArray[Any], count: int) -> None:
        self._columns, self._rows, self._count = columns, rows, count
        self._selected: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._selected:
            value = self._columns[name]
            if self._count > 1 and np.ndim(value) and np.shape(value)[-1] == self._count:
                value = np.take(value, self._rows, axis=-1)
            self._selected[name] = value
        return self._selected[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _bound(given: float | tuple[float, ...]) -> Any:
    """Return a bound input: a number, or a column of one row a scenario."""
    return np.array(given)[:, None] if isinstance(given, tuple) else given


class ModelError(DseError):
    """A model raised an exception. `model` is its name, `error` the exception or SystemExit."""

    exit_code = 1

    def __init__(self, model: str, error: BaseException) -> None:
        super().__init__(model, error)
        self.model = model
        self.error = error

    def __str__(self) -> str:
        if isinstance(self.error, ContractError):
            return f"{self.model} {self.error}"
        message = f"{self.model} raised {type(self.error).__name__}: {self.error}"
        if changes_inputs(self.error):
            return f"{message} (it changes its inputs: copy them first)"
        return message


def call_model(model: Model, given: Mapping[str, Any]) -> dict[str, Array]:
    """Return a model's outputs; every exception of the model becomes a `ModelError`."""
    try:
        return model(given)
    except (Exception, SystemExit) as error:
        raise ModelError(model.name, error) from error


# Models that cannot be joined ---------------------------------------------------------------------


def find_conflicts(model_graph: ModelGraph) -> list[Problem]:
    """Return the outputs that two models give, the units that do not fit, and a circle."""
    problems: list[Problem] = []
    for model in model_graph.models:
        for name in model.outputs:
            if (first := model_graph.producers[name]) is not model:
                message = f"'{name}' is given twice: by {first.name} and by {model.name}"
                remedy = f'rename = {{ {name} = "another_name" }} }}'
                remedy = f'leave one out, or rename: {{ use = "…", {remedy}'
                problems.append(Problem("study.models", message, remedy))
        for name, declaration in model.inputs.items():
            held = model_graph.quantities.get(name)
            if isinstance(declaration, Quantity) and held is not None:
                try:
                    conversion_factor(held.unit, declaration.unit)
                except UnitError:
                    message = f"'{name}' is in {held.unit!r}, but {model.name} takes it in"
                    message = f"{message} {declaration.unit!r}"
                    problems.append(Problem("study.models", message, "rename one of them"))
    problems += _find_circles(model_graph)
    return problems


def _find_circles(model_graph: ModelGraph) -> Iterator[Problem]:
    """Yield a problem for each circle of models; lists, not sets, keep their order in each run."""
    needed = {
        model.name: list(
            dict.fromkeys(
                model_graph.producers[n].name for n in model.inputs if n in model_graph.producers
            )
        )
        for model in model_graph.models
    }
    while True:
        try:
            TopologicalSorter(needed).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]
            message = f"the models need each other in a circle: {' → '.join(circle)}"
            yield Problem("study.models", message, "rename the quantity that closes it")
            needed[circle[0]].remove(circle[1])  # opened: the others are found too
        else:
            return


# Requirements of the models -----------------------------------------------------------------------


def required_constraints(
    model_graph: ModelGraph, requests: Iterable[tuple[str, Conditions]]
) -> tuple[tuple[Constraint, ...], tuple[str, ...]]:
    """Return the requirements of the models that some requests run, and in words those not checked.

    A requirement is evaluated wherever its model is used: under the conditions of each objective
    and constraint that runs the model, and in each scenario. Conditions that none of its quantities
    depends on are left out: two objectives often share one constraint. A requirement does not add
    the requirements of the models that it compares. It is not checked if a quantity of it is
    missing. The model graph is without conflicts.
    """
    models = {model.name: model for model in model_graph.models}
    constraints: dict[object, Constraint] = {}
    unchecked: dict[str, None] = {}
    for request, conditions in requests:
        for key, _ in model_graph.runs([(request, conditions)]):
            for requirement in models[key].requirements:
                relation = _in_held_units(model_graph, models[key], requirement, conditions)
                needs = model_graph.needs(sorted(relation.names), conditions)
                words, by = f"{requirement.about}: {relation.text}", requirement.by
                if needs.missing:
                    unchecked[f"{words}, required by {by}: needs {', '.join(needs.missing)}"] = None
                    continue
                bound = {n: v for n, v in conditions.items() if n in needs.names}
                at = show_conditions(bound, model_graph.quantities)
                name = f"{words} {at}".strip() + f", required by {by}"
                worst = (
                    Reduction("max") if any(isinstance(v, tuple) for v in bound.values()) else None
                )
                same = by, relation.text, frozenset(bound.items())
                constraint = Constraint(name, "", "1", 0.0, True, relation, bound, at, worst, by)
                constraints.setdefault(same, constraint)
    return tuple(constraints.values()), tuple(unchecked)


def _in_held_units(
    model_graph: ModelGraph, model: Model, requirement: ModelRequirement, conditions: Conditions
) -> Relation:
    """Return a requirement, which a model declares in its own units, in the units of the study.

    A default replaces an input that has no source.
    """
    sources = {*model_graph.producers, *model_graph.varied, *model_graph.constants, *conditions}
    defaults = {n: v for m in (*model_graph.models, model) for n, v in m.defaults.items()}
    parts: dict[str, Expression] = {}
    for name in requirement.relation.names:
        declaration = model.quantities.get(name)
        if name not in sources and name in defaults:
            parts[name] = Number(0, repr(float(defaults[name])))
        elif declaration is not None:
            scale, power = conversion_factor(model_graph.quantities[name].unit, declaration.unit)
            if scale != 1.0 or power:
                parts[name] = scale_quantity(name, scale, power)
    return requirement.relation.replaced(parts)


# Quantities without a value -----------------------------------------------------------------------


def explain_missing_value(
    model_graph: ModelGraph, columns: Mapping[str, Array], quantity: str, conditions: Conditions
) -> str:
    """Return in words why a quantity of a design is not a number; empty if no fault is found.

    The models of the quantity run one after the other, as in the study. The first fault is an input
    outside its domain, which is reported with the domain, or an output that is not a number
    although every input of its model is in its domain. Each column has one element.
    """
    if quantity not in model_graph.producers:
        missing = np.isnan(np.asarray(columns.get(quantity, 0.0), dtype=np.float64)).any()
        return f"{quantity} has no value in the table" if missing else ""
    models = {model.name: model for model in model_graph.models}
    needed = model_graph.needs([quantity], conditions).names
    for name, bound in model_graph.runs([(quantity, conditions)]):
        model = models[name]
        try:
            inputs = model_graph.given(model, dict(bound), columns)
            if outside := _first_outside(model, inputs):
                return outside
            outputs = call_model(model, inputs)
        except ModelError as error:
            return str(error)
        for output, values in outputs.items():
            if output in needed and np.isnan(values).any():
                return (
                    f"{output}, which {name} gives, is not a number, "
                    "though every input of that model is in its domain"
                )
    return ""


def _first_outside(model: Model, inputs: Mapping[str, Any]) -> str:
    for name, value in inputs.items():
        declared = model.inputs[name]
        if isinstance(declared, Quantity):
            values = np.atleast_1d(np.asarray(value, dtype=np.float64))
            outside = values[~declared.contains(values)]
            if outside.size:
                unit = f" {declared.unit}" if declared.unit != "1" else ""
                return (
                    f"{name} = {show(float(outside[0]), declared.unit)} is outside the domain "
                    f"{declared.domain()}{unit} of {model.name}"
                )
    return ""
