"""What moves to the accelerators and what stays, if some calling contexts are accelerated.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section III.D: communication is local, inside an accelerator, or global, over the shared
medium. Each accelerated function has an accelerator, which does everything that it calls as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array
from objectives.communication.dataflow import Dataflow


class Split(NamedTuple):
    """A program's work by where it is done; bytes are counted at their reader, each once."""

    host_instructions: float
    accelerator_instructions: float
    host_bytes: float
    """Written and read on the host."""
    accelerator_bytes: float
    """Written and read in one accelerator."""
    between_bytes: float
    """From an accelerator to another."""
    crossing_bytes: float
    """From the host to an accelerator, or back."""
    calls: float
    accelerators: float
    code: float
    """Instructions of the code that accelerators hold; a function in two of them counts twice."""


def outermost(dataflow: Dataflow, functions: Iterable[int]) -> tuple[int, ...]:
    """Return the contexts of these functions that are below no other of them.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    functions : iterable of int
        Positions in `dataflow.names`.

    Returns
    -------
    tuple of int
        Positions in `dataflow.tree`, in order.
    """
    tree, chosen = dataflow.tree, set(functions)
    inside: list[bool] = []
    found: list[int] = []
    for node, (parent, function) in enumerate(
        zip(tree.parent.tolist(), tree.function.tolist(), strict=True)
    ):
        below = parent >= 0 and inside[parent]
        inside.append(below or function in chosen)
        if inside[node] and not below:
            found.append(node)
    return tuple(found)


@functools.lru_cache(maxsize=1 << 16)
def split(dataflow: Dataflow, contexts: tuple[int, ...]) -> Split:
    """Return what moves if these contexts, with everything below them, are accelerated.

    Contexts of one function share its accelerator. A function that works for an accelerator and
    elsewhere has its bytes divided as its computation is; bytes that an accelerator wrote and a
    later call of it reads are still in its store.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    contexts : tuple of int
        Positions in `dataflow.tree`, none below another.
    """
    tree = dataflow.tree
    functions = sorted({int(tree.function[v]) for v in contexts})
    unit = _units(dataflow, contexts, functions)
    weight = _weights(dataflow, unit, len(functions))
    moved = float(tree.computation[unit >= 0].sum())
    taken = np.zeros(len(dataflow.names))
    np.add.at(taken, tree.function[list(contexts)], tree.inclusive_share[list(contexts)])
    into = dataflow.transfers_into[:, functions] * taken[functions]  # by writing function
    out = dataflow.transfers_out[functions, :] * taken[functions, None]  # by reading function
    host = 1.0 - weight.sum(axis=1)
    came = weight.T @ into  # (accelerator that wrote, accelerator that reads)
    between = came.sum(axis=0) - np.diag(came)
    from_host = host @ into
    to_host = float((out @ host).sum())
    inside = np.maximum(weight.T @ dataflow.reads - from_host - between, 0.0)
    return Split(
        float(tree.computation.sum()) - moved,
        moved,
        max(float(host @ dataflow.reads) - to_host, 0.0),
        float(inside.sum()),
        float(between.sum()),
        float(from_host.sum()) + to_host,
        float(tree.calls[list(contexts)].sum()),
        float(len(functions)),
        _code(dataflow, unit),
    )


def whole(dataflow: Dataflow) -> Split:
    """Return the program if nothing is accelerated."""
    return split(dataflow, ())


def _units(dataflow: Dataflow, contexts: tuple[int, ...], functions: list[int]) -> NDArray[np.intp]:
    """Return each context's accelerator, -1 on the host."""
    tree = dataflow.tree
    unit = np.full(len(tree.parent), -1)
    for context in contexts:
        unit[tree.below(context)] = functions.index(int(tree.function[context]))
    return unit


def _weights(dataflow: Dataflow, unit: NDArray[np.intp], units: int) -> Array:
    """Return the part of each function that an accelerator does, shape (n, units)."""
    tree, on = dataflow.tree, unit >= 0
    weight = np.zeros((len(dataflow.names), units))
    np.add.at(weight, (tree.function[on], unit[on]), tree.own_share[on])
    return weight


def _code(dataflow: Dataflow, unit: NDArray[np.intp]) -> float:
    held = set(zip(unit.tolist(), dataflow.tree.function.tolist(), strict=True))
    return float(sum(dataflow.code[function] for u, function in sorted(held) if u >= 0))
