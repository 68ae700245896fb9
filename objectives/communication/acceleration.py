"""Time and ceilings if functions of a program are accelerated.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, sections II, III.C and III.D (computation, local and global communication, their ceilings) and
V (one function, several, private and shared stores). The paper prints no formulas; these are its
model in words. With instructions I, bytes B, factors f:

    T0 = instruction_time · I + byte_time · B
    T1 = instruction_time · (I_host + Σ max(I_acc / f_computation, I_waiting))
       + byte_time · (B_host + B_acc / f_communication)
       + latency_per_byte · B_medium / f_medium + calls · (overhead + latency)

I_waiting are the instructions of an accelerator that are loop-carried: its factor is at most
I_acc / I_waiting. With `keeps_data` an accelerator keeps data that it fetched and wrote until the
data is written again; else each of its calls fetches it. Bytes between two accelerators are in
B_acc with a shared store, in B_medium with private ones. Nothing overlaps. `overhead`, `latency`
and `latency_per_byte` are as in :mod:`objectives.logca`. The paper has no cost of a call; they
default to 0, 0 and 1.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.quantities import Accelerators, AreaCosts, Costs, Programs, Selection
from objectives.communication.split import (
    Work,
    computing_cost,
    count_stored_bytes,
    design_work,
    distinct_splits,
    multiply_costs,
    outermost_contexts,
    parallel_code,
    place_traffic,
)
from objectives.power_law import broadcast_alike
from objectives.quantities import AREA, AREA_INTERFACE, Workload, declare_part, declare_speedup


class Parts(NamedTuple):
    """The parts of T1 [cycle], in the order of the outputs."""

    host_computation: Floats
    host_communication: Floats
    computation: Floats
    local: Floats
    medium: Floats
    calls: Floats


_part = functools.partial(declare_part, "cycle", "accelerated_time")


@dataclass(frozen=True, eq=False)
class Acceleration:
    """The outputs of `acceleration`."""

    speedup: Annotated[
        Array, declare_speedup("speedup of the whole program", reference=("host_time",))
    ]
    host_time: Annotated[Array, Quantity("cycle", "time on the host only", "T0", low=0)]
    accelerated_time: Annotated[
        Array,
        Quantity(
            "cycle",
            "time with the accelerators",
            "T1",
            low=0,
            without="host_time",
            label="execution time with accelerators",
        ),
    ]
    host_computation_time: Annotated[Array, _part("computing on the host")]
    host_communication_time: Annotated[Array, _part("data in the host's store")]
    computation_time: Annotated[Array, _part("computing in accelerators")]
    local_time: Annotated[Array, _part("data in the accelerators' stores")]
    global_time: Annotated[Array, _part("data on the shared medium")]
    calls_time: Annotated[Array, _part("overhead and latency of the calls")]
    medium_bytes: Annotated[
        Array,
        Quantity("B", "bytes over the shared medium", low=0, label="interconnect bytes", worth=0.0),
    ]
    store_bytes: Annotated[Array, Quantity("B", "bytes in the accelerators' stores", low=0)]
    accelerators: Annotated[Array, Quantity("1", "accelerators", low=0, integer=True)]


@dataclass(frozen=True, eq=False)
class Ceilings:
    """The outputs of `ceilings`."""

    memory_wall: Annotated[
        Array, Quantity("1", "speedup at an infinite computation factor: memory wall", low=0)
    ]
    local_limit: Annotated[
        Array, Quantity("1", "speedup if accelerators' stores take no time", low=0)
    ]
    accelerator_limit: Annotated[
        Array,
        Quantity("1", "speedup at infinite factors: environment and interfaces remain", low=0),
    ]
    medium_limit: Annotated[Array, Quantity("1", "speedup if the medium takes no time", low=0)]
    amdahl_limit: Annotated[
        Array, Quantity("1", "speedup if only the rest of the program takes time: Amdahl", low=0)
    ]


_COSTS = (
    "=computation_factor =communication_factor =medium_factor =overhead =latency"
    " =latency_per_byte =instruction_time =byte_time"
)


@model
@monotonic(
    speedup="+computation_factor +communication_factor +medium_factor -overhead -latency"
    " -latency_per_byte",
    accelerated_time="-computation_factor -communication_factor -medium_factor +overhead +latency"
    " +latency_per_byte +instruction_time +byte_time",
    host_time="+instruction_time +byte_time =selection =computation_factor =communication_factor"
    " =medium_factor =shared_store =overhead =latency =latency_per_byte",
    medium_bytes="-shared_store " + _COSTS,
    store_bytes="+shared_store " + _COSTS,
    accelerators="=shared_store =keeps_data " + _COSTS,
)
@np.errstate(all="ignore")
def acceleration(
    dataflow: Programs,
    selection: Selection,
    accelerators: Accelerators,
    costs: Costs,
    workload: Workload = 0.0,
) -> Acceleration:
    """Return speedup, time and its parts, and bytes moved; see :func:`offload_functions`.

    T0 and T1 are sums of products of costs and of inverse factors, none of them negative. T0 has
    only the host's costs; in all other inputs speedup falls as T1 rises. In the host's costs, the
    selection and the kind of store it may rise or fall. The bytes follow from the selection and the
    stores; a shared store takes bytes from the medium.
    """
    work = design_work(dataflow, workload, selection)
    parts, host = time_parts(work, accelerators, costs), _host(dataflow, workload, selection, costs)
    total = _sum(parts)
    in_store, on_medium = place_traffic(work, accelerators)
    times = (_ratio(host, total), host, total, *parts)
    known = dataflow.counted("transfers", workload)
    moved = (on_medium * known, in_store * known, work.accelerators)
    return Acceleration(*broadcast_alike(times), *broadcast_alike(moved))


@model
@monotonic(
    memory_wall="=computation_factor +communication_factor +medium_factor -overhead -latency"
    " -latency_per_byte",
    local_limit="+computation_factor =communication_factor +medium_factor -overhead -latency"
    " -latency_per_byte",
    accelerator_limit="=computation_factor =communication_factor +medium_factor -overhead -latency"
    " -latency_per_byte",
    medium_limit="+computation_factor +communication_factor =medium_factor -overhead -latency"
    " =latency_per_byte",
    amdahl_limit="=computation_factor =communication_factor =medium_factor =overhead =latency"
    " =latency_per_byte =shared_store",
)
@np.errstate(all="ignore")
def ceilings(
    dataflow: Programs,
    selection: Selection,
    accelerators: Accelerators,
    costs: Costs,
    workload: Workload = 0.0,
) -> Ceilings:
    """Return the ceilings of the speedup as factors grow: T0 over T1 without the parts that vanish.

    `memory_wall` for an infinite computation factor (section III.C), `local_limit` and
    `medium_limit` for only that factor, `accelerator_limit` for computation and own store
    (section III.D), `amdahl_limit` if everything of the accelerators is free. Each is monotonic as
    speedup is, less the terms that vanish.
    """
    work = design_work(dataflow, workload, selection)
    parts = time_parts(work, accelerators, costs)
    host = _host(dataflow, workload, selection, costs)
    zero = np.zeros(_sum(parts).shape)
    waiting = computing_cost(work, np.inf) * costs.instruction_time
    rest = (
        parts._replace(computation=waiting),
        parts._replace(local=zero),
        parts._replace(computation=waiting, local=zero),
        parts._replace(medium=zero),
        parts._replace(computation=zero, local=zero, medium=zero, calls=zero),
    )
    return Ceilings(*broadcast_alike(_ratio(host, _sum(r)) for r in rest))


def time_parts(work: Work, accelerators: Accelerators, costs: Costs) -> Parts:
    """Return the parts of T1 of work that is split, elementwise."""
    a, c = accelerators, costs
    in_store, on_medium = place_traffic(work, a)
    return Parts(
        work.host_instructions * c.instruction_time,
        work.host_bytes * c.byte_time,
        computing_cost(work, a.computation_factor) * c.instruction_time,
        in_store * c.byte_time / a.communication_factor,
        multiply_costs(on_medium, np.asarray(c.latency_per_byte) / c.medium_factor),
        multiply_costs(work.calls, np.asarray(c.overhead) + c.latency),
    )


def _host(dataflow: Dataflows, workload: Floats, selection: Floats, costs: Costs) -> Array:
    """Return T0: the time with nothing accelerated, in the shape of the designs."""
    base = design_work(dataflow, workload, np.asarray(selection) * 0.0)
    computing, reading = base.host_instructions, base.host_bytes
    return np.asarray(costs.instruction_time * computing + costs.byte_time * reading)


def _sum(parts: Parts) -> Array:
    return np.asarray(sum(parts[1:], parts[0]))


def _ratio(host: Floats, total: Array) -> Array:
    """Return T0/T1; 1 if both are 0."""
    return np.where((host == 0.0) & (total == 0.0), 1.0, np.asarray(host) / total)


# --------------------------------------------------------------------------------------------- area

BITS = 8.0  # of a byte


@dataclass(frozen=True, eq=False)
class Areas:
    """The outputs of `accelerator_area`."""

    area: Annotated[Array, AREA]
    area_engine: Annotated[Array, declare_part("LUT", "area", "computation")]
    area_store: Annotated[Array, declare_part("LUT", "area", "stores")]
    area_interface: Annotated[Array, AREA_INTERFACE]
    working_set: Annotated[Array, Quantity("B", "data that the accelerators' stores hold", low=0)]


@model
@monotonic(
    area="+computation_factor +communication_factor +keeps_data +instruction_area"
    " +memory_area_per_bit +bank_area +interface_area"
)
@np.errstate(all="ignore")
def accelerator_area(
    dataflow: Programs,
    selection: Selection,
    accelerators: Accelerators,
    costs: AreaCosts,
    workload: Workload = 0.0,
) -> Areas:
    """Return the area of the accelerators, a proxy for comparing designs.

    Computation: code × the factor at which it computes × `instruction_area`, since parallel
    operators make the speed. Stores: `memory_area_per_bit` for the `working_set`, and for each
    store `bank_area` × communication factor, since banks make its speed. Interfaces: one an
    accelerator.

    The working set is the data that the largest call touches, or the whole run if data is kept. A
    shared store keeps the data between accelerators: the sum, limited by the program's data.

    The area is a sum of products of non-negative inputs: it rises with each factor and each cost. A
    shared store makes one of several, and larger.
    """
    areas = split_areas(design_work(dataflow, workload, selection), accelerators, costs)
    known = dataflow.counted("code", workload)
    return Areas(*broadcast_alike(np.asarray(column) * known for column in vars(areas).values()))


@np.errstate(all="ignore")
def split_areas(work: Work, accelerators: Accelerators, costs: AreaCosts) -> Areas:
    """Return the area of work that is split, elementwise."""
    shared = np.asarray(accelerators.shared_store) == 1.0
    stores = np.where(shared, np.minimum(work.accelerators, 1.0), work.accelerators)
    held = count_stored_bytes(work, accelerators)
    banks = multiply_costs(stores, accelerators.communication_factor * np.asarray(costs.bank_area))
    parts = (
        multiply_costs(
            parallel_code(work, accelerators.computation_factor), costs.instruction_area
        ),
        BITS * held * costs.memory_area_per_bit + banks,
        multiply_costs(work.accelerators, costs.interface_area),
    )
    return Areas(*broadcast_alike((parts[0] + parts[1] + parts[2], *parts, held)))


# ---------------------------------------------------------------------------------- all in one call


@dataclass(frozen=True, eq=False)
class Offloading(Acceleration, Ceilings, Areas):
    """The outputs of `offload_functions`."""


@composed_of(acceleration, ceilings, accelerator_area)
def offload_functions(
    dataflow: Programs,
    selection: Selection,
    accelerators: Accelerators,
    areas: AreaCosts,
    costs: Costs,
    workload: Workload = 0.0,
) -> Offloading:
    """Return what accelerating some functions of a program, each with all it calls, gives.

    The outputs are from :func:`acceleration`, :func:`ceilings` and :func:`accelerator_area`; NaN
    if a selection or a workload names what is not there. Bytes and areas are NaN if the source of a
    profile does not count them. Factors may be infinite.

    In a study `dataflow` is the path of a profile or of a folder, and `workload` one of its
    programs. Bit k of a selection is for ``dataflow.candidates[k]``, the functions by computation
    with everything called; a function below an accelerated one belongs to it.
    ``dataflow.selection(names)`` gives the number, ``dataflow.chosen(number)`` the names.

    With `keeps_data` the store of an accelerator holds all that it touches in the run.
    `medium_factor` divides `latency_per_byte`.
    """


# ------------------------------------------------------------------ selections without idle choices


class Idle(NamedTuple):
    """The output of :func:`idle_functions`."""

    idle_functions: Annotated[
        Array, Quantity("1", "chosen functions without an accelerator", low=0, integer=True)
    ]


@model
def idle_functions(dataflow: Programs, selection: Selection, workload: Workload = 0.0) -> Idle:
    """Count the chosen functions that are only below other chosen ones, or that do not run.

    An accelerator of a function adds no hardware if another accelerator contains the function
    already. A study that wants each design once requires that there are none (``at_most = 0``).
    The result is NaN if a selection or a workload names what is not there.
    """
    splits, place = distinct_splits(dataflow, workload, selection)
    held = np.array([s.accelerators for s in splits])
    with np.errstate(invalid="ignore"):  # what is no number is replaced afterwards
        bits = np.bitwise_count(np.asarray(selection, dtype=np.float64).astype(np.int64))
    return Idle((bits - held[place])[()])


def list_accelerated(program: Dataflow, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions that get an accelerator, in the order given."""
    own = set(program.names[: program.functions])
    nodes = outermost_contexts(program, [program.position(name) for name in names if name in own])
    held = {program.names[program.tree.function[node]] for node in nodes}
    return tuple(name for name in names if name in held)
