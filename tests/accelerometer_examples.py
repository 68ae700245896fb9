"""The setting of docs/explanation/accelerometer.md, by the formulas and by the simulation."""

from __future__ import annotations

import functools
from dataclasses import replace

from objectives.accelerometer import core_wait, host_speedup, offload_time
from tests.oracles.accelerometer import Seen, Setting, simulate

THREADING = {"sync": 0, "sync-os": 1, "async": 2}
SYNC = Setting("sync", compute=1000, kernel=1000, acceleration=10, overhead=20, latency=80)
SYNC_OS = replace(SYNC, threading="sync-os", switch=150, threads=4)
ASYNC = replace(SYNC, threading="async")
seen = functools.cache(functools.partial(simulate, offloads=20_000))


def told(setting: Setting) -> dict[str, float]:
    """Return what the models say of a setting, wired as in a study."""
    before = setting.compute + setting.kernel
    how = THREADING[setting.threading]
    work = {"accelerable_share": setting.kernel / before, "offload_rate": 1 / before}
    dispatch = {"overhead": setting.overhead, "latency": setting.latency}
    engine = {"acceleration": setting.acceleration, "cores_per_engine": setting.cores}
    queue = core_wait(how, **work, **dispatch, **engine).queue_time
    both = {"queue_time": queue, "switch_time": 2 * setting.switch}
    host = host_speedup(how, **work, **dispatch, **engine, **both)
    load = {name: getattr(host, name) for name in ("engine_utilization", "service_time")}
    times = offload_time(how, **work, **dispatch, cores_per_engine=setting.cores, **both, **load)
    found = {"queue_time": queue} | vars(host) | vars(times)
    return {name: float(value) for name, value in found.items()}


__all__ = ["ASYNC", "SYNC", "SYNC_OS", "Seen", "Setting", "seen", "told"]
