"""The tree of calling contexts, and how much of a function works for another."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model import Array


@dataclass(frozen=True, eq=False)
class CallTree:
    """The tree of calling contexts; a recursion is folded into the context it returns to.

    Parameters
    ----------
    parent : ndarray of int, shape (nodes,)
        Position of the caller's node, which comes first; -1 for a root.
    function : ndarray of int, shape (nodes,)
        Position of the function in `Dataflow.names`; once at most on the way from a root.
    invocations : ndarray, shape (nodes,)
        With recursive ones.
    calls : ndarray, shape (nodes,)
        Without recursive ones: how often the context was entered.
    computation : ndarray, shape (nodes,)
        The node's own [instruction].
    recursions : tuple of (int, int, float)
        Calls from a node that are counted at it or at a node above: both positions, how many.
    outermost : ndarray, shape (nodes,), optional
        Of the calls, those while no other one of the function lived; all if it is not told.
    """

    parent: NDArray[np.int64]
    function: NDArray[np.int64]
    invocations: Array
    calls: Array
    computation: Array
    recursions: tuple[tuple[int, int, float], ...] = ()
    outermost: Array | None = None

    @functools.cached_property
    def inclusive(self) -> Array:
        """Computation with everything called, shape (nodes,) [instruction]."""
        return self.totals(self.computation)

    @functools.cached_property
    def own_share(self) -> Array:
        """Each node's part in its function, by own computation, shape (nodes,)."""
        return self.shares(self.computation)

    @functools.cached_property
    def inclusive_share(self) -> Array:
        """Each node's part in its function, by computation with everything called."""
        return self.shares(self.inclusive)

    @functools.cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes right below each node."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                found[parent].append(node)
        return tuple(map(tuple, found))

    def below(self, node: int) -> list[int]:
        """Return a node and all below it."""
        found = [node]
        for each in found:
            found += self.children[each]
        return found

    def totals(self, values: Array) -> Array:
        """Return each node's value summed with the values of the nodes below it."""
        total = np.array(values, dtype=np.float64)
        for node in range(len(total) - 1, -1, -1):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return total

    def shares(self, values: Array) -> Array:
        """Return each node's part in its function by values, by invocations if these are 0."""
        size = int(self.function.max(initial=-1)) + 1
        share = np.zeros(len(self.function))
        for weight in (values, self.invocations, np.ones(len(self.function))):
            sums = np.bincount(self.function, weights=weight, minlength=size)[self.function]
            open_ = (np.bincount(self.function, weights=share, minlength=size) == 0)[self.function]
            np.divide(weight, sums, out=share, where=open_ & (sums > 0))
        return share

    def way(self, node: int) -> list[int]:
        """Return a node and those above it, up to its root."""
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return found


def shares_inside(tree: CallTree, size: int) -> Array:
    """Return the part of each function (row) that is at or below another (column), shape (n, n)."""
    inside = np.zeros((size, size))
    for node, share in enumerate(tree.own_share):
        for above in tree.way(node):
            inside[tree.function[node], tree.function[above]] += share
    return np.minimum(inside, 1.0)


def inclusive_transfers(transfers: Array, inside: Array) -> tuple[Array, Array]:
    """Estimate the transfers into and out of functions with everything they call.

    For sources that do not measure them. Of the bytes from i to j as much as possible stays inside
    if both work in part for f: ``max(0, inside[j, f] − inside[i, f])`` of them come in. Data
    that several invocations below f read counts for each.

    Parameters
    ----------
    transfers, inside : ndarray, shape (n, n)
        See :class:`Dataflow`.

    Returns
    -------
    into, out : ndarray, shape (n, n)
        `transfers_into` and `transfers_out`.
    """
    size = len(transfers)
    into, out = np.zeros((size, size)), np.zeros((size, size))
    for f in range(size):
        more = inside[None, :, f] - inside[:, None, f]
        into[:, f] = (transfers * np.maximum(more, 0.0)).sum(axis=1)
        out[f, :] = (transfers * np.maximum(-more, 0.0)).sum(axis=0)
    return into, out


def callbacks(tree: CallTree, contexts: Sequence[int]) -> dict[int, float]:
    """Return the calls from inside of contexts to functions that live above, by function.

    Parameters
    ----------
    tree : CallTree
        The tree.
    contexts : sequence of int
        Positions, none below another.
    """
    top = np.full(len(tree.parent), -1)
    for context in contexts:
        top[tree.below(context)] = context
    found: dict[int, float] = {}
    for source, to, count in tree.recursions:
        if 0 <= to < top[source]:
            found[int(tree.function[to])] = found.get(int(tree.function[to]), 0.0) + count
    return found
