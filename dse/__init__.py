"""Design-space exploration for hardware accelerators.

>>> import dse
>>> dse.load("studies/crypto.toml").run().front.designs  # doctest: +SKIP

Public names: `load` and `from_mapping` make a `Study`, `load_result` reads a run's `StudyResult`,
`compare` sets two side by side; `Quantity`, `Resource`, `Floats` and `Array` declare models,
`demands` and `Demand` what must hold for their outputs to mean anything, and `testing.check_model`
holds them to their contract; `InputError` is what bad input raises.
Everything is imported when it is first used: ``import dse`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse import testing
    from dse.api import Front, Study, StudyResult, compare, from_mapping, load, load_result
    from dse.model.demand import Demand, demands
    from dse.model.quantity import Array, Floats, Quantity, Resource
    from dse.problems import DseError, InputError

_HOMES = {
    "Array": "dse.model.quantity",
    "Demand": "dse.model.demand",
    "DseError": "dse.problems",
    "Floats": "dse.model.quantity",
    "Front": "dse.api",
    "InputError": "dse.problems",
    "Quantity": "dse.model.quantity",
    "Resource": "dse.model.quantity",
    "Study": "dse.api",
    "StudyResult": "dse.api",
    "compare": "dse.api",
    "demands": "dse.model.demand",
    "from_mapping": "dse.api",
    "load": "dse.api",
    "load_result": "dse.api",
}

__all__ = [
    "Array",
    "Demand",
    "DseError",
    "Floats",
    "Front",
    "InputError",
    "Quantity",
    "Resource",
    "Study",
    "StudyResult",
    "compare",
    "demands",
    "from_mapping",
    "load",
    "load_result",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "testing":
        return importlib.import_module("dse.testing")
    raise AttributeError(f"module 'dse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
