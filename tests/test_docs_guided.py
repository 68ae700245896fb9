"""The figures of docs/guided.md, each computed here or listed as given."""

from __future__ import annotations

from dse.search import axes, cost, expected, guided, plan
from tests.docs_figures import Document


def test_figures_of_guided() -> None:
    doc = Document("docs/guided.md")
    doc.says("a design takes more than @ ms, as measured", cost.COSTLY * 1e3)
    doc.says("or @ minutes if there is none", cost.PATIENCE / 60)
    doc.given(
        "a decade from the rule, either way",
        r"Formulas take less than 10 µs and simulators more than 10 ms",
    )
    doc.says("more than @ `evaluations`", plan._GUIDED)
    doc.says("Without `evaluations` it takes @ designs", guided.EVALUATIONS)
    doc.says("how many are evaluated together, is @:", guided._GENERATION)
    doc.says("Sobol points: @, or four", guided._GENERATION)
    doc.says("searched on @ values", axes.STEPS + 1)
    doc.says("from the @ designs nearest", expected._TOLD)
    doc.given("steps of a move, tests/test_guided.py", r"by 1, 2, 4, …")
    doc.given(
        "measured: benchmarks/guided.py prints what a machine does",
        r"(?s)## Beside other searches.*\Z",
    )
    doc.check()
