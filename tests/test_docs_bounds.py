"""The figures of docs/bounds.md, each computed here or listed as given."""

from __future__ import annotations

from dse.model import behaviour
from tests.docs_figures import Document


def test_figures_of_bounds() -> None:
    doc = Document("docs/bounds.md")
    doc.says("widened by a relative @", behaviour.MARGIN)
    doc.given("formulas", r"\(1 \+ ε\)")
    doc.given("an exit status", r"ends with 1")
    doc.given("0 is no size", r"Near 0 no")
    doc.given("an example of tolerances", r'"1 %", area = "100 LUT"')
    doc.check()
