"""Energy of a call: on the host, with an accelerator, and the granularity from which it is less.

Altaf and Wood name an energy model as future work of LogCA (ISCA 2017, section 7; letter, section
5). This one prices the times that LogCA gives, part by part: a power for each that is busy or
waits, an energy for each byte that moves. Derivation and an example: `energy.md`. A row of the
catalog ``powers`` is a :class:`Powers`. No other model knows of this one.

Assumptions, in addition to LogCA's: the host is active in set-up and waits for the rest of the
call. A waiting part takes its idle power. The engine takes its idle power during the whole call,
and none while the host works by itself. Powers do not depend on granularity or data. If streams
share an engine, each call takes all of its idle power, which is an upper bound. The times are the
times of LogCA only, of calls one at a time. After ``objectives.machine:offload_terms`` the overhead
is only the exposed part, and the time of computing contains the slots of other streams. Neither is
then the time during which the host or the engine takes power.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.logca import InterfaceCosts
from objectives.power_law import acceleration_gain, broadcast_alike, crossings, to_arrays
from objectives.quantities import (
    Acceleration,
    Granularity,
    Kernel,
    Lanes,
    declare_cost,
    declare_part,
)


def _time(about: str, symbol: str = "") -> Quantity:
    return Quantity("cycle", about, symbol, low=0.0, typical=(1e2, 1e6))


_part = functools.partial(declare_part, "J", "call_energy")


HOST_ENERGY = Quantity("J", "energy of the work on the host", "E0", low=0.0, typical=(1e-9, 1e-3))
CALL_ENERGY = Quantity("J", "energy of the call", "E1", low=0.0, typical=(1e-9, 1e-3))

Clock: TypeAlias = Annotated[
    Floats, Quantity("Hz", "clock of the host", "f", above=0.0, typical=(5e8, 4e9))
]
HostActivePower: TypeAlias = Annotated[
    Floats,
    Quantity("W", "host's power while it works", above=0.0, better="lower", typical=(0.05, 20.0)),
]
HostTime: TypeAlias = Annotated[Floats, _time("time on the host", "T0")]
AcceleratedTime: TypeAlias = Annotated[Floats, _time("time with the accelerator", "T1")]
GivenSpeedup: TypeAlias = Annotated[
    Floats, Quantity("1", "speedup of the call", "T0/T1", low=0.0, typical=(0.1, 50.0))
]


class CallTimes(NamedTuple):
    """The parts of the time of a call: outputs of :func:`objectives.logca.times`."""

    overhead_time: Annotated[Floats, _time("time in set-up")]
    latency_time: Annotated[Floats, _time("time on the interface")]
    compute_time: Annotated[Floats, _time("time computing")]


class Powers(NamedTuple):
    """The powers of a platform: an entry of the catalog ``powers``.

    An engine is priced by the time it works (`engine_power`), or by its data
    (`engine_energy_per_byte`) if it takes the same energy for a byte at any speed; the other is 0.
    """

    host_active_power: HostActivePower
    host_idle_power: Annotated[
        Floats, declare_cost("W", "host's power while it waits", (0.0, 10.0))
    ]
    engine_power: Annotated[
        Floats, declare_cost("W", "power that a lane adds while it works", (0.0, 10.0))
    ]
    engine_idle_power: Annotated[
        Floats, declare_cost("W", "power of a lane, working or not", (0.0, 1.0))
    ]
    engine_energy_per_byte: Annotated[
        Floats, declare_cost("J/B", "engine's energy for each byte", (1e-12, 1e-8))
    ]
    interface_energy_per_byte: Annotated[
        Floats,
        declare_cost(
            "J/B", "interface's energy for each byte of a call, in and out", (1e-12, 1e-8)
        ),
    ]


@dataclass(frozen=True, eq=False)
class HostEnergy:
    """The output of :func:`host_energy`."""

    host_energy: Annotated[Array, HOST_ENERGY]


@dataclass(frozen=True, eq=False)
class CallEnergy:
    """The outputs of :func:`call_energy`."""

    call_energy: Annotated[Array, CALL_ENERGY]
    setup_energy: Annotated[Array, _part("energy of the host in set-up")]
    waiting_energy: Annotated[Array, _part("energy of the host while it waits")]
    engine_energy: Annotated[Array, _part("energy of the engine's work")]
    engine_idle_energy: Annotated[Array, _part("energy that the engine draws, working or not")]
    interface_energy: Annotated[Array, _part("energy of moving the data")]


@dataclass(frozen=True, eq=False)
class Greenup:
    """The output of :func:`greenup`."""

    greenup: Annotated[
        Array, Quantity("1", "energy on the host over energy of the call", "E0/E1", low=0.0)
    ]


@dataclass(frozen=True, eq=False)
class Merits:
    """The outputs of :func:`merits`."""

    speedup_per_joule: Annotated[Array, Quantity("1/J", "speedup over energy of a call", low=0.0)]
    energy_delay_product: Annotated[
        Array, Quantity("J*s", "energy of a call times its time", "EDP", low=0.0)
    ]


@dataclass(frozen=True, eq=False)
class EnergyBreakEven:
    """The outputs of :func:`energy_break_even`."""

    energy_break_even: Annotated[
        Array, Quantity("B", "granularity from which offloading saves energy; inf: never", low=0.0)
    ]
    energy_break_even_end: Annotated[
        Array,
        Quantity("B", "granularity up to which offloading saves energy; inf: no end", low=0.0),
    ]


@dataclass(frozen=True, eq=False)
class Energy(HostEnergy, CallEnergy, Greenup, Merits, EnergyBreakEven):
    """The outputs of :func:`energy`."""


@model
@monotonic(host_energy="+host_time -clock +host_active_power")
@np.errstate(all="ignore")
def host_energy(
    host_time: HostTime,
    clock: Clock,
    host_active_power: HostActivePower,
) -> HostEnergy:
    """Return the energy of the work on the host: its power times its time.

    >>> float(host_energy(host_time=92_160, clock=1.16e9, host_active_power=10.5).host_energy)
    0.000834207
    """
    return HostEnergy(_product(host_active_power, _seconds(host_time, clock))[()])


@model
@monotonic(
    call_energy="+granularity +overhead_time +latency_time +compute_time -clock +lanes"
    " +host_active_power +host_idle_power +engine_power +engine_idle_power"
    " +engine_energy_per_byte +interface_energy_per_byte",
    setup_energy="=granularity +overhead_time =latency_time =compute_time -clock =lanes"
    " +host_active_power =host_idle_power =engine_power =engine_idle_power"
    " =engine_energy_per_byte =interface_energy_per_byte",
    waiting_energy="=granularity =overhead_time +latency_time +compute_time -clock =lanes"
    " =host_active_power +host_idle_power =engine_power =engine_idle_power"
    " =engine_energy_per_byte =interface_energy_per_byte",
    engine_energy="+granularity =overhead_time =latency_time +compute_time -clock +lanes"
    " =host_active_power =host_idle_power +engine_power =engine_idle_power"
    " +engine_energy_per_byte =interface_energy_per_byte",
    engine_idle_energy="=granularity +overhead_time +latency_time +compute_time -clock +lanes"
    " =host_active_power =host_idle_power =engine_power +engine_idle_power"
    " =engine_energy_per_byte =interface_energy_per_byte",
    interface_energy="+granularity =overhead_time =latency_time =compute_time =clock =lanes"
    " =host_active_power =host_idle_power =engine_power =engine_idle_power"
    " =engine_energy_per_byte +interface_energy_per_byte",
)
@np.errstate(all="ignore")
def call_energy(
    granularity: Granularity, times: CallTimes, clock: Clock, powers: Powers, lanes: Lanes = 1.0
) -> CallEnergy:
    """Return the energy of a call, and its parts.

    * set-up: the host's active power in the overhead;
    * waiting: its idle power in the rest of the call;
    * engine: the power that its lanes add while it computes, and its energy for each byte;
    * engine, idle: the idle power of its lanes, in the whole call;
    * interface: its energy for each byte.

    Each is a sum of products of non-negative inputs, with cycles over the clock. It rises with all
    its inputs but the clock.

    >>> found = call_energy(granularity=1024, overhead_time=1000, latency_time=500,
    ...                     compute_time=500, clock=1e9, host_active_power=2, host_idle_power=1,
    ...                     engine_power=4, engine_idle_power=0.5, engine_energy_per_byte=0,
    ...                     interface_energy_per_byte=1e-9)
    >>> float(found.setup_energy), float(found.engine_energy), float(found.call_energy)
    (2e-06, 2e-06, 7.024e-06)
    """
    setup, moving, computing = (_seconds(time, clock) for time in times)
    waiting, size = moving + computing, np.asarray(granularity, dtype=np.float64)
    working = _product(lanes, _product(powers.engine_power, computing))
    parts = (
        _product(powers.host_active_power, setup),
        _product(powers.host_idle_power, waiting),
        working + _product(powers.engine_energy_per_byte, size),
        _product(lanes, _product(powers.engine_idle_power, setup + waiting)),
        _product(powers.interface_energy_per_byte, size),
    )
    total = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    return CallEnergy(*broadcast_alike((total, *parts)))


@model
@monotonic(greenup="+host_energy -call_energy")
@np.errstate(all="ignore")
def greenup(
    host_energy: Annotated[Floats, HOST_ENERGY], call_energy: Annotated[Floats, CALL_ENERGY]
) -> Greenup:
    """Return how many times less energy the call takes than the work on the host.

    Above 1 the call saves energy; not a number if both are 0 or infinite. The term comes from
    S. Abdulsalam, Z. Zong, Q. Gu, M. Qiu, Using the Greenup, Powerup, and Speedup Metrics to
    Evaluate Software Energy Efficiency, IGSC 2015.

    >>> float(greenup(host_energy=8e-6, call_energy=2e-6).greenup)
    4.0
    """
    return Greenup(np.divide(host_energy, call_energy, dtype=np.float64))


@model
@monotonic(
    speedup_per_joule="+speedup -call_energy =accelerated_time =clock",
    energy_delay_product="+call_energy =speedup +accelerated_time -clock",
)
@np.errstate(all="ignore")
def merits(
    call_energy: Annotated[Floats, CALL_ENERGY],
    speedup: GivenSpeedup,
    accelerated_time: AcceleratedTime,
    clock: Clock,
) -> Merits:
    """Return speedup per joule of a call, and its energy times its time.

    >>> float(merits(call_energy=2e-6, speedup=4, accelerated_time=1000, clock=1e9)
    ...       .energy_delay_product)
    2e-12
    """
    return Merits(
        np.divide(speedup, call_energy, dtype=np.float64),
        _product(call_energy, _seconds(accelerated_time, clock))[()],
    )


@model
@monotonic(
    energy_break_even="+overhead +latency +latency_per_byte -computational_index -acceleration"
    " +clock -host_active_power +host_idle_power +engine_power +engine_idle_power"
    " +engine_energy_per_byte +interface_energy_per_byte +lanes"
)
@np.errstate(all="ignore")
def energy_break_even(
    interface: InterfaceCosts,
    kernel: Kernel,
    acceleration: Acceleration,
    clock: Clock,
    powers: Powers,
    lanes: Lanes = 1.0,
) -> EnergyBreakEven:
    """Return the granularities between which offloading saves energy: greenup ≥ 1.

    Divided by the host's active power, the energy of a call is the time of a call of LogCA with
    other parameters: an overhead and latencies in proportion to the power during them, and an
    acceleration in proportion to the power of the working host over the power of all parts while
    the engine computes. So the roots are exact, by :mod:`objectives.power_law`; bounds are as in
    :func:`objectives.logca.break_even`: (inf, inf) is never, (0, inf) is always.

    Those parameters of a call rise with o, L, l, the clock and every power, energy and lane of the
    parts that wait or work, and fall with the host's active power; the acceleration changes the
    other way. So `energy_break_even` is monotonic as LogCA's break-even is in them.

    >>> t2 = dict(overhead=29e3, latency=1500, computational_index=90, acceleration=19,
    ...           clock=1.16e9)
    >>> float(energy_break_even(**t2, host_active_power=10, host_idle_power=5, engine_power=0,
    ...                         engine_idle_power=0, engine_energy_per_byte=0,
    ...                         interface_energy_per_byte=0).energy_break_even)
    339.48949
    """
    o, fixed, per_byte = to_arrays(*interface)
    c, b = to_arrays(*kernel)
    host, waiting, adding, idle, per_engine_byte, per_link_byte = to_arrays(*powers)
    engine_idle = _product(lanes, idle)
    while_waiting = waiting + engine_idle
    while_computing = while_waiting + _product(lanes, adding)
    moved = (per_engine_byte + per_link_byte) * np.asarray(clock, dtype=np.float64)
    line = _product(per_byte, while_waiting / host) + moved / host
    energetic = (
        np.where(line < np.inf, _product(o, 1.0 + engine_idle / host), np.inf),  # else never
        _product(fixed, while_waiting / host),
        line,
    )
    factor = _product(host / while_computing, acceleration)
    return EnergyBreakEven(*crossings(acceleration_gain(c, factor, 1.0), energetic, b))


@composed_of(host_energy, call_energy, greenup, merits, energy_break_even)
def energy(
    granularity: Granularity,
    host_time: HostTime,
    accelerated_time: AcceleratedTime,
    times: CallTimes,
    speedup: GivenSpeedup,
    clock: Clock,
    interface: InterfaceCosts,
    kernel: Kernel,
    acceleration: Acceleration,
    powers: Powers,
    lanes: Lanes = 1.0,
) -> Energy:
    """Return everything about the energy of an offload.

    Powers of the engine are per lane. If the engine is not modelled by its lanes, they are of the
    whole engine. Only the break-even needs LogCA's interface, kernel and acceleration.
    """


def _seconds(cycles: Floats, clock: Floats) -> Array:
    return np.asarray(np.divide(cycles, clock, dtype=np.float64))


def _product(rate: Floats, amount: Floats) -> Array:
    """Return the product; nothing drawn for ever is nothing, and not NaN."""
    found = np.multiply(rate, amount, dtype=np.float64)
    nothing = np.equal(rate, 0.0) | np.equal(amount, 0.0)
    return np.asarray(np.where(nothing, 0.0, found))
