"""Conflicts: models that cannot be joined in one graph."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.wiring import Wiring
from dse.model.contract import Model
from dse.model.quantity import Quantity
from dse.model.units import UnitError, factor
from dse.problems import Problem

_WHERE = "study.models"


def conflicts(wiring: Wiring) -> list[Problem]:
    """Return the outputs that two models give, the units that do not fit, and the circles."""
    found: list[Problem] = []
    for model in wiring.models:
        found += _given_twice(wiring, model)
        found += _misfits(wiring, model)
    return found + _circles(wiring)


def _given_twice(wiring: Wiring, model: Model) -> Iterator[Problem]:
    for name in model.outputs:
        first = wiring.producers[name]
        if first is not model:
            yield Problem(
                _WHERE,
                f"'{name}' is given twice: by {first.name} and by {model.name}",
                'leave one out, or rename: { use = "…", rename = { '
                f'{name} = "another_name" }} }}',
            )


def _misfits(wiring: Wiring, model: Model) -> Iterator[Problem]:
    for name, declaration in model.inputs.items():
        held = wiring.quantities.get(name)
        if not isinstance(declaration, Quantity) or held is None:
            continue
        try:
            factor(held.unit, declaration.unit)
        except UnitError:
            yield Problem(
                _WHERE,
                f"'{name}' is in {held.unit!r}, but {model.name} takes it in {declaration.unit!r}",
                "rename one of them",
            )


def _circles(wiring: Wiring) -> list[Problem]:
    done: set[str] = set()
    found: list[Problem] = []

    def visit(model: Model, path: tuple[Model, ...]) -> None:
        if model in path:
            circle = " → ".join(m.name for m in (*path[path.index(model) :], model))
            message = f"the models need each other in a circle: {circle}"
            found.append(Problem(_WHERE, message, "rename the quantity that closes it"))
            return
        if model.name in done:
            return
        for name in model.inputs:
            producer = wiring.producers.get(name)
            if producer is not None:
                visit(producer, (*path, model))
        done.add(model.name)

    for model in wiring.models:
        visit(model, ())
    return found
