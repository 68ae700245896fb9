"""Random model graphs of shipped models, small enough to enumerate."""

from __future__ import annotations

from functools import cache

import numpy as np

from dse.evaluate.criteria import Constraint, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import ModelGraph, find_conflicts
from dse.evaluate.space import Space, Values
from dse.model import Model, Quantity
from dse.study.catalog import list_models

_MOST = 3_000  # designs


@cache
def shipped() -> tuple[Model, ...]:
    """Return the shipped models whose inputs are all numbers, parts of composed ones alone."""
    leaves = {
        leaf.name: leaf for listed in list_models("objectives") for leaf in listed.model.leaves
    }
    return tuple(
        model
        for model in leaves.values()
        if all(isinstance(declared, Quantity) for declared in model.inputs.values())
    )


def wired(rng: np.random.Generator) -> Evaluator:
    """Return a few shipped models, joined by name, over random values of some of their inputs."""
    while True:
        chosen: list[Model] = []
        for i in rng.permutation(len(shipped()))[: int(rng.integers(1, 6))]:
            chosen += _joining(chosen, shipped()[i])
        made = {name for model in chosen for name in model.outputs}
        model_graph = ModelGraph(tuple(chosen), {}, frozenset())
        given = {name for model in chosen for name in model.inputs} | {
            *model_graph.needs(made).missing
        }
        if given - made and given <= {
            *model_graph.quantities
        }:  # a clock may be needed by none of them
            return _over(rng, model_graph, sorted(given - made), sorted(made))


def _joining(chosen: list[Model], model: Model) -> list[Model]:
    """Return the model if it can be joined to others, else none."""
    if any(set(model.outputs) & set(other.outputs) for other in chosen):
        return []
    return [] if find_conflicts(ModelGraph((*chosen, model), {}, frozenset())) else [model]


def _over(
    rng: np.random.Generator, model_graph: ModelGraph, names: list[str], made: list[str]
) -> Evaluator:
    space: dict[str, Values] = {}
    constants: dict[str, float] = {}
    left = _MOST
    varied = set(rng.permutation(names)[: int(rng.integers(1, 5))].tolist())
    for name in names:
        drawn = model_graph.quantities[name].draw(rng, int(rng.integers(2, 13)))
        values = np.unique(drawn)[: max(1, left)]
        if name in varied and len(values) > 1:
            space[name] = Values(tuple(rng.permutation(values).tolist()))
            left //= len(values)
        else:
            constants[name] = float(drawn[0])
    if not space:
        return wired(rng)
    objectives = rng.choice(made, min(len(made), int(rng.integers(1, 5))), replace=False).tolist()
    model_graph = ModelGraph(model_graph.models, constants, frozenset(space))
    return Evaluator(
        model_graph,
        Space(dict(space)),
        tuple(
            Objective(n, n, "minimize" if rng.random() < 0.5 else "maximize", "1", "", n)
            for n in objectives
        ),
        _constraints(rng, Evaluator(model_graph, Space(dict(space)), (), ()), made),
    )


def _constraints(
    rng: np.random.Generator, evaluator: Evaluator, made: list[str]
) -> tuple[Constraint, ...]:
    """Return a bound on an output that about half of the designs keep to, or none."""
    name = str(rng.choice(made))
    size = evaluator.space.size or 1
    columns = evaluator.space.columns(evaluator.space.from_index(np.arange(size)))
    (values,) = evaluator.model_graph.evaluate([(name, {})], columns)
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known) or rng.random() < 0.5:
        return ()
    bound, upper = float(np.median(known)), bool(rng.random() < 0.5)
    return (Constraint(f"{name} {bound:g}", name, "1", bound, upper, None, {}),)
