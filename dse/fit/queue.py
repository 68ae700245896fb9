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
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

from dse.fit.series import check_series_columns, name_series
from dse.model.quantity import Array
from dse.model.units import UnitError, base, factor
from dse.model.values import as_data, listed, number, plural, show
from dse.problems import InputError, Problem
from dse.study.design_table import DesignTable, read_table

FEWEST = 4
MOST = 4_096
"""Requests in flight that are followed, one after another."""
_ABSENT = 1e-6  # of the least latency: an overhead below it is none
_CHANCE = 0.05  # of taking latencies that do not rise for ones that do
_FAR_OFF = 0.2  # relative error: what is that far off does not explain latencies
_NONE = 1e-6  # share of the loss: a queue that takes no more off it is none
_EXACT = 1e-18  # mean square of a relative error that is rounding alone
_HALVINGS = 12
_FAR = 20.0  # in logarithms: beyond it an interval is open
_KNEE, _SUM = 0, 1  # places behind those of the values that are fitted
_JUMP = 8.0  # between neighbouring loads: the queue is full from there on


_IN_FLIGHT = ("queue_depth", "in_flight")
_OFFERED = ("offered_total", "offered")
_LATENCY = ("latency", "latency_mean")
_A_SECOND = re.compile(r"[A-Za-z]+(ps|/s)|iops|IOPS")
_MISSED = 0.2  # median relative error of loads left out
_ALIGNED = 28


@dataclass(frozen=True)
class Load:
    """Measured latency against load.

    Parameters
    ----------
    name : str
    load : ndarray, shape (points,)
        Requests in flight, or a rate that is offered, ascending.
    latency : ndarray, shape (points,)
        Mean seconds of a request.
    in_flight : bool
        Whether `load` counts requests in flight.
    unit : str
        Of a rate, for people.
    """

    name: str
    load: Array
    latency: Array
    in_flight: bool
    unit: str = ""


@dataclass(frozen=True)
class LoadFit:
    """What a series of latencies says.

    Parameters
    ----------
    series : Load
    parameters : mapping of str to float
        ``service_time`` and ``overhead`` [s], ``capacity`` of a rate; and ``knee``: the requests
        in flight beyond which more of them wait, or the rate at which latency has doubled. If the
        latencies do not tell the two times apart: ``overhead_and_service_time``, their sum, and
        a capacity and a knee of inf.
    intervals : mapping of str to (float, float)
        95 %, by profile likelihood.
    errors : ndarray, shape (points,)
        Relative, of each point that was left out of the fit.
    full : int
        How many points at the end were left out, as the queue was full.
    """

    series: Load
    parameters: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    errors: Array
    full: int


def latency(load: Array, in_flight: bool, values: Array) -> Array:
    """Return the mean latency at some loads; inf at and above the capacity.

    Parameters
    ----------
    values : ndarray
        Overhead and service time [s]; of a rate the capacity as well.
    """
    overhead, service = values[:2]
    if not in_flight:
        share = load / values[2]
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(share < 1, overhead + service / (1.0 - share), np.inf))
    waiting, found = 0.0, {}
    for n in range(1, int(load.max()) + 1):
        found[n] = overhead + service * (1.0 + waiting)
        waiting = n * (found[n] - overhead) / found[n]
    return np.array([found[int(n)] for n in load])


def fit_load(series: Load) -> LoadFit:
    """Fit a queue to latencies, in relative error."""
    grown = series.latency[1:] / series.latency[:-1]
    over = np.flatnonzero(grown > _JUMP) if not series.in_flight else np.zeros(0, dtype=int)
    end = int(over[0]) + 1 if over.size and over[0] + 1 >= FEWEST else len(series.load)
    kept = replace(series, load=series.load[:end], latency=series.latency[:end])
    best = _best(kept)
    if _is_flat(kept, best):
        return _flat(series, kept, best)
    names = ["overhead", "service_time", *([] if series.in_flight else ["capacity"]), "knee"]
    values = [*np.exp(best), knee(series.in_flight, np.exp(best))]
    intervals = {}
    for place, name in enumerate(names):
        low, high = _interval(kept, best, place)
        intervals[name] = max(low, lowest(kept.load, series.in_flight, name)), high
    errors = np.array([_missed(kept, i, best) for i in range(len(kept.load))])
    values[0] = 0.0 if values[0] < 10.0 * _ABSENT * kept.latency.min() else values[0]
    told = dict(zip(names, map(float, values), strict=True))
    return LoadFit(series, told, intervals, errors, len(series.load) - end)


def _is_flat(series: Load, best: Array) -> bool:
    """Tell whether one time explains latencies, and a queue no better: the F test at 5 %.

    What falls with the load is flat as well, however far off: the queue that fits best is none.
    """
    freedom, beside = len(series.load) - len(best), len(best) - 1
    least = float((_residuals(series, best) ** 2).sum())
    level = 2.0 * (np.sqrt(series.latency / _level(series.latency)) - 1.0)
    noise = max(least / max(freedom, 1), _EXACT)
    more = float((level**2).sum()) - least
    chance = beside * noise * stats.f.ppf(1.0 - _CHANCE, beside, max(freedom, 1))
    return bool(more < _NONE * least or (np.median(np.abs(level)) < _FAR_OFF and more < chance))


def _flat(series: Load, kept: Load, best: Array) -> LoadFit:
    """Return what latencies say that do not rise with the load: one time."""
    count = len(kept.load)
    rest = (np.delete(kept.latency, i) for i in range(count))
    errors = np.array([_level(r) / y - 1.0 for r, y in zip(rest, kept.latency, strict=True)])
    level = _level(kept.latency)
    low, high = _interval(kept, best, len(best) + _SUM)
    told = {"overhead_and_service_time": level}
    spans = {"overhead_and_service_time": (min(low, level), max(high, level))}
    places = {"knee": len(best) + _KNEE}
    if not series.in_flight:
        places = {"capacity": 2, **places}
    for name, place in places.items():
        told[name] = np.inf
        least = lowest(kept.load, series.in_flight, name)
        spans[name] = max(_interval(kept, best, place)[0], least), np.inf
    return LoadFit(series, told, spans, errors, len(series.load) - count)


def _level(times: Array) -> float:
    """Return the one time of least loss."""
    roots = np.sqrt(times)
    return float((times.sum() / roots.sum()) ** 2)


def lowest(load: Array, in_flight: bool, name: str) -> float:
    """Return what a value is not below: one request in flight, and the rates that were carried."""
    if in_flight:
        return 1.0 if name == "knee" else 0.0
    return float(load.max()) if name == "capacity" else 0.0


def knee(in_flight: bool, values: Array) -> float:
    """Return where latency begins to follow the load; see `LoadFit`."""
    overhead, service = values[:2]
    if in_flight:
        return float((overhead + service) / service)
    return float(values[2] * (1.0 - service / (overhead + 2.0 * service)))


def _residuals(series: Load, logs: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):  # a trial of the solver may be that far off
        found = latency(series.load, series.in_flight, np.exp(logs))
        return np.asarray(2.0 * (np.sqrt(series.latency / found) - 1.0))


def _starts(series: Load) -> list[Array]:
    least, most = series.latency.min(), series.load.max()
    own = series.latency.max() / most if series.in_flight else least
    starts = []
    for share in (0.05, 0.5, 0.95):
        service = min(own, least) * (1.0 if series.in_flight else share)
        capacity = [] if series.in_flight else [most * (1.02 + 0.3 * share)]
        starts.append(np.log([max(least * (1 - share), _ABSENT * least), service, *capacity]))
    return starts


def _best(
    series: Load, held: int | None = None, value: float = 0.0, near: Array | None = None
) -> Array:
    """Return the logarithms of the values of least loss.

    Parameters
    ----------
    held : int, optional
        The place of one that has a given value; behind the last one are the knee, and the sum
        of overhead and service time.
    near : ndarray, optional
        Where to begin.
    """
    low = np.array([np.log(_ABSENT * series.latency.min()), -80.0, np.log(series.load.max())])
    low[2] += 1e-9

    def whole(free: Array) -> Array:
        return free if held is None else _with(series, free, held, value)

    def loss(free: Array) -> Array:
        logs = whole(free)
        bad = np.isnan(logs).any() or (not series.in_flight and logs[2] <= low[2])
        return np.full(len(series.load), 1e3) if bad else _residuals(series, logs)

    found = []
    for start in _starts(series) if near is None else [near]:
        free, ends = start, low[: len(start)]
        if held is not None:
            gone = 0 if held == len(start) + _SUM else min(held, len(start) - 1)
            free, ends = np.delete(start, gone), np.delete(ends, gone)
        if held == len(start) + _SUM:
            free[0] = min(free[0], value - np.log(2.0))  # the service time is a part of the sum
        found.append(
            optimize.least_squares(loss, np.maximum(free, ends + 1e-9), bounds=(ends, np.inf))
        )
    return whole(min(found, key=lambda each: each.cost).x)


def _with(series: Load, free: Array, held: int, value: float) -> Array:
    """Return all logarithms from those that are free and one value that is held."""
    count = 2 if series.in_flight else 3
    if held < count:
        return np.insert(free, held, value)
    if held == count + _SUM:
        with np.errstate(all="ignore"):
            return np.array([np.log(np.exp(value) - np.exp(free[0])), *free])
    if series.in_flight:  # of the knee, the service time follows from the overhead
        with np.errstate(all="ignore"):
            return np.array([free[0], free[0] - np.log(np.expm1(value))])
    overhead, service = np.exp(free)
    capacity = value - np.log1p(-service / (overhead + 2.0 * service))
    return np.array([*free, capacity])


def _interval(series: Load, best: Array, place: int) -> tuple[float, float]:
    """Return the 95 % interval of a value: how far the loss lets it be moved."""
    freedom = max(len(series.load) - len(best), 1)
    least = float((_residuals(series, best) ** 2).sum())
    noise = max(least / freedom, _EXACT)
    limit = least + noise * float(stats.t.ppf(0.975, freedom)) ** 2
    behind = np.log(knee(series.in_flight, np.exp(best))), np.logaddexp(best[0], best[1])
    here = best[place] if place < len(best) else behind[place - len(best)]

    def rise(value: float) -> float:
        found = _best(series, place, value, best)
        return float((_residuals(series, found) ** 2).sum()) - limit

    ends = []
    for side in (-1.0, 1.0):
        step, inner = 1e-3, 0.0
        while step < _FAR and rise(here + side * step) < 0.0:
            inner, step = step, 2.0 * step
        if step >= _FAR:
            ends.append(0.0 if side < 0 else np.inf)
            continue
        for _ in range(_HALVINGS):
            middle = (inner + step) / 2.0
            over = rise(here + side * middle) >= 0.0
            inner, step = (inner, middle) if over else (middle, step)
        ends.append(float(np.exp(here + side * step)))
    return ends[0], ends[1]


def _missed(series: Load, point: int, best: Array) -> float:
    """Return the relative error at a point that is left out of the fit."""
    rest = np.delete(np.arange(len(series.load)), point)
    other = replace(series, load=series.load[rest], latency=series.latency[rest])
    found = latency(series.load[[point]], series.in_flight, np.exp(_best(other, near=best)))[0]
    return float(found / series.latency[point] - 1.0)


def read_loads(path: Path, by: Sequence[str]) -> list[Load] | None:
    """Return the series of a table of latency against load; None if the table is none.

    It has a column ``latency_s`` or ``latency_mean_s``, in any unit of time, and ``queue_depth`` or
    ``in_flight``, or else a rate, ``offered_Gbps``, or ``offered_total_Gbps``: one of each.

    Raises
    ------
    InputError
        With all that is wrong.
    """
    try:
        table, _ = read_table(path.name, path.parent, row="measurement")
    except (InputError, OSError):
        return None  # which is told where times are read
    found = _columns(table)
    if found is None:
        return None
    loads, latencies = found
    problems = [
        *check_series_columns(by, table, [*loads, *latencies]),
        *_several(loads, "load"),
        *_several(latencies, "latency"),
    ]
    load, latency = loads[0], latencies[0]
    problems = problems or [*_faults(table, (load, latency))]
    if problems:
        raise InputError(str(path), problems)
    seconds = table.numbers[latency] * factor(table.units[latency], "s")[0]
    named = name_series(table, by, path.stem)
    series = []
    for name in dict.fromkeys(named.tolist()):
        rows = (named == name) & np.isfinite(seconds) & np.isfinite(table.numbers[load])
        order = np.flatnonzero(rows)[np.argsort(table.numbers[load][rows], kind="stable")]
        unit = load.rpartition("_")[2]
        each = Load(name, table.numbers[load][order], seconds[order], load in _IN_FLIGHT, unit)
        if len(each.load):
            problems += _too_few(each, load)
            series.append(each)
    if problems:
        raise InputError(str(path), problems)
    return series


def _columns(table: DesignTable) -> tuple[list[str], list[str]] | None:
    """Return the columns of loads and latencies, if the table has both and no size and time."""
    latencies = [name for stem in _LATENCY for name in table.names if _stem(name) == stem]
    loads = [name for name in _IN_FLIGHT if name in table.names]
    loads += [name for stem in _OFFERED for name in table.names if _stem(name) == stem]
    timed = any(name.startswith(("host", "accelerated")) for name in table.names)
    return None if not latencies or not loads or timed else (loads, latencies)


def _stem(name: str) -> str:
    return name.rpartition("_")[0]


def _several(names: Sequence[str], what: str) -> Iterator[Problem]:
    """Yield that a table has more than one column of a kind."""
    if len(names) > 1:
        word = "both" if len(names) == 2 else "all"
        named = listed([f"'{name}'" for name in names])
        yield Problem("", f"columns {named} are {word} the {what}", "leave one of them")


def _is_rate(unit: str) -> bool:
    """Tell whether a unit, as the name of a column ends, is of so many a second or a cycle.

    >>> [_is_rate(unit) for unit in ("Gbps", "iops", "MB/s", "kHz", "us", "GB", "load")]
    [True, True, True, True, False, False, False]
    """
    if _A_SECOND.fullmatch(unit):
        return True
    try:
        powers = base(unit)[1]
    except UnitError:
        return False
    return -1 in (powers.get("[time]"), powers.get("[cycle]"))


def _faults(table: DesignTable, columns: Sequence[str]) -> Iterator[Problem]:
    for name in columns:
        if name in table.texts:
            yield Problem("", f"column '{name}' has texts: numbers are wanted")
        elif not (table.numbers[name][~np.isnan(table.numbers[name])] > 0).all():
            yield Problem("", f"column '{name}' has numbers that are not above 0")
    latency, unit = columns[1], table.units.get(columns[1], "1")
    if latency not in table.texts and unit == "1":
        yield Problem("", f"column '{latency}' has no unit of time in its name", "latency_s, say")
    elif latency not in table.texts:
        try:
            factor(unit, "s")
        except UnitError as error:
            yield Problem("", f"column '{latency}': {error}", "latency_s, say")
    load = columns[0]
    if load not in _IN_FLIGHT and not _is_rate(load.rpartition("_")[2]):
        message = f"column '{load}' is not in a rate: so many a second are wanted"
        yield Problem("", message, "offered_Gbps, offered_MBps, offered_Mrps or offered_kHz, say")
    whole = load not in _IN_FLIGHT or load in table.texts
    finite = table.numbers[load][np.isfinite(table.numbers[load])] if not whole else np.zeros(0)
    if (finite % 1 > 0).any():
        yield Problem("", f"column '{load}' has numbers that are not whole")
    if not whole and (table.numbers[load] > MOST).any():
        most = number(float(np.nanmax(table.numbers[load])))
        message = f"column '{load}' has {most} requests in flight: at most {MOST:,} are followed"
        yield Problem("", message)


def _too_few(series: Load, name: str) -> Iterator[Problem]:
    loads = np.unique(series.load)
    if len(loads) < FEWEST:
        message = f"{name} has {plural(len(loads), 'value')}: at least {FEWEST} are wanted"
        yield Problem(series.name, message, "measure more loads, or name the series: --by")


def fit_loads(series: Sequence[Load]) -> list[LoadFit]:
    """Fit each series."""
    return [fit_load(each) for each in series]


def notes(fit: LoadFit) -> list[str]:
    """Return what a reader should know of a fit."""
    said = []
    if "overhead_and_service_time" in fit.parameters:
        whole = show(fit.parameters["overhead_and_service_time"], "s")
        more = "more requests in flight" if fit.series.in_flight else "loads up to the capacity"
        said.append(
            "overhead and service time are not told apart, for latency does not rise with the "
            f"load: their sum is {whole}. Measure {more}"
        )
    if fit.full:
        from_ = number(float(fit.series.load[-fit.full]))
        said.append(f"from a load of {from_} on the queue is full: left out")
    off = left_out(fit)["median"]
    if off > _MISSED:
        said.append(
            f"loads left out are {off:.0%} off in the median, so what follows is hardly to be "
            "trusted: more than one queue, or requests that do not come by chance?"
        )
    carried = fit.series.load[: len(fit.series.load) - fit.full]
    open_ = [
        name
        for name, (low, high) in fit.intervals.items()
        if np.isinf(high) and low <= lowest(carried, fit.series.in_flight, name)
    ]
    if open_:
        said.append(f"the latencies do not determine {listed(open_)}")
    return said


def left_out(fit: LoadFit) -> dict[str, float]:
    """Return the median and the worst relative error of loads that the fit has not seen."""
    sizes = np.abs(fit.errors)
    return {"median": float(np.median(sizes)), "worst": float(sizes.max())}


def load_records(fits: Sequence[LoadFit]) -> dict[str, Any]:
    """Return fits as data for JSON, by series; a queue has no break-even."""
    found: Mapping[str, Any] = {
        fit.series.name: {
            "parameters": fit.parameters,
            "intervals": fit.intervals,
            "break_even": None,
            "break_even_interval": None,
            "leave_one_out": left_out(fit),
            "notes": notes(fit),
            "load_unit": _unit(fit.series),
        }
        for fit in fits
    }
    return dict(as_data(found))


def _unit(series: Load) -> str:
    return "in flight" if series.in_flight else series.unit


def load_text(fit: LoadFit) -> str:
    """Return a fit for people."""
    lines = [fit.series.name]
    for name, value in fit.parameters.items():
        is_time = name not in ("capacity", "knee")
        found, low, high = (
            "∞" if np.isinf(e) else show(e, "s" if is_time else "1")
            for e in (value, *fit.intervals[name])
        )
        found += "" if is_time else f" {_unit(fit.series)}"
        lines.append(f"  {name:{_ALIGNED}}{found}  ({low} to {high})")
    out = left_out(fit)
    worst = f"{out['worst']:.1%}" if np.isfinite(out["worst"]) else "infinite at the"
    told = f"{out['median']:.2%} median, {worst} worst"
    lines.append(f"  {'leave-one-out error':{_ALIGNED}}{told}")
    return "\n".join([*lines, *(f"  note: {note}" for note in notes(fit))])
