"""Several kernels that share cores, a link and an area: the system of portfolio.md.

Modules:

* ``quantities``: the quantities of a kernel, their sums, and the powers of an engine;
* ``kernel``: one kernel on the host or on an engine: costs of its calls, service and queue of its
  engines, and the loads, area, traffic and power that it adds to a system;
* ``shared``: queues of the link and the host, times, growth and power of a system, from the sums of
  these loads.
"""

from objectives.portfolio.kernel import (
    call_costs,
    engine_demand,
    engine_queue,
    engine_service,
    host_call,
    kernel_area,
    kernel_loads,
    kernel_power,
    kernel_traffic,
    shared_engine_queue,
)
from objectives.portfolio.shared import (
    host_queue,
    host_use,
    link_queue,
    mix,
    rate_growth,
    system_power,
)

__all__ = [
    "call_costs",
    "engine_demand",
    "engine_queue",
    "engine_service",
    "host_call",
    "host_queue",
    "host_use",
    "kernel_area",
    "kernel_loads",
    "kernel_power",
    "kernel_traffic",
    "link_queue",
    "mix",
    "rate_growth",
    "shared_engine_queue",
    "system_power",
]
