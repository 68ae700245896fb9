"""Energy in studies, from file to front, and what its document prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dse
from objectives.logca import break_even, times
from tests.energy_examples import AES, everything, row

ROOT = Path(__file__).parents[2]

STUDY = """
[study]
name = "energy"
models = ["objectives.logca:offload", "objectives.energy:energy"]
[inputs]
clock = "1.16 GHz"
computational_index = 90
complexity = 1.01
latency_per_byte = 0
[space]
platform = { catalog = "powers", options = ["ultrasparc-t2", "small-core-cache"] }
acceleration = { integer = [2, 40] }
[space.interface]
catalog = "interfaces"
options = ["privileged-dma", "user-port"]
rename = { interface_overhead = "overhead", interface_latency = "latency" }
"""
OBJECTIVES = """
[[objective]]
maximize = "greenup"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "energy_delay_product"
at = { granularity = "64 KiB" }
[[objective]]
maximize = "speedup_per_joule"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "acceleration"
[[constraint]]
quantity = "energy_break_even"
at_most = "200 B"
"""


def study(folder: Path, text: str) -> dse.Study:
    (folder / "energy.toml").write_text(text, encoding="utf-8")
    return dse.load(folder / "energy.toml")


def test_a_study_of_energy_from_file_to_front(tmp_path: Path) -> None:
    # latency_per_byte is of the interfaces' rows
    result = study(tmp_path, STUDY.replace("latency_per_byte = 0\n", "") + OBJECTIVES).run()
    assert result.certificate.complete
    front = result.front.designs
    assert len(front) > 1 and (front["energy_break_even"] <= 200).all()
    assert set(front["interface"]) == {"user-port"}  # 29,000 cycles of set-up take 340 B
    named = ("greenup", "energy_delay_product", "speedup_per_joule")
    names = [str(name) for name in front.columns if str(name).startswith(named)]
    for one in front.to_dict("records"):
        design = AES | {"overhead": 435.0, "latency": 500.0, "acceleration": one["acceleration"]}
        powers: dict[str, Any] = {"clock": 1.16e9, **row(str(one["platform"]))}
        small, large = (everything(g, design, **powers) for g in (1024.0, 65_536.0))
        values = small["greenup"], large["energy_delay_product"], small["speedup_per_joule"]
        assert sorted(one[name] for name in names) == pytest.approx(
            sorted(map(float, values)), rel=1e-12
        )


def test_lanes_of_the_engine_draw_their_power(tmp_path: Path) -> None:
    text = """
[study]
name = "lanes"
models = ["objectives.logca:offload", "objectives.machine:lanes_for", "objectives.energy:energy"]
[inputs]
clock = "1.16 GHz"
computational_index = 90
overhead = 435
granularity = "1 KiB"
clock_period = "90 cycle"         # 64 blocks in 4 passes: a quarter of the host's time
element_bytes = 16
passes = 4
powers = { catalog = "powers", row = "ultrasparc-t2" }
[space]
acceleration = { values = [4, 8, 16] }
[[objective]]
minimize = "engine_idle_energy"
[[objective]]
maximize = "lanes"
"""
    found = study(tmp_path, text).evaluate(pd.DataFrame({"acceleration": [4, 8, 16]}))
    (name,) = (each for each in map(str, found) if each.startswith("engine_idle_energy"))
    spent = [
        float(
            times(
                granularity=1024, overhead=435, computational_index=90, acceleration=a
            ).accelerated_time
        )
        * (a / 4)
        * 12.5e-3
        / 1.16e9
        for a in (4.0, 8.0, 16.0)
    ]
    assert found["lanes"].tolist() == [1, 2, 4]
    assert found[name].tolist() == pytest.approx(spent, rel=1e-12)


# --- the document ---------------------------------------------------------------------------------


def rounded(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}"


def rows_of(pattern: str) -> list[tuple[float, list[str]]]:
    """Return the rows of the document whose first cell is a number in the unit of a pattern."""
    text = (ROOT / "docs" / "energy.md").read_text(encoding="utf-8")
    found = re.findall(rf"^\| ([\d,.]+) {pattern} \|(.*)\|$", text, re.MULTILINE)
    return [
        (float(first.replace(",", "")), [cell.strip() for cell in cells.split("|")])
        for first, cells in found
    ]


def test_the_table_of_the_document() -> None:
    names = ("speedup", "host_energy", "call_energy", "greenup", "energy_delay_product")
    scales = (1, 1e6, 1e6, 1, 1e9)
    rows = rows_of("B")
    assert len(rows) == 4
    for size, cells in rows:
        found = everything(size, AES, clock=1.16e9, **row("ultrasparc-t2"))
        values = (found[name] * scale for name, scale in zip(names, scales, strict=True))
        assert cells == [rounded(value) for value in values]


def test_what_the_document_says_of_a_host_that_waits() -> None:
    rows = rows_of("W")
    assert len(rows) == 4
    for idle, cells in rows:
        powers: dict[str, Any] = row("ultrasparc-t2") | {"host_idle_power": idle}
        found = everything(2.0**20, AES, clock=1.16e9, **powers)
        assert cells == [f"{found['energy_break_even']:.1f} B", rounded(found["greenup"])]
    text = (ROOT / "docs" / "energy.md").read_text(encoding="utf-8")
    assert f"breaks even in time at {break_even(**AES).break_even:.1f} B" in text
