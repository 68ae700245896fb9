"""Area of the accelerators of functions: a proxy for comparing designs.

Own assumptions; M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems", 2010, states none. That
the instructions of the code measure the hardware is from T. Kenter et al., "Performance Estimation
for the Exploration of CPU-Accelerator Architectures", 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, model, moves
from objectives.communication.designs import design_sums, product
from objectives.communication.quantities import Accelerators, AreaCosts, Programs, Selection
from objectives.quantities import AREA, AREA_INTERFACE, Workload


@dataclass(frozen=True, eq=False)
class Areas:
    """What `accelerator_area` gives."""

    area: Annotated[Array, AREA]
    area_engine: Annotated[Array, Quantity("LUT", "computation", low=0, part_of="area")]
    area_store: Annotated[Array, Quantity("LUT", "stores", low=0, part_of="area")]
    area_interface: Annotated[Array, AREA_INTERFACE]


@model
@moves(
    area="+computation_factor +communication_factor -shared_store +instruction_area +store_area"
    " +interface_area"
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

    Computation: code of everything accelerated × computation factor × `instruction_area`, since
    parallel operators make the speed. Stores: one an accelerator, or one in all, × communication
    factor × `store_area`, since banks do. Interfaces: one an accelerator. A sum of products of what
    is not negative, it rises with each; a shared store makes one of several.
    """
    sums = design_sums(dataflow, workload, selection)
    shared = np.asarray(accelerators.shared_store) == 1.0
    stores = np.where(shared, np.minimum(sums.accelerators, 1.0), sums.accelerators)
    parts = np.broadcast_arrays(
        product(sums.code, accelerators.computation_factor * np.asarray(costs.instruction_area)),
        product(stores, accelerators.communication_factor * np.asarray(costs.store_area)),
        product(sums.accelerators, costs.interface_area),
    )
    return Areas((parts[0] + parts[1] + parts[2])[()], *(part.copy()[()] for part in parts))
