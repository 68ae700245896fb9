"""Design-space exploration for hardware accelerators.

>>> import dse
>>> dse.load("studies/crypto.toml").run().front.designs  # doctest: +SKIP

Public names: `load` and `from_mapping` make a `Study`, `load_result` reads a run's `StudyResult`;
`Quantity`, `Resource`, `Floats` and `Array` declare models; `InputError` is what bad input raises.
Everything is imported when it is first used: ``import dse`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.folder import load_result
    from dse.problems import DseError, InputError
    from dse.quantity import Array, Floats, Quantity, Resource
    from dse.result import Front, StudyResult
    from dse.study import Study, from_mapping, load

_HOMES = {
    "Array": "dse.quantity",
    "DseError": "dse.problems",
    "Floats": "dse.quantity",
    "Front": "dse.result",
    "InputError": "dse.problems",
    "Quantity": "dse.quantity",
    "Resource": "dse.quantity",
    "Study": "dse.study",
    "StudyResult": "dse.result",
    "from_mapping": "dse.study",
    "load": "dse.study",
    "load_result": "dse.folder",
}

__all__ = [
    "Array",
    "DseError",
    "Floats",
    "Front",
    "InputError",
    "Quantity",
    "Resource",
    "Study",
    "StudyResult",
    "from_mapping",
    "load",
    "load_result",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
