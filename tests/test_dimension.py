"""Relations add and compare only what has one unit."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.model.dimension import UnitMismatchError, check_units
from dse.model.expression import read_relation
from dse.problems import InputError
from tests.toy import MODEL, STUDY

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
    check_units(read_relation(text), UNITS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lanes * streams <= clock", r"compares lanes \* streams \[stream\] with clock \[Hz\]"),
        ("size <= latency", r"compares size \[B\] with latency \[cycle\]"),
        ("size + latency <= 3", r"adds size \[B\] and latency \[cycle\]"),
        ("size <= kib", r"compares size \[B\] with kib \[KiB\]"),
        ("share <= load", r"compares share \[1\] with load \[%\]"),
        ("latency <= time", r"compares latency \[cycle\] with time \[s\]"),
        ("size / width <= time", "compares size / width .* with time"),
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
        check_units(read_relation(text), UNITS)


def test_a_study_is_told(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("lanes * clock <= 40e9", "lanes * size <= clock"))
    with pytest.raises(InputError, match=r"compares lanes \* size \[B\] with clock \[Hz\]") as told:
        dse.load(path)
    assert [p.where for p in told.value.problems] == ["constraint[2].relation"]
    path.write_text(
        STUDY.replace("lanes * clock <= 40e9", "cost <= budget") + "[inputs]\nbudget = 9000\n"
    )
    assert dse.load(path).run().front.designs["cost"].max() <= 9000
