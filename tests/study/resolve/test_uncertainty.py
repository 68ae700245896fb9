"""Studies with uncertain inputs as a user runs them: what is told, resumed, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from dse.explain.explanation import explain
from dse.result.folder import read_answer
from tests.evaluate.uncertain_studies import ROWS, content, study, values


def test_the_answer_says_how_far_the_choice_holds(tmp_path: Path) -> None:
    made = study({"maximize": "speedup", "at": {"granularity": 4096}})
    result = made.run(tmp_path / "run")
    answer = result.answer()
    assert answer.confidence["robust"].startswith("on the front in ")
    assert answer.confidence["robust"].endswith(" of 64 samples")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Robustness under uncertain inputs" in page
    kept = read_answer(tmp_path / "run")
    chosen = str(answer.designs[0].design)
    explained = explain(made, result, [int(chosen)])[0].robustness
    assert explained is not None
    assert kept["uncertainty"]["designs"][chosen]["chance"] == explained.chance


@pytest.mark.parametrize(
    ("where", "given", "told"),
    [
        ("latency", {"between": [2, 1]}, "inputs.latency.between: is reversed"),
        ("latency", {"between": [2, 2]}, "inputs.latency.between: is empty"),
        ("latency", {"between": ["1 B", 2]}, "inputs.latency.between[1]"),
        ("latency", {"between": [-5, 2]}, "is outside its domain"),
        ("latency", {"normal": -1, "deviation": 1}, "is outside its domain"),
        ("latency", {"normal": 1}, "'normal' and 'deviation' go together"),
        ("latency", {"normal": 1, "deviation": 0}, "inputs.latency.deviation: is not above 0"),
        (
            "latency",
            {"lognormal": 1, "factor": 1},
            "inputs.latency.factor: 1 should be greater than 1",
        ),
        ("latency", {"between": [1, 2], "uniform": [1, 2]}, "has 2 laws"),
        ("latency", {"betwen": [1, 2]}, "unknown key 'betwen'"),
        ("clock", {"between": ["1 GHz", "2 GHz"]}, "the clock cannot be uncertain"),
    ],
)
def test_bad_input_is_reported(where: str, given: dict[str, Any], told: str) -> None:
    made = content({"maximize": "speedup", "at": {"granularity": 4096}})
    made["inputs"] = {**made["inputs"], where: given}
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(made)
    assert told in str(raised.value)
    assert len(raised.value.problems) == 1, raised.value


def test_all_that_is_wrong_is_reported_at_once() -> None:
    made = content(
        {"maximize": "speedup", "at": {"granularity": {"between": ["4 KiB", "1 KiB"]}}},
        {"maximize": "speedup", "name": "s", "at": {"granularity": 64}, "reduce": "quantile"},
        constraint=[{"quantity": "acceleration", "at_most": 9, "reduce": "mean"}],
    )
    made["inputs"] |= {"latency": {"between": [3, 1]}}
    made["space"]["engine"]["rows"]["even"] = {"overhead": {"uniform": ["1 W", "2 W"]}}
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(made)
    told = str(raised.value)
    for place in (
        "inputs.latency.between",
        "space.engine.rows.even.overhead.uniform[1]",
        "objective[1].at.granularity.between",
        "objective[2].quantile",
        "constraint[1].reduce",
    ):
        assert place in told, place


def test_a_file_is_not_drawn() -> None:
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(
            {
                "study": {"name": "p", "models": ["objectives.communication:offload_functions"]},
                "inputs": {"dataflow": {"between": [1, 2]}},
                "space": {"byte_time": {"values": [1, 2]}},
                "objective": [{"minimize": "area"}],
            }
        )
    assert "inputs.dataflow: an uncertain number is not a file" in str(raised.value)


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
