"""Accelerometer: the authors' lines, LogCA, their case studies, and a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from objectives import logca
from objectives.accelerometer import host_speedup
from tests.oracles.accelerometer import Setting, simulate

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


SYNC = Setting("sync", compute=1000, kernel=1000, acceleration=10, overhead=20, latency=80)
SYNC_OS = replace(SYNC, threading="sync-os", switch=150, threads=4)
ASYNC = replace(SYNC, threading="async")


def closed_wait(service: float, between: float, cores: int) -> float:
    """Return the wait of cores in Sync by mean value analysis (Reiser, Lavenberg 1980)."""
    queued = 0.0
    for others in range(1, cores):
        there = service * (1 + queued)
        queued = others * there / (between + there)
    return service * queued


def told(setting: Setting) -> tuple[float, float]:
    """Return speedup and utilization by the model."""
    work = (setting.kernel / (setting.compute + setting.kernel), 0.5 / setting.kernel)
    between = setting.compute + setting.overhead + setting.latency
    found = host_speedup(
        ["sync", "sync-os", "async"].index(setting.threading),
        *work,
        setting.overhead,
        setting.latency,
        setting.acceleration,
        setting.cores,
        closed_wait(setting.kernel / setting.acceleration, between, setting.cores)
        if setting.threading == "sync"
        else 0.0,
        2 * setting.switch,
    )
    return float(found.speedup), float(found.engine_utilization)


@pytest.mark.parametrize(
    "setting",
    [SYNC, replace(SYNC, cores=16), replace(SYNC_OS, cores=8), replace(ASYNC, cores=8)],
    ids=lambda setting: f"{setting.threading}-{setting.cores}",
)
def test_throughput_is_that_of_the_simulation(setting: Setting) -> None:
    # 20,000 offloads of exponential work: 0.7 % of standard deviation
    speedup, utilization = told(setting)
    simulated = simulate(setting, 20_000)
    assert speedup == pytest.approx(simulated.speedup, rel=0.02)
    assert utilization == pytest.approx(simulated.utilization, rel=0.03)


def test_an_engine_over_its_capacity() -> None:
    setting = replace(ASYNC, cores=16)
    speedup, utilization = told(setting)
    simulated = simulate(setting, 20_000)
    assert utilization > 1.4
    assert speedup > 1.4 * simulated.speedup
    # what the engine serves: one offload in 100 cycles, of 16 cores that did one in 2,000
    assert simulated.speedup == pytest.approx(2000 / (16 * 100), rel=0.02)


def test_cores_that_wait_never_ask_for_more_than_the_engine_serves() -> None:
    """By rounding some did at saturation, and were infeasible; those with no wait still are."""
    given = (0.9, 1e-4, 10.0, 20.0, np.arange(1.0, 33.0))  # share, rate, overhead, latency, A
    for cores in (32, 48, 64, 96, 128, 256, 1024):
        wait = [closed_wait(9_000 / a, 1_030, cores) for a in given[-1]]
        found = host_speedup(0, *given, cores, wait)
        assert (found.engine_utilization < 1).all()
        assert found.engine_utilization[0] > 0.9
    assert host_speedup(0, *given[:4], 1.0, 1024).engine_utilization > 900


def test_a_design_over_capacity_is_infeasible_in_a_study() -> None:
    given = {"accelerable_share": 0.5, "offload_rate": 5e-4, "overhead": 20, "latency": 80}
    study = {
        "study": {"name": "service", "models": ["objectives.accelerometer:host_speedup"]},
        "inputs": {**given, "switch_time": 300, "cores_per_engine": 16},
        "space": {"threading": {"values": [1, 2]}, "acceleration": {"integer": [2, 32]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "acceleration"}],
    }
    designs = dse.from_mapping(study).run().front.designs
    loads = 16 * designs["speedup"] * 0.5 / designs["acceleration"]
    assert loads.max() < 1
    # 16 · 1.818 · 0.5 / A < 1
    assert designs[designs["threading"] == 2]["acceleration"].min() == 15


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
