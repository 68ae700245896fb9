"""Waits, utilizations and times of a system of several kernels, from sums over the kernels.

portfolio.md defines the system. The inputs of these models that have the names of outputs of
:mod:`objectives.portfolio.kernel` are the sums of these outputs. Every output is monotonic in each
sum: a search may drop options of a kernel that are worse in all of them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.energy import HostActivePower
from objectives.portfolio.quantities import (
    ACCELERATOR_POWER,
    CALL_TIME_LOAD,
    HOST_LOAD,
    HOST_LOAD_BEFORE,
    HOST_MOMENT,
    HOST_WAIT_TIME,
    LINK_CALLS,
    LINK_LOAD,
    LINK_MOMENT,
    LINK_WAIT_TIME,
    POLLING_CALLS,
    POLLING_LOAD,
    Cores,
)
from objectives.power_law import to_arrays
from objectives.quantities import declare_cost, declare_speedup
from objectives.queues import mixed_service_wait, pooled_wait

HostLoad = Annotated[Floats, HOST_LOAD]
LinkWaitTime = Annotated[Floats, LINK_WAIT_TIME]
PollingCalls = Annotated[Floats, POLLING_CALLS]
HostUtilization = Annotated[
    Floats, Quantity("1", "fraction of the cores that calls keep busy", low=0, typical=(0, 1))
]


class LinkQueue(NamedTuple):
    """The outputs of :func:`link_queue`."""

    link_utilization: Annotated[
        Array, Quantity("1", "offered load of the link over its capacity", "ρ", low=0)
    ]
    link_wait_time: Annotated[Array, LINK_WAIT_TIME]


@requires(Requirement("link_utilization < 1", "the link carries the calls of all kernels"))
@model
@monotonic(
    link_utilization="+link_load =link_moment",
    link_wait_time="+link_load +link_moment",
)
def link_queue(
    link_load: Annotated[Floats, LINK_LOAD], link_moment: Annotated[Floats, LINK_MOMENT]
) -> LinkQueue:
    """Return utilization and wait of the link: M/G/1, with sums over kernels of all sizes.

    The wait is M / 2(1 − ρ) with the load ρ and the moment M (Pollaczek and Khinchine).

    >>> queue = link_queue(0.5, 50e-6)
    >>> float(queue.link_utilization), float(queue.link_wait_time)
    (0.5, 5e-05)
    """
    load, moment = np.broadcast_arrays(*to_arrays(link_load, link_moment))
    return LinkQueue(load.copy()[()], mixed_service_wait(load, moment))


class HostUse(NamedTuple):
    """The outputs of :func:`host_use`."""

    host_utilization: Annotated[
        Array, Quantity("1", "fraction of the cores that calls keep busy", low=0)
    ]
    cores_saved: Annotated[
        Array, Quantity("1", "cores that are free and were busy without accelerators", worth=0)
    ]


_CORES_SUFFICE = Requirement("host_utilization < 1", "the cores carry the calls of all kernels")


@requires(_CORES_SUFFICE)
@model
@monotonic(
    host_utilization="+host_load =host_load_before -cores +polling_calls +link_wait_time",
    cores_saved="-host_load +host_load_before =cores -polling_calls -link_wait_time",
)
def host_use(
    host_load: HostLoad,
    host_load_before: Annotated[Floats, HOST_LOAD_BEFORE],
    cores: Cores,
    polling_calls: PollingCalls = 0.0,
    link_wait_time: LinkWaitTime = 0.0,
) -> HostUse:
    """Return the utilization of the cores, and how many of them the accelerators free.

    Calls that poll keep a core busy while they wait for the link, too.

    >>> use = host_use(1.0, host_load_before=2.5, cores=4)
    >>> float(use.host_utilization), float(use.cores_saved)
    (0.25, 1.5)
    """
    load = host_load + _polled_wait(polling_calls, link_wait_time)
    with np.errstate(all="ignore"):
        return HostUse(load / cores, host_load_before - load)


def _polled_wait(calls: Floats, wait: Floats) -> Array:
    """Return the cores that wait for the link; none if no call polls."""
    with np.errstate(all="ignore"):
        return np.where(np.equal(calls, 0), 0.0, np.multiply(calls, wait))[()]


class HostQueue(NamedTuple):
    """The output of :func:`host_queue`."""

    host_wait_time: Annotated[Array, HOST_WAIT_TIME]


@model
@monotonic(
    host_wait_time="+host_load +host_moment -cores +polling_calls +polling_load +link_wait_time"
)
def host_queue(
    host_load: HostLoad,
    host_moment: Annotated[Floats, HOST_MOMENT],
    cores: Cores,
    polling_calls: PollingCalls = 0.0,
    polling_load: Annotated[Floats, POLLING_LOAD] = 0.0,
    link_wait_time: LinkWaitTime = 0.0,
) -> HostQueue:
    """Return the mean wait of a call for a core: M/G/c, approximately.

    C(c, a) / a and 1 / (c − a) rise with the load a, and the wait rises with the moment. With the
    cores it falls, and it is inf if they are busy all the time. The squared wait of polling calls
    for the link is taken as twice the square of its mean.

    >>> float(host_queue(0.5, 100e-6, cores=1).host_wait_time)
    0.0001
    """
    waiting = _polled_wait(polling_calls, link_wait_time)
    further = 2 * (_polled_wait(polling_load, link_wait_time) + waiting * link_wait_time)
    moment = host_moment + np.where(np.equal(waiting, 0), 0.0, further)
    return HostQueue(pooled_wait(host_load + waiting, moment, cores))


class Mix(NamedTuple):
    """The outputs of :func:`mix`."""

    mix_time: Annotated[
        Array,
        Quantity("s", "mean response time of a call, over all kernels", low=0, better="lower"),
    ]
    mix_speedup: Annotated[
        Array,
        declare_speedup(
            "time of the calls on idle cores over their response time",
            time="mix_time",
            symbol="",
            reference=("host_load_before",),
        ),
    ]


@model
@monotonic(
    mix_time="+call_time_load +link_calls +link_wait_time +host_wait_time =host_load_before"
    " -kernel_rate",
    mix_speedup="-call_time_load -link_calls -link_wait_time -host_wait_time +host_load_before"
    " -kernel_rate",
)
def mix(
    kernel_rate: Annotated[
        Floats, Quantity("call/s", "calls of all kernels", "λ", above=0, typical=(1, 1e5))
    ],
    call_time_load: Annotated[Floats, CALL_TIME_LOAD],
    link_calls: Annotated[Floats, LINK_CALLS],
    host_load_before: Annotated[Floats, HOST_LOAD_BEFORE],
    link_wait_time: LinkWaitTime = 0.0,
    host_wait_time: Annotated[Floats, HOST_WAIT_TIME] = 0.0,
) -> Mix:
    """Return the mean response time of a call, and the speedup of the mix.

    Every call waits for a core, and the calls of built kernels for the link. The speedup counts
    waits with accelerators and none without, so it is the lower of the two comparisons. If nothing
    waits, it is Amdahl's law for several kernels.

    >>> times = mix(1000.0, call_time_load=0.1, link_calls=500.0, host_load_before=0.4,
    ...             link_wait_time=40e-6, host_wait_time=10e-6)
    >>> float(times.mix_time), float(times.mix_speedup)
    (0.00013, 3.0769)
    """
    rate, load, crossing, before = to_arrays(
        kernel_rate, call_time_load, link_calls, host_load_before
    )
    with np.errstate(all="ignore"):
        under_way = load + _polled_wait(crossing, link_wait_time) + rate * host_wait_time
        return Mix(under_way / rate, before / under_way)


class Growth(NamedTuple):
    """The output of :func:`rate_growth`."""

    rate_growth: Annotated[
        Array, Quantity("1", "factor for all rates until cores or link reach their limit", low=0)
    ]


@model
@monotonic(rate_growth="-host_utilization -link_utilization +host_limit +link_limit")
def rate_growth(
    host_utilization: HostUtilization,
    link_utilization: Annotated[
        Floats, Quantity("1", "offered load of the link over its capacity", low=0, typical=(0, 1))
    ],
    host_limit: Annotated[
        Floats, Quantity("1", "maximum utilization of the cores", above=0, high=1)
    ] = 1.0,
    link_limit: Annotated[
        Floats, Quantity("1", "maximum utilization of the link", above=0, high=1)
    ] = 1.0,
) -> Growth:
    """Return how far the rates of all kernels can grow together: limit over utilization.

    Utilizations are proportional to the rates, but for waits of polling calls, which grow faster.
    Each kernel's engines have their own limits.

    >>> float(rate_growth(0.25, 0.1, host_limit=0.7, link_limit=0.5).rate_growth)
    2.8
    """
    with np.errstate(all="ignore"):
        host = np.divide(host_limit, host_utilization)
        return Growth(np.minimum(host, np.divide(link_limit, link_utilization)))


class SystemPower(NamedTuple):
    """The output of :func:`system_power`."""

    power: Annotated[Array, Quantity("W", "mean power of cores, engines and transfers", low=0)]


@model
@monotonic(power="+accelerator_power +host_utilization +cores +host_active_power +host_idle_power")
def system_power(
    accelerator_power: Annotated[Floats, ACCELERATOR_POWER],
    host_utilization: HostUtilization,
    cores: Cores,
    host_active_power: HostActivePower,
    host_idle_power: Annotated[Floats, declare_cost("W", "core's power while it waits", (0, 5))],
) -> SystemPower:
    """Return the mean power: idle cores, more for busy ones, engines and transfers.

    A busy core takes its active power, or its idle power if that is larger. The power therefore
    rises with every input.

    >>> float(system_power(0.5, 0.25, 4, host_active_power=1.0, host_idle_power=0.2).power)
    2.1
    """
    more = np.maximum(np.subtract(host_active_power, host_idle_power), 0.0)
    per_core = host_idle_power + np.minimum(host_utilization, 1.0) * more
    return SystemPower(accelerator_power + cores * per_core)
