"""The machine for which functions are judged: factors, costs of calls, and what is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dse.model import Quantity, declared
from dse.problems import InputError, Problem
from objectives.communication.acceleration import Parts, acceleration, time_parts
from objectives.communication.designs import Sums
from objectives.communication.split import Split


@dataclass(frozen=True)
class Setting:
    """Numbers with the meanings and domains of :func:`objectives.communication.offload_functions`.

    Parameters
    ----------
    computation_factor, communication_factor, medium_factor : float
        Speed of an accelerator's computing, of its store and of the shared medium.
    shared_store : float
        1: accelerators share a store; 0: each has its own.
    instruction_time, byte_time : float
        [cycle/instruction], [cycle/B].
    overhead, latency, latency_per_byte : float
        [cycle], [cycle], [cycle/B].
    least_speedup : float
        A function is worth accelerating where the whole program becomes faster than this, ≥ 1.

    Raises
    ------
    InputError
        Where numbers are outside their domains; all such at once.
    """

    computation_factor: float = 10.0
    communication_factor: float = 10.0
    medium_factor: float = 1.0
    shared_store: float = 0.0
    instruction_time: float = 1.0
    byte_time: float = 1.0
    overhead: float = 0.0
    latency: float = 0.0
    latency_per_byte: float = 1.0
    least_speedup: float = 1.0

    def __post_init__(self) -> None:
        domains = declared(acceleration)
        problems = []
        for field in fields(self):
            quantity, value = domains.get(field.name), getattr(self, field.name)
            if not isinstance(quantity, Quantity):
                quantity = Quantity("1", "speedup that is asked for", low=1, below=np.inf)
            if not quantity.contains_all(value):
                unit = "" if quantity.unit == "1" else f" {quantity.unit}"
                allowed = f"{quantity.about}: {quantity.domain()}{unit}"
                problems.append(Problem(field.name, f"{value!r} cannot be", allowed))
        if problems:
            raise InputError("setting", problems)

    def parts(self, work: Split) -> Parts:
        """Return the parts of T1 [cycle] of work that is split."""
        return time_parts(
            Sums(*(np.asarray(x) for x in work)),
            self.computation_factor,
            self.communication_factor,
            self.shared_store,
            self.medium_factor,
            self.instruction_time,
            self.byte_time,
            self.overhead,
            self.latency,
            self.latency_per_byte,
        )

    def time(self, work: Split) -> float:
        """Return T1 [cycle] of work that is split."""
        return float(sum(self.parts(work)))
