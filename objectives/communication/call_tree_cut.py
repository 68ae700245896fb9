"""The best cut of the call tree: the contexts to accelerate, none below another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.model import Array
from objectives.communication.dataflow import CallTree, Dataflow
from objectives.communication.split import split_work, whole_work
from objectives.communication.verdict import Setting


class Cut(NamedTuple):
    """The contexts that :func:`best_cut` accelerates."""

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

    The saving of a set is taken as the sum of the savings of its members by themselves. Bytes
    between two members then count as crossing twice. The model
    (:func:`objectives.communication.offload_functions`) counts them once or, in a shared store, as
    local; `speedup` comes from the model for the set.

    Functions that save less than `setting.least_speedup` requires are left out: first such
    functions of the best set, then of the best set without them, until none is left.
    """
    setting = setting or Setting()
    tree = dataflow.tree
    total = setting.time(whole_work(dataflow))
    required = total * (1.0 - 1.0 / setting.least_speedup)
    saved = np.zeros(len(tree.parent))
    candidates = [dataflow.position(name) for name in dataflow.candidates]
    for node in np.flatnonzero(np.isin(tree.function, candidates)).tolist():
        saved[node] = total - setting.time(split_work(dataflow, (node,)))
    while True:
        contexts = best_antichain(tree, saved)
        chosen = list(contexts)
        sums = np.bincount(tree.function[chosen], saved[chosen], len(dataflow.names))
        too_little = [f for f in tree.function[chosen].tolist() if sums[f] <= required]
        if not too_little:
            break
        saved[np.isin(tree.function, too_little)] = 0.0
    time = setting.time(split_work(dataflow, contexts))
    names = [[dataflow.names[tree.function[v]] for v in tree.way(node)] for node in contexts]
    return Cut(
        contexts,
        tuple(" > ".join(reversed(way)) for way in names),
        tuple(dict.fromkeys(way[0] for way in names)),
        float(saved[chosen].sum()),
        total / time if time else (1.0 if total == 0 else np.inf),
    )


def best_antichain(tree: CallTree, values: Array) -> tuple[int, ...]:
    """Return the nodes of the largest sum of values (nodes,), none below another.

    A node is taken if its value is above the best of the nodes below it. Ties therefore go down; no
    node without a gain is taken.
    """
    size = len(tree.parent)
    best, below = np.zeros(size), np.zeros(size)
    for node in range(size - 1, -1, -1):  # callees come after their callers
        best[node] = max(values[node], below[node])
        if tree.parent[node] >= 0:
            below[tree.parent[node]] += best[node]
    chosen: list[int] = []
    open_nodes = np.flatnonzero(tree.parent < 0).tolist()
    while open_nodes:
        node = open_nodes.pop()
        if values[node] > below[node]:
            chosen.append(node)
        else:
            open_nodes += tree.children[node]
    return tuple(sorted(chosen))
