"""Design-space exploration for hardware accelerators.

A script loads a study, changes it, runs it, and queries the result (docs/tutorials/scripts.md)::

    import dse

    study = dse.load("studies/crypto.toml").with_inputs(streams=64, calls_in_flight=2)
    quick = study.with_row("interface", "axi-dma", interface_latency="0.4 us")

    result, other = study.run(), quick.run()
    best = result.best("speedup")
    print(best["interface"], best["lanes"], best["speedup"])
    print(result.explain(best))
    result.report("crypto.html")

    sweep = study.sweep("granularity", ["256 B", "1 KiB", "4 KiB"])
    print(sweep.table)
    sweep.plot().write_html("sweep.html")
    print(dse.compare(result, other))

`load` and `from_mapping` make a `Study`; `Study.run` gives a `StudyResult` with its `Front`,
`Study.sweep` a `Sweep`. `load_result` reads a run folder; `compare` compares two results.
`Quantity`, `Resource`, `Floats` and `Array` declare models. `requires` and `Requirement` declare
the validity conditions of their outputs, `monotonic` and `lower_bound` how the outputs depend on
the inputs. `testing.check_model` checks models against their contract.

Bad input raises `InputError`, a study without a feasible design `InfeasibleError`. Both list every
problem at once. A model that raises ends a run or a sweep with `StoppedError`, and `Study.evaluate`
with `ModelError`. All of them are a `DseError`.

Numbers are in the base units that ``dse list`` shows, and texts with units are read wherever a
study file has them. Whole quantities are integers, choices are names.

Modules next to the packages: `cli` has the commands. `boundary` ends a command and saves unforeseen
errors. `options` has the kinds of options, such as file names. `run` runs a study, writes its
report, and stops at a model's error (`StoppedError`). `problems` has the other errors: places,
paths, nearest names, files that are refused, and texts without passwords. `testing` checks models.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse import testing
    from dse.api import (
        Explanation,
        Front,
        Study,
        StudyResult,
        Sweep,
        compare,
        from_mapping,
        load,
        load_result,
    )
    from dse.evaluate.model_graph import ModelError
    from dse.model.declarations import Requirement, lower_bound, monotonic, requires
    from dse.model.quantity import Array, Floats, Quantity, Resource
    from dse.problems import DseError, InfeasibleError, InputError
    from dse.run import StoppedError

_HOMES = {
    "dse.api": {"Explanation", "Front", "Study", "StudyResult", "Sweep", "compare"}
    | {"from_mapping", "load", "load_result"},
    "dse.evaluate.model_graph": {"ModelError"},
    "dse.model.declarations": {"Requirement", "lower_bound", "monotonic", "requires"},
    "dse.model.quantity": {"Array", "Floats", "Quantity", "Resource"},
    "dse.problems": {"DseError", "InfeasibleError", "InputError"},
    "dse.run": {"StoppedError"},
}

__all__ = [
    "Array",
    "DseError",
    "Explanation",
    "Floats",
    "Front",
    "InfeasibleError",
    "InputError",
    "ModelError",
    "Quantity",
    "Requirement",
    "Resource",
    "StoppedError",
    "Study",
    "StudyResult",
    "Sweep",
    "compare",
    "from_mapping",
    "load",
    "load_result",
    "lower_bound",
    "monotonic",
    "requires",
    "testing",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    if name == "testing":
        return importlib.import_module("dse.testing")
    raise AttributeError(f"module 'dse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
