"""Latency against load: the service time and the overhead of a queue, fitted.

With a number of requests kept in flight, each passes a queue that serves one in s seconds, and
spends o elsewhere; service times are exponential. Then mean value analysis is exact (Reiser and
Lavenberg 1980)::

    T(n) = o + s (1 + q(n - 1)),    q(n) = n (T(n) - o) / T(n),    q(0) = 0

With requests offered at a rate r whether or not others are done, and a capacity c::

    T(r) = o + s / (1 - r / c)

which is the mean of M/M/1 if one request is all that s serves, and of batches that come together
if s is longer than one takes at the capacity. Latencies that do not rise give o + s alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

from dse.fit.series import (
    check_series_columns,
    describe_left_out,
    name_series,
    open_table,
    read_column,
)
from dse.model.quantity import Array
from dse.model.units import UnitError, resolve_unit
from dse.model.values import join_words, json_value, plural, show, show_number
from dse.problems import InputError, Problem

_MIN_LOADS = 4
_MAX_IN_FLIGHT = 4_096  # requests that are followed, one after another
_ABSENT = 1e-6  # of the shortest latency: a smaller overhead is none
_RISE_CHANCE = 0.05  # of taking latencies that do not rise for ones that do
_FAR_OFF = 0.2  # median relative error of a queue that does not explain latencies
_NO_GAIN = 1e-6  # of the loss: a queue that takes no more off it is none
_EXACT = 1e-18  # mean square of a relative error that is only rounding
_FAR = 20.0  # in logarithms: beyond it an interval is open
_STIFFNESS = 1e3  # of a condition on a fit, over a relative error
_FULL = 8.0  # growth of latency between neighbouring loads from which the queue is full
_IN_FLIGHT = ("queue_depth", "in_flight")
_OFFERED = ("offered_total", "offered")
_LATENCY = ("latency", "latency_mean")
_RATE = re.compile(r"[A-Za-z]+(ps|/s)|iops|IOPS")


@dataclass(frozen=True)
class Load:
    """Measured latency against load.

    Parameters
    ----------
    load : ndarray, shape (points,)
        Requests in flight, or a rate that is offered, ascending.
    latency : ndarray, shape (points,)
        Mean seconds of a request.
    unit : str
        Unit of the rate; empty if `load` counts requests in flight.
    """

    name: str
    load: Array
    latency: Array
    unit: str = ""

    def without(self, points: Any) -> Load:
        """Return the series without some points."""
        load, latency = np.delete(self.load, points), np.delete(self.latency, points)
        return replace(self, load=load, latency=latency)


@dataclass(frozen=True)
class LoadFit:
    """The fit of a queue to a series of latencies.

    Parameters
    ----------
    series : Load
        The points that are fitted.
    parameters : mapping of str to float
        ``service_time`` and ``overhead`` [s], ``capacity`` of a rate; and ``knee``: the requests
        in flight beyond which more of them wait, or the rate at which latency has doubled. If the
        latencies do not distinguish the two times: ``overhead_and_service_time``, their sum, and
        a capacity and a knee of inf.
    intervals : mapping of str to (float, float)
        95 %, by profile likelihood.
    errors : ndarray, shape (points,)
        Relative, of each point that was left out of the fit.
    full : float or None
        The load from which on points were left out, as the queue was full.
    """

    series: Load
    parameters: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    errors: Array
    full: float | None

    @property
    def left_out(self) -> dict[str, float]:
        """Median and worst relative error of loads that the fit has not seen."""
        sizes = np.abs(self.errors)
        return {"median": float(np.median(sizes)), "worst": float(sizes.max())}

    def show(self, name: str, value: float) -> str:
        """Return a value with its unit."""
        if np.isinf(value):
            return "∞"
        if name in ("capacity", "knee"):
            return f"{show_number(value)} {self.series.unit or 'in flight'}"
        return show(value, "s")

    @cached_property
    def notes(self) -> list[str]:
        """Remarks for the reader."""
        notes = []
        if "overhead_and_service_time" in self.parameters:
            whole = show(self.parameters["overhead_and_service_time"], "s")
            more = "loads up to the capacity" if self.series.unit else "more requests in flight"
            notes.append(
                "overhead and service time cannot be distinguished, for latency does not rise with "
                f"the load: their sum is {whole}. Measure {more}"
            )
        if self.full is not None:
            notes.append(f"from a load of {show_number(self.full)} on the queue is full: left out")
        if self.left_out["median"] > _FAR_OFF:
            notes.append(
                f"loads left out are {self.left_out['median']:.0%} off in the median, so the fit "
                "is unreliable: more than one queue, or requests that do not come by chance?"
            )
        undetermined = [
            name
            for name, (low, high) in self.intervals.items()
            if np.isinf(high) and low <= _lowest(self.series, name)
        ]
        if undetermined:
            notes.append(f"the latencies do not determine {join_words(undetermined)}")
        return notes

    def record(self) -> dict[str, Any]:
        """Return the fit as data for JSON; a queue has no break-even."""
        record = {
            "parameters": self.parameters,
            "intervals": self.intervals,
            "break_even": None,
            "break_even_interval": None,
            "leave_one_out": self.left_out,
            "notes": self.notes,
            "load_unit": self.series.unit or "in flight",
        }
        return dict(json_value(record))


# ------------------------------------------------------------------------------------------- fit


@np.errstate(all="ignore")
def latency(load: Array, values: Array) -> Array:
    """Return the mean latency at some loads; inf at and above the capacity.

    `values`: overhead and service time [s]; of a rate the capacity as well.
    """
    overhead, service = values[:2].tolist()  # Python's numbers: the loop takes a third of the time
    if len(values) == 3:
        fraction = load / values[2]
        return np.asarray(np.where(fraction < 1, overhead + service / (1.0 - fraction), np.inf))
    waiting, times = 0.0, [np.nan]
    for n in range(1, int(load.max()) + 1):
        times.append(overhead + service * (1.0 + waiting))
        waiting = n * (times[n] - overhead) / times[n]
    return np.asarray(np.array(times)[load.astype(int)])


def fit_load(series: Load) -> LoadFit:
    """Fit a queue to latencies, in relative error."""
    leaps = np.flatnonzero(series.latency[1:] > _FULL * series.latency[:-1]) + 1
    full = None
    if series.unit and leaps.size and leaps[0] >= _MIN_LOADS:
        full = float(series.load[leaps[0]])
        series = series.without(slice(int(leaps[0]), None))
    logs = _fit(series, _starts(series))
    names = ["overhead", "service_time", *(["capacity"] if series.unit else []), "knee"]
    if flat := _is_flat(series, logs):
        names = ["overhead_and_service_time", *names[2:]]
    parameters, intervals = {}, {}
    for name in names:
        low, high = _interval(series, logs, name)
        parameters[name] = float(np.exp(_log_value(logs, name)))
        if flat:
            is_sum = name == names[0]
            parameters[name] = _mean(series.latency) if is_sum else np.inf
            low = min(low, parameters[name])
            high = max(high, parameters[name])
        intervals[name] = max(low, _lowest(series, name)), high
    absent = 10.0 * _ABSENT * series.latency.min()
    if not flat:
        low, high = intervals["overhead"]
        parameters["overhead"] *= parameters["overhead"] >= absent
        intervals["overhead"] = low * (low >= absent), high
    errors = np.empty(len(series.load))
    for point in range(len(errors)):
        rest = series.without(point)
        values = np.exp(_fit(rest, [logs]))
        other = _mean(rest.latency) if flat else latency(series.load[[point]], values)[0]
        errors[point] = other / series.latency[point] - 1.0
    return LoadFit(series, parameters, intervals, errors, full)


def _log_value(logs: Array, name: str) -> float:
    """Return the logarithm of a value; `logs` are those of overhead, service time and capacity."""
    match name:
        case "overhead_and_service_time":
            return float(np.logaddexp(logs[0], logs[1]))
        case "knee" if len(logs) == 2:  # (o + s) / s
            return float(np.logaddexp(logs[0], logs[1]) - logs[1])
        case "knee":  # c (o + s) / (o + 2 s)
            both = np.logaddexp(logs[0], logs[1])
            return float(logs[2] + both - np.logaddexp(both, logs[1]))
    return float(logs[("overhead", "service_time", "capacity").index(name)])


def _lowest(series: Load, name: str) -> float:
    """Return the lower limit of a value: one request in flight, and the rates that were carried."""
    if name == "knee" and not series.unit:
        return 1.0
    return float(series.load.max()) if name == "capacity" else 0.0


def _mean(times: Array) -> float:
    """Return the one time of least loss."""
    return float((times.sum() / np.sqrt(times).sum()) ** 2)


@np.errstate(all="ignore")  # a trial of the solver may be far off
def _residuals(series: Load, logs: Array) -> Array:
    return np.asarray(2.0 * (np.sqrt(series.latency / latency(series.load, np.exp(logs))) - 1.0))


def _starts(series: Load) -> list[Array]:
    shortest, most = series.latency.min(), series.load.max()
    starts = []
    for share in (0.05, 0.5, 0.95):
        overhead = max((1.0 - share) * shortest, _ABSENT * shortest)
        if series.unit:
            starts.append(np.log([overhead, share * shortest, most * (1.02 + 0.3 * share)]))
        else:
            starts.append(np.log([overhead, min(series.latency.max() / most, shortest)]))
    return starts


def _fit(series: Load, starts: Sequence[Array], name: str = "", goal: float = 0.0) -> Array:
    """Return the logarithms of the values of least loss, with one held at a goal if it is named."""
    lowest = [np.log(_ABSENT * series.latency.min()), -80.0, np.log(series.load.max()) + 1e-9]
    bounds = np.array(lowest[: len(starts[0])])

    def errors(logs: Array) -> Array:
        own = np.nan_to_num(_residuals(series, logs), nan=1e3, posinf=1e3)
        return np.append(own, _STIFFNESS * (_log_value(logs, name) - goal)) if name else own

    fits = [
        optimize.least_squares(errors, np.maximum(start, bounds + 1e-9), bounds=(bounds, np.inf))
        for start in starts
    ]
    return np.asarray(min(fits, key=lambda fit: fit.cost).x)


def _is_flat(series: Load, logs: Array) -> bool:
    """Return whether one time explains latencies, and a queue no better: the F test at 5 %.

    Latencies that fall with the load are flat as well, however far off: the best queue is none.
    """
    freedom, more = max(len(series.load) - len(logs), 1), len(logs) - 1
    loss = float((_residuals(series, logs) ** 2).sum())
    errors = 2.0 * (np.sqrt(series.latency / _mean(series.latency)) - 1.0)
    gain = float((errors**2).sum()) - loss
    limit = more * max(loss / freedom, _EXACT) * stats.f.ppf(1.0 - _RISE_CHANCE, more, freedom)
    return bool(gain < _NO_GAIN * loss or (np.median(np.abs(errors)) < _FAR_OFF and gain < limit))


def _interval(series: Load, logs: Array, name: str) -> tuple[float, float]:
    """Return the 95 % interval of a value: the values that the loss allows."""
    freedom = max(len(series.load) - len(logs), 1)
    loss = float((_residuals(series, logs) ** 2).sum())
    noise = max(loss / freedom, _EXACT)
    limit = loss + noise * float(stats.t.ppf(0.975, freedom)) ** 2
    best = _log_value(logs, name)

    def end(side: float) -> float:
        law, rises = logs, {0.0: loss - limit}

        def rise(distance: float) -> float:
            nonlocal law
            if distance not in rises:  # a second fit may end elsewhere, and its sign may differ
                goal = best + side * distance
                held = _fit(series, [law, logs], name, goal)
                miss = _STIFFNESS * (_log_value(held, name) - goal)
                excess = float((_residuals(series, held) ** 2).sum() + miss**2) - limit
                law = held if excess < 0.0 else law  # the next fit is near
                rises[distance] = excess
            return rises[distance]

        inner, outer = 0.0, 1e-3
        while rise(outer) < 0.0:
            # The loss is nearly a parabola, which has its root where this factor says.
            factor = 1.1 / np.sqrt(max(1.0 - rise(outer) / rise(0.0), 1e-9))
            most = 8.0 if outer < 0.1 else 2.0
            inner, outer = outer, float(np.clip(factor, 2.0, most)) * outer
            if outer >= _FAR:
                return side * np.inf
        return best + side * float(optimize.brentq(rise, inner, outer, xtol=1e-4 * outer))

    return float(np.exp(end(-1.0))), float(np.exp(end(1.0)))


# ---------------------------------------------------------------------------------------- tables


def read_loads(path: Path, by: Sequence[str]) -> tuple[list[Load], list[str]] | None:
    """Return the series of a table of latency against load, and a hint on each that is left out.

    It has a column ``latency_s`` or ``latency_mean_s``, in any unit of time, and ``queue_depth`` or
    ``in_flight``, or else a rate, ``offered_Gbps``, or ``offered_total_Gbps``: one of each. The
    result is None if the table has none of these loads.

    InputError with all problems of the table.
    """
    table = open_table(path)
    stems = {name: name.rpartition("_")[0] for name in table.names}
    latencies = [name for stem in _LATENCY for name in table.names if stems[name] == stem]
    loads = [name for name in _IN_FLIGHT if name in table.names]
    loads += [name for stem in _OFFERED for name in table.names if stems[name] == stem]
    timed = any(name.startswith(("host", "accelerated")) for name in table.names)
    if timed or not latencies or not loads:
        return None
    problems = [
        *check_series_columns(by, table, [*loads, *latencies]),
        *_surplus(loads, "load"),
        *_surplus(latencies, "latency"),
    ]
    name = loads[0]
    load, faults = read_column(table, name, table.units.get(name, "1"))
    problems += faults or _load_problems(name, load)
    seconds, faults = read_column(table, latencies[0], "s")
    problems += faults
    series, few = [], list[Problem]()
    groups = name_series(table, by, path.stem)
    unit = "" if name in _IN_FLIGHT else name.rpartition("_")[2]
    for group in dict.fromkeys(groups.tolist()):
        rows = np.flatnonzero((groups == group) & np.isfinite(seconds) & np.isfinite(load))
        rows = rows[np.argsort(load[rows], kind="stable")]
        distinct = len(np.unique(load[rows]))
        if not problems and 0 < distinct < _MIN_LOADS:
            message = f"{name} has {plural(distinct, 'value')}: a fit needs at least {_MIN_LOADS}"
            few.append(Problem(group, message, "measure more loads, or name the series: --by"))
        elif distinct:
            series.append(Load(group, load[rows], seconds[rows], unit))
    if problems or (few and not series):
        raise InputError(str(path), problems or few)
    return series, list(map(describe_left_out, few))


def _surplus(names: Sequence[str], measure: str) -> Iterator[Problem]:
    """Yield that a table has more than one column of a kind."""
    if len(names) > 1:
        columns = join_words([f"'{name}'" for name in names])
        yield Problem("", f"columns {columns} are each the {measure}", "leave one of them")


def _load_problems(name: str, load: Array) -> Iterator[Problem]:
    """Yield why a column holds neither counts of requests nor a rate."""
    if name not in _IN_FLIGHT:
        if not _is_rate(name.rpartition("_")[2]):
            message = f"column '{name}' is not a rate, a number per second"
            yield Problem("", message, "such as offered_Gbps, offered_MBps or offered_kHz")
    elif (load % 1 > 0).any():
        yield Problem("", f"column '{name}' has numbers that are not whole")
    elif (load > _MAX_IN_FLIGHT).any():
        message = f"column '{name}' has {show_number(float(np.nanmax(load)))} requests in flight"
        yield Problem("", f"{message}: at most {_MAX_IN_FLIGHT:,} are followed")


def _is_rate(unit: str) -> bool:
    """Return whether a unit at the end of a name is per second or per cycle.

    >>> [_is_rate(unit) for unit in ("Gbps", "iops", "MB/s", "kHz", "us", "GB", "load")]
    [True, True, True, True, False, False, False]
    """
    if _RATE.fullmatch(unit):
        return True
    try:
        powers = resolve_unit(unit)[1]
    except UnitError:
        return False
    return -1 in (powers.get("[time]"), powers.get("[cycle]"))
