"""How a program's dataflow grows: its numbers at several sizes, and their laws.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010), Figures 7 and 8: dataflow as formulas in n, superimposed on the call tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dse.model import Array
from objectives.communication.dataflow import Dataflow
from objectives.communication.law_text import Notation, growth, law_text
from objectives.communication.laws import Law, fit_law

COUNTS = ("computation", "invocations", "local bytes", "bytes", "bytes into", "bytes out of")
"""The counts: of a function the first three, from one to another the last three. "Into" and
"out of" mean a function with everything it calls."""


class Count(NamedTuple):
    """One number of a dataflow.

    Parameters
    ----------
    what : str
        One of `COUNTS`.
    source, target : str
        From which function to which; the same if it is of one function.
    """

    what: str
    source: str
    target: str


def counts(dataflow: Dataflow) -> dict[Count, int]:
    """Return every number of a dataflow that is not 0."""
    found: dict[Count, int] = {}
    own = (dataflow.computation, dataflow.invocations, dataflow.local_bytes)
    for what, values in zip(COUNTS, own, strict=False):
        for name, value in zip(dataflow.names, values, strict=True):
            if value:
                found[Count(what, name, name)] = int(value)
    between = (dataflow.transfers, dataflow.transfers_into, dataflow.transfers_out)
    for what, matrix in zip(COUNTS[3:], between, strict=True):
        for i, j in np.argwhere(matrix > 0):
            found[Count(what, dataflow.names[i], dataflow.names[j])] = int(matrix[i, j])
    return found


def fit_laws(dataflows: Sequence[Dataflow], sizes: Sequence[int]) -> dict[Count, Law]:
    """Fit a law to every number of one program's dataflow.

    Parameters
    ----------
    dataflows : sequence of Dataflow
        Of one program, a run for each size.
    sizes : sequence of int
        See :func:`~objectives.communication.laws.fit_law`, which also lists the errors.
    """
    if len(dataflows) != len(sizes):
        raise ValueError(f"{len(dataflows)} dataflows and {len(sizes)} sizes: give one a size")
    found = [counts(each) for each in dataflows]
    return {
        count: fit_law(sizes, [each.get(count, 0) for each in found])
        for count in sorted(set().union(*found), key=lambda c: (COUNTS.index(c.what), *c[1:]))
    }


def law_table(laws: dict[Count, Law], notation: Notation | None = None) -> pd.DataFrame:
    """Return laws as a table: what, from, to, law, growth, exact, residual, held out.

    Parameters
    ----------
    laws : dict of Count to Law
        From :func:`fit_laws`.
    notation : Notation, optional
        Of bytes; other counts are written in instructions and calls.
    """
    style = notation or Notation()
    units = {"computation": "instructions", "invocations": "calls"}
    rows = []
    for count, law in laws.items():
        own = style._replace(unit=units.get(count.what, style.unit))
        rows.append(
            {
                "what": count.what,
                "from": count.source,
                "to": count.target,
                "law": law_text(law, own),
                "growth": growth(law, own),
                "exact": law.exact,
                "residual": law.residual,
                "held out": law.held_out,
            }
        )
    return pd.DataFrame(rows)


class LabelledTree(NamedTuple):
    """A call tree with dataflow on it; for :class:`dse.model.section.Tree`.

    Parameters
    ----------
    names : tuple of str
        The functions.
    parents : tuple of int
        Position of the caller's node, before it; -1 for a root.
    values : ndarray, shape (nodes,)
        Computation with everything called [instruction].
    labels : tuple of str
        What comes in from which function.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    values: Array
    labels: tuple[str, ...]


def flow_tree(dataflow: Dataflow, text: Callable[[Count], str]) -> LabelledTree:
    """Return the call tree, each node with the data that its function reads.

    Parameters
    ----------
    dataflow : Dataflow
        The call tree and which functions exchange data; library functions without computation are
        left out.
    text : callable
        Writes an amount: a law, or the number of bytes.
    """
    tree = dataflow.tree
    exchanged = dataflow.transfers > 0
    shown = [
        node
        for node, function in enumerate(tree.function)
        if tree.inclusive[node] > 0 or exchanged[function].any() or exchanged[:, function].any()
    ]
    shown = [node for node in shown if set(tree.way(node)) <= set(shown)]
    at = {node: i for i, node in enumerate(shown)}
    labels = []
    for node in shown:
        reader = int(tree.function[node])
        lines = [
            f"{dataflow.names[writer]}: "
            + text(Count("bytes", dataflow.names[writer], dataflow.names[reader]))
            for writer in np.flatnonzero(exchanged[:, reader])
        ]
        labels.append("\n".join(lines))
    return LabelledTree(
        tuple(dataflow.names[tree.function[node]] for node in shown),
        tuple(at.get(int(tree.parent[node]), -1) for node in shown),
        np.asarray(tree.inclusive[shown]),
        tuple(labels),
    )
