"""The engines: next to an independent transcription of the same sources, and complete enough."""

import csv
import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.model.units import read_value
from dse.study.catalog import Row, open_catalog

ROOT = Path(__file__).parents[2]
ROWS = list(open_catalog("engines").rows.values())
PAGES = runpy.run_path(str(ROOT / "docs" / "catalog_pages.py"))
is_complete: Callable[[Row], bool] = PAGES["is_complete"]


def transcribed(name: str) -> list[dict[str, str]]:
    lines = (ROOT / "benchmarks" / "catalogs" / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def value(row: Row, name: str, unit: str) -> float:
    return read_value(row.values[name].text, unit) if name in row.values else math.nan


def test_there_are_as_many_entries_as_promised() -> None:
    asic = [row for row in ROWS if row.text["series"] == "ASIC"]
    assert len(ROWS) - len(asic) >= 100
    assert len(asic) >= 15
    assert sum(map(is_complete, ROWS)) >= 60
    per_call = [row for row in ROWS if is_complete(row) and "in bulk" not in row.note]
    assert len(per_call) >= 60
    in_luts = [row for row in per_call if "lane_area" in row.values]
    assert len(in_luts) >= 50


def test_each_entry_has_a_function_a_device_and_a_place_as_its_source() -> None:
    for row in ROWS:
        assert {"kernel", "series", "device"} <= row.text.keys(), row.name
        assert all("/" in v.source and ":" in v.source for v in row.values.values()), row.name
        derived = [v for v in row.values.values() if v.provenance == "derived"]
        assert row.note or not derived, row.name
        if "clocks_per_element" in row.values and row.text.get("serves") == "independent blocks":
            assert "chained mode" in row.note, row.name


PLAIN = {
    **{"LUT": ("lane_area", "LUT"), "ALM": ("area_alm", "ALM"), "FF": ("flip_flops", "FF")},
    **{"slices": ("slices", "slice"), "BRAM": ("block_rams", "1"), "DSP": ("dsp_blocks", "1")},
    **{"fmax_MHz": ("engine_clock", "MHz"), "cycles_per_block": ("clocks_per_element", "1")},
}


def printed(line: dict[str, str]) -> dict[tuple[str, str], float]:
    """Return the printed numbers of a line of the FPGAs, by quantity and unit."""
    found = {PLAIN[key]: float(line[key]) for key in PLAIN if line[key]}
    if line["LUT4_or_LE"]:
        le = line["device"].startswith("Cyclone")
        key = ("logic_elements", "1") if le else ("area_lut4", "LUT4")
        found[key] = float(line["LUT4_or_LE"])
    if line["block_bits"] and not (line["throughput_printed"] and not line["cycles_per_block"]):
        found["element_bytes", "B/element"] = float(line["block_bits"]) / 8
    if line["note"].startswith("URAM"):
        found["ultra_rams", "1"] = float(line["note"].split()[1].rstrip(";"))
    if line["throughput_printed"]:
        rate, unit = line["throughput_printed"].split()
        factor = {"GB/s": 1000.0, "MB/s": 1.0, "Mbps": 1 / 8}[unit]
        found["printed_data_rate", "MB/s"] = float(rate) * factor
    return found


def holds(row: Row, numbers: dict[tuple[str, str], float]) -> bool:
    return all(math.isclose(value(row, *key), n, rel_tol=1e-9) for key, n in numbers.items())


FPGA = transcribed("engines_fpga.csv")


def test_every_printed_number_of_the_fpgas_is_in_one_entry() -> None:
    unused = list(ROWS)
    for line in FPGA:
        numbers = printed(line)
        same = [
            row
            for row in unused
            if {v.source for v in row.values.values()} == {line["source"]} and holds(row, numbers)
        ]
        assert same, (line["engine"], line["device"], numbers)
        closest = min(same, key=lambda row: len(row.values))
        extra = {n for n, v in closest.values.items() if v.provenance == "measured"}
        extra -= {name for name, _ in numbers}
        if "in bulk" in closest.note:  # an element is a byte then
            extra.discard("element_bytes")
        # clocks that the repository prints elsewhere, with the line in the note
        assert extra <= {"clocks_per_element"}, closest.name
        assert not extra or "README.md:" in closest.note, closest.name
        unused.remove(closest)
    assert len(FPGA) == 106


AREAS: dict[str, Any] = {"kGE": ("area_gates", "kGE"), "mm2": ("area_silicon", "mm^2")}
ESTIMATES = ("unmasked AES-128 only (expected)", "estimate unhardened")


def test_every_measured_asic_is_an_entry() -> None:
    for line in transcribed("engines_asic.csv"):
        if line["variant"] in ESTIMATES or line["area_unit"] not in AREAS:
            continue
        numbers = {AREAS[line["area_unit"]]: float(line["area"])}
        if line["power_mW_avg"]:
            numbers["engine_power", "mW"] = float(line["power_mW_avg"])
        if line["clock_MHz"]:
            numbers["engine_clock", "MHz"] = float(line["clock_MHz"])
        assert [r for r in ROWS if holds(r, numbers)], line


@pytest.mark.parametrize("name", ["engines", "hosts", "interfaces"])
def test_pages_have_the_tables_of_the_catalogs(name: str) -> None:
    text = (ROOT / "docs" / "reference" / f"catalog-{name}.md").read_text(encoding="utf-8")
    rows = {"engines": "engine_rows", "hosts": "host_rows", "interfaces": "interface_rows"}
    table = PAGES["table"]([], PAGES[rows[name]]()).split("\n", 2)[2]
    assert text.endswith(table)
    for line in PAGES[rows[name]]():
        assert len(line) >= 5
