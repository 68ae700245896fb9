"""How many designs a report explains follows from what an explanation takes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import dse
from dse.explain.explanation import explain, explanation_cost
from dse.explain.recommendation import EXPLAINED, explain_most_important, named_designs
from dse.run import report
from tests.toy import MODEL, STUDY

FREE = STUDY[: STUDY.index("[[constraint]]")]


def _found(folder: Path) -> tuple[dse.Study, dse.StudyResult]:
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(FREE)
    study = dse.load(folder / "study.toml")
    return study, study.run(workers=1)


def test_the_sample_follows_from_the_evaluations_of_the_search(tmp_path: Path) -> None:
    study, result = _found(tmp_path)
    named = {*named_designs(study, result), int(str(result.compromise().name))}
    named |= {int(str(result.front.best(o.name).name)) for o in result.objectives}
    sizes = []
    for evaluated in (0, 40 * explanation_cost(study, result)):
        certificate = replace(result.certificate, evaluated=evaluated)
        found, _ = explain_most_important(study, replace(result, certificate=certificate))
        assert named <= {each.design for each in found}
        sizes.append(len(found))
    assert sizes == [len(named), EXPLAINED]
    assert explain_most_important(study, result, 0)[0] == []


def test_explanations_do_not_depend_on_those_beside(tmp_path: Path) -> None:
    study, result = _found(tmp_path)
    numbers = result.front.designs.index[:4].tolist()
    whole = explain(study, result, numbers)
    parts = explain(study, result, numbers[:2]) + explain(study, result, numbers[2:])
    assert [repr(each) for each in parts] == [repr(each) for each in whole]


def test_the_report_says_how_many(tmp_path: Path) -> None:
    study, result = _found(tmp_path)
    report(study, result, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    told = re.search(r"This report explains (\d+) of ([\d,]+) designs in full", text)
    assert told is not None
    assert int(told[1]) < 20
    assert int(told[2].replace(",", "")) == len(result.designs)
