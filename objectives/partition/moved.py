"""The section of the report on what moves: block by block, function by function, line by line.

A study names it: ``[report] sections = ["objectives.partition.moved:blocks"]``. The estimate
follows T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010, section II-A.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.model import Array
from dse.model.section import Bars, Section, SectionPart, Study, StudyResult, Table, needs
from dse.model.values import add_unit, plural
from objectives.partition.estimate import block_times, cpu_time, estimate
from objectives.partition.graph import Graph
from objectives.partition.model import make_architecture
from objectives.partition.quantities import Workloads
from objectives.partition.solve import solve_best
from objectives.quantities import list_workloads

_DESIGNS = 100  # of the front that are listed
_LINES = 24  # of the source that the picture shows
_FUNCTIONS, _BLOCKS = 20, 30  # that are listed


class Moved(NamedTuple):
    """The blocks of one program that one design moves."""

    graph: Graph
    moved: NDArray[np.bool_]
    """Which of its blocks are on the accelerator."""
    share: Array
    """The parts of each block in the program's time on the CPU only."""
    speedup: float

    @property
    def table(self) -> pd.DataFrame:
        """A row per block, with its part of the time in percent as `share`."""
        names = ("function", "line", "name", "executions", "area")
        columns = {name: getattr(self.graph, name) for name in names}
        text = self.graph.text or ("",) * len(self.graph)
        return pd.DataFrame(
            {**columns, "source": text, "moved": self.moved, "share": 100 * self.share}
        )


def find_moved_blocks(study: Study, design: pd.Series[Any], workload: int) -> Moved:
    """Return what a design, a row of the study's result, moves of one of its programs.

    The study has the model :func:`objectives.partition.optimal` under its own quantity names.
    """
    values = {n: float(v) for n, v in study.constants.items() if isinstance(v, float | int)}
    values |= {str(n): float(v) for n, v in design.items() if isinstance(v, float | int)}
    profiles: Workloads = study.constants["profiles"]
    graph = profiles.graphs[workload][int(values.get("cache_configuration", 0))]
    architecture = make_architecture(values)
    size = values.get("accelerator_size", 128.0)
    moved = solve_best(graph, architecture, size).moved
    alone = cpu_time(graph, architecture)
    time = estimate(graph, moved, architecture).accelerated_time
    share = block_times(graph, architecture) / alone if alone > 0 else np.zeros(len(graph))
    return Moved(graph, moved, share, alone / time if time > 0 else 1.0)


@needs("profiles")
def blocks(study: Study, result: StudyResult) -> Section:
    """Return the section: the moved blocks of the Nash design, and of each design of the front.

    The study has the model :func:`objectives.partition.optimal` under its own quantity names.
    """
    design = result.nash()
    words, parts = [], list[SectionPart]()
    for workload in list_workloads(study, result):
        found = find_moved_blocks(study, design, workload)
        functions = functions_table(found)
        words.append(_words(found, functions, str(design.name)))
        parts += [
            Table(
                f"{found.graph.program}: what design {design.name} moves, function by function",
                functions.head(_FUNCTIONS),
                f"Of {plural(len(functions), 'function')} that ran. Fraction of the program's time "
                "on the CPU only, of the function's own blocks. Blocks that call library functions "
                "stay on the CPU, except for memcpy, memmove and memset.",
            ),
            *_sources(found, str(design.name)),
            _lines(found, str(design.name)),
            Table(
                f"{found.graph.program}: blocks, by their time",
                blocks_table(found).head(_BLOCKS),
                f"Of {plural(len(found.graph), 'block')} that ran. A block is called as LLVM calls "
                "it.",
            ),
        ]
    parts.append(_front(study, result))
    return Section("What moves", "\n\n".join(words), parts)


def functions_table(found: Moved) -> pd.DataFrame:
    """Return a row per function, by moved time: lines, blocks, fraction of the time, area."""
    rows = []
    for function, group in found.table.groupby("function", sort=False):
        there = group[group["moved"]]
        rows.append(
            {
                "function": function,
                "lines that move": show_lines(there["line"].tolist()) or "none",
                "blocks that move": f"{len(there)} of {len(group)}",
                "share that moves [%]": float(there["share"].sum()),
                "share that stays [%]": float(group["share"].sum() - there["share"].sum()),
                "area [instruction]": int(there["area"].sum()),
            }
        )
    order = ["share that moves [%]", "share that stays [%]"]
    sorted_ = pd.DataFrame(rows).sort_values(order, ascending=False, ignore_index=True)
    return sorted_.assign(**{name: sorted_[name].round(2) + 0.0 for name in order})


def lines_table(found: Moved) -> pd.DataFrame:
    """Return a row a line with blocks that move, as the source has them: its text, its share."""
    table = found.table[found.moved & (found.graph.line > 0)]
    keys = ["function", "line", "source"]
    sums = table.groupby(keys, sort=False)[["share"]].sum().reset_index()
    sums["share"] = sums["share"].round(2) + 0.0
    sums["heat"] = -sums.groupby("function")["share"].transform("sum")
    ordered = sums.sort_values(["heat", "function", "line"], ignore_index=True)
    return ordered.drop(columns="heat").rename(columns={"share": "share of the time [%]"})


def _sources(found: Moved, design: str) -> list[Table]:
    """Return what the source says where blocks move, if the profile has it."""
    table = lines_table(found)
    if not found.graph.text or table.empty:
        return []
    title = f"{found.graph.program}: lines that design {design} moves, with their source"
    note = "The lines in which blocks begin that move; a block may go on in the lines below."
    return [Table(title, table, note)]


def blocks_table(found: Moved) -> pd.DataFrame:
    """Return a row per block, by time, with the place where it runs."""
    on_cpu = np.where(found.graph.movable, "CPU", "CPU: cannot move")
    table = found.table.assign(runs=np.where(found.moved, "accelerator", on_cpu))
    table = table.iloc[np.argsort(-found.share, kind="stable")].round({"share": 2})
    headings = {"name": "block", "runs": "runs on", "area": "area [instruction]"}
    headings["share"] = "share of the time [%]"
    shown = ["function", "line", "name", "runs", "share", "executions", "area"]
    return table.astype({"executions": np.int64})[shown].rename(columns=headings)


def show_lines(lines: Sequence[int]) -> str:
    """Return lines of a source in words; a line of 0 is not known.

    >>> show_lines([12, 14, 13, 30, 0])
    '12–14, 30'
    """
    known = sorted({line for line in lines if line > 0})
    runs: list[list[int]] = []
    for line in known:
        if runs and line <= runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _at(lines: str) -> str:
    if lines == "none":
        return ""
    return f"line {lines}, " if lines.isdigit() else f"lines {lines}, "


def _words(found: Moved, functions: pd.DataFrame, design: str) -> str:
    """Return in words what a design moves of a program."""
    name = found.graph.program
    there = functions[functions["area [instruction]"] > 0]
    if there.empty:
        return f"{name}: design {design}, the Nash design, moves nothing."
    names = [
        f"{row['function']} ({_at(row['lines that move'])}{row['share that moves [%]']:.3g} %)"
        for _, row in there.head(5).iterrows()
    ]
    more = f" and {len(there) - 5} more" if len(there) > 5 else ""
    area = int(found.graph.area[found.moved].sum())
    return (
        f"{name}: design {design}, the Nash design, moves {int(found.moved.sum())} of "
        f"{plural(len(found.graph), 'block')} to the accelerator, "
        f"{100 * found.share[found.moved].sum():.3g} % of the time on the CPU in "
        f"{area:,} instructions: "
        f"{', '.join(names)}{more}. The program is {found.speedup:.3g} times as fast."
    )


def _lines(found: Moved, design: str) -> Bars:
    """Return the time of the source's lines, by the core that runs them."""
    table, graph = found.table, found.graph
    table["place"] = [
        f"{f}:{at}" if at else f for f, at in zip(graph.function, graph.line, strict=True)
    ]
    table["first"] = table.groupby("function")["line"].transform("min")
    whole = table.groupby("place", sort=False)["share"].sum().sort_values(ascending=False)
    hottest = set(whole.index[:_LINES])
    in_order = table.sort_values(["first", "function", "line"], kind="stable")["place"]
    shown = [place for place in dict.fromkeys(in_order) if place in hottest]
    sums = table.groupby(["place", "moved"])["share"].sum()
    bars = [
        (core, np.array([float(sums.get((place, moved), 0.0)) for place in shown]))
        for core, moved in (("accelerator", True), ("CPU", False))
    ]
    return Bars(
        f"{graph.program}: lines of the source by the core that runs them, design {design}",
        shown,
        bars,
        "share of the time on the CPU [%]",
        stacked=True,
        note=f"Function and line, in the order of the source: the {len(shown)} that take most.",
    )


def _front(study: Study, result: StudyResult) -> Table:
    """Return what each design of the front moves, by name."""
    rows = []
    designs = result.front.designs.head(_DESIGNS)
    for _, design in designs.iterrows():
        row: dict[str, Any] = {"design": str(design.name)}
        for workload in list_workloads(study, result):
            found = find_moved_blocks(study, design, workload)
            there, name = functions_table(found), found.graph.program
            names = there["function"][there["area [instruction]"] > 0]
            share = 100 * float(found.share[found.moved].sum())
            row[f"{name}: functions with blocks that move"] = ", ".join(names) or "none"
            row[f"{name}: share that moves [%]"] = round(share, 1)
        row |= {add_unit(o.name, o.unit): design[o.name] for o in result.objectives}
        rows.append(row)
    count = len(result.front.designs)
    note = f"The first {_DESIGNS:,} of {count:,} designs." if count > _DESIGNS else ""
    return Table("Moved blocks of the designs of the front", pd.DataFrame(rows), note)
