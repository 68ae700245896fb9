"""The contract of a model: what a quantity is, and what a function must declare to be a model.

* `quantity`: `Quantity`, `Resource`, and what a function outside a domain gives;
* `contract`: a `Model` read from an annotated function;
* `units`: texts with units;
* `section`: what a model may add to the report, as data;
* `testing`: `check_model`, which holds any model to the contract.
"""

from dse.model.contract import Model, composed_of
from dse.model.quantity import Array, Floats, Quantity, Resource, declared, nan_outside

__all__ = [
    "Array",
    "Floats",
    "Model",
    "Quantity",
    "Resource",
    "composed_of",
    "declared",
    "nan_outside",
]
