"""Evidence of a search by bounds: the designs kept, the certificate, and its grounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.space import Points
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.values import join_words, plural, show_bound, show_tolerance
from dse.search.bound.boxes import design_numbers
from dse.search.bound.monotonicity import describe_signs
from dse.search.bound.ranges import Ranges
from dse.search.convergence import convergence_table
from dse.search.outcome import Gap, Ground, Outcome, describe_count
from dse.search.tally import Tally


def list_grounds(ranges: Ranges) -> tuple[Ground, ...]:
    """Return what all bounds so far rest on, each once."""
    model_graph = ranges.evaluator.model_graph
    models = {model.name: model for model in model_graph.models}
    found: dict[Ground, None] = {}
    for (key, name), table in ranges.tables().items():
        model = models[key[0]]
        if table is None:
            found |= dict.fromkeys(_declared(model, name))
        else:
            names = ", ".join(ranges.axes[i].name for i in table.variables)
            found[Ground(model.name, name, "table", names or "constants")] = None
    return tuple(found)


def _declared(model: Model, name: str) -> list[Ground]:
    found = []
    moves = model.monotonic.get(name, {})
    if moves:
        found.append(Ground(model.name, name, "monotonic", describe_signs(moves)))
    for floor in model.lower_bounds.get(name, ()):
        own = getattr(floor.function, "__name__", "a function").lstrip("_")
        found.append(Ground(model.name, name, "lower bound", own))
    domain = model.outputs[name].domain()
    return found or [Ground(model.name, name, "domain", domain)]


_NAMED = 3  # missing declarations that a statement names
KEPT = 2_000
"""Designs that are kept in addition to the front, to plot the designs behind it."""
Places = NDArray[np.int64]


class KeptDesigns(NamedTuple):
    """Designs of an outcome, in the order of their numbers; see `Outcome`."""

    numbers: NDArray[np.int64]
    points: Points
    judged: Evaluated
    on_front: NDArray[np.bool_]


def mark_first_rows(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each kept design (row) whether it is the first of equal ones."""
    return np.asarray(~pd.DataFrame(rows).duplicated().to_numpy())


def keep_designs(
    ranges: Ranges,
    front: tuple[Places, Evaluated],
    early: Sequence[tuple[Places, Evaluated]],
    numbered: bool,
) -> KeptDesigns:
    """Return the front, each design once, and some designs behind it, from the `early` ones.

    Designs have their numbers in the space, or else the numbers follow their order.
    """
    places = np.concatenate([front[0], *(each for each, _ in early)])
    own = design_numbers(ranges, places) if numbered else np.arange(len(places))
    rows = np.flatnonzero(mark_first_rows(own if numbered else places))[: len(front[0]) + KEPT]
    rows = rows[np.argsort(own[rows], kind="stable")]
    points = ranges.points(places[rows])
    del places  # a large front is in memory a few times as it is
    judged = concatenate_batches([front[1], *(each for _, each in early)]).rows(rows)
    own = own[rows] if numbered else np.arange(len(rows))
    return KeptDesigns(own, points, judged, rows < len(front[0]))


def make_outcome(
    evaluator: Evaluator,
    kept: KeptDesigns,
    front: Array,
    tally: Tally,
    gap: Gap,
    numbered: bool,
) -> Outcome:
    """Return the outcome of a search that bounds; `front` has the objectives of its front."""
    complete = gap.decided == 1.0
    return Outcome(
        *kept,
        tally,
        convergence_table([], evaluator.signs),
        complete,
        numbered,
        _bounded(evaluator, tally.evaluated, front, gap, complete),
        gap,
    )


def _bounded(
    evaluator: Evaluator, evaluated: int, front: NDArray[np.float64], gap: Gap, complete: bool
) -> str:
    """Return the part of a certificate that describes the bounds of a search."""
    size = evaluator.space.size
    units = {objective.name: objective.unit for objective in evaluator.objectives}
    space = "a continuous space" if size is None else plural(size, "design")
    are = "is" if len(front) == 1 else "are"
    were = plural(evaluated, "was", "were")
    if complete and not any(map(any, gap.tolerances.values())) and gap.tolerance == 0.0:
        proven = " and all others are proven to be infeasible or dominated"
        others = "" if evaluated == size else proven
        return (
            f"Complete: of {space}, {were} evaluated{others}; the {describe_count(front)} on the "
            f"front {are} the whole Pareto front."
        )
    if np.isinf(gap.reached):
        by = f"{plural(evaluated, 'evaluation')} and {plural(gap.boxes, 'bound')}"
        return (
            f"Not certified: {gap.decided:.3%} of {space} is decided, by {by}; "
            f"{describe_count(front)} {are} non-dominated among them.{_obstacles(gap)}"
        )
    within = show_tolerance(gap.reached)
    each = f"{within} in each objective"
    if gap.tolerances:
        within = join_words(
            f"{_show_proven(part, amount, units[name])} of {name}"
            for name, (part, amount) in gap.tolerances.items()
        )
        each = "that"
    return (
        f"Certified within {within}: for every feasible design of {space}, one on the "
        f"front is worse by at most {each}. {were} "
        f"evaluated, {describe_count(front)} {are} on the front.{_obstacles(gap)}"
    )


def _show_proven(part: float, amount: float, unit: str) -> str:
    return show_bound(amount, unit, up=True) if amount else show_tolerance(part)


def _obstacles(gap: Gap) -> str:
    """Return the objectives without a tolerance and the missing declarations, in sentences."""
    sentences = []
    if gap.unbounded:
        sentences.append(f"No tolerance holds yet for {join_words(gap.unbounded)}.")
    if gap.missing:
        more = len(gap.missing) - _NAMED
        others = f" and {more} more" if more > 0 else ""
        sentences.append(f"Bounds stay open: {'; '.join(gap.missing[:_NAMED])}{others}.")
    return "".join(f" {sentence}" for sentence in sentences)
