"""Draw Figures 2 to 6 of Kenter et al. (2010) for the six workloads of ``studies/profiles``.

Run with ``python docs/partition_figures.py``; needs matplotlib (the ``bench`` group). Writes
``docs/validation/partition_figure[2-6].svg`` and prints the tables that ``docs/validation/partition_figures.md`` quotes.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from objectives.partition.solve import decide_moves
from objectives.partition.estimate import cpu_time, estimate, theoretical_time
from objectives.partition.quantities import Architecture
from objectives.partition.quantities import Workloads

DOCS = Path(__file__).parent / "validation"
WORKLOADS = Workloads.load(DOCS.parents[1] / "studies" / "profiles")
GRAPHS = {name: graphs[0] for name, graphs in zip(WORKLOADS.names, WORKLOADS.graphs, strict=True)}
ORGANISATIONS = {"SL1": (1, 0), "SL2+": (2, 1), "SL2-": (2, 0), "SMM+": (3, 1), "SMM-": (3, 0)}
SIZE = 128
SIZES = 2.0 ** np.arange(3, 12.5, 0.5)
EFFICIENCIES = np.round(np.arange(0.1, 1.01, 0.1), 1)
FACTORS = 2.0 ** np.arange(-2, 7)
COLORS = {"optimum": "#1f5fa8", "greedy": "#b3261e"}

mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "partition"
mpl.rcParams["font.size"] = 9


class Point(NamedTuple):
    """One program on one architecture, partitioned both ways."""

    speedup: dict[str, float]
    relative: dict[str, float]
    theoretical: float
    moved: dict[str, frozenset[int]]
    apart: float  # cycles that the best block saves alone, of the largest group greedy misses
    together: float  # cycles that this group saves


@cache
def point(name: str, architecture: Architecture, size: float) -> Point:
    """Partition a program, by the optimum and by greedy."""
    graph = GRAPHS[name]
    decision = decide_moves(graph, architecture, size)
    alone = float(cpu_time(graph, architecture))
    theoretical = alone / float(theoretical_time(graph, architecture))
    speedup, relative, moved = {}, {}, {}
    for kind, partition in {"optimum": decision.optimum, "greedy": decision.greedy}.items():
        time = float(estimate(graph, partition.moved, architecture).accelerated_time)
        speedup[kind] = alone / time
        relative[kind] = (alone / time - 1) / (theoretical - 1)
        moved[kind] = frozenset(np.flatnonzero(partition.moved).tolist())
    group = decision.groups[0] if decision.groups else None
    return Point(
        speedup, relative, theoretical, moved,
        group.alone / alone if group else 0.0, group.gain / alone if group else 0.0,
    )


def save(figure: plt.Figure, number: int) -> None:
    """Write a figure as SVG with text, without its date."""
    target = DOCS / f"partition_figure{number}.svg"
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    target.write_text("\n".join(line.rstrip() for line in target.read_text().splitlines()) + "\n")
    plt.close(figure)


def figure2() -> None:
    """Speedups at the defaults of Table I."""
    points = {name: point(name, Architecture(), SIZE) for name in GRAPHS}
    table = pd.DataFrame(
        {
            "greedy %": {n: 100 * (p.speedup["greedy"] - 1) for n, p in points.items()},
            "optimum %": {n: 100 * (p.speedup["optimum"] - 1) for n, p in points.items()},
            "theoretical %": {n: 100 * (p.theoretical - 1) for n, p in points.items()},
            "group %": {n: 100 * p.together for n, p in points.items()},
            "best block alone %": {n: 100 * p.apart for n, p in points.items()},
        }
    )
    unlimited = {n: point(n, Architecture(), 1e9) for n in GRAPHS}
    for kind in COLORS:
        table[f"{kind}, any size %"] = [100 * (unlimited[n].speedup[kind] - 1) for n in GRAPHS]
    report("Figure 2", table)
    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    place = np.arange(len(points))
    for i, kind in enumerate(("greedy", "optimum")):
        bars = axes.bar(place + 0.38 * i - 0.19, table[f"{kind} %"], 0.36, color=COLORS[kind], label=kind)
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=8)
    axes.plot(place, table["theoretical %"], "k_", ms=34, mew=1.2, label="theoretical")
    axes.set_xticks(place, list(points))
    axes.set_ylabel("speedup [%]")
    axes.set_title("Defaults of Table I: SL2+, accelerator of 128 instructions", size=10)
    axes.legend(fontsize=8, markerscale=0.4)
    save(figure, 2)


def figure3() -> None:
    """Relative speedups of the organisations, averaged over the programs."""
    rows = {}
    for name, (level, cached) in ORGANISATIONS.items():
        rows[name] = {
            f"{kind}, penalty {penalty}": 100
            * np.mean([
                point(n, Architecture(level, cached, penalty), SIZE).relative[kind] for n in GRAPHS
            ])
            for kind in COLORS
            for penalty in (0, 1)
        }
    table = pd.DataFrame(rows).T
    report("Figure 3", table)
    for penalty in (0, 1):
        each = {
            n: {
                o: 100 * point(n, Architecture(*where, penalty), SIZE).relative["optimum"]
                for o, where in ORGANISATIONS.items()
            }
            for n in GRAPHS
        }
        report(f"Figure 3, each program, optimum, penalty {penalty}", pd.DataFrame(each).T)
    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    place = np.arange(len(table))
    for i, column in enumerate(table):
        kind, penalty = column.split(", penalty ")
        bars = axes.bar(
            place + 0.2 * i - 0.3, table[column], 0.19, color=COLORS[kind],
            alpha=1.0 if penalty == "0" else 0.5, label=f"{kind}, penalty of {penalty} cycle{'s' * (penalty == '0')}",
        )
        axes.bar_label(bars, fmt="%.0f", padding=2, fontsize=7)
    axes.axhline(0, color="k", lw=0.6)
    axes.set_xticks(place, list(table.index))
    axes.set_ylabel("share of the theoretical speedup [%]")
    axes.set_title("Mean over six programs, accelerator of 128 instructions", size=10)
    axes.legend(fontsize=8)
    save(figure, 3)


def panels(number: int, axis: np.ndarray, label: str, points: dict[str, list[Point]], log: bool) -> None:
    """Draw one panel a program: the share of the theoretical speedup along an axis."""
    for kind in COLORS:
        columns = {n: [100 * p.relative[kind] for p in along] for n, along in points.items()}
        table = pd.DataFrame(columns, index=pd.Index(axis, name=label)).T
        report(f"Figure {number}, {kind}", table)
    figure, grid = plt.subplots(2, 3, figsize=(7.6, 4.6), sharex=True, sharey=True, layout="constrained")
    for axes, (name, along) in zip(grid.flat, points.items(), strict=True):
        for kind, style in (("optimum", "-o"), ("greedy", "--s")):
            values = [100 * p.relative[kind] for p in along]
            axes.plot(axis, values, style, color=COLORS[kind], ms=3, lw=1.3, mfc="none", label=kind)
        axes.set_title(name, size=9)
        axes.grid(alpha=0.3)
        if log:
            axes.set_xscale("log", base=2)
            ticks = axis[np.isclose(np.log2(axis) % 2, np.log2(axis[0]) % 2)]
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.minorticks_off()
    grid[0, 0].legend(fontsize=8)
    figure.supxlabel(label, size=9)
    figure.supylabel("share of the theoretical speedup [%]", size=9)
    save(figure, number)


def report(title: str, table: pd.DataFrame) -> None:
    """Print a table."""
    print(f"\n{title}\n{table.round(1).to_string()}")


def programs() -> None:
    """Print what the programs are, and what greedy misses because it only pays together."""
    rows = {}
    for name, graph in GRAPHS.items():
        alone = float(cpu_time(graph, Architecture()))
        groups = [g for g in decide_moves(graph, Architecture(), SIZE).groups if g.alone <= 0]
        rows[name] = {
            "blocks": len(graph), "instructions": graph.area.sum(),
            "movable blocks": graph.movable.sum(), "movable": graph.area[graph.movable].sum(),
            "t_m %": 100 * (graph.hits.sum(axis=0) @ [3, 15, 200]) / alone,
            "casts %": 100 * graph.operations[:, -1].sum() / graph.operations.sum(),
            "only together %": 100 * sum(g.gain for g in groups) / alone,
            "blocks, area of each group": [(len(g.blocks), g.area) for g in groups],
        }
    report("Programs", pd.DataFrame(rows).T.infer_objects())


def partitions(points: dict[str, list[Point]]) -> None:
    """Print how many blocks move along the axis, and how many of them move at a factor of 0.5 as well."""
    print("\nBlocks moved, and those of them that move at a factor of 0.5")
    for name, along in points.items():
        for kind in COLORS:
            sets = [p.moved[kind] for p in along]
            print(f"{name:10} {kind:8}", [(len(s), len(s & sets[1])) for s in sets])


def main() -> None:
    """Draw all figures."""
    programs()
    figure2()
    figure3()
    default = Architecture()
    panels(
        4, SIZES, "accelerator size [LLVM instructions]",
        {n: [point(n, default, s) for s in SIZES] for n in GRAPHS}, True,
    )
    panels(
        5, EFFICIENCIES, "accelerator's cycles per instruction",
        {
            n: [point(n, default._replace(accelerator_instruction_time=e), SIZE) for e in EFFICIENCIES]
            for n in GRAPHS
        },
        False,
    )
    along = {
        n: [point(n, default._replace(interface_latency_factor=f), SIZE) for f in FACTORS]
        for n in GRAPHS
    }
    panels(6, FACTORS, "factor on the interface's latencies", along, True)
    partitions(along)


if __name__ == "__main__":
    main()
