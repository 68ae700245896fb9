"""Measured times: the columns, units and series of a table, and the tables that are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.boundary import reader
from dse.model.quantity import Array
from dse.model.units import UnitError, factor
from dse.model.values import listed, show
from dse.problems import InputError, Problem, closest, nearest
from dse.study.design_table import DesignTable, read_table

FEWEST = 4
"""Sizes that a column of times must have."""
_DROP, _JUMP = 20.0, 100.0  # between neighbouring sizes: no law of a host or device does that
_STEEPEST = 3.0
_SLOW = 1e-8  # seconds a byte: a rate given as a time is slower than that at the largest size
_WANTED = "granularity_B, host_s and accelerated_s, or one of the two times"
_SIZE, _OUT, _HOST, _DEVICE = "granularity", "granularity_out", "host", "accelerated"
_KINDS = {"s": (_HOST, _DEVICE), "B": (_SIZE, _OUT)}  # what there is to measure, by unit
_TOLD = 3  # lines that a message names
_SLIP, _ALIKE = 0.8, 0.6  # how alike a name and its misspelling are, and names that may mean one
_BIT = 0.125  # bytes


@dataclass(frozen=True)
class Series:
    """What was measured of one kernel on one machine.

    Parameters
    ----------
    name : str
        What the table calls it.
    size : ndarray, shape (points,)
        Bytes of a call.
    host, accelerated : ndarray, shape (points,)
        Seconds of a call; NaN where it was not measured.
    returned : ndarray, shape (points,)
        Bytes that a call returns; NaN if the table does not have them.
    """

    name: str
    size: Array
    host: Array
    accelerated: Array
    returned: Array

    def column(self, accelerated: bool) -> tuple[Array, Array]:
        """Return sizes and times of a column, where it was measured."""
        times = self.accelerated if accelerated else self.host
        known = np.isfinite(times)
        return self.size[known], times[known]


@reader
def read_series(
    path: Path, by: Sequence[str] = (), clock: float | None = None, clock_used: bool = False
) -> tuple[list[Series], list[str]]:
    """Read the series of a table.

    Parameters
    ----------
    path : Path
        A CSV file with a row of names: ``granularity_B`` and ``host_s``, ``accelerated_s`` or both,
        in any unit of size and time; ``accelerated_WORD_s`` is a series of its own, and
        ``granularity_out_B`` are the bytes that a call returns. Repeats are rows of equal size.
    by : sequence of str
        Columns that name series.
    clock : float, optional
        Clock [Hz] of times in cycles.
    clock_used : bool
        Whether something beside the table is in cycles of that clock.

    Returns
    -------
    series : list of Series
    hints : list of str
        What the reader may want to know of the table.

    Raises
    ------
    InputError
        With all that is wrong.
    """
    if not path.is_file():
        near = nearest(path.name, [p.name for p in path.parent.glob("*.csv")])
        raise InputError(str(path), [Problem("", "there is no such file", near)])
    try:
        table, _ = read_table(path.name, path.parent, row="measurement")
    except InputError as error:
        raise InputError(str(path), error.problems) from None
    columns, problems = _columns(table)
    problems = [
        *check_series_columns(by, table, _measured(table)),
        *_misspelt(table, columns, by),
        *problems,
    ]
    if problems:
        raise InputError(str(path), problems)
    values, found = _values(table, columns, clock)
    problems += found
    if problems:
        raise InputError(str(path), problems)
    names = columns.get(_HOST, "host_s"), columns.get(_DEVICE, "accelerated_s")
    series = list(_series(values, name_series(table, by, path.stem)))
    problems = [problem for each in series for problem in _faults(each, names)]
    if not series:
        problems = [Problem("", "has no times", f"wanted are {_WANTED}")]
    if problems:
        raise InputError(str(path), problems)
    hints = [*_hints(table, by), *_unused(table, columns, by), *_lacking(table, columns)]
    if clock is not None and not clock_used and not _in_cycles(table, columns):
        hints.append("the given clock has no effect: no column is in cycles")
    return series, hints


def _stem(name: str, unit: str) -> str:
    """Return a column's name without its unit.

    >>> _stem("host_s", "s"), _stem("host", "us"), _stem("accelerated_2ch_s", "s")
    ('host', 'host', 'accelerated_2ch')
    """
    head, _, end = name.rpartition("_")
    ends = {unit, f"{unit}s", unit.replace("/s", "ps")}
    return head if unit != "1" and end in ends else name


def _measured(table: DesignTable) -> list[str]:
    """Return the columns of sizes and times, used or not."""
    units = {name: table.units.get(name, _written_unit(name)) for name in table.names}
    stems = {name: _stem(name, unit) for name, unit in units.items() if unit != "1"}
    known = (_SIZE, f"{_SIZE}_in", _OUT, _HOST, _DEVICE)
    return [n for n, stem in stems.items() if stem in known or stem.startswith(f"{_DEVICE}_")]


def _columns(table: DesignTable) -> tuple[dict[str, str], list[Problem]]:
    """Return the columns by what they are, and what is wrong with their names."""
    found: dict[str, str] = {}
    rates: dict[str, str] = {}
    problems: list[Problem] = []
    for name in table.names:
        unit = table.units.get(name, _written_unit(name))
        stem = _stem(name, unit)
        stem = _SIZE if stem == f"{_SIZE}_in" else stem
        known = stem in (_SIZE, _OUT, _HOST, _DEVICE) or stem.startswith(f"{_DEVICE}_")
        if not known:
            continue
        if unit.endswith("/s"):
            rates[stem] = name
        elif stem in found:
            message = f"columns '{found[stem]}' and '{name}' are both the {stem.replace('_', ' ')}"
            problems.append(Problem("", message, "leave one of them"))
        elif unit == "1" and stem in (_SIZE, _OUT, _HOST, _DEVICE):
            example = f"{stem}_B" if stem in (_SIZE, _OUT) else f"{stem}_s"
            problems.append(Problem("", f"column '{name}' has no unit in its name", example))
        elif unit != "1":
            found[stem] = name
    if _DEVICE in found:  # the others are notes of whoever measured
        found = {stem: name for stem, name in found.items() if not stem.startswith(f"{_DEVICE}_")}
    timed = any(stem == _HOST or stem.startswith(_DEVICE) for stem in found)
    if not problems and not timed and rates:
        named = listed([f"'{name}'" for name in rates.values()])
        word = "columns" if len(rates) > 1 else "column"
        kind = "are throughputs" if len(rates) > 1 else "is a throughput"
        message = f"{word} {named} {kind}"
        problems.append(
            Problem("", message, "give seconds of a call, as host_s: its bytes over the throughput")
        )
    elif not problems and (_SIZE not in found or not timed):
        missing = "sizes" if _SIZE not in found else "times"
        problems.append(Problem("", f"has no column of {missing}", f"wanted are {_WANTED}"))
    return found, problems


def _others(
    table: DesignTable, columns: Mapping[str, str], by: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each time or size that is not used: its column, its stem and its base unit."""
    for name in table.names:
        unit = table.units.get(name, _written_unit(name))
        if name in columns.values() or name in by or unit == "1":
            continue
        for wanted in _KINDS:
            with suppress(UnitError):
                factor(unit, wanted)
                yield name, _stem(name, unit), wanted


def _meant(stem: str, wanted: str, columns: Mapping[str, str], likeness: float) -> str:
    """Return the column that a name stands for, of those that the table lacks; empty if none."""
    absent = [
        each for each in _KINDS[wanted] if not any(known.startswith(each) for known in columns)
    ]
    found = closest(stem, absent, likeness)
    return f"{found}_{wanted}" if found else ""


def _misspelt(
    table: DesignTable, columns: Mapping[str, str], by: Sequence[str]
) -> Iterator[Problem]:
    """Yield the columns whose names are nearly those of a column that the table lacks."""
    for name, stem, wanted in _others(table, columns, by):
        if stem not in _KINDS[wanted] and (meant := _meant(stem, wanted, columns, _SLIP)):
            remedy = f"did you mean '{meant}'? If it is something else, give it another name"
            yield Problem("", f"column '{name}' is not known", remedy)


def _unused(table: DesignTable, columns: Mapping[str, str], by: Sequence[str]) -> Iterator[str]:
    """Yield which times and sizes are not used, if there are any."""
    told = []
    for name, stem, wanted in _others(table, columns, by):
        meant = _meant(stem, wanted, columns, _ALIKE)
        told.append(f"'{name}'" + (f" (did you mean '{meant}'?)" if meant else ""))
    if told:
        yield f"not used: {listed(told)}"


def _written_unit(name: str) -> str:
    """Return the unit at the end of the name of a column that holds texts."""
    end = name.rpartition("_")[2]
    return end if end in ("B", "KiB", "MiB", "kB", "MB", "s", "ms", "us", "ns") else "1"


def _values(
    table: DesignTable, columns: Mapping[str, str], clock: float | None
) -> tuple[dict[str, Array], list[Problem]]:
    """Return the columns in bytes and seconds, and what is wrong with them."""
    values: dict[str, Array] = {}
    problems: list[Problem] = []
    for stem, name in columns.items():
        wanted = "B" if stem in (_SIZE, _OUT) else "s"
        if name in table.texts:
            shown = table.not_numbers(name, ())
            message = f"column '{name}' has {shown}: numbers in the unit of its name are wanted"
            problems.append(Problem("", message, "one unit for a whole column"))
            continue
        try:
            scale, power = factor(table.units[name], wanted)
        except UnitError as error:
            problems.append(Problem("", f"column '{name}': {error}"))
            continue
        if power and clock is None:
            message = f"column '{name}' is in cycles, and no clock is given"
            problems.append(Problem("", message, '--given clock="1 GHz"'))
            continue
        values[stem] = table.numbers[name] * scale * (clock or 1.0) ** power
        problems += _signs(table, name, wanted)
        if wanted == "B":
            problems += _below_a_bit(table, name, values[stem])
    return values, problems


def _signs(table: DesignTable, name: str, unit: str) -> Iterator[Problem]:
    """Yield what is not above zero in a column, by kind."""
    given = table.numbers[name]
    kinds = (("zero", given == 0.0), ("negative", given < 0.0), ("infinite", np.isinf(given)))
    for word, bad in kinds:
        at = np.flatnonzero(bad)
        if at.size:
            shown = listed([f"line {table.lines[i]:,}" for i in at[:_TOLD]])
            more = f" and {len(at) - _TOLD:,} more" if len(at) > _TOLD else ""
            message = f"column '{name}' is {word} in {shown}{more}: more than 0 {unit} is wanted"
            remedy = "leave such rows out" if unit == "B" else "leave a missing time empty"
            yield Problem("", message, remedy)


def _below_a_bit(table: DesignTable, name: str, sizes: Array) -> Iterator[Problem]:
    """Yield that sizes are smaller than any data are, if they are."""
    at = np.flatnonzero((sizes > 0.0) & (sizes < _BIT))
    if at.size:
        given = show(float(table.numbers[name][at[0]]), table.units[name])
        more = f" and in {len(at) - 1:,} more" if len(at) > 1 else ""
        message = (
            f"column '{name}' is {given} in line {table.lines[at[0]]:,}{more}: less than a bit"
        )
        yield Problem("", message, "is another column under its name, or is its unit another?")


def _series(values: Mapping[str, Array], named: NDArray[np.object_]) -> Iterator[Series]:
    """Yield each series: a group of rows, and one of the columns of accelerated times."""
    none = np.full(len(named), np.nan)
    devices = [stem for stem in values if stem.startswith(_DEVICE)] or [""]
    for group in dict.fromkeys(named.tolist()):
        rows = named == group
        for device in devices:
            host, accelerated = values.get(_HOST, none), values.get(device, none)
            known = rows & np.isfinite(values[_SIZE])
            known &= np.isfinite(host) | np.isfinite(accelerated)
            if device and device != _DEVICE and not np.isfinite(accelerated[known]).any():
                continue
            if not known.any():
                continue
            suffix = device.removeprefix(_DEVICE).strip("_")
            name = f"{group} {suffix}".strip()
            columns = (values[_SIZE], host, accelerated, values.get(_OUT, none))
            yield Series(name, *(column[known] for column in columns))


def _hints(table: DesignTable, by: Sequence[str]) -> list[str]:
    """Return columns of texts that may name series, if none was named."""
    told = {name: len(set(column.tolist())) for name, column in table.texts.items()}
    several = [name for name, count in told.items() if 1 < count <= len(table.lines) / 3]
    if by or not several:
        return []
    return [f"'{several[0]}' has {told[several[0]]} values: --by {several[0]} fits each of them"]


def _lacking(table: DesignTable, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield in how many rows a size or a time is missing, if it is in some."""
    count = len(table.lines)
    lacking = {name: int(np.isnan(table.numbers[name]).sum()) for name in columns.values()}
    told = [f"'{name}' in {lacks:,} of {count:,} rows" for name, lacks in lacking.items() if lacks]
    if told:
        yield f"there is no number for {listed(told)}"


def _in_cycles(table: DesignTable, columns: Mapping[str, str]) -> bool:
    times = (name for stem, name in columns.items() if stem not in (_SIZE, _OUT))
    return any(factor(table.units[name], "s")[1] for name in times)


def _faults(series: Series, names: tuple[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with a series before anything is fitted.

    Parameters
    ----------
    names : (str, str)
        The columns of the host's and of the accelerated time, for messages.
    """
    for accelerated, name in enumerate(names):
        size, time = series.column(bool(accelerated))
        if not time.size:
            continue
        sizes = np.unique(size)
        middle = np.array([np.median(time[size == s]) for s in sizes])
        if len(sizes) < FEWEST:
            found = f"{len(sizes)} size{'s' if len(sizes) > 1 else ''}"
            message = f"{name} has {found}: at least {FEWEST} are wanted"
            yield Problem(series.name, message, "measure more sizes, or leave the column empty")
        elif (problem := _torn(sizes, middle, name)) or (problem := _rate(sizes, middle, name)):
            yield Problem(series.name, *problem)


def _torn(sizes: Array, times: Array, name: str) -> tuple[str, str] | None:
    """Return what is wrong if times jump between neighbouring sizes as no law does."""
    with np.errstate(over="ignore"):  # of 1e300 s after 1 s, infinity is what is meant
        grown = times[1:] / times[:-1]
        most = _JUMP * (sizes[1:] / sizes[:-1]) ** _STEEPEST
    for i in np.flatnonzero((grown < 1.0 / _DROP) | (grown > most)):
        before, after = (show(t, "s") for t in times[i : i + 2])
        at, to = (show(s, "B") for s in sizes[i : i + 2])
        message = f"{name} goes from {before} at {at} to {after} at {to}"
        return message, "are units mixed in the column? Give all times of a column in its unit"
    return None


def _rate(sizes: Array, times: Array, name: str) -> tuple[str, str] | None:
    """Return what is wrong if times look like a throughput: they level off, or fall, with size."""
    half = len(sizes) // 2
    lower, upper = (
        np.polyfit(np.log(sizes[part]), np.log(times[part]), 1)[0]
        for part in (slice(0, half + 1), slice(-half - 1, None))
    )
    falls = times[-1] < 0.7 * times[0] and upper < 0.0
    rises = bool((np.diff(times[: half + 1]) > 0.0).all()) and times[half] > 1.1 * times[0]
    levels = rises and lower > 2.0 * upper + 0.02 and times[-1] / sizes[-1] > _SLOW
    levels &= upper < 0.1
    wide = sizes[-1] >= 8.0 * sizes[0]
    if not (wide and (falls or levels)):
        return None
    word = "falls" if falls else "levels off"
    return (
        f"{name} {word} as calls grow: that is a throughput, not the time of a call",
        "give seconds of a call: its bytes over the throughput",
    )


def check_series_columns(
    by: Sequence[str], table: DesignTable, measured: Sequence[str]
) -> Iterator[Problem]:
    """Yield which columns cannot name series.

    Parameters
    ----------
    by : sequence of str
    table : DesignTable
    measured : sequence of str
        The columns of sizes and times.
    """
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
    column: NDArray[Any] | None = table.texts.get(name)
    if column is not None:
        return [str(text) for text in column]
    return ["" if np.isnan(value) else f"{value:g}" for value in table.numbers[name]]
