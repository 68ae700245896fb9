"""The report's section on memory integration: the best one, its robustness, joint moves.

A study names it: ``[report] sections = ["objectives.partition.report:integration"]``. The questions
come from T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the
Exploration of CPU-Accelerator Architectures", 2010, section III: which organisation is best, and
does it stay so if sharing a cache costs latency?
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dse.model import Array
from dse.model.section import Bars, Lines, Section, SectionPart, Study, StudyResult, Table, needs
from dse.model.values import join_words
from objectives.partition.estimate import cpu_time
from objectives.partition.graph import Graph
from objectives.partition.model import make_architecture, optimal
from objectives.partition.moved import show_lines
from objectives.partition.quantities import Workloads
from objectives.partition.solve import decide_moves

AXES = {
    "accelerator_size": "accelerator size [instruction]",
    "accelerator_instruction_time": "accelerator's time for an instruction [cycle]",
    "interface_latency_factor": "factor on the interface's latencies",
}
DEFAULTS = {
    name: float(each.default)
    for name, each in inspect.signature(optimal).parameters.items()
    if each.default is not each.empty
}
"""Table I of the paper, as the model has it."""
_SHARE = "share of the theoretical speedup [%]"


@dataclass(frozen=True)
class Comparison:
    """The compared programs, organisations and penalties, and one reference for all else."""

    profiles: Workloads
    organisations: Mapping[str, Mapping[str, float]]
    """By name, what each sets: ``shared_level`` and ``accelerator_cache``."""
    penalties: tuple[float, ...]
    """Cycles that sharing a cache adds, ascending."""
    reference: Mapping[str, float]
    """Other inputs of :func:`objectives.partition.optimal`; its defaults if one is absent."""


def speedup_fractions(comparison: Comparison, axis: str, values: Sequence[float]) -> pd.DataFrame:
    """Return the fraction of the theoretical speedup that is reached, along an input of the model.

    A row for each organisation, penalty, value and program: columns ``organisation``, ``penalty``,
    `axis`, ``program``, and as ratios ``optimum`` and ``greedy`` (fractions of the theoretical
    gain) and ``speedup``.
    """
    rows, programs = comparison.organisations, list(comparison.profiles.names)
    grid = pd.MultiIndex.from_product(
        [list(rows), comparison.penalties, list(values), programs],
        names=["organisation", "penalty", axis, "program"],
    ).to_frame(index=False)
    inputs: dict[str, Array] = {n: np.array(v) for n, v in comparison.reference.items()}
    for quantity in ("shared_level", "accelerator_cache"):
        inputs[quantity] = np.array([rows[name][quantity] for name in grid["organisation"]])
    inputs["shared_penalty"] = grid["penalty"].to_numpy(float)
    inputs[axis] = grid[axis].to_numpy(float)
    workload = np.array([float(programs.index(name)) for name in grid["program"]])
    solved = optimal(comparison.profiles, workload, **inputs)
    most = solved.theoretical_speedup - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        greedy = np.where(most > 0, (solved.greedy_speedup - 1) / most, 0.0)
    return grid.assign(optimum=solved.relative_speedup, greedy=greedy, speedup=solved.speedup)


def tabulate_by_program(table: pd.DataFrame, kind: str = "optimum") -> pd.DataFrame:
    """Return one kind of :func:`speedup_fractions` in percent, by organisation and penalty.

    A column for each program, and their mean; at one value of the axis.
    """
    percent = 100 * table.pivot_table(
        index=["organisation", "penalty"], columns="program", values=kind, sort=False
    )
    percent["mean"] = percent.mean(axis=1)
    return percent


def select_penalty(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return the rows of :func:`tabulate_by_program` at a penalty, by organisation."""
    return pd.DataFrame(table.xs(penalty, level="penalty"))


def penalty_costs(at_reference: pd.DataFrame, along: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return how much the penalty costs each organisation, a row for each.

    `at_reference` is of :func:`tabulate_by_program`, and `along` of :func:`speedup_fractions` for
    each axis. Columns: means without and with the largest penalty in percent, their ratio, the
    worst program with the penalty, and at how many of the settings the organisation has the highest
    mean speedup, alone or with others, without and with the penalty. (Speedups, as fractions of a
    theoretical gain near 0 say nothing.)
    """
    penalties = at_reference.index.get_level_values("penalty")
    low, high = penalties.min(), penalties.max()
    first, last = select_penalty(at_reference, low), select_penalty(at_reference, high)
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
        means = [_mean_speedups(varied, penalty) for varied in along]
        times = sum(mean.ge(mean.max(axis=1) - 1e-9, axis=0).sum() for mean in means)
        column = f"best at {penalty:g} (of {sum(map(len, means))})"
        table[column] = pd.Series(times).reindex(table.index, fill_value=0).astype(int)
    return table


def _mean_speedups(varied: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return the programs' mean speedup, by the value of the axis and organisation."""
    chosen = varied[varied["penalty"] == penalty]
    axis = str(varied.columns[2])
    means = chosen.pivot_table(index=axis, columns="organisation", values="speedup", sort=False)
    return means.sort_index()


def find_design_groups(graphs: Sequence[Graph], inputs: Mapping[str, float]) -> pd.DataFrame:
    """Return the groups of blocks that the optimum moves and greedy does not, for one design.

    `inputs` are of :func:`objectives.partition.optimal`; its defaults if one is absent. A row per
    group, by program and falling gain: ``program``, ``where`` (functions and lines), ``blocks``,
    ``area`` in instructions, ``together`` and ``alone``: the savings of all blocks, and of the best
    block by itself, as fractions of the time on the CPU.
    """
    size, architecture = inputs.get("accelerator_size", 128.0), make_architecture(inputs)
    rows = []
    for graph in graphs:
        time = cpu_time(graph, architecture)
        for group in decide_moves(graph, architecture, size).groups:
            lines: dict[str, list[int]] = {}
            for block in group.blocks.tolist():
                lines.setdefault(graph.function[block], []).append(int(graph.line[block]))
            places = (f"{name} {show_lines(each)}".rstrip() for name, each in lines.items())
            sizes = (len(group.blocks), group.area, group.gain / time, group.alone / time)
            rows.append((graph.program, ", ".join(places), *sizes))
    columns = ["program", "where", "blocks", "area", "together", "alone"]
    return pd.DataFrame(rows, columns=columns)


@needs("profiles")
def integration(study: Study, result: StudyResult) -> Section:
    """Return the section: which integration, how robust, and where blocks must move together.

    The study has the model :func:`objectives.partition.optimal` under its own quantity names.
    Organisations and penalties come from the study, its space or the conditions of its objectives.
    Other inputs are the study's constants, else the model's defaults. Each of the study's lists of
    values is varied while the other inputs stay. The result is not read: the front has only the
    best designs, and the question is about the others too.
    """
    compared = read_comparison(study)
    axes = {name: study.values[name] for name in AXES if name in study.values}
    size = "accelerator_size"
    at_reference = speedup_fractions(compared, size, [compared.reference[size]])
    along = {axis: speedup_fractions(compared, axis, values) for axis, values in axes.items()}
    optimum, greedy = tabulate_by_program(at_reference), tabulate_by_program(at_reference, "greedy")
    robust = penalty_costs(optimum, list(along.values()) or [at_reference])
    high = compared.penalties[-1]
    best = _best(select_penalty(optimum, high)["mean"])
    inputs = {**compared.reference, **compared.organisations[best], "shared_penalty": high}
    apart = find_design_groups([each[0] for each in compared.profiles.graphs], inputs)
    parts: list[SectionPart] = [
        Table("Share of the theoretical speedup [%]", _flat(optimum, greedy), _NOTE),
        _means(optimum, greedy),
        _programs(optimum, high),
        _favourites(optimum),
        Table("How robust each organisation is", robust.round(1), _ROBUST),
        *(_along(axis, found, high) for axis, found in along.items() if len(axes[axis]) > 1),
        _against_greedy(at_reference, best, high),
        _together(apart, best, high),
    ]
    return Section("Which integration?", _answer(compared, optimum, greedy, apart), parts)


_NOTE = (
    "The theoretical speedup has everything on the accelerator at no cost (Kenter et al. 2010). "
    "Below 0: the penalty costs more than the accelerator gains."
)
_ROBUST = (
    "Settings: each list of values that the study varies, one at a time. kept: mean with the "
    "largest penalty over mean without."
)


def read_comparison(study: Study) -> Comparison:
    """Return what a study compares."""
    constants = study.constants
    reference = {n: float(constants.get(n, default)) for n, default in DEFAULTS.items()}
    keys, penalty = ("shared_level", "accelerator_cache"), reference.pop("shared_penalty")
    organisations: Mapping[str, Mapping[str, float]]
    organisations = {"as given": {key: reference.pop(key) for key in keys}}
    for rows in study.choices.values():
        if all(set(keys) <= set(row) for row in rows.values()):
            organisations = rows
    bound = [np.atleast_1d(c["shared_penalty"]) for c in study.conditions if "shared_penalty" in c]
    penalties = {*study.values.get("shared_penalty", ()), *np.concatenate([*bound, ()]).tolist()}
    return Comparison(
        constants["profiles"], organisations, tuple(sorted(penalties)) or (penalty,), reference
    )


def _flat(optimum: pd.DataFrame, greedy: pd.DataFrame) -> pd.DataFrame:
    table = optimum.assign(**{"mean, greedy": greedy["mean"]}).reset_index()
    return table.round(1).rename(columns={"penalty": "penalty [cycle]"})


def _favourites(optimum: pd.DataFrame) -> Table:
    columns = {}
    for penalty in optimum.index.unique("penalty"):
        programs = select_penalty(optimum, penalty)
        columns[f"best at {penalty:g}"] = programs.idxmax()
        columns[f"its share at {penalty:g} [%]"] = programs.max().round(1)
    table = pd.DataFrame(columns).rename_axis("program").reset_index()
    return Table("The best organisation for each program", table)


def _means(optimum: pd.DataFrame, greedy: pd.DataFrame) -> Bars:
    names = list(optimum.index.unique("organisation"))
    bars = [
        (f"{kind}, penalty {penalty:g}", select_penalty(table, penalty)["mean"].loc[names])
        for kind, table in (("optimum", optimum), ("greedy", greedy))
        for penalty in optimum.index.unique("penalty")
    ]
    return Bars("Mean over the programs", names, bars, _SHARE)


def _programs(optimum: pd.DataFrame, penalty: float) -> Bars:
    table = select_penalty(optimum, penalty).drop(columns="mean")
    bars = [(str(name), row.to_numpy()) for name, row in table.iterrows()]
    title = f"Each program, penalty of {penalty:g}"
    return Bars(title, [str(c) for c in table.columns], bars, _SHARE)


def _along(axis: str, varied: pd.DataFrame, penalty: float) -> Lines:
    mean = _mean_speedups(varied, penalty)
    lines = [(str(name), mean.index.to_numpy(), mean[name].to_numpy()) for name in mean]
    title = f"Along {axis.replace('_', ' ')}, penalty of {penalty:g}"
    note = "Below 1: the penalty costs more than the accelerator gains."
    log = axis != "accelerator_instruction_time"
    return Lines(title, AXES[axis], "mean speedup", lines, log_x=log, note=note)


def _against_greedy(found: pd.DataFrame, organisation: str, penalty: float) -> Table:
    chosen = found[(found["organisation"] == organisation) & (found["penalty"] == penalty)]
    table = pd.DataFrame(
        {
            "program": chosen["program"],
            "speedup of the optimum": chosen["speedup"].round(3),
            "its share [%]": (100 * chosen["optimum"]).round(1),
            "greedy's share [%]": (100 * chosen["greedy"]).round(1),
        }
    )
    return Table(f"Optimum and greedy with {organisation}, penalty of {penalty:g}", table)


def _together(apart: pd.DataFrame, organisation: str, penalty: float) -> Table:
    together, alone = (100 * apart[column].round(4) + 0.0 for column in ("together", "alone"))
    table = apart.assign(together=together, alone=alone).rename(
        columns={
            "where": "functions and lines",
            "area": "area [instruction]",
            "together": "save together [% of the time]",
            "alone": "best of them if only it moves [%]",
        }
    )
    note = (
        "Connected blocks, without the blocks that both partitions move. If no block of a group "
        "saves time by itself, the greedy partitioner never starts: they have to move together."
    )
    title = f"Blocks that only the optimum moves: {organisation}, penalty of {penalty:g}"
    return Table(title, table, note)


def _answer(
    compared: Comparison, optimum: pd.DataFrame, greedy: pd.DataFrame, apart: pd.DataFrame
) -> str:
    """Return the answer in words."""
    low, high = compared.penalties[0], compared.penalties[-1]
    before, after = (select_penalty(optimum, penalty)["mean"] for penalty in (low, high))
    r = compared.reference
    where = (
        f"Accelerator of {r['accelerator_size']:g} instructions at "
        f"{r['accelerator_instruction_time']:g} cycles each, interface latencies times "
        f"{r['interface_latency_factor']:g}; {len(compared.profiles.names)} programs."
    )
    first, last, reached = _best(before), _best(after), select_penalty(greedy, high)["mean"]
    said = [
        f"At a penalty of {low:g} cycles {first} is best: {before[first]:.0f} % of the "
        "theoretical speedup on average."
    ]
    if high > low:
        lost = _best(before - after)
        said.append(
            f"At {high:g} it is {last}, with {after[last]:.0f} %, of {before[last]:.0f} % "
            f"at {low:g}. {lost} is the most sensitive: from {before[lost]:.0f} % to "
            f"{after[lost]:.0f} %."
        )
    programs = select_penalty(optimum, high).drop(columns="mean")
    favourites = [f"{name} {best}" for name, best in programs.idxmax().items()]
    said.append(f"For each program at {high:g}: {', '.join(favourites)}.")
    only = apart[(apart["alone"] <= 0) & (apart["together"] >= 0.005)]
    gain = only.groupby("program", sort=False)["together"].sum().sort_values(ascending=False)
    missed = [f"{name} ({100 * share:.0f} % of its time)" for name, share in gain.items()]
    text = (
        f"With {last}, greedy reaches {reached[last]:.0f} % where the optimum reaches "
        f"{after[last]:.0f} %."
    )
    if missed:
        text += f" It misses blocks that only pay together in {join_words(missed)}."
    return "\n\n".join([" ".join(said), text, where])


def _best(values: pd.Series[float]) -> str:
    """Return whose value is the highest."""
    return str(values.idxmax())
