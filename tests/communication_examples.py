"""Random programs as traces, and a literal evaluation that follows every read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dse.profile.document import (
    Block,
    Call,
    Context,
    Function,
    Profile,
    Recursion,
    Transfer,
)
from objectives.communication.dataflow import CallTree
from tests.profile.examples import hollow_profile

INPUT = "(input)"
ADDRESSES = 24


@dataclass
class Invocation:
    function: str
    path: tuple[int, ...]  # of invocations, from the root to this one


@dataclass
class Read:
    """A byte that an invocation learns: who wrote it, and who read it last."""

    reader: int
    writer: int | None
    before: int | None
    earlier: tuple[int, ...] = ()  # all that read it since it was written


@dataclass
class Trace:
    """What happened in a run."""

    invocations: list[Invocation] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    touched: list[tuple[int, int]] = field(default_factory=list)  # invocation, address

    def functions(self, invocation: int | None) -> set[str]:
        """Return the functions that are running in an invocation."""
        path = () if invocation is None else self.invocations[invocation].path
        return {self.invocations[i].function for i in path}


class Machine:
    """Runs a random program. Functions are ``main`` and f1, f2, …; each may call later ones."""

    def __init__(self, seed: int, functions: int, helpers: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        names = ["main", *(f"f{i}" for i in range(1, functions))]
        self.callees: dict[str, list[str]] = {name: [] for name in names}
        for i, name in enumerate(names[1:], 1):
            self.callees[names[int(self.rng.integers(0, i))]].append(name)
        for i in range(helpers):  # called from several places
            for name in names[1:]:
                if self.rng.random() < 0.5:
                    self.callees[name].append(f"h{i}")
            self.callees[f"h{i}"] = []
        self.recursive = {name for name in names[1:] if self.rng.random() < 0.3}
        self.trace = Trace()
        self.writer: dict[int, int] = {}
        self.reader: dict[int, int] = {}
        self.readers: dict[int, tuple[int, ...]] = {}
        self._run("main", ())

    def _run(self, function: str, path: tuple[int, ...], depth: int = 0) -> None:
        me = len(self.trace.invocations)
        path = (*path, me)
        self.trace.invocations.append(Invocation(function, path))
        self.trace.computed.append(0)
        for callee in self.callees[function] + [function] * (
            function in self.recursive and depth < 2
        ):
            for _ in range(int(self.rng.integers(1, 3))):
                self._work(me)
                self.trace.calls[function, callee] += 1
                self._run(callee, path, depth + 1 if callee == function else 0)
        self._work(me)

    def _work(self, me: int) -> None:
        self.trace.computed[me] += int(self.rng.integers(1, 40))
        for address in self.rng.integers(0, ADDRESSES, self.rng.integers(1, 12)).tolist():
            self.trace.touched.append((me, address))
            if self.rng.random() < 0.4:
                self.writer[address] = me
                self.reader.pop(address, None)
                self.readers[address] = ()
            elif self.reader.get(address) != me:
                earlier = self.readers.get(address, ())
                read = Read(me, self.writer.get(address), self.reader.get(address), earlier)
                self.trace.reads.append(read)
                self.reader[address] = me
                self.readers[address] = (*earlier, me)


def _outermost(trace: Trace, path: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    seen = set()
    for invocation in path:
        function = trace.invocations[invocation].function
        if function not in seen:
            seen.add(function)
            yield function, invocation


def first_reading(trace: Trace, read: Read, frame: int) -> bool:
    """Tell whether no invocation of the reader's function read the value after a call ended."""
    mine = trace.invocations[read.reader].function
    earlier = (trace.invocations[i] for i in read.earlier)
    return not any(call.function == mine and frame not in call.path for call in earlier)


def profile_of(trace: Trace) -> Profile:
    """Return the profile by the rules of docs/reference/profile-format.md."""
    moved: Counter[tuple[str, str]] = Counter()
    into: Counter[tuple[str, str]] = Counter()
    out: Counter[tuple[str, str]] = Counter()
    local: Counter[str] = Counter()
    fetched: Counter[tuple[str, str]] = Counter()
    returned: Counter[tuple[str, str]] = Counter()
    for read in trace.reads:
        mine = trace.invocations[read.reader]
        if read.writer == read.reader:
            local[mine.function] += 1
            continue
        wrote = () if read.writer is None else trace.invocations[read.writer].path
        before = () if read.before is None else trace.invocations[read.before].path
        source = INPUT if read.writer is None else trace.invocations[read.writer].function
        moved[source, mine.function] += 1
        for function, frame in _outermost(trace, mine.path):
            if frame not in wrote and frame not in before:
                into[source, function] += 1
            if not any(function in trace.functions(i) for i in (read.writer, *read.earlier)):
                fetched[source, function] += 1
        for function, frame in _outermost(trace, wrote):
            if frame not in mine.path:
                out[function, mine.function] += 1
                if first_reading(trace, read, frame):
                    returned[function, mine.function] += 1
    words: dict[str, set[int]] = {}
    frames: dict[tuple[str, int], set[int]] = {}
    for invocation, address in trace.touched:
        for each in _outermost(trace, trace.invocations[invocation].path):
            words.setdefault(each[0], set()).add(address)
            frames.setdefault(each, set()).add(address)
    names = list(dict.fromkeys(call.function for call in trace.invocations))
    tree = _contexts(trace)
    work = Counter[str]()
    for call, computed in zip(trace.invocations, trace.computed, strict=True):
        work[call.function] += computed
    functions = tuple(
        Function(
            name=name,
            symbol=name,
            entry=i,
            invocations=sum(call.function == name for call in trace.invocations),
            computation=work[name],
            computation_inclusive=0,
            local_bytes=local[name],
            working_set=len(words.get(name, ())),
            call_working_set=max((len(w) for (f, _), w in frames.items() if f == name), default=0),
        )
        for i, name in enumerate(names)
    )
    block = {"name": "", "line": 0, "executions": 0, "exits": 0, "instructions": {}}
    return hollow_profile(
        functions=functions,
        transfers=_rows(moved),
        transfers_into=_rows(into),
        transfers_out=_rows(out),
        fetched=_rows(fetched),
        returned=_rows(returned),
        call_tree=tree,
        recursions=_recursions(trace, tree),
        blocks=tuple(
            Block.model_validate({**block, "id": i, "function": name, "area": i + 1})
            for i, name in enumerate(names)
        ),
        calls=tuple(
            Call(source=names.index(a), to=b, count=count, arguments=0, result=False)
            for (a, b), count in sorted(trace.calls.items())
        ),
    )


def _rows(matrix: Counter[tuple[str, str]]) -> tuple[Transfer, ...]:
    return tuple(Transfer(source=a, to=b, bytes=n) for (a, b), n in sorted(matrix.items()))


def _contexts(trace: Trace) -> tuple[Context, ...]:
    """Return the call tree, recursions folded."""
    place: dict[tuple[str, ...], int] = {}
    counts: list[list[int]] = []
    for call, computed in zip(trace.invocations, trace.computed, strict=True):
        way: tuple[str, ...] = ()
        for at in call.path:
            function = trace.invocations[at].function
            way = way[: way.index(function) + 1] if function in way else (*way, function)
        if way not in place:
            place[way] = len(counts)
            counts.append([0, 0])
        counts[place[way]][0] += 1
        counts[place[way]][1] += computed
    return tuple(
        Context(
            parent=place[way[:-1]] if len(way) > 1 else -1,
            function=way[-1],
            invocations=counts[node][0],
            computation=counts[node][1],
        )
        for way, node in place.items()
    )


def _recursions(trace: Trace, tree: tuple[Context, ...]) -> tuple[Recursion, ...]:
    """Return the calls of functions that live already; here they are always the caller."""
    place = {_way(tree, node): node for node in range(len(tree))}
    counts = Counter[int]()
    for call in trace.invocations:
        names = [trace.invocations[at].function for at in call.path]
        if len(names) > 1 and names[-1] == names[-2]:
            counts[place[tuple(dict.fromkeys(names))]] += 1
    return tuple(Recursion(source=node, to=node, count=n) for node, n in sorted(counts.items()))


def _way(tree: tuple[Context, ...], node: int) -> tuple[str, ...]:
    above = tree[node].parent
    return (*(_way(tree, above) if above >= 0 else ()), tree[node].function)


@dataclass(frozen=True)
class Costs:
    """A machine's costs, by where something happens."""

    computation: float
    store: float
    medium: float
    call: float
    shared: bool
    keeps: bool = False


def literal_time(trace: Trace, accelerated: set[str], costs: Costs) -> tuple[float, int]:
    """Return time and bytes over the medium, reading by reading, invocation by invocation."""
    homes = [
        next((f for f in _outermost(trace, call.path) if f[0] in accelerated), ("", -1))
        for call in trace.invocations
    ]
    time = 0.0
    for (name, _), computed in zip(homes, trace.computed, strict=True):
        time += computed * (costs.computation if name else 1.0)
    time += costs.call * len({home for home in homes if home[0]})
    medium = 0
    for read in trace.reads:
        here, there = (("", -1) if i is None else homes[i] for i in (read.reader, read.writer))
        had = [homes[i] for i in (*read.earlier, *([] if read.writer is None else [read.writer]))]
        sent = bool(there[0]) and first_reading(trace, read, there[1])
        fetched = _fetched(here, there, had, sent, costs)
        own = bool(here[0]) and here[0] == there[0] and here != there
        back = own and sent and not costs.keeps and not costs.shared
        medium += fetched + back
        time += costs.medium * (fetched + back)
        if not fetched:
            time += costs.store if here[0] else 1.0
    return time, medium


Home = tuple[str, int]


def _fetched(here: Home, there: Home, had: list[Home], sent: bool, costs: Costs) -> bool:
    """Tell whether a byte comes over the medium when it is read.

    `had` are the places where its value has been, `sent` whether it is yet to leave its writer's.
    """
    if not here[0]:
        return sent
    if here in had or (costs.keeps and here[0] in {name for name, _ in had}):
        return False
    return not (there[0] and costs.shared)


def antichains(tree: CallTree, nodes: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield every set of nodes none of which is below another."""
    if not nodes:
        yield ()
        return
    first, rest = nodes[0], nodes[1:]
    yield from antichains(tree, rest)
    below = set(tree.below(first))
    for others in antichains(tree, [v for v in rest if v not in below]):
        yield (first, *others)
