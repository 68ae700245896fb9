"""Skipping: what models give for designs beside those that they raise for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.model.contract import Model
from dse.model.quantity import Array


def forgiving(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose models give NaN for a design that they raise for.

    The same one if a study ends at such a design. A search counts and names them instead; this is
    for what looks at designs beside those that were found.
    """
    if evaluator.on_error == "stop":
        return evaluator
    models = tuple(_forgiving(model) for model in evaluator.wiring.models)
    return replace(evaluator, wiring=replace(evaluator.wiring, models=models))


def _forgiving(model: Model) -> Model:
    return _Forgiving(**{each.name: getattr(model, each.name) for each in fields(Model)}, own=model)


@dataclass(frozen=True, eq=False)
class _Forgiving(Model):
    """A model that raises for no design, around its own."""

    own: Model = field(kw_only=True)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Return the outputs; NaN for each design alone that the model raises for."""
        try:
            return self.own(columns)
        except (Exception, SystemExit):
            given = [v for n, v in columns.items() if n in self.inputs and np.ndim(v)]
            shape = np.broadcast_shapes(*(np.shape(v) for v in given))
            if not shape or shape[-1] == 1:
                return {name: np.full(shape, np.nan) for name in self.fields}
        halves = []
        for half in (slice(shape[-1] // 2), slice(shape[-1] // 2, None)):
            some = {n: v[..., half] if _is_wide(v) else v for n, v in columns.items()}
            count = len(range(shape[-1])[half])
            outputs = self(some).items()
            halves.append({n: np.broadcast_to(v, (*shape[:-1], count)) for n, v in outputs})
        return {n: np.concatenate([half[n] for half in halves], axis=-1) for n in self.fields}


def _is_wide(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.shape[-1] > 1
