"""Computation or communication: which functions of a program are worth accelerating.

Source: M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator
Bottlenecks", 2010. From the dataflow between functions (:mod:`objectives.communication.dataflow`,
read by :mod:`objectives.communication.readers`): :func:`offload_functions` for chosen functions,
:func:`verdicts` for each function on its own, :func:`best_cut` for the level of the call tree.
Assumptions: docs/communication.md.
"""

from __future__ import annotations

from dse.model import composed_of
from objectives.communication.acceleration import acceleration, ceilings
from objectives.communication.area import accelerator_area
from objectives.communication.quantities import (
    ByteTime,
    CommunicationFactor,
    ComputationFactor,
    InstructionArea,
    InstructionTime,
    InterfaceArea,
    MediumFactor,
    Offloading,
    Programs,
    Selection,
    SharedStore,
    StoreArea,
    Workload,
)
from objectives.logca.quantities import Latency, LatencyPerByte, Overhead


@composed_of(acceleration, ceilings, accelerator_area)
def offload_functions(
    dataflow: Programs,
    selection: Selection,
    computation_factor: ComputationFactor,
    instruction_area: InstructionArea,
    communication_factor: CommunicationFactor = 1.0,
    shared_store: SharedStore = 0.0,
    medium_factor: MediumFactor = 1.0,
    workload: Workload = 0.0,
    instruction_time: InstructionTime = 1.0,
    byte_time: ByteTime = 1.0,
    overhead: Overhead = 0.0,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 1.0,
    store_area: StoreArea = 0.0,
    interface_area: InterfaceArea = 0.0,
) -> Offloading:
    """Return what accelerating some functions of a program, each with all it calls, gives.

    Parameters
    ----------
    dataflow : Dataflows
        The programs; in a study the path of a profile or of a folder.
    selection : array_like
        Which candidates are accelerated: bit k stands for ``dataflow.candidates[k]``, the functions
        by computation with everything called. A function below an accelerated one belongs to it.
        ``dataflow.selection(names)`` gives the number, ``dataflow.chosen(number)`` the names.
    computation_factor, communication_factor, medium_factor : array_like
        Speed of computing in an accelerator and of its store over the host's, and of the shared
        medium over what `latency_per_byte` says; above 0, may be infinite.
    shared_store : array_like
        1: data between accelerators stays in one store of all; 0: it goes over the medium.
    workload : array_like
        Which program, from 0.
    instruction_time, byte_time : array_like
        [cycle/instruction], [cycle/B] on the host.
    overhead, latency, latency_per_byte : array_like
        Of a call of an accelerator [cycle], [cycle], and of the medium [cycle/B], as in LogCA.
    instruction_area, store_area, interface_area : array_like
        [LUT/instruction], [LUT], [LUT].

    Returns
    -------
    Offloading
        The outputs of :func:`acceleration`, :func:`ceilings` and :func:`accelerator_area`; NaN
        where a selection or a workload names what is not there.
    """
    given = {
        "communication_factor": communication_factor,
        "shared_store": shared_store,
        "workload": workload,
    }
    costs = {
        "medium_factor": medium_factor,
        "instruction_time": instruction_time,
        "byte_time": byte_time,
        "overhead": overhead,
        "latency": latency,
        "latency_per_byte": latency_per_byte,
    }
    areas = {
        "instruction_area": instruction_area,
        "store_area": store_area,
        "interface_area": interface_area,
    }
    return Offloading(
        *acceleration(dataflow, selection, computation_factor, **given, **costs),
        *ceilings(dataflow, selection, computation_factor, **given, **costs),
        *accelerator_area(dataflow, selection, computation_factor, **given, **areas),
    )
