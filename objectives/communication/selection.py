"""Selections of functions without idle choices: a study then counts each design once.

An accelerator of a function adds no hardware if another accelerator contains the function
already (M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems", 2010, section II: a function
is accelerated with everything that it calls).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Quantity, model
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.quantities import Programs, Selection
from objectives.communication.split import outermost
from objectives.quantities import Workload

_IdleFunctions = Annotated[
    Array,
    Quantity("1", "chosen functions without an accelerator", low=0, integer=True),
]


class Idle(NamedTuple):
    """What `idle_functions` gives."""

    idle_functions: _IdleFunctions


@model
def idle_functions(dataflow: Programs, selection: Selection, workload: Workload = 0.0) -> Idle:
    """Count the chosen functions that are only below other chosen ones, or that do not run.

    A study that wants each design once requires that there are none (``at_most = 0``).

    Parameters
    ----------
    dataflow : Dataflows
        The programs.
    selection, workload : array_like
        See :func:`objectives.communication.offload_functions`.

    Returns
    -------
    Idle
        NaN if a selection or a workload names what is not there.
    """
    which, chosen = np.broadcast_arrays(
        np.asarray(workload, dtype=np.float64), np.asarray(selection, dtype=np.float64)
    )
    pairs, place = np.unique(np.stack([which.ravel(), chosen.ravel()]), axis=1, return_inverse=True)
    counts = np.array([_idle(dataflow, w, s) for w, s in pairs.T], dtype=np.float64)
    return Idle(counts[place.reshape(-1)].reshape(which.shape)[()])


def _idle(dataflow: Dataflows, workload: float, selection: float) -> float:
    known = 0 <= workload < len(dataflow.programs)
    if not (known and 0 <= selection < 2.0 ** len(dataflow.candidates)):
        return np.nan
    program, names = dataflow.programs[int(workload)], dataflow.chosen(int(selection))
    return float(len(names) - len(accelerated(program, names)))


def accelerated(program: Dataflow, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions that get an accelerator, in the order given."""
    own = set(program.names[: program.functions])
    nodes = outermost(program, [program.position(name) for name in names if name in own])
    held = {program.names[program.tree.function[node]] for node in nodes}
    return tuple(name for name in names if name in held)
