"""The figures of docs/sharing.md, each computed here or listed as given."""

from __future__ import annotations

import numpy as np

from objectives.sharing import latency_quantile, round_robin, simulate
from objectives.sharing.model import RoundRobin
from objectives.sharing.simulation import SimulatedLatency
from tests.docs_figures import Document

CLOCK = 10e-9
PERIODS = np.arange(1, 129)
FIGURE_2 = (8, 4, 4)  # streams, depth, switch
LARGE = (100, 10, 100)


def shared(setting: tuple[int, int, int], load: float, period: object) -> RoundRobin:
    return round_robin(*setting, period, load / (setting[0] * CLOCK), CLOCK)


def simulated(setting: tuple[int, int, int], load: float, period: int) -> SimulatedLatency:
    rate = load / (setting[0] * CLOCK)
    return simulate(*setting, period, rate, CLOCK, elements=4_000_000, seed=0)


def table(doc: Document, heading: str, setting: tuple[int, int, int], scale: float) -> None:
    """Claim a table of loads and periods: printed, exact, simulated, deviations, percentiles."""
    cells = doc.table(heading)
    loads, periods = ([float(doc.at(c)) for c in cells[name]] for name in ("load", "R_S"))
    doc.cells(cells["load"], loads)
    doc.cells(cells["R_S"], periods)
    measured = [simulated(setting, a, int(r)) for a, r in zip(loads, periods, strict=True)]
    models = [shared(setting, a, r) for a, r in zip(loads, periods, strict=True)]
    exact = np.array([float(m.latency) for m in models])
    printed = np.array([float(m.latency_printed) for m in models])
    mean = np.array([m.latency for m in measured])
    doc.cells(cells["printed W"], scale * printed)
    doc.cells(cells["exact"], scale * exact)
    halves = [(m.high - m.low) / 2 for m in measured]
    pairs = [(scale * m.latency, scale * h) for m, h in zip(measured, halves, strict=True)]
    doc.cells(cells["simulated" if "simulated" in cells else "simulated 1"], pairs)
    doc.cells(cells["printed" if "printed" in cells else "printed 1"], 100 * (printed / exact - 1))
    if "p99 exact" in cells:
        doc.cells(cells["simulated 2"], 100 * (mean / exact - 1))
        rates = [a / (setting[0] * CLOCK) for a in loads]
        tails = [
            latency_quantile(*setting, r, x, CLOCK, 0.99)
            for r, x in zip(periods, rates, strict=True)
        ]
        doc.cells(cells["p99 exact"], [scale * float(t) for t in tails])
        doc.cells(cells["p99 simulated"], [scale * m.p99 for m in measured])


def off(setting: tuple[int, int, int], load: float) -> np.ndarray:
    """Return by how many percent the printed latency is above the exact one, period by period."""
    model = shared(setting, load, PERIODS)
    stable = np.isfinite(model.latency)
    return 100 * (model.latency_printed[stable] / model.latency[stable] - 1)


def test_figures_of_sharing() -> None:
    doc = Document("docs/sharing.md")
    example = shared(FIGURE_2, 0.48, 5)
    doc.says("@ ns, exact", float(example.latency) * 1e9)
    doc.says("@ ns, the paper's approximation", float(example.latency_printed) * 1e9)
    doc.says("best_schedule_period    # @", float(example.best_schedule_period))
    figure_2(doc)
    large(doc)
    formulas_and_given(doc)
    doc.check()


def figure_2(doc: Document) -> None:
    """Claim the section on Figure 2 of the paper."""
    table(doc, "## Figure 2 of the paper", FIGURE_2, 1e9)
    best = [shared(FIGURE_2, load, PERIODS) for load in (0.48, 0.16)]
    by_print = [PERIODS[np.argmin(b.latency_printed)] for b in best]
    by_exact = [PERIODS[np.argmin(b.latency)] for b in best]
    doc.says("The printed W has it at @ and @, the exact mean at @ and @", *by_print, *by_exact)
    p99 = [float(latency_quantile(*FIGURE_2, r, 6e6, CLOCK, 0.99)) for r in (8, 4)]
    assert p99[0] < p99[1]
    doc.given("compared above", r"99th percentile", r"at load 0\.48 R_S = 8 beats 4")
    heavy, light = off(FIGURE_2, 0.48), off(FIGURE_2, 0.16)
    usual = -np.concatenate([heavy[1:], light])
    doc.says("the printed W is @ to @ % low", usual.min(), usual.max())
    first = shared(FIGURE_2, 0.48, 1)
    doc.says(
        "for R_S = 1 at load 0.48 (@ % low): near saturation (ρ = @)",
        -heavy[0],
        float(first.utilization),
    )
    doc.given(
        "the setting of the paper's Figure 2 and of the simulation",
        r"C = 4, N = 8, S = 4, 100 MHz",
        r"of 0\.48 and 0\.16",
        r"4·10⁶ elements a point",
        r"seed 0\) and a 99 %",
        r"Over R_S from 1 to 128",
        r"R_S = 1 at load 0\.48",
    )


def large(doc: Document) -> None:
    """Claim the second setting."""
    table(doc, "With N = 100, C = 10 and S = 100", LARGE, 1e6)
    both = np.concatenate([off(LARGE, 0.48), off(LARGE, 0.16)])
    doc.says("it is between @ % low and @ % high", -both.min(), both.max())
    one = shared(LARGE, 0.16, 4)
    length = (
        10 * (4 * 10 + 100) * CLOCK
    )  # P: ten groups, each with four turns of ten clocks and a swap
    spread = length / (2 * 4 * (1 - float(one.utilization)))
    bunching = float(one.latency) - spread - float(one.pipeline_time)
    parts = (float(one.swapped_out_time), length / 8, bunching)
    excess = float(one.latency_printed - one.latency)
    assert abs(parts[0] - parts[1] - parts[2] - excess) < 1e-15
    doc.says("W_h is @ P, P/(2R) @ P and B @ P", *(part / length for part in parts))
    doc.given(
        "the second setting",
        r"P/\(2R\)",
        r"for R_S = 4 at load 0\.16",
        r"N = 100, C = 10 and S = 100",
        r"stable R_S up to 128",
    )


def formulas_and_given(doc: Document) -> None:
    """List what is not computed, with the reason."""
    doc.given("numbers of equations", r"\| 1, 4 \|", r"\| [235] \|")
    doc.given(
        "formulas, tests/test_sharing.py and tests/test_sharing_exact.py",
        r"ρ/\(2μ_s\(1 − ρ\)\)",
        r"/\(2P\)",
        r"F_\{s\+1\}",
        r"z_\{R−1\} besides 1",
        r"/\(1 − y_k\)",
        r"derivative at 1",
        r"E\[Q_\{s\+1\}\] = E\[Q_s\] − \(1 − q_s\)",
        r"\(E\[Q_s\] − \(1 − q_s\) \+ λg_s/2\)",
        r"Σ 1/\(1 − y_k\)",
        r"P²λ/\(2\(R − a\)\)",
        r"\(R − 1\)/2",
        r"C/\(2\(1 − ρ\)\)",
        r"1/\(1 − ρ\)",
        r"λSG/\(1 − λCG\)",
    )
    doc.given(
        "accuracy, tests/test_sharing_exact.py",
        r"stays near 10⁻¹⁵",
        r"60-digit arithmetic of the unsimplified formula",
        r"\(loads 10⁻⁹ to 1 − 10⁻⁹\), and at R_S = 4096",
        r"algebra \(to 10⁻⁹\)",
    )
    doc.given(
        "domains and settings of the code",
        r"R_S up to 65,536",
        r"utilization of 10⁻⁶ that of 10⁻⁶",
        r"its domain, 1,024",
        r"from 32 batch means",
    )
    doc.given(
        "tests/test_sharing_calls.py and test_sharing_calls_simulated.py, the table too",
        r"## Calls of several elements(?:.*\n)+?(?=## )",
        r"With calls of 1 to 256 elements(?:.*\n)+?(?=\n|\Z)",
    )
    doc.given(
        "tests/test_sharing_simulation.py",
        r"On 200 random configurations \(C 1–16, N up to 64, S 0–64, R_S 1–256",
        r"load 0\.05–0\.95, utilization below 0\.98\) with 800,000 elements",
        r"4 of 200 intervals at 99 %",
        r"4 or more happen in",
        r"p = 0\.20",
        r"20 random configurations of 10,000",
    )
    doc.given(
        "benchmarks/sharing.py",
        r"\| elements/s \|(?:.*\n)+?\n",
        r"218 times",
        r"R_S in 1–128 \| designs/s(?:.*\n)+?(?=\n|\Z)",
    )
