"""The figures of docs/bounds.md, each computed here or listed as given."""

from __future__ import annotations

from benchmarks.bound_problems import lanes
from dse.model import behaviour
from tests.docs_figures import Document


def test_figures_of_bounds() -> None:
    doc = Document("docs/bounds.md")
    doc.says("widened by a relative @", behaviour.MARGIN)
    doc.given("formulas", r"\(1 \+ ε\)")
    doc.given("an exit status", r"ends with 1")
    doc.given("0 is no size", r"Near 0 no")
    doc.given("an example of tolerances", r'"1 %", area = "100 LUT"')
    measured = doc.table("## What it takes")
    doc.cells(measured["designs"][:5], [100_800_000] * 3 + [10_080_000_000, 1_008_000_000_000])
    sizes = [lanes(63, 10, 1250), lanes(630, 100, 1250), lanes(6300, 1000, 1250)]
    assert [each.space.size for each in sizes] == [100_800_000, 10_080_000_000, 1_008_000_000_000]
    doc.given("a run of the benchmark", r"\| (?:exact|[0-9.]+ %) \|.*\|")
    doc.given("the same run, stopped", r"exactly within 20 s")
    doc.check()
