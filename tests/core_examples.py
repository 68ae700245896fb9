"""Small models, spaces and evaluators for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from dse.cli import main
from dse.evaluate.criteria import Constraint, Objective, Reduction
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.space import Choice, Integer, Real, Space, Values, Variable
from dse.model import Model, Quantity
from dse.model.relation import read_relation


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


def model_graph(
    models: Sequence[Model], varied: Sequence[str] = (), **constants: float
) -> ModelGraph:
    return ModelGraph(tuple(models), constants, frozenset(varied))


def objective(
    quantity: str,
    direction: Literal["minimize", "maximize"] = "minimize",
    scenarios: Sequence[Mapping[str, float]] = ({},),
    reduction: Any = None,
    quantile: float = 0.5,
) -> Objective:
    names = list(scenarios[0])
    several = {n: tuple(each[n] for each in scenarios) for n in names}
    one = dict(scenarios[0])
    return Objective(
        quantity,
        quantity,
        direction,
        "1",
        "",
        quantity,
        conditions=several if reduction else one,
        reduction=Reduction(reduction, quantile) if reduction else None,
    )


def constraint(quantity: str, bound: float, *, upper: bool = True) -> Constraint:
    sign = "<=" if upper else ">="
    return Constraint(f"{quantity} {sign} {bound:g}", quantity, "1", bound, upper, None, {})


def relation(text: str) -> Constraint:
    return Constraint(text, "", "1", 0.0, True, read_relation(text), {})


def evaluator(
    space: Mapping[str, Variable],
    models: Sequence[Model],
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint] = (),
    **constants: float,
) -> Evaluator:
    whole = Space(space)
    wired = model_graph(models, tuple(whole.quantities()), **constants)
    return Evaluator(wired, whole, tuple(objectives), tuple(constraints))


def brute_front(points: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return the rows that no other row dominates, less being better, each against all."""
    return [
        i
        for i, p in enumerate(points)
        if not ((points <= p).all(axis=1) & (points != p).any(axis=1)).any()
    ]


def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Run the command line; return exit code, output and errors."""
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["dse", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


MIXED: dict[str, Variable] = {
    "lanes": Integer(1, 64, log=True),
    "depth": Integer(0, 30, 3),
    "clock": Real(0.5, 2.0, steps=16),
    "row": Choice({"a": {"base": 1.0}, "b": {"base": 3.0}, "c": {"base": 0.5}}),
    "width": Values((8.0, 64.0, 16.0, 32.0)),
}
SPEED = model(
    "speed",
    lambda lanes, depth, clock, base, width: (
        lanes * clock * np.sqrt(width) / (base + lanes / (1 + depth)),
        lanes * width * (1 + 0.05 * depth) * clock**1.5 + 40 * base,
    ),
    ["lanes", "depth", "clock", "base", "width"],
    ["speed", "cost"],
)
