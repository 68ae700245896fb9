"""How many designs a report explains follows from what an explanation takes."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.explain import explained
from dse.explain.answer import designs_of
from dse.explain.verdict import explain
from dse.result.spare import explainable
from dse.result.tables import front_of, result_of
from dse.run import report
from dse.search.base import Progress
from dse.search.tally import Tally
from dse.search.workers import Workers
from tests.toy import MODEL, STUDY

FREE = STUDY[: STUDY.index("[[constraint]]")]


def _found(folder: Path) -> tuple[dse.Study, dse.StudyResult]:
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(FREE)
    study = dse.load(folder / "study.toml")
    return study, study.run(workers=1)


@pytest.mark.parametrize(
    ("each", "search", "count"),
    [
        (1e-3, 1.0, 40),
        (1.0, 1.0, 20),
        (1.0, 60.0, 30),  # half of the search's time
        (1e3, 60.0, 0),  # those that matter most in any case
    ],
)
def test_there_are_as_many_as_there_is_time_for(
    each: float, search: float, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, result = _found(tmp_path)
    now, asked = [0.0], list[tuple[list[int], int]]()

    def taking(
        study: Any, result: Any, numbers: Sequence[int], before: int = 0, held: Any = None
    ) -> list[int]:
        asked.append((list(numbers), before))
        now[0] += each * len(numbers)
        return list(numbers)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(explained, "explain", taking)
    slow = {"seconds": search, "designs_per_second": 1.0}
    result = replace(result, provenance=dict(result.provenance) | slow)
    found: list[Any] = list(explained.explain_the_first(study, result, 40)[0])
    (first, _), (others, before) = asked
    assert set(designs_of(study, result)) | {int(str(result.compromise().name))} <= set(first)
    assert {int(str(result.front.best(o.name).name)) for o in result.objectives} <= set(first)
    assert before == len(first)
    assert found == [*first, *others]
    assert len(set(map(str, found))) == len(found)
    assert len(found) == count if 0 < count < 40 else len(found) >= count
    assert bool(others) == (count > 0)
    assert explained.explain_the_first(study, result, 0)[0] == []


def test_all_come_at_once_if_the_search_was_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, result = _found(tmp_path)
    apart = dict(result.provenance) | {"designs_per_second": 1.0}
    expected = explained.explain_the_first(study, replace(result, provenance=apart), 40)
    asked: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        asked.append(len(given[2]))
        return explain(*given, **named)

    monkeypatch.setattr(explained, "explain", counted)
    quick = dict(result.provenance) | {"designs_per_second": 1e7}
    found = explained.explain_the_first(study, replace(result, provenance=quick), 40)
    assert repr(found) == repr(expected)
    assert asked == [len(expected[0])]


def test_parts_of_explanations_are_those_of_all_together(tmp_path: Path) -> None:
    study, result = _found(tmp_path)
    numbers = result.front.designs.index[:12].tolist()
    whole = explain(study, result, numbers)
    parts = explain(study, result, numbers[:5]) + explain(study, result, numbers[5:], 5)
    assert [repr(each) for each in parts] == [repr(each) for each in whole]


def test_the_report_says_how_many(tmp_path: Path) -> None:
    study, result = _found(tmp_path)
    report(study, result, tmp_path / "report.html", 5)
    text = (tmp_path / "report.html").read_text()
    told = re.search(r"This report explains (\d+) of ([\d,]+) designs in full", text)
    assert told is not None
    assert int(told[1]) < 20
    assert int(told[2].replace(",", "")) == len(result.designs)


def test_the_pace_after_a_resume_is_that_of_this_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five designs in ten seconds are two seconds each, however many an earlier session did."""
    study, result = _found(tmp_path)
    paces: list[float] = []

    def none_fits(evaluator: Any, points: Any, seconds: float, pace: float) -> int:
        paces.append(pace)
        return 0

    monkeypatch.setattr("dse.result.spare.affordable", none_fits)
    monkeypatch.setattr("dse.result.knobs.affordable", none_fits)
    tally = replace(Tally.empty(0), evaluated=1005, feasible=1005)
    kept = front_of(study, result)
    before = Progress(1100, 2000, 0, repeats=100)
    outcome = replace(kept, tally=tally, complete=False)
    cut = result_of(study, outcome, "timeout", 10.0, Workers(1), before=before)
    explainable(study, cut, outcome, None, before)
    assert paces == [2.0, 2.0]
