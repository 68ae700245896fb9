"""The figures of docs/bounds.md, each computed here or listed as given."""

from __future__ import annotations

from benchmarks.bound_problems import lanes
from benchmarks.shared_aes import shared_aes
from dse.evaluate import memory
from dse.model import declarations
from dse.search import workers
from tests.docs_figures import Document


def test_figures_of_bounds() -> None:
    doc = Document("docs/bounds.md")
    doc.says("widened by a relative @", declarations.MARGIN)
    doc.says("in pieces of @ rows", workers.PIECE)
    doc.given("formulas", r"\(1 \+ ε\)")
    doc.given("an exit status", r"ends with 1")
    doc.given("0 is no size", r"Near 0 no")
    doc.given("an example of tolerances", r'"1 %", area = "100 LUT"')
    doc.given("2 to the power of 30 steps", r"a billionth of its range")
    measured = doc.table("## What it takes")
    sizes = [lanes(63, 10, 1250)] * 3 + [lanes(630, 100, 1250)] * 2 + [lanes(6300, 1000, 1250)]
    sizes += [shared_aes(31, 6_400), shared_aes(31, 64_000), shared_aes(310, 6_400, 8)]
    finest = shared_aes(3_100, 6_400, 80)
    doc.cells(measured["designs"][:12], [e.space.size for e in [*sizes, *[finest] * 3]])
    doc.says("a shared space of @ designs", shared_aes(31, 64_000).space.size)
    doc.says("of one of @ designs", shared_aes(3_100, 64_000, 80).space.size)
    doc.given("a run of the benchmark", r"\| (?:exact|[0-9.]+ %) \|.*\|")
    doc.given("what that run took", r"about 120 MB|up to 50 MB")
    doc.says("remembers up to @ MB", memory._BYTES / 1e6)
    doc.given("a run of the benchmark", r"5.4 to 6.0 s|150,000 designs on|0.0104, and|0.0032;")
    doc.given("a run of the benchmark", r"0.00037 and|0.162 and 0.0145")
    doc.check()
