"""Accelerometer: what a busy core gains from offloading a share of its work.

Source: A. Sriraman, A. Dhanotia, Accelerometer: Understanding Acceleration Opportunities for Data
Center Overheads at Hyperscale, ASPLOS 2020 (doi 10.1145/3373376.3378450), and the authors' program
for it, which is in the public domain (github.com/akshithasriraman/Accelerometer). LogCA asks for
the time of one call; here a core makes n calls of the kernel in C cycles, and may do other
work while the engine does its part.

* :func:`host_speedup`: throughput of a core in the three designs of threads, and what the engine
  must carry then;
* :func:`core_wait`: the wait of cores that stand still, from a queue;
* :func:`offload_time`: how long offloads and requests take.

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
