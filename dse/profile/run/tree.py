"""The call tree of a run, recursions folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.profile.document import Context, Recursion
from dse.profile.run.names import ORIGINS


class Folded(NamedTuple):
    """A call tree, a recursion in one context with the call that it repeats."""

    contexts: tuple[Context, ...]
    recursions: tuple[Recursion, ...]
    """The calls that were folded into a context above."""
    inclusive: dict[int, int]
    """Computation with callees, by function."""


def fold_tree(nodes: NDArray[Any], names: Sequence[str]) -> Folded:
    """Return the call tree of a run.

    Parameters
    ----------
    nodes : array of :data:`dse.profile.run.result.NODE`
        The tree as the runtime left it; each node comes after its parent.
    names : sequence of str
        As :func:`dse.profile.run.names.function_names` returns them.
    """
    total = nodes["work"].astype(np.int64)
    for at in range(len(nodes) - 1, 0, -1):
        total[nodes["parent"][at]] += total[at]
    inclusive: dict[int, int] = defaultdict(int)
    folded: list[list[int]] = []  # parent, function, invocations, work, entered
    place: dict[int, int] = {0: -1}
    children: dict[tuple[int, int], int] = {}
    again: dict[tuple[int, int], int] = {}
    for at in range(1, len(nodes)):
        node = nodes[at]
        function = int(node["function"])
        if function >= len(names) - len(ORIGINS):
            continue
        if node["outermost"]:
            inclusive[function] += int(total[at])
        parent = up = place[int(node["parent"])]
        while up >= 0 and folded[up][1] != function:
            up = folded[up][0]
        if up < 0:
            up = children.setdefault((parent, function), len(folded))
            if up == len(folded):
                folded.append([parent, function, 0, 0, 0])
        else:
            again[parent, up] = again.get((parent, up), 0) + int(node["invocations"])
        place[at] = up
        folded[up][2] += int(node["invocations"])
        folded[up][3] += int(node["work"])
        folded[up][4] += int(node["invocations"]) * int(node["outermost"])
    contexts = tuple(
        Context(parent=p, function=names[f], invocations=n, computation=w, entered=e)
        for p, f, n, w, e in folded
    )
    recursions = tuple(
        Recursion(source=a, to=b, count=n) for (a, b), n in sorted(again.items()) if n
    )
    return Folded(contexts, recursions, inclusive)
