"""Tasks of FARSI's workloads as systems: independent kernels, and a chain.

The table has no units, so that a frame takes a time of 1 on the host, and the link has an assumed
speed. Only ratios of the table count.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from objectives.portfolio import kernel_loads, mix
from tests.objectives.portfolio.systems import model_system
from tests.oracles.portfolio import Kernel, System, simulate

TABLE = Path(__file__).parents[3] / "benchmarks" / "measured" / "farsi_tasks.csv"
SET_UP, LATENCY, LINK = 1e-3, 2e-3, 0.02  # of the time of a frame; the link, for the largest task
QUIET = 1e-12


def _tasks(workload: str) -> pd.DataFrame:
    """Return the tasks of a workload that work, with times as fractions of a frame on the host."""
    tasks = pd.read_csv(TABLE, comment="#").query("workload == @workload").dropna()
    frame = tasks.time_a53.sum()
    size = tasks[["bytes_in", "bytes_out"]].max(axis=1)
    return tasks.assign(
        host=tasks.time_a53 / frame, engine=tasks.time_ip0 / frame, link=LINK * size / size.max()
    )


def test_the_ratios_are_farsis() -> None:
    tasks = pd.read_csv(TABLE, comment="#")
    assert len(tasks.dropna()) == 46
    ratio = (tasks.time_a53 / tasks.time_ip0).dropna()
    assert ratio.max() == pytest.approx(805_804 / 7_736)  # rotateOrder3 of the audio decoder
    assert ratio.min() == pytest.approx(27 / 1_661)  # zoomSet: an engine is slower than the core


@pytest.mark.parametrize("workload", ["audio_decoder", "edge_detection_1", "hpvm_cava"])
def test_an_independent_system_is_within_five_percent_of_the_simulation(workload: str) -> None:
    tasks = _tasks(workload)
    call = SET_UP + LATENCY + tasks.link + tasks.engine
    built = (call < tasks.host).to_numpy()
    engines = np.cumsum(built) - 1
    columns = [tasks[name].to_numpy(dtype=float) for name in ("host", "link", "engine")]
    rows = list(zip(*columns, built, engines, strict=True))
    rate = min(
        0.5 / sum(SET_UP if on else host for host, _, _, on, _ in rows),
        0.3 / sum(link for _, link, _, on, _ in rows if on),
        0.6 / max(engine for _, _, engine, on, _ in rows if on),
    )
    kernels = tuple(
        Kernel(rate, host, SET_UP, link, LATENCY, engine, int(e) if on else None)
        for host, link, engine, on, e in rows
    )
    system = System(kernels, 1, (1,) * int(built.sum()))
    modelled, observed = model_system(system), simulate(system, 100_000)
    assert observed.standard_error < 0.015 * observed.mix_time
    assert modelled.mix_time == pytest.approx(observed.mix_time, rel=0.05)
    assert modelled.link_utilization == pytest.approx(observed.link_utilization, rel=0.05)
    assert modelled.engine_utilization == pytest.approx(observed.engine_utilization, rel=0.05)


def test_a_chain_saves_set_ups_and_transfers_between_its_tasks() -> None:
    """A chain is a kernel of its own: one set-up, data in and out, all services in a row."""
    tasks = _tasks("hpvm_cava")  # each task takes the data of the task before it
    np.testing.assert_array_equal(tasks.bytes_in[1:], tasks.bytes_out[:-1])
    least = np.inf
    for cuts in itertools.product((False, True), repeat=len(tasks) - 1):
        parts = np.split(np.arange(len(tasks)), np.flatnonzero(cuts) + 1)
        least = min(least, _frame(tasks, parts))
    whole = _frame(tasks, [np.arange(len(tasks))])
    alone = _frame(tasks, [np.array([k]) for k in range(len(tasks))])
    assert whole == pytest.approx(least, rel=1e-12)
    ends = LINK * max(tasks.bytes_in.iloc[0], tasks.bytes_out.iloc[-1]) / tasks.bytes_out.max()
    saved = (len(tasks) - 1) * (SET_UP + LATENCY) + tasks.link.sum() - ends
    assert alone - whole == pytest.approx(saved, rel=1e-9)
    amdahl = 1 / (tasks.host * tasks.time_ip0 / tasks.time_a53).sum()
    assert 1 / alone < 1 / whole < amdahl


def _frame(tasks: pd.DataFrame, parts: list[np.ndarray]) -> float:
    """Return the time of a frame, by the models, if each part is a chain."""
    rows = [tasks.iloc[part] for part in parts]
    size = np.array([max(row.bytes_in.iloc[0], row.bytes_out.iloc[-1]) for row in rows])
    largest = tasks[["bytes_in", "bytes_out"]].to_numpy(dtype=float).max()
    loads = kernel_loads(
        QUIET,
        np.array([row.host.sum() for row in rows]),
        SET_UP,
        LINK * size / largest,
        LATENCY,
        np.array([row.engine.sum() for row in rows]),
        0.0,
    )
    total = loads.call_time_load.sum(), loads.host_load_before.sum()
    assert total[1] == pytest.approx(QUIET)
    return float(mix(QUIET, total[0], 0.0, total[1]).mix_time)
