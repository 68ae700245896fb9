"""From a program and the function that is accelerated to the calls of a shared engine.

The terms are as in system.md. Each stream runs the program again and again. The function's
accelerator is an engine of one lane that streams may share, and each invocation of the function
(except for recursion) is a call. An element of a call is the work of the engine in one slot, a
clock of the engine. A call has as many elements as it takes clocks: arithmetic at the speed of the
function's factor, then reads of its own local memory. Calls are taken as alike: each is the mean of
the run.

Work and bytes are as in :mod:`objectives.communication.acceleration` (M. A. Kim, S. A. Edwards,
"Computation vs. Memory Systems", 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.communication.acceleration import BITS
from objectives.communication.quantities import (
    Accelerators,
    ByteTime,
    InstructionArea,
    InstructionTime,
    Programs,
    Selection,
    StoreCosts,
)
from objectives.communication.split import (
    computing_cost,
    count_stored_bytes,
    design_work,
    multiply_costs,
    parallel_code,
    place_traffic,
)
from objectives.power_law import broadcast_alike
from objectives.quantities import (
    CALL_RATE,
    ROUNDING,
    ClockCycles,
    Workload,
    declare_cost,
    declare_part,
    declare_speedup,
)

RUN_RATE = Quantity(
    "1/s", "runs of the program that one stream asks for a second", above=0, typical=(0.1, 100)
)
CALLS_PER_RUN = Quantity(
    "call", "calls of the accelerator in a run of the program", low=0, typical=(1, 1e4)
)
HOST_RUN_TIME = Quantity("cycle", "time of a run on the host only", low=0, typical=(1e6, 1e8))
HOST_REST_TIME = Quantity(
    "cycle", "time of a run that stays on the host", low=0, typical=(1e5, 1e7)
)


@dataclass(frozen=True, eq=False)
class FunctionCalls:
    """The outputs of `function_calls`."""

    calls_per_run: Annotated[Array, CALLS_PER_RUN]
    call_rate: Annotated[Array, CALL_RATE]
    granularity: Annotated[Array, Quantity("B", "data of a call, in and out", "g", low=0)]
    computational_index: Annotated[
        Array, Quantity("cycle/B", "host's work for each byte of a call", "C", low=0)
    ]
    host_call_time: Annotated[Array, Quantity("cycle", "a call's work on the host", "T0", low=0)]
    call_compute_time: Annotated[
        Array, Quantity("cycle", "a call's work on the engine that nobody shares", low=0)
    ]
    lane_elements: Annotated[
        Array, Quantity("element/call", "clocks that a call takes the engine", "m", low=1)
    ]
    element_bytes: Annotated[Array, Quantity("B/element", "data of a call for each clock", low=0)]
    host_run_time: Annotated[Array, HOST_RUN_TIME]
    host_rest_time: Annotated[Array, HOST_REST_TIME]
    working_set: Annotated[Array, Quantity("B", "data that a stream has in the store", low=0)]
    context_bits: Annotated[Array, Quantity("bit", "state of a stream", low=0)]
    engine_area: Annotated[Array, Quantity("LUT", "logic and the store of a stream", low=0)]


@model
@np.errstate(all="ignore")
def function_calls(
    dataflow: Programs,
    selection: Selection,
    accelerators: Accelerators,
    run_rate: Annotated[Floats, RUN_RATE],
    clock_period: ClockCycles,
    instruction_area: InstructionArea,
    memory: StoreCosts,
    instruction_time: InstructionTime = 1.0,
    byte_time: ByteTime = 1.0,
    workload: Workload = 0.0,
) -> FunctionCalls:
    """Return what calls of accelerated functions ask of an engine, and how large it is.

    Inputs are as for :func:`objectives.communication.offload_functions`, the `clock_period` in
    cycles of the host. Of several selected functions the engine does all; their calls are then not
    alike. Outputs are NaN if a selected function does not exist; if nothing is selected, calls of
    no work.

    `host_run_time` less `host_rest_time` is `calls_per_run` times `host_call_time`: the time in
    which the functions compute and read. The host still reads data that they wrote, and a call
    brings it there; this saves no time. Each further stream that shares the engine needs its own
    `context_bits`: the working set.
    """
    work = design_work(dataflow, workload, selection)
    none = design_work(dataflow, workload, np.asarray(selection) * 0.0)
    in_store, moved = place_traffic(work, accelerators)
    moved = moved * dataflow.counted("transfers", workload)
    calls = np.where(work.calls == 0, 1.0, work.calls)  # the means of no calls are 0
    whole = none.host_instructions * instruction_time + none.host_bytes * byte_time
    read = work.host_bytes + work.returned  # what calls leave in memory the host loads as before
    rest = work.host_instructions * instruction_time + read * byte_time
    arithmetic = computing_cost(work, accelerators.computation_factor) * instruction_time
    reads = in_store * byte_time / accelerators.communication_factor
    busy = (arithmetic + reads) / calls
    size = moved / calls
    clocks = np.maximum(np.ceil(busy / clock_period * (1 - ROUNDING)), 1.0)
    held = count_stored_bytes(work, accelerators)
    logic = multiply_costs(parallel_code(work, accelerators.computation_factor), instruction_area)
    banks = multiply_costs(
        np.minimum(work.accelerators, 1.0),
        accelerators.communication_factor * np.asarray(memory.bank_area),
    )
    each = (whole - rest) / calls
    outputs = (
        work.calls,
        run_rate * work.calls,
        size,
        np.where(each == 0, 0.0, each / size),
        each,
        busy,
        clocks,
        size / clocks,
        whole,
        rest,
        held,
        BITS * held,
        (logic + BITS * held * memory.memory_area_per_bit + banks)
        * dataflow.counted("code", workload),
    )
    return FunctionCalls(*broadcast_alike(outputs))


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """The outputs of `program_run`."""

    run_time: Annotated[Array, Quantity("cycle", "time of a run with the accelerator", "T1", low=0)]
    run_rest_time: Annotated[Array, declare_part("cycle", "run_time", "what stays on the host")]
    run_calls_time: Annotated[Array, declare_part("cycle", "run_time", "calls back to back")]
    speedup: Annotated[
        Array,
        declare_speedup("speedup of runs back to back", "run_time", reference=("host_run_time",)),
    ]
    run_utilization: Annotated[
        Array, Quantity("1", "runs that a stream starts per run that it can complete", low=0)
    ]


@model
@requires(
    Requirement(
        "run_utilization < 1", "a stream can complete all runs of the program that it starts"
    )
)
@monotonic(
    run_time="+calls_per_run +call_interval +host_rest_time =host_run_time =run_rate",
    speedup="-calls_per_run -call_interval -host_rest_time +host_run_time =run_rate",
    run_utilization="+calls_per_run +call_interval +host_rest_time =host_run_time +run_rate",
)
@np.errstate(all="ignore")
def program_run(
    calls_per_run: Annotated[Floats, CALLS_PER_RUN],
    call_interval: Annotated[
        Floats,
        Quantity(
            "cycle",
            "mean time from end to end of calls of a stream that always has a request waiting",
            above=0,
            better="lower",
            typical=(100, 1e5),
        ),
    ],
    host_rest_time: Annotated[Floats, HOST_REST_TIME],
    host_run_time: Annotated[Floats, HOST_RUN_TIME],
    run_rate: Annotated[
        Floats,
        Quantity("1/cycle", "runs that one stream asks for", above=0, typical=(1e-10, 1e-7)),
    ],
) -> ProgramRun:
    """Return how long a run of the program takes if its calls go to a shared engine.

    ``host_rest_time + calls_per_run · call_interval``: the rest and the calls do not overlap; calls
    overlap with each other as far as `call_interval` has several in flight, which requires that
    they do not depend on each other.

    >>> run = program_run(10.0, 500.0, host_rest_time=1000.0, host_run_time=12_000.0, run_rate=1e-4)
    >>> float(run.run_time), float(run.speedup), float(run.run_utilization)
    (6000.0, 2.0, 0.6)
    """
    calls = multiply_costs(calls_per_run, call_interval)
    rest = np.asarray(host_rest_time, dtype=np.float64)
    total, rest, calls = broadcast_alike((rest + calls, rest, calls))
    return ProgramRun(total, rest, calls, host_run_time / total, run_rate * total)


@dataclass(frozen=True, eq=False)
class RunResponse:
    """The outputs of `run_response`."""

    run_response_time: Annotated[
        Array,
        Quantity(
            "cycle",
            "mean time of a run under load if the thread waits for each call",
            low=0,
            better="lower",
            without="host_run_time",
            label="run response time",
        ),
    ]
    response_rest_time: Annotated[
        Array, declare_part("cycle", "run_response_time", "part on the host")
    ]
    response_calls_time: Annotated[
        Array, declare_part("cycle", "run_response_time", "response times of the calls")
    ]


@model
@monotonic(run_response_time="+calls_per_run +call_time +host_rest_time")
@np.errstate(all="ignore")
def run_response(
    calls_per_run: Annotated[Floats, CALLS_PER_RUN],
    call_time: Annotated[
        Floats,
        declare_cost(
            "cycle",
            "mean time from the arrival of a request to the end of its call, under load",
            (100, 1e5),
        ),
    ],
    host_rest_time: Annotated[Floats, HOST_REST_TIME],
) -> RunResponse:
    """Return the response time of a run under load if the thread waits for each of its calls.

    ``host_rest_time + calls_per_run · call_time``. Unlike the time of one call, it compares designs
    that accelerate different functions: a short call of a function that saves little leaves a long
    rest. It is an upper estimate: `call_time` has the wait for earlier calls of the same thread,
    and calls that are in flight together overlap (:func:`program_run` counts that).

    >>> run = run_response(10.0, 600.0, host_rest_time=1000.0)
    >>> float(run.run_response_time)
    7000.0
    """
    calls = multiply_costs(calls_per_run, call_time)
    rest = np.asarray(host_rest_time, dtype=np.float64)
    return RunResponse(*broadcast_alike((rest + calls, rest, calls)))
