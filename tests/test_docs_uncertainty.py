"""The figures of docs/uncertainty.md, each computed here or listed as given."""

from __future__ import annotations

from dse.evaluate import samples
from dse.explain import discovery, robustness
from dse.study.resolve import uncertain
from dse.study.uncertain import UncertaintyTable
from tests.docs_figures import Document


def test_figures_of_uncertainty() -> None:
    doc = Document("docs/uncertainty.md")
    doc.says("cut off, and `dse check` says so if it is @ % or more", 100 * uncertain._CUT)
    doc.says("is drawn together, @ times or as", UncertaintyTable.model_fields["samples"].default)
    doc.says("up to @ of them, and @ near it are held", robustness.FRONT, robustness.NEAR)
    doc.says("they are cut into @ parts along each input", discovery._BINS)
    assert samples._CORNERS == 6
    assert discovery._PEEL == 0.1
    doc.given(
        "what a sentence may look like", r"The choice holds in 93 % of 512 samples.*71 % of it"
    )
    doc.given("what a share means", r'(?m)^\| `"95 %"` .*$')
    doc.given(
        "measured: benchmarks/uncertain.py prints what a machine does", r"(?s)## What it costs.*\Z"
    )
    doc.check()
