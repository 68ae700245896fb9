"""Verdicts: the machine that rates functions, the benefit of one, and the best cut of the tree.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, sections I and II: is an accelerator bound by computing or by communicating, and is the
function a good candidate. A function is accelerated with the call graph below it. The break-even
follows M. S. B. Altaf, D. A. Wood, "LogCA", ISCA 2017, equation 5, with its parameters derived from
the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from dse.model import Array, Quantity, list_declarations
from dse.model.values import plural, show_number
from dse.problems import InputError
from objectives.communication.acceleration import time_parts
from objectives.communication.dataflow import CallTree, Dataflow
from objectives.communication.quantities import (
    Accelerators,
    CommunicationFactor,
    ComputationFactor,
    Costs,
)
from objectives.communication.split import (
    Work,
    count_calls_back,
    outermost_contexts,
    place_traffic,
    split_work,
    whole_work,
)
from objectives.power_law import acceleration_gain, crossings
from objectives.quantities import check_domains

# -------------------------------------------------------------------------------------- the machine

LeastSpeedup: TypeAlias = Annotated[float, Quantity("1", "required speedup", low=1, below=np.inf)]


@dataclass(frozen=True)
class Setting(Costs, Accelerators):
    """Numbers with the meanings and domains of :func:`objectives.communication.offload_functions`.

    An accelerator for a function is beneficial if the whole program becomes faster than
    `least_speedup`, ≥ 1. The default is one percent, because the model leaves out effects of that
    size.

    Numbers outside their domains are an InputError with all of them.
    """

    computation_factor: ComputationFactor = 10.0
    communication_factor: CommunicationFactor = 10.0
    least_speedup: LeastSpeedup = 1.01

    def __post_init__(self) -> None:
        if problems := check_domains(vars(self), list_declarations(Setting)):
            raise InputError("setting", problems)

    def time(self, work: Work) -> float:
        """Return T1 [cycle] of work that is split, with this setting."""
        return float(sum(time_parts(work, self, self)))


# ----------------------------------------------------------------------------------------- verdicts

Knob = Literal["computation", "store", "medium", "interface", "calls", "everything"]
_SENTENCES: dict[Knob, str] = {
    "computation": "compute more than {} times as fast",
    "store": "make its own store more than {} times as fast",
    "medium": "make the shared medium more than {} times as fast",
    "interface": "divide overhead and latency of a call by more than {}",
    "calls": "merge more than {} calls into one",
    "everything": "make all of these more than {} times as fast together",
}
_TAKES = {
    "computation": "computing in the accelerator takes",
    "store": "data in its own store takes",
    "medium": "data on the shared medium takes",
    "interface": "overhead and latency of its calls take",
}


class Change(NamedTuple):
    """A change of one input that makes accelerating a function beneficial.

    ``"computation"``, ``"store"`` and ``"medium"`` multiply the factor of that name; overhead and
    latency are divided by it for ``"interface"``; ``"calls"`` merges so many calls into one;
    ``"everything"`` does the first four at once. Accelerating is beneficial for factors above this
    one and not at it.
    """

    knob: Knob
    factor: float

    @property
    def sentence(self) -> str:
        """The change in words.

        >>> Change("medium", 2.5).sentence
        'make the shared medium more than 2.5 times as fast'
        """
        digits = 4 if self.factor >= 1.01 else 8
        return _SENTENCES[self.knob].format(f"{self.factor:.{digits}g}")


class Verdict(NamedTuple):
    """The results of accelerating one function, with everything it calls, and no other."""

    function: str
    share: float
    """The fraction of the program's time on the host that it and its callees take."""
    worth: bool
    speedup: float
    """Of the whole program."""
    own_speedup: float
    """Of only this function, which LogCA compares with 1."""
    ceiling: float
    """Speedup of the program if computing takes what must wait and the own store takes no time."""
    amdahl_limit: float
    """Speedup of the program if the function takes no time at all."""
    bound: Literal["computation", "communication"]
    """The larger part of the accelerator's time: computing, or all data and calls."""
    limited_by: Knob
    """The largest of the four parts of that time."""
    calls: float
    """From outside; `callbacks` cost as much and are not among them."""
    granularity: float
    """LogCA's g: bytes in and out of a call or callback [B]; what passes in registers is none."""
    computational_index: float
    """LogCA's C: time on the host for each of them [cycle/B]."""
    acceleration: float
    """LogCA's A: time on the host over time in the accelerator with data there."""
    break_even: float
    """LogCA's g1 at this C: bytes per call from which offloading is beneficial [B]; inf: never."""
    waiting: float
    """The part of the accelerator's computing that no parallel hardware shortens [cycle]."""
    factor_limit: float
    """Speedup of computing that the critical path allows: instructions over `waiting`. Measured by
    ``dse profile --critical-path``, an estimate; else by chains of values in registers, an upper
    bound; inf: no chain is seen."""
    own_limit: float
    """Speedup of the function if only `waiting` takes time; inf: no chain is seen."""
    reason: str
    """Why it is not beneficial; empty if it is."""
    changes: tuple[Change, ...]
    """Single changes that make it so, the smallest first; if none does, everything together."""
    stays: str = ""
    """Why it stays on the host all the same, unless a study includes it; empty if it may move."""
    callbacks: str = ""
    """Calls from inside of functions that live above and stay on the host; empty if none."""

    @property
    def change(self) -> Change | None:
        """The smallest change that makes accelerating it beneficial."""
        return self.changes[0] if self.changes else None


def verdict(dataflow: Dataflow, function: str, setting: Setting | None = None) -> Verdict:
    """Judge one function.

    An accelerator is beneficial if the program's speedup is above `setting.least_speedup`. With T
    the four parts of the accelerator's time (computing, own local memory, medium, calls), this is
    ``ΣT < budget``. The budget is T0 / least_speedup minus the time of the rest of the program.
    A part made k times as small suffices for ``k > part / (budget − other parts)``; of computing,
    the loop-carried part does not shrink. InputError if there is no such function.
    """
    setting = setting or Setting()
    contexts = outermost_contexts(dataflow, [dataflow.position(function)])
    work = split_work(dataflow, contexts)
    parts = [float(part) for part in time_parts(work, setting, setting)]
    total, rest = setting.time(whole_work(dataflow)), parts[0] + parts[1]
    knobs: tuple[Knob, ...] = ("computation", "store", "medium", "interface")
    spent = dict(zip(knobs, parts[2:], strict=True))
    computing = float(setting.instruction_time * work.accelerator_instructions)
    waiting = float(setting.instruction_time * work.units.waiting.sum())
    parallel, moved = (
        computing / float(setting.computation_factor),
        float(place_traffic(work, setting)[1]),
    )
    own, taken = max(total - rest, 0.0), sum(spent.values())
    read_later = float(setting.byte_time * work.returned)  # the host reads data that they wrote
    budget = total / setting.least_speedup - rest
    worth = rest + taken < total / setting.least_speedup
    limited_by = max(spent, key=lambda knob: spent[knob])
    return Verdict(
        function,
        _over(max(own - read_later, 0.0), total),
        worth,
        _over(total, rest + taken),
        _over(own, taken),
        _over(total, rest + waiting + spent["medium"] + spent["interface"]),
        _over(total, rest),
        "computation" if spent["computation"] >= taken - spent["computation"] else "communication",
        limited_by,
        float(work.calls - work.callbacks),
        *_logca(float(work.calls), moved, own, spent, setting),
        waiting,
        _over(computing, waiting),
        _over(own, waiting),
        reason="" if worth else _reason(spent, waiting, budget, _over(total, rest), setting),
        changes=() if worth else _changes(spent, parallel, waiting, budget),
        stays=dataflow.staying.get(function, ""),
        callbacks=_called_back(dataflow, contexts),
    )


def verdicts(
    dataflow: Dataflow, setting: Setting | None = None, functions: Iterable[str] | None = None
) -> tuple[Verdict, ...]:
    """Judge each candidate, or each of these functions, on its own."""
    names = dataflow.candidates if functions is None else tuple(functions)
    return tuple(verdict(dataflow, name, setting) for name in names)


def verdict_table(
    dataflow: Dataflow, setting: Setting | None = None, functions: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return the verdicts as a table, one row a function, in their order; the change in words."""
    rows = [
        each._asdict() | {"changes": each.change.sentence if each.change else ""}
        for each in verdicts(dataflow, setting, functions)
    ]
    table = pd.DataFrame(rows, columns=list(Verdict._fields))
    return table.rename(columns={"changes": "change"}).set_index("function")


def kept_table(
    dataflow: Dataflow, setting: Setting | None = None, least: float = 0.01
) -> pd.DataFrame:
    """Return the functions that stay on the host, each with its share of the time, and why.

    The busiest come first, of functions that take at least the fraction `least` with everything
    they call. Library functions are left out: their callers take them along.
    """
    names = [name for name in dataflow.staying if name not in dataflow.kinds.library]
    judged = verdicts(dataflow, setting, names)
    rows = [(v.function, v.share, v.stays) for v in judged if v.share >= least]
    return pd.DataFrame(rows, columns=["function", "share", "why"]).set_index("function")


def _changes(
    spent: dict[Knob, float], parallel: float, waiting: float, budget: float
) -> tuple[Change, ...]:
    """Return the changes that suffice; computing takes the larger of `parallel` and `waiting`."""
    taken = sum(spent.values())
    found = []
    for knob, part in spent.items():
        left = budget - (taken - part)
        if knob == "computation" and left <= waiting:
            continue
        if left > 0 and part > 0:
            found.append(Change(knob, (parallel if knob == "computation" else part) / left))
            if knob == "interface":
                found.append(Change("calls", part / left))
    if not found and budget > waiting:
        others = taken - spent["computation"]
        factor = max((parallel + others) / budget, others / (budget - waiting))
        found.append(Change("everything", factor))
    return tuple(sorted(found, key=lambda change: change.factor))


def _reason(
    spent: dict[Knob, float], waiting: float, budget: float, amdahl: float, setting: Setting
) -> str:
    limited_by, taken = max(spent, key=lambda knob: spent[knob]), sum(spent.values())
    if budget <= 0:
        return (
            f"it takes too little of the time: without it the program is {_percent(amdahl - 1)} "
            f"faster, and an accelerator must make it more than "
            f"{_percent(setting.least_speedup - 1)} faster"
        )
    if waiting >= budget:
        return (
            "only the computing that must run in order, however parallel its accelerator is, "
            f"takes {waiting / budget:.3g} times as long as all of it may"
        )
    return (
        f"its accelerator takes {taken / budget:.3g} times as long as it may; "
        f"{_TAKES[limited_by]} {_percent(spent[limited_by] / taken)} of it"
    )


def _called_back(dataflow: Dataflow, contexts: tuple[int, ...]) -> str:
    found = count_calls_back(dataflow, contexts)
    names = [dataflow.names[f] for f in sorted(found, key=lambda f: -found[f])]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    text = f"{plural(int(sum(found.values())), 'callback')} to {', '.join(names[:2])}{more}"
    return f"{text} on the host" if found else ""


def _percent(share: float) -> str:
    return f"{show_number(round(100 * share, 9), 2)} %"


def _logca(
    calls: float, moved: float, own: float, spent: dict[Knob, float], setting: Setting
) -> tuple[float, float, float, float]:
    """Return g, C, A and g1; NaN for what a function without calls or data has not."""
    a = _over(own, spent["computation"] + spent["store"])
    if not (calls > 0 and moved > 0 and own > 0):
        return _over(moved, calls) if calls else math.nan, math.nan, a, math.nan
    c = own / moved
    per_byte = setting.latency_per_byte / setting.medium_factor
    pays, _ = crossings(
        acceleration_gain(c, a, 1.0), (setting.overhead, setting.latency, per_byte), 1.0
    )
    return moved / calls, c, a, float(pays) if a > 0 else math.nan


def _over(a: float, b: float) -> float:
    """Return a/b; inf for b = 0, 1 for nothing over nothing."""
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b


# ------------------------------------------------------------------- the best cut of the call tree


class Cut(NamedTuple):
    """The contexts that :func:`best_cut` accelerates."""

    contexts: tuple[int, ...]
    """Positions in `dataflow.tree`, none below another."""
    paths: tuple[str, ...]
    """The same as names from the root, joined by ``" > "``."""
    functions: tuple[str, ...]
    """The functions accelerated in these contexts."""
    saved: float
    """Time that the accelerators save, each counted on its own [cycle]."""
    speedup: float
    """Of the program with all of them, by the model."""


def best_cut(dataflow: Dataflow, setting: Setting | None = None) -> Cut:
    """Return the contexts whose acceleration saves most, none below another.

    The saving of a set is taken as the sum of the savings of its members by themselves. Bytes
    between two members then count as crossing twice. The model
    (:func:`objectives.communication.offload_functions`) counts them once or, in a shared store, as
    local; `speedup` comes from the model for the set.

    Functions that save less than `setting.least_speedup` requires are left out: first such
    functions of the best set, then of the best set without them, until none is left.
    """
    setting = setting or Setting()
    tree = dataflow.tree
    total = setting.time(whole_work(dataflow))
    required = total * (1.0 - 1.0 / setting.least_speedup)
    saved = np.zeros(len(tree.parent))
    candidates = [dataflow.position(name) for name in dataflow.candidates]
    for node in np.flatnonzero(np.isin(tree.function, candidates)).tolist():
        saved[node] = total - setting.time(split_work(dataflow, (node,)))
    while True:
        contexts = best_antichain(tree, saved)
        chosen = list(contexts)
        sums = np.bincount(tree.function[chosen], saved[chosen], len(dataflow.names))
        too_little = [f for f in tree.function[chosen].tolist() if sums[f] <= required]
        if not too_little:
            break
        saved[np.isin(tree.function, too_little)] = 0.0
    time = setting.time(split_work(dataflow, contexts))
    names = [[dataflow.names[tree.function[v]] for v in tree.way(node)] for node in contexts]
    return Cut(
        contexts,
        tuple(" > ".join(reversed(way)) for way in names),
        tuple(dict.fromkeys(way[0] for way in names)),
        float(saved[chosen].sum()),
        total / time if time else (1.0 if total == 0 else np.inf),
    )


def best_antichain(tree: CallTree, values: Array) -> tuple[int, ...]:
    """Return the nodes of the largest sum of values (nodes,), none below another.

    A node is taken if its value is above the best of the nodes below it. Ties therefore go down; no
    node without a gain is taken.
    """
    size = len(tree.parent)
    best, below = np.zeros(size), np.zeros(size)
    for node in range(size - 1, -1, -1):  # callees come after their callers
        best[node] = max(values[node], below[node])
        if tree.parent[node] >= 0:
            below[tree.parent[node]] += best[node]
    chosen: list[int] = []
    open_nodes = np.flatnonzero(tree.parent < 0).tolist()
    while open_nodes:
        node = open_nodes.pop()
        if values[node] > below[node]:
            chosen.append(node)
        else:
            open_nodes += tree.children[node]
    return tuple(sorted(chosen))
