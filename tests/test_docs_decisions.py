"""The figures of docs/decisions.md, each computed here or listed as given."""

from __future__ import annotations

from dse.explain import regions, sensitivity
from dse.model import Quantity, requirement
from dse.result import storage
from dse.search import cost, plan, slabs, stall
from dse.study.resolve.regions import Rule
from tests.docs_figures import Document


def test_figures_of_the_decisions() -> None:
    doc = Document("docs/decisions.md")
    doc.says("may differ by @ of themselves", requirement._ROUNDING)
    doc.says("up to @ million designs is enumerated", plan.AUTO_LIMIT / 1e6)
    doc.says("a design takes more than @ ms and", cost.COSTLY * 1e3)
    doc.says("the time-out, or @ minutes, on one core", cost.PATIENCE / 60)
    doc.says("objectives of its first @ designs", slabs.EARLY)
    doc.says(
        "along @ fixed directions has not grown by @ % over @ generations and @ designs",
        stall._DIRECTIONS,
        stall.GROWTH * 100,
        stall.GENERATIONS,
        stall.DESIGNS,
    )
    doc.given("the width of codes and keys", r"64-bit codes|by 16 bits")
    doc.says("of a very large one @ designs", storage.REGISTERED)
    rule = Rule()
    doc.says("if a @x improvement improves an objective by @ %", rule.factor, rule.threshold * 100)
    doc.given("the domain of an overlap, and a value in it", r"a share of 0.75 in \[0, 1\)")
    overlap = Quantity("1", "overlap", low=0, below=1, better="higher")
    doc.says("becomes @: a tenth", sensitivity.improve(overlap, 0.75, rule.factor))
    doc.says("a grid of @ points", regions._GRID)
    doc.check()
