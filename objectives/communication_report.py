"""Sections of a report on a program's dataflow and on accelerators of its functions.

For studies whose models take the input `dataflow`; M. A. Kim, S. A. Edwards, "Computation vs.
Memory Systems: Pinning Down Accelerator Bottlenecks" (2010), Figures 3 to 10. A study names
:func:`functions`, :func:`limits`, :func:`accelerators` and :func:`scaling` under
``[report] sections``.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dse.section import Bars, Heatmap, Lines, Section, SectionPart, Table, Tree
from objectives.communication_analysis import (
    PARTS,
    breakdown,
    busiest,
    local_or_global,
    memory_wall,
    speedups,
)
from objectives.communication_dataflow import Dataflow, Dataflows
from objectives.communication_scaling import Count, fit_laws, flow_tree, law_table
from objectives.communication_selection import accelerated
from objectives.communication_setting import Setting
from objectives.communication_verdict import verdict_table

if TYPE_CHECKING:
    from dse.result import StudyResult
    from dse.study import Study

FACTORS = 2.0 ** np.arange(11)
_SHARE_SHOWN = 0.001


def functions(study: Study, result: StudyResult) -> Section:
    """Show which functions compute and which communicate, and judge each (Figures 4, 7, 8, 9)."""
    parts: list[SectionPart] = []
    words = []
    for program in programs_used(study, result):
        setting = setting_of(study, result)
        parts += [*heatmaps(program), flow_picture(program)]
        table = verdict_table(program, setting)
        worth = [str(name) for name in table.index[table["worth"].to_numpy(dtype=bool)]]
        words.append(
            f"{program.program}: {len(worth)} of {len(table)} functions are worth an accelerator "
            f"of their own at the costs of the best design: {', '.join(worth) or 'none'}."
        )
        shown = table[["share", "worth", "speedup", "ceiling", "bound", "reason", "change"]]
        parts.append(
            Table(
                f"{program.program}: each function, with everything it calls, accelerated alone",
                shown.reset_index(),
                "Share of the time on the host; ceiling: speedup where its accelerator computes "
                "and reaches its own store in no time; change: the smallest that makes it worth.",
            )
        )
    return Section("Computation or communication", "\n\n".join(words), parts)


def limits(study: Study, result: StudyResult) -> Section:
    """Show what bounds acceleration: the memory wall, local or global (Figures 3, 5, 6)."""
    programs = programs_used(study, result)
    setting = setting_of(study, result)
    walls = [float(memory_wall(p, np.inf, setting)) for p in programs]
    words = [
        f"{p.program}: with all computation in no time the program is {wall:.3g} times as fast."
        for p, wall in zip(programs, walls, strict=True)
    ]
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


def accelerators(study: Study, result: StudyResult) -> Section:
    """Name the functions of each design of the front; one, several, shared, private (Figure 10)."""
    best = _best(result)
    program = program_of(study, best)
    chosen = chosen_in(study, best)
    setting = setting_of(study, result)
    together = " + ".join(chosen)
    singly = {name: (name,) for name in chosen}
    alone = speedups(program, singly, FACTORS, setting=setting)
    private = speedups(program, {together: chosen}, FACTORS, setting=setting)
    shared = speedups(program, {together: chosen}, FACTORS, shared_store=True, setting=setting)
    lines = [(name, FACTORS, alone[name].to_numpy()) for name in chosen]
    if len(chosen) > 1:
        lines += [
            ("together, private stores", FACTORS, private[together].to_numpy()),
            ("together, one shared store", FACTORS, shared[together].to_numpy()),
        ]
    gain = float(shared[together].iloc[-1] / private[together].iloc[-1] - 1)
    front = result.front.designs
    names = [", ".join(chosen_in(study, row)) for _, row in front.iterrows()]
    table = pd.DataFrame({"functions accelerated": names}, index=front.index).join(front)
    words = (
        f"The fastest design accelerates {together or 'nothing'}.\n\nWith factors of "
        f"{FACTORS[-1]:,.0f} one shared store gives {gain:.1%} more speedup than private ones."
    )
    parts: list[SectionPart] = [
        Lines(
            f"{program.program}: one function, several; private stores and a shared one",
            "how many times faster accelerators compute and reach their stores",
            "speedup",
            lines,
            log_x=True,
        ),
        Table("Designs of the front", table),
    ]
    return Section("Which functions to accelerate", words, parts if chosen else parts[1:])


def scaling(study: Study, result: StudyResult) -> Section:
    """Give the laws of every number in the size that ends the names of the profiles."""
    parts: list[SectionPart] = []
    exact = total = 0
    for name, runs in families(study.evaluator.wiring.constants["dataflow"]).items():
        table = law_table(fit_laws(list(runs.values()), list(runs)))
        exact, total = exact + int(table["exact"].sum()), total + len(table)
        parts.append(
            Table(
                f"{name}: laws in n, the number at the end of the profile's name",
                table.drop(columns="growth"),
                "Exact: it gives every run's number to the last unit, the largest size included.",
            )
        )
    words = f"{exact} of {total} numbers follow an exact law." if total else "No program has sizes."
    return Section("How the dataflow grows", words, parts)


def families(dataflow: Dataflows) -> dict[str, dict[int, Dataflow]]:
    """Group programs whose names differ by a number at the end; three sizes at least."""
    groups: dict[str, dict[int, Dataflow]] = {}
    for program in dataflow.programs:
        if match := re.fullmatch(r"(.*?)[-_. ]*(\d+)(?:\.json)?", program.program):
            groups.setdefault(match[1], {})[int(match[2])] = program
    return {name: dict(sorted(runs.items())) for name, runs in groups.items() if len(runs) >= 3}


def programs_used(study: Study, result: StudyResult) -> list[Dataflow]:
    """Return the programs that the study's designs are of, in order."""
    constants = study.evaluator.wiring.constants
    dataflow: Dataflows = constants["dataflow"]
    if "workload" in result.designs:
        used = sorted({int(w) for w in result.designs["workload"]})
    elif "workload" in constants:
        used = [int(constants["workload"])]
    else:
        scenarios = [s for goal in study.evaluator.goals for s in goal.scenarios]
        used = sorted({int(s["workload"]) for s in scenarios if "workload" in s}) or [0]
    return [dataflow.programs[w] for w in used]


def setting_of(study: Study, result: StudyResult) -> Setting:
    """Return the machine of the fastest design."""
    best = _best(result)
    constants = study.evaluator.wiring.constants
    given: dict[str, Any] = {}
    for field in fields(Setting):
        if field.name in best.index:
            given[field.name] = float(best[field.name])
        elif field.name in constants:
            given[field.name] = float(constants[field.name])
    return Setting(**given)


def chosen_in(study: Study, design: pd.Series[Any]) -> tuple[str, ...]:
    """Return the functions that a design accelerates."""
    constants = study.evaluator.wiring.constants
    dataflow: Dataflows = constants["dataflow"]
    selection = design.get("selection", constants.get("selection", 0))
    return accelerated(program_of(study, design), dataflow.chosen(int(selection)))


def program_of(study: Study, design: pd.Series[Any]) -> Dataflow:
    """Return the program that a design is of; the first of the study's where it does not say."""
    constants = study.evaluator.wiring.constants
    dataflow: Dataflows = constants["dataflow"]
    return dataflow.programs[int(design.get("workload", constants.get("workload", 0)))]


def _best(result: StudyResult) -> pd.Series[Any]:
    """Return the fastest design, or the best in the first objective."""
    fast = [o.name for o in result.objectives if o.quantity == "speedup"]
    return result.best(fast[0] if fast else result.objectives[0].name)


def top_functions(program: Dataflow) -> tuple[str, ...]:
    """Return what the program itself calls, of those that compute or communicate."""
    tree = program.tree
    roots = {node for node in range(len(tree.parent)) if tree.parent[node] < 0}
    called = {int(f) for p, f in zip(tree.parent, tree.function, strict=True) if int(p) in roots}
    return tuple(n for n in program.candidates if program.position(n) in called)


def heatmaps(program: Dataflow) -> list[SectionPart]:
    """Return who passes what to whom, and who computes, of the ten busiest functions."""
    hot = busiest(program)
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


def flow_picture(program: Dataflow) -> Tree:
    """Return the dataflow superimposed on the call tree."""
    amounts = dict(zip(program.names, program.transfers, strict=True))

    def amount(count: Count) -> str:
        return f"{amounts[count.source][program.names.index(count.target)]:,.0f} B"

    tree = flow_tree(program, amount)
    labels = [text.replace("\n", "; ") for text in tree.labels]
    return Tree(
        f"{program.program}: dataflow on the call tree",
        tree.names,
        tree.parents,
        tree.values,
        labels,
        "instruction",
        "As wide as its computation with everything called; what it reads, by writer.",
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
