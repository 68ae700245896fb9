"""Waits of M/G/1 and M/G/c queues, and the loads of a kernel, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from objectives.portfolio import (
    engine_queue,
    host_queue,
    host_use,
    kernel_loads,
)
from objectives.queues import constant_service_wait, mixed_service_wait, pooled_wait


def test_the_wait_of_one_server_is_exact() -> None:
    load, moment = np.array([0.1, 0.5, 0.9]), np.array([0.02, 0.4, 3.0])
    np.testing.assert_allclose(pooled_wait(load, moment, 1), mixed_service_wait(load, moment))


def test_the_wait_of_exponential_times_is_erlangs() -> None:
    for servers, load in [(2, 0.4), (2, 1.8), (3, 2.0), (8, 6.5)]:
        terms = [load**k / float(np.prod(range(1, k + 1))) for k in range(servers + 1)]
        last = terms[-1] * servers / (servers - load)
        waiting = last / (sum(terms[:-1]) + last)
        wait = pooled_wait(load, 2 * load, servers)  # of a mean time of 1
        assert float(wait) == pytest.approx(waiting / (servers - load), rel=1e-12)


def test_the_wait_of_constant_times_is_within_a_tenth() -> None:
    load, servers = np.meshgrid([0.5, 0.7, 0.9], [2.0, 4.0, 8.0])
    exact = constant_service_wait(load, servers)
    wait = pooled_wait(load * servers, load * servers, servers)
    np.testing.assert_allclose(wait[servers < 8], exact[servers < 8], rtol=0.15)
    assert np.all(wait <= exact)


def test_waits_are_infinite_from_the_capacity_on() -> None:
    assert np.isinf(pooled_wait(np.array([4.0, 5.0]), 1.0, 4)).all()
    assert np.isinf(mixed_service_wait(1.0, 1.0))
    assert np.isnan(mixed_service_wait(np.nan, 1.0))
    assert float(pooled_wait(0.0, 0.0, 3)) == 0


def test_an_engine_of_one_kernel_waits_for_the_slower_of_link_and_engine() -> None:
    rate, service, link = 2_000.0, 300e-6, 100e-6
    queue = engine_queue(rate, service, link)
    both = queue.engine_wait_time + link * constant_service_wait(rate * link)
    assert float(both) == pytest.approx(float(service * constant_service_wait(rate * service)))
    assert float(queue.engine_utilization) == pytest.approx(0.6)
    assert float(engine_queue(rate, link, service).engine_wait_time) == 0


def test_a_kernel_on_the_host_ignores_its_engine() -> None:
    queue = engine_queue(1_000.0, 2e-3, 1e-6, built=0.0)
    assert float(queue.engine_utilization) == 0
    loads = kernel_loads(1_000.0, 1e-4, 1e-3, 1e-3, 1e-3, 2e-3, np.inf, built=0.0, polling=1.0)
    assert [float(value) for value in loads] == pytest.approx([0.1, 0.1, 1e-5, 0, 0, 0, 0.1, 0, 0])


def test_polling_keeps_a_core_busy_on_the_link_too() -> None:
    polled = kernel_loads(1_000.0, 1e-3, 2e-5, 1e-5, 5e-6, 6e-5, 5e-6, polling=1.0)
    assert float(polled.host_load) == pytest.approx(0.1)
    assert float(polled.host_load) == float(polled.polling_load)
    use = host_use(polled.host_load, 1.0, 2, polled.polling_calls, link_wait_time=5e-5)
    assert float(use.host_utilization) == pytest.approx(0.075)
    assert float(use.cores_saved) == pytest.approx(0.85)
    waits = [
        float(host_queue(0.1, 1e-5, 2, calls, load, 5e-5).host_wait_time)
        for calls, load in [(0.0, 0.0), (1_000.0, 0.1)]
    ]
    assert waits[0] < waits[1]
