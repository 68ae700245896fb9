"""Tables of latency against load: read, fitted, and told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.fit.groups import by_problems, groups
from dse.fit.queue import FEWEST, MOST, Load, LoadFit, fit_load, lowest
from dse.model.units import UnitError, base, factor
from dse.model.values import as_data, listed, number, plural, show
from dse.problems import InputError, Problem
from dse.study.design_table import DesignTable, read_table

_IN_FLIGHT = ("queue_depth", "in_flight")
_OFFERED = ("offered_total", "offered")
_LATENCY = ("latency", "latency_mean")
_A_SECOND = re.compile(r"[A-Za-z]+(ps|/s)|iops|IOPS")
_MISSED = 0.2  # median relative error of loads left out
_ALIGNED = 28


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
        *by_problems(by, table, [*loads, *latencies]),
        *_several(loads, "load"),
        *_several(latencies, "latency"),
    ]
    load, latency = loads[0], latencies[0]
    problems = problems or [*_faults(table, (load, latency))]
    if problems:
        raise InputError(str(path), problems)
    seconds = table.numbers[latency] * factor(table.units[latency], "s")[0]
    named = groups(table, by, path.stem)
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
