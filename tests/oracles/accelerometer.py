"""Cores that offload to one engine, event by event, written from the words of the model's docs.

A core runs threads one at a time. A thread computes, sets an offload up, and its core moves it over
the interface; then the engine takes offloads in order. What the core does meanwhile is the
threading:

* sync: the core stands still until the result is there;
* sync-os: it switches to a thread that has its result, and back later; it stands still if none has;
* async: the same thread goes on, and looks at results without cost.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import simpy


@dataclass(frozen=True)
class Setting:
    """What is simulated; times in cycles, means if they vary.

    Parameters
    ----------
    threading : str
    compute : float
        Work of a thread between two offloads, exponential.
    kernel : float
        Time of the kernel on a core.
    acceleration, overhead, latency : float
    switch : float
        One thread switch; there are two for each offload.
    cores, threads : int
        `threads` is for each core; one if it stands still.
    constant : bool
        Whether each offload takes the engine the same time; else it is exponential.
    """

    threading: Literal["sync", "sync-os", "async"]
    compute: float
    kernel: float
    acceleration: float
    overhead: float
    latency: float
    switch: float = 0.0
    cores: int = 1
    threads: int = 1
    constant: bool = False


@dataclass(frozen=True)
class Seen:
    """What a simulation saw.

    Parameters
    ----------
    speedup : float
        Offloads of a core a cycle, over those of a core that does all itself.
    utilization : float
        Of the engine.
    queue_time : float
        Mean wait at the engine.
    offload_times : ndarray
        From set-up to result, of each offload.
    """

    speedup: float
    utilization: float
    queue_time: float
    offload_times: np.ndarray[Any, np.dtype[np.float64]]


def simulate(setting: Setting, offloads: int, seed: int = 0) -> Seen:
    """Simulate until so many offloads are done, after a tenth of them that does not count."""
    env, rng = simpy.Environment(), np.random.default_rng(seed)
    engine = simpy.Resource(env)
    done: list[tuple[float, float, float, float]] = []  # end, offload time, wait, service
    finished = env.event()
    first = offloads // 10

    def serve(begun: float) -> Generator[Any, Any, None]:
        arrived = env.now
        with engine.request() as turn:
            yield turn
            waited = env.now - arrived
            mean = setting.kernel / setting.acceleration
            service = mean if setting.constant else rng.exponential(mean)
            yield env.timeout(service)
        done.append((env.now, env.now - begun, waited, service))
        if len(done) == first + offloads and not finished.triggered:
            finished.succeed()

    def thread(core: simpy.Resource) -> Generator[Any, Any, None]:
        has_run = False
        while True:
            with core.request() as turn:
                yield turn
                if has_run and setting.threading == "sync-os":
                    yield env.timeout(setting.switch)  # back to this thread
                has_run = True
                yield env.timeout(rng.exponential(setting.compute))
                begun = env.now
                yield env.timeout(setting.overhead + setting.latency)
                service = env.process(serve(begun))
                if setting.threading == "sync":
                    yield service
                if setting.threading == "sync-os":
                    yield env.timeout(setting.switch)  # away from it
            if setting.threading == "sync-os":
                yield service

    for _ in range(setting.cores):
        core = simpy.Resource(env)
        for _ in range(setting.threads):
            env.process(thread(core))
    env.run(finished)
    found = np.array(done)
    start, counted = found[first - 1, 0], found[first:]
    elapsed = counted[-1, 0] - start
    before = setting.compute + setting.kernel
    return Seen(
        float(len(counted) * before / (elapsed * setting.cores)),
        float(counted[:, 3].sum() / elapsed),
        float(counted[:, 2].mean()),
        counted[:, 1],
    )
