"""One choice of functions in the three views that the questions of a profile take.

The models of ``communication``, ``offload`` and ``partition`` differ in three assumptions: who
waits, which memory has the data, and the cost of a call. :class:`Assumptions` has all of them, and
:func:`estimate_speedups` gives each model its part. If the assumptions are made equal,
the models give the same speedup. docs/explanation/questions.md has the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd

from dse.model import Array, Quantity, model
from dse.model.section import Section, Study, StudyResult, Table, needs
from dse.model.values import show_number
from objectives.communication import Setting
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.engine_calls import function_calls, program_run
from objectives.communication.report import (
    fastest_setting,
    find_program,
    list_accelerated_functions,
)
from objectives.communication.split import outermost_contexts, split_work, whole_work
from objectives.partition import Architecture
from objectives.partition.estimate import cpu_time, estimate
from objectives.partition.graph import Graph
from objectives.partition.quantities import Profiles, Workloads
from objectives.quantities import Workload

# ------------------------------------------------------------------------------------ assumptions


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of the three models about a host and its accelerator."""

    setting: Setting
    """Of ``communication``; ``offload`` has the same costs. Cycles of the host."""
    clock_period: float
    """Of the engine that threads share, in cycles of the host."""
    architecture: Architecture
    """Of ``partition``: two cores with caches."""


ASSUMED = Assumptions(
    # an instruction and a word of 4 B per cycle; a port for user code (spaces/interfaces.toml,
    # user-port: Altaf and Wood, LogCA, ISCA 2017, Table 5); a bus of 32 bit: a word in 4 cycles
    Setting(
        16.0,
        16.0,
        instruction_time=1.0,
        byte_time=0.25,
        overhead=435.0,
        latency=500.0,
        latency_per_byte=1.0,
    ),
    clock_period=5.0,  # 5 ns at 1 GHz
    # Table I of Kenter et al., 2010, with the factor of the setting
    architecture=Architecture(accelerator_instruction_time=1.0 / 16.0),
)
"""The assumptions of the drafts."""


# --------------------------------------------------------------------------------------- speedups


class Speedups(NamedTuple):
    """The speedup of the whole program with some functions in hardware, in each view."""

    communication: float
    """The host waits for each call."""
    offload: float
    """A thread that is the only one at its engine."""
    partition: float
    """All blocks of the functions that can move, on a core that shares a cache with the CPU."""


def estimate_speedups(
    program: Dataflow, graph: Graph, functions: Sequence[str], assumed: Assumptions
) -> Speedups:
    """Return the speedups of a program if these functions and their callees are in hardware.

    The functions are among its candidates; `graph` has the blocks of the same program.
    """
    nodes = outermost_contexts(program, [program.position(name) for name in functions])
    setting = assumed.setting
    return Speedups(
        setting.time(whole_work(program)) / setting.time(split_work(program, nodes)),
        _of_a_thread(program, functions, setting, assumed.clock_period),
        _of_blocks(graph, _functions_below(program, nodes), assumed.architecture),
    )


_SELDOM = 1e-9  # in place of no runs a second


def _of_a_thread(
    program: Dataflow, functions: Sequence[str], setting: Setting, clock_period: float
) -> float:
    programs = Dataflows((program,))
    calls = function_calls(
        programs,
        float(programs.selection(functions)),
        computation_factor=setting.computation_factor,
        communication_factor=setting.communication_factor,
        keeps_data=setting.keeps_data,
        run_rate=_SELDOM,
        clock_period=clock_period,
        instruction_area=0.0,
        instruction_time=setting.instruction_time,
        byte_time=setting.byte_time,
    )
    link = setting.latency_per_byte / setting.medium_factor * calls.granularity
    engine = calls.lane_elements * clock_period
    interval = setting.overhead + setting.latency + link + engine
    given = calls.calls_per_run, interval, calls.host_rest_time, calls.host_run_time
    return float(program_run(*given, run_rate=_SELDOM).speedup)


def _functions_below(program: Dataflow, nodes: Sequence[int]) -> set[str]:
    tree = program.tree
    below = {node for each in nodes for node in tree.below(each)}
    return {program.names[tree.function[node]] for node in below}


def _of_blocks(graph: Graph, functions: set[str], architecture: Architecture) -> float:
    moved = graph.movable & np.array([name in functions for name in graph.function])
    return cpu_time(graph, architecture) / estimate(graph, moved, architecture).accelerated_time


# ----------------------------------------------------------------------------------- in a study


class CachedRun(NamedTuple):
    """The output of :func:`cached_run`."""

    cached_run_time: Annotated[
        Array, Quantity("cycle", "time of a run on a host with caches, nothing moved", low=0)
    ]


@model
def cached_run(profiles: Profiles, workload: Workload = 0.0) -> CachedRun:
    """Return the time of a run on the CPU of ``partition``, with its caches.

    A study that has this output can show a choice of functions in all views (:func:`questions`).
    NaN for a workload that does not exist.
    """
    times = [cpu_time(each[0], ASSUMED.architecture) for each in profiles.graphs]
    place = np.asarray(workload, dtype=np.float64)
    known = (place >= 0) & (place < len(times)) & (place == np.floor(place))
    return CachedRun(np.where(known, np.take(times, np.where(known, place, 0).astype(int)), np.nan))


_VIEWS = (
    ("communication", "the host", "local memories, a bus", "overhead and latency"),
    ("offload", "a thread", "local memory, a link", "the same, in the engine's clocks"),
    ("partition", "the CPU", "caches that both share", "control and registers"),
)


@needs("dataflow", "profiles")
def questions(study: Study, result: StudyResult) -> Section:
    """Show the fastest design in the views of all three questions, and their assumptions."""
    best = result.best(next(o.name for o in result.objectives if o.quantity == "speedup"))
    program, functions = find_program(study, best), list_accelerated_functions(study, best)
    profiles = study.constants["profiles"]
    assert isinstance(profiles, Workloads)  # noqa: S101 - declared by the model
    graph = profiles.graphs[int(best.get("workload", study.constants.get("workload", 0)))][0]
    setting = fastest_setting(study, result)
    speed = setting.instruction_time / setting.computation_factor
    architecture = ASSUMED.architecture._replace(accelerator_instruction_time=speed)
    assumed = Assumptions(setting, ASSUMED.clock_period, architecture)
    speedups = estimate_speedups(program, graph, functions, assumed)
    rows = pd.DataFrame(
        [(*view, speedup) for view, speedup in zip(_VIEWS, speedups, strict=True)],
        columns=["question", "who waits", "data", "cost of a call", "speedup"],
    )
    first, thread, blocks = (show_number(value, 3) for value in speedups)
    words = (
        f"With {' + '.join(functions)} in hardware the program is {first} times as fast: "
        f"the host waits for each call, and data crosses a bus. "
        f"For a thread at a shared engine the number is {thread} (--question offload). "
        f"On a core that shares a cache with the CPU it is {blocks} (--question partition). "
        "The machines differ, not the program: believe the row whose machine you would build. "
        "docs/explanation/questions.md compares the assumptions."
    )
    note = "All three rows have the host and the factors of the fastest design."
    return Section("The other questions", words, [Table("One choice in three views", rows, note)])
