"""Times and utilizations of the models against the simulation of docs/explanation/portfolio.md."""

from __future__ import annotations

import numpy as np
import pytest

from objectives.portfolio import kernel_loads, shared_engine_queue
from tests.objectives.portfolio.systems import Modelled, model_system, random_system
from tests.oracles.portfolio import Kernel, Observed, System, follow_events, replay_queues, simulate

CALLS = 60_000
RANGES = {1: (0.5, 0.3, 0.6), 2: (0.6, 0.4, 0.6), 4: (0.7, 0.5, 0.7)}  # of portfolio.md


def test_two_simulations_of_one_system_agree() -> None:
    rng = np.random.default_rng(3)
    for cores in (1, 3):
        system = random_system(rng, cores, 0.7, 0.6, 0.8)
        rates = np.array([kernel.rate for kernel in system.kernels])
        arrivals = np.cumsum(rng.exponential(1 / rates.sum(), 3_000))
        kinds = rng.choice(len(rates), 3_000, p=rates / rates.sum())
        for replayed, followed in zip(
            replay_queues(system, arrivals, kinds),
            follow_events(system, arrivals, kinds),
            strict=True,
        ):
            np.testing.assert_allclose(replayed, followed, rtol=1e-9)


@pytest.mark.parametrize("cores", RANGES)
def test_times_are_within_five_percent_of_the_simulation(cores: int) -> None:
    rng = np.random.default_rng(7)
    for seed in range(8):
        system = random_system(rng, cores, *RANGES[cores])
        _agree(model_system(system), simulate(system, CALLS, seed))


def test_polling_calls_are_within_five_percent_of_the_simulation() -> None:
    rng = np.random.default_rng(11)
    checked = 0
    while checked < 3:
        system = random_system(rng, 4, 0.6, 0.4, 0.6, polling=True)
        modelled = model_system(system)
        if modelled.host_utilization < 0.6:
            _agree(modelled, simulate(system, CALLS * 2 // 3, checked))
            checked += 1


def _agree(modelled: Modelled, observed: Observed) -> None:
    assert observed.standard_error < 0.025 * observed.mix_time
    assert modelled.mix_time == pytest.approx(observed.mix_time, rel=0.05)
    assert modelled.host_utilization == pytest.approx(observed.host_utilization, rel=0.05)
    assert modelled.link_utilization == pytest.approx(observed.link_utilization, rel=0.05)
    assert modelled.engine_utilization == pytest.approx(observed.engine_utilization, rel=0.05)


def test_an_engine_of_two_kernels_is_within_five_percent_of_the_simulation() -> None:
    rate, service = np.array([300.0, 100.0]), np.array([800e-6, 2.4e-3])
    set_up, link = np.array([20e-6, 20e-6]), np.array([100e-6, 200e-6])
    observed = simulate(
        System(
            tuple(
                Kernel(r, 1e-2, b, x, 5e-6, s, engine=0)
                for r, b, x, s in zip(rate, set_up, link, service, strict=True)
            ),
            cores=4,
            copies=(1,),
        ),
        400_000,
    )
    queue = shared_engine_queue(
        (rate * service).sum(),
        (rate * service**2).sum(),
        (rate * link).sum(),
        (rate * link**2).sum(),
    )
    loads = kernel_loads(rate, 1e-2, set_up, link, 5e-6, service, queue.engine_wait_time)
    wait_on_link = (rate * link**2).sum() / (2 * (1 - loads.link_load.sum()))
    times = loads.call_time_load / rate + wait_on_link  # four cores are idle when a call comes
    assert float(queue.engine_utilization) == pytest.approx(
        observed.engine_utilization[0], rel=0.02
    )
    assert times == pytest.approx(observed.kernel_times, rel=0.05)
