"""Skipping: what models give for designs beside those that they raise for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.halving import Gave, halved
from dse.model.contract import Model, breaks_contract
from dse.model.quantity import Array


def forgiving(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose models give NaN for a design that they raise for.

    The same one if a study ends at such a design. A search counts and names them instead; this is
    for what looks at designs beside those that were found.
    """
    return evaluator if evaluator.on_error == "stop" else unfailing(evaluator)


def unfailing(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose models give NaN for a design that they raise for, in any study.

    This is for designs that the search need not have run the models on: those that constraints
    exclude.
    """
    models = tuple(_forgiving(model) for model in evaluator.wiring.models)
    return replace(evaluator, wiring=replace(evaluator.wiring, models=models))


def _forgiving(model: Model) -> Model:
    return _Forgiving(**{each.name: getattr(model, each.name) for each in fields(Model)}, own=model)


@dataclass(frozen=True, eq=False)
class _Forgiving(Model):
    """A model that raises for no design, around its own; if it breaks the contract it raises."""

    own: Model = field(kw_only=True)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Return the outputs; NaN for each design alone that the model raises for."""
        try:
            return self.own(columns)
        except (Exception, SystemExit) as error:
            if breaks_contract(error):
                raise
            given = [v for n, v in columns.items() if n in self.inputs and np.ndim(v)]
            shape = np.broadcast_shapes(*(np.shape(v) for v in given))
            if not shape or shape[-1] == 1:
                return {name: np.full(shape, np.nan) for name in self.fields}
            return self._in_parts(columns, shape, error)

    def _in_parts(
        self, columns: Mapping[str, Any], shape: tuple[int, ...], error: BaseException
    ) -> dict[str, Array]:
        def run(low: int, high: int) -> Mapping[str, Array]:
            return self.own({n: v[..., low:high] if _is_wide(v) else v for n, v in columns.items()})

        whole = {name: np.full(shape, np.nan) for name in self.fields}
        for part in halved(run, 0, shape[-1], error, (Exception, SystemExit)):
            if isinstance(part, Gave):
                for name, value in part.found.items():
                    whole[name][..., part.low : part.high] = value
            elif breaks_contract(part.error):
                raise part.error
        return whole


def _is_wide(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.shape[-1] > 1
