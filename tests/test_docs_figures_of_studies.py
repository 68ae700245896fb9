"""The figures of docs/figures.md."""

from __future__ import annotations

from dse.explain import check_first
from dse.result import spare
from dse.search.cost import COSTLY
from tests.docs_figures import Document


def test_figures_of_the_sources() -> None:
    doc = Document("docs/figures.md")
    doc.says("near it, up to @, are evaluated", spare.FRONT + spare.NEAR)
    doc.says("between which @ % of a normal law", 100 * (check_first._INSIDE[1] - 0.025))
    assert check_first.FACTOR == 2.0  # "halved and doubled"
    doc.says("at most @ evaluations", check_first._MOST_SLOW)
    assert (check_first._FEWEST, check_first._LONG, COSTLY) == (4, 120.0, 1e-3)  # all in words
    doc.given("what an answer may say", r'"37 of its 86 figures are assumed')
    doc.given("what is not moved, and a whole", r"domain\. 0 cannot", r"counts as 100 %")
    doc.check()
