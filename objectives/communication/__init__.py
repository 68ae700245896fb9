"""Computation or communication: the functions of a program for which an accelerator is beneficial.

Source: M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator
Bottlenecks", 2010. Assumptions: docs/communication.md.

Modules:

* ``dataflow``: the work of functions, and the data between them; ``tree``: calling contexts;
* ``readers``: dataflows from profiles; ``contexts``: calling contexts from a call graph;
* ``movable``: functions that can move, and why others stay on the host;
* ``quantities``: the quantities of the models, and records of them;
* ``split``: the work of accelerators and host; ``designs``: this for many designs at once;
* ``acceleration``: the time, speedup and bounds of accelerators; ``area``: their area;
* ``model``: :func:`offload_functions`, the model for chosen functions;
* ``calls``: functions as calls of a shared engine, and the program around them;
* ``selection``: a constraint that leaves out equal selections;
* ``setting``: the machine for which functions are rated;
* ``verdict``: :func:`verdicts`, the benefit of each function;
* ``cut``: :func:`best_cut`, the best functions of a call tree; ``within``: in a given area;
* ``analysis``: the time of a program by part, and its limits;
* ``laws``: laws of growth from counts; ``law_text``: their text; ``scaling``: laws of a program;
* ``report``: sections of the report; ``pictures``: their pictures.
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
