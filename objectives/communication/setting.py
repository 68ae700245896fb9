"""The machine for which functions are rated: factors, costs of calls, and the required speedup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np

from dse.model import Quantity, declared
from dse.problems import InputError, Problem
from objectives.communication.acceleration import Parts, placed, time_parts
from objectives.communication.designs import work_of
from objectives.communication.quantities import (
    Accelerators,
    CommunicationFactor,
    ComputationFactor,
    Costs,
)
from objectives.communication.split import Split

LeastSpeedup: TypeAlias = Annotated[float, Quantity("1", "required speedup", low=1, below=np.inf)]


@dataclass(frozen=True)
class Setting(Costs, Accelerators):
    """Numbers with the meanings and domains of :func:`objectives.communication.offload_functions`.

    Parameters
    ----------
    computation_factor, communication_factor, medium_factor : float
        Speed of an accelerator's computing, of its store and of the shared medium.
    shared_store : float
        1: accelerators share a store; 0: each has its own.
    keeps_data : float
        1: they keep what they fetched and wrote; 0: each call fetches it.
    instruction_time, byte_time : float
        [cycle/instruction], [cycle/B].
    overhead, latency, latency_per_byte : float
        [cycle], [cycle], [cycle/B].
    least_speedup : float
        An accelerator for a function is beneficial if the whole program becomes faster than this,
        ≥ 1. The default is one percent, because the model leaves out effects of that size.

    Raises
    ------
    InputError
        If numbers are outside their domains; all such at once.
    """

    computation_factor: ComputationFactor = 10.0
    communication_factor: CommunicationFactor = 10.0
    least_speedup: LeastSpeedup = 1.01

    def __post_init__(self) -> None:
        problems = []
        for name, quantity in declared(Setting).items():
            value = getattr(self, name)
            if isinstance(quantity, Quantity) and not quantity.contains_all(value):
                unit = "" if quantity.unit == "1" else f" {quantity.unit}"
                allowed = f"{quantity.about}: {quantity.domain()}{unit}"
                problems.append(Problem(name, f"{value!r} cannot be", allowed))
        if problems:
            raise InputError("setting", problems)

    def parts(self, work: Split) -> Parts:
        """Return the parts of T1 [cycle] of work that is split."""
        parts = time_parts(work_of([work]), self, self)
        return Parts(*(part[0] for part in parts))

    def waiting(self, work: Split) -> float:
        """Return the accelerators' computing that no parallel hardware shortens [cycle]."""
        return float(self.instruction_time * sum(unit.waiting for unit in work.units))

    def parallel(self, work: Split) -> float:
        """Return the accelerators' computing if nothing had to wait [cycle]."""
        return float(
            self.instruction_time * work.accelerator_instructions / self.computation_factor
        )

    def medium_bytes(self, work: Split) -> float:
        """Return the bytes over the shared medium of work that is split."""
        return float(placed(work_of([work]), self)[1][0])

    def time(self, work: Split) -> float:
        """Return T1 [cycle] of work that is split."""
        return float(sum(self.parts(work)))
