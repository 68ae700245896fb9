"""Control dependence and induction variables of a function.

A block depends on a branch if one way from the branch always comes to the block and another may
not (Ferrante, Ottenstein, Warren, TOPLAS 9(3), 1987). Ways that end the program, such as a failed
assertion, are no alternatives. Sets of blocks are whole numbers, a bit per block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dse.profile.build.analysis import list_successors
from dse.profile.build.irtext import FunctionText, Statement, unquote_name

_STEPS = ("add", "sub", "getelementptr")


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of control of a function, blocks by number in their order.

    Parameters
    ----------
    controllers : tuple of int
        For each block, the set of branches that it depends on.
    inductions : frozenset of str
        Phi nodes that grow by the same amount in each iteration: hardware knows all their values
        when the loop begins.
    entries : mapping of str to set of str
        For each of them, the blocks from which the loop is entered.
    loops : tuple of int
        For each block, the set of the first blocks of the loops that it is in.
    """

    controllers: tuple[int, ...]
    inductions: Mapping[str, frozenset[str]]
    loops: tuple[int, ...]


def find_flow(function: FunctionText) -> Flow:
    """Return the flow of control of a function."""
    labels = {unquote_name(block.label): i for i, block in enumerate(function.blocks)}
    following = [
        sorted({labels[name] for name in list_successors(block.statements[-1])})
        for block in function.blocks
    ]
    ends = [block.statements[-1].opcode == "unreachable" for block in function.blocks]
    likely = [[to for to in targets if not ends[to]] or targets for targets in following]
    for i, block in enumerate(function.blocks):
        if block.statements[-1].opcode == "invoke":
            likely[i] = likely[i] and [labels[list_successors(block.statements[-1])[0]]]
    loops = _find_loops(following)
    return Flow(
        tuple(_controllers(likely)),
        _inductions(function, labels, loops),
        tuple(
            sum(1 << header for header, loop in loops.items() if i in loop.body)
            for i in range(len(function.blocks))
        ),
    )


def _controllers(following: Sequence[Sequence[int]]) -> list[int]:
    count = len(following)
    behind = _dominators(_turned(following), [i for i in range(count) if not following[i]])
    found = [0] * count
    for branch, targets in enumerate(following):
        if len(targets) > 1:
            certain = behind[branch] & ~(1 << branch)
            for target in targets:
                for block in members(behind[target] & ~certain):
                    found[block] |= 1 << branch
    return found


def _dominators(preceding_of: Sequence[Sequence[int]], roots: Sequence[int]) -> list[int]:
    """Return for each block the set that every way from a root to it passes.

    Parameters
    ----------
    preceding_of : sequence of sequence of int
        The edges in the direction of the search, from each block.
    roots : sequence of int
    """
    count = len(preceding_of)
    order = _reachable(preceding_of, roots)
    rest = [i for i in range(count) if i not in set(order)]
    starts = {*roots, *rest}  # from where no end can be reached: endless loops
    order += rest
    before = _turned(preceding_of)
    whole = (1 << count) - 1
    sets = [1 << i if i in starts else whole for i in range(count)]
    changed = True
    while changed:
        changed = False
        for node in order:
            if node in starts:
                continue
            common = whole
            for each in before[node]:
                common &= sets[each]
            common |= 1 << node
            if common != sets[node]:
                sets[node], changed = common, True
    return sets


def _reachable(following: Sequence[Sequence[int]], roots: Sequence[int]) -> list[int]:
    """Return the nodes that can be reached, breadth first."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for node in order:
        for target in following[node]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order


def _turned(following: Sequence[Sequence[int]]) -> list[list[int]]:
    result: list[list[int]] = [[] for _ in following]
    for i, targets in enumerate(following):
        for target in targets:
            result[target].append(i)
    return result


def members(numbers: int) -> list[int]:
    """Return the blocks of a set, in order.

    >>> members(0b1010)
    [1, 3]
    """
    found = []
    while numbers:
        low = numbers & -numbers
        found.append(low.bit_length() - 1)
        numbers ^= low
    return found


class _Loop(NamedTuple):
    latches: list[int]
    """The blocks that lead back to the first one."""
    body: set[int]


def _find_loops(following: Sequence[Sequence[int]]) -> dict[int, _Loop]:
    """Return the natural loops by their first blocks."""
    dominators = _dominators(following, [0])
    before = _turned(following)
    loops = {}
    for header in range(len(following)):
        latches = [block for block in before[header] if dominators[block] >> header & 1]
        if latches:
            body, waiting = {header}, list(latches)
            while waiting:
                node = waiting.pop()
                if node not in body:
                    body.add(node)
                    waiting += before[node]
            loops[header] = _Loop(latches, body)
    return loops


def _inductions(
    function: FunctionText, labels: Mapping[str, int], loops: Mapping[int, _Loop]
) -> dict[str, frozenset[str]]:
    defined = {
        unquote_name(s.result[1:]): (i, s)
        for i, block in enumerate(function.blocks)
        for s in block.statements
        if s.result
    }
    found = {}
    for header, (latches, body) in loops.items():
        for statement in function.blocks[header].statements:
            if statement.opcode != "phi":
                break
            name = unquote_name(statement.result[1:])
            incoming = statement.incoming
            values = [value for value, source in incoming if labels[source] in latches]
            steps = {_step(value, name, defined, body) for value in values}
            if len(steps) == 1 and None not in steps:
                found[name] = frozenset(s for _, s in incoming if labels[s] not in latches)
    return found


def _step(
    value: str, phi: str, defined: Mapping[str, tuple[int, Statement]], body: set[int]
) -> tuple[str, ...] | None:
    """Return how a value follows from a phi node, None if not by an amount that the loop keeps."""
    if value not in defined:
        return None
    statement = defined[value][1]
    names = statement.locals
    if statement.opcode not in _STEPS or names.count(phi) != 1:
        return None
    if any(name != phi and name in defined and defined[name][0] in body for name in names):
        return None
    return statement.opcode, *(operand.split()[-1] for operand in statement.operands())
