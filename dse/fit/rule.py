"""A dispatch rule: for which sizes, queues and loads of the host a call should be offloaded.

A call of g bytes takes T0(g) on the host. With n calls of its size at the accelerator, which serves
them in order, it takes T1(g) + n f T1(g), with f the part of its time that a call occupies the
accelerator. While a core of the host is idle, offloading is beneficial if the call ends sooner.
While all cores have other work, it is beneficial if it keeps the host busy for less time than T0,
up to the queue that keeps the accelerator busy: beyond it, calls only wait.

A rule has ranges of sizes, since T0 and T1 cross once or twice. Its thresholds are between measured
sizes: beyond all of them, the nearest decides.

Regret is the mean of (time of the rule's choice − minimum) / minimum of the two times of a call,
over sizes spread evenly in the logarithm. Measured times are joined by straight lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dse.fit.cpu_use import bound_busy
from dse.fit.law import Mask, choose_law, column_times, formula
from dse.fit.measurement_fit import Fit
from dse.fit.queue import Load, fit_load
from dse.fit.series import measured_times
from dse.model.quantity import Array
from dse.model.values import show, show_number, show_percent
from dse.problems import InputError, Problem

ANY = 2**64 - 1
"""The upper end of a range that has none."""
ON_TABLE, LEFT_OUT = "on the measured times", "with both sizes around the crossing left out"
"""Conditions of a regret."""
MAX_ERROR = 0.05
"""Median leave-one-out error up to which a law decides; and the regret of its rule."""
_DEPTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Queues with separate thresholds; other queues have the thresholds of the next longer one."""
_GAP = 1.1  # ends of a gap between sizes, as a ratio, that is too narrow for its own thresholds
_MIN_DEPTHS = 4
_POINTS = 4001  # of a curve, and of the sizes that regret is a mean of
_NOISY = 0.01  # relative noise from which a decision near a threshold is kept
_TABLES = 160  # tables with other noise
_REGRET = (
    "regret: mean loss of time against the better choice, over log-uniform sizes, with no call at "
    "the accelerator"
)
_NEAREST = "the nearest of these sizes decides"


class TimesCurve(NamedTuple):
    """Times of a call over its size, joined by straight lines.

    Attributes
    ----------
    size : ndarray, shape (points,)
        Bytes, ascending.
    host, accelerated : ndarray, shape (points,)
        Seconds, or any other unit.
    busy : ndarray, shape (points,)
        The most time that the host is busy with an accelerated call.
    """

    size: Array
    host: Array
    accelerated: Array
    busy: Array


class Range(NamedTuple):
    """Calls that are offloaded.

    Attributes
    ----------
    outstanding : int
        The most calls at the accelerator.
    all_busy : bool
        Whether all cores of the host must have other work.
    low, high : int
        The smallest and the largest size [B].
    """

    outstanding: int
    all_busy: bool
    low: int
    high: int


@dataclass(frozen=True)
class Rule:
    """A dispatch rule.

    Parameters
    ----------
    ranges : tuple of Range
        A call is offloaded if it is in any of them.
    valid : (float, float)
        The smallest and the largest size [B] with both times.
    outside : str
        The decision for other sizes.
    basis : str
        The source of the thresholds.
    assumptions : tuple of str
        On outstanding calls and on busy cores.
    regret : mapping of str to float
        By the condition that it was computed under.
    spread : int
        A decision is kept within a size over this number; 0 if the measurements are not noisy.
    reason : str
        Why a law does not decide; empty if it does.
    """

    name: str
    ranges: tuple[Range, ...]
    valid: tuple[float, float]
    outside: str
    basis: str
    assumptions: tuple[str, ...]
    regret: Mapping[str, float]
    spread: int = 0
    reason: str = ""

    @classmethod
    def of(cls, ranges: Sequence[Range]) -> Rule:
        """Return a rule of which only the ranges count."""
        return cls("", tuple(ranges), (0.0, 0.0), "", "", (), {})

    def decide(self, size: Array, outstanding: int = 0, all_busy: bool = False) -> Mask:
        """Return which calls are offloaded.

        `size` in bytes; `outstanding` calls at the accelerator; `all_busy`: all cores have other
        work.
        """
        chosen = np.zeros(np.shape(size), dtype=bool)
        for each in self.ranges:
            if outstanding <= each.outstanding and (all_busy or not each.all_busy):
                chosen |= (size >= each.low) & (size <= each.high)
        return chosen


def find_ranges(curve: TimesCurve, occupancy: float = 1.0) -> tuple[Range, ...]:
    """Return the ranges of a rule.

    `occupancy`: the part of an accelerated call's time that it occupies the accelerator.

    >>> size = np.array([1.0, 101.0])
    >>> find_ranges(TimesCurve(size, size, 0.0 * size + 41.0, 0.0 * size + 41.0))
    (Range(outstanding=0, all_busy=False, low=41, high=18446744073709551615), \
Range(outstanding=1, all_busy=False, low=82, high=18446744073709551615))
    """
    ranges: list[Range] = []
    for n in _DEPTHS:
        ahead = curve.host - (1.0 + n * occupancy) * curve.accelerated
        found = [Range(n, False, *ends) for ends in _beneficial(curve.size, ahead)]
        if not found:
            break
        last = ranges[-1].outstanding if ranges else 0
        same = [r for r in ranges if r.outstanding == last]
        if [r[2:] for r in same] == [r[2:] for r in found]:
            ranges = [r for r in ranges if r not in same]
        ranges += found
    if (curve.busy < curve.accelerated).any():
        full = math.ceil(1.0 / occupancy)
        gains = _beneficial(curve.size, curve.host - curve.busy)
        ranges += [Range(full, True, *ends) for ends in gains]
    return tuple(ranges)


def _beneficial(size: Array, ahead: Array) -> list[tuple[int, int]]:
    """Return the whole sizes between which a curve is not negative, without narrow gaps."""
    found: list[tuple[int, int]] = []
    inside = np.concatenate([[False], ahead >= 0.0, [False]])
    starts, ends = (
        np.flatnonzero(inside[1:] > inside[:-1]),
        np.flatnonzero(inside[1:] < inside[:-1]),
    )
    for first, last in zip(starts.tolist(), (ends - 1).tolist(), strict=True):
        low, high = 0, ANY
        if first > 0:
            low = math.ceil(_zero(size, ahead, first - 1))
        if last < len(size) - 1:
            high = math.floor(_zero(size, ahead, last))
        if found and low <= _GAP * found[-1][1]:
            low = found.pop()[0]
        found += [(low, high)] if low <= high else []
    return found


def _zero(size: Array, ahead: Array, k: int) -> float:
    """Return where the line between a point and the next one is zero."""
    fraction = ahead[k] / (ahead[k] - ahead[k + 1])
    return float(size[k] + fraction * (size[k + 1] - size[k]))


# -------------------------------------------------------------------------------------- regret


def find_regret(rule: Sequence[Range], curve: TimesCurve) -> float:
    """Return the regret of ranges on a curve; no call is at the accelerator, and a core is idle."""
    size = np.geomspace(curve.size[0], curve.size[-1], _POINTS)
    host, accelerated = (np.interp(size, curve.size, column) for column in curve[1:3])
    return _mean_loss(Rule.of(rule).decide(size), host, accelerated)


def _mean_loss(offloaded: Mask, host: Array, accelerated: Array) -> float:
    return float(
        np.mean(np.where(offloaded, accelerated, host) / np.minimum(host, accelerated)) - 1
    )


def _crossing_pairs(curve: TimesCurve) -> list[int]:
    """Return the first of the sizes around each crossing; without one, around the least gap."""
    ratio = np.log(curve.accelerated / curve.host)
    pairs = np.flatnonzero(np.sign(ratio[1:]) != np.sign(ratio[:-1])).tolist()
    return pairs or [int(np.argmin(np.abs(ratio[1:] + ratio[:-1])))]


def _without(fit: Fit, sizes: Array) -> Fit:
    """Return the fit of a table without some sizes, with the values of the whole."""
    kept = ~np.isin(fit.points.size, sizes)
    points = fit.points._replace(
        **{name: column[kept] for name, column in fit.points._asdict().items()}
    )
    law, coordinates, scale, some, scores = choose_law(points, fit.shape)
    analysis = replace(
        fit.analysis, law=law, fit=coordinates, scale=scale, kept=some, scores=scores
    )
    return replace(fit, points=points, analysis=analysis)


# ---------------------------------------------------------------------------------------- rules


def make_rule(fit: Fit) -> Rule:
    """Return the rule of a fit.

    The law decides if its median leave-one-out error is at most 5 %, it agrees with the rows, and
    its rule without the sizes around a crossing has a regret of at most 5 %. Otherwise the measured
    sizes decide.

    InputError if fewer than four sizes have both times: nothing then shows how good a rule is.
    """
    measured = TimesCurve(*(columns := measured_times(fit.series)), columns[2])
    if len(measured.size) < _MIN_DEPTHS:
        message = f"{len(measured.size)} sizes have both times, so there is no rule"
        remedy = f"measure host_s and accelerated_s at {_MIN_DEPTHS} or more sizes"
        raise InputError(fit.series.name, [Problem("", message, remedy)])
    occupancy, assumption = _occupancy(fit)
    measured = _with_busy(fit, measured)
    error, curve = fit.left_out["median"], law_curve(fit)
    ahead = measured.accelerated <= measured.host
    wrong = (Rule.of(find_ranges(curve)).decide(measured.size) != ahead).any()
    loss = _left_out_regret(fit, measured, by_law=True)
    reason = ""
    if error > MAX_ERROR:
        reason = f"the law's leave-one-out error is {show_percent(error)}"
    elif wrong:
        reason = "the law contradicts the measured times at a size"
    elif loss > MAX_ERROR:
        reason = f"the law's rule without the sizes around the crossing loses {show_percent(loss)}"
    basis = f"law {formula(fit.analysis.law, fit.shape)}, leave-one-out error {show_percent(error)}"
    if reason:
        curve, basis = measured, "straight lines between the measured times"
        loss = _left_out_regret(fit, measured, by_law=False)
    ranges = find_ranges(curve, occupancy)
    regret = {
        ON_TABLE: find_regret(ranges, measured),
        "with each size left out, at the measured sizes": _one_out_regret(
            fit, measured, by_law=not reason
        ),
        LEFT_OUT: loss,
        "under the noise of the times": _noise_regret(fit, ranges, measured, by_law=not reason),
    }
    valid = float(measured.size[0]), float(measured.size[-1])
    assumptions = assumption, _busy_assumption(measured)
    spread = _spread(fit, measured, by_law=not reason)
    outside = _NEAREST
    if not reason and (curve.size[0] < valid[0] or valid[1] < curve.size[-1]):
        ends = (show(size, "B") for size in (float(curve.size[0]), float(curve.size[-1])))
        outside = f"the law alone decides the others of {' to '.join(ends)}; beyond, {_NEAREST}"
    return Rule(fit.series.name, ranges, valid, outside, basis, assumptions, regret, spread, reason)


def law_curve(fit: Fit, ends: Array | None = None) -> TimesCurve:
    """Return the times of a fit's law between two sizes; between its measured ones by default."""
    ends = fit.points.size if ends is None else ends
    size = np.geomspace(ends.min(), ends.max(), _POINTS)
    host, accelerated = (
        column_times(fit.analysis.fit, size, size * fit.ratio, which) for which in (False, True)
    )
    return _with_busy(fit, TimesCurve(size, host, accelerated, accelerated))


def _with_busy(fit: Fit, curve: TimesCurve) -> TimesCurve:
    busy = bound_busy(fit.series, fit.bounds, curve.size, curve.accelerated)
    return curve if busy is None else curve._replace(busy=busy[1])


def _left_out_regret(fit: Fit, measured: TimesCurve, by_law: bool) -> float:
    """Return the most regret of rules that have not seen both sizes around a crossing."""
    losses = []
    for k in _crossing_pairs(measured):
        pair = measured.size[k : k + 2]
        rest = TimesCurve(*(np.delete(column, [k, k + 1]) for column in measured))
        curve = law_curve(_without(fit, pair), fit.points.size) if by_law else rest
        losses.append(find_regret(find_ranges(curve), measured))
    return max(losses)


def _one_out_regret(fit: Fit, measured: TimesCurve, by_law: bool) -> float:
    """Return the mean loss at the measured sizes, each decided without its own times."""
    chosen = []
    for k, size in enumerate(measured.size):
        if by_law:
            here = fit.points.size == size
            known = fit.points.time * (1.0 + fit.errors.left_out)
            device = fit.points.accelerated
            chosen.append(np.median(known[here & device]) <= np.median(known[here & ~device]))
        else:
            rest = TimesCurve(*(np.delete(column, k) for column in measured))
            rule = Rule.of(find_ranges(rest))
            chosen.append(bool(rule.decide(np.array([size]))[0]))
    return _mean_loss(np.array(chosen), measured.host, measured.accelerated)


def _noise_regret(fit: Fit, ranges: tuple[Range, ...], measured: TimesCurve, by_law: bool) -> float:
    """Return the mean regret if the true times are of tables with other noise."""
    analysis, losses = fit.analysis, []
    if by_law:
        for law in fit.samples:
            other = replace(fit, analysis=replace(analysis, fit=law))
            losses.append(find_regret(ranges, law_curve(other)))
    else:
        normal = np.random.default_rng(0).standard_normal((_TABLES, 2, len(measured.size)))
        for host, accelerated in np.exp(analysis.scale[:, None] * normal):
            changed = measured.host * host, measured.accelerated * accelerated
            losses.append(find_regret(ranges, TimesCurve(measured.size, *changed, changed[1])))
    return float(np.mean(losses))


def _spread(fit: Fit, measured: TimesCurve, by_law: bool) -> int:
    """Return the part of a size by which a threshold is uncertain, as its inverse; 0 for none."""
    if fit.analysis.scale.max() <= _NOISY:
        return 0
    ends, size = fit.analysis.break_even_interval, fit.analysis.break_even
    if not by_law:
        k = _crossing_pairs(measured)[0]
        ends = float(measured.size[k]), float(measured.size[k + 1])
        size = math.sqrt(ends[0] * ends[1])
    if size is None or ends is None or not measured.size[0] <= size <= measured.size[-1]:
        return 0
    widest_part = max(size / max(ends[0], 1.0), ends[1] / size) - 1.0
    return max(1, math.floor(1.0 / widest_part)) if widest_part > 0.0 else 0


def _occupancy(fit: Fit) -> tuple[float, str]:
    """Return the part of a call's time that it occupies the accelerator, and its source."""
    size, depth, latency = fit.series.queue.T
    parts = []
    for one in np.unique(size):
        rows = np.flatnonzero(size == one)[np.argsort(depth[size == one], kind="stable")]
        if len(np.unique(depth[rows])) >= _MIN_DEPTHS:
            values = fit_load(Load("", depth[rows], latency[rows])).parameters
            service = values.get("service_time", 0.0)
            whole = service + values.get("overhead", values.get("overhead_and_service_time", 0.0))
            # Calls that do not delay each other leave the accelerator room for that many.
            parts.append(service / whole or 1.0 / float(depth[rows].max()))
    if parts:
        part = min(float(np.median(parts)), 1.0)
        return part, (
            f"outstanding: each call at the accelerator delays the next by {show_percent(part)} "
            "of the time of a call of its size, by the queue depths of the table"
        )
    return 1.0, (
        "outstanding: assumption: each call at the accelerator delays the next by the whole time "
        "of a call of its size; no queue depths were measured"
    )


def _busy_assumption(measured: TimesCurve) -> str:
    if (measured.busy < measured.accelerated).any():
        return (
            "cores_busy: with OFFLOAD_CORES or more, the busy time of the host decides, at the "
            "upper bound that the CPU use of the table allows"
        )
    return (
        "cores_busy: no effect; assumption: the host waits for the call, since no CPU use below "
        "90 % was measured"
    )


def show_regret(loss: float) -> str:
    """Return a regret in percent.

    >>> show_regret(0.012345), show_regret(3e-9)
    ('1.2 %', '0 %')
    """
    return f"{show_number(round(100.0 * loss, 4), 2)} %"


def describe_rule(rule: Rule) -> list[str]:
    """Return the facts about a rule, as lines of a comment or of an answer."""
    low, high = (show(size, "B") for size in rule.valid)
    return [
        f"thresholds: {rule.basis}",
        *([f"reason: {rule.reason}"] if rule.reason else []),
        f"valid: calls of {low} to {high}; {rule.outside}",
        *rule.assumptions,
        *([_REGRET] if rule.regret else []),
        *(f"regret {name}: {show_regret(loss)}" for name, loss in rule.regret.items()),
    ]


def summarize_rule(rule: Rule) -> str:
    """Return a rule in a line."""
    idle = [each for each in rule.ranges if not each.all_busy]
    first = min((each.outstanding for each in idle), default=0)
    spans = [
        "always"
        if (low, high) == (0, ANY)
        else f"{show(low, 'B')} to {show(high, 'B')}"
        if high < ANY
        else f"from {show(low, 'B')}"
        for _, _, low, high in (each for each in idle if each.outstanding == first)
    ]
    text = " and ".join(spans) or "never"
    if rule.regret:
        text += f"; regret at most {show_regret(max(rule.regret.values()))}"
    return f"{text}; by the measured sizes, since {rule.reason}" if rule.reason else text
