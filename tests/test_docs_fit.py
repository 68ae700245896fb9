"""The figures of docs/fit.md and docs/accuracy.md."""

from __future__ import annotations

import pytest

from benchmarks.measured_accuracy import CATALOG, MEASURED, ROWS, fits, section
from dse.fit import loads, queue
from dse.fit.fitting import Fit
from dse.fit.given import STEEPEST
from dse.fit.series import FEWEST
from dse.fit.solve import HUBER
from dse.study.catalog import load_catalog
from tests.docs_figures import Document


def test_figures_of_the_fit() -> None:
    doc = Document("docs/fit.md")
    doc.says("from @ standard deviations it counts linearly", HUBER)
    doc.says("`complexity` (at most @)", STEEPEST)
    assert FEWEST == 4  # "Four sizes are the least"
    doc.given("steps of measuring", r"\n[1-4]\. ")
    doc.given("the setting", r"terms within 2 of", r"are 95 %", r"equations 2 and 8", r"down to 0")
    assert loads._MISSED == 0.2
    doc.given(
        "of loads", r"intervals 95 % by", r"that is 20 % off", r"\(Reiser and Lavenberg 1980\)"
    )
    doc.says("rise with the load (F test at @ %)", 100 * queue._CHANCE)
    doc.given(
        "measured: benchmarks/fit_coverage.py", r"(?s)`python -m benchmarks.fit_cov.*?side alone\."
    )
    doc.given("formulas", r"1 − r/c", r"2 \(√\(t/T\) − 1\)", r"β = 1")
    doc.check()


def test_figures_of_the_accuracy() -> None:
    doc = Document("docs/accuracy.md")
    assert section(MEASURED / "cesa_aes.csv") in doc.text
    doc.given("written by benchmarks.measured_accuracy, as above for one file", r"(?s)^# How.*\Z")
    doc.check()


def test_the_catalog_of_measured_accelerators_is_what_the_fits_say() -> None:
    rows = load_catalog(CATALOG).rows
    assert {name for name, *_ in ROWS.values()} == rows.keys()
    for each in fits(MEASURED / "cesa_aes.csv"):
        if isinstance(each, Fit) and ("cesa_aes", each.series.name) in ROWS:
            row = rows[ROWS["cesa_aes", each.series.name][0]]
            values, figures = each.parameters, row.figures
            assert figures["computational_index"].value == pytest.approx(
                values["computational_index"], rel=1e-6
            )
            assert figures["overhead"].value == pytest.approx(
                values["overhead_and_latency"], rel=1e-6
            )
            assert figures["acceleration"].value == pytest.approx(values["speedup_limit"], rel=1e-6)
            assert figures["overhead"].provenance == "fitted"
            assert row.together is not None
