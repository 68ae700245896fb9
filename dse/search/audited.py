"""What a search by bounds evaluates is held to the bounds of the boxes that it is in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.ranges import Ranges
from dse.evaluate.refuted import around, hold
from dse.search.boxes import Open
from dse.search.workers import NEVER, LateError, is_late

_AUDITED = 2_000  # designs that are held to the bounds of random boxes around them
_SAMPLED = 60  # designs of a batch whose constraints are held to the bounds of their boxes


def audit(
    ranges: Ranges,
    evaluator: Evaluator,
    places: NDArray[np.int64],
    judged: Evaluated,
    held: Open | None,
    seed: int,
    until: float = NEVER,
) -> None:
    """Hold designs to the bounds of their boxes; seeds to those of random ones around them.

    Parameters
    ----------
    places : (n, variables) array
        The designs.
    judged : Evaluated
        What they give.
    held : Open or None
        The box of each; None for seeds, which are of none.
    seed : int
        Of the random boxes.
    until : float
        The `time.time` after which no more are held.

    Raises
    ------
    RefutedError
        If one is outside: it names model, output, input and both designs.
    """
    if held is None:
        rows = np.resize(np.arange(len(places)), min(_AUDITED, 4 * len(places)))
        boxes = around(ranges.axes, places[rows], np.random.default_rng(seed))
    else:
        better = np.asarray((judged.objectives * evaluator.signs < held.ideal).any(axis=1))
        better[:: 1 + len(places) // _SAMPLED] |= bool(evaluator.constraints)
        rows = np.flatnonzero(better)[:_AUDITED]
        boxes = held.boxes.rows(rows)
    low, size = 0, len(rows) if until == NEVER else 1
    while low < len(rows) and not (low and is_late(until)):
        part = slice(low, low + size)
        try:
            hold(ranges, boxes.rows(part), places[rows[part]], judged.rows(rows[part]))
        except LateError:
            return
        low, size = low + size, 8 * size
