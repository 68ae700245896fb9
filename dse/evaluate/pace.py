"""The pace of models: processor seconds per design. It separates formulas from simulators.

Formulas over arrays take less than 100 µs per design, simulators more than 10 ms. The limit is a
decade from both, and the time that other programs take does not count. Decisions are thus the same
on fast, slow and busy machines.
"""

from __future__ import annotations

import resource
from collections.abc import Callable

import numpy as np

from dse.evaluate.model_graph import ModelError
from dse.evaluate.space import Points, Space, sample_designs

SLOW = 1e-3
"""Seconds per design from which models are simulators."""
_BATCH = 4096  # designs: a large batch shows the cost per design, not per call
_ENOUGH = 64  # designs that show that models are formulas
_GROWTH = 8  # of a batch to the next one
_LONG_BATCH = 0.25  # seconds: a batch that takes less is followed by a larger one
_LONG_DESIGN = 2.0  # seconds: a longer design is not run again, and a longer batch is the last
_MANY = 64  # times the designs of a batch: other designs are then new
_PROPORTIONAL = 4.0  # times the batch before: a batch that takes more shows the cost per design


def measure_pace(evaluate: Callable[[Points], object], space: Space) -> float:
    """Return the processor seconds per design in a batch of some designs, or of fewer slow ones.

    A call of many formulas costs milliseconds, however few its designs. A batch thus ends the
    measurement only if it costs much more than the batch before, if some designs show formulas, or
    if it takes seconds. The first call loads libraries, perhaps for as long, and so may the first
    batch of several designs. Both are thus run again, the latter on other designs, if there are
    enough: models may remember designs.
    """
    size, before, again = 1, 0.0, False
    seconds, _ = _measure_batch(evaluate, space, size)
    if _LONG_BATCH < seconds < _LONG_DESIGN:
        seconds, _ = _measure_batch(evaluate, space, size)
    while size < _BATCH and seconds <= max(_LONG_BATCH, _PROPORTIONAL * before):
        formulas = size >= _ENOUGH and seconds < 0.1 * SLOW * size
        if formulas or (size > 1 and seconds > _LONG_DESIGN):
            break
        larger = min(_GROWTH * size, _BATCH)
        longer, whole = _measure_batch(evaluate, space, larger)
        if whole and not again and longer > max(_LONG_BATCH, _PROPORTIONAL * seconds):
            again = longer < _LONG_DESIGN and (space.size or np.inf) > _MANY * larger
            if again:
                longer, whole = _measure_batch(evaluate, space, larger, other=True)
        if not whole:
            break
        size, before, seconds = larger, seconds, longer
    return seconds / size


def _measure_batch(
    evaluate: Callable[[Points], object], space: Space, size: int, other: bool = False
) -> tuple[float, bool]:
    """Return the seconds of a batch, and whether no model raised: then it was a whole batch.

    The seconds are those of this process, its threads and its ended children.
    """
    drawn = size + 1 if other else size  # a sample of another size has other designs
    points = {n: v[:size] for n, v in sample_designs(space, drawn).items()}
    began = _used_seconds()
    try:
        evaluate(points)
        whole = True
    except ModelError:
        whole = False
    return _used_seconds() - began, whole


def _used_seconds() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))
