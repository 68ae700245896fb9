"""Draw docs/validation/communication_figure*.svg: Figures 3 to 10 of Kim and Edwards (2010), redone.

Run with ``python docs/communication_figures.py``; needs matplotlib (the ``bench`` group). Reads the
profiles in studies/profiles and prints the numbers that ``docs/validation/communication_figures.md`` quotes.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm

from objectives.communication import Setting, load_dataflow
from objectives.communication.analysis import (
    find_busiest,
    communication_share,
    local_or_global,
    memory_wall,
    speedups,
)
from objectives.communication.laws import Notation, write_law
from objectives.communication.report import top_functions
from objectives.communication.laws import Count, fit_dataflow_laws, law_table

HERE = Path(__file__).parent / "validation"
PROFILES = HERE.parents[1] / "studies" / "profiles"
SIDES = (8, 16, 32, 64, 128, 256, 512)
WAYS = ("iterative", "recursive")
FACTORS = 2.0 ** np.arange(0, 10.5, 0.5)
COLORS = {"load": "#1f5fa8", "turn": "#b3261e", "store": "#2e7d32", "(rest)": "#777777"}
PICTURE = Notation(root="side")

mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "communication"
mpl.rcParams["font.size"] = 9

RUNS = {
    way: {
        side: load_dataflow(PROFILES / "rotate" / f"{way}-{side:03}.json").including(["getchar", "putchar"])
        for side in SIDES
    }
    for way in WAYS
}
JPEG = load_dataflow(PROFILES / "jpeg.json")
TOP_FOUR = ("colour_conversion", "idct", "idct_1d", "get_symbol")
SETS = (
    *((name,) for name in TOP_FOUR), ("idct", "colour_conversion"),
    ("idct", "store_block", "colour_conversion"), ("decode_blocks",),
    ("decode_blocks", "colour_conversion"), ("decode_blocks", "upsample", "colour_conversion"),
)
WORD = Setting(byte_time=0.25, latency_per_byte=0.25)


def order(way: str) -> list[str]:
    """Return the top functions in the order in which they run."""
    return sorted(top_functions(RUNS[way][128]), key=["load", "turn_rings", "turn_quarters", "store"].index)


def save(figure: plt.Figure, name: str) -> None:
    """Write an SVG that is the same every time."""
    target = HERE / f"communication_{name}.svg"
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    target.write_text("\n".join(line.rstrip() for line in target.read_text().splitlines()) + "\n")
    plt.close(figure)


def figure3() -> None:
    """Computation (light) and communication (dark) at each size."""
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), sharey=True, layout="constrained")
    for axis, way in zip(axes, WAYS, strict=True):
        shares = communication_share(RUNS[way], order(way))
        foot = np.zeros(len(SIDES))
        for part, alpha, hatch in (("computation", 0.45, ""), ("local", 1.0, ""), ("global", 1.0, "//")):
            for name in order(way):
                height = shares[name, part].to_numpy()
                if height.max() < 0.002:
                    continue
                axis.bar(
                    range(len(SIDES)), height, 0.8, foot, label=f"{name}: {part}", alpha=alpha,
                    color=COLORS[name.split("_")[0]], hatch=hatch, edgecolor="white", linewidth=0.4,
                )
                foot += height
        axis.set_xticks(range(len(SIDES)), [f"{side}²" for side in SIDES])
        axis.set_title(way)
        axis.set_xlabel("pixels")
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True)
    axes[0].set_ylabel("share of instructions and bytes")
    save(figure, "figure3")


def heatmap(axis: plt.Axes, row: plt.Axes, dataflow, title: str, count: int) -> None:
    """Bytes from row to column, and the computation below."""
    hot = find_busiest(dataflow, count)
    names = list(hot.computation.index)
    for where, values in ((axis, hot.transfers.to_numpy()), (row, hot.computation.to_numpy()[None, :])):
        shown = np.ma.masked_less_equal(values, 0)
        where.pcolormesh(shown, cmap="Blues", norm=LogNorm(1, 4e6), edgecolor="white", linewidth=0.5)
        for (i, j), value in np.ndenumerate(values):
            if value:
                where.text(j + 0.5, i + 0.5, short(value), ha="center", va="center", fontsize=6.5,
                           color="white" if value > 2e4 else "black")
        where.invert_yaxis()
        where.tick_params(length=0)
    axis.set_yticks(np.arange(len(names)) + 0.5, names)
    axis.set_xticks(np.arange(len(names)) + 0.5, names, rotation=40, ha="left")
    axis.xaxis.tick_top()
    row.set_yticks([0.5], ["computation"])
    row.set_xticks([])
    axis.set_title(title, pad=8)


def short(value: float) -> str:
    """Write a count in at most four letters."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.0f}"


def figure4() -> None:
    """Hot spots of both rotations at 128 pixels a side."""
    figure, axes = plt.subplots(
        2, 2, figsize=(10, 4.8), height_ratios=(8, 1), layout="constrained"
    )
    for k, way in enumerate(WAYS):
        heatmap(axes[0, k], axes[1, k], RUNS[way][128], way, 8)
    save(figure, "figure4")


def figure5() -> None:
    """The memory wall."""
    figure, axis = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    for way, style in zip(WAYS, ("-", "--"), strict=True):
        run = RUNS[way][128]
        axis.plot(FACTORS, memory_wall(run, FACTORS), style, label=way)
        wall = float(memory_wall(run, np.inf))
        axis.axhline(wall, color="#777777", linewidth=0.6, linestyle=":")
    axis.set_xscale("log", base=2)
    axis.set_xlabel("computation faster by")
    axis.set_ylabel("speedup")
    axis.set_ylim(0.9, 1.5)
    axis.grid(alpha=0.3)
    axis.legend()
    save(figure, "figure5")


def figure6() -> None:
    """Local against global communication."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for axis, way in zip(axes, WAYS, strict=True):
        table = local_or_global(RUNS[way][128], order(way), FACTORS)
        for name in ("computation and local", "local", "computation", "global"):
            axis.plot(FACTORS, table[name], label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axis.minorticks_off()
        axis.set_title(way)
        axis.set_xlabel("faster by")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("speedup")
    axes[0].legend(title="what is faster")
    save(figure, "figure6")


ARROW = {"arrowstyle": "->", "color": "#b3261e"}


def flow(axis: plt.Axes, x: float, y: float, text: str) -> None:
    """Write an amount of data."""
    axis.text(x, y, text, ha="center", va="center", color="#b3261e", fontsize=8)


def dataflow(axis: plt.Axes, way: str) -> None:
    """The laws on the call tree, between main's children and beside the recursion."""
    laws = fit_dataflow_laws(list(RUNS[way].values()), [side * side for side in SIDES])
    load, turn, store = order(way)
    places = {"main": (0.5, 0.92), load: (0.12, 0.5), turn: (0.5, 0.5), store: (0.88, 0.5)}
    for name, (x, y) in places.items():
        axis.text(x, y, name, ha="center", va="center", bbox={"boxstyle": "round", "fc": "#eef3fa"})
        if name != "main":
            axis.annotate("", (x, y + 0.06), (0.5, 0.87), arrowprops={"arrowstyle": "-", "color": "#999999"})
    for source, target in ((load, turn), (turn, store)):
        (x0, y), (x1, _) = places[source], places[target]
        axis.annotate("", (x1 - 0.1, y), (x0 + 0.1, y), arrowprops=ARROW)
        flow(axis, (x0 + x1) / 2, y + 0.05, write_law(laws[Count("bytes", source, target)], PICTURE))
    bent = ARROW | {"connectionstyle": "arc3,rad=0.25"}
    axis.annotate("", (0.88, 0.44), (0.12, 0.44), arrowprops=bent)
    flow(axis, 0.5, 0.2, write_law(laws[Count("bytes", load, store)], PICTURE))
    if (again := Count("bytes", turn, turn)) in laws:
        flow(axis, 0.5, 0.36, f"to itself: {write_law(laws[again], PICTURE)}")
    axis.set_title(way)
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.axis("off")


def figure78() -> None:
    """Dataflow superimposed on the call tree."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for axis, way in zip(axes, WAYS, strict=True):
        dataflow(axis, way)
    save(figure, "figure78")


def figure9() -> None:
    """The decoder's ten busiest functions."""
    figure, axes = plt.subplots(2, 1, figsize=(7, 5.4), height_ratios=(10, 1), layout="constrained")
    heatmap(axes[0], axes[1], JPEG, "JPEG decoder", 10)
    save(figure, "figure9")


def figure10() -> None:
    """One function, two; private stores and a shared one."""
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    alone = speedups(JPEG, {name: (name,) for name in TOP_FOUR}, FACTORS)
    for name in TOP_FOUR:
        axis.plot(FACTORS, alone[name], "o-", ms=3, label=name)
    sets = {
        "idct + colour_conversion": ("idct", "colour_conversion"),
        "idct + store_block + colour_conversion": ("idct", "store_block", "colour_conversion"),
    }
    for style, color, (name, names) in zip("s^", ("black", "#777777"), sets.items(), strict=True):
        for shared, line in ((False, "-"), (True, "--")):
            table = speedups(JPEG, {name: names}, FACTORS, shared_store=shared)
            label = f"{name}, {'shared' if shared else 'private'}"
            axis.plot(FACTORS, table[name], line, marker=style, ms=3, color=color, label=label)
    axis.set_xscale("log", base=2)
    axis.set_xlabel("accelerators compute and reach their stores faster by")
    axis.set_ylabel("speedup")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, "figure10")


def report(title: str, table: pd.DataFrame) -> None:
    """Print a table."""
    print(f"\n{title}\n{table.to_string(float_format='{:.4g}'.format)}")


def numbers_of_the_rotation() -> None:
    """Print the laws, and the numbers beside Figures 3 to 6."""
    for way in WAYS:
        laws = fit_dataflow_laws(list(RUNS[way].values()), [side * side for side in SIDES])
        table = law_table(laws, PICTURE)
        print(f"\nLaws, {way}\n{table[['what', 'from', 'to', 'law']].to_string(index=False)}")
        shares = communication_share(RUNS[way], order(way))
        growth = {
            side: {
                "bytes per instruction": run.total_bytes / run.computation.sum(),
                "outside %": 100 * shares.loc[side, "(rest)"].sum(),
                "local of load, % of bytes": 100 * shares.loc[side, ("load", "local")]
                / (1 - shares.xs("computation", axis=1, level="part").loc[side].sum()),
            }
            for side, run in RUNS[way].items()
        }
        report(f"Figure 3, {way}", pd.DataFrame(growth).T)
    run = RUNS["iterative"][128]
    own = dict(zip(run.names, run.computation / run.computation.sum(), strict=True))
    held = sum(run.computation_inclusive[run.position(name)] for name in ("load", "store"))
    print(f"\ngetchar and putchar {own['getchar'] + own['putchar']:.1%} of the computation, "
          f"load and store with callees {held / run.computation.sum():.1%}")
    for title, setting in (("a byte a cycle", Setting()), ("a word a cycle", WORD)):
        limits = {way: local_or_global(RUNS[way][128], order(way), [np.inf], setting).loc[np.inf] for way in WAYS}
        report(f"Figures 5 and 6, limits, {title}", pd.DataFrame(limits))
    for way in WAYS:
        run = RUNS[way][128]
        host = run.computation.sum() + run.total_bytes
        least = host / local_or_global(run, order(way), [np.inf]).loc[np.inf, "computation and local"]
        print(f"{way}: wall {memory_wall(run, np.inf):.4g}, {host:,.0f} cycles, in the limit {least:,.0f}")


def numbers_of_the_decoder() -> None:
    """Print the numbers beside Figures 9 and 10."""
    total = JPEG.computation.sum()
    for name in TOP_FOUR:
        print(f"{name} {JPEG.computation_inclusive[JPEG.position(name)] / total:.1%} of the computation")
    sets = {", ".join(names): names for names in SETS}
    columns = {
        "factor 16": speedups(JPEG, sets, [16.0]).loc[16.0],
        "limit": speedups(JPEG, sets, [np.inf]).loc[np.inf],
        "limit, one shared store": speedups(JPEG, sets, [np.inf], shared_store=True).loc[np.inf],
        "limit, a word a cycle": speedups(JPEG, sets, [np.inf], setting=WORD).loc[np.inf],
    }
    report("Figure 10", pd.DataFrame(columns))


if __name__ == "__main__":
    for draw in (figure3, figure4, figure5, figure6, figure78, figure9, figure10):
        draw()
    numbers_of_the_rotation()
    numbers_of_the_decoder()
