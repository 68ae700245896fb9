"""Diagnosis: why designs of a search have no value, or were skipped."""

from __future__ import annotations

import numpy as np

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.wiring import why_undefined
from dse.model.values import plural
from dse.search.outcome import Outcome
from dse.search.tally import Tally

_NAMED = 10  # designs, in full


def describe_skipped(outcome: Outcome) -> str:
    """Return what the certificate says if some designs were skipped."""
    tally, front = outcome.tally, int(outcome.on_front.sum())
    return (
        f"Not certified: models raised for {tally.raised:,} of the "
        f"{plural(tally.evaluated, 'design that was', 'designs that were')} looked at; "
        f"{'it is' if tally.raised == 1 else 'these are'} left out, and the notes name "
        f"{'it' if tally.raised == 1 else 'them'}. The "
        f"{plural(front, 'on the front is', 'on the front are')} non-dominated among the others."
    )


def explain_if_all_skipped(tally: Tally) -> str:
    """Return that every design was skipped, and why the first was; empty if one was not."""
    if not tally.raised or tally.raised < tally.evaluated:
        return ""
    number, why = next(iter(tally.why.items()))
    every = plural(tally.evaluated, "design")
    return f"models raised for all of the {every} looked at, first for design {number} {why}"


def note_skipped(tally: Tally) -> list[str]:
    """Return a note on each of the first designs that were skipped, and the numbers of others."""
    notes = [f"design {number} {why}" for number, why in [*tally.why.items()][:_NAMED]]
    rest = [*tally.why][_NAMED:]
    if rest:
        more = tally.raised - _NAMED
        dots = ", …" if more > len(rest) else ""
        notes.append(f"{more:,} more, designs {', '.join(map(str, rest))}{dots}")
    return [f"skipped, as a model raised: {note}" for note in notes]


def explain_undefined(
    evaluator: Evaluator, outcome: Outcome, quantity: str, conditions: Conditions, number: int
) -> str:
    """Return why a quantity of a design is not a number; empty if that is not known.

    Parameters
    ----------
    number : int
        Of the design.
    """
    space = evaluator.space
    if outcome.numbered and space.size is not None:
        points = space.from_index(np.array([number], dtype=np.int64))
    else:
        rows = np.flatnonzero(outcome.numbers == number)[:1]
        if not len(rows):
            return ""
        points = {name: values[rows] for name, values in outcome.points.items()}
    return why_undefined(evaluator.wiring, space.columns(points), quantity, conditions)


def explain_undefined_objective(evaluator: Evaluator, outcome: Outcome) -> str:
    """Return why the first design has no value of an objective; empty if that is not known."""
    odd = outcome.tally.odd.tolist()
    for objective, (count, first, *_) in zip(evaluator.objectives, odd, strict=False):
        if count:
            why = explain_undefined(
                evaluator, outcome, objective.quantity, objective.conditions, first
            )
            return f"of design {first}, {why}" if why else ""
    return ""
