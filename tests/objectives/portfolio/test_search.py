"""The merged front of a system of these models against all of its combinations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from dse.model import Array
from dse.search.portfolio.portfolio import Portfolio
from objectives.portfolio import engine_queue, host_queue, host_use, kernel_loads, link_queue, mix
from tests.search.portfolio.systems import merge

CORES, OPTIONS = 2, 5


def _options(rng: np.random.Generator) -> Array:
    """Return the loads and the area of a kernel's options: first on the host, then engines."""
    rate = rng.uniform(200, 800)
    built, polling = np.array([0.0, 1, 1, 1, 1]), np.array([0.0, 0, 0, 1, 1])
    link, service = rng.uniform(1e-5, 2e-4, (2, OPTIONS))
    wait = engine_queue(rate, service, link, built=built).engine_wait_time
    loads = kernel_loads(
        rate, rng.uniform(1e-4, 3e-3), rng.uniform(1e-5, 2e-4, OPTIONS), link, 1e-6, service, wait,
        built, polling,
    )  # fmt: skip
    area = built * rng.uniform(1e3, 9e3, OPTIONS)
    return np.column_stack([*np.broadcast_arrays(rate, *loads), area])


def _evaluate(sums: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return mean response time, busy cores and area, and the systems that carry their calls."""
    rate, host, before, moment, link, link_moment, crossing, load, polls, polled, area = sums.T
    queue = link_queue(link, link_moment)
    wait = queue.link_wait_time
    use = host_use(host, before, CORES, polls, wait)
    core = host_queue(host, moment, CORES, polls, polled, wait)
    times = mix(rate, load, crossing, before, wait, core.host_wait_time)
    feasible = (use.host_utilization < 1) & (queue.link_utilization < 1)
    return np.column_stack([times.mix_time, -use.cores_saved, area]), feasible


@pytest.mark.parametrize("seed", range(5))
def test_the_merged_front_is_the_front_of_all_combinations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options = tuple(_options(rng) for _ in range(4))
    portfolio = Portfolio(options, np.full(options[0].shape[1], np.inf), _evaluate)
    choices = np.array(list(itertools.product(range(OPTIONS), repeat=4)))
    values, feasible = portfolio.judge(portfolio.sums(choices))
    values = values[feasible]
    worse = [((values <= v).all(axis=1) & (values < v).any(axis=1)).any() for v in values]
    expected = np.unique(values[~np.array(worse)], axis=0)
    found = np.unique(merge(portfolio).objectives, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(found) > 3
