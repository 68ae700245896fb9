"""Systems of kernels at random, and independent ways to their fronts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from dse.evaluate.front import find_distinct_front
from dse.model import Array
from dse.search.portfolio.merging import Merging, PortfolioFront
from dse.search.portfolio.portfolio import Portfolio


def evaluate_sums(sums: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the sums as objectives."""
    return sums, np.ones(len(sums), dtype=bool)


def evaluate_shared_link(sums: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return time with the wait of an M/G/1 queue, and area, of four sums and more.

    The sums are time, area, the load of the link, and half of its second moment.
    """
    load = np.minimum(sums[:, 2], 0.95)
    return np.column_stack([sums[:, 0] + sums[:, 3] / (1 - load), sums[:, 1]]), sums[:, 2] < 0.95


def random_system(seed: int, most: float = 1e5) -> Portfolio:
    """Return 2 to 8 kernels with up to `most` combinations: real, whole or decimal amounts."""
    rng = np.random.default_rng(seed)
    kernels, kind, linked = int(rng.integers(2, 9)), rng.integers(3), rng.random() < 0.3
    coordinates = 4 if linked else int(rng.integers(1, 6))
    count = max(2, int(10 ** (rng.uniform(2, np.log10(most)) / kernels)))
    options = []
    for _ in range(kernels):
        rows = rng.random((count, coordinates))
        if kind:
            rows = rng.integers(0, 6, rows.shape) / (1.0 if kind == 1 else 10.0)
        if linked:
            rows[:, 2:] *= 2 / (kernels * rows[:, 2:].max())
        elif rng.random() < 0.5:
            rows[:, 0] *= -1
        rows[0] = np.inf if rng.random() < 0.1 else rows[0]
        options.append(rows)
    portfolio = Portfolio(tuple(options), np.full(coordinates, np.inf), evaluate_sums)
    highest = portfolio.scale
    limited = rng.random(coordinates) < 0.4
    limits = np.where(limited, highest * rng.uniform(0.2, 0.8, coordinates), np.inf)
    evaluate = evaluate_shared_link if linked else evaluate_sums
    return Portfolio(portfolio.options, limits, evaluate)


def merge(portfolio: Portfolio, **settings: Any) -> PortfolioFront:
    """Return the front of a portfolio, with the settings of `Merging`."""
    merging = Merging(portfolio, **settings)
    state = merging.start()
    for _ in portfolio.options:
        state = merging.step(state)
    return merging.front(state)


def enumerated(portfolio: Portfolio) -> tuple[NDArray[np.int64], Array]:
    """Return the choices and objectives of the front of all combinations."""
    sizes = [len(options) for options in portfolio.options]
    choices = np.indices(sizes).reshape(len(sizes), -1).T
    objectives, feasible = portfolio.judge(portfolio.sums(choices))
    choices, objectives = choices[feasible], objectives[feasible]
    rows = np.flatnonzero(find_distinct_front(objectives))
    rows = rows[np.lexsort(objectives[rows].T[::-1])]
    return choices[rows], objectives[rows]


def accelerators(kernels: int, options: int, objectives: int = 2, seed: int = 0) -> Portfolio:
    """Return a system in which more area, and other whole amounts, buy less time."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(kernels):
        amounts = rng.integers(1, 10_000, (options, objectives - 1)).astype(np.float64)
        speed = 1 + rng.uniform(0.5, 5) * (amounts / 10_000).sum(axis=1)
        time = rng.uniform(1, 10) / speed * rng.uniform(1, 1.3, options)
        time[0], amounts[0] = 1.2 * time.max(), 0  # not built
        rows.append(np.column_stack([time, amounts]))
    return Portfolio(tuple(rows), np.full(objectives, np.inf), evaluate_sums)


def shortest_time(portfolio: Portfolio, area: float) -> float:
    """Return the lowest first sum with a second sum below `area`, by HiGHS."""
    kernel = np.repeat(np.arange(len(portfolio.options)), [len(o) for o in portfolio.options])
    rows = np.concatenate(portfolio.options)
    one = (kernel == np.arange(len(portfolio.options))[:, None]).astype(np.float64)
    solution = milp(
        rows[:, 0],
        constraints=[LinearConstraint(one, 1, 1), LinearConstraint(rows[None, :, 1], ub=area)],
        bounds=Bounds(0, 1),
        integrality=np.ones(len(rows), dtype=np.int64),
        options={"mip_rel_gap": 0.0},
    )
    assert solution.x is not None and solution.success
    chosen = np.flatnonzero(np.round(solution.x) == 1)
    assert (kernel[chosen] == np.arange(len(portfolio.options))).all()
    return float(rows[chosen, 0].sum())
