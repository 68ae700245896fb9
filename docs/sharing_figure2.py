"""Draw docs/validation/sharing_figure2.svg: latency against schedule period by three methods.

Run with ``python docs/sharing_figure2.py``; needs matplotlib (the ``bench`` group).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from objectives.sharing import round_robin, simulate

CLOCK = 10e-9
SIMULATED = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128])

mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "sharing"


def draw(axes: plt.Axes, load: float, color: str) -> None:
    """Draw one offered load: printed dashed, exact solid, simulation as points with intervals."""
    periods = np.arange(1, 129)
    rate = load / (8 * CLOCK)
    shared = round_robin(8, 4, 4, periods, rate, CLOCK)
    axes.plot(periods, shared.latency_printed * 1e9, "--", color=color, label=f"{load}, printed W")
    axes.plot(periods, shared.latency * 1e9, "-", color=color, label=f"{load}, exact")
    stable = SIMULATED[shared.smallest_stable_schedule_period[0] <= SIMULATED]
    runs = [simulate(8, 4, 4, int(r), rate, CLOCK, elements=4_000_000) for r in stable]
    means = np.array([run.latency for run in runs]) * 1e9
    reach = np.array([(run.latency - run.low, run.high - run.latency) for run in runs]).T * 1e9
    axes.errorbar(
        stable, means, reach, fmt="o", ms=4, mfc="none", color=color, capsize=2,
        label=f"{load}, simulation (99 %)",
    )
    best = int(shared.best_schedule_period[0])
    axes.plot(best, shared.latency[best - 1] * 1e9, "*", ms=13, color=color, zorder=5)


def main() -> None:
    """Draw both loads of the paper's Figure 2."""
    figure, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    draw(axes, 0.48, "#b3261e")
    draw(axes, 0.16, "#1f5fa8")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(2 ** np.arange(8), [str(2**i) for i in range(8)])
    axes.set_yticks([100, 200, 500, 1000, 2000], ["100", "200", "500", "1,000", "2,000"])
    axes.minorticks_off()
    axes.set_xlabel("schedule period $R_S$")
    axes.set_ylabel("mean latency [ns]")
    axes.set_title("C = 4, N = 8, S = 4, 100 MHz; star: best $R_S$ of the exact latency", size=10)
    axes.grid(alpha=0.3)
    axes.legend(title="offered load", fontsize=8)
    target = Path(__file__).parent / "validation" / "sharing_figure2.svg"
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    target.write_text("\n".join(line.rstrip() for line in target.read_text().splitlines()) + "\n")


if __name__ == "__main__":
    main()
