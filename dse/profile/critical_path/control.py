"""Control dependence and induction variables of a function.

A block depends on a branch if one way from the branch always comes to the block and another may
not (Ferrante, Ottenstein, Warren, TOPLAS 9(3), 1987). Ways that end the program, such as a failed
assertion, are no alternatives. Sets of blocks are whole numbers, a bit per block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.profile.build.analysis import successors_of
from dse.profile.build.irtext import FunctionText, Statement, unquoted

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
    """

    controllers: tuple[int, ...]
    inductions: Mapping[str, frozenset[str]]


def find_flow(function: FunctionText) -> Flow:
    """Return the flow of control of a function."""
    labels = {unquoted(block.label): i for i, block in enumerate(function.blocks)}
    following = [
        sorted({labels[name] for name in successors_of(block.statements[-1])})
        for block in function.blocks
    ]
    ends = [block.statements[-1].opcode == "unreachable" for block in function.blocks]
    likely = [[to for to in targets if not ends[to]] or targets for targets in following]
    for i, block in enumerate(function.blocks):
        if block.statements[-1].opcode == "invoke":
            likely[i] = likely[i] and [labels[successors_of(block.statements[-1])[0]]]
    return Flow(
        tuple(_controllers(likely)),
        _inductions(function, labels, following),
    )


def _controllers(following: Sequence[Sequence[int]]) -> list[int]:
    count = len(following)
    behind = _dominators(_turned(following), [i for i in range(count) if not following[i]])
    found = [0] * count
    for branch, targets in enumerate(following):
        if len(targets) > 1:
            certain = behind[branch] & ~(1 << branch)
            for target in targets:
                for block in _members(behind[target] & ~certain):
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


def _members(numbers: int) -> list[int]:
    found = []
    while numbers:
        low = numbers & -numbers
        found.append(low.bit_length() - 1)
        numbers ^= low
    return found


def _inductions(
    function: FunctionText, labels: Mapping[str, int], following: Sequence[Sequence[int]]
) -> dict[str, frozenset[str]]:
    defined = {
        unquoted(s.result[1:]): (i, s)
        for i, block in enumerate(function.blocks)
        for s in block.statements
        if s.result
    }
    dominators = _dominators(following, [0])
    before = _turned(following)
    found = {}
    for header, block in enumerate(function.blocks):
        latches = [p for p in before[header] if dominators[p] >> header & 1]
        if not latches:
            continue
        body = _loop(header, latches, before)
        for statement in block.statements:
            if statement.opcode != "phi":
                break
            name = unquoted(statement.result[1:])
            incoming = statement.incoming
            steps = [value for value, source in incoming if labels[source] in latches]
            if all(_is_step(value, name, defined, body) for value in steps):
                found[name] = frozenset(s for _, s in incoming if labels[s] not in latches)
    return found


def _loop(header: int, latches: Sequence[int], before: Sequence[Sequence[int]]) -> set[int]:
    body, waiting = {header}, list(latches)
    while waiting:
        node = waiting.pop()
        if node not in body:
            body.add(node)
            waiting += before[node]
    return body


def _is_step(
    value: str, phi: str, defined: Mapping[str, tuple[int, Statement]], body: set[int]
) -> bool:
    """Return whether a value is the phi node and an amount that the loop does not change."""
    if value not in defined:
        return False
    statement = defined[value][1]
    names = statement.locals
    if statement.opcode not in _STEPS or names.count(phi) != 1:
        return False
    return all(name == phi or name not in defined or defined[name][0] not in body for name in names)
