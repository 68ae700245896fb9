"""Values that `--given` adds to a table: they split sums that the times do not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np

from dse.fit.law import EXPONENT, FIXED, GAIN, INDEX, PER_BYTE
from dse.model.units import UnitError, factor, read, split
from dse.problems import InputError, Problem, nearest

UNITS: Mapping[str, str] = {
    "overhead": "s",
    "latency": "s",
    "latency_per_byte": "s/B",
    "acceleration": "1",
    "computational_index": "s/B",
    "complexity": "1",
    "host_fixed_time": "s",
    "clock": "Hz",
}
"""What may be given, and in which unit."""
_PLACES = {
    "latency_per_byte": PER_BYTE,
    "acceleration": GAIN,
    "computational_index": INDEX,
    "complexity": EXPONENT,
    "host_fixed_time": FIXED,
}
_USUAL = {
    "overhead": "us",
    "latency": "us",
    "latency_per_byte": "ns/B",
    "computational_index": "ns/B",
    "host_fixed_time": "us",
    "clock": "GHz",
}
STEEPEST = 3.0
"""The maximum of the exponent of work."""
_NEXT = re.compile(r"[,;\s]+(?=\w+\s*=)")  # before a further name and value
_POSITIVE = ("acceleration", "computational_index", "complexity", "clock")


def read_given(texts: Sequence[str]) -> dict[str, float]:
    """Read texts such as ``"overhead=5 us"``.

    Raises
    ------
    InputError
        With all that is wrong.

    >>> read_given(["overhead=5 us", "acceleration = 8"])
    {'overhead': 5e-06, 'acceleration': 8.0}
    """
    found: dict[str, float] = {}
    problems: list[Problem] = []
    pairs = _pairs(texts)
    clock = None
    problems += _one_each(texts)
    if problems:
        raise InputError("dse fit", problems)
    for name, text in sorted(pairs, key=lambda pair: pair[0] != "clock"):
        if name not in UNITS:
            problems.append(Problem("--given", f"'{name}' is unknown", nearest(name, UNITS)))
            continue
        try:
            value = read(text, UNITS[name], clock)
            bare = UNITS[name] != "1" and value != 0.0 and not split(text)[2]
        except UnitError as error:
            problems.append(Problem("--given", f"{name}: {error}", f'{name}="1 {UNITS[name]}"'))
            continue
        if bare:
            message = f"{name} = {text} has no unit"
            problems.append(Problem("--given", message, f'such as {name}="{text} {_USUAL[name]}"'))
        least = "more than 0" if name in _POSITIVE else "0 or more"
        if value < 0.0 or (value == 0.0 and name in _POSITIVE) or not np.isfinite(value):
            problems.append(Problem("--given", f"{name} is {text}: {least} is wanted"))
        if name == "complexity" and value > STEEPEST:
            message = f"complexity is {text}: more than 0 and at most {STEEPEST:g} is wanted"
            problems.append(Problem("--given", message, "1 is work that grows as the bytes do"))
        clock = value if name == "clock" else clock
        found[name] = value
    if {"overhead", "latency"} <= found.keys():
        problems.append(
            Problem("--given", "overhead and latency are both given", "the times give their sum")
        )
    if problems:
        raise InputError("dse fit", problems)
    return {name: found[name] for name, _ in pairs}


def _pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and value of each text."""
    parts = (text.partition("=") for text in texts)
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _one_each(texts: Sequence[str]) -> Iterator[Problem]:
    """Yield texts with several values, and names that are given several times."""
    for text in texts:
        parts = _NEXT.split(text.strip())
        if len(parts) > 1:
            remedy = " ".join(f"--given {shlex.quote(part)}" for part in parts)
            message = f"'{text}' is {len(parts)} values: give each by a --given of its own"
            yield Problem("--given", message, remedy)
    names = [name for name, _ in _pairs(texts)]
    for name in dict.fromkeys(name for name in names if name in UNITS and names.count(name) > 1):
        values = " and ".join(value for each, value in _pairs(texts) if each == name)
        yield Problem("--given", f"{name} is given {names.count(name)} times: {values}", "give one")


def uses_clock(texts: Sequence[str]) -> bool:
    """Return whether a given value is in cycles.

    >>> uses_clock(["overhead=500 cycle", "clock=1 GHz"]), uses_clock(["clock=1 GHz"])
    (True, False)
    """
    for name, text in _pairs(texts):
        with suppress(UnitError):
            unit = split(text)[2]
            if unit and name != "clock" and name in UNITS and factor(unit, UNITS[name])[1]:
                return True
    return False


@np.errstate(divide="ignore")
def coordinates(given: Mapping[str, float]) -> dict[int, float]:
    """Return the coordinates of a law that are given."""
    places = {place: given[name] for name, place in _PLACES.items() if name in given}
    return {p: v if p == EXPONENT else float(np.log(v)) for p, v in places.items()}


def fitted_with(given: Mapping[str, float]) -> list[str]:
    """Return the given values that a law is fitted with; the others split its sums afterwards."""
    return [name for name in given if name in _PLACES]
