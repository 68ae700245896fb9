"""The contract of a model: what a quantity is, and what a function must declare to be a model.

* `quantity`: `Quantity` and `Resource`;
* `signature`: what a function declares, with its records laid flat;
* `decorators`: `model` and `composed_of`, which make a function callable as a model;
* `requirement`: what must hold for a model's outputs to mean anything;
* `expression` and `dimension`: relations between quantities, as data, and their units;
* `declarations`: `monotonic` and `lower_bound`, what outputs are declared to do;
* `contract`: a `Model` read from an annotated function;
* `units`, `nearest_unit`: texts with units, and misspelt ones;
* `values`: numbers as text and as JSON;
* `section`: what a model may add to the report, as data;
* `testing`: `check_model`, which holds any model to the contract; `pairs`: which refute moves.
"""

from dse.model.contract import Model
from dse.model.declarations import lower_bound, monotonic
from dse.model.decorators import composed_of, model
from dse.model.quantity import Array, Floats, Quantity, Resource
from dse.model.requirement import Requirement, requires
from dse.model.signature import declared

__all__ = [
    "Array",
    "Floats",
    "Model",
    "Quantity",
    "Requirement",
    "Resource",
    "composed_of",
    "declared",
    "lower_bound",
    "model",
    "monotonic",
    "requires",
]
