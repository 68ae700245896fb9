"""The computation of a program's functions, the data between them, and the functions that can move.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section IV: invocations, arithmetic and logical instructions, and the bytes that one function
wrote and another read. Section II accelerates a function with everything that it calls. So what no
accelerator can do, such as input and output, keeps all that call it on the host.
:func:`objectives.communication.load_dataflow` reads a dataflow from files.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from dse.model.values import plural
from dse.problems import InputError, Problem, nearest

MAX_CANDIDATES = 20
_INCLUDE = "if it may move all the same, name it under include"
_MORE = f"{MAX_CANDIDATES} others that may move compute more"
_MAIN, _CALLS = "'main' cannot move: all of the program is below it", "name what it calls"
_ALLOCATION = re.compile(
    r"(m|c|re|v|pv|mem|reallocarr|aligned_)?alloc(a|array)?$|posix_memalign$|memalign$|free$|s?brk$"
    r"|m(un|re)?map(64)?$|operator (new|delete)|_Zn[wa]|_Zd[la]"
)
"""The functions of C and C++ libraries that take memory from the heap and give it back."""
_GIVING_BACK = re.compile(r"free$|munmap(64)?$|operator delete|_Zd[la]")
"""The functions that give memory back."""
_GROWING = re.compile(
    r"(^|_M_|::|\s)realloc|::__\w+_slow_path\b|::__append\b|_M_(default_append|fill_insert|range_insert)"
)
"""Functions that enlarge memory: of C, and of vectors in libc++ and libstdc++."""
_LOCK = re.compile(
    r"_*pthread_((mutex|spin)_(try|timed|clock)?lock|rwlock_(try|timed|clock)?(rd|wr)lock"
    r"|cond_(timed|clock)?wait|barrier_wait|join)(@|$)"
    r"|(sem|cnd)_(try|timed|clock)?wait(@|$)|mtx_(try|timed)?lock(@|$)|thrd_join(@|$)"
    r"|std::(__1::)?(\w*mutex\w*::(try_)?lock|condition_variable(_any)?::(wait|__do_timed_wait))"
    r"|std::(__1::)?thread::join"
)
"""Functions by which the threads of a program wait for each other."""
_OF_PROGRAM, _OF_FUNCTION = 50_000, 5_000
"""Instructions per allocation of a function that may move, in the program and in the function.

Functions that build lists or trees, such as parsers, allocate each 30 to 4,300 instructions. Those
to which the host can give the memory before a call allocate each 5,456 or more. The limits were
chosen between them on 21 programs (docs/validation/verdicts.md). The model leaves the cost out: if
the host takes 500 cycles for an allocation, it is 1 % of the program.
"""
_MAX_LOCAL_ARRAYS = 32
"""Arrays that a call takes and gives back, and an accelerator has as local memories: assumption,
about twice the largest number that was seen (LULESH, 17). Functions that build lists or trees
allocate as often as the data needs."""
_HARNESS = re.compile(r"(init|print)_array$|polybench_")
"""The functions around the kernels of PolyBench/C (L.-N. Pouchet, 2012)."""
_NO_WORK = "did no work that could move"
_OWN_WORK = 0.01
"""A function with less of its work outside of one callee hands its work to that callee."""

# -------------------------------------------------------------------------------- calling contexts


@dataclass(frozen=True, eq=False)
class CallTree:
    """The tree of calling contexts; a recursion is folded into the context it returns to.

    Arrays have the shape (nodes,).
    """

    parent: NDArray[np.int64]
    """Position of the caller's node, which comes first; -1 for a root."""
    function: NDArray[np.int64]
    """Position of the function in `Dataflow.names`; once at most on the way from a root."""
    invocations: Array
    calls: Array
    """Invocations without recursive ones: how often the context was entered."""
    computation: Array
    """The node's own [instruction]."""
    recursions: tuple[tuple[int, int, float], ...] = ()
    """Calls from a node that are counted at it or at a node above: both positions, how many."""
    outermost: Array | None = None
    """Of the calls, those while no other one of the function lived; all if it is not known."""

    @functools.cached_property
    def inclusive(self) -> Array:
        """Computation with everything called, shape (nodes,) [instruction]."""
        return self.totals(self.computation)

    @property
    def entries(self) -> Array:
        """The calls while no other one of the function lived, as far as it is known."""
        return self.calls if self.outermost is None else self.outermost

    @functools.cached_property
    def own_share(self) -> Array:
        """Each node's part in its function, by own computation."""
        return self._shares(self.computation)

    @functools.cached_property
    def inclusive_share(self) -> Array:
        """Each node's part in its function, by computation with everything called."""
        return self._shares(self.inclusive)

    @functools.cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes right below each node."""
        children: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return tuple(map(tuple, children))

    def below(self, node: int) -> list[int]:
        """Return a node and all below it."""
        nodes = [node]
        for each in nodes:
            nodes += self.children[each]
        return nodes

    def way(self, node: int) -> list[int]:
        """Return a node and those above it, up to its root."""
        nodes = [node]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes

    def totals(self, values: Array) -> Array:
        """Return each node's value summed with the values of the nodes below it."""
        total = np.array(values, dtype=np.float64)
        for node in range(len(total) - 1, -1, -1):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return total

    def _shares(self, values: Array) -> Array:
        """Return each node's part in its function by values, by invocations if these are 0."""
        size = int(self.function.max(initial=-1)) + 1
        share = np.zeros(len(self.function))
        for weight in (values, self.invocations, np.ones(len(self.function))):
            sums = np.bincount(self.function, weights=weight, minlength=size)[self.function]
            open_ = (np.bincount(self.function, weights=share, minlength=size) == 0)[self.function]
            np.divide(weight, sums, out=share, where=open_ & (sums > 0))
        return share


def shares_inside(tree: CallTree, size: int) -> Array:
    """Return the part of each function (row) that is at or below another (column), shape (n, n)."""
    inside = np.zeros((size, size))
    for node, share in enumerate(tree.own_share):
        for above in tree.way(node):
            inside[tree.function[node], tree.function[above]] += share
    return np.minimum(inside, 1.0)


# -------------------------------------------------------------------------- functions that can move


class Kinds(NamedTuple):
    """The known properties of functions, by name."""

    excluded: frozenset[str] = frozenset({"main"})
    """Functions that stay on the host, with their callers: ``main``, and the excluded ones."""
    included: frozenset[str] = frozenset()
    """They may move, whatever speaks against it; with it so may what calls them."""
    library: frozenset[str] = frozenset()
    """Library functions, whose computation is not known."""
    system: frozenset[str] = frozenset()
    """Functions that headers of the system or of the compiler define."""
    io: frozenset[str] = frozenset()
    """Library functions that do input or output, read a clock or sleep."""
    linked: Mapping[str, str] = MappingProxyType({})
    """Functions of other objects than the program's, each with its object."""
    calling: Mapping[str, str] = MappingProxyType({})
    """Functions that spend time in libraries that were not profiled, each with the reason; callees
    included."""
    calling_directly: frozenset[str] = frozenset()
    """Functions that call such libraries themselves."""
    walking: Mapping[str, str] = MappingProxyType({})
    """Functions that walk linked structures of the host, each with the reason. A caller that builds
    the structure may move."""


def list_staying(tree: CallTree, names: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return why functions stay on the host, by name; functions that may move are left out."""
    reasons = {**kinds.walking, **list_bound(tree, names, kinds)}
    reasons |= dict.fromkeys(
        kinds.system, "not the program's own: a header of the system defines it"
    )
    reasons |= dict.fromkeys(kinds.library, "a library function: its computation is not known")
    reasons |= {name: f"not the program's own: in {where}" for name, where in kinds.linked.items()}
    harness = filter(_HARNESS.match, names)
    reasons |= dict.fromkeys(harness, "prepares or prints the data of a benchmark")
    reasons |= dict.fromkeys(kinds.excluded, "the study excludes it")
    reasons["main"] = "the program's frame"
    return {name: why for name, why in reasons.items() if name not in kinds.included}


def list_bound(tree: CallTree, names: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return why functions cannot be part of an accelerator, not even called by its function."""
    callers = set(tree.parent.tolist())
    roots = [v for v in np.flatnonzero(tree.parent < 0).tolist() if v in callers]
    reasons = {
        names[tree.function[v]]: "a root of the call tree: no function calls it" for v in roots
    }
    reasons |= dict.fromkeys(kinds.excluded, "the study excludes it")
    for name, way in _ways(tree, names, kinds.excluded, kinds.included).items():
        reasons[name] = f"calls {way[-1]}, which no accelerator is for"
    above = _ways(tree, names, kinds.calling_directly, kinds.included)
    reasons |= {
        name: why
        for name, why in kinds.calling.items()
        if name in above or name in kinds.calling_directly
    }
    allocating = frozenset(filter(_ALLOCATION.match, names))
    rarely = _allocate_rarely(tree, names, allocating)
    locks = frozenset(filter(_LOCK.match, names))
    place = {name: position for position, name in enumerate(names)}
    for text, kind, free in (
        ("allocates or frees memory", allocating, rarely),
        ("waits for other threads", locks, frozenset[str]()),
        ("does I/O", kinds.io, frozenset[str]()),
    ):
        calls = _count_calls(tree, names, kind)
        for name, way in _ways(tree, names, kind, kinds.included).items():
            if name not in kinds.library and name not in free:
                shown = way if len(way) < 4 else (way[0], "…", *way[-2:])
                times = plural(int(calls[place[name]]), "call")
                reasons[name] = f"{text} in {times}: {' > '.join(shown)}"
    return {name: why for name, why in reasons.items() if name not in kinds.included}


def _count_calls(tree: CallTree, names: Sequence[str], to: Collection[str]) -> Array:
    """Return the calls of some functions below each function, without calls inside of these."""
    called = np.array([name in to for name in names], dtype=bool)[tree.function]
    inside = np.zeros(len(called), dtype=bool)
    for node, above in enumerate(tree.parent.tolist()):  # callees come after their callers
        inside[node] = above >= 0 and (called[above] or inside[above])
    below = tree.totals(np.where(called & ~inside, tree.invocations, 0.0))
    return np.bincount(tree.function, below, len(names)).astype(np.float64)


def _allocate_rarely(
    tree: CallTree, names: Sequence[str], allocating: frozenset[str]
) -> frozenset[str]:
    """Return the functions that allocate little for their work, callees included.

    Memory that a function takes and gives back is one allocation. If a call takes few arrays in
    the mean, and gives all back, they are one allocation. The number of calls then has no limit.
    """
    giving = {name for name in allocating if _GIVING_BACK.match(name)}
    growing = set(filter(_GROWING.search, names))

    def by_function(values: Array) -> Array:
        sums = np.bincount(tree.function, weights=values, minlength=len(names))
        return sums.astype(np.float64)

    def count_calls(of: Collection[str]) -> Array:
        """Count below each function, without what is inside of functions with local arrays."""
        called = np.isin(tree.function, [f for f, name in enumerate(names) if name in of])
        counts = np.where(called, tree.calls, 0.0).tolist()
        for node in range(len(counts) - 1, -1, -1):  # callees come after their callers
            if tree.parent[node] >= 0 and not local[tree.function[node]]:
                counts[tree.parent[node]] += counts[node]
        return by_function(np.array(counts))

    work, calls = by_function(tree.inclusive), np.maximum(by_function(tree.calls), 1.0)
    rarely = local = np.zeros(len(names), dtype=bool)
    while True:  # arrays that a call takes and gives back are no allocations of its callers
        taken, given = count_calls(allocating - giving), count_calls(giving)
        count = np.maximum(taken, given)
        few = (work >= _OF_FUNCTION * count) & (tree.computation.sum() >= _OF_PROGRAM * count)
        rarely = rarely | few
        fits = (taken == given) & (taken <= _MAX_LOCAL_ARRAYS * calls) & (taken > 0)
        fits &= (count_calls(growing) == 0) & (work >= _OF_FUNCTION * calls)
        if not (fits & ~local).any():
            return frozenset(np.array(names)[rarely | local].tolist())
        local = local | fits


def find_wrappers(
    tree: CallTree, names: Sequence[str], kinds: Kinds, own: Array, movable: Iterable[str]
) -> dict[str, str]:
    """Return the functions that hand their work to one other that may move, and that one.

    Such a function calls the other at most once per call. Of its work, with everything that it
    calls, at most a hundredth is outside the other. In a chain of such functions each maps to the
    last. `own`, shape (nodes,), is the work of each context itself, in any unit.
    """
    can, handed = set(movable), dict[str, str]()
    work = tree.totals(own)
    contexts: dict[int, list[int]] = {}
    for node, function in enumerate(tree.function.tolist()):
        contexts.setdefault(function, []).append(node)
    for function, nodes in contexts.items():
        called: dict[str, list[int]] = {}
        for node in (child for v in nodes for child in tree.children[v]):
            called.setdefault(names[tree.function[node]], []).append(node)
        if names[function] not in can - kinds.included or not called:
            continue
        most = max(called, key=lambda name: work[called[name]].sum())
        once = tree.calls[called[most]].sum() <= tree.calls[nodes].sum()
        part = work[called[most]].sum() / max(work[nodes].sum(), 1.0)
        if most in can and once and part >= 1.0 - _OWN_WORK:
            handed[names[function]] = most
    for name in handed:
        while handed[name] in handed and handed[name] != name:
            handed[name] = handed[handed[name]]
    return handed


def _ways(
    tree: CallTree, names: Sequence[str], to: frozenset[str], included: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """Return the shortest way by calls from each function down to one of `to`, itself left out.

    Of equally short ways, the one with the most calls counts. No way goes on above a function that
    may move all the same.
    """
    ways: dict[str, tuple[str, ...]] = {}
    ranks: dict[str, tuple[int, float]] = {}
    for node, function in enumerate(tree.function.tolist()):
        if names[function] not in to - included:
            continue
        way: tuple[str, ...] = (names[function],)
        for above in tree.way(node)[1:]:
            name, rank = names[tree.function[above]], (len(way), -float(tree.invocations[node]))
            if name in included:
                break
            if name not in to and (name not in ranks or rank < ranks[name]):
                ways[name], ranks[name] = way, rank
            way = (name, *way)
    return ways


# ------------------------------------------------------------------------ the dataflow of a program


class Chain(NamedTuple):
    """A value that a loop of a function computes from a value of the iteration before."""

    function: int
    """Position in the names."""
    length: float
    """Instructions from one value to the next, at least."""
    steps: float
    """Iterations that take a value of one before; `starts`: that take one from outside."""
    starts: float


@dataclass(frozen=True, eq=False)
class Dataflow:
    """The dataflow between a program's functions, as dynamic counts of one run.

    "Inclusive" means a function with everything it calls. Bytes between functions are matrices,
    shape (names, names); the other arrays have the shape (names,).
    """

    program: str
    names: tuple[str, ...]
    """The functions, then the origins of data that no function wrote, such as ``(input)``."""
    functions: int
    """How many of the names are functions."""
    invocations: Array
    """Recursive ones counted."""
    computation: Array
    """Own arithmetic and logical instructions [instruction]."""
    local_bytes: Array
    """Bytes that an invocation wrote and read itself [B]."""
    code: Array
    """Instructions of the function's code, a measure of the hardware that it takes; 0: unknown."""
    transfers: Array
    """Bytes that one (row) wrote and another (column) read; on the diagonal between different
    invocations [B]."""
    transfers_into: Array
    """Bytes that came into an inclusive function (column), by writer (row) [B]."""
    transfers_out: Array
    """Bytes that left an inclusive function (row), by reader (column), per invocation [B]."""
    fetched: Array
    returned: Array
    """As `transfers_out`, and `fetched` as `transfers_into`, but each byte once (for a reading
    function) until it is written again [B]."""
    working_set: Array
    """Bytes that an inclusive function touches in the run [B]."""
    call_working_set: Array
    """Bytes that it touches in its largest call [B]."""
    chains: tuple[Chain, ...]
    tree: CallTree
    missing: tuple[str, ...] = ()
    """The numbers that the source lacks, each a sentence."""
    kinds: Kinds = field(default_factory=Kinds)
    """Reasons that keep functions on the host, and the choices of the study."""
    lacks: frozenset[str] = frozenset()
    """The counts that the source does not have: ``"transfers"``, ``"code"``."""
    partial: str = ""
    """The part of the program that the source does not contain, a sentence; empty: none."""
    critical_path: Array | None = None
    """Cycles of the longest dependence chains of an inclusive function's calls in the run, at the
    host's clock [cycle]; NaN: not measured for this function. None: for no function."""

    @functools.cached_property
    def calls(self) -> Array:
        """Invocations that are not recursions, shape (n,): the calls of an accelerator."""
        return self._by_function(self.tree.calls)

    @functools.cached_property
    def computation_inclusive(self) -> Array:
        """Computation with everything called, each recursion once, shape (n,) [instruction]."""
        return self._by_function(self.tree.inclusive)

    def _by_function(self, values: Array) -> Array:
        sums = np.bincount(self.tree.function, weights=values, minlength=len(self.names))
        return sums.astype(np.float64)

    @functools.cached_property
    def inside(self) -> Array:
        """Part of a function (row) that works for another (column), shape (n, n).

        The part of its computation that it does below the other in the call tree; of its
        invocations if it computes nothing.
        """
        return shares_inside(self.tree, len(self.names))

    @functools.cached_property
    def waiting(self) -> Array:
        """Instructions that must wait for one another if a function's accelerator is built.

        Shape (n,), callees included: the measured critical path, in cycles that last as long as an
        instruction. Where it was not measured, the longest of the `chains`; of a chain that begins
        several times in a call of the function only the mean counts: others may run in parallel.
        """
        most = np.zeros(len(self.names))
        for function, length, steps, starts in self.chains:
            part = self.inside[function]
            begun = np.divide(
                self.calls, starts * part, np.ones_like(part), where=starts * part > 0
            )
            most = np.maximum(most, length * steps * part * np.minimum(begun, 1.0))
        if self.critical_path is None:
            return most
        return np.where(np.isnan(self.critical_path), most, self.critical_path)

    @functools.cached_property
    def reads(self) -> Array:
        """Bytes that each function reads, local ones and transfers, shape (n,) [B]."""
        return np.asarray(self.local_bytes + self.transfers.sum(axis=0))

    @functools.cached_property
    def total_bytes(self) -> float:
        """All bytes read: local ones and transfers [B]."""
        return float(self.reads.sum())

    def position(self, name: str) -> int:
        """Return the position of a function; raise InputError if there is no such function."""
        own = self.names[: self.functions]
        if name not in own:
            raise InputError(self.program, [_unknown(name, own)])
        return own.index(name)

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """Functions that could be accelerated, by computation with everything called, most first.

        Functions that do something and for which :attr:`list_staying` has no reason.
        """
        return tuple(name for name in self._busy if name not in self.staying)

    @functools.cached_property
    def staying(self) -> dict[str, str]:
        """Why functions stay on the host unless the study includes them, the busiest first.

        Functions that do nothing are not among them. A function that hands its work to another is:
        an accelerator for it is one for the other.
        """
        own = self.names[: self.functions]
        kept = list_staying(self.tree, own, self.kinds)
        movable = [name for name in self._busy if name not in kept]
        passed = self.transfers.sum(axis=1) - np.diag(self.transfers)  # written for others
        moved = self.tree.own_share * (self.reads + passed)[self.tree.function]
        handed = find_wrappers(self.tree, own, self.kinds, self.tree.computation + moved, movable)
        kept |= {name: f"hands its work to {to}" for name, to in handed.items()}
        return {name: kept[name] for name in self._busy if name in kept}

    @functools.cached_property
    def on_host(self) -> frozenset[int]:
        """Functions that no accelerator holds, not even if its function calls them."""
        kept = list_bound(self.tree, self.names[: self.functions], self.kinds)
        return frozenset(f for f, name in enumerate(self.names) if name in kept)

    @functools.cached_property
    def excluding(self) -> dict[str, str]:
        """The functions that the study excludes, and their callers, each with the excluded one."""
        named = self.kinds.excluded - {"main"}
        ways = _ways(self.tree, self.names[: self.functions], named, self.kinds.included)
        return {name: way[-1] for name, way in ways.items()} | {name: name for name in named}

    @functools.cached_property
    def _busy(self) -> tuple[str, ...]:
        """The functions that do something, by computation with everything called, most first."""
        work = self.computation_inclusive
        moved = self.transfers_into.sum(axis=0) + self.returned.sum(axis=1) + self.local_bytes
        order = sorted(range(self.functions), key=lambda f: (-work[f], -moved[f], self.names[f]))
        return tuple(self.names[f] for f in order if work[f] > 0 or moved[f] > 0)

    def calls_of(self, called: Iterable[str]) -> set[tuple[str, str]]:
        """Return who calls these functions, through others too: pairs of caller and called."""
        tree, positions = self.tree, {f for f, name in enumerate(self.names) if name in set(called)}
        return {
            (self.names[tree.function[above]], self.names[tree.function[node]])
            for node in np.flatnonzero(np.isin(tree.function, list(positions))).tolist()
            for above in tree.way(node)[1:]
        }

    def without(self, names: Iterable[str]) -> Dataflow:
        """Return the same program with more functions excluded; InputError if one is unknown."""
        more = {self.names[self.position(name)] for name in names}
        return replace(self, kinds=self.kinds._replace(excluded=self.kinds.excluded | more))

    def including(self, names: Iterable[str]) -> Dataflow:
        """Return the same program with functions that may move whatever speaks against it."""
        more = {self.names[self.position(name)] for name in names}
        return replace(self, kinds=self.kinds._replace(included=self.kinds.included | more))


@dataclass(frozen=True, eq=False)
class Dataflows:
    """The dataflow of programs, in the order that the quantity `workload` counts."""

    programs: tuple[Dataflow, ...]

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """The candidates that a `selection` counts from its lowest bit, at most 20.

        In the order of their fraction of the computation, summed over the programs. Functions that
        a study includes are among them.
        """
        part: dict[str, float] = {}
        for program in self.programs:
            whole = max(float(program.computation.sum()), 1.0)
            for name in program.candidates:
                work = float(program.computation_inclusive[program.position(name)])
                part[name] = part.get(name, 0.0) + work / whole
        included = {name for p in self.programs for name in p.kinds.included}
        first = sorted(part, key=lambda name: (name not in included, -part[name]))[:MAX_CANDIDATES]
        return tuple(sorted(first, key=lambda name: -part[name]))

    def counted(self, column: str, workload: Floats) -> Array:
        """Return 1 where the source of a workload has a column of counts, else NaN."""
        known = [np.nan if column in p.lacks else 1.0 for p in self.programs]
        place = np.asarray(workload, dtype=np.float64)
        inside = (place >= 0) & (place < len(known))
        return np.where(
            inside, np.array([*known, np.nan])[np.where(inside, place, -1).astype(int)], np.nan
        )

    def unknown(self) -> list[str]:
        """Return in sentences the threads and counts that sources lack, for a study's answer."""
        return [f"{p.program}: {p.partial}." for p in self.programs if p.partial] + [
            f"{p.program}: the profile has no {' and no '.join(sorted(p.lacks, reverse=True))}."
            + " Speedups are upper bounds." * ("transfers" in p.lacks)
            for p in self.programs
            if p.lacks
        ]

    def selection(self, names: Iterable[str]) -> int:
        """Return the number whose bits choose these candidates; InputError if some are none."""
        names, known = dict.fromkeys(names), self.candidates
        remedies = {n: self.staying.get(n, nearest(n, known)) for n in names if n not in known}
        self._refuse([Problem("", f"'{n}' is not a candidate", why) for n, why in remedies.items()])
        return sum(1 << known.index(name) for name in names)

    def chosen(self, selection: int) -> tuple[str, ...]:
        """Return the names of the candidates that a selection chooses.

        >>> Dataflows(()).chosen(0)
        ()
        """
        return tuple(name for bit, name in enumerate(self.candidates) if selection >> bit & 1)

    def parts(self) -> dict[str, tuple[str, ...]]:
        """Return the names of what `selection` chooses, from its lowest bit."""
        return {"selection": self.candidates}

    @functools.cached_property
    def staying(self) -> dict[str, str]:
        """Why functions stay on the host that are no candidates."""
        kept = {n: _MORE for p in self.programs for n in p.candidates}
        kept |= {n: why for p in reversed(self.programs) for n, why in p.staying.items()}
        return {n: why for n, why in kept.items() if n not in self.candidates}

    def kept(self) -> dict[str, tuple[str, str]]:
        """Return why functions stay on the host, and what to do about it."""
        below = {name: called for p in self.programs for name, called in p.excluding.items()}
        remedies = {
            n: f"if it may move, take '{called}' out of exclude" for n, called in below.items()
        }
        remedies["main"] = _CALLS
        return {name: (why, remedies.get(name, _INCLUDE)) for name, why in self.staying.items()}

    def without(self, names: Sequence[str]) -> Dataflows:
        """Return the programs with functions excluded.

        InputError if no program has such functions, or if one is ``main``; all at once.
        """
        main = [Problem("", _MAIN, "leave it out of exclude")] * ("main" in names)
        self._refuse([*self._unknown(names), *main])
        return Dataflows(
            tuple(p.without([n for n in names if n in p.names]) for p in self.programs)
        )

    def including(self, names: Sequence[str]) -> Dataflows:
        """Return the programs with functions that may move, though something speaks against it.

        InputError if no program has such a function, if it may move as it is or does nothing, if it
        is ``main``, or if it calls what is excluded; all at once.
        """
        problems = self._unknown(names)
        if not problems:
            for name in names:
                if name not in self.staying:
                    idle = "may move as it is" if name in self.candidates else _NO_WORK
                    problems.append(Problem("", f"'{name}' {idle}", "leave it out of include"))
            calls = {
                f"'{caller}' calls '{excluded}', which is excluded"
                for p in self.programs
                for caller, excluded in p.calls_of(p.kinds.excluded)
                if caller in names
            }
            problems += [Problem("", text, "include or exclude both") for text in sorted(calls)]
        self._refuse([*problems, *[Problem("", _MAIN, _CALLS)] * ("main" in names)])
        return Dataflows(
            tuple(p.including([n for n in names if n in p.names]) for p in self.programs)
        )

    def _unknown(self, names: Sequence[str]) -> list[Problem]:
        known = {name for p in self.programs for name in p.names[: p.functions]}
        return [_unknown(name, known) for name in names if name not in known]

    def _refuse(self, problems: Sequence[Problem]) -> None:
        if problems:
            raise InputError(", ".join(program.program for program in self.programs), problems)

    def greatest(self) -> dict[str, tuple[float, str]]:
        """Return the greatest `workload` and `selection`, and in words what they choose from."""
        programs = ", ".join(f"{i} {p.program}" for i, p in enumerate(self.programs))
        bits = ", ".join(f"{1 << bit} {name}" for bit, name in enumerate(self.candidates))
        return {
            "workload": (len(self.programs) - 1, f"the programs: {programs}"),
            "selection": (2 ** len(self.candidates) - 1, f"add up some of: {bits or 'none, so 0'}"),
        }


def _unknown(name: str, known: Iterable[str]) -> Problem:
    return Problem("", f"there is no function '{name}'", nearest(name, known))
