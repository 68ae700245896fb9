"""Chains of values through the iterations of loops, which no parallel hardware shortens.

In single static assignment form a value that is carried from one iteration to the next goes through
a phi node: it is part of a cycle of definitions and uses. Values that hardware can compute for many
iterations at once are left out: sums of whole numbers and addresses, products, bit operations and
choices of an extreme, each kind for itself, may be regrouped (an index, a count, a parity).
Chains through memory are not seen. The chains listed here are critical; there may be more.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_FREE = ("phi", "trunc", "zext", "sext", "freeze", "bitcast")
"""Opcodes that take no time: they only rename a value."""
_REGROUPED = (
    frozenset({"add", "sub", "getelementptr", "select"}),
    frozenset({"icmp", "select", "minmax"}),
    *(frozenset({name, "select"}) for name in ("mul", "and", "or", "xor")),
)


@dataclass(slots=True)
class ChainStep:
    """An instruction that gives a value, with the values that it takes.

    Parameters
    ----------
    name : str
        Of its value.
    block : int
        Where it stands.
    operation : str
        Its opcode; ``"minmax"`` for a call of LLVM's minimum or maximum of whole numbers.
    operands : tuple of str
        The values that it takes; of a phi node in the order of `incoming`.
    incoming : tuple of int
        Of a phi node, the blocks that it takes values from.
    """

    name: str
    block: int
    operation: str
    operands: tuple[str, ...]
    incoming: tuple[int, ...] = ()


@dataclass(slots=True)
class Chain:
    """A value that an execution of a block computes from its value in an earlier one.

    Parameters
    ----------
    block : int
        Its phi node's.
    length : int
        Instructions from one to the next, at least.
    starts : list of (int, int)
        Edges between blocks on which a value from outside begins a chain.
    """

    block: int
    length: int
    starts: list[tuple[int, int]]


def find_chains(steps: Sequence[ChainStep]) -> list[Chain]:
    """Return the chains of a function's loops.

    Parameters
    ----------
    steps : sequence of Step
        All instructions of the function that give values, in their order.
    """
    found = []
    for cycle in _cycles(steps):
        timed = {s.operation for s in cycle.values() if s.operation not in _FREE}
        if timed and not any(timed <= alike for alike in _REGROUPED):
            found += _chain(cycle)
    return found


def _cycles(steps: Sequence[ChainStep]) -> list[dict[str, ChainStep]]:
    """Return the strongly connected parts of the graph of definitions and uses."""
    if not any(step.operation == "phi" for step in steps):
        return []
    place = {step.name: i for i, step in enumerate(steps)}
    users: list[list[int]] = [[] for _ in steps]
    for i in reversed(range(len(steps))):
        for operand in steps[i].operands:
            if operand in place:
                users[place[operand]].append(i)
    parts = [sorted(part) for part in strong_components(users) if len(part) > 1]
    return [{steps[i].name: steps[i] for i in part} for part in parts]


def strong_components(following: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected parts of a graph (chains; Tarjan, SIAM J. Comput. 1(2), 1972).

    A part comes after all parts that can be reached from it. Not scipy's, whose import takes longer
    than most builds.

    Parameters
    ----------
    following : sequence of sequence of int
        For each node, the nodes that its edges lead to.
    """
    never, done = -1, len(following)
    number, first = [never] * done, [done] * done  # the first visit that a node of `open_` reaches
    open_: list[int] = []
    parts: list[list[int]] = []
    way: list[tuple[int, Iterator[int]]] = []
    visits = itertools.count()

    def enter(node: int) -> None:
        number[node] = first[node] = next(visits)
        open_.append(node)
        way.append((node, iter(following[node])))

    for root in range(done):
        if number[root] == never:
            enter(root)
        while way:
            node, rest = way[-1]
            for target in rest:
                if number[target] == never:
                    enter(target)
                    break
                first[node] = min(first[node], first[target])
            else:
                way.pop()
                if way:
                    before = way[-1][0]
                    first[before] = min(first[before], first[node])
                if first[node] == number[node]:
                    parts.append([])
                    while not parts[-1] or parts[-1][-1] != node:
                        parts[-1].append(open_.pop())
                        first[parts[-1][-1]] = done
    return parts


def _chain(cycle: Mapping[str, ChainStep]) -> list[Chain]:
    """Return the chain of a cycle, none if its length is not certain."""
    phis = [step for step in cycle.values() if step.operation == "phi"]
    starts = sorted(
        {
            (block, phi.block)
            for phi in phis
            for value, block in zip(phi.operands, phi.incoming, strict=True)
            if value not in cycle
        }
    )
    if len({step.block for step in cycle.values()}) == 1:
        length, phi = max(((_longest(cycle, phi), phi) for phi in phis), key=lambda each: each[0])
    else:  # an execution may pass by some of it: the shortest way, through what none passes by
        through = [phi for phi in phis if not _has_cycle(cycle, phi.name)]
        if not through:
            return []
        length, phi = max(((_shortest(cycle, phi), phi) for phi in through), key=lambda e: e[0])
    return [Chain(phi.block, length, starts)] if length else []


def _time(step: ChainStep) -> int:
    return int(step.operation not in _FREE)


def _longest(cycle: Mapping[str, ChainStep], phi: ChainStep) -> int:
    """Return the instructions on the longest way within a block from a phi node back to it."""
    far = {phi.name: 0}
    for step in cycle.values():  # in the block's order: operands come first
        before = [far[o] for o in step.operands if o in far]
        if step.operation != "phi" and before:
            far[step.name] = max(before) + _time(step)
    return max((far.get(value, 0) for value in phi.operands if value in cycle), default=0)


def _users(cycle: Mapping[str, ChainStep]) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {name: [] for name in cycle}
    for step in cycle.values():
        for operand in step.operands:
            if operand in cycle:
                users[operand].append(step.name)
    return users


def _has_cycle(cycle: Mapping[str, ChainStep], without: str) -> bool:
    """Return whether a cycle remains without a value."""
    users = _users(cycle)
    waiting = {n: sum(o in cycle and o != without for o in s.operands) for n, s in cycle.items()}
    ready = [name for name, count in waiting.items() if not count and name != without]
    done = 1
    while ready:
        done += 1
        for user in users[ready.pop()]:
            waiting[user] -= 1
            if not waiting[user] and user != without:
                ready.append(user)
    return done < len(cycle)


def _shortest(cycle: Mapping[str, ChainStep], phi: ChainStep) -> int:
    """Return the instructions on the shortest way from a phi node back to it."""
    users = _users(cycle)
    near: dict[str, int] = {}
    heap = [(_time(cycle[user]), user) for user in users[phi.name]]
    heapq.heapify(heap)
    while heap:
        far, name = heapq.heappop(heap)
        if name == phi.name:
            return far
        if name in near:
            continue
        near[name] = far
        for user in users[name]:
            if user not in near:
                heapq.heappush(heap, (far + _time(cycle[user]), user))
    return 0
