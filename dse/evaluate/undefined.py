"""The reason why a quantity of a design is not a number: the first fault in the model graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.conditions import Conditions
from dse.evaluate.wiring import ModelError, Wiring
from dse.model.contract import Model
from dse.model.quantity import Array, Quantity
from dse.model.values import show


def why_undefined(
    wiring: Wiring, columns: Mapping[str, Array], quantity: str, conditions: Conditions
) -> str:
    """Return in words why a quantity of a design is not a number.

    The models of the quantity run one after the other, as in the study. The first fault is an input
    outside its domain, which is reported with the domain, or an output that is not a number
    although every input of its model is in its domain.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (1,)
        The values of the design, as the space sets them.
    quantity : str
        The quantity without a value.
    conditions : mapping
        The conditions of the quantity.

    Returns
    -------
    str
        Empty if it has a value, or no fault is found.
    """
    models = {model.name: model for model in wiring.models}
    wanted = wiring.needs([quantity], conditions).names
    if quantity not in wiring.producers:
        missing = np.isnan(np.asarray(columns.get(quantity, 0.0), dtype=np.float64)).any()
        return f"{quantity} has no value in the table" if missing else ""
    for name, bound in wiring.runs([(quantity, conditions)]):
        model = models[name]
        try:
            given = wiring.given(model, dict(bound), columns)
            if told := _outside(model, given):
                return told
            outputs = model(given)
        except ModelError as error:
            return str(error)
        except (Exception, SystemExit) as error:  # whatever a model raises
            return str(ModelError(name, error))
        for output, values in outputs.items():
            if output in wanted and np.isnan(values).any():
                return (
                    f"{output}, which {name} gives, is not a number, "
                    "though every input of that model is in its domain"
                )
    return ""


def _outside(model: Model, given: Mapping[str, Any]) -> str:
    """Return the input of a model that is outside its domain, in words; empty if none is."""
    for name, value in given.items():
        declared = model.inputs[name]
        if not isinstance(declared, Quantity):
            continue
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
        bad = values[~declared.contains(values)]
        if bad.size:
            unit = f" {declared.unit}" if declared.unit != "1" else ""
            return (
                f"{name} = {show(float(bad[0]), declared.unit)} is outside the domain "
                f"{declared.domain()}{unit} of {model.name}"
            )
    return ""
