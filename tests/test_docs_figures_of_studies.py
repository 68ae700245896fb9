"""The figures of docs/figures.md."""

from __future__ import annotations

from dse.explain import assumptions, robustness
from tests.docs_figures import Document


def test_figures_of_the_sources() -> None:
    doc = Document("docs/figures.md")
    doc.says("near it, up to @, are evaluated", robustness.FRONT + robustness.NEAR)
    doc.says("between which @ % of a normal law", 100 * (assumptions._INSIDE[1] - 0.025))
    assert assumptions.FACTOR == 2.0  # "halved and doubled"
    doc.says("at least @ and at most @", *assumptions._EVALUATIONS)
    assert assumptions._EFFORT == 0.25  # "a quarter"
    doc.given("what an answer may say", r'"37 of its 86 figures are assumed')
    doc.given("what is not moved, and a whole", r"domain\. 0 cannot", r"counts as 100 %")
    doc.check()
