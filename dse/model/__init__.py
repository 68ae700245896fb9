"""The contract of a model: the meaning of a quantity, and the declarations of a model function.

* `quantity`: `Quantity` and `Resource`;
* `signature`: the declarations of a function, with its records laid flat;
* `decorators`: `model` and `composed_of`, which make a function callable as a model;
* `declarations`: `monotonic`, `lower_bound` and `requires`: how outputs depend on inputs, and
  relations that must hold;
* `contract`: a `Model` read from an annotated function;
* `grammar`: comparisons in relations, targets and filters, from text to a tree;
* `dimension`: the units of comparisons; `relation`: comparisons of arrays; `filter`: of columns;
* `units`: texts with units, and misspelt ones;
* `values`: numbers as text and as JSON;
* `section`: a part of the report that a model adds, as data;
* `testing`: `check_model`, which checks any model against the contract;
* `pairs`: pairs of inputs that contradict a declaration.
"""

from dse.model.contract import Model
from dse.model.declarations import Requirement, lower_bound, monotonic, requires
from dse.model.decorators import composed_of, model
from dse.model.quantity import Array, Floats, Quantity, Resource
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
