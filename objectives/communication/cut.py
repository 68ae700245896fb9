"""Where to cut the call tree: the best set of contexts to accelerate, none below another.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section II: a function is accelerated with the call graph below it. Higher up more is
accelerated and less data crosses; what is best is a dynamic program over the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.model import Array
from objectives.communication.dataflow import Dataflow
from objectives.communication.setting import Setting
from objectives.communication.split import split, whole
from objectives.communication.tree import CallTree


class Cut(NamedTuple):
    """What :func:`best_cut` finds."""

    contexts: tuple[int, ...]
    """Positions in `dataflow.tree`, none below another."""
    paths: tuple[str, ...]
    """The same as names from the root, joined by ``" > "``."""
    functions: tuple[str, ...]
    """The functions accelerated in these contexts."""
    saved: float
    """Time that the accelerators save, each counted on its own [cycle]."""
    speedup: float
    """Of the program with all of them, by the model."""


def best_cut(dataflow: Dataflow, setting: Setting | None = None) -> Cut:
    """Return the contexts whose acceleration saves most, none below another.

    The saving of a set is taken as the sum of the savings of its members alone. Bytes from one to
    another then count as crossing twice, where :func:`objectives.communication.offload_functions`
    counts them once or, in a shared store, as local; so `speedup` is of the set by the model.
    """
    setting = setting or Setting()
    tree = dataflow.tree
    total = setting.time(whole(dataflow))
    saved = np.zeros(len(tree.parent))
    allowed = {dataflow.position(name) for name in dataflow.candidates}
    for node, function in enumerate(tree.function.tolist()):
        if function in allowed:
            saved[node] = total - setting.time(split(dataflow, (node,)))
    contexts = best_antichain(tree, saved)
    time = setting.time(split(dataflow, contexts))
    return Cut(
        contexts,
        tuple(" > ".join(_names(dataflow, node)) for node in contexts),
        tuple(dict.fromkeys(dataflow.names[tree.function[node]] for node in contexts)),
        float(saved[list(contexts)].sum()),
        total / time if time else (1.0 if not total else float("inf")),
    )


def best_antichain(tree: CallTree, values: Array) -> tuple[int, ...]:
    """Return the nodes of the largest sum of values, none below another.

    A node is taken if its value is above the best of those below it, so that ties go down; no
    node without a gain is taken.

    Parameters
    ----------
    tree : CallTree
        The tree.
    values : ndarray, shape (nodes,)
        May be negative.
    """
    best = np.zeros(len(tree.parent))
    for node in range(len(best) - 1, -1, -1):
        below = sum(best[child] for child in tree.children[node])
        best[node] = max(values[node], below)
    found: list[int] = []
    open_ = [node for node in range(len(best)) if tree.parent[node] < 0]
    while open_:
        node = open_.pop()
        if best[node] <= 0:
            continue
        below = sum(best[child] for child in tree.children[node])
        if values[node] > below:
            found.append(node)
        else:
            open_ += tree.children[node]
    return tuple(sorted(found))


def _names(dataflow: Dataflow, node: int) -> list[str]:
    return [dataflow.names[dataflow.tree.function[v]] for v in reversed(dataflow.tree.way(node))]
