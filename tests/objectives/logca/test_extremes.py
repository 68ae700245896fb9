"""LogCA in batches: what stands beside a design in a batch changes no bit of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from objectives.logca import break_even, half_acceleration, speedup, target

AXES: dict[str, list[float]] = {
    "granularity": [1e-9, 1.0, 1024.0, 1e30],
    "overhead": [0.0, 1e-30, 1.0, 3e4, 1e30],
    "latency": [0.0, 1e-30, 1.0, 1e30],
    "latency_per_byte": [0.0, 0.5, 2.0, 90.0, 1e30],
    "computational_index": [1e-30, 1.0, 2.0, 90.0, 1e30],
    "acceleration": [0.5, 1.0, 1.0000000000000002, 2.0, 19.0, 1e30, np.inf],
}
ORDINARY = (1024.0, 3e4, 1.0, 0.5, 90.0, 19.0)
FREE = (1024.0, 0.0, 0.0)  # of all set-up and latency of a call


@pytest.mark.parametrize("model", [speedup, break_even, half_acceleration, target])
@given(designs=st.lists(st.tuples(*map(st.sampled_from, AXES.values())), min_size=2, max_size=8))
@example(designs=[ORDINARY, (*FREE, 45.0, 90.0, 2.0)])  # the gain is the latency's: always
@example(designs=[ORDINARY, (*FREE, 90.0, 90.0, 2.0)])  # less: never
@example(designs=[ORDINARY, (*FREE, 0.5, 90.0, np.inf), (1.0, 1.0, 1.0, 90.0, 90.0, np.inf)])
@example(designs=[ORDINARY, (-1.0, 1.0, 1.0, 1.0, 1.0, 1.0), (1.0, np.nan, 1.0, 1.0, 1.0, -np.inf)])
@settings(max_examples=60, deadline=None, derandomize=True)
def test_neighbours_change_no_bit(
    model: Callable[..., Any], designs: list[tuple[float, ...]]
) -> None:
    columns: dict[str, Any] = dict(zip(AXES, np.array(designs, dtype=float).T, strict=True))
    if model is not speedup:
        del columns["granularity"]
    if model is target:
        columns["target_speedup"] = np.full(len(designs), 1.5)
    with np.errstate(all="raise"):  # as a caller may have it: the models see to themselves
        together = vars(model(**columns))
        for i in range(len(designs)):
            alone = vars(model(**{name: float(values[i]) for name, values in columns.items()}))
            for name, whole in together.items():
                assert (
                    whole[i].tobytes() == alone[name].tobytes()
                    or np.isnan([whole[i], alone[name]]).all()
                )
