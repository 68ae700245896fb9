"""Relations add and compare only what has one unit."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.model.dimension import UnitMismatchError
from dse.model.relation import read_relation
from tests.toy import STUDY, written

UNITS = {
    "size": "B", "line": "B", "kib": "KiB", "width": "B/cycle", "latency": "cycle", "clock": "Hz",
    "time": "s", "lanes": "1", "streams": "stream", "calls": "call", "load": "%", "share": "1",
    "area": "LUT", "budget": None,
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "lanes * streams <= 64",
        "size <= 4096",
        "2 * size + line <= 3 * line + 100",
        "size / width <= latency",
        "latency / clock <= time",
        "latency <= time * clock",
        "1 / clock < time",
        "calls + 2 * calls == 3",
        "calls / streams * streams <= calls",
        "size ** 2 / line <= line",
        "sqrt(size * line) <= size",
        "size ** 0.5 * line ** 0.5 <= size",
        "log2(size) + lanes <= 12",
        "exp(size / line) <= 3",
        "max(size, line) <= min(size, 64)",
        "abs(size - line) // line <= lanes",
        "size % line == 0",
        "-size <= -line",
        "lanes ** share <= 100",
        "2 ** lanes <= size / line",
        "area <= budget",
        "budget * area <= area",
        "ceil(size / line) * line <= size",
    ],
)
def test_units_that_fit(text: str) -> None:
    read_relation(text).in_units(UNITS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lanes * streams <= clock", r"compares lanes \* streams \[stream\] with clock \[Hz\]"),
        ("size <= latency", r"compares size \[B\] with latency \[cycle\]"),
        ("size + latency <= 3", r"adds size \[B\] and latency \[cycle\]"),
        ("size <= lanes", r"compares size \[B\] with lanes \[1\]"),
        ("max(size, time) <= 1", r"max\(\) compares size \[B\] with time \[s\]"),
        ("exp(size) <= 1", r"exp takes a plain number, not size \[B\]"),
        ("2 ** size <= 1", r"the exponent size \[B\] is not a plain number"),
        ("size ** lanes <= 1", r"size \[B\] has a power that is not written as a number"),
        ("size % latency == 0", r"divides size \[B\] by latency \[cycle\]"),
        ("size * size <= size", r"compares size \* size"),
        ("log2(size) <= line", "compares log2"),
        ("calls + streams <= 3", r"adds calls \[call\] and streams \[stream\]"),
        ("calls <= lanes", r"compares calls \[call\] with lanes \[1\]"),
        ("lanes ** streams <= 3", r"the exponent streams \[stream\] is not a plain number"),
    ],
)
def test_units_that_do_not_fit(text: str, words: str) -> None:
    with pytest.raises(UnitMismatchError, match=words):
        read_relation(text).in_units(UNITS)


@pytest.mark.parametrize(
    ("text", "values", "violation"),
    [
        ("size <= kib", {"size": 2048, "kib": 1}, 1024),
        ("kib >= size", {"size": 2048, "kib": 1}, 1),
        ("share <= load", {"share": 0.5, "load": 40}, 0.1),
        ("latency <= time", {"latency": 10, "time": 5e-9, "clock": 1e9}, 5),
        ("area <= 600 kLUT", {"area": 700e3}, 100e3),
        ("600 kLUT >= area / lanes", {"area": 700e3, "lanes": 2}, -250e3),
        ("latency + 1 us <= 0.002 ms", {"latency": 1500, "clock": 1e9}, 500),
        ("size / width <= 3 kcycle", {"size": 8000, "width": 2}, 1000),
        ("load < 50 %", {"load": 60}, 10),
    ],
)
def test_other_units_are_converted(text: str, values: dict[str, float], violation: float) -> None:
    relation = read_relation(text).in_units(UNITS)
    assert relation.names <= values.keys()
    assert float(relation.violation(values)) == pytest.approx(violation, rel=1e-12)


def test_without_a_clock_seconds_are_not_cycles() -> None:
    with pytest.raises(UnitMismatchError, match="no clock of the study relates"):
        read_relation("latency <= 3 us").in_units({"latency": "cycle"})


def test_a_number_that_only_a_relation_names_takes_any_unit(tmp_path: Path) -> None:
    text = STUDY.replace("lanes * clock <= 40e9", "cost <= budget")
    study = dse.load(written(tmp_path, "[inputs]\nbudget = 9000\n", text))
    assert study.run().front.designs["cost"].max() <= 9000
