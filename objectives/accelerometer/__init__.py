"""Accelerometer: the gain of a busy core that offloads a part of its work.

Source: A. Sriraman, A. Dhanotia, Accelerometer: Understanding Acceleration Opportunities for Data
Center Overheads at Hyperscale, ASPLOS 2020 (doi 10.1145/3373376.3378450), and the authors' program
for it, which is in the public domain (github.com/akshithasriraman/Accelerometer). LogCA asks for
the time of one call; here a core makes n calls of the kernel in C cycles, and may do other
work while the engine does its part.

Modules:

* ``quantities``: the quantities and records of the models;
* ``host``: :func:`host_speedup`, the throughput of a core in the three designs of threads, and the
  load of the engine;
* ``engine``: :func:`core_wait`, the wait of blocked cores, from a queue, and :func:`offload_time`,
  the response times of offloads and requests.

Speedup is the authors' formula; all else is this package's own (docs/accelerometer.md).
"""

from objectives.accelerometer.engine import (
    CoreWait,
    OffloadTime,
    core_wait,
    offload_time,
)
from objectives.accelerometer.host import HostSpeedup, host_speedup

__all__ = [
    "CoreWait",
    "HostSpeedup",
    "OffloadTime",
    "core_wait",
    "host_speedup",
    "offload_time",
]
