"""What a program computes and which data its functions pass on.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section IV: invocations, arithmetic and logical instructions, and the bytes that one function
wrote and another read. :func:`objectives.communication_readers.load_dataflow` reads it from files.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.problems import InputError, Problem, nearest
from dse.quantity import Array

MAX_CANDIDATES = 20


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
    """

    parent: NDArray[np.int64]
    function: NDArray[np.int64]
    invocations: Array
    calls: Array
    computation: Array

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
        """Return each node's value summed with those of the nodes below it."""
        total = np.array(values, dtype=np.float64)
        for node in range(len(total) - 1, -1, -1):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return total

    def shares(self, values: Array) -> Array:
        """Return each node's part in its function by values, by invocations where these are 0."""
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


@dataclass(frozen=True, eq=False)
class Dataflow:
    """The dataflow between a program's functions, as dynamic counts of one run.

    Parameters
    ----------
    program : str
        What it is called.
    names : tuple of str, length n
        The functions, then the origins of data that no function wrote, such as ``(input)``.
    functions : int
        How many of the names are functions.
    invocations : ndarray, shape (n,)
        Recursive ones counted.
    computation : ndarray, shape (n,)
        Own arithmetic and logical instructions [instruction].
    local_bytes : ndarray, shape (n,)
        Bytes that an invocation wrote and read itself [B].
    code : ndarray, shape (n,)
        Instructions of the function's code, a measure of the hardware that it takes; 0: unknown.
    transfers : ndarray, shape (n, n)
        Bytes that one (row) wrote and another (column) read; on the diagonal between different
        invocations [B].
    transfers_into : ndarray, shape (n, n)
        Bytes that came into a function with everything it calls (column), by writer (row) [B].
    transfers_out : ndarray, shape (n, n)
        Bytes that left a function with everything it calls (row), by reader (column) [B].
    tree : CallTree
        The calling contexts.
    missing : tuple of str
        What the source of these numbers does not tell, each a sentence.
    """

    program: str
    names: tuple[str, ...]
    functions: int
    invocations: Array
    computation: Array
    local_bytes: Array
    code: Array
    transfers: Array
    transfers_into: Array
    transfers_out: Array
    tree: CallTree
    missing: tuple[str, ...] = ()

    @functools.cached_property
    def calls(self) -> Array:
        """Invocations that are no recursion, shape (n,): the calls of an accelerator."""
        return _by_function(self.tree, self.tree.calls, len(self.names))

    @functools.cached_property
    def computation_inclusive(self) -> Array:
        """Computation with everything called, each recursion once, shape (n,) [instruction]."""
        return _by_function(self.tree, self.tree.inclusive, len(self.names))

    @functools.cached_property
    def inside(self) -> Array:
        """Part of a function (row) that works for another (column), shape (n, n).

        The part of its computation that it does below the other in the call tree; of its
        invocations where it computes nothing.
        """
        return shares_inside(self.tree, len(self.names))

    @functools.cached_property
    def reads(self) -> Array:
        """Bytes that each function reads, local ones and transfers, shape (n,) [B]."""
        return np.asarray(self.local_bytes + self.transfers.sum(axis=0))

    @functools.cached_property
    def total_bytes(self) -> float:
        """All bytes read: local ones and transfers [B]."""
        return float(self.reads.sum())

    def position(self, name: str) -> int:
        """Return the position of a function.

        Raises
        ------
        InputError
            Where there is no such function.
        """
        if name not in self.names[: self.functions]:
            known = self.names[: self.functions]
            problem = Problem("", f"there is no function '{name}'", nearest(name, known))
            raise InputError(self.program, [problem])
        return self.names.index(name)

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """Functions that could be accelerated, by computation with everything called, most first.

        Those that do nothing are none, nor is the program itself: ``main``, what is above it, and
        a function that nobody calls and that calls others.
        """
        tree = self.tree
        callers = set(tree.parent.tolist())
        tops = {v for v in range(len(tree.parent)) if tree.parent[v] < 0 and v in callers}
        for node, function in enumerate(tree.function):
            if self.names[function] == "main":
                tops.update(tree.way(node))
        program = {int(tree.function[node]) for node in tops}
        work = self.computation_inclusive
        moved = self.transfers_into.sum(axis=0) + self.transfers_out.sum(axis=1) + self.local_bytes
        order = sorted(range(self.functions), key=lambda f: (-work[f], -moved[f], self.names[f]))
        return tuple(
            self.names[f] for f in order if f not in program and (work[f] > 0 or moved[f] > 0)
        )


@dataclass(frozen=True, eq=False)
class Dataflows:
    """The dataflow of programs, in the order that the quantity `workload` counts."""

    programs: tuple[Dataflow, ...]

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """The candidates that a `selection` counts from its lowest bit, at most 20.

        In the order of their part in the computation, summed over the programs.
        """
        part: dict[str, float] = {}
        for program in self.programs:
            whole = max(float(program.computation.sum()), 1.0)
            for name in program.candidates:
                work = float(program.computation_inclusive[program.position(name)])
                part[name] = part.get(name, 0.0) + work / whole
        return tuple(sorted(part, key=lambda name: -part[name]))[:MAX_CANDIDATES]

    def selection(self, names: Iterable[str]) -> int:
        """Return the number whose bits choose these candidates.

        Raises
        ------
        InputError
            Where a name is no candidate; all such at once.
        """
        names = list(names)
        unknown = [name for name in names if name not in self.candidates]
        if unknown:
            source = ", ".join(program.program for program in self.programs)
            raise InputError(
                source,
                [
                    Problem("", f"'{name}' is no candidate", nearest(name, self.candidates))
                    for name in unknown
                ],
            )
        return sum(1 << self.candidates.index(name) for name in dict.fromkeys(names))

    def chosen(self, selection: int) -> tuple[str, ...]:
        """Return the names of the candidates that a selection chooses.

        >>> Dataflows(()).chosen(0)
        ()
        """
        return tuple(name for bit, name in enumerate(self.candidates) if selection >> bit & 1)


def _by_function(tree: CallTree, values: Array, size: int) -> Array:
    sums: Array = np.bincount(tree.function, weights=values, minlength=size).astype(np.float64)
    return sums


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
    where both work in part for f: ``max(0, inside[j, f] − inside[i, f])`` of them come in. Data
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


def entered(tree: CallTree, function_calls: Sequence[tuple[int, int, float]], size: int) -> Array:
    """Return how often each context was entered other than by recursion, shape (nodes,).

    Parameters
    ----------
    tree : CallTree
        Its `calls` are not read.
    function_calls : sequence of (caller, function, calls)
        By positions in the names.
    size : int
        Number of names.
    """
    inside = shares_inside(tree, size)
    invocations = np.bincount(tree.function, weights=tree.invocations, minlength=size)
    recursive = np.zeros(size)
    for caller, function, calls in function_calls:
        recursive[function] += calls * inside[caller, function]
    outer = np.clip(np.round(invocations - recursive), np.minimum(invocations, 1.0), invocations)
    part = np.divide(outer, invocations, out=np.ones(size), where=invocations > 0)
    return np.asarray(tree.invocations * part[tree.function])
