"""What a search by bounds evaluates is held to the bounds of the boxes that it is in."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.ranges import Ranges
from dse.evaluate.refuted import around, hold
from dse.search.boxes import Open

_AUDITED = 2_000  # designs that are held to the bounds of random boxes around them
_SAMPLED = 60  # designs of a batch whose constraints are held to the bounds of their boxes


def audit(
    ranges: Ranges,
    evaluator: Evaluator,
    places: NDArray[np.int64],
    judged: Evaluated,
    held: Open | None,
    seed: int,
    share: float = 1.0,
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
    share : float
        Of all seeds, how many these are.

    Raises
    ------
    RefutedError
        If one is outside: it names model, output, input and both designs.
    """
    if held is None:
        rng = np.random.default_rng((seed, len(places)))
        rows = np.resize(np.arange(len(places)), min(math.ceil(_AUDITED * share), 4 * len(places)))
        boxes = around(ranges.axes, places[rows], rng)
    else:
        better = np.asarray((judged.objectives * evaluator.signs < held.ideal).any(axis=1))
        better[:: 1 + len(places) // _SAMPLED] |= bool(evaluator.constraints)
        rows = np.flatnonzero(better)[:_AUDITED]
        boxes = held.boxes.rows(rows)
    if len(rows):
        hold(ranges, boxes, places[rows], judged.rows(rows))
