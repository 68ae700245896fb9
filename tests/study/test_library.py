"""`dse list` shows models by their quantities, whether they take records and give dataclasses."""

from __future__ import annotations

import inspect
import re

import pytest

from dse.cli import commands
from dse.study.catalog import catalogs, models, near

_ROWS = "given by rows of catalogs"


def test_records_are_listed_by_their_quantities() -> None:
    found = {each.model.name: each.model for each in models()}
    speedup, offload = found["objectives.logca:speedup"], found["objectives.logca:offload"]
    flat = ["overhead", "latency", "latency_per_byte", "computational_index", "complexity"]
    assert list(speedup.inputs) == ["granularity", *flat, "acceleration"]
    assert speedup.defaults == {"latency": 0.0, "latency_per_byte": 0.0, "complexity": 1.0}
    assert list(offload.inputs) == [*speedup.inputs, "target_speedup"]
    # outputs that join parts, inherited: in the order of the parts
    assert list(offload.outputs) == [name for part in offload.leaves for name in part.outputs]
    assert list(offload.outputs)[:2] == ["speedup", "host_time"]


def test_each_model_is_listed_once_by_the_package_that_names_it() -> None:
    names = [each.model.name for each in models()]
    assert len(set(names)) == len(names)
    # by a table of contents, never by a module inside of a package
    assert not [name for name in names if not re.fullmatch(r"objectives\.\w+:\w+", name)]
    packages = {name.partition(":")[0].removeprefix("objectives.") for name in names}
    assert packages >= {"communication", "logca", "machine", "partition", "sharing"}
    for each in models():
        assert each.about, each.model.name
        assert list(inspect.signature(each.model.function).parameters) == list(each.model.inputs)


def test_a_misspelt_name_has_a_nearest_one() -> None:
    catalog = catalogs()[0].name
    assert near(catalog[:-2] + catalog[-1]) == catalog
    assert near("acelerate") is not None
    assert near("granularty") == "granularity"
    assert near("xyzzy") is None


def listed(capsys: pytest.CaptureFixture[str], *names: str) -> list[str]:
    commands(["list", *names], standalone_mode=False)
    return capsys.readouterr().out.splitlines()


def test_a_list_has_one_line_for_each_model_and_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys)
    told = {each.model.name: each.about for each in models()}
    for name, about in (told | {each.name: each.about for each in catalogs()}).items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith(about)


def test_a_model_is_shown_whole_by_its_name_alone(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "call_break_even")
    assert lines[0].startswith("objectives.machine:call_break_even")
    assert lines.count("  inputs") == lines.count("  outputs") == 1
    assert any(
        line.startswith("    calls_in_flight q [1] whole numbers in [1, 1024]") for line in lines
    )
    assert lines == listed(capsys, "objectives.machine:call_break_even")


def test_a_quantity_is_shown_with_who_gives_and_takes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = listed(capsys, "stream_interval")
    gives, takes = lines.index("given by"), lines.index("taken by")
    for side, among, has in (
        ("outputs", lines[gives + 1 : takes], "stream_interval"),
        ("inputs", lines[takes + 1 :], "stream_interval"),
    ):
        names = {m.model.name for m in models() if has in getattr(m.model, side)}
        assert {line.split()[0] for line in among} == names
    lines = listed(capsys, "interface_latency")
    assert "interfaces cxl-x8 500 ns" in [" ".join(x.split()) for x in lines[lines.index(_ROWS) :]]


def test_a_row_has_its_figures_as_people_write_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "gemm-gpu-host")
    assert len(lines) == 3
    assert lines[2].strip() == "computational_index = 2 cycle/B, complexity = 1.7"
