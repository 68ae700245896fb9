"""Studies with uncertain inputs as a user runs them: what is told, resumed, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.explain.explanation import explain
from dse.result.folder import read_answer
from tests.evaluate.uncertain_studies import ROWS, study, values
from tests.pages import read_page


def test_the_answer_says_how_far_the_choice_holds(tmp_path: Path) -> None:
    made = study({"maximize": "speedup", "at": {"granularity": 4096}})
    result = made.run(tmp_path / "run")
    answer = result.answer()
    assert answer.confidence["robust"].startswith("on the front in ")
    assert answer.confidence["robust"].endswith(" of 64 samples")
    page = read_page(tmp_path / "run" / "report.html")
    assert "Robustness under uncertain inputs" in page
    kept = read_answer(tmp_path / "run")
    chosen = str(answer.designs[0].design)
    explained = explain(made, result, [int(chosen)])[0].robustness
    assert explained is not None
    assert kept["uncertainty"]["designs"][chosen]["chance"] == explained.chance


def test_a_resumed_run_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    from dse.run import run

    made = study(
        {"maximize": "speedup", "at": {"granularity": 4096}, "reduce": "90 %"},
        space={"acceleration": {"integer": [2, 60]}, "engine": {"rows": ROWS}},
        run={"chunk": 660},
    )
    seen = 0

    def interrupt(state: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            raise KeyboardInterrupt

    whole = run(made, tmp_path / "whole", 1)
    cut = run(made, tmp_path / "cut", 1, interrupt)
    assert cut.certificate.stopped == "interrupted"
    assert cut.certificate.evaluated < whole.certificate.evaluated
    cut = run(made, tmp_path / "cut", 1)
    assert (cut.front.points == whole.front.points).all()
    assert read_answer(tmp_path / "cut") == read_answer(tmp_path / "whole")


def test_many_designs_are_evaluated_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = {"quantity": "speedup", "at": {"granularity": 4096}, "at_least": 3.0}
    made = study({"maximize": "speedup", "at": {"granularity": 4096}}, constraint=[constraint])
    whole = values(made)
    monkeypatch.setattr("dse.evaluate.evaluator._CHUNK", 2 * made.uncertainty.samples)
    parts = values(made)
    assert (parts.objectives == whole.objectives).all()
    assert (parts.constrained == whole.constrained).all()
    assert (parts.feasible == whole.feasible).all()


def test_a_report_without_time_for_models_says_nothing_of_draws(tmp_path: Path) -> None:
    from dse.run import report

    made = study({"maximize": "speedup", "at": {"granularity": 4096}})
    told = report(made, made.run(), tmp_path / "report.html", explains=False)
    assert "robust" not in told["fields"] and "uncertainty" not in told
