"""Calls of several elements against the simulation, and the table of docs/sharing_figures.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from objectives.sharing import call_latency, call_service, departure_clocks, simulate
from objectives.sharing.arrivals import generate

DOCS = Path(__file__).parents[3] / "docs" / "sharing_figures.md"


def test_simulated_calls_are_the_departures_of_their_last_elements() -> None:
    """Chunks, warm-up and the running maximum over calls alone lose no element."""
    elements, period = 3, 5
    times = np.concatenate(list(generate("poisson", 0.02, 50_000, 3, 8.0, 4.0)))
    departed = departure_clocks(np.repeat(times, elements), 8, 4, 4, period, stream=6)
    measured = simulate(
        8, 4, 4, period, 0.06, 1.0, elements=150_002, seed=3, batch=3, stream=6, warm_up=0.2
    )
    assert measured.warm_up == 10_000
    latencies = departed[elements - 1 :: elements] - times
    assert np.array_equal(measured.latencies, latencies[10_000:])
    again = simulate(8, 4, 4, period, None, 1.0, times, batch=3, stream=6, warm_up=0.2)
    assert np.array_equal(again.latencies, measured.latencies)
    waiting = np.dot(measured.occupancy, np.arange(measured.occupancy.size))
    element = float(call_latency(8, 4, 4, period, 0.02, 3, 1.0).element_latency)
    assert waiting == pytest.approx(0.06 * (element - 4), rel=0.05)  # PASTA and Little


def configurations(count: int, seed: int) -> Iterator[tuple[int, int, int, int, float, int]]:
    """Draw C in 1–16, N up to 64, S in 0–64, R in 1–64, m in 1–64, utilization in 0.05–0.95."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        depth = int(rng.integers(1, 17))
        streams = int(rng.integers(depth, 65))
        switch = int(rng.integers(0, 65))
        period = int(np.exp(rng.uniform(0, np.log(65))))
        elements = int(np.exp(rng.uniform(0, np.log(65))))
        load = float(rng.uniform(0.05, 0.95))
        interval = call_service(streams, depth, switch, period, 1.0, elements).engine_interval
        yield streams, depth, switch, period, load / float(interval), elements


def test_exact_mean_lies_in_the_interval_on_200_configurations() -> None:
    """The deviations are Student's as a whole; what misses by chance is met by another simulation.

    As the test of one element a call (`test_simulation`): two of 200 intervals at 99 % miss by
    chance, and one with four times as many calls misses again once in a hundred.
    """
    scores = []
    missed = []

    def measure(setting: tuple[int, int, int, int, float, int], calls: int, seed: int) -> Any:
        n, c, s, r, rate, m = setting
        return simulate(n, c, s, r, rate * m, 1.0, elements=calls * m, seed=seed, batch=m)

    for seed, setting in enumerate(configurations(200, seed=12)):
        measured = measure(setting, 250_000, seed)
        exact = float(call_latency(*setting, 1.0).engine_time)
        half = (measured.high - measured.low) / 2
        scores.append((measured.latency - exact) / half * stats.t.ppf(0.995, 31))
        if not measured.low <= exact <= measured.high:
            missed.append(setting)
    assert len(missed) <= stats.binom.ppf(0.999, 200, 0.01)
    fit = stats.kstest(scores, stats.t(31).cdf).pvalue
    assert fit > 0.001
    assert abs(np.mean(scores)) < 3.3 / np.sqrt(200)  # no bias to either side
    for setting in missed:
        again = measure(setting, 1_000_000, 1_000)
        assert again.low <= float(call_latency(*setting, 1.0).engine_time) <= again.high
    text = " ".join(DOCS.read_text(encoding="utf-8").split())
    assert f"250,000 calls each, {len(missed)} of 200 intervals at 99 % miss the exact mean" in text
    assert f"(Kolmogorov–Smirnov p = {fit:.2f})" in text


def test_table_of_the_document() -> None:
    """Each row is computed again, with the simulation of a million calls."""
    section = DOCS.read_text(encoding="utf-8").partition("## Calls of several elements")[2]
    table = section.partition("call, simulated")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 6
    for m_text, r_text, load_text, *printed in rows:
        m, load, clock = int(m_text), float(load_text), 10e-9
        engine = (8, 4, 4, int(r_text))
        service = call_service(*engine, clock, m)
        rate = load / float(service.engine_interval)
        exact = call_latency(*engine, rate, m, clock)
        found = simulate(*engine, rate * m, clock, elements=1_000_000 * m, batch=m)
        half = (found.high - found.low) / 2
        times = (
            service.engine_interval,
            service.engine_time_alone,
            exact.element_latency,
            exact.engine_time,
        )
        apart = f"{(found.latency / exact.engine_time - 1) * 100:+.3f} %".replace("-", "−")
        simulated = f"{found.latency * 1e9:.2f} ± {half * 1e9:.2f}"
        assert printed == [*(f"{time * 1e9:.2f}" for time in times), simulated, apart]
        assert found.low <= exact.engine_time <= found.high
