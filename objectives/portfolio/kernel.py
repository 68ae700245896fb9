"""A kernel on the host or on an engine, and the loads that it adds to a system.

portfolio.md defines the system. Each output of :func:`kernel_loads`, :func:`kernel_area`,
:func:`kernel_power` and :func:`kernel_traffic` is additive: the system has the sum over its
kernels, under the same name. :mod:`objectives.portfolio.shared` takes the sums.

Waits for an engine are waits of M/D/q or M/G/1 queues under Poisson calls, less the wait that the
calls already had on the link: constant service times in a row let calls wait at the slowest only
(H. D. Friedman, Reduction methods for tandem queuing systems, Operations Research 13(1), 1965).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.logca import HostWork
from objectives.machine.quantities import LINK_TIME, SET_UP_TIME
from objectives.portfolio.quantities import (
    ACCELERATOR_POWER,
    BLOCK_RAMS_USED,
    CALL_TIME_LOAD,
    HOST_LOAD,
    HOST_LOAD_BEFORE,
    HOST_MOMENT,
    LINK_CALLS,
    LINK_LOAD,
    LINK_MOMENT,
    MEMORY_TRAFFIC,
    POLLING_CALLS,
    POLLING_LOAD,
    ULTRA_RAMS_USED,
    Built,
    EngineCopies,
    EnginePowers,
    HostTime,
    KernelRate,
    LinkTime,
    ServiceTime,
)
from objectives.power_law import broadcast_alike, power, to_arrays
from objectives.quantities import (
    AREA,
    ElementBytes,
    Granularity,
    LinkTimePerByte,
    SetUp,
    declare_cost,
)
from objectives.quantities import declare_flag as flag_of
from objectives.queues import mixed_service_wait, pooled_wait

GranularityOut = Annotated[
    Floats, Quantity("B", "data that a call returns", low=0, typical=(0, 1e5))
]


def call_size(granularity: Floats, granularity_out: Floats) -> Array:
    """Return the larger of the data in and out: links, copies and engines do both at a time."""
    return np.maximum(np.asarray(granularity, dtype=np.float64), granularity_out)


# ------------------------------------------------------------------------------- times of one call


class HostCall(NamedTuple):
    """The output of :func:`host_call`."""

    host_time: Annotated[Array, Quantity("cycle", "time of a call on the host", "T0", low=0)]


@model
@monotonic(host_time="+granularity +computational_index +host_fixed_work")
def host_call(granularity: Granularity, work: HostWork) -> HostCall:
    """Return LogCA's time of a call on the host, C · (g^β + h/C): a sum of rising terms.

    >>> float(host_call(1000.0, computational_index=20.0, host_fixed_work=10.0).host_time)
    20200.0
    """
    c, b, fixed = to_arrays(*work)
    return HostCall((c * (power(np.asarray(granularity, dtype=np.float64), b) + fixed))[()])


class CallCosts(NamedTuple):
    """The outputs of :func:`call_costs`."""

    set_up_time: Annotated[Array, SET_UP_TIME]
    link_time: Annotated[Array, LINK_TIME]


@model
@monotonic(
    set_up_time="+granularity +granularity_out +interface_overhead +interface_overhead_per_byte"
    " =interface_latency_per_byte",
    link_time="+granularity +granularity_out =interface_overhead =interface_overhead_per_byte"
    " +interface_latency_per_byte",
)
def call_costs(
    granularity: Granularity,
    set_up: SetUp,
    interface_latency_per_byte: LinkTimePerByte,
    granularity_out: GranularityOut = 0.0,
) -> CallCosts:
    """Return how long a call keeps a core and the link busy: o + h · size and l · size.

    >>> costs = call_costs(1000.0, 200.0, 0.25, interface_latency_per_byte=0.5)
    >>> float(costs.set_up_time), float(costs.link_time)
    (450.0, 500.0)
    """
    size = call_size(granularity, granularity_out)
    time = set_up.interface_overhead + set_up.interface_overhead_per_byte * size
    return CallCosts(time, interface_latency_per_byte * size)


class EngineService(NamedTuple):
    """The output of :func:`engine_service`."""

    service_time: Annotated[Array, Quantity("s", "time of a call at its engine", low=0)]


@model
@monotonic(
    service_time="+granularity +granularity_out -element_bytes +clocks_per_element -engine_clock"
    " +fill_clocks"
)
def engine_service(
    granularity: Granularity,
    element_bytes: ElementBytes,
    clocks_per_element: Annotated[
        Floats,
        Quantity(
            "1", "clocks of the engine for an element", above=0, better="lower", typical=(1, 100)
        ),
    ],
    engine_clock: Annotated[
        Floats,
        Quantity("Hz", "clock of the engine", above=0, better="higher", typical=(5e7, 5e8)),
    ],
    granularity_out: GranularityOut = 0.0,
    fill_clocks: Annotated[
        Floats, declare_cost("1", "further clocks of a call, whatever its elements", (0, 100))
    ] = 0.0,
) -> EngineService:
    """Return the service time: fill, and the clocks of all elements, over the engine's clock.

    >>> float(engine_service(1000.0, 16.0, 52.0, 100e6).service_time)
    3.276e-05
    """
    elements = np.ceil(call_size(granularity, granularity_out) / element_bytes)
    return EngineService((fill_clocks + elements * clocks_per_element) / engine_clock)


# ---------------------------------------------------------------------------------- engine's queue


class EngineQueue(NamedTuple):
    """The outputs of :func:`engine_queue` and :func:`shared_engine_queue`."""

    engine_utilization: Annotated[
        Array, Quantity("1", "offered load of the engine over its capacity", "ρ", low=0)
    ]
    engine_wait_time: Annotated[Array, Quantity("s", "mean wait of a call for its engine", low=0)]


_SERVED = Requirement("engine_utilization < 1", "the engine serves the calls that it gets")


@requires(_SERVED)
@model
@monotonic(
    engine_utilization="+kernel_rate +service_time =link_time -engines +built",
    engine_wait_time="+service_time -link_time -engines +built",
)
def engine_queue(
    kernel_rate: KernelRate,
    service_time: ServiceTime,
    link_time: LinkTime,
    engines: EngineCopies = 1.0,
    built: Built = 1.0,
) -> EngineQueue:
    """Return utilization and wait of the engines of one kernel: M/D/q, less the wait on the link.

    Calls of the kernel leave the link at least `link_time` apart. Alone on the link, they wait at
    both for as long as at the slower one, and the engine adds the difference.

    >>> queue = engine_queue(1000.0, 500e-6, link_time=0.0)
    >>> float(queue.engine_utilization), float(queue.engine_wait_time)
    (0.5, 0.0003)
    """
    demand = engine_demand(kernel_rate, service_time, link_time, built)
    return shared_engine_queue(*demand, engines)


def _sum(unit: str, about: str, most: float) -> Quantity:
    return Quantity(
        unit, f"{about}, summed over the kernels of an engine", low=0, typical=(0, most)
    )


ENGINE_LOAD = _sum("1", "calls times service time", 1.2)
ENGINE_MOMENT = _sum("s", "calls times squared service time", 1e-3)
ENGINE_LINK_LOAD = _sum("1", "calls times link time", 0.3)
ENGINE_LINK_MOMENT = _sum("s", "calls times squared link time", 1e-4)


class EngineDemand(NamedTuple):
    """The outputs of :func:`engine_demand`; they add up over the kernels of an engine."""

    engine_load: Annotated[Array, ENGINE_LOAD]
    engine_moment: Annotated[Array, ENGINE_MOMENT]
    engine_link_load: Annotated[Array, ENGINE_LINK_LOAD]
    engine_link_moment: Annotated[Array, ENGINE_LINK_MOMENT]


@model
@monotonic(
    engine_load="+kernel_rate +service_time =link_time +built",
    engine_moment="+kernel_rate +service_time =link_time +built",
    engine_link_load="+kernel_rate =service_time +link_time +built",
    engine_link_moment="+kernel_rate =service_time +link_time +built",
)
def engine_demand(
    kernel_rate: KernelRate, service_time: ServiceTime, link_time: LinkTime, built: Built = 1.0
) -> EngineDemand:
    """Return what the calls of one kernel add to the sums of `shared_engine_queue`.

    >>> demand = engine_demand(1000.0, 500e-6, link_time=100e-6)
    >>> float(demand.engine_load), float(demand.engine_link_load)
    (0.5, 0.1)
    """
    rate, time, link = to_arrays(np.multiply(kernel_rate, built), service_time, link_time)
    load, link_load = rate * time, rate * link
    return EngineDemand(*broadcast_alike((load, load * time, link_load, link_load * link)))


@requires(_SERVED)
@model
@monotonic(
    engine_utilization="+engine_load =engine_moment =engine_link_load =engine_link_moment -engines",
    engine_wait_time="+engine_load +engine_moment -engine_link_load -engine_link_moment -engines",
)
def shared_engine_queue(
    engine_load: Annotated[Floats, ENGINE_LOAD],
    engine_moment: Annotated[Floats, ENGINE_MOMENT],
    engine_link_load: Annotated[Floats, ENGINE_LINK_LOAD] = 0.0,
    engine_link_moment: Annotated[Floats, ENGINE_LINK_MOMENT] = 0.0,
    engines: EngineCopies = 1.0,
) -> EngineQueue:
    """Return utilization and wait of one engine that serves several kernels: M/G/1.

    The wait is M / 2(1 − ρ) with the load ρ and the moment M (Pollaczek and Khinchine), less the
    same of the link, as in :func:`engine_queue`. All calls of these kernels wait equally long, and
    the engine's area counts once.

    >>> rate, time = np.array([800.0, 100.0]), np.array([500e-6, 1e-3])
    >>> queue = shared_engine_queue((rate * time).sum(), (rate * time**2).sum())
    >>> float(queue.engine_utilization), float(queue.engine_wait_time)
    (0.5, 0.0003)
    """
    load, moment, link_load, link_moment = to_arrays(
        engine_load, engine_moment, engine_link_load, engine_link_moment
    )
    at_engine = pooled_wait(load, moment, engines)
    on_link = mixed_service_wait(link_load, link_moment)
    with np.errstate(all="ignore"):
        wait = np.where(at_engine > on_link, at_engine - on_link, 0.0)
    return EngineQueue((load / engines)[()], wait[()])


# --------------------------------------------------------------------------- what a system adds up


class KernelLoads(NamedTuple):
    """The outputs of :func:`kernel_loads`; each is additive."""

    host_load: Annotated[Array, HOST_LOAD]
    host_load_before: Annotated[Array, HOST_LOAD_BEFORE]
    host_moment: Annotated[Array, HOST_MOMENT]
    link_load: Annotated[Array, LINK_LOAD]
    link_moment: Annotated[Array, LINK_MOMENT]
    link_calls: Annotated[Array, LINK_CALLS]
    call_time_load: Annotated[Array, CALL_TIME_LOAD]
    polling_calls: Annotated[Array, POLLING_CALLS]
    polling_load: Annotated[Array, POLLING_LOAD]


_TIME = Quantity("s", "propagation latency to the engine and back", low=0, typical=(1e-7, 1e-4))
_WAIT = Quantity("s", "mean wait of a call for its engine", low=0, typical=(0, 1e-4))
_ON_ENGINE = "+kernel_rate +set_up_time +link_time +interface_latency +service_time"


@model
@monotonic(
    host_load="+kernel_rate +host_time +set_up_time +link_time +interface_latency +service_time"
    " +engine_wait_time +polling",
    host_load_before="+kernel_rate +host_time =set_up_time =link_time =interface_latency"
    " =service_time =engine_wait_time =built =polling",
    host_moment="+kernel_rate +host_time +set_up_time +link_time +interface_latency +service_time"
    " +engine_wait_time +polling",
    link_load="+kernel_rate =host_time =set_up_time +link_time =interface_latency =service_time"
    " =engine_wait_time +built =polling",
    link_moment="+kernel_rate =host_time =set_up_time +link_time =interface_latency =service_time"
    " =engine_wait_time +built =polling",
    link_calls="+kernel_rate =host_time =set_up_time =link_time =interface_latency =service_time"
    " =engine_wait_time +built =polling",
    call_time_load="+kernel_rate +host_time +set_up_time +link_time +interface_latency"
    " +service_time +engine_wait_time =polling",
    polling_calls="+kernel_rate =host_time =set_up_time =link_time =interface_latency"
    " =service_time =engine_wait_time +built +polling",
    polling_load=_ON_ENGINE + " =host_time +engine_wait_time +built +polling",
)
def kernel_loads(
    kernel_rate: KernelRate,
    host_time: HostTime,
    set_up_time: Annotated[
        Floats, Quantity("s", "set-up of a call on the host", low=0, typical=(1e-7, 1e-4))
    ],
    link_time: LinkTime,
    interface_latency: Annotated[Floats, _TIME],
    service_time: ServiceTime,
    engine_wait_time: Annotated[Floats, _WAIT],
    built: Built = 1.0,
    polling: Annotated[
        Floats, flag_of("1: a core waits for the end of the call; 0: it is free after set-up")
    ] = 0.0,
) -> KernelLoads:
    """Return the loads of a kernel's calls on the cores and the link, and the calls under way.

    Each is the rate times a time of a call, or times its square, and rises with the times in it.
    The squared time of a polling call is the square of its mean.

    >>> loads = kernel_loads(1000.0, 300e-6, 20e-6, link_time=10e-6, interface_latency=5e-6,
    ...                      service_time=30e-6, engine_wait_time=1e-6)
    >>> float(loads.host_load), float(loads.link_load), float(loads.call_time_load)
    (0.02, 0.01, 0.066)
    """
    rate, host, set_up, link, latency, service, wait, used, polls = to_arrays(
        kernel_rate,
        host_time,
        set_up_time,
        link_time,
        interface_latency,
        service_time,
        engine_wait_time,
        built,
        polling,
    )
    on_engine = used == 1
    polled = on_engine & (polls == 1)
    call = np.where(on_engine, set_up + link + latency + wait + service, host)
    busy = np.where(polled, call, np.where(on_engine, set_up, host))
    crossing, polling_rate = np.where(on_engine, rate, 0.0), np.where(polled, rate, 0.0)
    with np.errstate(all="ignore"):
        return KernelLoads(
            rate * busy,
            rate * host + np.zeros_like(busy),
            rate * busy**2,
            crossing * link,
            crossing * link**2,
            crossing,
            rate * call,
            polling_rate,
            np.where(polled, rate * busy, 0.0),
        )


class KernelArea(NamedTuple):
    """The outputs of :func:`kernel_area`; each is additive."""

    area: Annotated[Array, AREA]
    block_rams_used: Annotated[Array, BLOCK_RAMS_USED]
    ultra_rams_used: Annotated[Array, ULTRA_RAMS_USED]


@model
@monotonic(
    area="+lane_area +interface_area =block_rams =ultra_rams +engines +built",
    block_rams_used="=lane_area =interface_area +block_rams =ultra_rams +engines +built",
    ultra_rams_used="=lane_area =interface_area =block_rams +ultra_rams +engines +built",
)
def kernel_area(
    lane_area: Annotated[Floats, declare_cost("LUT", "area of one engine", (0, 5e4))],
    interface_area: Annotated[
        Floats, declare_cost("LUT", "area of the interface of one engine", (0, 5e3))
    ] = 0.0,
    block_rams: Annotated[Floats, declare_cost("1", "block RAMs of one engine", (0, 50))] = 0.0,
    ultra_rams: Annotated[Floats, declare_cost("1", "UltraRAMs of one engine", (0, 20))] = 0.0,
    engines: EngineCopies = 1.0,
    built: Built = 1.0,
) -> KernelArea:
    """Return area and memories of a kernel's engines, each with its own interface; 0 on the host.

    An interface that all kernels share is no part of it. An entry of the catalog ``engines`` is an
    engine.

    >>> float(kernel_area(3000.0, 500.0, engines=2.0).area)
    7000.0
    """
    copies = np.multiply(engines, built, dtype=np.float64)
    logic = copies * np.add(lane_area, interface_area)
    return KernelArea(logic, copies * block_rams, copies * ultra_rams)


class KernelTraffic(NamedTuple):
    """The output of :func:`kernel_traffic`; it is additive."""

    memory_traffic: Annotated[Array, MEMORY_TRAFFIC]


@model
@monotonic(memory_traffic="+kernel_rate +granularity +granularity_out +built")
def kernel_traffic(
    kernel_rate: KernelRate,
    granularity: Granularity,
    granularity_out: GranularityOut,
    built: Built = 1.0,
) -> KernelTraffic:
    """Return the data that engines read from memory and write to it; 0 on the host.

    >>> float(kernel_traffic(1000.0, 4096.0, 32.0).memory_traffic)
    4128000.0
    """
    moved = np.add(granularity, granularity_out, dtype=np.float64)
    return KernelTraffic(np.multiply(kernel_rate, built, dtype=np.float64) * moved)


class KernelPower(NamedTuple):
    """The output of :func:`kernel_power`; it is additive."""

    accelerator_power: Annotated[Array, ACCELERATOR_POWER]


@model
@monotonic(
    accelerator_power="+kernel_rate +granularity +granularity_out +service_time +engine_power"
    " +engine_idle_power +engine_energy_per_byte +interface_energy_per_byte +engines +built"
)
def kernel_power(
    kernel_rate: KernelRate,
    granularity: Granularity,
    service_time: ServiceTime,
    powers: EnginePowers,
    granularity_out: GranularityOut = 0.0,
    engines: EngineCopies = 1.0,
    built: Built = 1.0,
) -> KernelPower:
    """Return the power of a kernel's engines and transfers, in the terms of `objectives.energy`.

    Idle engines, work and data are priced apart, and each term rises with its inputs.

    >>> float(kernel_power(1000.0, 1e4, 1e-4, 0.5, 0.01, 0.0, 1e-9).accelerator_power)
    0.07
    """
    rate, time = to_arrays(kernel_rate, service_time)
    per_byte = np.add(powers.engine_energy_per_byte, powers.interface_energy_per_byte)
    energy = time * powers.engine_power + per_byte * call_size(granularity, granularity_out)
    return KernelPower(
        (built * (np.multiply(engines, powers.engine_idle_power) + rate * energy))[()]
    )
