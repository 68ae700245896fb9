"""Tables that a known law and noise make, with the law that is selected for each."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.fit_coverage import tables
from dse.fit.law import Law, Mask, Points
from dse.fit.selection import (
    Shape,
    candidate_laws,
    estimate_noise,
    evidence,
    fit_law,
    select_law,
    weights,
    widest,
)
from dse.model.quantity import Array

SHAPE = Shape(True, True, False, {})
LAWS = candidate_laws(SHAPE)
WIDE = max((widest(SHAPE, law) for law in LAWS), key=lambda law: law.terms)


class SelectedFit(NamedTuple):
    """A table, its noise, and the law that is selected: an analysis without intervals."""

    points: Points
    law: Law
    fit: Array
    scale: Array
    kept: Mask

    @property
    def weight(self) -> Array:
        """Return one over the noise of each point."""
        return weights(self.points, self.scale, self.kept)


def select_fit(points: Points) -> SelectedFit:
    """Return the selected law of a table."""
    scale, kept = estimate_noise(points, WIDE, SHAPE)
    weight = weights(points, scale, kept)
    fits = {law: fit_law(points, weight, law, SHAPE)[0] for law in LAWS}
    law = select_law({law: evidence(points, scale, kept, fit, law) for law, fit in fits.items()})
    return SelectedFit(points, law, fits[law], scale, kept)


def select_fits(case: str, noise: float, count: int) -> list[SelectedFit]:
    """Return the selected laws of many tables of a case."""
    return [select_fit(points) for points in tables(case, noise, count)]
