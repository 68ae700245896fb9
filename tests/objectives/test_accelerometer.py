"""Accelerometer: the authors' lines, LogCA, closed forms of queues, and a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import erlang

import dse
from objectives import logca
from objectives.accelerometer import core_wait, host_speedup, offload_time
from tests.accelerometer_examples import ASYNC, SYNC, SYNC_OS, Setting, seen, told

cycles = st.floats(0, 1e6)


@given(st.floats(0, 1), st.floats(1e-9, 1e-2), cycles, cycles, cycles, cycles, st.floats(0.1, 1e3))
def test_the_authors_lines(
    alpha: float, rate: float, o0: float, latency: float, queue: float, o1: float, a: float
) -> None:
    c = 1e9
    n = rate * c
    sync = (1 - alpha) + alpha / a + n / c * (o0 + latency + queue)
    sync_os = (1 - alpha) + n / c * (o0 + latency + queue + o1)
    asynchronous = (1 - alpha) + n / c * (o0 + latency + queue)
    found = host_speedup([0, 1, 2], alpha, rate, o0, latency, a, 1, queue, o1)
    assert found.core_time == pytest.approx([sync, sync_os, asynchronous], rel=1e-9, abs=1e-12)
    assert found.speedup == pytest.approx(1 / found.core_time)


@given(st.floats(1, 1e6), st.floats(1, 1e4), cycles, cycles, st.floats(0.5, 1e3))
def test_sync_with_nothing_else_to_do_is_logca(
    granularity: float, index: float, overhead: float, latency: float, acceleration: float
) -> None:
    call = {"overhead": overhead, "latency": latency, "computational_index": index}
    of_call = logca.speedup(granularity, **call, acceleration=acceleration)
    of_core = host_speedup(0, 1.0, 1 / (index * granularity), overhead, latency, acceleration, 1)
    assert of_core.speedup == pytest.approx(of_call.speedup, rel=1e-9)


def test_the_wait_of_cores_is_that_of_the_chain() -> None:
    # the chain of birth and death with 7 other cores: Z = 1,100 and s = 100 cycles
    others, service, between = 7, 100.0, 1100.0
    chances = np.cumprod([1.0, *((others - k) * service / between for k in range(others))])
    chances /= chances.sum()
    waits = core_wait(0, 0.5, 1 / 2000, 20, 80, 10, cores_per_engine=[1, 8]).queue_time
    assert waits == pytest.approx([0.0, service * (chances * np.arange(8)).sum()])
    free = core_wait([1, 2], 0.5, 1 / 2000, 20, 80, 10, cores_per_engine=8)
    assert not free.queue_time.any()


@pytest.mark.parametrize(
    ("cores", "between"), [(1, 5.0), (8, 11.0), (16, 11.0), (200, 150.0), (4, 900.0)]
)
def test_the_tail_of_sync_is_that_of_the_sum_over_queues(cores: int, between: float) -> None:
    service = 100.0
    found = offload_time(0, 0.5, 0.5 / (service * between), 0, 0, cores, 0.0, 0.5, service)
    chances = np.cumprod([1.0, *((cores - k) / between for k in range(1, cores))])
    queues = np.arange(cores) + 1
    slower = erlang.sf(float(found.offload_time_p99) / service, queues) @ chances / chances.sum()
    assert slower == pytest.approx(0.01, rel=0.01 if between == 900 else 1e-9)  # there M/M/1


@pytest.mark.parametrize(
    "setting",
    [SYNC, replace(SYNC, cores=16), replace(SYNC_OS, cores=8), replace(ASYNC, cores=8)],
    ids=lambda setting: f"{setting.threading}-{setting.cores}",
)
def test_throughput_is_that_of_the_simulation(setting: Setting) -> None:
    # 20,000 offloads of exponential work: 0.7 % of standard deviation
    formula, simulated = told(setting), seen(setting)
    p99 = np.quantile(simulated.offload_times, 0.99)
    assert formula["speedup"] == pytest.approx(simulated.speedup, rel=0.02)
    assert formula["engine_utilization"] == pytest.approx(simulated.utilization, rel=0.03)
    if setting.threading == "sync":
        assert formula["engine_wait_time"] == pytest.approx(simulated.queue_time, rel=0.04)
        assert formula["offload_time"] == pytest.approx(simulated.offload_times.mean(), rel=0.03)
        assert formula["offload_time_p99"] == pytest.approx(p99, rel=0.05)
    else:  # offloads of few cores keep their distance: M/M/1 is on the safe side
        assert 1 < formula["engine_wait_time"] / simulated.queue_time < 1.8
        assert 1 < formula["offload_time"] / simulated.offload_times.mean() < 1.2
        assert 1 < formula["offload_time_p99"] / p99 < 1.2


def test_an_engine_over_its_capacity() -> None:
    setting = replace(ASYNC, cores=16)
    formula, simulated = told(setting), seen(setting)
    assert formula["engine_utilization"] > 1.4
    assert formula["offload_time"] == formula["offload_time_p99"] == np.inf
    assert formula["latency_reduction"] == 0
    assert formula["speedup"] > 1.4 * simulated.speedup
    # what the engine serves: one offload in 100 cycles, of 16 cores that did one in 2,000
    assert simulated.speedup == pytest.approx(2000 / (16 * 100), rel=0.02)


def test_requests_are_no_faster_than_their_offloads() -> None:
    # one thread a core: its period is the time of a request that finds its core free
    setting = replace(SYNC_OS, threads=1)
    once, twice = told(replace(setting, switch=75)), told(setting)
    assert twice["latency_reduction"] < seen(setting).speedup < once["latency_reduction"]
    single = told(SYNC)  # a core that waits: throughput and latency are one
    assert single["latency_reduction"] == pytest.approx(single["speedup"])
    assert told(ASYNC)["latency_reduction"] < told(ASYNC)["speedup"]


def study(**inputs: Any) -> dse.Study:
    given: dict[str, Any] = {"accelerable_share": 0.5, "offload_rate": 5e-4, "overhead": 20}
    given |= {"latency": 80, "switch_time": 300, "cores_per_engine": 16}
    names = ("host_speedup", "core_wait", "offload_time")
    models = [f"objectives.accelerometer:{name}" for name in names]
    return dse.from_mapping(
        {
            "study": {"name": "service", "models": models},
            "inputs": given | inputs,
            "space": {"threading": {"values": [0, 1, 2]}, "acceleration": {"integer": [2, 32]}},
            "objective": [{"maximize": "speedup"}, {"minimize": "acceleration"}],
        }
    )


def test_a_design_over_capacity_is_infeasible_in_a_study() -> None:
    designs = study().run().front.designs
    loads = 16 * designs["speedup"] * 0.5 / designs["acceleration"]
    assert loads.max() < 1
    asynchronous = designs[designs["threading"] == 2]
    # 16 · 1.818 · 0.5 / A < 1
    assert asynchronous["acceleration"].min() == 15
    assert (designs["threading"] == 0).any()  # cores that wait never overload it


def test_cores_that_wait_never_ask_for_more_than_the_engine_serves() -> None:
    """By rounding some did at saturation, and were infeasible; those with no wait still are."""
    given = (0.9, 1e-4, 10.0, 20.0, np.arange(1.0, 33.0))  # share, rate, overhead, latency, A
    for cores in (32, 48, 64, 96, 128, 256, 1024):
        wait = core_wait(0, *given, cores).queue_time
        found = host_speedup(0, *given, cores, wait)
        assert (found.engine_utilization < 1).all()
        assert found.engine_utilization[0] > 0.9
    assert host_speedup(0, *given[:4], 1.0, 1024).engine_utilization > 900


def sync(**inputs: Any) -> dse.Study:
    """Return a study of one Sync design, whose Q is given and not worked out."""
    made: dict[str, Any] = {**study().content, "space": {"threading": {"values": [0]}}}
    models = [f"objectives.accelerometer:{name}" for name in ("host_speedup", "offload_time")]
    made["study"] = {"name": "service", "models": models}
    made["inputs"] = {**made["inputs"], **inputs, "acceleration": 10}
    made["objective"] = [{"maximize": "speedup"}, {"minimize": "offload_time_p99"}]
    return dse.from_mapping(made)


def test_a_wait_of_sync_that_is_not_of_the_cores_queue_is_refused() -> None:
    """With Q = 0 the mean was of an idle engine, 200 cycles, and the percentile of a shared one."""
    with pytest.raises(dse.InputError, match="in Sync, queue_time is what core_wait gives"):
        sync(queue_time=0, cores_per_engine=8).run()
    mean = seen(replace(SYNC, cores=8)).queue_time
    formula = told(replace(SYNC, cores=8))
    assert formula["sync_wait_time"] == pytest.approx(mean, rel=0.04)
    alone = sync(queue_time=0, cores_per_engine=1).run()  # who is alone waits for nobody
    assert alone.best("speedup")["offload_time_p99"] == pytest.approx(100 + 100 * np.log(100))


def test_the_wait_is_the_same_by_both_ways() -> None:
    rng = np.random.default_rng(2)
    count = 4_000
    share, rate = rng.uniform(0, 1, count), 10 ** rng.uniform(-9, -2, count)
    o, fixed = 10 ** rng.uniform(0, 6, (2, count))
    a, cores = 10 ** rng.uniform(-1, 3, count), np.ceil(2 ** rng.uniform(0, 10, count))
    how = rng.integers(0, 3, count)
    wait = core_wait(how, share, rate, o, fixed, a, cores).queue_time
    host = host_speedup(how, share, rate, o, fixed, a, cores, wait)
    load, service = host.engine_utilization, host.service_time
    found = offload_time(how, share, rate, o, fixed, cores, wait, load, service)
    assert found.sync_wait_time == pytest.approx(wait, rel=1e-10)
    assert (wait[how == 0] > 0).any()
    assert not found.sync_wait_time[how > 0].any()


@pytest.mark.parametrize(
    ("case", "gain"),
    [
        # AES-NI in Cache1
        ((0, 0.165844, 298_951 / 2.0e9, 10.0, 3.0, 6.0, 1, 0.0, 0.0), 0.1578),
        # encryption off the chip in Cache3; the speed of the engine has no effect
        ((2, 0.19154, 101_863 / 2.3e9, 0.0, 2530.0, 10.0, 1, 0.0, 0.0), 0.0864),
        # remote inference in Ads1
        ((1, 0.52, 10 / 2.5e9, 25e6, 0.0, 10.0, 1, 0.0, 12_500.0), 0.7240),
    ],
)
def test_the_case_studies_of_the_page(case: tuple[float, ...], gain: float) -> None:
    threading, share, rate, overhead, latency, acceleration, cores, queue, switch = case
    found = host_speedup(
        threading,
        accelerable_share=share,
        offload_rate=rate,
        overhead=overhead,
        latency=latency,
        acceleration=acceleration,
        cores_per_engine=cores,
        queue_time=queue,
        switch_time=switch,
    )
    assert float(found.speedup) - 1 == pytest.approx(gain, abs=5e-5)
