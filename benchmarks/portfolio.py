"""Fronts of portfolios: seconds of processor time, memory, and checks by other means.

    python -m benchmarks.portfolio [exact|tolerance|cover|checks|trees ...]

`exact`, `tolerance` and `cover` print the partial sums after each merge. `checks` compares 300
systems with all of up to a million combinations, 50 systems with HiGHS at 20 budgets each, and
fronts with a tolerance with a million combinations at random. Options follow `accelerators` of the
tests: faster designs cost more area. "curves" have no dominated option at all.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from dse.evaluate.front import is_nondominated
from dse.model import Array
from dse.search.portfolio.merging import Merging, PortfolioFront
from dse.search.portfolio.portfolio import Portfolio
from dse.search.portfolio.trees import Tree
from dse.search.workers import Threads
from tests.search.portfolio.systems import (
    accelerators,
    enumerated,
    evaluate_sums,
    merge,
    random_system,
    shortest_time,
)

THREADS = Threads(2)


def curves(kernels: int, options: int) -> Portfolio:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(kernels):
        area = np.append(0, np.sort(rng.uniform(0.01, 1, options - 1))) * rng.uniform(0.5, 20)
        rows.append(np.column_stack([rng.uniform(1, 10) / (1 + rng.uniform(0.5, 5) * area), area]))
    return Portfolio(tuple(rows), np.full(2, np.inf), evaluate_sums)


def random_amounts(kernels: int, options: int, objectives: int) -> Portfolio:
    rng = np.random.default_rng(0)
    rows = tuple(rng.random((options, objectives)) for _ in range(kernels))
    return Portfolio(rows, np.full(objectives, np.inf), evaluate_sums)


def measure(name: str, merging: Merging) -> PortfolioFront:
    began = time.process_time()
    state = merging.start()
    for _ in merging.order:
        state = merging.step(state)
    front = merging.front(state)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    combinations = np.prod([float(len(options)) for options in merging.portfolio.options])
    print(f"{name}: {combinations:.0e} combinations", flush=True)
    print(f"  options on their fronts  {sorted(len(rows) for rows in merging.rows)}")
    print(f"  partial sums             {front.kept}")
    print(f"  points                   {len(front.choices):,}")
    print(f"  proven                   {np.round(100 * front.proven, 3)} %")
    print(f"  processor time           {seconds:.1f} s, peak so far {memory:.2f} GiB", flush=True)
    return front


def exact() -> None:
    measure("12 kernels, 500 options", Merging(accelerators(12, 500), threads=THREADS))
    measure("36 kernels, 11 options", Merging(curves(36, 11), threads=THREADS))
    measure("36 kernels, 500 options", Merging(accelerators(36, 500), threads=THREADS))
    measure("12 curves, 500 options", Merging(curves(12, 500), threads=THREADS))


def tolerance() -> None:
    portfolio = accelerators(8, 1_000, 3)
    measure("8 kernels, 1,000 options, 1 %", Merging(portfolio, 0.01, threads=THREADS))


def cover() -> None:
    portfolio = accelerators(8, 200, 4)
    for floors in (None, [1.0, 1_000.0, 1_000.0, 1_000.0]):
        merging = Merging(portfolio, 0.0, floors, 20_000, capacity=100_000, threads=THREADS)
        measure(f"8 kernels, 200 options, 4 objectives, floors {floors}", merging)
    merging = Merging(random_amounts(8, 1_000, 4), points=20_000, threads=THREADS)
    measure("8 kernels, 1,000 options at random, 4 objectives", merging)


def excess(front: Array, others: Array) -> float:
    """Return by how much, at most, the best point of the front for another is above it."""
    if not len(front):
        return np.inf if len(others) else 0.0
    parts = np.array_split(others, max(1, len(front) * len(others) // 2**22))
    differences = ((front - part[:, None]).max(axis=2).min(axis=1) for part in parts)
    return max((float(d.max()) for d in differences if len(d)), default=0.0)


def checks() -> None:
    worst, points = 0.0, 0
    for seed in range(300):
        portfolio = random_system(seed, most=1e6)
        _, objectives = enumerated(portfolio)
        merged = merge(portfolio).objectives
        worst = max(worst, excess(merged, objectives), excess(objectives, merged))
        points += len(merged)
    print(f"300 systems, {points:,} points: all combinations differ by {worst:.1e}", flush=True)
    worst = 0.0
    for seed in range(50):
        kernels = 4 + seed % 33
        portfolio = accelerators(kernels, 10, seed=seed)
        objectives = merge(portfolio).objectives
        for area in np.linspace(0, 6_000 * kernels, 20) + 0.5:
            best = objectives[objectives[:, 1] <= area, 0].min()
            optimum = shortest_time(portfolio, area)
            worst = max(worst, abs(best - optimum) / optimum)
    print(f"50 systems, 20 budgets each: HiGHS differs by {worst:.1e}", flush=True)
    for count, kernels in ((2, 16), (3, 6)):
        portfolio = accelerators(kernels, 200, count)
        front = merge(portfolio, tolerance=0.01)
        rng = np.random.default_rng(1)
        columns = [rng.integers(0, len(options), 1_000_000) for options in portfolio.options]
        sums = portfolio.sums(np.column_stack(columns))
        allowed = sums + front.proven * np.maximum(np.abs(sums), front.objective_floors)
        best = allowed[is_nondominated(allowed)]
        beyond = excess(front.objectives, best)
        print(
            f"{count} objectives, tolerance 1 %, {len(front.objectives):,} points: "
            f"the best of 10^6 combinations differ by {beyond:.1e} beyond it",
            flush=True,
        )


def trees() -> None:
    portfolio = curves(8, 100)
    edge = np.zeros((2, 2, 2))
    edge[1, 1, 0] = -0.1
    classes = [np.minimum(np.arange(len(options)), 1) for options in portfolio.options]
    began = time.process_time()
    front = Tree(portfolio.options, classes, [*range(1, 8), -1], [edge] * 8).front(THREADS)
    seconds = time.process_time() - began
    print(f"path of 8 curves, 100 options: {len(front.sums):,} points, {seconds:.1f} s")


if __name__ == "__main__":
    PARTS = {f.__name__: f for f in (exact, tolerance, cover, checks, trees)}
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
