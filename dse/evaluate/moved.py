"""Declarations of monotonicity, checked on a study's own designs in a run of any kind.

Bounds depend on the declarations. A search that evaluates all designs does not use them, but a
later search may. Each input of some designs thus takes the values of other designs, with all other
inputs fixed.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.model.contract import Model
from dse.model.pairs import contradiction
from dse.model.quantity import Array, Resource


def contradictions(evaluator: Evaluator, points: Points) -> dict[str, str]:
    """Return the declarations that some designs contradict, in words, by input and output."""
    wiring = evaluator.wiring
    models = {model.name: model for model in wiring.models}
    columns = evaluator.space.columns(points)
    found: dict[str, str] = {}
    for name, bound in wiring.runs(evaluator.requests()):
        model = models[name]
        if not model.monotonic:
            continue
        with suppress(Exception, SystemExit):  # the search reports what a model raises
            given = wiring.given(model, dict(bound), columns)
            told = _contradicted(model, given, len(next(iter(points.values()))))
            found |= {f"moves of {n}": f"{model.name}: {text}" for n, text in told.items()}
    return found


def _contradicted(model: Model, given: dict[str, object], count: int) -> dict[str, str]:
    rng = np.random.default_rng(0)
    fixed = {n: v for n, v in given.items() if isinstance(model.inputs[n], Resource)}
    varied: dict[str, Array] = {}
    for name, value in given.items():
        if name not in fixed:
            column = np.asarray(value, dtype=np.float64)
            column = column[rng.integers(len(column))] if column.ndim > 1 else column
            varied[name] = np.broadcast_to(column, (count,))
    found: dict[str, str] = {}
    one = {**fixed, **varied}
    before = model(one)
    for moved, column in varied.items():
        if any(moved in moves for moves in model.monotonic.values()):
            other = {**one, moved: rng.permutation(column)}
            told = contradiction(model, moved, (one, other), (before, model(other)))
            if told is not None:
                found.setdefault(*told)
    return found
