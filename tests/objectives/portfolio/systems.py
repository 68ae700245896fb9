"""Random systems of several kernels, for the models and for the simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from objectives.portfolio import (
    engine_queue,
    host_queue,
    host_use,
    kernel_loads,
    link_queue,
    mix,
)
from tests.oracles.portfolio import Kernel, System


class Modelled(NamedTuple):
    """What the models give for a system."""

    mix_time: float
    host_utilization: float
    link_utilization: float
    engine_utilization: np.ndarray


def random_system(
    rng: np.random.Generator,
    cores: int,
    host: float,
    link: float,
    engine: float,
    polling: bool = False,
    spread: float = 20,
) -> System:
    """Return 2 to 8 kernels with at most these utilizations; each part is used by a tenth or more.

    Times on the host differ by factors of up to `spread` between the kernels, set-ups and times on
    the link by 20, and rates by 4.5. Seven of ten are built, each with one or two engines. With
    polling, half of the cores' utilization is planned without the waiting.
    """
    count = int(rng.integers(2, 9))
    rate, host_time = (
        np.exp(rng.uniform(0, 1.5, count)),
        np.exp(rng.uniform(0, np.log(spread), count)),
    )
    set_up, link_time, latency = np.exp(rng.uniform(-2, 1, (3, count)))
    built = rng.random(count) < 0.7
    built[rng.integers(count)] = True
    copies = rng.integers(1, 3, count)
    service = rng.uniform(0.1, 1, count) * engine * copies / rate
    link_time *= rng.uniform(0.1, 1) * link / (rate * link_time)[built].sum()
    used = (rate * np.where(built, set_up, host_time)).sum()
    factor = rng.uniform(0.1, 1) * host * cores / used / (2 if polling else 1)
    engines = np.cumsum(built) - 1
    return System(
        tuple(
            Kernel(
                float(rate[k]),
                float(host_time[k] * factor),
                float(set_up[k] * factor),
                float(link_time[k]),
                float(latency[k] * factor),
                float(service[k]),
                int(engines[k]) if built[k] else None,
                polling and bool(built[k]),
            )
            for k in range(count)
        ),
        cores,
        tuple(int(c) for c in copies[built]),
    )


def model_system(system: System) -> Modelled:
    """Return the models' outputs for a system; each engine serves one kernel."""
    kernels = system.kernels
    rate, host_time, set_up, link, latency, service = np.array(
        [
            (k.rate, k.host_time, k.set_up_time, k.link_time, k.latency, k.service_time)
            for k in kernels
        ]
    ).T
    built = np.array([k.engine is not None for k in kernels], dtype=float)
    polling = np.array([k.polling for k in kernels], dtype=float)
    copies = np.array([1 if k.engine is None else system.copies[k.engine] for k in kernels])
    queue = engine_queue(rate, service, link, copies, built)
    loads = kernel_loads(
        rate, host_time, set_up, link, latency, service, queue.engine_wait_time, built, polling
    )
    total = type(loads)(*(np.asarray(np.sum(values)) for values in loads))
    on_link = link_queue(total.link_load, total.link_moment)
    polled = {"polling_calls": total.polling_calls, "link_wait_time": on_link.link_wait_time}
    use = host_use(total.host_load, total.host_load_before, system.cores, **polled)
    wait = host_queue(
        total.host_load,
        total.host_moment,
        system.cores,
        polling_load=total.polling_load,
        **polled,
    ).host_wait_time
    times = mix(
        rate.sum(),
        total.call_time_load,
        total.link_calls,
        total.host_load_before,
        on_link.link_wait_time,
        wait,
    )
    return Modelled(
        float(times.mix_time),
        float(use.host_utilization),
        float(on_link.link_utilization),
        queue.engine_utilization[built == 1],
    )
