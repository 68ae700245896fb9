"""Which terms a table bears: starts, noise of each column, and the law chosen by evidence."""

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
from dse.fit.solve import HUBER, loss, residuals, solve
from dse.model.quantity import Array

LEAST_NOISE = 1e-9
"""Relative noise below which times count as exact."""
_WORTH = 2.0  # of Akaike's criterion: what a term must gain
_ROBUST, _ROUNDS = 2, 6
_SHARP = 0.1
_ENOUGH = 5  # degrees of freedom from which wild points can be told
_SHARE = 0.2  # of a column that may be wild
_START_EXPONENTS = (0.6, 1.0, 1.6)


@dataclass(frozen=True)
class Shape:
    """What the tables of one kind have.

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


def laws(shape: Shape) -> list[Law]:
    """Return the laws to choose from, the fewest terms first."""
    found = {_law(shape, terms) for terms in _terms(shape)}
    return sorted(found, key=lambda law: (law.terms, law.free))


def widest(shape: Shape, chosen: Law) -> Law:
    """Return the law that intervals are taken from: the chosen one and what it may have left out.

    The exponent and the host's fixed cost are free in it, so that an interval does not take for
    granted that they were rightly left out. Around a linear law the two slopes of the accelerated
    time are one: which is which cannot be told.
    """
    terms = {FIXED, INDEX, EXPONENT} if shape.host else {INDEX, EXPONENT}
    if shape.accelerated:
        terms |= {SETUP} | ({PER_BYTE_OUT} if shape.returned else set())
    if shape.both:
        separate = chosen.free[EXPONENT] or chosen.values[EXPONENT] != 1.0
        known = {PER_BYTE, GAIN} & shape.given.keys()
        terms |= {PER_BYTE, GAIN} if separate or known else {GAIN}
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
            for moved in ([PER_BYTE], [GAIN], [PER_BYTE, GAIN]):
                yield frozenset([*power, SETUP, *extra, *moved])


def _law(shape: Shape, terms: frozenset[int]) -> Law:
    absent = [-np.inf] * COORDINATES
    absent[EXPONENT] = 1.0
    absent[GAIN] = np.inf if shape.host else 0.0
    values = tuple(shape.given.get(i, value) for i, value in enumerate(absent))
    return Law(tuple(i in terms and i not in shape.given for i in range(COORDINATES)), values)


def fitted(points: Points, weight: Array, law: Law, shape: Shape) -> tuple[Array, Array]:
    """Return the best law of a kind for each table, and its loss, from several starts."""
    best: tuple[Array, Array] | None = None
    free = np.broadcast_to(np.array(law.free), (len(points.size), COORDINATES))
    exponents = _START_EXPONENTS if law.free[EXPONENT] else (law.values[EXPONENT],)
    shares = ((0.5, 0.5), (0.95, 0.05)) if law.free[PER_BYTE] and law.free[GAIN] else ((0.5, 0.5),)
    for exponent, share in itertools.product(exponents, shares):
        start = _start(points, law, shape, exponent, share)
        found = solve(points, weight, start, free)
        if best is None:
            best = found
        else:
            better = found[1] < best[1]
            best = np.where(better[:, None], found[0], best[0]), np.where(better, found[1], best[1])
    assert best is not None  # noqa: S101 - there is at least one start
    return best


def _start(
    points: Points, law: Law, shape: Shape, exponent: float, share: tuple[float, float]
) -> Array:
    """Return rough laws: the fixed costs from the least time, the rest from the largest sizes."""
    at = np.tile(np.array(law.values), (len(points.size), 1))

    def of(which: Mask) -> tuple[Array, Array]:
        times = np.where(which, points.time, np.nan)
        sizes = np.where(which, points.size, np.nan)
        large = sizes >= np.sqrt(np.nanmin(sizes, 1) * np.nanmax(sizes, 1))[:, None]
        return np.nanmin(times, 1), np.nanmedian(
            np.where(large, np.log(times) - exponent * np.log(sizes), np.nan), 1
        )

    start = at.copy()
    start[:, EXPONENT] = exponent
    if shape.host:
        least, index = of(~points.accelerated)
        start[:, FIXED], start[:, INDEX] = np.log(0.3 * least), index
    if shape.accelerated:
        least, slope = of(points.accelerated)
        top = np.log(points.size.max(axis=1)) * (exponent - 1.0)
        start[:, SETUP] = np.log(0.7 * least)
        start[:, PER_BYTE] = slope + top + np.log(share[0])
        start[:, PER_BYTE_OUT] = slope + top + np.log(0.3)
        if shape.host:
            start[:, GAIN] = start[:, INDEX] - slope - np.log(share[1])
        else:
            start[:, INDEX] = slope
    return np.where(law.free, start, at)


def noise(points: Points, law: Law, shape: Shape) -> tuple[Array, Mask]:
    """Return the relative noise of each column, and which points count.

    First the absolute errors are made least, which a few wild points do not move; those far beyond
    the noise are left out. Then the noise is Huber's second proposal: the root of the mean square
    of the residuals, each cut at `HUBER` standard deviations, over the degrees of freedom.

    Parameters
    ----------
    law : Law
        The widest.

    Returns
    -------
    scale : ndarray, shape (tables, 2)
        Of the host's times and of the accelerated ones.
    kept : ndarray of bool, shape (tables, points)
    """
    columns = ~points.accelerated, points.accelerated
    terms = used(law, shape)
    free = np.broadcast_to(np.array(law.free), (len(points.size), COORDINATES))
    scale = np.full((len(points.size), 2), 0.2)
    kept = np.ones_like(points.accelerated)
    at = fitted(points, weights(points, scale, kept), law, shape)[0]
    for step in range(_ROUNDS):
        errors = np.abs(residuals(points, at, np.ones_like(points.time))[0])
        for i, column in enumerate(columns):
            if not column.any():
                continue
            if step < _ROBUST:
                scale[:, i] = _middle(errors, column, terms[i])
                if step == _ROBUST - 1:
                    kept &= ~_far(errors, column, terms[i], scale[:, i])
            else:
                scale[:, i] = _scale(errors, column & kept, terms[i], scale[:, i])
        # The least absolute errors: as if the noise were far less than it is.
        sharp = scale * (_SHARP if step < _ROBUST - 1 else 1.0)
        at = solve(points, weights(points, sharp, kept), at, free)[0]
    return scale, kept


def used(law: Law, shape: Shape) -> tuple[int, int]:
    """Return how many coordinates the times of each column determine."""
    host = sum(law.free[i] for i in HOST) if shape.host else 0
    return host, law.terms - host


def weights(points: Points, scale: Array, kept: Mask) -> Array:
    """Return one over the noise of each point, 0 for those that do not count."""
    return np.where(kept, 1.0 / np.where(points.accelerated, scale[:, 1:], scale[:, :1]), 0.0)


def _middle(errors: Array, column: Mask, terms: int) -> Array:
    """Return the noise by the median of the errors; as many as there are terms are none."""
    count = int(column[0].sum())
    ordered = np.sort(np.where(column, errors, np.inf), axis=1)[:, :count]
    middle = np.median(ordered[:, min(terms, count - 1) :], axis=1)
    return np.asarray(np.maximum(1.4826 * middle, LEAST_NOISE))


def _far(errors: Array, column: Mask, terms: int, scale: Array) -> Mask:
    """Return which points of a column are so far off that they are of another kind."""
    freedom = int(column[0].sum()) - terms
    if freedom < _ENOUGH:
        return np.zeros_like(column)
    far = column & (errors > 1.5 * stats.t.ppf(0.9995, freedom) * scale[:, None])
    few = far.sum(axis=1) <= _SHARE * column.sum(axis=1)
    return np.asarray(far & few[:, None])


def _scale(errors: Array, column: Mask, terms: int, before: Array) -> Array:
    freedom = np.maximum(column.sum(axis=1) - terms, 1)
    for _ in range(4):
        cut = np.where(column, np.minimum(errors, HUBER * before[:, None]), 0.0)
        before = np.maximum(np.sqrt((cut**2).sum(axis=1) / (freedom * _KEPT)), LEAST_NOISE)
    return np.asarray(before)


_KEPT = float(
    integrate.quad(lambda x: min(x * x, HUBER**2) * stats.norm.pdf(x), -np.inf, np.inf)[0]
)
"""What is left of a normal error's variance when it is cut."""


def evidence(points: Points, scale: Array, kept: Mask, at: Array, law: Law) -> Array:
    """Return Akaike's criterion for small samples (AICc) of each table's law; the least is best.

    inf if the points are too few for it.
    """
    errors = residuals(points, at, weights(points, scale, kept))[0]
    spare = kept.sum(axis=1) - law.terms - 1
    total = np.zeros(len(at))
    for i, column in enumerate((~points.accelerated, points.accelerated)):
        n = (column & kept).sum(axis=1)
        if n.any():
            mean = np.where(column, loss(errors), 0.0).sum(axis=1) / n * scale[:, i] ** 2
            total += n * np.log(np.maximum(mean, LEAST_NOISE**2))
    small = 2 * law.terms * (law.terms + 1) / np.maximum(spare, 1)
    return np.where(spare > 0, total + 2 * law.terms + small, np.inf)


def chosen(scores: Array, choices: list[Law]) -> Array:
    """Return the place of the chosen law: the fewest terms within 2 of the best evidence.

    Parameters
    ----------
    scores : ndarray, shape (laws, tables)
        AICc; the laws in order of their terms.
    """
    good = scores <= scores.min(axis=0) + _WORTH
    terms = np.array([law.terms for law in choices])[:, None]
    ranked = np.where(good & np.isfinite(scores), terms * 1e9 + scores, np.inf)
    return np.where(np.isfinite(ranked).any(axis=0), ranked.argmin(axis=0), 0)
