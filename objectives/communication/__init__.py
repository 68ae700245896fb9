"""Computation or communication: the functions of a program for which an accelerator is beneficial.

Source: M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator
Bottlenecks", 2010. Assumptions: docs/explanation/communication.md.

Modules:

* ``dataflow``: the tree of calling contexts, functions that can move or stay, and the data between
  functions (:class:`Dataflow`), also of several programs (:class:`Dataflows`);
* ``readers``: dataflows from profiles, counts and call graphs, with estimates where these lack;
* ``quantities``: the quantities of the models, and records of them;
* ``split``: the work of accelerators and host if contexts move: computing, bytes in stores and on
  the medium, code and callbacks, and count × cost;
* ``acceleration``: the models of time, speedup, ceilings and area: :func:`offload_functions`;
* ``engine_calls``: functions as calls of a shared engine, the program around them, its response;
* ``verdict``: :func:`verdicts`, the benefit of each function with one :class:`Setting`, the numbers
  of a machine, and :func:`best_cut`, the best contexts of a call tree;
* ``analysis``: the paper's other tables: the time of a program by part, busy functions, limits;
* ``laws``: laws of growth: the counts of a dataflow, the fit of a law, its text and its table;
* ``report``: sections of the report and their pictures, with the program, functions and machine of
  a design.
"""

from objectives.communication.acceleration import (
    acceleration,
    accelerator_area,
    ceilings,
    idle_functions,
    offload_functions,
)
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.engine_calls import function_calls, program_run, run_response
from objectives.communication.readers import from_profile, load_dataflow, load_dataflows
from objectives.communication.verdict import (
    Setting,
    best_cut,
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
