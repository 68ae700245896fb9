"""The law of host and accelerated time over the size of a call, its fit, and its terms.

    T0 = h + C g**β + k q                on the host
    T1 = c + l g + m q + C g**β / A      with the accelerator

with g the bytes of a call, q the bytes that it returns if the table has them, h the fixed cost of a
call on the host, and c = o + L. That is LogCA (Altaf and Wood, ISCA 2017, equations 2 and 8), a
fixed cost on the host, without which calls of a few bytes are far off, and bytes returned, which
cost time on both sides.

A law is a vector of eight coordinates, the positive ones as logarithms: an absent term has the
logarithm −inf, an infinite acceleration +inf.

The residual of a time t under a law T is 2 (√(t/T) − 1): the relative error to first order, and
hardly biased whether errors are normal or log-normal. From `HUBER` standard deviations it counts
linearly, so that a few wild points do not carry the fit away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from dse.model.quantity import Array

Mask = NDArray[np.bool_]

FIXED, INDEX, EXPONENT, SETUP, PER_BYTE, PER_BYTE_OUT, GAIN, HOST_OUT = range(8)
"""Places of the coordinates: log h, log C, β, log c, log l, log m, log A, log k."""
COORDINATES = 8
HOST = (FIXED, INDEX, EXPONENT, HOST_OUT)
"""Coordinates of the time on the host."""
_SIZES = 1.0, 2.0**60  # bytes of a call, between which crossings are looked for


class Law(NamedTuple):
    """Which coordinates are fitted, and the values of the others.

    Attributes
    ----------
    free : tuple of bool
        Of each coordinate.
    values : tuple of float
        Of the coordinates that are not free.
    """

    free: tuple[bool, ...]
    values: tuple[float, ...]

    @property
    def terms(self) -> int:
        """How many coordinates are fitted."""
        return sum(self.free)

    @property
    def linear(self) -> bool:
        """Whether work grows as the bytes do."""
        return not self.free[EXPONENT] and self.values[EXPONENT] == 1.0


class Points(NamedTuple):
    """Measured times of a table.

    Attributes
    ----------
    size, returned : ndarray, shape (points,)
        Bytes of a call, and bytes that it returns (0 if the table does not have them).
    time : ndarray, shape (points,)
        Seconds of a call.
    accelerated : ndarray of bool, shape (points,)
        Whether a time is that with the accelerator.
    """

    size: Array
    returned: Array
    time: Array
    accelerated: Mask


class Grid(NamedTuple):
    """The parts of times that are the same for all laws. A descent computes them once.

    Attributes
    ----------
    on_device : ndarray, shape (points,)
        1 for an accelerated call, else 0.
    terms : ndarray, shape (8, points)
        The factor of each coordinate's exponential in a time; 0 for the work's.
    """

    log_size: Array
    accelerated: Mask
    on_device: Array
    terms: Array


def make_grid(size: Array, returned: Array, accelerated: Mask) -> Grid:
    """Return the grid of calls: bytes, bytes returned, and whether each is accelerated."""
    terms = np.zeros((COORDINATES, len(size)))
    terms[FIXED] = ~accelerated
    terms[SETUP] = accelerated
    terms[PER_BYTE] = accelerated * size
    terms[PER_BYTE_OUT] = accelerated * returned
    terms[HOST_OUT] = ~accelerated * returned
    return Grid(np.log(size), accelerated, accelerated.astype(np.float64), terms)


@np.errstate(all="ignore")
def times(law: Array, size: Array, returned: Array, accelerated: Mask) -> tuple[Array, Array]:
    """Return the times of a law, and the derivatives of their logarithms in each coordinate.

    Returns
    -------
    times : ndarray, shape (points,)
    slopes : ndarray, shape (points, 8)
        Derivatives of log T; 0 where there is none.
    """
    total, slopes = evaluate_law(law, make_grid(size, returned, accelerated))
    return total, slopes.T


@np.errstate(all="ignore")
def column_times(law: Array, size: Array, returned: Array, accelerated: bool) -> Array:
    """Return the times of a law in one column. A curve of thousands of sizes needs no slopes."""
    factors = np.exp(law)
    gain = law[GAIN] if accelerated else 0.0
    work = np.exp(law[INDEX] + law[EXPONENT] * np.log(size) - gain)
    if accelerated:
        lines = factors[PER_BYTE] * size + factors[PER_BYTE_OUT] * returned
        return np.asarray(work + factors[SETUP] + lines)
    return np.asarray(factors[FIXED] + work + factors[HOST_OUT] * returned)


def evaluate_law(law: Array, grid: Grid) -> tuple[Array, Array]:
    """Return the times and slopes of a law as `times` does, on a grid, a row per coordinate.

    A fit spends most of its time here: rows are contiguous, and callers ignore overflows once.
    """
    factors = np.exp(law)
    factors[GAIN] = 0.0  # its exponential may be infinite, and is part of the work
    gain = np.where(grid.accelerated, law[GAIN], 0.0)
    work = np.exp(law[INDEX] + law[EXPONENT] * grid.log_size - gain)
    slopes = grid.terms * factors[:, None]
    slopes[INDEX] = work
    total = slopes[FIXED] + work + slopes[SETUP]
    total += slopes[PER_BYTE] + slopes[PER_BYTE_OUT] + slopes[HOST_OUT]
    slopes[EXPONENT] = work * grid.log_size
    slopes[GAIN] = -work * grid.on_device
    slopes /= total
    flat = slopes.reshape(-1)
    if not np.isfinite(flat @ flat):
        slopes[~np.isfinite(slopes)] = 0.0
    return total, slopes


@np.errstate(all="ignore")
def crossings(law: Array, ratio: float = 0.0, speedup: float = 1.0) -> tuple[float, float]:
    """Return the sizes between which a law's speedup is at least so much.

    T1/T0 = 1/s has at most two roots in g: T1 − T0/s is a constant, a straight line and a power
    (Descartes' rule for real exponents), so that it has one extremum. The host's fixed cost may
    make the constant negative.

    Returns
    -------
    low, high : float
        Bytes. Both NaN if no size reaches it; `low` is 0 if a call of 1 B does; `high` is inf if
        the largest does.
    """
    fixed, index, exponent, setup, per_byte, per_out, gain, host_out = law
    constant = np.exp(setup) - np.exp(fixed) / speedup
    line = np.exp(per_byte) + ratio * (np.exp(per_out) - np.exp(host_out) / speedup)
    power = np.exp(index) * (1.0 / speedup - (0.0 if np.isinf(gain) else np.exp(-gain)))

    def excess(log_size: float) -> float:
        """T1 − T0/s: not positive where the speedup is reached."""
        return float(constant + line * np.exp(log_size) - power * np.exp(exponent * log_size))

    first, last = np.log(_SIZES)
    turn = np.log(line / (power * exponent)) / (exponent - 1.0)
    turn = float(np.clip(turn, first, last)) if np.isfinite(turn) else last
    reached = [excess(place) <= 0.0 for place in (first, turn, last)]

    def crossing(start: float, end: float) -> float:
        return float(np.exp(optimize.brentq(excess, start, end, xtol=1e-13, rtol=1e-15)))

    if not any(reached):
        return np.nan, np.nan
    falling = crossing(turn, last) if reached[1] != reached[2] else np.inf
    rising = crossing(first, turn) if reached[0] != reached[1] else np.inf
    if reached[0]:
        return 0.0, min(rising, falling)
    return (rising, falling) if reached[1] else (falling, np.inf)


# ------------------------------------------------------------------------------ least squares


HUBER = 2.5
"""Standard deviations from which an error counts linearly: 99 % efficient on normal errors."""
EXPONENTS = 0.02, 3.0
"""The range of the exponent of work."""
_RANGE = 100.0
"""Of the other coordinates, inside the range of floats."""
_VISIBLE = 1e-4  # of the shortest time
_TOLERANCE = 1e-12
"""Of loss and step. At 1e-8, fits stop on the way to an absent term, 1 % off in the noise."""
_MAX_STEPS = 120  # near exact times, rounding keeps the loss from settling
_FIRST_STEP = 0.4  # in each coordinate
Condition: TypeAlias = Callable[[Array], tuple[float, Array]]
"""A value that a law must make zero, in standard deviations, and its slopes in the coordinates."""


@np.errstate(all="ignore")
def residuals(points: Points, law: Array, weight: Array) -> tuple[Array, Array]:
    """Return residuals in standard deviations, and their slopes in the coordinates.

    Parameters
    ----------
    weight : ndarray, shape (points,)
        One over the standard deviation; 0 for a point that does not count.

    Returns
    -------
    errors : ndarray, shape (points,)
    slopes : ndarray, shape (8, points)
    """
    grid = make_grid(points.size, points.returned, points.accelerated)
    return _weighted_residuals(points.time, law, weight, grid)


def _weighted_residuals(time: Array, law: Array, weight: Array, grid: Grid) -> tuple[Array, Array]:
    total, slopes = evaluate_law(law, grid)
    root = np.sqrt(time / total)
    slopes *= -root * weight
    return 2.0 * (root - 1.0) * weight, slopes


def huber(errors: Array) -> Array:
    """Return Huber's loss, the square near zero.

    >>> huber(np.array([1.0, 4.0])).tolist()
    [1.0, 13.75]
    """
    size = np.abs(errors)
    return np.where(size <= HUBER, errors**2, HUBER * (2.0 * size - HUBER))


@np.errstate(all="ignore")
def minimize(
    points: Points,
    weight: Array,
    start: Array,
    free: Mask,
    condition: Condition | None = None,
    careful: bool = False,
) -> tuple[Array, float]:
    """Return the law of least loss near a start, and its loss.

    `start` (8,): a coordinate that is not free stays. `condition`: it holds as well, as one more
    residual. `careful`: whether a second descent, in shorter steps, looks for a lower valley of the
    loss.
    """
    start = _visible(points, start, free)
    grid = make_grid(points.size, points.returned, points.accelerated)
    places = np.flatnonzero(free)
    begin = start[places]
    slopes, law, last = np.zeros((0, 0)), start, b""

    def evaluate(step: Array) -> Array:
        nonlocal slopes, law, last
        law, last = start.copy(), step.tobytes()
        law[places] = np.minimum(np.maximum(begin + step, -_RANGE), _RANGE)
        law[EXPONENT] = min(max(law[EXPONENT], EXPONENTS[0]), EXPONENTS[1])
        errors, slopes = _weighted_residuals(points.time, law, weight, grid)
        if condition is not None:
            value, slope = condition(law)
            errors = np.concatenate([errors, [value]])
            slopes = np.concatenate([slopes, slope[:, None]], axis=1)
        size = np.abs(errors)
        if size.max() <= HUBER:  # the loss is the square, as near the best law
            return errors
        # Roots of Huber's loss, whose slopes stay above zero: SciPy's own loss="huber" has none
        # where all points are far off, as at a rough start with exact times.
        sizes = np.where(size <= HUBER, size, np.sqrt(HUBER * (2.0 * size - HUBER)))
        roots = np.copysign(sizes, errors)
        scale = HUBER / np.maximum(sizes, HUBER)
        if np.isfinite(roots @ roots):
            slopes *= scale
            return roots
        scale[np.isnan(scale)] = 0.0
        slopes *= scale
        return np.nan_to_num(roots)

    def derive(step: Array) -> Array:
        if step.tobytes() != last:
            evaluate(step)
        return slopes[places]

    def jacobian(step: Array) -> Array:
        return np.ascontiguousarray(derive(step).T)

    count = int(free.sum())
    if not count:
        return start, float((evaluate(np.zeros(0)) ** 2).sum())
    # MINPACK's first step is at most 100 times as long as the start: here about 1, e in a time. A
    # longer one may lead to where all times are infinite, the residuals constant, the slopes zero.
    ends = [_descend(evaluate, derive, np.full(count, _FIRST_STEP / 100.0))]
    if careful:
        short = optimize.least_squares(evaluate, np.zeros(count), jacobian)
        ends.append(_descend(evaluate, derive, short.x))
    loss, best = min(ends, key=lambda end: end[0])
    evaluate(best)
    return law, loss


def _descend(
    evaluate: Callable[[Array], Array], derive: Callable[[Array], Array], start: Array
) -> tuple[float, Array]:
    """Return the loss and the step at the end of MINPACK's descent from a start."""
    step, _, details, *_ = optimize.leastsq(
        evaluate,
        start,
        Dfun=derive,
        full_output=True,
        col_deriv=True,
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
        maxfev=_MAX_STEPS,
        diag=np.ones(len(start)),
    )
    return float((details["fvec"] ** 2).sum()), step


def _visible(points: Points, start: Array, free: Mask) -> Array:
    """Return a start whose free terms can be seen in the times: an absent term has no slope."""
    shortest, longest = np.log(_VISIBLE * points.time.min()), float(np.log(points.size.max()))
    visible = start.copy()
    lines = (PER_BYTE, PER_BYTE_OUT, HOST_OUT)
    for place, size in ((FIXED, 0.0), (SETUP, 0.0), *((line, longest) for line in lines)):
        visible[place] = max(start[place], shortest - size)
    visible[GAIN] = min(start[GAIN], start[INDEX] + start[EXPONENT] * longest - shortest)
    return np.where(free, visible, start)


# ---------------------------------------------------------------------------------- selection


EXACT_NOISE = 1e-9
"""Relative noise below which times count as exact."""
_MIN_EVIDENCE = 2.0  # of Akaike's criterion: what a term must gain (Burnham and Anderson 2002)
_ABSOLUTE_ROUNDS, _ROUNDS = 2, 6  # of the noise, by absolute errors and in all
_SHARP = 0.1  # of the noise: with so little, Huber's loss is the sum of absolute errors
_MIN_FREEDOM = 5  # degrees of freedom from which points of another kind can be found
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
    host_returned : bool
        Whether the times on the host are enough to show a cost of the bytes returned.
    """

    host: bool
    accelerated: bool
    returned: bool
    given: Mapping[int, float]
    host_returned: bool = False

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

    The exponent and the host's other terms are free in it: an interval does not take for granted
    that they were rightly left out. Around a linear law the two slopes of the accelerated time are
    one, since nothing tells them apart.
    """
    terms = {FIXED, INDEX, EXPONENT} if shape.host else {INDEX, EXPONENT}
    terms |= {HOST_OUT} if shape.host_returned else set()
    if shape.accelerated:
        terms |= {SETUP} | ({PER_BYTE_OUT} if shape.returned else set())
    if shape.both:
        known = {PER_BYTE, GAIN} & shape.given.keys()
        terms |= {PER_BYTE, GAIN} if known or not law.linear else {GAIN}
    return _law(shape, frozenset(terms))


def _terms(shape: Shape) -> Iterator[frozenset[int]]:
    """Yield sets of coordinates that a law may fit."""
    extra = [PER_BYTE_OUT] if shape.returned else []
    linear = shape.given.get(EXPONENT, 1.0) == 1.0
    for fixed, curved, out in itertools.product((False, True), repeat=3):
        if out and (curved or not linear or not shape.host_returned):
            continue
        power = [INDEX, *([EXPONENT] if curved else []), *([HOST_OUT] if out else [])]
        if shape.host:
            power += [FIXED] if fixed else []
        if not shape.accelerated:
            yield frozenset(power)
        elif not shape.host:
            yield frozenset([*power, SETUP, *extra])
        elif {PER_BYTE, GAIN} & shape.given.keys():
            yield frozenset([*power, SETUP, *extra, PER_BYTE, GAIN])
        elif not curved and linear:
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
    starts = [_start(points, law, shape, *pair) for pair in itertools.product(exponents, shares)]
    free = np.array(law.free)
    fits = [minimize(points, weight, start, free) for start in starts]
    first = min(range(len(fits)), key=lambda i: fits[i][1])
    other = minimize(points, weight, starts[first], free, careful=True)
    return min(fits[first], other, key=lambda fit: fit[1])


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
        start[HOST_OUT] = start[INDEX] + np.log(points.size.max()) * (exponent - 1.0) + np.log(0.3)
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
            # As many errors as there are terms are zero; the median is over the others.
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
    """Return one over the noise of each point, 0 for points that do not count."""
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

    `scores`: AICc; the laws in order of their terms.
    """
    best = min(scores.values())
    good = [
        law for law, score in scores.items() if np.isfinite(score) and score <= best + _MIN_EVIDENCE
    ]
    return min(good, key=lambda law: (law.terms, scores[law]), default=next(iter(scores)))


class Errors(NamedTuple):
    """Relative errors T/t − 1 of a law at the points of a table.

    Attributes
    ----------
    inside : ndarray, shape (points,)
        Of the law that all points are in.
    left_out : ndarray, shape (points,)
        Of the law that the point's size is not in.
    """

    inside: Array
    left_out: Array


def leave_one_out(points: Points, weight: Array, law: Law, fit: Array) -> Errors:
    """Return the errors of a law; each size is left out in turn, in both columns."""

    def relative(law: Array) -> Array:
        found = times(law, points.size, points.returned, points.accelerated)[0]
        return np.asarray(found / points.time - 1.0)

    left_out = np.empty(len(points.size))
    for size in np.unique(points.size):
        here = points.size == size
        other = minimize(points, np.where(here, 0.0, weight), fit, np.array(law.free))[0]
        left_out[here] = relative(other)[here]
    return Errors(relative(fit), left_out)


def formula(law: Law, shape: Shape) -> str:
    """Return a law in symbols, with its terms.

    >>> from dse.fit.law import Law
    >>> free = (True, True, False, True, False, False, True, False)
    >>> law = Law(free, (0.0, 0.0, 1.0, 0.0, -np.inf, -np.inf, 0.0, -np.inf))
    >>> formula(law, Shape(True, True, False, {}))
    'T0 = h + C g, T1 = c + s g'
    """
    there = [free or np.isfinite(v) for free, v in zip(law.free, law.values, strict=True)]
    power = "g" if law.linear else "g^β"
    parts = []
    if shape.host:
        out = " + k q" if there[HOST_OUT] else ""
        parts.append("T0 = " + ("h + " if there[FIXED] else "") + f"C {power}{out}")
    if shape.accelerated:
        terms = ["c"] if there[SETUP] else []
        if there[PER_BYTE]:
            terms.append("l g")
        if there[PER_BYTE_OUT] and shape.returned:
            terms.append("m q")
        if not shape.both or (law.linear and not there[PER_BYTE]):
            terms.append(f"s {power}")
        elif there[GAIN]:
            terms.append(f"C {power} / A")
        parts.append("T1 = " + " + ".join(terms))
    return ", ".join(parts)


class LawChoice(NamedTuple):
    """The law of a table, its coordinates, the noise, the points that count, and the scores.

    They are as in `Analysis`, without the intervals, which take most of the time.
    """

    law: Law
    fit: Array
    scale: Array
    kept: Mask
    scores: Mapping[Law, float]


def choose_law(points: Points, shape: Shape) -> LawChoice:
    """Return the law of a table, by the evidence for each law."""
    choices = candidate_laws(shape)
    wide = max((widest(shape, law) for law in choices), key=lambda law: law.terms)
    scale, kept = estimate_noise(points, wide, shape)
    weight = weights(points, scale, kept)
    fits = {law: fit_law(points, weight, law, shape)[0] for law in choices}
    scores = {law: evidence(points, scale, kept, fit, law) for law, fit in fits.items()}
    law = select_law(scores)
    return LawChoice(law, fits[law], scale, kept, scores)
