"""Kernels that affect each other along the edges of a tree, as the options of one kernel.

Two cases need this. Along a path of kernels, data may stay on the accelerators' side: an edge then
saves a set-up and a transfer, depending on where both kernels are. And an engine that several
kernels use counts once: the engine is the root, its variants are classes, and an edge forbids the
kernels' options that need another variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import find_distinct_front
from dse.model.quantity import Array
from dse.search.portfolio.outer_sum import OuterSum, ToleranceGrid
from dse.search.workers import Threads

_ALONE = Threads()
_UNBOUNDED = 1 << 62


class TreeFront(NamedTuple):
    """The non-dominated combinations of a tree: the options of a kernel in a portfolio."""

    sums: Array
    """Shape (points, coordinates), ascending."""
    choices: NDArray[np.int64]
    """The option of each node, shape (points, nodes); of equal sums the lowest choices."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes with options, and amounts that depend on the classes of a node and its parent.

    Raises
    ------
    ValueError
        If the parents are no tree.

    Examples
    --------
    Two kernels on a path; a transfer of 2 is saved if both are accelerated (class 1):

    >>> options = [np.array([[5.0, 0.0], [4.0, 1.0]]), np.array([[6.0, 0.0], [5.0, 1.0]])]
    >>> edge = np.zeros((2, 2, 2))
    >>> edge[1, 1, 0] = -2
    >>> classes = [np.array([0, 1]), np.array([0, 1])]
    >>> front = Tree(options, classes, [1, -1], [edge, edge]).front()
    >>> front.sums
    array([[ 7.,  2.], [10.,  1.], [11.,  0.]])
    """

    options: Sequence[Array]
    """For each node, the amounts that its options add to the sums. Shape (options, coordinates)."""
    classes: Sequence[NDArray[np.int64]]
    """The class of each option, from 0. Shape (options,)."""
    parents: Sequence[int]
    """The parent of each node; -1 for the root."""
    edges: Sequence[Array]
    """For each node, the amounts that its edge adds, which may be negative. Infinity forbids the
    pair. The root's are not used. Shape (classes, classes of the parent, coordinates)."""

    def __post_init__(self) -> None:
        if list(self.parents).count(-1) != 1 or len(self._children_first()) != len(self.options):
            raise ValueError(f"the parents {list(self.parents)} are no tree with one root, -1")

    def _children_first(self) -> list[int]:
        """Return the nodes below the root, and the root: each after its children."""
        order = [node for node, parent in enumerate(self.parents) if parent == -1]
        for node in order:  # grows
            order += [child for child, parent in enumerate(self.parents) if parent == node]
        return order[::-1]

    def sums(self, choices: NDArray[np.int64]) -> Array:
        """Return the sums of combinations, shape (n, nodes): of the nodes, then of the edges."""
        columns = list(enumerate(choices.T))
        total = sum(self.options[node][column] for node, column in columns)
        for node, column in columns:
            if (parent := self.parents[node]) >= 0:
                other = self.classes[parent][choices[:, parent]]
                total = total + self.edges[node][self.classes[node][column], other]
        return np.asarray(total)

    def front(self, threads: Threads = _ALONE) -> TreeFront:
        """Return the non-dominated sums of all combinations, exactly.

        From the leaves on, each node has a front for each class: a dominated part may only be
        dropped for one of the same class, as the edge to the parent depends on it (Bellman,
        Dynamic Programming, 1957, on the fronts of Nemhauser and Ullmann, 1969).
        """
        fronts: dict[int, list[TreeFront]] = {}
        for node in self._children_first():
            children = [child for child, parent in enumerate(self.parents) if parent == node]
            fronts[node] = []
            for label in range(int(self.classes[node].max()) + 1):
                rows = np.flatnonzero(self.classes[node] == label)
                choices = np.zeros((len(rows), len(self.options)), dtype=np.int64)
                choices[:, node] = rows
                front = _join([TreeFront(self.options[node][rows], choices)])
                for child in children:
                    with_edges = (
                        TreeFront(part.sums + self.edges[child][other, label], part.choices)
                        for other, part in enumerate(fronts[child])
                    )
                    front = _merge(front, _join(with_edges), threads)
                fronts[node].append(front)
        choices = _join(fronts[self._children_first()[-1]]).choices
        return _join([TreeFront(self.sums(choices), choices)])


def _join(parts: Iterable[TreeFront]) -> TreeFront:
    """Return the front of several; combinations that an edge forbids are not in it."""
    sums, choices = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    finite = np.isfinite(sums).all(axis=1)
    sums, choices = sums[finite], choices[finite]
    order = np.lexsort((*choices.T[::-1], *sums.T[::-1]))
    order = order[find_distinct_front(sums[order])]
    return TreeFront(sums[order], choices[order])


def _merge(front: TreeFront, other: TreeFront, threads: Threads) -> TreeFront:
    """Return the front of all sums of two; their choices are zero where the other's are not."""
    coordinates = front.sums.shape[1]
    zero = np.zeros(coordinates)
    grid = ToleranceGrid(zero, zero + 1, zero + np.inf, zero)
    outer = OuterSum(
        front.sums,
        other.sums,
        lambda sums: np.ones(len(sums), dtype=bool),
        lambda parents, picks: front.choices[parents] + other.choices[picks],
        threads,
    )
    sums, _ = outer.front(grid, _UNBOUNDED, zero + 1)
    return TreeFront(sums.values, front.choices[sums.parents] + other.choices[sums.picks])
