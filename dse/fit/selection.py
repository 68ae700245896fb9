"""The choice of a law: starts of the fit, noise of each column, and evidence for each term."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import integrate, stats

from dse.fit.law import (
    COORDINATES,
    EXPONENT,
    FIXED,
    GAIN,
    HOST,
    INDEX,
    PER_BYTE,
    PER_BYTE_OUT,
    SETUP,
    Law,
    Mask,
    Points,
)
from dse.fit.least_squares import HUBER, huber, minimize, residuals
from dse.model.quantity import Array

EXACT_NOISE = 1e-9
"""Relative noise below which times count as exact."""
_MIN_EVIDENCE = 2.0  # of Akaike's criterion: what a term must gain (Burnham and Anderson 2002)
_ABSOLUTE_ROUNDS, _ROUNDS = 2, 6  # of the noise, by absolute errors and in all
_SHARP = 0.1  # of the noise: with so little, Huber's loss is that of absolute errors
_MIN_FREEDOM = 5  # degrees of freedom from which points of another kind can be told
_MAX_OUTLIERS = 0.2  # of a column
_START_EXPONENTS = (0.6, 1.0, 1.6)


@dataclass(frozen=True)
class Shape:
    """Which columns a table has, and which coordinates are known.

    Parameters
    ----------
    host, accelerated, returned : bool
        Whether there are times on the host, times with the accelerator, and sizes returned.
    given : mapping of int to float
        Coordinates that are known.
    """

    host: bool
    accelerated: bool
    returned: bool
    given: Mapping[int, float]

    @property
    def both(self) -> bool:
        """Whether both times are there."""
        return self.host and self.accelerated


def candidate_laws(shape: Shape) -> list[Law]:
    """Return the laws to choose from, the fewest terms first."""
    found = {_law(shape, terms) for terms in _terms(shape)}
    return sorted(found, key=lambda law: (law.terms, law.free))


def widest(shape: Shape, law: Law) -> Law:
    """Return the law that intervals are taken from: a law and the terms it may have left out.

    The exponent and the host's fixed cost are free in it: an interval does not take for granted
    that they were rightly left out. Around a linear law the two slopes of the accelerated time are
    one, since nothing tells them apart.
    """
    terms = {FIXED, INDEX, EXPONENT} if shape.host else {INDEX, EXPONENT}
    if shape.accelerated:
        terms |= {SETUP} | ({PER_BYTE_OUT} if shape.returned else set())
    if shape.both:
        known = {PER_BYTE, GAIN} & shape.given.keys()
        terms |= {PER_BYTE, GAIN} if known or not law.linear else {GAIN}
    return _law(shape, frozenset(terms))


def _terms(shape: Shape) -> Iterator[frozenset[int]]:
    """Yield sets of coordinates that a law may fit."""
    extra = [PER_BYTE_OUT] if shape.returned else []
    for fixed, curved in itertools.product((False, True), repeat=2):
        power = [INDEX, *([EXPONENT] if curved else [])]
        if shape.host:
            power += [FIXED] if fixed else []
        if not shape.accelerated:
            yield frozenset(power)
        elif not shape.host:
            yield frozenset([*power, SETUP, *extra])
        elif {PER_BYTE, GAIN} & shape.given.keys():
            yield frozenset([*power, SETUP, *extra, PER_BYTE, GAIN])
        elif not curved and shape.given.get(EXPONENT, 1.0) == 1.0:
            yield frozenset([*power, SETUP, *extra, GAIN])
        else:
            for slopes in ([PER_BYTE], [GAIN], [PER_BYTE, GAIN]):
                yield frozenset([*power, SETUP, *extra, *slopes])


def _law(shape: Shape, terms: frozenset[int]) -> Law:
    absent = [-np.inf] * COORDINATES
    absent[EXPONENT] = 1.0
    absent[GAIN] = np.inf if shape.host else 0.0
    values = tuple(shape.given.get(i, value) for i, value in enumerate(absent))
    return Law(tuple(i in terms and i not in shape.given for i in range(COORDINATES)), values)


def fit_law(points: Points, weight: Array, law: Law, shape: Shape) -> tuple[Array, float]:
    """Return the best coordinates of a law, and their loss, from several starts."""
    exponents = _START_EXPONENTS if law.free[EXPONENT] else (law.values[EXPONENT],)
    shares = ((0.5, 0.5), (0.95, 0.05)) if law.free[PER_BYTE] and law.free[GAIN] else ((0.5, 0.5),)
    starts = (_start(points, law, shape, *pair) for pair in itertools.product(exponents, shares))
    fits = [minimize(points, weight, start, np.array(law.free)) for start in starts]
    return min(fits, key=lambda fit: fit[1])


def _start(
    points: Points, law: Law, shape: Shape, exponent: float, share: tuple[float, float]
) -> Array:
    """Return a rough law: the fixed costs from the shortest time, the rest from large sizes."""

    def shortest_and_slope(column: Mask) -> tuple[float, float]:
        size, time = points.size[column], points.time[column]
        large = size >= np.sqrt(size.min() * size.max())
        slope = np.median(np.log(time[large]) - exponent * np.log(size[large]))
        return float(time.min()), float(slope)

    start = np.array(law.values)
    start[EXPONENT] = exponent
    if shape.host:
        shortest, start[INDEX] = shortest_and_slope(~points.accelerated)
        start[FIXED] = np.log(0.3 * shortest)
    if shape.accelerated:
        shortest, slope = shortest_and_slope(points.accelerated)
        top = np.log(points.size.max()) * (exponent - 1.0)
        start[SETUP] = np.log(0.7 * shortest)
        start[PER_BYTE] = slope + top + np.log(share[0])
        start[PER_BYTE_OUT] = slope + top + np.log(0.3)
        if shape.host:
            start[GAIN] = start[INDEX] - slope - np.log(share[1])
        else:
            start[INDEX] = slope
    return np.where(law.free, start, law.values)


def estimate_noise(points: Points, law: Law, shape: Shape) -> tuple[Array, Mask]:
    """Return the relative noise of each column, and which points count.

    First the absolute errors are made least: a few wild points hardly change them. Points far
    beyond the noise are then left out. The noise is Huber's second proposal: the root of the mean
    square of the residuals, each cut at `HUBER` standard deviations, over the degrees of freedom.

    Parameters
    ----------
    law : Law
        The widest.

    Returns
    -------
    scale : ndarray, shape (2,)
        Of the host's times and of the accelerated ones.
    kept : ndarray of bool, shape (points,)
    """
    columns = ~points.accelerated, points.accelerated
    terms = count_terms(law, shape)
    scale = np.full(2, 0.2)
    kept = np.ones_like(points.accelerated)
    fit = fit_law(points, weights(points, scale, kept), law, shape)[0]
    for step in range(_ROUNDS):
        errors = np.abs(residuals(points, fit, np.ones_like(points.time))[0])
        for i, column in enumerate(columns):
            if not column.any():
                continue
            if step >= _ABSOLUTE_ROUNDS:
                scale[i] = _cut_deviation(errors[column & kept], terms[i], scale[i])
                continue
            # As many errors as there are terms are zero; the median is that of the others.
            ordered = np.sort(errors[column])
            middle = np.median(ordered[min(terms[i], len(ordered) - 1) :])
            scale[i] = max(1.4826 * middle, EXACT_NOISE)
            if step == _ABSOLUTE_ROUNDS - 1:
                kept &= ~_outliers(errors, column, terms[i], scale[i])
        sharp = scale * (_SHARP if step < _ABSOLUTE_ROUNDS - 1 else 1.0)
        fit = minimize(points, weights(points, sharp, kept), fit, np.array(law.free))[0]
    return scale, kept


def count_terms(law: Law, shape: Shape) -> tuple[int, int]:
    """Return how many coordinates the times of each column determine."""
    host = sum(law.free[i] for i in HOST) if shape.host else 0
    return host, law.terms - host


def weights(points: Points, scale: Array, kept: Mask) -> Array:
    """Return one over the noise of each point, 0 for those that do not count."""
    return np.where(kept, 1.0 / np.where(points.accelerated, scale[1], scale[0]), 0.0)


def _outliers(errors: Array, column: Mask, terms: int, scale: float) -> Mask:
    """Return the points of a column that are so far off that they are of another kind."""
    freedom = int(column.sum()) - terms
    if freedom < _MIN_FREEDOM:
        return np.zeros_like(column)
    far = column & (errors > 1.5 * stats.t.ppf(0.9995, freedom) * scale)
    return far if far.sum() <= _MAX_OUTLIERS * column.sum() else np.zeros_like(column)


def _cut_deviation(errors: Array, terms: int, scale: float) -> float:
    freedom = max(len(errors) - terms, 1)
    for _ in range(4):
        cut = np.minimum(errors, HUBER * scale)
        scale = max(float(np.sqrt((cut**2).sum() / (freedom * _CUT_VARIANCE))), EXACT_NOISE)
    return scale


_CUT_VARIANCE = float(
    integrate.quad(lambda x: min(x * x, HUBER**2) * stats.norm.pdf(x), -np.inf, np.inf)[0]
)
"""What is left of a normal error's variance when it is cut."""


def evidence(points: Points, scale: Array, kept: Mask, fit: Array, law: Law) -> float:
    """Return Akaike's criterion for small samples (AICc) of a law; the least is best.

    inf if the points are too few for it.
    """
    spare = int(kept.sum()) - law.terms - 1
    if spare <= 0:
        return np.inf
    losses = huber(residuals(points, fit, weights(points, scale, kept))[0])
    total = 2 * law.terms + 2 * law.terms * (law.terms + 1) / spare
    for i, column in enumerate((~points.accelerated, points.accelerated)):
        if count := int((column & kept).sum()):
            mean = float(losses[column].sum()) / count * scale[i] ** 2
            total += count * np.log(max(mean, EXACT_NOISE**2))
    return float(total)


def select_law(scores: Mapping[Law, float]) -> Law:
    """Return the law with the fewest terms within 2 of the best evidence.

    Parameters
    ----------
    scores : mapping of Law to float
        AICc; the laws in order of their terms.
    """
    best = min(scores.values())
    good = [
        law for law, score in scores.items() if np.isfinite(score) and score <= best + _MIN_EVIDENCE
    ]
    return min(good, key=lambda law: (law.terms, scores[law]), default=next(iter(scores)))
