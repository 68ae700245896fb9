"""Time: what a run whose time is over may still evaluate, so that its result follows at once."""

from __future__ import annotations

import time

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.evaluate.wiring import ModelError

_SLOW = 0.005  # seconds; a call that takes longer is not timed with more designs
_MORE = 16


def affordable(evaluator: Evaluator, points: Points, seconds: float) -> int:
    """Return about how many designs can be evaluated in some seconds; tried on the given ones."""

    def timed(count: int) -> float:
        few = {name: values[:count] for name, values in points.items()}
        began = time.perf_counter()
        try:
            evaluator.evaluate(few)
        except ModelError:
            return float("inf")
        return time.perf_counter() - began

    count = min(_MORE, len(next(iter(points.values()))))
    pace = timed(1)
    if pace < _SLOW and count > 1:
        pace = max(timed(count) - timed(1), 0.0) / (count - 1)
    return int(seconds / max(pace, 1e-9))
