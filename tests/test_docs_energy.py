"""The figures of docs/energy.md, each computed here or listed as given."""

from __future__ import annotations

from objectives.logca import break_even
from tests.docs_figures import Document
from tests.energy_examples import AES, everything, row

CLOCK = 1.16e9


def test_figures_of_energy() -> None:
    doc = Document("docs/energy.md")
    powers = row("ultrasparc-t2")
    table = doc.table("## An example")
    sizes = [float(doc.at(cell).removesuffix(" B").replace(",", "")) for cell in table["g"]]
    found = [everything(g, AES, clock=CLOCK, **powers) for g in sizes]
    doc.cells(table["g"], sizes)
    doc.cells(table["speedup"], [f["speedup"] for f in found], 3)
    doc.cells(table["E0"], [f["host_energy"] * 1e6 for f in found], 3)
    doc.cells(table["E1"], [f["call_energy"] * 1e6 for f in found], 3)
    doc.cells(table["greenup"], [f["greenup"] for f in found], 3)
    doc.cells(table["E1·T1"], [f["energy_delay_product"] * 1e9 for f in found], 3)
    idle = doc.table("| `host_idle_power` |")
    watts = [float(doc.at(cell).removesuffix(" W")) for cell in idle["host_idle_power"]]
    large = [
        everything(2.0**20, AES, clock=CLOCK, **(powers | {"host_idle_power": w})) for w in watts
    ]
    doc.cells(idle["host_idle_power"], watts)
    doc.cells(idle["energy break-even"], [f["energy_break_even"] for f in large], 4)
    doc.cells(idle["greenup of 1 MiB"], [f["greenup"] for f in large], 3)
    assert powers["host_idle_power"] == powers["host_active_power"] / 2 == watts[2]
    doc.says("offloading pays in time from @ B", break_even(**AES).break_even)
    doc.given("the example", r"β = 1\.01, 1\.16 GHz", r"greenup of 1 MiB")
    doc.given("words", r"E0/E1; above 1 the", r"and 0 for", r"1, default 1")
    doc.check()
