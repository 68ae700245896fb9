"""Where a program's time goes, and what acceleration of its parts gives: tables behind pictures.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010): Figure 3 (:func:`breakdown`), Figures 4 and 9 (:func:`busiest`), Figure 5
(:func:`memory_wall`), Figure 6 (:func:`local_or_global`) and Figure 10 (:func:`speedups`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dse.model import Array
from objectives.communication.dataflow import Dataflow
from objectives.communication.setting import Setting
from objectives.communication.split import outermost, split, whole

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
