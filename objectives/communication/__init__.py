"""Computation or communication: which functions of a program are worth accelerating.

Source: M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator
Bottlenecks", 2010. From the dataflow between functions (:mod:`objectives.communication.dataflow`,
read by :mod:`objectives.communication.readers`): :func:`offload_functions` for chosen functions,
:func:`verdicts` for each function on its own, :func:`best_cut` for the level of the call tree.
Assumptions: docs/communication.md.
"""

from objectives.communication.acceleration import (
    Acceleration,
    Ceilings,
    acceleration,
    ceilings,
)
from objectives.communication.area import Areas, accelerator_area
from objectives.communication.calls import (
    FunctionCalls,
    ProgramRun,
    function_calls,
    program_run,
)
from objectives.communication.cut import Cut, best_cut
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.model import Offloading, offload_functions
from objectives.communication.quantities import AreaCosts
from objectives.communication.readers import from_profile, load_dataflow, load_dataflows
from objectives.communication.selection import idle_functions
from objectives.communication.setting import Setting
from objectives.communication.tree import CallTree
from objectives.communication.verdict import (
    Change,
    Verdict,
    kept_table,
    verdict,
    verdict_table,
    verdicts,
)

__all__ = [
    "Acceleration",
    "AreaCosts",
    "Areas",
    "CallTree",
    "Ceilings",
    "Change",
    "Cut",
    "Dataflow",
    "Dataflows",
    "FunctionCalls",
    "Offloading",
    "ProgramRun",
    "Setting",
    "Verdict",
    "acceleration",
    "accelerator_area",
    "best_cut",
    "ceilings",
    "from_profile",
    "function_calls",
    "idle_functions",
    "kept_table",
    "load_dataflow",
    "load_dataflows",
    "offload_functions",
    "program_run",
    "verdict",
    "verdict_table",
    "verdicts",
]
