"""Which functions may move into an accelerator, and why the others stay on the host.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems", 2010, section II accelerates a function
with everything that it calls. So what no accelerator can do, such as input and output, keeps
all that call it on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dse.model import Array
from objectives.communication.tree import CallTree

_OWN = 0.01  # fraction of the work of a function with its callees: less is not its own work


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
    """Library functions that do input or output."""


def staying(tree: CallTree, names: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return why functions stay on the host, by name; functions that may move are left out.

    Parameters
    ----------
    tree : CallTree
        The calling contexts.
    names : sequence of str
        The functions, as the tree numbers them.
    kinds : Kinds
        What is known of them.
    """
    found = bound(tree, names, kinds)
    found |= dict.fromkeys(kinds.system, "not the program's own: a header of the system defines it")
    found |= dict.fromkeys(kinds.library, "a library function: its computation is not known")
    found |= dict.fromkeys(kinds.excluded, "the study excludes it") | {
        "main": "the program's frame"
    }
    return {n: why for n, why in found.items() if n not in kinds.included}


def bound(tree: CallTree, names: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return why functions cannot be part of an accelerator, not even called by its function."""
    callers = set(tree.parent.tolist())
    roots = {
        names[f]
        for v, f in enumerate(tree.function.tolist())
        if tree.parent[v] < 0 and v in callers
    }
    found = dict.fromkeys(roots, "a root of the call tree: no function calls it")
    found |= dict.fromkeys(kinds.excluded, "the study excludes it")
    found |= {
        name: f"calls {way[-1]}, which no accelerator is for"
        for name, way in _ways(tree, names, kinds.excluded, kinds.included).items()
    }
    found |= {
        name: f"does I/O: {_told(way)}"
        for name, way in _ways(tree, names, kinds.io, kinds.included).items()
        if name not in kinds.library
    }
    return {n: why for n, why in found.items() if n not in kinds.included}


def excluding(tree: CallTree, names: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return the functions that the study excludes or that call such, and the excluded one."""
    named = kinds.excluded - {"main"}
    found = {name: way[-1] for name, way in _ways(tree, names, named, kinds.included).items()}
    return found | {name: name for name in named}


def wrappers(
    tree: CallTree, names: Sequence[str], kinds: Kinds, own: Array, movable: Iterable[str]
) -> dict[str, str]:
    """Return the functions that hand their work to one other that may move, and that one.

    Such a function calls the other at most once per call. Of its work, with everything that it
    calls, at most a hundredth is outside the other. In a chain of such functions each maps to the
    last.

    Parameters
    ----------
    own : ndarray, shape (nodes,)
        Work of each context itself, in any unit.
    movable : iterable of str
        The functions that may move.
    """
    can, found = set(movable), dict[str, str]()
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
        if most in can and once and part >= 1.0 - _OWN:
            found[names[function]] = most
    for name in found:
        while found[name] in found and found[name] != name:
            found[name] = found[found[name]]
    return found


def _told(way: Sequence[str]) -> str:
    """Return a way in words; of a long one its first and last steps.

    >>> _told(["close", "flush", "put", "write"])
    'close > … > put > write'
    """
    return " > ".join(way if len(way) < 4 else (way[0], "…", *way[-2:]))


def _ways(
    tree: CallTree, names: Sequence[str], to: frozenset[str], included: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """Return the shortest way by calls from each function down to one of `to`, itself left out.

    No way goes on above a function that may move all the same.
    """
    found: dict[str, tuple[str, ...]] = {}
    for node, function in enumerate(tree.function.tolist()):
        if names[function] not in to - included:
            continue
        way: tuple[str, ...] = (names[function],)
        for above in tree.way(node)[1:]:
            name = names[tree.function[above]]
            if name in included:
                break
            if name not in to and len(way) < len(found.get(name, (*way, ""))):
                found[name] = way
            way = (name, *way)
    return found
