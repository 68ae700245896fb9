"""Area of the accelerators of functions: a proxy for comparing designs.

Own assumptions; M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems", 2010, states none. That
the instructions of the code measure the hardware is from T. Kenter et al., "Performance Estimation
for the Exploration of CPU-Accelerator Architectures", 2010.
"""

from __future__ import annotations

import numpy as np

from dse.model import model
from objectives.communication.designs import design_sums, product
from objectives.communication.quantities import (
    Areas,
    CommunicationFactor,
    ComputationFactor,
    InstructionArea,
    InterfaceArea,
    Programs,
    Selection,
    SharedStore,
    StoreArea,
    Workload,
)


@model
@np.errstate(all="ignore")
def accelerator_area(
    dataflow: Programs,
    selection: Selection,
    computation_factor: ComputationFactor,
    instruction_area: InstructionArea,
    store_area: StoreArea = 0.0,
    interface_area: InterfaceArea = 0.0,
    communication_factor: CommunicationFactor = 1.0,
    shared_store: SharedStore = 0.0,
    workload: Workload = 0.0,
) -> Areas:
    """Return the area of the accelerators, a proxy for comparing designs.

    Computation: code of everything accelerated × computation factor × `instruction_area`, since
    parallel operators make the speed. Stores: one an accelerator, or one in all, × communication
    factor × `store_area`, since banks do. Interfaces: one an accelerator.
    """
    sums = design_sums(dataflow, workload, selection)
    shared = np.asarray(shared_store) == 1.0
    stores = np.where(shared, np.minimum(sums.accelerators, 1.0), sums.accelerators)
    parts = np.broadcast_arrays(
        product(sums.code, computation_factor * np.asarray(instruction_area)),
        product(stores, communication_factor * np.asarray(store_area)),
        product(sums.accelerators, interface_area),
    )
    return Areas((parts[0] + parts[1] + parts[2])[()], *(part.copy()[()] for part in parts))
