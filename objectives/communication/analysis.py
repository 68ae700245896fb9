"""Where a program's time goes, and what acceleration of its parts gives: tables behind pictures.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010): Figure 3 (:func:`breakdown`), Figures 4 and 9 (:func:`busiest`), Figure 5
(:func:`memory_wall`), Figure 6 (:func:`local_or_global`) and Figure 10 (:func:`speedups`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dse.model import Array
from objectives.communication.dataflow import Dataflow
from objectives.communication.laws import Law, Notation, fit_law, growth, law_text
from objectives.communication.split import outermost, split, whole
from objectives.communication.verdict import Setting

REST = "(rest)"
PARTS = ("computation", "local", "global")


def breakdown(
    dataflow: Dataflow, functions: Sequence[str], setting: Setting | None = None
) -> pd.DataFrame:
    """Divide a program's time among functions, each with everything it calls.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    functions : sequence of str
        None of them calls another.
    setting : Setting, optional
        What an instruction and a byte cost on the host; bytes count at their reader.

    Returns
    -------
    DataFrame
        A row for each function and for the rest of the program; columns `computation`, `local`
        (bytes written and read within) and `global` (bytes from elsewhere) [cycle].
    """
    given = setting or Setting()
    rows = []
    for name in functions:
        f = dataflow.position(name)
        part = split(dataflow, outermost(dataflow, [f]))
        entered = float(dataflow.transfers_into[:, f].sum())
        rows.append((part.accelerator_instructions, part.anew.inside, entered))
    own = np.array(rows).reshape(-1, 3)
    entered = own[:, 2].sum()
    rest = (
        dataflow.computation.sum() - own[:, 0].sum(),
        0.0,
        dataflow.total_bytes - own[:, 1].sum() - entered,
    )
    times = np.vstack([own, rest]) * [given.instruction_time, given.byte_time, given.byte_time]
    return pd.DataFrame(
        times,
        index=pd.Index([*functions, REST], name="function"),
        columns=list(PARTS),
    )


def communication_share(
    dataflows: Mapping[int, Dataflow], functions: Sequence[str], setting: Setting | None = None
) -> pd.DataFrame:
    """Return :func:`breakdown` in fractions of the whole, for each size of the problem (Figure 3).

    Returns
    -------
    DataFrame
        A row for each size; columns (function, "computation" or "local" or "global").
    """
    tables = [breakdown(dataflow, functions, setting) for dataflow in dataflows.values()]
    shares = [(table / table.to_numpy().sum()).to_numpy().ravel() for table in tables]
    columns = pd.MultiIndex.from_product([[*functions, REST], PARTS], names=["function", "part"])
    return pd.DataFrame(shares, pd.Index(dataflows, name="size"), columns)


class Busiest(NamedTuple):
    """The functions that compute most, and the data between them.

    Parameters
    ----------
    transfers : DataFrame
        Bytes from the row's function to the column's; bytes that a function wrote and read itself
        are on the diagonal [B].
    computation : Series
        Own arithmetic and logical instructions [instruction].
    """

    transfers: pd.DataFrame
    computation: pd.Series[float]


def busiest(dataflow: Dataflow, count: int = 10) -> Busiest:
    """Return the functions that compute most, the busiest first (Figures 4 and 9)."""
    active = np.flatnonzero(dataflow.computation + dataflow.transfers.sum(axis=0) > 0)
    order = active[np.argsort(-dataflow.computation[active], kind="stable")][:count]
    names = [dataflow.names[f] for f in order]
    moved = dataflow.transfers + np.diag(dataflow.local_bytes)
    return Busiest(
        pd.DataFrame(moved[np.ix_(order, order)], names, names),
        pd.Series(dataflow.computation[order], names),
    )


def memory_wall(dataflow: Dataflow, factors: ArrayLike, setting: Setting | None = None) -> Array:
    """Return the speedup if all computation is faster and no communication is (Figure 5).

    Parameters
    ----------
    factors : array_like
        How many times faster; inf gives the wall, which is inf if no byte takes time.
    """
    given = setting or Setting()
    work = dataflow.computation.sum() * given.instruction_time
    moved = dataflow.total_bytes * given.byte_time
    with np.errstate(divide="ignore"):  # if nothing is moved there is no wall
        return np.asarray((work + moved) / (work / np.asarray(factors, dtype=np.float64) + moved))


def local_or_global(
    dataflow: Dataflow, functions: Sequence[str], factors: ArrayLike, setting: Setting | None = None
) -> pd.DataFrame:
    """Compare what may be made faster if these functions have accelerators (Figure 6).

    Parameters
    ----------
    factors : array_like, shape (n,)
        How many times faster.

    Returns
    -------
    DataFrame
        Speedups over the program without accelerators, a row for each factor: only of
        `computation`, only of the `local` stores, of `computation and local`, only of the `global`
        medium, and of `all`.
    """
    f = np.asarray(factors, dtype=np.float64)
    one = np.ones_like(f)
    ways = {
        "computation": (f, one, one),
        "local": (one, f, one),
        "computation and local": (f, f, one),
        "global": (one, one, f),
        "all": (f, f, f),
    }
    columns = {
        name: _speedups(dataflow, functions, setting, computation, store, 0.0, medium)
        for name, (computation, store, medium) in ways.items()
    }
    return pd.DataFrame(columns, index=pd.Index(f, name="factor"))


def speedups(
    dataflow: Dataflow,
    choices: Mapping[str, Sequence[str]],
    factors: ArrayLike,
    shared_store: bool = False,
    setting: Setting | None = None,
) -> pd.DataFrame:
    """Return the speedup of accelerating functions, together if several are named (Figure 10).

    Parameters
    ----------
    choices : mapping of str to sequence of str
        What a choice is called, and its functions.
    factors : array_like, shape (n,)
        How many times faster accelerators compute and reach their stores.
    shared_store : bool
        Whether the accelerators of a choice share one store.

    Returns
    -------
    DataFrame
        A row for each factor, a column for each choice.
    """
    f = np.asarray(factors, dtype=np.float64)
    medium = np.full_like(f, (setting or Setting()).medium_factor)
    columns = {
        name: _speedups(dataflow, functions, setting, f, f, float(shared_store), medium)
        for name, functions in choices.items()
    }
    return pd.DataFrame(columns, index=pd.Index(f, name="factor"))


def _speedups(
    dataflow: Dataflow,
    functions: Sequence[str],
    setting: Setting | None,
    computation: Array,
    store: Array,
    shared_store: float,
    medium: Array,
) -> Array:
    """Return the program's speedup for each triple of factors."""
    given = setting or Setting()
    host = given.time(whole(dataflow))
    work = split(dataflow, outermost(dataflow, [dataflow.position(name) for name in functions]))
    machines = [
        replace(
            given,
            computation_factor=float(c),
            communication_factor=float(s),
            shared_store=shared_store,
            medium_factor=float(m),
        )
        for c, s, m in zip(computation, store, medium, strict=True)
    ]
    return np.array([host / machine.time(work) for machine in machines])


# ------------------------------------------------------------------------------------------- growth

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
