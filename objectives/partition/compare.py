"""Memory organisations side by side: the share of the theoretical speedup, program by program.

The questions come from T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation
for the Exploration of CPU-Accelerator Architectures", 2010, section III-B: which organisation is
best, and does it stay so if sharing a cache costs latency?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dse.model import Array
from objectives.partition.blocks import decide
from objectives.partition.estimate import cpu_time
from objectives.partition.graph import Graph
from objectives.partition.model import architecture_of, optimal
from objectives.partition.workloads import Workloads

Rows = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Comparison:
    """The compared programs, organisations and penalties, and one reference for all else.

    Parameters
    ----------
    profiles : Workloads
        The programs.
    organisations : mapping of str to mapping
        By name, what each sets: ``shared_level`` and ``accelerator_cache``.
    penalties : tuple of float
        Cycles that sharing a cache adds, ascending.
    reference : mapping of str to float
        Other inputs of :func:`objectives.partition.optimal`; its defaults if one is absent.
    """

    profiles: Workloads
    organisations: Rows
    penalties: tuple[float, ...]
    reference: Mapping[str, float]


def shares(comparison: Comparison, axis: str, values: Sequence[float]) -> pd.DataFrame:
    """Return the share of the theoretical speedup that is reached, along an axis.

    Parameters
    ----------
    comparison : Comparison
        What is compared.
    axis : str
        An input of :func:`objectives.partition.optimal`.
    values : sequence of float
        Its values, in the quantity's base unit.

    Returns
    -------
    DataFrame
        A row for each organisation, penalty, value and program: columns ``organisation``,
        ``penalty``, `axis`, ``program``, and as ratios ``optimum`` and ``greedy`` (shares of the
        theoretical gain) and ``speedup``.
    """
    rows = comparison.organisations
    order = ["organisation", "penalty", axis, "program"]
    grid = pd.MultiIndex.from_product(
        [list(rows), comparison.penalties, list(values), list(comparison.profiles.names)],
        names=order,
    ).to_frame(index=False)
    place = {name: i for i, name in enumerate(comparison.profiles.names)}
    inputs: dict[str, Array] = {n: np.array(v) for n, v in comparison.reference.items()}
    for quantity in ("shared_level", "accelerator_cache"):
        inputs[quantity] = np.array([rows[name][quantity] for name in grid["organisation"]])
    inputs["shared_penalty"] = grid["penalty"].to_numpy(float)
    inputs[axis] = grid[axis].to_numpy(float)
    programs = np.array([float(place[name]) for name in grid["program"]])
    found = optimal(comparison.profiles, programs, **inputs)
    most = found.theoretical_speedup - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        greedy = np.where(most > 0, (found.greedy_speedup - 1) / most, 0.0)
    return grid.assign(optimum=found.relative_speedup, greedy=greedy, speedup=found.speedup)


def by_program(found: pd.DataFrame, kind: str = "optimum") -> pd.DataFrame:
    """Return shares in percent: a row for each organisation and penalty, programs and their mean.

    Parameters
    ----------
    found : DataFrame
        Of :func:`shares`, at one value of the axis.
    kind : {"optimum", "greedy"}
        Which partition.
    """
    table = 100 * found.pivot_table(
        index=["organisation", "penalty"], columns="program", values=kind, sort=False
    )
    table["mean"] = table.mean(axis=1)
    return table


def at_penalty(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return the rows of :func:`by_program` at a penalty, by organisation."""
    return table[table.index.get_level_values("penalty") == penalty].droplevel("penalty")


def robustness(at_reference: pd.DataFrame, along: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return how each organisation stands the penalty.

    Parameters
    ----------
    at_reference : DataFrame
        Of :func:`by_program`.
    along : sequence of DataFrame
        Of :func:`shares`, for each axis.

    Returns
    -------
    DataFrame
        A row an organisation: means without and with the largest penalty in percent, their ratio,
        the worst program with the penalty, and at how many of the settings the organisation has the
        highest mean speedup, alone or with others, without and with the penalty. (Speedups, as
        shares of a theoretical gain near 0 say nothing.)
    """
    penalties = at_reference.index.get_level_values("penalty")
    low, high = penalties.min(), penalties.max()
    first = at_penalty(at_reference, low)
    last = at_penalty(at_reference, high)
    programs = last.drop(columns="mean")
    table = pd.DataFrame(
        {
            f"mean at {low:g} [%]": first["mean"],
            f"mean at {high:g} [%]": last["mean"],
            "kept [%]": 100 * last["mean"] / first["mean"].where(first["mean"] > 0),
            f"worst program at {high:g}": programs.idxmin(axis=1),
            "its share [%]": programs.min(axis=1),
        }
    )
    for penalty in (low, high):
        best, settings = _times_best(along, penalty)
        table[f"best at {penalty:g} (of {settings})"] = best.reindex(table.index, fill_value=0)
    return table


def _times_best(along: Sequence[pd.DataFrame], penalty: float) -> tuple[pd.Series[int], int]:
    """Count the settings at which each organisation has the highest mean speedup."""
    counts: list[pd.Series[int]] = []
    settings = 0
    for found in along:
        axis = found.columns[2]
        chosen = found[found["penalty"] == penalty]
        mean = chosen.pivot_table(index=axis, columns="organisation", values="speedup")
        counts.append((mean.ge(mean.max(axis=1) - 1e-9, axis=0)).sum())
        settings += len(mean)
    return pd.concat(counts, axis=1).sum(axis=1).astype(int), settings


def groups(graphs: Sequence[Graph], inputs: Mapping[str, float]) -> pd.DataFrame:
    """Return the groups of blocks that the optimum moves and greedy does not, for one design.

    Parameters
    ----------
    graphs : sequence of Graph
        The programs.
    inputs : mapping of str to float
        Of :func:`objectives.partition.optimal`; its defaults if one is absent.

    Returns
    -------
    DataFrame
        A row per group, by program and falling gain: ``program``, ``where`` (functions and lines),
        ``blocks``, ``area`` in instructions, ``together`` and ``alone``: the savings of all blocks,
        and of the best block by itself, as fractions of the time on the CPU.
    """
    size = inputs.get("accelerator_size", 128.0)
    found = []
    architecture = architecture_of(inputs)
    for graph in graphs:
        decision = decide(graph, architecture, size)
        alone = float(cpu_time(graph, architecture))
        for group in decision.groups:
            found.append(
                {
                    "program": graph.program,
                    "where": _places(graph, group.blocks.tolist()),
                    "blocks": len(group.blocks),
                    "area": group.area,
                    "together": group.gain / alone,
                    "alone": group.alone / alone,
                }
            )
    columns = ["program", "where", "blocks", "area", "together", "alone"]
    return pd.DataFrame(found, columns=columns)


def _places(graph: Graph, blocks: Sequence[int]) -> str:
    """Return the functions of some blocks, each with its lines: ``idct 231–234, main 9``."""
    lines: dict[str, list[int]] = {}
    for block in blocks:
        lines.setdefault(graph.function[block], []).append(int(graph.line[block]))
    spans = {name: [n for n in each if n > 0] for name, each in lines.items()}
    return ", ".join(f"{name} {_span(each)}".rstrip() for name, each in spans.items())


def _span(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    low, high = min(lines), max(lines)
    return str(low) if low == high else f"{low}–{high}"
