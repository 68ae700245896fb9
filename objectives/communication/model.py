"""Everything that is said of accelerating some functions of a program, in one call."""

from __future__ import annotations

from dataclasses import dataclass

from dse.model import composed_of
from objectives.communication.acceleration import Acceleration, Ceilings, acceleration, ceilings
from objectives.communication.area import Areas, accelerator_area
from objectives.communication.quantities import (
    Accelerators,
    AreaCosts,
    Costs,
    Programs,
    Selection,
)
from objectives.quantities import Workload


@dataclass(frozen=True, eq=False)
class Offloading(Acceleration, Ceilings, Areas):
    """What `offload_functions` gives."""


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

    Parameters
    ----------
    dataflow : Dataflows
        The programs; in a study the path of a profile or of a folder.
    selection : array_like
        The accelerated candidates: bit k is for ``dataflow.candidates[k]``, the functions by
        computation with everything called. A function below an accelerated one belongs to it.
        ``dataflow.selection(names)`` gives the number, ``dataflow.chosen(number)`` the names.
    computation_factor, communication_factor, medium_factor : array_like
        Speed of computing in an accelerator and of its store over the host's, and of the shared
        medium over the speed of `latency_per_byte`; above 0, may be infinite.
    shared_store : array_like
        1: data between accelerators stays in one store of all; 0: it goes over the medium.
    keeps_data : array_like
        1: an accelerator keeps what it fetched and wrote until it is written again, and its store
        holds all that it touches in the run; 0: each call fetches its data.
    workload : array_like
        Which program, from 0.
    instruction_time, byte_time : array_like
        [cycle/instruction], [cycle/B] on the host.
    overhead, latency, latency_per_byte : array_like
        Of a call of an accelerator [cycle], [cycle], and of the medium [cycle/B], as in LogCA.
    instruction_area, memory_area_per_bit, bank_area, interface_area : array_like
        [LUT/instruction], [LUT/bit], [LUT], [LUT].

    Returns
    -------
    Offloading
        The outputs of :func:`acceleration`, :func:`ceilings` and :func:`accelerator_area`; NaN
        if a selection or a workload names what is not there.
    """
