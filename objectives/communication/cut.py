"""Where to cut the call tree: the best set of contexts to accelerate, none below another.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section II: a function is accelerated with the call graph below it. Higher up more is
accelerated and less data crosses. A dynamic program over the tree finds the best choice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dse.model import Array
from dse.problems import InputError, Problem
from objectives.communication.area import areas_of
from objectives.communication.dataflow import Dataflow
from objectives.communication.designs import work_of
from objectives.communication.quantities import AreaCosts
from objectives.communication.setting import Setting
from objectives.communication.split import split, whole
from objectives.communication.tree import CallTree
from objectives.communication.within import best_within


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
    area: float
    """Of their accelerators, by the model [LUT]; NaN if no costs are given."""
    gap: float
    """The unproven part of the saving, as a fraction of the program's time; 0: it is the best."""


def best_cut(
    dataflow: Dataflow,
    setting: Setting | None = None,
    area_limit: float = math.inf,
    area_costs: AreaCosts | None = None,
) -> Cut:
    """Return the contexts whose acceleration saves most within an area, none below another.

    The saving of a set is taken as the sum of the savings of its members by themselves. Bytes
    between two members then count as crossing twice. The model
    (:func:`objectives.communication.offload_functions`) counts them once or, in a shared store, as
    local; `speedup` comes from the model for the set.
    The area is likewise taken as the sum over the functions, each for all its contexts; `area`
    comes from the model and is no larger.

    Functions that save less than `setting.least_speedup` requires are left out: first such
    functions of the best set, then of the best set without them, until none is left.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    setting : Setting, optional
        The machine.
    area_limit : float, optional
        What the accelerators may take together [LUT]; a limit needs costs.
    area_costs : AreaCosts, optional
        What instructions of the code, stores and interfaces take.

    Raises
    ------
    InputError
        If there is a limit without costs, or a limit that is negative or not a number.
    """
    setting = setting or Setting()
    _check(area_limit, area_costs)
    tree = dataflow.tree
    total = setting.time(whole(dataflow))
    saved = np.zeros(len(tree.parent))
    allowed = {dataflow.position(name) for name in dataflow.candidates}
    for node, function in enumerate(tree.function.tolist()):
        if function in allowed:
            saved[node] = total - setting.time(split(dataflow, (node,)))
    area = np.zeros(len(dataflow.names))
    if area_costs is not None and not math.isinf(area_limit):
        for function in {int(tree.function[v]) for v in np.flatnonzero(saved > 0)}:
            nodes = tuple(np.flatnonzero(tree.function == function).tolist())
            area[function] = _area(dataflow, nodes, setting, area_costs)
    contexts, bound = _worth(
        tree, saved, area, area_limit, total * (1.0 - 1.0 / setting.least_speedup)
    )
    time, sum_ = setting.time(split(dataflow, contexts)), float(saved[list(contexts)].sum())
    return Cut(
        contexts,
        tuple(" > ".join(_names(dataflow, node)) for node in contexts),
        tuple(dict.fromkeys(dataflow.names[tree.function[node]] for node in contexts)),
        sum_,
        total / time if time else (1.0 if not total else float("inf")),
        _area(dataflow, contexts, setting, area_costs) if area_costs else math.nan,
        (bound - sum_) / total if total else 0.0,
    )


def _worth(
    tree: CallTree, saved: Array, area: Array, limit: float, least: float
) -> tuple[tuple[int, ...], float]:
    """Return the best contexts each of whose functions saves more than `least`, and their bound."""
    saved = saved.copy()
    while True:
        if math.isinf(limit):
            contexts = best_antichain(tree, saved)
            bound = float(saved[list(contexts)].sum())
        else:
            contexts, bound = best_within(tree, saved, area[tree.function], limit)
        chosen = list(contexts)
        sums = np.bincount(tree.function[chosen], saved[chosen], len(area))
        idle = [f for f in set(tree.function[chosen].tolist()) if sums[f] <= least]
        if not idle:
            return contexts, bound
        saved[np.isin(tree.function, idle)] = 0.0


def _area(
    dataflow: Dataflow, contexts: tuple[int, ...], setting: Setting, costs: AreaCosts
) -> float:
    return float(areas_of(work_of([split(dataflow, contexts)]), setting, costs).area[0])


def _check(area_limit: float, area_costs: AreaCosts | None) -> None:
    if not area_limit >= 0:
        problem = Problem("area_limit", f"{area_limit!r} cannot be", "at least 0 LUT")
        raise InputError("best_cut", [problem])
    if area_costs is None and not math.isinf(area_limit):
        message = "a limit of the area without costs: area_costs is missing"
        problem = Problem("area_limit", message, "give AreaCosts(instruction_area=…)")
        raise InputError("best_cut", [problem])


def best_antichain(tree: CallTree, values: Array) -> tuple[int, ...]:
    """Return the nodes of the largest sum of values, none below another.

    A node is taken if its value is above the best of the nodes below it. Ties therefore go down; no
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
