"""Calling contexts from a call graph, for sources that only list who called whom how often.

A call graph does not contain the work of a function for each of its callers. As gprof does, this
module divides it: computation by the weights of the calls (their cost if the source has it, else
their number), invocations by their number.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dse.model import Array
from objectives.communication.tree import CallTree
from objectives.programs import Calls

MAX_CONTEXTS = 4000


@dataclass(frozen=True)
class _Graph:
    """A call graph without recursion."""

    callees: Mapping[int, tuple[int, ...]]
    work_part: Mapping[tuple[int, int], float]
    call_part: Mapping[tuple[int, int], float]
    roots: tuple[int, ...]
    outer: Array
    inclusive: Array


def expand(
    invocations: Array, computation: Array, calls: Mapping[tuple[int, int], Calls]
) -> CallTree:
    """Return the tree of contexts of a call graph.

    Parameters
    ----------
    invocations, computation : ndarray, shape (functions,)
        Own ones of each function.
    calls : mapping of (caller, function) to Calls
        A call that closes a cycle is a recursion and opens no context.

    Returns
    -------
    CallTree
        At most 4000 contexts with most computation; the computation of the others counts for
        the context that calls them.

    >>> tree = expand(np.ones(3), np.array([1.0, 5, 8]), {(0, 1): Calls(1, 1), (0, 2): Calls(1, 1),
    ...                                                  (1, 2): Calls(3, 3)})
    >>> tree.parent.tolist(), tree.function.tolist(), tree.computation.tolist()
    ([-1, 0, 1, 0], [0, 1, 2, 2], [1.0, 5.0, 6.0, 2.0])
    """
    graph = _without_recursion(invocations, computation, calls)
    rows: list[tuple[int, int, float, float, float]] = []
    heap = [(-graph.inclusive[f], n, f, -1, 1.0, 1.0) for n, f in enumerate(graph.roots)]
    heapq.heapify(heap)
    pushed = len(heap)
    left_out: dict[int, float] = {}
    while heap:
        _, _, f, parent, work, called = heapq.heappop(heap)
        if len(rows) == MAX_CONTEXTS and parent >= 0:
            left_out[parent] = left_out.get(parent, 0.0) + work * graph.inclusive[f]
            continue
        node = len(rows)
        rows.append((parent, f, called * invocations[f], called * graph.outer[f], work))
        for g in graph.callees.get(f, ()):
            part = work * graph.work_part[f, g]
            item = (-part * graph.inclusive[g], pushed, g, node, part)
            heapq.heappush(heap, (*item, called * graph.call_part[f, g]))
            pushed += 1
    parent_of, function, invoked, entered, share = (np.array(c) for c in zip(*rows, strict=True))
    own = computation[function] * share
    for node, more in left_out.items():
        own[node] += more
    return CallTree(parent_of, function, invoked, entered, own)


def _without_recursion(
    invocations: Array, computation: Array, calls: Mapping[tuple[int, int], Calls]
) -> _Graph:
    size = len(invocations)
    callees: dict[int, list[int]] = {}
    for f, g in calls:
        callees.setdefault(f, []).append(g)
    called = {g for f, g in calls if f != g}
    first = [f for f in range(size) if f not in called]
    kept, order = _forward(callees, [*first, *range(size)])
    weight, count = np.zeros(size), np.zeros(size)
    for f, g in kept:
        weight[g] += calls[f, g].weight
        count[g] += calls[f, g].times
    work_part = {
        (f, g): calls[f, g].weight / weight[g] if weight[g] else calls[f, g].times / count[g]
        for f, g in kept
    }
    inclusive = np.array(computation, dtype=np.float64)
    below: dict[int, list[int]] = {}
    for f, g in kept:
        below.setdefault(f, []).append(g)
    for f in order:  # callees come first
        inclusive[f] += sum(work_part[f, g] * inclusive[g] for g in below.get(f, ()))
    roots = tuple(f for f in range(size) if count[f] == 0)
    return _Graph(
        {f: tuple(sorted(gs)) for f, gs in below.items()},
        work_part,
        {(f, g): calls[f, g].times / count[g] for f, g in kept},
        roots,
        np.where(count > 0, np.minimum(count, invocations), invocations),
        inclusive,
    )


def _forward(
    callees: Mapping[int, list[int]], starts: list[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the calls that close no cycle, and the functions with callees before callers."""
    kept: list[tuple[int, int]] = []
    order: list[int] = []
    state: dict[int, int] = {}  # 1: on the way, 2: done
    for start in starts:
        if start in state:
            continue
        state[start] = 1
        way = [(start, iter(sorted(callees.get(start, ()))))]
        while way:
            f, rest = way[-1]
            g = next(rest, None)
            if g is None:
                state[f] = 2
                order.append(f)
                way.pop()
            elif state.get(g) != 1:
                kept.append((f, g))
                if g not in state:
                    state[g] = 1
                    way.append((g, iter(sorted(callees.get(g, ())))))
    return kept, order
