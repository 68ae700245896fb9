"""Entries of catalogs by condition: in `dse list`, and as the options of a variable."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import dse
from dse.cli import commands
from dse.model import Array, Floats, Quantity, model
from dse.model.units import UnitError, read_value
from dse.problems import InputError
from dse.study.alternatives import list_alternatives
from dse.study.catalog import Catalog, Row, load_catalog, open_catalog
from dse.study.catalog_filter import filter_catalog

ENGINES, HOSTS = open_catalog("engines"), open_catalog("hosts")


def value(row: Row, name: str, unit: str) -> float:
    """Return a value of a row in a unit; NaN if the row does not have it in that kind of unit."""
    try:
        return read_value(row.values[name].text, unit) if name in row.values else math.nan
    except UnitError:
        return math.nan


CASES = [
    ("kernel = AES and device = Artix-7", lambda r: r.text["device"] == "Artix-7"),
    (
        "kernel = aes and lane_area < 5 kLUT",
        lambda r: value(r, "lane_area", "LUT") < 5000,
    ),
    ('kernel == "AES" and not (device = Artix-7)', lambda r: r.text["device"] != "Artix-7"),
    (
        "series in (7-series, ultrascale+) and kernel = AES",
        lambda r: r.text["series"] in ("7-series", "UltraScale+"),
    ),
    (
        "kernel = AES and engine_clock between 0.1 GHz and 340 MHz",
        lambda r: 1e8 <= value(r, "engine_clock", "Hz") <= 340e6,
    ),
    ("kernel=AES and area_gates > 100 kGE", lambda r: value(r, "area_gates", "GE") > 1e5),
    ('entry = "aes-secworks-kintex-7-7k70t-1" and kernel = AES', lambda r: "-1" in r.name[-2:]),
]


@pytest.mark.parametrize(("condition", "holds"), CASES, ids=[case for case, _ in CASES])
def test_a_condition_selects_the_entries_that_a_loop_selects(condition: str, holds: Any) -> None:
    kept = filter_catalog(ENGINES, condition).rows
    expected = [r.name for r in ENGINES.rows.values() if r.text["kernel"] == "AES" and holds(r)]
    if "entry" in condition:
        expected = ["aes-secworks-kintex-7-7k70t-1"]
    assert list(kept) == expected
    assert expected


def test_cycles_become_time_by_the_clock_of_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text(
        "# about = 'hosts'\n# source = 's'\n"
        "entry, computational_index [ns/B], clock [GHz]\n"
        "a, 2, 1\nb, 4 cycle/B, 4\nc, 0.1 cycle/B,\n"
    )
    catalog = load_catalog(path)
    assert list(filter_catalog(catalog, "computational_index < 3 ns/B").rows) == ["a", "b"]
    assert list(filter_catalog(catalog, "computational_index < 1.5 ns/B").rows) == ["b"]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("kernel = AESS", "kernel is never 'AESS'"),
        ("functions = AES", "no column 'functions'"),
        ("lane_area < 5 ns", "lane_area"),
        ("kernel <", "character"),
    ],
)
def test_a_wrong_condition_is_refused(condition: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        filter_catalog(ENGINES, condition)


# dse list


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    commands(["list", *arguments], standalone_mode=False)
    return capsys.readouterr().out


def test_a_list_is_a_table_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, "engines", "--where", "kernel = SHA-256").splitlines()
    assert lines[0].startswith("catalog engines  ")
    (line,) = [line for line in lines if line.startswith("sha-256-secworks-artix-7-200t-3 ")]
    assert line.split()[1:] == ["108", "64", "66", "2,471"]
    assert max(map(len, lines[:-1])) <= 80
    lines = listed(capsys, "engines", "--where", "kernel = SHA-256 and flip_flops > 0").splitlines()
    assert "flip_" in lines[1] + lines[2] + lines[3]


def test_data_has_the_source_of_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(listed(capsys, "hosts", "--where", "kernel = inflate", "--json"))
    wanted = [r for r in HOSTS.rows.values() if r.text["kernel"] == "inflate"]
    assert [entry["entry"] for entry in data["entries"]] == [r.name for r in wanted]
    for entry in data["entries"]:
        assert entry["facts"]["kernel"] == "inflate"
        assert all(v["source"] and v["provenance"] for v in entry["values"].values())


def test_an_entry_is_listed_with_source_and_note(capsys: pytest.CaptureFixture[str]) -> None:
    text = listed(capsys, "aes-vitis-128-encryption-pipelined")
    assert "security/docs/guide_L1/internals/aes.rst" in text
    assert "390.6 MHz  (measured)" in text
    assert "chained mode" in text


# The options of a variable


@dataclass(frozen=True, eq=False)
class Built:
    """The rate and the area of an engine."""

    data_rate: Annotated[Array, Quantity("B/s", "rate", low=0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


@model
def built(
    engine_clock: Annotated[Floats, Quantity("Hz", "clock", above=0)],
    element_bytes: Annotated[Floats, Quantity("B/element", "data of an element", above=0)],
    clocks_per_element: Annotated[Floats, Quantity("1", "clocks", above=0)],
    lane_area: Annotated[Floats, Quantity("LUT", "area of a lane", above=0)],
) -> Built:
    """Return the rate and the area."""
    rate = np.divide(np.multiply(engine_clock, element_bytes), clocks_per_element)
    return Built(rate, np.asarray(lane_area, dtype=np.float64))


def study(engine: dict[str, Any]) -> dse.Study:
    content = {
        "study": {"name": "engines", "models": ["built"]},
        "space": {"engine": {"catalog": "engines"} | engine},
        "objective": [{"maximize": "data_rate"}, {"minimize": "area"}],
    }
    return dse.from_mapping(content, models={"built": built})


NEEDED = ("engine_clock", "element_bytes", "clocks_per_element", "lane_area")


def complete(catalog: Catalog) -> list[str]:
    return [r.name for r in catalog.rows.values() if {*NEEDED} <= {*r.values}]


def test_a_variable_takes_the_entries_that_a_condition_selects() -> None:
    condition = "kernel = SHA-256 and series = 7-series"
    chosen = filter_catalog(ENGINES, condition)
    made = study({"where": condition})
    result = made.run()
    assert result.certificate.designs == len(complete(chosen)) > 2
    rates = {
        n: value(r, "engine_clock", "Hz") * 64 / value(r, "clocks_per_element", "1")
        for n, r in chosen.rows.items()
        if n in complete(chosen)
    }
    best = result.front.designs.sort_values("data_rate").iloc[-1]
    assert best["engine"] == max(rates, key=lambda n: rates[n])
    assert best["data_rate"] == pytest.approx(max(rates.values()))


def test_entries_of_other_areas_are_left_out_with_a_note() -> None:
    chosen = filter_catalog(ENGINES, "kernel = SHA-256")
    made = study({"where": "kernel = SHA-256"})
    assert made.run().certificate.designs == len(complete(chosen)) < len(chosen.rows)
    (note,) = [note for note in made.notes if "lane_area" in note]
    assert "sha-256-secworks-cyclone-v" in note


def test_no_alternative_comes_from_outside_the_condition() -> None:
    condition = "kernel = SHA-256 and series = 7-series"
    inside = complete(filter_catalog(ENGINES, condition))
    found = list_alternatives(study({"where": condition, "options": inside[:1]}))
    assert sorted(found["engine"]) == sorted(inside[1:])


INCOMPLETE = "aes-secworks-igloo2-m2gl090ts-1, aes-secworks-kintex-7-7k70t-1-cmt-sbox"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"where": "kernel = AESS"}, "space.engine.where: .*kernel is never 'AESS'"),
        ({"where": "lane_area < 1 LUT"}, "space.engine.where: no entry satisfies it"),
        ({"where": "kernel = KMAC"}, "no model takes any quantity"),
        ({"where": "kernel = AES and series = IGLOO2"}, "missing input 'lane_area'"),
        ({"where": f"entry in ({INCOMPLETE})"}, "no entry sets all of .*lane_area"),
    ],
)
def test_a_wrong_selection_is_refused_with_its_place(engine: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        study(engine)
