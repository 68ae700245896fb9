"""Shared pipelines: simulated elements a second beside SimPy and Ciw, and exact latencies a second.

Run with ``python benchmarks/sharing.py``. The setting is that of Hall & Chamberlain's Figure 2 at
load 0.48 and R_S = 4. Each figure is the median of five runs of a subject; the subjects take turns.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import ciw
import numpy as np
import simpy
from scipy.special import lambertw

from dse.model import Array
from objectives import sharing

STREAMS, DEPTH, SWITCH, PERIOD, CLOCK = 8, 4, 4, 4, 10e-9
RATE = 0.48 / STREAMS  # elements a clock
ROUND = STREAMS // DEPTH * (PERIOD * DEPTH + SWITCH)
RUNS = 5


def ours(elements: int, seed: int) -> float:
    measured = sharing.simulate(
        STREAMS, DEPTH, SWITCH, PERIOD, RATE / CLOCK, CLOCK, elements=elements, seed=seed
    )
    return measured.latency


def floor(elements: int, seed: int) -> float:
    """Only what no such simulation can leave out: the gaps, their sum, and a running maximum."""
    rng = np.random.default_rng(seed)
    last, chunk = 0.0, 1 << 15
    for _ in range(0, elements, chunk):
        times = np.cumsum(rng.standard_exponential(chunk))
        last = max(last, float(np.maximum.accumulate(times)[-1]))
    return last


def simpy_stream(elements: int, seed: int) -> float:
    """One stream, whose server wakes at its own slots only."""
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    queue: deque[float] = deque()
    latencies: list[float] = []

    def source() -> Generator[Any, Any, None]:
        for gap in rng.exponential(1 / RATE, elements).tolist():
            yield env.timeout(gap)
            queue.append(env.now)

    def server() -> Generator[Any, Any, None]:
        while len(latencies) < elements:
            for slot in range(PERIOD):
                if queue:
                    latencies.append(env.now + DEPTH - queue.popleft())
                last = slot == PERIOD - 1
                yield env.timeout(ROUND - (PERIOD - 1) * DEPTH if last else DEPTH)

    env.process(source())
    env.run(env.process(server()))
    return statistics.fmean(latencies) * CLOCK


def simpy_system(elements: int, seed: int) -> float:
    """All streams, and a server that walks the whole schedule clock by clock."""
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    queues: list[deque[float]] = [deque() for _ in range(STREAMS)]
    latencies: list[float] = []

    def source(queue: deque[float]) -> Generator[Any, Any, None]:
        for gap in rng.exponential(1 / RATE, elements // STREAMS).tolist():
            yield env.timeout(gap)
            queue.append(env.now)

    def server() -> Generator[Any, Any, None]:
        while len(latencies) < elements // STREAMS * STREAMS:
            for first in range(0, STREAMS, DEPTH):
                for queue in queues[first : first + DEPTH] * PERIOD:
                    if queue:
                        latencies.append(env.now + DEPTH - queue.popleft())
                    yield env.timeout(1)
                yield env.timeout(SWITCH)

    for queue in queues:
        env.process(source(queue))
    env.run(env.process(server()))
    return statistics.fmean(latencies) * CLOCK


def simpy_stores(elements: int, seed: int) -> float:
    """All streams as SimPy's own examples would have it: stores, and a process an element."""
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    stores = [simpy.Store(env) for _ in range(STREAMS)]
    latencies: list[float] = []

    def source(store: simpy.Store) -> Generator[Any, Any, None]:
        for gap in rng.exponential(1 / RATE, elements // STREAMS).tolist():
            yield env.timeout(gap)
            yield store.put(env.now)

    def element(arrived: float) -> Generator[Any, Any, None]:
        yield env.timeout(DEPTH)
        latencies.append(env.now - arrived)

    def server() -> Generator[Any, Any, None]:
        while len(latencies) < elements // STREAMS * STREAMS:
            for first in range(0, STREAMS, DEPTH):
                for store in stores[first : first + DEPTH] * PERIOD:
                    if store.items:
                        env.process(element((yield store.get())))
                    yield env.timeout(1)
                yield env.timeout(SWITCH)

    for store in stores:
        env.process(source(store))
    env.run(env.process(server()))
    return statistics.fmean(latencies) * CLOCK


def ciw_stream(elements: int, seed: int) -> float:
    """One stream as Ciw's slotted service, whose cycle ends with its last slot."""
    ciw.seed(seed)
    slots = [float(ROUND - (PERIOD - 1 - s) * DEPTH) for s in range(PERIOD)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(RATE)],
        service_distributions=[ciw.dists.Deterministic(float(DEPTH))],
        number_of_servers=[ciw.Slotted(slots=slots, slot_sizes=[1] * PERIOD)],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(elements, method="Finish")
    records = simulation.get_all_records()
    return statistics.fmean(r.exit_date - r.arrival_date for r in records) * CLOCK


def rates(subjects: dict[str, tuple[Callable[[int, int], float], int]]) -> dict[str, float]:
    """Return the median work a second of each subject, after one run that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    for run in range(RUNS + 1):
        for name, (subject, amount) in subjects.items():
            start = time.perf_counter()
            subject(amount, run)
            if run:
                taken[name].append(time.perf_counter() - start)
    return {name: subjects[name][1] / statistics.median(times) for name, times in taken.items()}


def designs(count: int, seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """Draw streams, depth, switch, period and stable rate a clock."""
    rng = np.random.default_rng(seed)
    depth = rng.integers(1, 17, count)
    streams = rng.integers(depth, 65)
    switch = rng.integers(0, 65, count)
    period = rng.integers(1, 129, count)
    groups = np.ceil(streams / depth)
    rate = rng.uniform(0.05, 0.95, count) * period / (groups * (period * depth + switch))
    whole = (streams, depth, switch, period)
    return *(column.astype(np.float64) for column in whole), rate


def printed(count: int, seed: int) -> float:
    return float(
        sharing.printed_latency(*designs(count, seed), clock_period=1.0).latency_printed.sum()
    )


def exact(count: int, seed: int) -> float:
    return float(sharing.exact_latency(*designs(count, seed), clock_period=1.0).latency.sum())


def calls(count: int, seed: int) -> float:
    """Take calls of 1 to 256 elements at the same loads."""
    *engine, rate = designs(count, seed)
    elements = np.random.default_rng(seed).integers(1, 257, count)
    return float(sharing.call_latency(*engine, rate / elements, elements, 1.0).engine_time.sum())


def optimum(count: int, seed: int) -> float:
    streams, depth, switch, _, rate = designs(count, seed)
    return float(
        sharing.best_schedule_period(streams, depth, switch, rate, 1.0).best_schedule_period.min()
    )


def zeros(count: int, seed: int) -> float:
    """Only the zeros of `count` designs, by SciPy's Lambert W: half a period of them each."""
    *_, period, _ = designs(count, seed)
    angle = np.concatenate([2 * np.pi * np.arange(1, r // 2 + 1) / r for r in period])
    argument: Any = -0.5 * np.exp(-0.5 + 1j * angle)
    return float(np.abs(lambertw(argument)).sum())


def main() -> None:
    exact_mean = sharing.exact_latency(STREAMS, DEPTH, SWITCH, PERIOD, RATE / CLOCK, CLOCK).latency
    print(f"mean latency, exact: {exact_mean * 1e9:.2f} ns; each over 100,000 elements:")
    for subject in (ours, simpy_stream, simpy_system, simpy_stores, ciw_stream):
        print(f"  {subject.__name__:<13}{subject(100_000, 0) * 1e9:8.2f} ns")
    found = rates(
        {
            "ours": (ours, 4_000_000),
            "floor": (floor, 4_000_000),
            "SimPy, one stream": (simpy_stream, 50_000),
            "SimPy, all streams": (simpy_system, 50_000),
            "SimPy, stores": (simpy_stores, 50_000),
            "Ciw, one stream": (ciw_stream, 10_000),
        }
    )
    print(f"\n{'simulation':<22}{'elements/s':>14}{'ours / it':>12}")
    for name, rate in found.items():
        print(f"{name:<22}{rate:>14,.0f}{found['ours'] / rate:>12,.2f}")
    found = rates(
        {
            "printed latency": (printed, 200_000),
            "exact latency": (exact, 20_000),
            "exact time of a call": (calls, 20_000),
            "Lambert W alone": (zeros, 20_000),
            "best schedule period": (optimum, 2_000),
        }
    )
    print(f"\n{'R_S in 1–128':<22}{'designs/s':>14}")
    for name, rate in found.items():
        print(f"{name:<22}{rate:>14,.0f}")


if __name__ == "__main__":
    main()
