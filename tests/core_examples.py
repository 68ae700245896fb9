"""Small models, spaces and evaluators for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from dse.evaluate import Evaluator, Goal, Limit
from dse.expression import read_relation
from dse.model import Model
from dse.quantity import Quantity
from dse.result import Objective
from dse.space import Space, Variable
from dse.wiring import Wiring


def model(
    name: str,
    function: Callable[..., Any],
    inputs: Mapping[str, str] | Sequence[str],
    outputs: Mapping[str, str] | Sequence[str],
    defaults: Mapping[str, float] | None = None,
) -> Model:
    """Return a model of a function that returns one array, or a tuple of them; names or units."""
    taken = inputs if isinstance(inputs, Mapping) else dict.fromkeys(inputs, "1")
    given = outputs if isinstance(outputs, Mapping) else dict.fromkeys(outputs, "1")

    def run(**values: Any) -> SimpleNamespace:
        result = function(**values)
        results = result if isinstance(result, tuple) else (result,)
        return SimpleNamespace(**dict(zip(given, results, strict=True)))

    return Model(
        name,
        run,
        {n: Quantity(unit, n) for n, unit in taken.items()},
        defaults or {},
        {n: Quantity(unit, n) for n, unit in given.items()},
        {n: n for n in taken},
        {n: n for n in given},
    )


def wiring(models: Sequence[Model], varied: Sequence[str] = (), **constants: float) -> Wiring:
    return Wiring(tuple(models), constants, frozenset(varied))


def goal(
    quantity: str,
    direction: Literal["minimize", "maximize"] = "minimize",
    scenarios: Sequence[Mapping[str, float]] = ({},),
    reduction: Any = None,
    quantile: float = 0.5,
) -> Goal:
    info = Objective(quantity, quantity, direction, "1", "", quantity)
    return Goal(info, tuple(scenarios), reduction, quantile)


def limit(quantity: str, bound: float, *, upper: bool = True) -> Limit:
    sign = "<=" if upper else ">="
    return Limit(f"{quantity} {sign} {bound:g}", quantity, "1", bound, upper, None, {})


def relation(text: str) -> Limit:
    return Limit(text, "", "1", 0.0, True, read_relation(text), {})


def evaluator(
    space: Mapping[str, Variable],
    models: Sequence[Model],
    goals: Sequence[Goal],
    limits: Sequence[Limit] = (),
    **constants: float,
) -> Evaluator:
    whole = Space(space)
    wired = wiring(models, tuple(whole.quantities()), **constants)
    return Evaluator(wired, whole, tuple(goals), tuple(limits))


def brute_front(points: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return the rows that no other row dominates, less being better, two by two."""
    rows = [tuple(row) for row in points.tolist()]
    return [
        i
        for i, p in enumerate(rows)
        if not any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in rows)
    ]
