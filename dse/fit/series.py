"""Measured times: the columns, units and series of a table, and the tables that are refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse.boundary import reader
from dse.model.quantity import Array
from dse.model.units import UnitError, conversion_factor, is_unit
from dse.model.values import join_words, plural, show, word_name
from dse.problems import InputError, Problem, closest, nearest
from dse.study.design_table import DesignTable, read_table

FEWEST = 4
"""Sizes that a column of times must have."""
_DROP, _JUMP = 20.0, 100.0  # between neighbouring sizes: no law of a host or device does that
_STEEPEST = 3.0
_SLOW = 1e-8  # seconds a byte: a rate given as a time is slower than that at the largest size
_WANTED = "granularity_B, host_s and accelerated_s, or one of the two times"
_SIZE, _OUT, _HOST, _DEVICE = "granularity", "granularity_out", "host", "accelerated"
_CPU, _DEPTH = "cpu_percent", "queue_depth"
_SYNONYMS = {f"{_SIZE}_in": _SIZE, "in_flight": _DEPTH}
_KINDS = {"s": (_HOST, _DEVICE), "B": (_SIZE, _OUT)}  # measured quantities by unit
_MAX_LINES = 3  # that a message names
_MISSPELT = 0.8  # similarity of a name and its misspelling
_BIT = 0.125  # bytes


@dataclass(frozen=True)
class Series:
    """What was measured of one kernel on one machine.

    Parameters
    ----------
    size : ndarray, shape (points,)
        Bytes of a call.
    host, accelerated : ndarray, shape (points,)
        Seconds of a call; NaN where it was not measured.
    returned : ndarray, shape (points,)
        Bytes that a call returns; NaN if the table does not have them.
    cpu : ndarray, shape (points,)
        CPU use during accelerated calls, a fraction of one core; NaN where it is not known.
    queue : ndarray, shape (rows, 3)
        Size [B], queue depth and seconds of accelerated calls, if the table has queue depths.
        Calls of a depth above 1 are in no other column.
    """

    name: str
    size: Array
    host: Array
    accelerated: Array
    returned: Array
    cpu: Array
    queue: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def column(self, accelerated: bool) -> tuple[Array, Array]:
        """Return sizes and times of a column, where it was measured."""
        times = self.accelerated if accelerated else self.host
        known = np.isfinite(times)
        return self.size[known], times[known]


def open_table(path: Path) -> DesignTable:
    """Read a table of measurements.

    InputError if it is no table; a misspelt name of a file is answered with the nearest.
    """
    if not path.is_file():
        near = nearest(path.name, [file.name for file in path.parent.glob("*.csv")])
        raise InputError(str(path), [Problem("", "there is no such file", near)])
    try:
        return read_table(path.name, path.parent, row="measurement")[0]
    except InputError as error:
        raise InputError(str(path), error.problems) from None


@reader
def read_series(
    path: Path, by: Sequence[str] = (), clock: float | None = None
) -> tuple[list[Series], list[str]]:
    """Read the series of a table.

    Parameters
    ----------
    path : Path
        A CSV file with a row of names: ``granularity_B`` and ``host_s``, ``accelerated_s`` or both,
        in any unit of size and time; ``accelerated_WORD_s`` is a series of its own, and
        ``granularity_out_B`` are the bytes that a call returns. Repeats are rows of equal size.
        ``cpu_percent`` is the use of one core during accelerated calls, and ``queue_depth`` or
        ``in_flight`` the number of calls at the accelerator.

    Returns
    -------
    series : list of Series
    hints : list of str
        Remarks on the table for the reader, and the series that are left out.

    Raises
    ------
    InputError
        With all problems of the table, if it has no series that can be used.
    """
    table = open_table(path)
    columns, problems = _columns(table)
    used = {*columns.values(), *by}
    unused = [name for name in table.names if name not in used and _kind(table, name)]
    misspelt = [(name, near) for name in unused if (near := _nearest_column(table, name, columns))]
    problems = [
        *check_series_columns(by, table, columns.values()),
        *(Problem("", f"column '{n}' is not known", f"did you mean '{m}'?") for n, m in misspelt),
        *problems,
    ]
    if problems:
        raise InputError(str(path), problems)
    values = {}
    for stem, name in columns.items():
        values[stem], faults = read_column(table, name, _unit_of(stem), clock)
        problems += faults
    if problems:
        raise InputError(str(path), problems)
    if (values.get(_CPU, np.zeros(1)) > 100.0).any():
        message = f"column '{columns[_CPU]}' has more than 100 %"
        raise InputError(str(path), [Problem("", message, "give the use of one core")])
    names = columns.get(_HOST, "host_s"), columns.get(_DEVICE, "accelerated_s")
    series = list(_split_series(values, name_series(table, by, path.stem)))
    unusable = {one.name: list(_faults(one, names)) for one in series}
    problems = [problem for faults in unusable.values() for problem in faults]
    usable = [one for one in series if not unusable[one.name]]
    if not series:
        problems = [Problem("", "has no times", f"give {_WANTED}")]
    if not usable:
        raise InputError(str(path), problems)
    hints = [*_hints(table, by), *_missing(table, columns), *map(describe_left_out, problems)]
    rates = [n for n in table.names if n not in used and _unit(table, n).endswith("/s")]
    unused += [name for name in rates if name.startswith((_HOST, _DEVICE))]
    if unused:
        hints.insert(0, "not used: " + join_words([f"'{name}'" for name in unused]))
    return usable, hints


def describe_left_out(problem: Problem) -> str:
    """Return that a series is left out, and why."""
    remedy = f". {problem.remedy[0].upper()}{problem.remedy[1:]}" if problem.remedy else ""
    return f"left out: {problem.where}: {problem.message}{remedy}"


# --------------------------------------------------------------------------------------- columns


def _unit_of(stem: str) -> str:
    return "B" if stem in (_SIZE, _OUT) else "1" if stem in (_CPU, _DEPTH) else "s"


def _unit(table: DesignTable, name: str) -> str:
    """Return the unit of a column; at the end of its name if it holds texts."""
    end = name.rpartition("_")[2]
    return table.units.get(name, end if is_unit(end) else "1")


def _stem(table: DesignTable, name: str) -> str:
    """Return a column's name without its unit."""
    unit = _unit(table, name)
    head, _, end = name.rpartition("_")
    return head if unit != "1" and end in {unit, f"{unit}s", unit.replace("/s", "ps")} else name


def _kind(table: DesignTable, name: str) -> str:
    """Return "s" for a column of times, "B" for sizes, and nothing for others."""
    for kind in _KINDS:
        with suppress(UnitError):
            conversion_factor(_unit(table, name), kind)
            return kind
    return ""


def _columns(table: DesignTable) -> tuple[dict[str, str], list[Problem]]:
    """Return the columns by measured quantity, and the problems of their names."""
    columns: dict[str, str] = {}
    rates: list[str] = []
    problems: list[Problem] = []
    for name in table.names:
        stem = _stem(table, name)
        stem = _SYNONYMS.get(stem, stem)
        if stem not in (_SIZE, _OUT, _HOST, _CPU, _DEPTH) and not re.fullmatch(
            f"{_DEVICE}(_.*)?", stem
        ):
            continue
        if _unit(table, name).endswith("/s"):
            rates.append(name)
        elif stem in columns:
            message = f"columns '{columns[stem]}' and '{name}' are both the {word_name(stem)}"
            problems.append(Problem("", message, "leave one of them"))
        elif _unit(table, name) != "1" or stem in (_SIZE, _OUT, _HOST, _DEVICE, _CPU, _DEPTH):
            columns[stem] = name
    if _DEVICE in columns:  # the others are notes of whoever measured
        columns = {s: name for s, name in columns.items() if not s.startswith(f"{_DEVICE}_")}
    timed = any(stem == _HOST or stem.startswith(_DEVICE) for stem in columns)
    if not problems and not timed and rates:
        named = f"column{'s' * (len(rates) > 1)} {join_words([repr(name) for name in rates])}"
        message = f"{named} {'are throughputs' if len(rates) > 1 else 'is a throughput'}"
        remedy = "give seconds of a call, as host_s: its bytes over the throughput"
        problems.append(Problem("", message, remedy))
    elif not problems and (_SIZE not in columns or not timed):
        missing = "sizes" if _SIZE not in columns else "times"
        problems.append(Problem("", f"has no column of {missing}", f"give {_WANTED}"))
    return columns, problems


def _nearest_column(table: DesignTable, name: str, columns: Mapping[str, str]) -> str:
    """Return the column that the table lacks and a name misspells; empty if there is none."""
    unit = _kind(table, name)
    absent = [kind for kind in _KINDS[unit] if not any(s.startswith(kind) for s in columns)]
    stem = _stem(table, name)
    near = closest(stem, absent, _MISSPELT) if stem not in _KINDS[unit] else None
    return f"{near}_{unit}" if near else ""


def read_column(
    table: DesignTable, name: str, unit: str, clock: float | None = None
) -> tuple[Array, list[Problem]]:
    """Return a column in a unit, and its problems: only numbers above 0 are measured values."""
    nothing: Array = np.full(len(table.lines), np.nan)
    own = _unit(table, name)
    if own == "1" != unit:
        example = f"{_stem(table, name)}_{unit}"
        return nothing, [Problem("", f"column '{name}' has no unit in its name", example)]
    if name in table.texts:
        message = f"column '{name}' has {table.not_numbers(name, ())}"
        remedy = "give only numbers, in the unit of the column's name"
        return nothing, [Problem("", message, remedy)]
    try:
        scale, power = conversion_factor(own, unit)
    except UnitError as error:
        return nothing, [Problem("", f"column '{name}': {error}")]
    if power and clock is None:
        message = f"column '{name}' is in cycles, and no clock is given"
        return nothing, [Problem("", message, '--given clock="1 GHz"')]
    written = table.numbers[name]
    values = written * scale * (clock or 1.0) ** power
    tiny = (values > 0.0) & (values < _BIT) & (unit == "B")
    kinds = {
        "zero": written == 0.0,
        "negative": written < 0.0,
        "infinite": np.isinf(written),
        "less than a bit": tiny,
    }
    problems = []
    for word, bad in kinds.items():
        if (rows := np.flatnonzero(bad)).size:
            lines = join_words([f"line {table.lines[row]:,}" for row in rows[:_MAX_LINES]])
            more = f" and {len(rows) - _MAX_LINES:,} more" if len(rows) > _MAX_LINES else ""
            remedy = "leave a missing time empty" if unit == "s" else "leave such rows out"
            if word == "less than a bit" and bad.all():
                remedy = "is another column under its name, or is its unit another?"
            problems.append(Problem("", f"column '{name}' is {word} in {lines}{more}", remedy))
    return values, problems


def _missing(table: DesignTable, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield in how many rows a size or a time is missing, if it is in some."""
    counts = {name: int(np.isnan(table.numbers[name]).sum()) for name in columns.values()}
    if some := [f"'{name}' in {count:,}" for name, count in counts.items() if count]:
        yield f"there is no number for {join_words(some)} of {plural(len(table.lines), 'row')}"


# ---------------------------------------------------------------------------------------- series


def _split_series(values: Mapping[str, Array], names: NDArray[np.object_]) -> Iterator[Series]:
    """Yield each series: a group of rows, and one of the columns of accelerated times."""
    nothing: Array = np.full(len(names), np.nan)
    devices = [stem for stem in values if stem.startswith(_DEVICE)] or [""]
    for group in dict.fromkeys(names.tolist()):
        for device in devices:
            host, accelerated = values.get(_HOST, nothing), values.get(device, nothing)
            depth = values.get(_DEPTH, nothing)
            queue = np.column_stack([values[_SIZE], depth, accelerated])
            queue = queue[(names == group) & np.isfinite(queue).all(axis=1)]
            accelerated = np.where(depth > 1.0, np.nan, accelerated)
            rows = (names == group) & np.isfinite(values[_SIZE])
            rows &= np.isfinite(host) | np.isfinite(accelerated)
            measured = np.isfinite(accelerated if "_" in device else values[_SIZE])
            if (rows & measured).any():
                name = f"{group} {device.removeprefix(_DEVICE).strip('_')}".strip()
                more = values.get(_OUT, nothing), values.get(_CPU, nothing) / 100.0
                columns = (values[_SIZE], host, accelerated, *more)
                yield replace(Series(name, *(column[rows] for column in columns)), queue=queue)


def check_series_columns(
    by: Sequence[str], table: DesignTable, measured: Collection[str]
) -> Iterator[Problem]:
    """Yield which columns cannot name series."""
    others = [name for name in table.names if name not in measured]
    named = [name for name in others if any(_texts(name, table))]
    remedy = f"--by takes {', '.join(named)}" if named else "no other column has a name"
    for name in by:
        if name not in table.names:
            yield Problem("--by", f"no column '{name}'", nearest(name, others))
        elif name in measured:
            yield Problem("--by", f"'{name}' is a measurement, not a name for series", remedy)
        elif not any(_texts(name, table)):
            yield Problem("--by", f"column '{name}' is empty", "write the name of the series in it")


def name_series(table: DesignTable, by: Sequence[str], whole: str) -> NDArray[np.object_]:
    """Return the name of the series of each row; all are `whole` without columns that name them."""
    if not by:
        return np.full(len(table.lines), whole, dtype=object)
    parts = zip(*(_texts(name, table) for name in by), strict=True)
    return np.array([" ".join(filter(None, row)) or f"without {by[0]}" for row in parts], object)


def _texts(name: str, table: DesignTable) -> list[str]:
    """Return a column as texts, empty where nothing is written."""
    if name in table.texts:
        return [str(text) for text in table.texts[name]]
    return ["" if np.isnan(value) else f"{value:g}" for value in table.numbers[name]]


# ---------------------------------------------------------------------------------------- faults


def _hints(table: DesignTable, by: Sequence[str]) -> Iterator[str]:
    """Yield the column of texts that may name series, if none was named."""
    counts = {name: len(set(column.tolist())) for name, column in table.texts.items()}
    several = [name for name, count in counts.items() if 1 < count <= len(table.lines) / 3]
    if several and not by:
        yield f"'{several[0]}' has {counts[several[0]]} values: --by {several[0]} fits each of them"


def _faults(series: Series, names: tuple[str, str]) -> Iterator[Problem]:
    """Yield the problems of a series; `names` are its columns of times on host and device."""
    for accelerated, name in enumerate(names):
        size, time = series.column(bool(accelerated))
        if not time.size:
            continue
        sizes = np.unique(size)
        middle = np.array([np.median(time[size == s]) for s in sizes])
        if len(sizes) < FEWEST:
            message = f"{name} has {plural(len(sizes), 'size')}: a fit needs at least {FEWEST}"
            yield Problem(series.name, message, "measure more sizes, or leave the column empty")
        else:
            problems = (*_jumps(sizes, middle, name), *_throughput(sizes, middle, name))
            yield from (problem.inside(series.name) for problem in problems[:1])


def _jumps(sizes: Array, times: Array, name: str) -> Iterator[Problem]:
    """Yield where times jump between neighbouring sizes as no law does."""
    growth = times[1:] / times[:-1]
    most = _JUMP * (sizes[1:] / sizes[:-1]) ** _STEEPEST
    for i in np.flatnonzero((growth < 1.0 / _DROP) | (growth > most)):
        (small, large), (before, after) = sizes[i : i + 2].tolist(), times[i : i + 2].tolist()
        ends = f"{show(before, 's')} at {show(small, 'B')} to {show(after, 's')}"
        remedy = "are units mixed in the column? Give all times of a column in its unit"
        yield Problem("", f"{name} goes from {ends} at {show(large, 'B')}", remedy)


def _throughput(sizes: Array, times: Array, name: str) -> Iterator[Problem]:
    """Yield that times look like a throughput: they level off, or fall, with the size."""
    half = len(sizes) // 2
    lower, upper = (
        np.polyfit(np.log(sizes[part]), np.log(times[part]), 1)[0]
        for part in (slice(0, half + 1), slice(-half - 1, None))
    )
    falls = times[-1] < 0.7 * times[0] and upper < 0.0
    rises = bool((np.diff(times[: half + 1]) > 0.0).all()) and times[half] > 1.1 * times[0]
    levels = rises and upper < 0.1 and lower > 2.0 * upper + 0.02
    levels &= bool(times[-1] / sizes[-1] > _SLOW)
    if sizes[-1] >= 8.0 * sizes[0] and (falls or levels):
        word = "falls" if falls else "levels off"
        message = f"{name} {word} as calls grow: that is a throughput, not the time of a call"
        yield Problem("", message, "give seconds of a call: its bytes over the throughput")


def measured_times(series: Series) -> tuple[Array, Array, Array]:
    """Return the sizes with both times, and the medians of their host and accelerated times."""
    both = np.isfinite(series.host) & np.isfinite(series.accelerated)
    sizes = np.unique(series.size[both])
    host, accelerated = (
        np.array([np.median(column[both & (series.size == size)]) for size in sizes])
        for column in (series.host, series.accelerated)
    )
    return sizes, host, accelerated


def table_sources(table: Path) -> list[str]:
    """Return the lines of a table's head that name its source."""
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    comments = (line.lstrip("# ") for line in lines if line.startswith("#"))
    return [line for line in comments if line.startswith(("source", "licence", "hardware"))]
