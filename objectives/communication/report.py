"""Sections of a report on a program's dataflow and on accelerators of its functions.

For studies whose models take the input `dataflow`; M. A. Kim, S. A. Edwards, "Computation vs.
Memory Systems: Pinning Down Accelerator Bottlenecks" (2010), Figures 3 to 10. A study names
:func:`functions`, :func:`limits`, :func:`accelerators` and :func:`scaling` under
``[report] sections``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from dse.model.section import (
    Bars,
    Heatmap,
    Lines,
    Section,
    SectionPart,
    Study,
    StudyResult,
    Table,
    Tree,
    needs,
)
from dse.model.values import add_unit, plural, show_number
from objectives.communication.acceleration import list_accelerated
from objectives.communication.analysis import (
    PARTS,
    breakdown,
    communication_share,
    find_busiest,
    local_or_global,
    memory_wall,
    speedups,
)
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.laws import (
    Count,
    Law,
    Notation,
    fit_dataflow_laws,
    law_table,
    write_law,
)
from objectives.communication.verdict import Setting, best_cut, kept_table, verdict_table
from objectives.quantities import list_workloads

FACTORS = 2.0 ** np.arange(11)


@needs("dataflow")
def functions(study: Study, result: StudyResult) -> Section:
    """Show which functions compute and which communicate, and judge each (Figures 4, 7, 8, 9).

    The verdicts, and the best level of the call tree to cut at, are for the fastest design's costs.
    """
    parts: list[SectionPart] = []
    words = []
    setting = fastest_setting(study, result)
    programs = list_programs(study, result)
    for program in programs:
        parts += heatmaps(program)
        parts.append(flow_picture(program.program, program))
        table = verdict_table(program, setting)
        if program.critical_path is None:  # a bound that does not limit this design is no limit
            limit = table["factor_limit"]
            table["factor_limit"] = limit.where(limit <= setting.computation_factor)
        worth = [str(name) for name in table.index[table["worth"].to_numpy(dtype=bool)]]
        words.append(
            f"{program.program}: at the costs of the best design a separate accelerator is "
            f"beneficial for {len(worth)} of {plural(len(table), 'function')}: "
            f"{', '.join(worth) or 'none'}. "
            f"{_cut_in_words(program, setting)}"
        )
        parts.append(
            Table(
                f"{program.program}: only this function accelerated, with everything it calls",
                table[_VERDICT].rename(columns=_HEADINGS).reset_index(),
                _LEGEND,
            )
        )
        kept = kept_table(program, setting)
        if len(kept):
            parts.append(
                Table(
                    f"{program.program}: what stays on the host",
                    kept.reset_index(),
                    "Share of the time with everything it calls, from 1 % on. What may move all "
                    "the same is named in the study: dataflow = { file = …, include = [name] }.",
                )
            )
    return Section(
        "Computation or communication", "\n\n".join(words + describe_gaps(programs)), parts
    )


def describe_gaps(programs: Sequence[Dataflow]) -> list[str]:
    """Return in sentences what the sources of these programs leave open."""
    return [f"{p.program}: {text}." for p in programs for text in p.missing]


_HEADINGS = {
    "factor_limit": "computing at most",
    "granularity": "bytes a call [B]",
    "break_even": "break-even [B]",
    "change": "sensitivity",
}
_VERDICT = [
    *("share", "worth", "speedup", "ceiling", "factor_limit", "bound", "calls", "callbacks"),
    *("granularity", "break_even", "reason", "change"),
]
_LEGEND = (
    "Fraction of the time on the host; ceiling: speedup if its accelerator takes no time to "
    "compute and to access its local memory; computing at most: the speedup that its critical "
    "path allows, without the host's accesses to memory, which the limit in a draft includes. The "
    "path is an estimate of dse profile --critical-path; without it, only limits below the "
    "design's computation factor are known, from chains of values in registers; callbacks: calls "
    "from inside of functions on the host, which cost as much as calls; bytes in and out "
    "of a call or callback, without data in registers, and the number from which an accelerator "
    "is beneficial (LogCA's g and break-even); sensitivity: the smallest factor on "
    "one input from which it is beneficial, whether or not a design has it."
)


def _cut_in_words(program: Dataflow, setting: Setting) -> str:
    cut = best_cut(program, setting)
    if not cut.paths:
        return "An accelerator is beneficial at no level of the call tree."
    return (
        f"The best level of the call tree to cut at: {'; '.join(cut.paths)}; with accelerators of "
        f"these the program is {cut.speedup:.3g} times as fast."
    )


@needs("dataflow")
def limits(study: Study, result: StudyResult) -> Section:
    """Show what bounds acceleration: the memory wall, local or global (Figures 3, 5, 6)."""
    programs, setting = list_programs(study, result), fastest_setting(study, result)
    walls = [float(memory_wall(p, np.inf, setting)) for p in programs]
    words = [
        f"{p.program}: with all computation in no time the program is {wall:.3g} times as fast."
        if np.isfinite(wall)
        else f"{p.program}: there is no memory wall, for no byte that is read takes any time."
        for p, wall in zip(programs, walls, strict=True)
    ]
    words += describe_gaps(programs)
    wall_lines = [(p.program, FACTORS, memory_wall(p, FACTORS, setting)) for p in programs]
    lines = [
        (f"{p.program}: {name}", FACTORS, table[name].to_numpy())
        for p in programs
        for table in [local_or_global(p, top_functions(p), FACTORS, setting)]
        for name in ("computation", "local", "computation and local", "global")
    ]
    axis = "how many times faster"
    parts: list[SectionPart] = [
        *(share_bars(p, setting) for p in programs),
        Lines("The memory wall: all computation faster", axis, "speedup", wall_lines, log_x=True),
        Lines(
            "Local or global: accelerators of the top functions",
            axis,
            "speedup",
            lines,
            log_x=True,
            log_y=True,
            note="Local: inside an accelerator, by its own store. Global: over the shared medium.",
        ),
    ]
    return Section("Limits of acceleration", "\n\n".join(words), parts)


@needs("dataflow")
def accelerators(study: Study, result: StudyResult) -> Section:
    """Name the functions of each design of the front; one, several, shared, private (Figure 10)."""
    best, setting = _best(result), fastest_setting(study, result)
    program, chosen = find_program(study, best), list_accelerated_functions(study, best)
    alone = speedups(program, {name: (name,) for name in chosen}, FACTORS, setting=setting)
    lines = [(name, FACTORS, alone[name].to_numpy()) for name in chosen]
    words = f"The fastest design accelerates {' + '.join(chosen) or 'nothing'} ({program.program})."
    if len(chosen) > 1:
        private, shared = (
            speedups(program, {"": chosen}, FACTORS, store, setting)[""].to_numpy()
            for store in (False, True)
        )
        lines += [
            ("together, private stores", FACTORS, private),
            ("together, one shared store", FACTORS, shared),
        ]
        gain = float(shared[-1] / private[-1] - 1)
        words += (
            f"\n\nWith factors of {FACTORS[-1]:,.0f} one shared store gives "
            f"{show_number(100 * gain, 3)} % more speedup than private ones."
        )
    picture = Lines(
        f"{program.program}: one function, several; private stores and a shared one",
        "accelerators and stores: times as fast",
        "speedup",
        lines,
        log_x=True,
        log_y=True,
    )
    table = Table(
        "Accelerated functions in the designs of the front", choices_on_front(study, result)
    )
    return Section("Which functions to accelerate", words, [picture, table] if chosen else [table])


def choices_on_front(study: Study, result: StudyResult) -> pd.DataFrame:
    """Return the sets of functions on the front, each with the best of every objective."""
    front = result.front.designs
    sets = [
        (find_program(study, row).program, list_accelerated_functions(study, row))
        for _, row in front.iterrows()
    ]
    keys = ["program", "functions accelerated"]
    rows = [(name, ", ".join(chosen) or "none") for name, chosen in sets]
    table = pd.DataFrame(rows, front.index, keys).join(front[[o.name for o in result.objectives]])
    best = {
        add_unit(f"best {o.name}", o.unit): (o.name, "max" if o.sign < 0 else "min")
        for o in result.objectives
    }
    counted = {"designs": (result.objectives[0].name, "size"), **best}
    return table.groupby(keys, sort=False).agg(**counted).reset_index()


@needs("dataflow")
def scaling(study: Study, result: StudyResult) -> Section:
    """Give the laws of every number in the size that ends the profiles' names (Figures 3, 7, 8)."""
    parts: list[SectionPart] = []
    exact = total = 0
    setting = fastest_setting(study, result)
    for name, runs in group_families(_programs(study)).items():
        laws = fit_dataflow_laws(list(runs.values()), list(runs))
        table = law_table(laws)
        exact, total = exact + int(table["exact"].sum()), total + len(table)
        largest = max(runs)
        parts += [
            growth_bars(name, runs, setting),
            flow_picture(f"{name}, n = {largest}", runs[largest], laws),
            Table(
                f"{name}: laws in n, the number at the end of the profile's name",
                table,
                "Exact: it gives every run's number to the last unit, the largest size included.",
            ),
        ]
    words = f"{exact} of {total} numbers follow an exact law." if total else "No program has sizes."
    return Section("How the dataflow grows", words, parts)


def group_families(dataflow: Dataflows) -> dict[str, dict[int, Dataflow]]:
    """Group programs whose names differ by a number at the end; three sizes at least."""
    groups: dict[str, dict[int, Dataflow]] = {}
    for program in dataflow.programs:
        if match := re.fullmatch(r"(.*?)[-_. ]*(\d+)", program.program):
            groups.setdefault(match[1], {})[int(match[2])] = program
    return {name: dict(sorted(runs.items())) for name, runs in groups.items() if len(runs) >= 3}


def list_programs(study: Study, result: StudyResult) -> list[Dataflow]:
    """Return the programs that the study's designs are of, in order."""
    return [_programs(study).programs[w] for w in list_workloads(study, result)]


_AT_AN_INTERFACE = {
    "overhead": ("interface_overhead",),
    "latency": ("interface_latency",),
    "latency_per_byte": ("interface_latency_per_byte", "interface_overhead_per_byte"),
}
"""Costs of a call, and what adds up to them if calls cross an interface (system.md)."""


def fastest_setting(study: Study, result: StudyResult) -> Setting:
    """Return the machine of the fastest design.

    Behind an interface, calls cost what one costs that meets no other.
    """
    best = _best(result)
    numbers = {n: v for n, v in study.constants.items() if isinstance(v, float | int)}
    numbers |= {str(n): v for n, v in best.items() if isinstance(v, float | int)}
    for name, parts in _AT_AN_INTERFACE.items():
        if beside := [numbers[n] for n in parts if n in numbers]:
            numbers.setdefault(name, sum(beside))
    return Setting(**{f.name: float(numbers[f.name]) for f in fields(Setting) if f.name in numbers})


def list_accelerated_functions(study: Study, design: pd.Series[Any]) -> tuple[str, ...]:
    """Return the functions that a design accelerates."""
    selection = design.get("selection", study.constants.get("selection", 0))
    return list_accelerated(find_program(study, design), _programs(study).chosen(int(selection)))


def find_program(study: Study, design: pd.Series[Any]) -> Dataflow:
    """Return the program that a design is of; the first of the study's if it does not say."""
    workload = design.get("workload", study.constants.get("workload", 0))
    return _programs(study).programs[int(workload)]


def _programs(study: Study) -> Dataflows:
    programs: Dataflows = study.constants["dataflow"]
    return programs


def _best(result: StudyResult) -> pd.Series[Any]:
    """Return the fastest design, or the best in the first objective."""
    named = {o.quantity: o.name for o in reversed(result.objectives)}
    first = named.get("accelerated_time", named.get("speedup", result.objectives[0].name))
    return result.best(first)


# ----------------------------------------------------------------------------------------- pictures

_SHARE_SHOWN = 0.001


def growth_bars(name: str, runs: Mapping[int, Dataflow], setting: Setting) -> Bars:
    """Return the time's parts at each size."""
    top = top_functions(runs[max(runs)])
    shares = communication_share(runs, top, setting)
    shown = [column for column in shares.columns if shares[column].max() > _SHARE_SHOWN]
    return Bars(
        f"{name}: computation and communication at each n",
        [str(size) for size in runs],
        [(f"{column[0]}: {column[1]}", shares[column].to_numpy()) for column in shown],
        "share of the time",
        stacked=True,
    )


def top_functions(program: Dataflow) -> tuple[str, ...]:
    """Return the candidates that no candidate calls, not even through others."""
    candidates = program.candidates
    below = {called for caller, called in program.calls_of(candidates) if caller in candidates}
    return tuple(name for name in candidates if name not in below)


def heatmaps(program: Dataflow) -> list[SectionPart]:
    """Return who passes what to whom, and who computes, of the ten busiest functions."""
    hot = find_busiest(program)
    names = list(hot.computation.index)
    return [
        Heatmap(
            f"{program.program}: bytes from row to column",
            names,
            names,
            hot.transfers.to_numpy(),
            "B",
            log=True,
            note="The functions that compute most, the busiest first.",
        ),
        Heatmap(
            f"{program.program}: computation",
            ["computation"],
            names,
            hot.computation.to_numpy()[None, :],
            "instruction",
            log=True,
        ),
    ]


def flow_picture(
    title: str, program: Dataflow, laws: Mapping[Count, Law] | None = None, root: str = ""
) -> Tree:
    """Return the call tree, each node with the data that its function reads, by writer.

    Amounts are laws if there are any, else bytes. Library functions without computation are left
    out. `root` is the name of the square root of the size, as in `Notation`.
    """
    tree, names = program.tree, program.names
    exchanged = program.transfers > 0
    active = np.asarray(exchanged.any(axis=0) | exchanged.any(axis=1))
    shown = [
        node
        for node, function in enumerate(tree.function)
        if tree.inclusive[node] > 0 or active[function]
    ]
    shown = [node for node in shown if set(tree.way(node)) <= set(shown)]
    at = {node: i for i, node in enumerate(shown)}

    def amount(writer: int, reader: int) -> str:
        if laws is None:
            return f"{program.transfers[writer, reader]:,.0f} B"
        return write_law(laws[Count("bytes", names[writer], names[reader])], Notation(root=root))

    labels = []
    for reader in tree.function[shown].tolist():
        writers = np.flatnonzero(exchanged[:, reader]).tolist()
        labels.append("; ".join(f"{names[w]}: {amount(w, reader)}" for w in writers))
    return Tree(
        f"{title}: dataflow on the call tree",
        [names[tree.function[node]] for node in shown],
        [at.get(int(tree.parent[node]), -1) for node in shown],
        tree.inclusive[shown],
        labels,
        "instruction",
        "The width is its computation with everything called; data that it reads, by writer.",
    )


def share_bars(program: Dataflow, setting: Setting) -> Bars:
    """Return the time of the top functions as computation, local and global communication."""
    times = breakdown(program, top_functions(program), setting)
    share = times / times.to_numpy().sum()
    share = share[share.sum(axis=1) > _SHARE_SHOWN]
    return Bars(
        f"{program.program}: computation and communication on the host",
        [str(name) for name in share.index],
        [(part, share[part].to_numpy()) for part in PARTS],
        "share of the time",
        stacked=True,
    )
