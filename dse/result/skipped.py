"""Designs that models raised for and that the search went on without, in words."""

from __future__ import annotations

from dse.model.values import plural
from dse.search.outcome import Outcome
from dse.search.tally import Tally

_TOLD = 10  # designs, in full


def statement(outcome: Outcome) -> str:
    """Return what the certificate says if some designs were skipped."""
    tally, front = outcome.tally, int(outcome.on_front.sum())
    return (
        f"Not certified: models raised for {tally.raised:,} of the "
        f"{plural(tally.evaluated, 'design that was', 'designs that were')} looked at; "
        f"{'it is' if tally.raised == 1 else 'these are'} left out, and the notes name "
        f"{'it' if tally.raised == 1 else 'them'}. The "
        f"{plural(front, 'on the front is', 'on the front are')} non-dominated among the others."
    )


def all_of_them(tally: Tally) -> str:
    """Return that every design was skipped, and why the first was; empty if one was not."""
    if not tally.raised or tally.raised < tally.evaluated:
        return ""
    number, why = next(iter(tally.why.items()))
    every = plural(tally.evaluated, "design")
    return f"models raised for all of the {every} looked at, first for design {number} {why}"


def notes(tally: Tally) -> list[str]:
    """Return a note on each of the first designs that were skipped, and the numbers of others."""
    told = [f"design {number} {why}" for number, why in [*tally.why.items()][:_TOLD]]
    rest = [*tally.why][_TOLD:]
    if rest:
        more = tally.raised - _TOLD
        dots = ", …" if more > len(rest) else ""
        told.append(f"{more:,} more, designs {', '.join(map(str, rest))}{dots}")
    return [f"skipped, as a model raised: {each}" for each in told]
