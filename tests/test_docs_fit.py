"""The figures of docs/fit.md and docs/accuracy.md."""

from __future__ import annotations

from benchmarks.measured_accuracy import MEASURED, section
from dse.fit.given import STEEPEST
from dse.fit.series import FEWEST
from dse.fit.solve import HUBER
from tests.docs_figures import Document


def test_figures_of_the_fit() -> None:
    doc = Document("docs/fit.md")
    doc.says("from @ standard deviations it counts linearly", HUBER)
    doc.says("`complexity` (at most @)", STEEPEST)
    assert FEWEST == 4  # "Four sizes are the least"
    doc.given("steps of measuring", r"\n[1-4]\. ")
    doc.given("the setting", r"terms within 2 of", r"are 95 %", r"equations 2 and 8", r"down to 0")
    doc.given("formulas", r"2 \(√\(t/T\) − 1\)", r"β = 1")
    doc.check()


def test_figures_of_the_accuracy() -> None:
    doc = Document("docs/accuracy.md")
    assert section(MEASURED / "cesa_aes.csv") in doc.text
    doc.given("written by benchmarks.measured_accuracy, as above for one file", r"(?s)^# How.*\Z")
    doc.check()
