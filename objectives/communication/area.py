"""Area of the accelerators of functions: a proxy for comparing designs.

Own assumptions; M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems", 2010, states none. That
the instructions of the code measure the hardware is from T. Kenter et al., "Performance Estimation
for the Exploration of CPU-Accelerator Architectures", 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.communication.designs import Work, design_work, product
from objectives.communication.quantities import Accelerators, AreaCosts, Programs, Selection
from objectives.quantities import AREA, AREA_INTERFACE, Workload

_BITS = 8.0  # of a byte


@dataclass(frozen=True, eq=False)
class Areas:
    """What `accelerator_area` gives."""

    area: Annotated[Array, AREA]
    area_engine: Annotated[Array, Quantity("LUT", "computation", low=0, part_of="area")]
    area_store: Annotated[Array, Quantity("LUT", "stores", low=0, part_of="area")]
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
    return areas_of(design_work(dataflow, workload, selection), accelerators, costs)


@np.errstate(all="ignore")
def areas_of(work: Work, accelerators: Accelerators, costs: AreaCosts) -> Areas:
    """Return the area of work that is split, elementwise."""
    shared = np.asarray(accelerators.shared_store) == 1.0
    stores = np.where(shared, np.minimum(work.accelerators, 1.0), work.accelerators)
    held = stored(work, accelerators)
    banks = product(stores, accelerators.communication_factor * np.asarray(costs.bank_area))
    parts = np.broadcast_arrays(
        product(parallel_code(work, accelerators.computation_factor), costs.instruction_area),
        _BITS * held * costs.memory_area_per_bit + banks,
        product(work.accelerators, costs.interface_area),
        held,
    )
    area = parts[0] + parts[1] + parts[2]
    return Areas(area[()], *(part.copy()[()] for part in parts))


def stored(work: Work, accelerators: Accelerators) -> Array:
    """Return the bytes that the accelerators' stores hold."""
    shared = np.asarray(accelerators.shared_store) == 1.0
    keeps = np.asarray(accelerators.keeps_data) == 1.0
    alone = np.where(keeps, work.working_set, work.call_working_set)
    return np.where(shared, np.minimum(work.working_set, work.whole_working_set), alone)


def parallel_code(work: Work, factor: Floats) -> Array:
    """Return the code × the factor at which it computes, in instructions."""
    instructions, waiting = work.of_units("instructions"), work.of_units("waiting")
    bound = np.where(waiting > 0, instructions / waiting, np.inf)
    each = product(work.of_units("code"), np.minimum(np.asarray(factor)[..., None], bound))
    return np.asarray(each.sum(axis=-1) + 0.0 * work.calls)
