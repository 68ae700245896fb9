"""Diagnosis: why no design is feasible, has no value or was skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dse.evaluate.criteria import Conditions, Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import explain_missing_value
from dse.model.values import plural, show
from dse.search.outcome import Outcome
from dse.search.tally import Tally

# ----------------------------------------------------------------------- no feasible design


def explain_infeasibility(
    tally: Tally,
    constraints: tuple[Constraint, ...],
    undefined: Sequence[str] = (),
    why: str = "",
    useless: Mapping[int, str] = MappingProxyType({}),
    proven: bool = True,
    whole: bool = True,
) -> tuple[str, str]:
    """Return in words what excludes every design, and which relaxation would admit one.

    Parameters
    ----------
    undefined : sequence of str
        The objectives that have no value for some designs.
    why : str
        Why one of these designs has none, in words; empty if that is not known.
    useless : mapping of int to str
        Designs for which no constraint should be loosened, with the reason.
    proven : bool
        Whether the search proved that no design of the space is feasible.
    whole : bool
        Whether it evaluated all designs.
    """
    result = "no design is feasible" if proven else "no feasible design was found"
    parts = []
    if tally.undefined:
        which = f" of {', '.join(undefined)}" if undefined else ""
        parts.append(
            f"{plural(tally.undefined, 'has', 'have')} no value{which}: "
            + (
                why
                or "an input is outside a model's domain (dse list shows domains), "
                "or the model gives NaN"
            )
        )
    for constraint, count in zip(constraints, tally.violated, strict=True):
        parts.append(f"'{constraint.name}' excludes {count:,}")
    return (
        f"{result}: of {plural(tally.evaluated, 'design')}, {', '.join(parts)}",
        "; ".join(_list_relaxations(tally, constraints, useless, whole)),
    )


def _list_relaxations(
    tally: Tally,
    constraints: tuple[Constraint, ...],
    useless: Mapping[int, str],
    whole: bool,
) -> list[str]:
    """Return in words which relaxations would admit a design that is of use."""
    single = [k for k in range(len(constraints)) if 0 < tally.least[k] < np.inf]
    relaxations = [
        f"{_relax(constraints[k], tally.least[k])} would admit design {tally.admitted[k]}"
        for k in single
        if int(tally.admitted[k]) not in useless
    ]
    near = int(tally.admitted[single[0]]) if single else tally.nearest
    if not relaxations and near in useless:
        first = f"design {near}, the first to be admitted, has {useless[near]}"
        return [f"no constraint need be loosened: {first}"]
    if relaxations or tally.nearest < 0:
        return relaxations
    together = " and ".join(
        _relax(constraint, violation)
        for constraint, violation in zip(constraints, tally.missed, strict=True)
        if violation > 0
    )
    blame, nearest = "no single constraint is to blame", "the nearest"
    if not whole:
        blame, nearest = "no single constraint is to blame for all of these", "the nearest of these"
    return [f"{blame}; {together} would admit design {tally.nearest}, {nearest}"]


def _relax(constraint: Constraint, violation: float) -> str:
    """Return how to write a constraint so that it admits a design with this violation."""
    if constraint.required_by:  # a model needs it: nobody may loosen it
        return f"meeting '{constraint.name}' (broken by {_round(violation, True)})"
    if constraint.relation is not None:
        if constraint.relation.strict and violation <= np.finfo(np.float64).tiny:
            return f"writing {constraint.relation.sides.sign}= in '{constraint.name}'"
        return f"relaxing '{constraint.name}' by {_round(violation, True)}"
    outwards = np.inf if constraint.upper else -np.inf
    bound = constraint.bound + (violation if constraint.upper else -violation)
    if abs(np.nextafter(bound, outwards) - constraint.bound) <= violation:  # the sum lost digits
        bound = constraint.bound + np.copysign(np.nextafter(violation, np.inf), outwards)
    shown = _round(bound, constraint.upper)
    key = "at_most" if constraint.upper else "at_least"
    return f"{key} = {shown} ({show(float(shown), constraint.unit)}) for {constraint.quantity}"


def _round(value: float, up: bool) -> str:
    """Write a number in as few digits, six or more, as do not round it the wrong way."""
    for digits in range(6, 18):
        shown = f"{value:.{digits}g}"
        if float(shown) == value or (float(shown) > value) == up:
            break
    return shown


# ------------------------------------------------------------------------------ skipped designs

_NAMED = 10  # designs, in full


def describe_skipped(outcome: Outcome) -> str:
    """Return the statement of the certificate if some designs were skipped."""
    tally, front = outcome.tally, int(outcome.on_front.sum())
    evaluated = plural(tally.evaluated, "design that was", "designs that were")
    left_out = (
        "it is left out, and the notes name it"
        if tally.raised == 1
        else "these are left out, and the notes name them"
    )
    return (
        f"Not certified: models raised for {tally.raised:,} of the {evaluated} looked at; "
        f"{left_out}. The {plural(front, 'on the front is', 'on the front are')} non-dominated "
        "among the others."
    )


def explain_if_all_skipped(tally: Tally) -> str:
    """Return that every design was skipped, and why the first was; empty if one was not."""
    if not tally.raised or tally.raised < tally.evaluated:
        return ""
    number, error = next(iter(tally.errors.items()))
    every = plural(tally.evaluated, "design")
    return f"models raised for all of the {every} looked at, first for design {number} {error}"


def note_skipped(tally: Tally) -> list[str]:
    """Return a note on each of the first designs that were skipped, and the numbers of others."""
    notes = [f"design {number} {error}" for number, error in [*tally.errors.items()][:_NAMED]]
    rest = [*tally.errors][_NAMED:]
    if rest:
        more = tally.raised - _NAMED
        dots = ", …" if more > len(rest) else ""
        notes.append(f"{more:,} more, designs {', '.join(map(str, rest))}{dots}")
    return [f"skipped, as a model raised: {note}" for note in notes]


# ---------------------------------------------------------------------- designs without a value


def explain_undefined(
    evaluator: Evaluator, outcome: Outcome, quantity: str, conditions: Conditions, number: int
) -> str:
    """Return why a quantity of the design with this number is NaN; empty if that is not known."""
    space = evaluator.space
    if outcome.numbered and space.size is not None:
        points = space.from_index(np.array([number], dtype=np.int64))
    else:
        rows = np.flatnonzero(outcome.numbers == number)[:1]
        if not len(rows):
            return ""
        points = {name: values[rows] for name, values in outcome.points.items()}
    return explain_missing_value(evaluator.model_graph, space.columns(points), quantity, conditions)


def explain_undefined_objective(evaluator: Evaluator, outcome: Outcome) -> str:
    """Return why the first design has no value of an objective; empty if that is not known."""
    odd = outcome.tally.odd.tolist()
    for objective, (count, first, *_) in zip(evaluator.objectives, odd, strict=False):
        if count:
            conditions = objective.conditions
            why = explain_undefined(evaluator, outcome, objective.quantity, conditions, first)
            return f"of design {first}, {why}" if why else ""
    return ""
