"""Values that are known beside the table: they split what the times alone cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.fit.law import EXPONENT, FIXED, GAIN, INDEX, PER_BYTE
from dse.model.units import UnitError, read, split
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
    pairs = [[part.strip() for part in text.partition("=")[::2]] for text in texts]
    clock = None
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
        clock = value if name == "clock" else clock
        found[name] = value
    if {"overhead", "latency"} <= found.keys():
        problems.append(
            Problem("--given", "overhead and latency are both given", "the times give their sum")
        )
    if problems:
        raise InputError("dse fit", problems)
    return {name: found[name] for name in (p[0] for p in pairs)}


@np.errstate(divide="ignore")
def coordinates(given: Mapping[str, float]) -> dict[int, float]:
    """Return the coordinates of a law that are given."""
    places = {place: given[name] for name, place in _PLACES.items() if name in given}
    return {p: v if p == EXPONENT else float(np.log(v)) for p, v in places.items()}
