"""Runs: what they leave, that they resume, and that how the work is cut changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

import dse
import dse.cli
from dse.problems import InputError
from dse.result.folder import study_of
from dse.result.lease import lease_folder
from dse.run import StoppedError, run
from dse.search.base import Progress
from tests.commands import called
from tests.toy import MODEL, STUDY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the toy model and study in it."""
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def _write(folder: Path, *changes: tuple[str, str], added: str = "") -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "study.toml"
    path.write_text(text + added)
    return path


def test_what_a_run_leaves(folder: Path) -> None:
    out = folder / "out"
    done = called("run", "study.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Complete: all 19,200 designs" in done.stdout
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
    memory = dse.load(folder / "study.toml").run()
    pd.testing.assert_frame_equal(memory.designs, read.designs, check_dtype=False)


def test_the_run_explains_itself_without_the_study(folder: Path) -> None:
    assert called("run", "study.toml", "--out", "out", "--quiet", cwd=folder).returncode == 0
    (folder / "study.toml").unlink()
    (folder / "toy_model.py").unlink()
    done = called("explain", "out", "--design", "6", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    explained = json.loads(done.stdout)
    assert explained["design"] == 6
    assert {s["input"] for s in explained["sensitivities"]} == {"lanes", "clock", "size"}
    gains = {(s["objective"], s["input"]): s["gain"] for s in explained["sensitivities"]}
    assert gains["speed", "lanes"] == pytest.approx(10)
    assert called("report", "out", cwd=folder).returncode == 0
    bad = called("explain", "out", "--design", "19200", cwd=folder)
    assert bad.returncode == 2
    assert "0 to 19,199" in bad.stderr


@pytest.mark.parametrize(("workers", "chunk"), [(1, 7_001), (2, 512), (2, 2**20), (1, 19_199)])
def test_how_the_work_is_cut_changes_nothing(folder: Path, workers: int, chunk: int) -> None:
    def front(workers: int, chunk: int, name: str) -> bytes:
        path = _write(folder, added=f"[run]\nchunk = {chunk}\n")
        run(dse.load(path), folder / name, workers)
        return (folder / name / "front.csv").read_bytes()

    assert front(workers, chunk, "a") == front(1, 4_096, "b")


def test_processes_give_the_same(folder: Path) -> None:
    threads = dse.load(_write(folder)).run(workers=2)
    path = _write(folder, added="[run]\nprocesses = true\nchunk = 1000\n")
    processes = dse.load(path).run(workers=2)
    pd.testing.assert_frame_equal(threads.designs, processes.designs)
    assert processes.provenance["backend"] == "loky"


def test_a_finished_run_is_not_repeated_and_an_edited_study_keeps_the_old_one(
    folder: Path,
) -> None:
    study = dse.load(folder / "study.toml")
    run(study, folder / "out")
    written = (folder / "out" / "summary.json").stat().st_mtime_ns
    run(study, folder / "out")
    assert (folder / "out" / "summary.json").stat().st_mtime_ns == written
    run(dse.load(_write(folder, ("20 kLUT", "10 kLUT"))), folder / "out")
    assert (folder / "out.1" / "summary.json").stat().st_mtime_ns == written
    assert dse.load_result(folder / "out").front.designs["cost"].max() <= 10_000


def test_an_edited_model_is_another_study(folder: Path) -> None:
    before = dse.load(folder / "study.toml").digest
    (folder / "toy_model.py").write_text(MODEL.replace("* 100 *", "* 200 *"))
    assert dse.load(folder / "study.toml").digest != before


def test_a_folder_with_other_files_is_left_alone(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds files that are not a run"):
        run(dse.load(folder / "study.toml"), folder / "other")
    with pytest.raises(InputError, match="is a file"):
        run(dse.load(folder / "study.toml"), folder / "toy_model.py")
    assert [p.name for p in (folder / "other").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "search",
    [
        "",
        '[search]\nmethod = "evolution"\nevaluations = 600\ngeneration = 50\nseed = 3\n',
        '[search]\nmethod = "NSGAIISampler"\nevaluations = 120\nseed = 3\n'
        "options = { population_size = 20 }\n",
        '[search]\nmethod = "TPESampler"\nevaluations = 40\nseed = 3\n',
    ],
    ids=["exhaustive", "evolution", "NSGAIISampler", "TPESampler"],
)
def test_an_interrupted_run_ends_with_the_same_front(folder: Path, search: str) -> None:
    study = dse.load(_write(folder, added=search + "[run]\nchunk = 500\n"))
    whole = run(study, folder / "whole", 1)
    seen = 0

    def interrupt(state: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            raise KeyboardInterrupt

    cut = run(study, folder / "cut", 1, interrupt)
    assert cut.certificate.stopped == "interrupted"
    assert not cut.certificate.complete
    assert 0 < cut.certificate.evaluated < whole.certificate.evaluated
    assert (folder / "cut" / "report.html").is_file()  # what is there is reported
    resumed = run(study, folder / "cut", 1)
    assert resumed.certificate == whole.certificate
    pd.testing.assert_frame_equal(resumed.designs, whole.designs)
    for name in ("front.csv", "designs.csv"):
        assert (folder / "cut" / name).read_bytes() == (folder / "whole" / name).read_bytes()


DYING = """    import os, pathlib, signal, time

    global calls
    calls += 1
    sign = os.environ.get("TOY_DIES_AT")
    if sign:
        time.sleep(0.02)  # so that a checkpoint comes in the middle
        if calls > 12 and pathlib.Path(sign).is_file():
            os.kill(os.getpid(), signal.SIGKILL)
    return Toy(lanes * clock"""
"""What a model does that kills its process: once a file is there, at the 13th call or later."""


@pytest.mark.parametrize("method", ["exhaustive", "NSGAIISampler"])
def test_a_killed_process_resumes(folder: Path, method: str) -> None:
    (folder / "toy_model.py").write_text(
        "calls = 0\n" + MODEL.replace("    return Toy(lanes * clock", DYING)
    )
    added = f'[search]\nmethod = "{method}"\n[run]\nchunk = 50\nworkers = 1\n'
    if method != "exhaustive":
        added = added.replace("[run]", "evaluations = 600\n[run]")
    path = _write(folder, added=added)
    sign = folder / "cut" / "checkpoint.npz" if method == "exhaustive" else folder / "study.toml"
    killed = subprocess.run(
        [sys.executable, "-m", "dse", "run", str(path), "--out", str(folder / "cut")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TOY_DIES_AT": str(sign)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, "the run ended before it was killed"
    if method != "exhaustive":
        assert 0 < _trials(folder / "cut" / "study.db") < 600
    assert not (folder / "cut" / "summary.json").exists()
    study = dse.load(path)
    resumed = run(study, folder / "cut")
    whole = run(study, None)
    pd.testing.assert_frame_equal(resumed.designs, whole.designs)


def _trials(database: Path) -> int:
    try:
        study = optuna.load_study(study_name="toy", storage=f"sqlite:///{database}")
        return len(study.get_trials(deepcopy=False))
    except Exception:  # it is being made
        return 0


def test_a_model_that_raises_names_the_design_and_keeps_what_was_done(folder: Path) -> None:
    path = _write(
        folder,
        (":toy", ":fragile"),
        ('clock = { real = ["100 MHz", "2 GHz"], steps = 100, log = true }\n', ""),
        ('size = { values = ["1 KiB", "2 KiB", "4 KiB"] }\n', ""),
        ('[[constraint]]\nrelation = "lanes * clock <= 40e9"\n', ""),
    )
    path.write_text(path.read_text() + "[run]\nchunk = 10\nworkers = 1\n")
    done = called("run", str(path), "--out", "out", cwd=folder)
    assert done.returncode == 1
    assert "design 36 (lanes = 37)" in done.stderr
    assert "toy_model.py:fragile raised ArithmeticError: 37 lanes do not fit" in done.stderr
    assert "Traceback" not in done.stderr
    kept = dse.load_result(folder / "out")
    assert 10 <= kept.certificate.evaluated <= 36
    assert len(kept.front) == kept.certificate.evaluated  # more lanes, more speed, more cost
    assert not kept.certificate.complete
    assert "37 lanes do not fit" in kept.certificate.statement
    with pytest.raises(StoppedError, match="design 36"):
        run(dse.load(path), None)


def test_a_time_limit_ends_a_run(folder: Path) -> None:
    added = '[search]\nmethod = "RandomSampler"\nevaluations = 100000\ngeneration = 20\n'
    path = _write(folder, added=added + "timeout = 0.5\n")
    result = run(dse.load(path), folder / "out")
    assert result.certificate.stopped == "timeout"
    assert 0 < result.certificate.evaluated < 100_000


def test_equal_seeds_give_equal_runs_and_other_seeds_do_not(folder: Path) -> None:
    def front(seed: int, name: str) -> bytes:
        added = f'[search]\nmethod = "NSGAIISampler"\nevaluations = 200\nseed = {seed}\n'
        run(dse.load(_write(folder, added=added)), folder / name)
        return (folder / name / "front.csv").read_bytes()

    assert front(1, "a") == front(1, "b")
    assert front(1, "a") != front(2, "c")


@pytest.mark.parametrize("search", ["", '[search]\nmethod = "NSGAIISampler"\nevaluations = 200\n'])
def test_the_storage_is_an_optuna_study_whose_best_trials_are_the_front(
    folder: Path, search: str
) -> None:
    run(dse.load(_write(folder, added=search)), folder / "out")
    study = optuna.load_study(study_name="toy", storage=f"sqlite:///{folder / 'out' / 'study.db'}")
    assert [d.name for d in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert study.metric_names == ["speed", "cost"]
    front = pd.read_csv(folder / "out" / "front.csv")
    names = ["lanes", "clock", "size", "speed", "cost"]
    best = {(*(t.params[n] for n in names[:3]), *t.values) for t in study.best_trials}
    assert best == set(front[names].itertuples(index=False, name=None))
    assert all(set(t.constraints) == {"cost <= 20 kLUT", "lanes * clock <= 40e9"}
               for t in study.best_trials)  # fmt: skip


def test_a_knob_without_effect_is_noted(folder: Path) -> None:
    text = STUDY.replace(":toy", ":blind").replace(
        '\n[[constraint]]\nrelation = "lanes * clock <= 40e9"', ""
    )
    text = text.replace('clock = { real = ["100 MHz", "2 GHz"], steps = 100, log = true }\n', "")
    text = text.replace('size = { values = ["1 KiB", "2 KiB", "4 KiB"] }\n', "")
    (folder / "study.toml").write_text(text.replace("[1, 64]", "[1, 1]"))
    one = dse.load(folder / "study.toml").run()
    assert one.notes == ()  # one value cannot have an effect
    capped = MODEL.replace("lanes * clock / (1e9", "np.minimum(lanes, 1) * clock / (1e9")
    (folder / "toy_model.py").write_text(capped.replace("lanes**1.5", "np.minimum(lanes, 1)"))
    path = _write(folder, ('[[constraint]]\nrelation = "lanes * clock <= 40e9"\n', ""))
    notes = dse.load(path).run().notes
    assert len(notes) == 1
    assert notes[0].startswith("space.lanes changed no objective")


def test_designs_of_ones_own(folder: Path) -> None:
    study = dse.load(folder / "study.toml")
    mine = pd.DataFrame({"lanes": [4, 64], "clock": [1e9, 2e9], "size": [1024.0, 1024.0]})
    table = study.evaluate(mine)
    assert table["cost"].to_numpy() == pytest.approx([4**1.5 * 200, 64**1.5 * 500])
    assert table["feasible"].tolist() == [True, False]
    with pytest.raises(InputError, match="size: is missing"):
        study.evaluate(mine[["lanes", "clock"]])


def test_a_result_saved_by_hand_reads_back(folder: Path) -> None:
    result = dse.load(folder / "study.toml").run()
    result.save(folder / "mine")
    read = dse.load_result(folder / "mine")
    pd.testing.assert_frame_equal(read.designs, result.designs, check_dtype=False)
    assert read.objectives == result.objectives
    assert read.hypervolume() == result.hypervolume()
    cheap = read.where("cost <= 1000")
    assert 0 < len(cheap) < len(read.front)
    assert cheap.best("speed")["speed"] < read.best("speed")["speed"]
    assert len(cheap.plot().data) >= 1


def test_a_run_without_a_result_is_told(folder: Path) -> None:
    with lease_folder(folder / "out", "digest", "x"):
        for command in ("explain", "report"):
            told = called(command, "out", cwd=folder)
            assert told.returncode == 2
            assert "its run has not finished" in told.stderr
            assert "dse run STUDY --out out" in told.stderr


def test_explain_tells_that_a_run_was_cut_short(folder: Path) -> None:
    def interrupt(state: Progress) -> None:
        raise KeyboardInterrupt

    _write(folder, added="[run]\nchunk = 600\n")
    dse.load(folder / "study.toml").run(folder / "out", workers=1, progress=interrupt)
    told = called("explain", "out", cwd=folder)
    assert "note: the run was cut short." in told.stdout
    assert "it was interrupted" in told.stdout


def test_an_interrupt_before_anything_was_evaluated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr("dse.run.audit", interrupt)
    monkeypatch.setattr("sys.argv", ["dse", "run", "study.toml"])
    with pytest.raises(SystemExit) as ended:
        dse.cli.main()
    assert ended.value.code == 130
    assert "interrupted before anything was evaluated" in capsys.readouterr().err
    assert not (folder / "runs").exists()


def test_a_result_is_not_saved_over_a_run(folder: Path) -> None:
    result = dse.load(folder / "study.toml").run(folder / "out")
    before = (folder / "out" / "summary.json").read_bytes()
    with pytest.raises(InputError, match=r"holds a run of a study\n *give another folder"):
        result.save(folder / "out")
    assert (folder / "out" / "summary.json").read_bytes() == before


def test_the_copy_of_the_study_loads(folder: Path) -> None:
    study = dse.load(folder / "study.toml")
    run(study, folder / "out")
    assert study_of(folder / "out").digest == study.digest
    assert np.isfinite(dse.load_result(folder / "out").front.points).all()
