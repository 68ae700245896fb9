"""Runs: what they leave, that they resume, and that how the work is divided changes nothing."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from dse.problems import InputError
from dse.result.lease import lease_folder
from dse.run import run
from dse.search.base import Progress
from tests.commands import called
from tests.toy import MODEL, STUDY, written


def test_what_a_run_leaves(tmp_path: Path) -> None:
    written(tmp_path)
    out = tmp_path / "out"
    done = called("run", "study.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Complete +all 19,200 designs", done.stdout)
    names = {p.name for p in out.iterdir()}
    assert names == {
        "report.html", "front.csv", "designs.csv", "summary.json", "study.db", "study", "run.json",
    }  # fmt: skip
    summary = json.loads((out / "summary.json").read_text())
    assert summary["certificate"]["complete"] is True
    assert summary["certificate"]["designs"] == summary["certificate"]["evaluated"] == 64 * 100 * 3
    front = pd.read_csv(out / "front.csv", index_col="design")
    assert len(front) == summary["certificate"]["non_dominated"]
    assert {p.name for p in (out / "study").iterdir()} == {"study.toml", "toy_model.py"}
    read = dse.load_result(out)
    pd.testing.assert_frame_equal(read.front.designs, front, check_dtype=False)
    memory = dse.load(tmp_path / "study.toml").run()
    pd.testing.assert_frame_equal(memory.designs, read.designs, check_dtype=False)

    # the folder explains itself without the study
    (tmp_path / "study.toml").unlink()
    (tmp_path / "toy_model.py").unlink()
    done = called("explain", "out", "--design", "6", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (explained,) = json.loads(done.stdout)["designs"]
    assert explained["design"] == 6
    gains = {(s["objective"], s["input"]): s["gain"] for s in explained["sensitivities"]}
    assert {name for _, name in gains} == {"lanes", "clock", "size"}
    assert gains["speed", "lanes"] == pytest.approx(10)
    assert called("report", "out", cwd=tmp_path).returncode == 0
    wrong = called("explain", "out", "--design", "19200", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "0 to 19,199" in wrong.stderr


def test_how_the_work_is_divided_changes_nothing(tmp_path: Path) -> None:
    first = dse.load(written(tmp_path, "[run]\nchunk = 4096\n")).run(workers=1)
    for added, workers in (("chunk = 7001", 1), ("chunk = 512", 2), ("processes = true", 2)):
        result = dse.load(written(tmp_path, f"[run]\n{added}\n")).run(workers=workers)
        pd.testing.assert_frame_equal(result.designs, first.designs)
    assert result.provenance["backend"] == "loky"


def test_a_finished_run_is_not_repeated_and_an_edited_study_keeps_the_old_one(
    tmp_path: Path,
) -> None:
    study = dse.load(written(tmp_path))
    run(study, tmp_path / "out")
    time = (tmp_path / "out" / "summary.json").stat().st_mtime_ns
    run(study, tmp_path / "out")
    assert (tmp_path / "out" / "summary.json").stat().st_mtime_ns == time
    edited = dse.load(written(tmp_path, text=STUDY.replace("20 kLUT", "10 kLUT")))
    run(edited, tmp_path / "out")
    assert (tmp_path / "out.1" / "summary.json").stat().st_mtime_ns == time
    assert dse.load_result(tmp_path / "out").front.designs["cost"].max() <= 10_000
    other = dse.load(written(tmp_path, model=MODEL.replace("* 100 *", "* 200 *")))
    assert other.digest not in (study.digest, edited.digest)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds files that are not a run"):
        run(study, tmp_path / "other")
    with pytest.raises(InputError, match="is a file"):
        run(study, tmp_path / "toy_model.py")
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["thesis.tex"]


def test_an_interrupted_run_shows_its_designs_so_far_and_is_resumed(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path, "[run]\nchunk = 500\n"))
    whole = run(study, tmp_path / "whole", 1)

    def interrupt(state: Progress) -> None:
        if state.done >= 1_500:
            raise KeyboardInterrupt

    cut = run(study, tmp_path / "cut", 1, interrupt)
    assert cut.certificate.stopped == "interrupted"
    assert not cut.certificate.complete
    assert 0 < cut.certificate.evaluated < whole.certificate.evaluated
    assert (tmp_path / "cut" / "report.html").is_file()
    shown = called("explain", "cut", cwd=tmp_path, columns=1_000).stdout
    assert "note: the run was cut short." in shown
    assert "it was interrupted" in shown
    resumed = run(study, tmp_path / "cut", 1)
    assert resumed.certificate == whole.certificate
    for name in ("front.csv", "designs.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_result_saved_by_hand_reads_back_and_replaces_no_run(tmp_path: Path) -> None:
    result = dse.load(written(tmp_path)).run(tmp_path / "out")
    result.save(tmp_path / "mine")
    read = dse.load_result(tmp_path / "mine")
    pd.testing.assert_frame_equal(read.designs, result.designs, check_dtype=False)
    assert read.objectives == result.objectives
    cheap = read.where("cost <= 1000")
    assert 0 < len(cheap) < len(read.front)
    assert cheap.best("speed")["speed"] < read.best("speed")["speed"]
    assert len(cheap.plot().data) >= 1
    before = (tmp_path / "out" / "summary.json").read_bytes()
    with pytest.raises(InputError, match=r"holds a run of a study\n *give another folder"):
        result.save(tmp_path / "out")
    assert (tmp_path / "out" / "summary.json").read_bytes() == before


def test_a_run_without_a_result_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lease_folder(tmp_path / "out", "digest", "x"):
        for command in ("explain", "report"):
            done = called(command, "out", cwd=tmp_path)
            assert done.returncode == 2
            assert "its run has not finished" in done.stderr
            assert "dse run STUDY --out out" in done.stderr
    written(tmp_path)
    monkeypatch.setattr("dse.run.audit_models", lambda *_: signal.raise_signal(signal.SIGINT))
    done = called("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 130
    assert "interrupted before anything was evaluated" in done.stderr
    assert not (tmp_path / "runs").exists()


# Variables without effect


def test_a_variable_without_effect_is_noted(tmp_path: Path) -> None:
    head, _, rest = STUDY.replace(":toy", ":blind").partition("clock = ")
    _, _, objectives = rest.partition("[[objective]]")
    text = f"{head}[[objective]]{objectives.partition('[[constraint]]')[0]}"
    one = dse.load(written(tmp_path, text=text.replace("[1, 64]", "[1, 1]"))).run()
    assert one.notes == ()  # one value cannot have an effect
    capped = MODEL.replace("lanes * clock / (1e9", "np.minimum(lanes, 1) * clock / (1e9")
    capped = capped.replace("lanes**1.5", "np.minimum(lanes, 1)")
    text = STUDY.replace('[[constraint]]\nrelation = "lanes * clock <= 40e9"\n', "")
    inert, free = dse.load(written(tmp_path, text=text, model=capped)).run().notes
    assert inert.startswith("space.lanes changed no objective")
    assert free.startswith("space.size is best at 1,024 B")


class Doubled(NamedTuple):
    y: Annotated[dse.Array, dse.Quantity("1", "y")]


Input = Annotated[dse.Floats, dse.Quantity("1", "an input")]


def _run_one(space: dict[str, Any], model: Any, **added: Any) -> dse.StudyResult:
    study = {"study": {"name": "one", "models": ["f"]}, "space": space, **added}
    return dse.from_mapping(study | {"objective": [{"maximize": "y"}]}, {"f": model}).run()


def test_a_variable_without_effect_is_looked_for_among_feasible_designs() -> None:
    """The model raises for designs that the constraint excludes."""

    def narrow(x: Input, z: Input) -> Doubled:
        if np.any(np.asarray(x) > 9_990):
            raise ValueError("too many")
        return Doubled(np.multiply(x, 2.0) + np.multiply(z, 0.0))

    space = {"x": {"integer": [1, 10_000]}, "z": {"integer": [1, 4]}}
    result = _run_one(space, narrow, constraint=[{"relation": "x <= 9900"}])
    assert result.certificate.complete
    (note,) = result.notes
    assert note.startswith("space.z changed no objective and no constraint in 63 sampled designs")


def test_a_model_that_raises_after_the_search_loses_no_result() -> None:
    """No design of the search is at the end of the range, where an effect is looked for."""

    def raises_at_one(x: Input) -> Doubled:
        if np.any(np.asarray(x) == 1):
            raise ValueError("it is 1")
        return Doubled(np.asarray(x) * 1.0)

    search = {"method": "evolution", "evaluations": 20, "generation": 20}
    result = _run_one({"x": {"real": [1, 50]}}, raises_at_one, search=search)
    assert result.certificate.evaluated == 20
    (note,) = result.notes
    assert note.startswith("space.x ")
    assert "f raised ValueError: it is 1" in note


class Cost(NamedTuple):
    cost: Annotated[np.ndarray, dse.Quantity("1", "cost")]


@dse.monotonic(cost="+x +y")
def add(
    x: Annotated[dse.Floats, dse.Quantity("1", "x")],
    y: Annotated[dse.Floats, dse.Quantity("1", "y")],
) -> Cost:
    return Cost(np.asarray(x + y))


@pytest.mark.parametrize("method", ["evolution", "random", "bound"])
def test_a_search_that_found_nothing_does_not_say_that_there_is_nothing(method: str) -> None:
    content: dict[str, Any] = {
        "study": {"name": "hidden", "models": ["add"]},
        "space": {"x": {"integer": [0, 200_000]}, "y": {"integer": [1, 60]}},
        "objective": [{"minimize": "cost"}],
        "constraint": [{"relation": "x == 77777"}, {"relation": "y == 33"}],
        "search": {"method": method, "evaluations": 100},
    }
    with pytest.raises(dse.InfeasibleError, match="no feasible design was found: of 100 designs"):
        dse.from_mapping(content, {"add": add}).run(workers=1)
    content["search"] = {"method": "bound"}
    assert len(dse.from_mapping(content, {"add": add}).run(workers=1).front) == 1


@pytest.mark.parametrize("method", ["exhaustive", "bound"])
def test_a_skipped_design_that_a_constraint_excludes_accuses_no_model(method: str) -> None:
    def raise_at_two(x: Annotated[dse.Floats, dse.Quantity("1", "x")]) -> Cost:
        if np.any(np.asarray(x) == 2):
            raise ValueError("two")
        return Cost(np.asarray(x, dtype=float))

    content: dict[str, Any] = {
        "study": {"name": "skipped", "models": ["raise_at_two"]},
        "space": {"x": {"values": [1, 2, 3, 4]}},
        "objective": [{"maximize": "cost"}],
        "constraint": [{"quantity": "x", "at_least": 2.5}],
        "search": {"method": method},
        "run": {"on_error": "skip"},
    }
    result = dse.from_mapping(content, {"raise_at_two": raise_at_two}).run(workers=1)
    assert result.front.designs["x"].tolist() == [4]
