"""Preferences: weights of objectives, bounds and excluded options, which select the recommendation.

They select among the designs on the front, and change neither the search nor the front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.target import Bound


@dataclass(frozen=True)
class Preferences:
    """The preferences of a reader or a study."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """By objective: its exponent in the Nash product. It replaces the objective's own weight."""
    bounds: tuple[Bound, ...] = ()
    """The values that the recommended design must meet."""
    excluded: Mapping[str, tuple[str | float, ...]] = field(default_factory=dict)
    """By variable: the options or numbers that it must not have."""

    def weigh(self, objectives: Sequence[Objective]) -> tuple[Objective, ...]:
        """Return objectives with their preferred weights."""
        return tuple(replace(o, weight=self.weights.get(o.name, o.weight)) for o in objectives)

    def allow(self, labels: Mapping[str, Any] | pd.DataFrame, count: int) -> NDArray[np.bool_]:
        """Return which designs have no excluded option; labels have a column per variable."""
        allowed = np.ones(count, dtype=bool)
        for name, options in self.excluded.items():
            allowed &= ~np.isin(np.asarray(labels[name]), np.asarray(options))
        return allowed
