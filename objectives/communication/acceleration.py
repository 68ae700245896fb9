"""Time, limits and area where functions of a program are accelerated.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, sections II, III.C and III.D (computation, local and global communication, their limits) and
V (one function, several, private and shared stores). The paper prints no formulas; these are its
model in words. With instructions I, bytes B, factors f:

    T0 = instruction_time · I + byte_time · B
    T1 = instruction_time · (I_host + I_acc / f_computation)
       + byte_time · (B_host + B_acc / f_communication)
       + latency_per_byte · B_medium / f_medium + calls · (overhead + latency)

Bytes between two accelerators are in B_acc with a shared store, in B_medium with private ones.
Nothing overlaps. `overhead`, `latency` and `latency_per_byte` are those of :mod:`objectives.logca`;
the paper has no cost of a call, so they default to 0, 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dse.model import Array, Floats, model
from objectives.communication.designs import Sums, design_sums, product
from objectives.communication.quantities import (
    Acceleration,
    ByteTime,
    Ceilings,
    CommunicationFactor,
    ComputationFactor,
    InstructionTime,
    MediumFactor,
    Programs,
    Selection,
    SharedStore,
    Workload,
)
from objectives.logca.quantities import Latency, LatencyPerByte, Overhead


class Parts(NamedTuple):
    """The parts of T1 [cycle], in the order of the outputs."""

    host_computation: Array
    host_communication: Array
    computation: Array
    local: Array
    medium: Array
    calls: Array


@model
@np.errstate(all="ignore")
def acceleration(
    dataflow: Programs,
    selection: Selection,
    computation_factor: ComputationFactor,
    communication_factor: CommunicationFactor = 1.0,
    shared_store: SharedStore = 0.0,
    medium_factor: MediumFactor = 1.0,
    workload: Workload = 0.0,
    instruction_time: InstructionTime = 1.0,
    byte_time: ByteTime = 1.0,
    overhead: Overhead = 0.0,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 1.0,
) -> Acceleration:
    """Return speedup, time and its parts, and bytes moved; see :func:`offload_functions`."""
    sums = design_sums(dataflow, workload, selection)
    base = design_sums(dataflow, workload, np.asarray(selection) * 0.0)
    parts = time_parts(
        sums,
        computation_factor,
        communication_factor,
        shared_store,
        medium_factor,
        instruction_time,
        byte_time,
        overhead,
        latency,
        latency_per_byte,
    )
    host = instruction_time * base.host_instructions + byte_time * base.host_bytes
    total = _sum(parts)
    in_store, on_medium = _placed(sums, shared_store)
    times = (_ratio(host, total), host, total, *parts)
    counts = (on_medium, in_store, sums.accelerators)
    return Acceleration(*_alike(times), *_alike(counts))


@model
@np.errstate(all="ignore")
def ceilings(
    dataflow: Programs,
    selection: Selection,
    computation_factor: ComputationFactor,
    communication_factor: CommunicationFactor = 1.0,
    shared_store: SharedStore = 0.0,
    medium_factor: MediumFactor = 1.0,
    workload: Workload = 0.0,
    instruction_time: InstructionTime = 1.0,
    byte_time: ByteTime = 1.0,
    overhead: Overhead = 0.0,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 1.0,
) -> Ceilings:
    """Return the limits of the speedup as factors grow: T0 over T1 without the parts that vanish.

    `memory_wall` for an infinite computation factor (section III.C), `local_limit` and
    `medium_limit` for that factor alone, `accelerator_limit` for computation and own store
    (section III.D), `amdahl_limit` where everything of the accelerators is free.
    """
    base = design_sums(dataflow, workload, np.asarray(selection) * 0.0)
    parts = time_parts(
        design_sums(dataflow, workload, selection),
        computation_factor,
        communication_factor,
        shared_store,
        medium_factor,
        instruction_time,
        byte_time,
        overhead,
        latency,
        latency_per_byte,
    )
    host = instruction_time * base.host_instructions + byte_time * base.host_bytes
    zero = np.zeros(())
    rest = (
        parts._replace(computation=zero),
        parts._replace(local=zero),
        parts._replace(computation=zero, local=zero),
        parts._replace(medium=zero),
        parts._replace(computation=zero, local=zero, medium=zero, calls=zero),
    )
    return Ceilings(*_alike([_ratio(host, _sum(r)) for r in rest], _sum(parts).shape))


def time_parts(
    sums: Sums,
    computation_factor: Floats,
    communication_factor: Floats,
    shared_store: Floats,
    medium_factor: Floats,
    instruction_time: Floats,
    byte_time: Floats,
    overhead: Floats,
    latency: Floats,
    latency_per_byte: Floats,
) -> Parts:
    """Return the parts of T1 of work that is split, elementwise."""
    in_store, on_medium = _placed(sums, shared_store)
    return Parts(
        sums.host_instructions * instruction_time,
        sums.host_bytes * byte_time,
        sums.accelerator_instructions * instruction_time / computation_factor,
        in_store * byte_time / communication_factor,
        product(on_medium, np.asarray(latency_per_byte) / medium_factor),
        product(sums.calls, np.asarray(overhead) + latency),
    )


def _placed(sums: Sums, shared_store: Floats) -> tuple[Array, Array]:
    """Return the bytes in the accelerators' stores and those on the medium."""
    shared = np.asarray(shared_store, dtype=np.float64)
    return (
        sums.accelerator_bytes + shared * sums.between_bytes,
        sums.crossing_bytes + (1.0 - shared) * sums.between_bytes,
    )


def _sum(parts: Parts) -> Array:
    total = parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5]
    return np.asarray(total)


def _ratio(host: Floats, total: Array) -> Array:
    """Return T0/T1; 1 where both are 0."""
    return np.where((host == 0.0) & (total == 0.0), 1.0, np.asarray(host) / total)


def _alike(values: Sequence[Array], shape: tuple[int, ...] = ()) -> list[Array]:
    """Return arrays of one shape."""
    shape = np.broadcast_shapes(shape, *(np.shape(v) for v in values))
    return [np.broadcast_to(v, shape).copy()[()] for v in values]
