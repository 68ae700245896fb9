"""Computation or communication: the functions of a program for which an accelerator is beneficial.

Source: M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator
Bottlenecks", 2010. Assumptions: docs/explanation/communication.md.

Modules:

* ``dataflow``: calling contexts, functions that can move, and the data between functions;
* ``readers``: dataflows from profiles;
* ``quantities``: the quantities of the models, and records of them;
* ``split``: the work of accelerators and host;
* ``acceleration``: time, speedup, bounds and area of accelerators: :func:`offload_functions`;
* ``engine_calls``: functions as calls of a shared engine, and the program around them;
* ``verdict``: :func:`verdicts`, the benefit of each function;
* ``call_tree_cut``: :func:`best_cut`, the best functions of a call tree;
* ``analysis``: the time of a program by part, its limits, and its growth;
* ``laws``: laws of growth from counts, and their text;
* ``report``: sections of the report.
"""

from objectives.communication.acceleration import (
    acceleration,
    accelerator_area,
    ceilings,
    idle_functions,
    offload_functions,
)
from objectives.communication.call_tree_cut import best_cut
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.engine_calls import function_calls, program_run, run_response
from objectives.communication.readers import from_profile, load_dataflow, load_dataflows
from objectives.communication.verdict import (
    Setting,
    kept_table,
    verdict,
    verdict_table,
    verdicts,
)

__all__ = [
    "Dataflow",
    "Dataflows",
    "Setting",
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
    "run_response",
    "verdict",
    "verdict_table",
    "verdicts",
]
