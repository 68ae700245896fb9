"""Explaining and reporting runs: of files, of scripts, and of fronts without designs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.model.section import Section, needs
from tests.core_examples import command
from tests.explain.test_explanation import MODELS
from tests.toy import MODEL, STUDY

ROOT = Path(__file__).parents[2]
LOGCA: dict[str, Any] = {
    "study": {"name": "script", "models": ["objectives.logca:offload"]},
    "inputs": {"latency": 0.0, "computational_index": 50.0, "complexity": 1.0, "overhead": 1e3},
    "space": {"acceleration": {"integer": [2, 9]}},
    "objective": [{"maximize": "speedup", "at": {"granularity": "1 KiB"}}],
}
OWN: dict[str, Any] = {
    "study": {"name": "own", "models": list(MODELS)},
    "inputs": {"overlap": 0.5, "size": 64.0},
    "space": {"lanes": {"integer": [1, 4]}},
    "objective": [{"minimize": "time"}, {"minimize": "load"}],
}


def test_a_run_of_a_script_explains_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    dse.from_mapping(LOGCA).run(folder)
    code, out, _ = command(monkeypatch, capsys, "explain", str(folder), "--design", "7")
    assert code == 0
    assert "acceleration (A)" in out
    (folder / "report.html").unlink()
    assert command(monkeypatch, capsys, "report", str(folder))[0] == 0
    assert (folder / "report.html").is_file()


def test_functions_of_a_script_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    study = dse.from_mapping(OWN, MODELS)
    result = study.run(folder)
    code, _, err = command(monkeypatch, capsys, "explain", str(folder))
    assert code == 2
    assert "its script gave the functions call, loaded as models" in err
    assert "study.explain(result, 17)" in err
    (found,) = study.explain(result)  # the way that the message names
    assert found.design == result.compromise().name
    study.report(result, tmp_path / "own.html")
    assert "</html>" in (tmp_path / "own.html").read_text()


def test_a_study_file_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "my study.toml").write_text((ROOT / "studies" / "gpu_memory.toml").read_text())
    dse.load(tmp_path / "my study.toml").run(tmp_path / "run")
    assert dse.load_result(tmp_path / "run").provenance["study"] == "my study.toml"


def test_an_infeasible_design_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    bounded = LOGCA | {"constraint": [{"quantity": "speedup", "at_least": 5, **AT}]}
    dse.from_mapping(bounded).run(folder)
    _, out, _ = command(monkeypatch, capsys, "explain", str(folder), "--design", "0")
    assert "design 0 is infeasible:\n  speedup >= 5" in out
    assert "is violated by 3.0" in out
    _, out, _ = command(monkeypatch, capsys, "explain", str(folder), "--design", "0", "--json")
    data = json.loads(out)
    assert data["feasible"] is False
    (violation,) = data["violations"]
    assert violation["amount"] == pytest.approx(5 - violation["value"], rel=1e-15)


def test_a_quantity_without_a_unit_is_a_number_when_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unitless = MODEL.replace('Quantity("1", "speed"', 'Quantity("", "speed"')
    undefined = unitless.replace(
        "Toy(lanes * clock", "Toy(np.where(lanes > 60, np.nan, lanes) * clock"
    )
    (tmp_path / "toy_model.py").write_text(undefined)
    (tmp_path / "study.toml").write_text(STUDY)
    result = dse.load(tmp_path / "study.toml").run(tmp_path / "run")
    read = dse.load_result(tmp_path / "run")
    assert result.designs["speed"].isna().any()
    assert read.designs["speed"].dtype == np.float64
    assert read.columns["speed"].unit == "1"
    assert command(monkeypatch, capsys, "explain", str(tmp_path / "run"))[0] == 0


AT: dict[str, Any] = {"at": {"granularity": "1 KiB"}}


def test_a_run_cut_short_before_anything_fits_has_a_page_and_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    impossible = LOGCA | {
        "space": {"acceleration": {"integer": [2, 2000]}},
        "constraint": [{"quantity": "speedup", "at_least": 1e6, **AT}],
        "run": {"chunk": 64},
    }
    folder = tmp_path / "run"
    result = dse.from_mapping(impossible).run(folder, workers=1, progress=stop)
    assert result.certificate.stopped == "interrupted"
    assert len(result.front) == 0
    assert "script: Not certified" in str(result)
    page = (folder / "report.html").read_text()
    assert "No design on a front yet" in page
    assert "Best front found" not in page
    assert len(dse.load_result(folder).front) == 0
    from dse.terminal import Terminal

    capsys.readouterr()
    Terminal().summary(result, folder / "report.html")
    assert "no design is on the front" in capsys.readouterr().out
    code, _, err = command(monkeypatch, capsys, "explain", str(folder))
    assert code == 2
    assert "there is no design on the front" in err


def test_a_section_of_another_kind_of_study_is_a_problem_of_the_study() -> None:
    wanted = LOGCA | {
        "report": {
            "sections": [
                "objectives.communication.report:functions",
                "objectives.partition.report:integration",
            ]
        }
    }
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(wanted)
    first, second = raised.value.problems
    assert first.where == "report.sections[1]"
    assert "needs the input 'dataflow'" in first.message
    assert second.where == "report.sections[2]"
    assert "needs the input 'profiles'" in second.message


def test_shipped_sections_fit_their_studies() -> None:
    for name in ("jpeg", "rotate", "cpu_accelerator"):
        assert dse.load(ROOT / "studies" / f"{name}.toml").sections


def test_needs_are_declared_on_the_writer_itself() -> None:
    @needs("a", "b")
    def write(study: Any, result: Any) -> Section:
        return Section("s")

    assert vars(write)["needs"] == ("a", "b")
    assert write(None, None).title == "s"  # type: ignore[arg-type]


def test_the_summary_of_an_empty_front_is_empty() -> None:
    result = dse.from_mapping(LOGCA).run()
    nothing = dse.StudyResult(
        **{**vars(result), "designs": result.designs.assign(on_front=np.zeros(8, dtype=bool))}
    )
    assert nothing.summary().empty


def test_an_advised_value_on_which_a_model_raises_loses_that_advice_alone(tmp_path: Path) -> None:
    head, raising = MODEL.split("    return Toy(lanes * clock")
    raising = "    return Toy(lanes * clock" + raising
    check = "    if (np.asarray(lanes) > 64).any():\n        raise ValueError('too many lanes')\n"
    (tmp_path / "study.toml").write_text(STUDY)
    found = {}
    for name, text in (("fine", head + raising), ("raises", head + check + raising)):
        (tmp_path / "toy_model.py").write_text(text)
        study = dse.load(tmp_path / "study.toml")
        result = study.run(tmp_path / name)  # its report has the explanations, or it would raise
        few = int(
            result.designs.index[(result.designs["lanes"] == 3) & result.designs["on_front"]][0]
        )
        many = int(
            result.designs.index[(result.designs["lanes"] > 9) & result.designs["on_front"]][0]
        )
        found[name] = study.explain(result, few, many)
    for fine, raises, kept in zip(found["fine"], found["raises"], (True, False), strict=True):
        advice = {(s.input, s.objective): s for s in fine.sensitivities}
        for told in raises.sensitivities:
            if told.input != "lanes" or kept:
                assert told == advice[told.input, told.objective]
            else:
                assert told.gained == "undefined"
                assert not told.bottleneck
        assert len(raises.sensitivities) == len(advice)
        assert raises.parts == fine.parts
