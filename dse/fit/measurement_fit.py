"""The fit of a series: given values, the law with its errors, and notes for the reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from dse.fit.cpu_use import bound_busy_time, bound_freed_time
from dse.fit.intervals import (
    Analysis,
    Covariance,
    Interval,
    analyse,
    estimate_covariance,
    sample_fits,
)
from dse.fit.law import (
    EXPONENT,
    FIXED,
    GAIN,
    INDEX,
    PER_BYTE,
    SETUP,
    Errors,
    LawChoice,
    Mask,
    Points,
    Shape,
    choose_law,
    crossings,
    formula,
    leave_one_out,
    times,
    weights,
)
from dse.fit.series import Series
from dse.model.quantity import Array
from dse.model.units import UnitError, read_value, split_value
from dse.model.values import join_words, json_value, show, show_number
from dse.problems import InputError, Problem, nearest

OUTLIER = 4.0
"""Standard deviations from which a point is called an outlier."""
_MAX_FIXED = 1.1  # times the shortest time: noise of a host's fixed cost
_POOR = 0.2  # median relative error of sizes left out, from which a fit is unreliable
_KINK_SIZES = 6  # in which a kink can be distinguished from noise
_KINK_CHANCE = 0.001  # of a kink in times that have none
_KINK_EFFECT = 0.02  # relative: a smaller kink is not worth a note
_SLIGHT = 0.05  # of the shortest accelerated time: a smaller fixed cost is nearly none
_FEW = 3  # degrees of freedom
_MIN_RETURNS = 6  # times on the host from which they may show a cost of the bytes returned
_SLOWEST = 0.1  # speedup of the work itself: slower accelerators are hardly built
_NOISE, _LOOSE, _RANK = 0.8, 0.25, 0.5  # noise that no law has, or none of times that do not rise
_FLAT = 1.1  # growth of times over all sizes, below which there is none
_STEEPEST = 3.0  # the maximum of the exponent of work
GIVEN_UNITS: Mapping[str, str] = {
    "overhead": "s",
    "latency": "s",
    "latency_per_byte": "s/B",
    "acceleration": "1",
    "computational_index": "s/B",
    "complexity": "1",
    "host_fixed_time": "s",
    "clock": "Hz",
}
"""The values that `--given` takes, with their units."""
_MAY_BE_ZERO = ("overhead", "latency", "latency_per_byte", "host_fixed_time")
_USUAL = {"s": "us", "s/B": "ns/B", "Hz": "GHz"}  # units of an example
_UNITS = {
    "overhead_and_latency": "s",
    "latency_per_byte_out": "s/B",
    "host_time_per_byte_out": "s/B",
    "busy_per_byte": "s/B",
    "freed_time": "s",
    "accelerated_time_per_byte": "s/B",
    "speedup_limit": "1",
    **GIVEN_UNITS,
}
"""The units of a fit's values; sizes have none here, and work is per byte**β."""
_OF_WORK = ("computational_index", "accelerated_time_per_byte")
_PLACES = {
    "latency_per_byte": PER_BYTE,
    "acceleration": GAIN,
    "computational_index": INDEX,
    "complexity": EXPONENT,
    "host_fixed_time": FIXED,
}


@dataclass(frozen=True)
class Fit:
    """The fit of a series.

    Parameters
    ----------
    points : Points
        Its times, those of the host first.
    parameters : mapping of str to float
        Seconds and bytes, by name.
    intervals : mapping of str to (float, float)
        95 %, of each parameter.
    ratio : float
        Bytes returned per byte sent.
    bounds : mapping of str to (float, float)
        Of values that CPU use bounds: the overhead, and the host's busy time per byte.
    freed : mapping of float to (float, float)
        By size of a call [B]: the bounds of the host time [s] that the accelerator frees, which
        is the time on the host less the busy time of an accelerated call.
    """

    series: Series
    points: Points
    analysis: Analysis
    parameters: Mapping[str, float]
    intervals: Mapping[str, Interval]
    errors: Errors
    ratio: float
    notes: list[str]
    given: Mapping[str, float]
    shape: Shape
    bounds: Mapping[str, Interval]
    freed: Mapping[float, Interval]

    @cached_property
    def samples(self) -> Array:
        """The laws (samples, 8) of tables that the widest law and its noise make."""
        return sample_fits(self.points, self.analysis, self.shape)

    @cached_property
    def covariance(self) -> Covariance:
        """How the values vary together."""
        parts = self.analysis, self.parameters, self.given, self.shape
        return estimate_covariance(self.samples, *parts)

    def show(self, name: str, value: float) -> str:
        """Return a value with its unit."""
        return show_parameter(name, value, self.parameters.get("complexity", 1.0))

    @property
    def left_out(self) -> dict[str, float]:
        """Median and worst relative error of points that the fit has not seen."""
        sizes = np.abs(self.errors.left_out)
        return {"median": float(np.median(sizes)), "worst": float(sizes.max())}

    def record(self) -> dict[str, Any]:
        """Return the fit as data for JSON."""
        record = {
            "parameters": self.parameters,
            "intervals": self.intervals,
            **({"bounds": self.bounds} if self.bounds else {}),
            **({"freed_time": self.freed} if self.freed else {}),
            "break_even": self.analysis.break_even,
            "break_even_interval": self.analysis.break_even_interval,
            "leave_one_out": self.left_out,
            "notes": self.notes,
            "covariance": {
                "of": list(self.covariance.names),
                "matrix": self.covariance.matrix.tolist(),
            },
        }
        return dict(json_value(record))


def fit(series: Series, given: Mapping[str, float] | None = None) -> Fit:
    """Fit a series.

    `given`: known values, in seconds and bytes: see `GIVEN_UNITS`.

    InputError if the times do not follow the sizes, or a given value does not fit the columns.
    """
    given = given or {}
    points, ratio = _points(series)
    device = points.accelerated
    host, returned = int((~device).sum()), ratio > 0.0
    enough = returned and host >= _MIN_RETURNS
    shape = Shape(host > 0, bool(device.any()), returned, _coordinates(given), enough)
    _check_given(series, shape, given)
    choice = choose_law(points, shape)
    _check_mismatch(series, points, shape, given, choice)
    analysis = analyse(points, shape, ratio, choice)
    weight = weights(points, analysis.scale, analysis.kept)
    errors = leave_one_out(points, weight, analysis.law, analysis.fit)
    values, spans, notes = _split_sum(series, analysis, given)
    bounds, bounded = bound_busy_time(series, analysis)
    freed = bound_freed_time(series, bounds)
    notes = [
        *note_poor_fit(points, errors, _fitted_with(given)),
        *describe_fit(series, points, analysis, shape, given, ratio),
        *([bounded] if bounded else []),
        *note_freed_time(freed),
        *notes,
        *note_outliers(points, analysis.scale, errors.inside),
        *note_kinks(points, errors.inside),
    ]
    parts = values, spans, errors, ratio, notes, given, shape, bounds, freed
    return Fit(series, points, analysis, *parts)


def _points(series: Series) -> tuple[Points, float]:
    """Return a series as points, and the median of bytes returned for each byte sent.

    The median is 0 if as many bytes are returned per byte at every size: nothing then separates
    their time from that of the bytes sent.
    """
    returned = np.where(np.isfinite(series.returned), series.returned, 0.0)
    on_host, on_device = np.isfinite(series.host), np.isfinite(series.accelerated)
    size, out, time = (
        np.concatenate([column[on_host], other[on_device]])
        for column, other in (
            (series.size, series.size),
            (returned, returned),
            (series.host, series.accelerated),
        )
    )
    ratio = out / size
    varied = bool((out > 0.0).any()) and bool(np.ptp(ratio) >= 1e-3 * ratio.max())
    which = np.repeat([False, True], [on_host.sum(), on_device.sum()])
    return Points(size, out, time, which), float(np.median(returned / series.size)) * varied


def _check_given(series: Series, shape: Shape, given: Mapping[str, float]) -> None:
    """Raise InputError if given values do not fit the columns, or each other."""
    of_device = {"latency_per_byte", "acceleration"}
    useless: set[str] = set()
    if not shape.accelerated:
        useless |= {"overhead", "latency", *of_device} & given.keys()
    if not shape.host:
        useless |= {"computational_index", "host_fixed_time", *of_device} & given.keys()
    shortest = float(np.nanmin(series.host)) if shape.host else np.inf
    message = remedy = ""
    if of_device <= given.keys():
        message = "latency_per_byte and acceleration are both given"
    elif useless:
        missing = "host_s" if shape.accelerated else "accelerated_s"
        message = f"{min(useless)} has no effect without {missing}, which is not measured"
    elif (fixed := given.get("host_fixed_time", 0.0)) > _MAX_FIXED * shortest:
        message = f"host_fixed_time is given as {show(fixed, 's')}, which no call can be below"
        remedy = f"the shortest measured call on the host takes {show(shortest, 's')} in all"
    if message:
        raise InputError(series.name, [Problem("--given", message, remedy)])


def _check_mismatch(
    series: Series,
    points: Points,
    shape: Shape,
    given: Mapping[str, float],
    choice: LawChoice,
) -> None:
    """Raise InputError if times do not follow the sizes; name the given value that is to blame."""
    message, remedy = describe_mismatch(series, choice)
    if not message:
        return
    problem = Problem("", message, remedy)
    names = _fitted_with(given)
    for without in [[name] for name in names] + [names] * (len(names) > 1):
        rest = {name: value for name, value in given.items() if name not in without}
        plain = choose_law(points, replace(shape, given=_coordinates(rest)))
        if not describe_mismatch(series, plain)[0]:
            values = join_words([f"{n} is given as {show_parameter(n, given[n])}" for n in without])
            them = "them" if len(without) > 1 else "it"
            problem = Problem("--given", f"{values}: with {them} {message}", f"leave {them} out")
            break
    raise InputError(series.name, [problem])


def _split_sum(
    series: Series, analysis: Analysis, given: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Interval], list[str]]:
    """Return the values with o + L split by a given one of them, and notes on the rest."""
    values, spans = dict(analysis.parameters), dict(analysis.intervals)
    known = next((name for name in ("overhead", "latency") if name in given), None)
    if known is None or "overhead_and_latency" not in values:
        return values, spans, []
    other = "latency" if known == "overhead" else "overhead"
    total, (low, high) = values.pop("overhead_and_latency"), spans.pop("overhead_and_latency")
    value = given[known]
    if value > high:
        message = (
            f"{known} is given as {show(value, 's')}, but a call has {show(total, 's')} for "
            f"overhead and latency together ({show(low, 's')} to {show(high, 's')})"
        )
        raise InputError(series.name, [Problem("--given", message)])
    values |= {known: value, other: max(total - value, 0.0)}
    spans |= {known: (value, value), other: (max(low - value, 0.0), max(high - value, 0.0))}
    notes = []
    if total < value:
        notes.append(f"the given {known} is more than the times have: {total:.4g} s in all")
    return values, spans, notes


# ------------------------------------------------------------------------------------ given values


def read_given_values(texts: Sequence[str]) -> dict[str, float]:
    """Read texts such as ``"overhead=5 us"``.

    InputError with all problems of the texts.

    >>> read_given_values(["overhead=5 us", "acceleration = 8"])
    {'overhead': 5e-06, 'acceleration': 8.0}
    """
    pairs = [(name.strip(), value.strip()) for name, _, value in (t.partition("=") for t in texts)]
    values: dict[str, float] = {}
    problems: list[Problem] = []
    clock = None
    for name, text in sorted(pairs, key=lambda pair: pair[0] != "clock"):
        if name not in GIVEN_UNITS:
            problems.append(Problem("--given", f"'{name}' is unknown", nearest(name, GIVEN_UNITS)))
            continue
        unit = GIVEN_UNITS[name]
        message = remedy = ""
        lowest = "0 or more" if name in _MAY_BE_ZERO else "more than 0"
        try:
            value = read_value(text, unit, clock)
            if unit != "1" and value != 0.0 and not split_value(text)[2]:
                message = f"{name} = {text} has no unit"
                remedy = f'such as {name}="{text} {_USUAL[unit]}"'
            elif value < 0.0 or not np.isfinite(value) or (not value and name not in _MAY_BE_ZERO):
                message = f"{name} is {text}, but must be {lowest}"
            elif name == "complexity" and value > _STEEPEST:
                message = f"complexity is {text}, but must be more than 0 and at most {_STEEPEST:g}"
                remedy = "1 is work that grows as the bytes do"
            elif name in values:
                message, remedy = f"{name} is given several times", "give one"
            clock = value if name == "clock" else clock
            values[name] = value
        except UnitError as error:
            message, remedy = f"{name}: {error}", f'{name}="1 {unit}"'
        if message:
            problems.append(Problem("--given", message, remedy))
    if {"overhead", "latency"} <= values.keys():
        message = "overhead and latency are both given"
        problems.append(Problem("--given", message, "the times give their sum"))
    if problems:
        raise InputError("dse fit", problems)
    return {name: values[name] for name, _ in pairs}


@np.errstate(divide="ignore")
def _coordinates(given: Mapping[str, float]) -> dict[int, float]:
    """Return the coordinates of a law that are given."""
    places = {place: given[name] for name, place in _PLACES.items() if name in given}
    return {p: v if p == EXPONENT else float(np.log(v)) for p, v in places.items()}


def _fitted_with(given: Mapping[str, float]) -> list[str]:
    """Return the given values that a law is fitted with; the others split its sums afterwards."""
    return [name for name in given if name in _PLACES]


def show_parameter(name: str, value: float, beta: float = 1.0) -> str:
    """Return a value of a fit with its unit.

    >>> show_parameter("latency_per_byte", 9.3e-9), show_parameter("acceleration", np.inf)
    ('9.3 ns/B', '∞')
    >>> show_parameter("computational_index", 9.3e-9, 1.25)
    '9.3 ns/B^1.25'
    """
    unit = _UNITS.get(name, "B")
    if np.isinf(value):
        return "∞"
    if unit == "s/B":
        scale, prefix = (1e-9, "n") if value >= 1e-10 else (1e-12, "p")
        power = f"^{show_number(beta)}" if name in _OF_WORK and show_number(beta) != "1" else ""
        return f"{show_number(value / scale)} {prefix}s/B{power}"
    return show(value, unit)


# ------------------------------------------------------------------------------ errors and notes


def _columns(points: Points) -> tuple[tuple[str, Mask], ...]:
    columns = ("host", ~points.accelerated), ("accelerated", points.accelerated)
    return tuple((word, column) for word, column in columns if column.any())


def note_poor_fit(points: Points, errors: Errors, given: Sequence[str]) -> Iterator[str]:
    """Yield that a law misses the times that it has not seen, if it does."""
    doubt = f"is {join_words(given)} as given, " if given else ""
    for word, column in _columns(points):
        if (off := float(np.median(np.abs(errors.left_out[column])))) > _POOR:
            yield (
                f"left out of the fit, the {word} times are {off:.0%} off in the median: the "
                f"values are unreliable. Check: {doubt}is it one series (--by), and one kind of "
                "call?"
            )


def note_outliers(points: Points, scale: Array, inside: Array) -> Iterator[str]:
    """Yield a sentence on points that are far from the law, against the noise."""
    for word, column in _columns(points):
        noise = max(float(scale[int(word == "accelerated")]), 1e-6)
        far = np.flatnonzero(column & (np.abs(inside) > OUTLIER * noise))
        if far.size:
            shown = [
                f"{show(points.size[k], 'B')} ({-inside[k] / (1 + inside[k]):+.0%})"
                for k in far[:3]
            ]
            more = f" and {far.size - 3} more" if far.size > 3 else ""
            plural = "s" if far.size > 1 else ""
            yield f"{word}: outlier{plural} at {join_words(shown)}{more}, which count little"


def note_kinks(points: Points, inside: Array) -> Iterator[str]:
    """Yield a sentence on each column in which a step or a bend is beyond noise.

    The errors are compared with a step and a change of slope at each size. The best is noted if its
    F-test, times the sizes tried, is below 0.001.
    """
    for word, column in _columns(points):
        sizes = np.unique(points.size[column])
        if len(sizes) < _KINK_SIZES:
            continue
        x = np.log(points.size[column])
        y = -np.log1p(inside[column])
        chance, effect, size = min((*_kink(x, y, np.log(size)), size) for size in sizes[2:-1])
        if chance * (len(sizes) - 3) < _KINK_CHANCE and effect > _KINK_EFFECT:
            before = sizes[np.searchsorted(sizes, size) - 1]
            yield (
                f"{word}: a kink between {show(before, 'B')} and {show(size, 'B')}, "
                f"{effect:.0%} of the time: a cache, a threshold, a second code path, "
                "or several requests in flight? Fit the sizes on each side separately"
            )


def _kink(x: Array, y: Array, place: float) -> tuple[float, float]:
    """Return the chance of a step and bend at a place by noise, and how much it explains."""
    smooth = np.column_stack([np.ones_like(x), x])
    after = x >= place - 1e-9
    bent = np.column_stack([smooth, after, np.where(after, x - place, 0.0)])
    fits = [m @ np.linalg.lstsq(m, y, rcond=None)[0] for m in (smooth, bent)]
    plain, better = (float(((y - fit) ** 2).sum()) for fit in fits)
    freedom = len(x) - 4
    if freedom < 1 or better >= plain:
        return 1.0, 0.0
    ratio = (plain - better) / 2 / max(better / freedom, 1e-24)
    return float(stats.f.sf(ratio, 2, freedom)), float(np.ptp(fits[1]))


def describe_mismatch(series: Series, found: LawChoice) -> tuple[str, str]:
    """Return how times do not follow the sizes, and a remedy; empty texts if they do."""
    sizes = np.array([series.size.min(), series.size.max()])
    which = np.full(2, not np.isfinite(series.host).any())
    ends = times(found.fit, sizes, np.zeros(2), which)[0]
    if ends[1] < _FLAT * ends[0]:
        message = "the times hardly grow with the sizes: there is no work per byte to fit"
        return message, "measure larger calls"
    for accelerated, word in enumerate(("host", "accelerated")):
        size, time = series.column(bool(accelerated))
        if not size.size:
            continue
        noise = float(found.scale[accelerated])
        if noise > _NOISE or (noise > _LOOSE and not stats.spearmanr(size, time)[0] > _RANK):
            message = f"the {word} times do not follow the sizes: the fit is {noise:.0%} off"
            return message, "check that it is one series, that rows are whole, and column names"
    return "", ""


def describe_fit(
    series: Series,
    points: Points,
    found: Analysis,
    shape: Shape,
    given: Mapping[str, float],
    ratio: float,
) -> Iterator[str]:
    """Yield the sentences on a fit, the most important first."""
    if shape.both:
        yield _describe_break_even(series, found, ratio)
    yield _selection(found, shape)
    yield from _sums(found, shape, given)
    if (count := len(points.size)) - found.law.terms <= _FEW:
        yield f"few points: {count} times for {found.law.terms} values; intervals are wide"
    if shape.accelerated:
        shortest = float(points.time[points.accelerated].min())
        if float(np.exp(found.fit[SETUP])) < _SLIGHT * shortest:
            yield (
                "an accelerated call has nearly no fixed cost: are calls batched, or several in "
                "flight? Then these are not times of one call"
            )


def _describe_break_even(series: Series, found: Analysis, ratio: float) -> str:
    """Return for which sizes offloading is beneficial; no sentence contradicts the rows."""
    low, end = crossings(found.fit, ratio)
    span = f" up to {show(end, 'B')}" if np.isfinite(end) else ""
    law = "at every size" if found.always and not span else "at no size"
    if not found.always and np.isfinite(low):
        law = f"from {show(low, 'B')}{span}"
    elif span:
        law = span.strip()
    size, returned, ahead = _measured_gains(series)
    calls = f"for calls that return {show_number(ratio)} B per byte, " * (ratio > 0.0)
    if not size.size:
        return f"{calls}offloading is beneficial {law} by the law: no size has both times"
    host, device = (
        times(found.fit, size, returned, np.full(len(size), which))[0] for which in (False, True)
    )
    if (wrong := (device <= host) != ahead).any():
        return (
            "the law is wrong on break-even. By the rows, offloading is beneficial at "
            f"{_list_sizes(size[ahead])}. The law differs at {_list_sizes(size[wrong])}"
        )
    if (other := ((size >= low) & (size <= end)) != ahead).any():
        return (
            f"{calls}offloading is beneficial {law} by the law. "
            f"Rows that return other amounts differ at {_list_sizes(size[other])}"
        )
    ends = f"the measured sizes, {show(size.min(), 'B')} to {show(size.max(), 'B')}"
    beyond = " (an extrapolation)"
    if not ahead.any():
        text = f"{calls}offloading is not beneficial within {ends}. By the law it is {law}{beyond}"
        limit = min(found.parameters.get(n, np.inf) for n in ("acceleration", "speedup_limit"))
        if limit >= _SLOWEST or ratio:
            return text
        return (
            f"{text}: large calls take at least {show_number(1 / limit)} times as long as on the "
            "host. Is the unit in the name of a column wrong?"
        )
    if ahead.all():
        return f"{calls}offloading is beneficial at all of {ends}. By the law it is {law}{beyond}"
    outside = (low < size.min() and low > 0.0) or size.max() < end < np.inf
    return f"{calls}offloading is beneficial {law}{beyond if outside else ''}"


def note_freed_time(freed: Mapping[float, Interval]) -> Iterator[str]:
    """Yield for which sizes an accelerated call frees host time, and for which it costs more."""
    if not freed:
        return
    size = np.array(list(freed))
    low, high = np.array(list(freed.values())).T
    yield (
        "freed_time is host_s less the time that the host is busy with an accelerated call. "
        f"Frees host time: {_list_sizes(size[low > 0.0])}. "
        f"Costs more host time: {_list_sizes(size[high < 0.0])}"
    )


def _list_sizes(sizes: Array) -> str:
    return join_words([show(size, "B") for size in np.unique(sizes).tolist()]) or "no size"


def _measured_gains(series: Series) -> tuple[Array, Array, Mask]:
    """Return sizes with both times, bytes returned, and if the accelerated time is not longer.

    Repeats count by their median; rows that return other bytes are no repeats.
    """
    calls = np.column_stack([series.size, np.nan_to_num(series.returned)])
    found = []
    for call in np.unique(calls, axis=0):
        rows = (calls == call).all(axis=1)
        host, device = (c[rows & np.isfinite(c)] for c in (series.host, series.accelerated))
        if host.size and device.size:
            found.append((*call, np.median(device) <= np.median(host)))
    size, returned, ahead = np.array(found).reshape(-1, 3).T
    return size, returned, ahead.astype(bool)


def _selection(found: Analysis, shape: Shape) -> str:
    own = found.scores[found.law]
    others = {
        law: score for law, score in found.scores.items() if law != found.law and np.isfinite(score)
    }
    text = f"law: {formula(found.law, shape)}"
    if not others or not np.isfinite(own):
        return f"{text}, the simplest: the points are too few to compare others"
    next_best = min(others, key=lambda law: others[law])
    return (
        f"{text}, by evidence: AICc {own:.1f}; the best other, "
        f"{formula(next_best, shape)}, has {others[next_best]:.1f} (fewer terms win within 2)"
    )


def _sums(found: Analysis, shape: Shape, given: Mapping[str, float]) -> Iterator[str]:
    """Yield the values that the times give as a sum only, and measurements that would split it."""
    values = found.parameters
    if "overhead_and_latency" in values and not {"overhead", "latency"} & given.keys():
        yield (
            f"o + L is {show(values['overhead_and_latency'], 's')}: the times of whole calls do "
            "not separate o from L. Time how long the host is busy with a call, and give it: "
            '--given overhead="… s"'
        )
    if "speedup_limit" in values:
        yield (
            f"l + C/A is {show_number(values['accelerated_time_per_byte'] * 1e9)} ns/B: with β = 1 "
            "the two are one slope. A is at least "
            f"{show_number(found.intervals['speedup_limit'][0])}, and "
            "l at most that slope. A kernel of another β on the same engine, a copy without "
            'computing, or --given latency_per_byte="… s/B" or acceleration=… splits it'
        )
    if not shape.host:
        yield "C and A need the time on the host: s is C/A, and l with it if β = 1"
    free = found.law.free
    if not found.law.linear and free[PER_BYTE]:
        low, _ = found.intervals.get("latency_per_byte", (1.0, 1.0))
        if low == 0.0:
            yield "l and C/A are hardly separable: g and g**β are alike at these sizes"
