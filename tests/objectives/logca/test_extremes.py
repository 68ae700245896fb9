"""LogCA at the ends of the floats: what stands beside a design in a batch changes no bit of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from objectives.logca import break_even, half_acceleration, speedup, target

INF = np.inf
LEAST = 5e-324  # subnormal
SIZES = [LEAST, 3e-310, 1e-200, 1.0, 1024.0, 1e200, 1e308]
COSTS = [0.0, LEAST, 1e-300, 1.0, 3e4, 1e300, 1e308]
LINES = [0.0, LEAST, 0.5, 2.0, 90.0, 1e300]
RATES = [LEAST, 1e-200, 1.0, 2.0, 90.0, 1e200, 1e308]
PEAKS = [LEAST, 0.5, 1.0, 1.0000000000000002, 2.0, 19.0, 1e308, INF]

DESIGNS = st.lists(
    st.tuples(*map(st.sampled_from, (SIZES, COSTS, COSTS, LINES, RATES, PEAKS))),
    min_size=2,
    max_size=8,
)
NAMES = ("granularity", "overhead", "latency", "latency_per_byte", "computational_index")
ORDINARY = (1024.0, 3e4, 1.0, 0.5, 90.0, 19.0)
FREE = (1024.0, 0.0, 0.0)  # of all set-up and latency of a call


def _results(model: Callable[..., Any], columns: dict[str, Any]) -> list[Any]:
    with np.errstate(all="raise"):  # as a caller may have it: the models see to themselves
        return [np.asarray(output) for output in vars(model(**columns)).values()]


@pytest.mark.parametrize("model", [speedup, break_even, half_acceleration, target])
@given(designs=DESIGNS)
@example(designs=[ORDINARY, (*FREE, 45.0, 90.0, 2.0)])  # the gain is the latency's: always
@example(designs=[ORDINARY, (*FREE, 90.0, 90.0, 2.0)])  # less: never
@example(designs=[ORDINARY, (*FREE, 0.5, 90.0, INF), (1.0, 1.0, 1.0, 90.0, 90.0, INF)])
@example(designs=[ORDINARY, (3e-310, 0.0, 0.0, 0.0, 1.0, 2.0), (1e-200, 1.0, 0.0, 0.0, 1e-200, 2)])
@example(designs=[ORDINARY, (-1.0, 1.0, 1.0, 1.0, 1.0, 1.0), (1.0, np.nan, 1.0, 1.0, 1.0, -INF)])
@settings(max_examples=60, deadline=None, derandomize=True)
def test_neighbours_change_no_bit(
    model: Callable[..., Any], designs: list[tuple[float, ...]]
) -> None:
    columns = dict(zip((*NAMES, "acceleration"), np.array(designs, dtype=float).T, strict=True))
    if model is not speedup:
        del columns["granularity"]
    if model is target:
        columns["target_speedup"] = np.full(len(designs), 1.5)
    together = _results(model, columns)
    for i in range(len(designs)):
        alone = _results(model, {name: float(values[i]) for name, values in columns.items()})
        for whole, single in zip(together, alone, strict=True):
            assert whole[i].tobytes() == single.tobytes() or (
                np.isnan(whole[i]) and np.isnan(single)
            )
