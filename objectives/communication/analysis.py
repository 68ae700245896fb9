"""Where a program's time goes, what acceleration of its parts gives, and how its dataflow grows.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks"
(2010): Figure 3 (:func:`breakdown`), Figures 4 and 9 (:func:`find_busiest`), Figure 5
(:func:`memory_wall`), Figure 6 (:func:`local_or_global`), Figure 10 (:func:`speedups`), and the
formulas in n of Figures 7 and 8 (:func:`fit_dataflow_laws`). The functions give the tables behind
pictures.
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
from objectives.communication.split import outermost_contexts, split_work, whole_work
from objectives.communication.verdict import Setting

REST = "(rest)"
PARTS = ("computation", "local", "global")
_FACTORS = ("computation_factor", "communication_factor", "medium_factor")


def breakdown(
    dataflow: Dataflow, functions: Sequence[str], setting: Setting | None = None
) -> pd.DataFrame:
    """Divide a program's time among functions, each with everything it calls; none calls another.

    The table has a row for each function and for the rest of the program, and the columns
    `computation`, `local` (bytes written and read within) and `global` (bytes from elsewhere)
    [cycle]. Bytes count at their reader; `setting` has the costs of bytes and instructions.
    """
    setting = setting or Setting()
    rows = []
    for name in functions:
        f = dataflow.position(name)
        part = split_work(dataflow, outermost_contexts(dataflow, [f]))
        entered = float(dataflow.transfers_into[:, f].sum())
        rows.append((part.accelerator_instructions, part.anew.inside, entered))
    own = np.array(rows).reshape(-1, 3)
    read_elsewhere = dataflow.total_bytes - own[:, 1].sum() - own[:, 2].sum()
    rest = (dataflow.computation.sum() - own[:, 0].sum(), 0.0, read_elsewhere)
    prices = [setting.instruction_time, setting.byte_time, setting.byte_time]
    index = pd.Index([*functions, REST], name="function")
    return pd.DataFrame(np.vstack([own, rest]) * prices, index=index, columns=list(PARTS))


def communication_share(
    dataflows: Mapping[int, Dataflow], functions: Sequence[str], setting: Setting | None = None
) -> pd.DataFrame:
    """Return :func:`breakdown` in fractions of the whole, for each size of the problem (Figure 3).

    The columns are (function, "computation" or "local" or "global"), a row for each size.
    """
    tables = [breakdown(dataflow, functions, setting) for dataflow in dataflows.values()]
    shares = [(table / table.to_numpy().sum()).to_numpy().ravel() for table in tables]
    columns = pd.MultiIndex.from_product([[*functions, REST], PARTS], names=["function", "part"])
    return pd.DataFrame(shares, pd.Index(dataflows, name="size"), columns)


class Busiest(NamedTuple):
    """The functions that compute most, and the data between them."""

    transfers: pd.DataFrame
    """Bytes from the row's function to the column's; bytes that a function wrote and read itself
    are on the diagonal [B]."""
    computation: pd.Series[float]
    """Own arithmetic and logical instructions [instruction]."""


def find_busiest(dataflow: Dataflow, count: int = 10) -> Busiest:
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

    A factor of inf gives the wall, which is inf if no byte takes time.
    """
    setting = setting or Setting()
    work = dataflow.computation.sum() * setting.instruction_time
    moved = dataflow.total_bytes * setting.byte_time
    with np.errstate(divide="ignore"):  # if nothing is moved there is no wall
        return np.asarray((work + moved) / (work / np.asarray(factors, dtype=np.float64) + moved))


def local_or_global(
    dataflow: Dataflow, functions: Sequence[str], factors: ArrayLike, setting: Setting | None = None
) -> pd.DataFrame:
    """Compare what may be made faster if these functions have accelerators (Figure 6).

    The table has speedups over the program without accelerators, a row for each factor: only of
    `computation`, only of the `local` stores, of `computation and local`, only of the `global`
    medium, and of `all`.
    """
    f = np.asarray(factors, dtype=np.float64)
    machine = replace(setting or Setting(), **dict.fromkeys(_FACTORS, 1.0), shared_store=0.0)
    ways = {
        "computation": _FACTORS[:1],
        "local": _FACTORS[1:2],
        "computation and local": _FACTORS[:2],
        "global": _FACTORS[2:],
        "all": _FACTORS,
    }
    columns = {name: _speedups(dataflow, functions, machine, way, f) for name, way in ways.items()}
    return pd.DataFrame(columns, index=pd.Index(f, name="factor"))


def speedups(
    dataflow: Dataflow,
    choices: Mapping[str, Sequence[str]],
    factors: ArrayLike,
    shared_store: bool = False,
    setting: Setting | None = None,
) -> pd.DataFrame:
    """Return the speedup of accelerating functions, together if several are named (Figure 10).

    A row for each factor by which accelerators compute and reach their stores faster, a column for
    each choice. With `shared_store` the accelerators of a choice share one store.
    """
    f = np.asarray(factors, dtype=np.float64)
    machine = replace(setting or Setting(), shared_store=float(shared_store))
    columns = {
        name: _speedups(dataflow, functions, machine, _FACTORS[:2], f)
        for name, functions in choices.items()
    }
    return pd.DataFrame(columns, index=pd.Index(f, name="factor"))


def _speedups(
    dataflow: Dataflow, functions: Sequence[str], machine: Setting, faster: Sequence[str], f: Array
) -> Array:
    """Return the program's speedup for each of the factors `f` in place of the ones named."""
    work = split_work(
        dataflow, outermost_contexts(dataflow, [dataflow.position(name) for name in functions])
    )
    machines = (replace(machine, **dict.fromkeys(faster, x)) for x in f.tolist())
    return machine.time(whole_work(dataflow)) / np.array([each.time(work) for each in machines])
