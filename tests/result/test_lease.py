"""A run folder belongs to one run at a time, whatever others try meanwhile."""

from __future__ import annotations

import errno
import itertools
import json
import multiprocessing
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dse
import dse.run
from dse.problems import InputError
from dse.result import folder as files
from dse.result.folder import CHECKPOINT, MARKER
from dse.result.lease import lease_folder
from dse.run import run
from dse.search.base import Progress
from tests.toy import MODEL, SMALL

pytestmark = pytest.mark.usefixtures("no_report")

TIMES = 3
PATIENCE = 600.0
"""Seconds: a machine with much else to do takes a minute to start a process."""
SLOW = "import time\n" + MODEL.replace(
    "    return Toy(l", "    time.sleep(0.004)\n    return Toy(l"
)


def _studies(folder: Path) -> tuple[Path, Path]:
    """Write a study and an edited one, whose front is another."""
    (folder / "toy_model.py").write_text(SLOW)
    text = SMALL + "[run]\nchunk = 12\nworkers = 1\n"
    for name, bound in (("first", "20 kLUT"), ("second", "2 kLUT")):
        (folder / f"{name}.toml").write_text(text.replace("20 kLUT", bound))
    return folder / "first.toml", folder / "second.toml"


def _compete(path: Path, folder: Path, barrier: Any, late: float, told: Any) -> None:
    import time

    dse.run.is_checkpoint_due = lambda *_: True
    dse.run.report = lambda *_: {}  # most of the time
    study = dse.load(path)
    for i in range(TIMES):
        barrier.wait(PATIENCE)
        time.sleep(late * i)
        try:
            run(study, folder / str(i), fresh=late > 0 and i % 2 == 1)
            told.put((path.stem, i, "done"))
        except InputError as error:
            told.put((path.stem, i, str(error)))


def test_two_runs_at_once(tmp_path: Path) -> None:
    paths = _studies(tmp_path)
    fronts = {dse.load(p).digest: run(dse.load(p), None).front.designs for p in paths}
    processes = multiprocessing.get_context("spawn")
    barrier, told = processes.Barrier(2), processes.Queue()
    rivals = [
        processes.Process(
            target=_compete, args=(path, tmp_path / "out", barrier, late, told), daemon=True
        )
        for path, late in zip(paths, (0.0, 0.02), strict=True)
    ]
    for rival in rivals:
        rival.start()
    answers = [told.get(timeout=PATIENCE) for _ in range(2 * TIMES)]
    for rival in rivals:
        rival.join(PATIENCE)
        assert rival.exitcode == 0
    ends = {(name, i): answer for name, i, answer in answers}
    for i in range(TIMES):
        both = [ends[p.stem, i] for p in paths]
        assert "done" in both
        assert all(end == "done" or "is in use by another run" in end for end in both)
        folders = [f for f in (tmp_path / "out").iterdir() if f.name.split(".")[0] == str(i)]
        assert len(folders) == both.count("done")
        for folder in folders:
            summary = json.loads((folder / "summary.json").read_text())
            digest = json.loads((folder / MARKER).read_text())["digest"]
            assert summary["certificate"]["complete"]
            assert summary["provenance"]["digest"] == digest
            front = dse.load_result(folder).front.designs
            pd.testing.assert_frame_equal(front, fronts[digest], check_dtype=False)


def _interrupted(study: dse.Study, out: Path) -> None:
    def interrupt(state: Progress) -> None:
        if state.done > 20:
            raise KeyboardInterrupt

    run(study, out, 1, interrupt)
    assert (out / CHECKPOINT).is_file()


def test_a_folder_in_use_is_not_moved(tmp_path: Path) -> None:
    first, second = (dse.load(p) for p in _studies(tmp_path))

    def meddle(state: Progress) -> None:
        for study, fresh in itertools.product((first, second), (False, True)):
            with pytest.raises(InputError, match="is in use by another run"):
                run(study, tmp_path / "out", fresh=fresh)

    whole = run(first, tmp_path / "out", 1, meddle)
    assert whole.certificate.complete
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out"]


def test_a_folder_that_was_moved_aside_is_still_in_use(tmp_path: Path) -> None:
    first, second = (dse.load(p) for p in _studies(tmp_path))
    run(first, tmp_path / "out")

    def meddle(state: Progress) -> None:
        with pytest.raises(InputError, match="is in use by another run"):
            run(first, tmp_path / "out.1")

    run(second, tmp_path / "out", 1, meddle)
    assert len(run(first, tmp_path / "out.1").front) > 0


def test_tables_of_another_study_are_no_finished_run(tmp_path: Path) -> None:
    first, second = (dse.load(p) for p in _studies(tmp_path))
    run(first, tmp_path / "out")
    files.save_result(run(second, None), tmp_path / "out")
    with pytest.raises(InputError, match=r"its tables are of another study than its run\.json"):
        run(first, tmp_path / "out")
    assert len(run(first, tmp_path / "out", fresh=True).front) > 0


def test_what_a_killed_write_leaves_is_removed_and_the_run_resumes(tmp_path: Path) -> None:
    study, _ = (dse.load(p) for p in _studies(tmp_path))
    _interrupted(study, tmp_path / "out")
    half = tmp_path / "out" / f".{CHECKPOINT}.4711"
    half.write_bytes((tmp_path / "out" / CHECKPOINT).read_bytes()[:100])
    resumed = run(study, tmp_path / "out")
    assert not half.exists()
    assert resumed.certificate.complete
    (note,) = (note for note in resumed.notes if "went on from" in note)
    before = int(re.sub(r"\D", "", note))
    assert 20 < before < 360
    rate, seconds = (resumed.provenance[n] for n in ("designs_per_second", "seconds"))
    assert rate == pytest.approx((360 - before) / seconds, rel=0.01)  # seconds are rounded
    pd.testing.assert_frame_equal(resumed.front.designs, run(study, None).front.designs)


def test_a_broken_marker_beside_results_is_reported_and_moved_by_fresh(tmp_path: Path) -> None:
    study, _ = (dse.load(p) for p in _studies(tmp_path))
    run(study, tmp_path / "out")
    (tmp_path / "out" / MARKER).write_text("{")
    with pytest.raises(InputError, match=r"run\.json: 1 problem\n  is not JSON"):
        run(study, tmp_path / "out")
    run(study, tmp_path / "out", fresh=True)
    assert (tmp_path / "out.1" / "front.csv").is_file()


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "mkdir", missing)  # as in /proc
    with (
        pytest.raises(InputError, match="cannot be written: No such file"),
        lease_folder(tmp_path / "out", "digest", "x"),
    ):
        pass


def test_a_run_ends_with_its_lock(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lease_folder(tmp_path / "a" / "b", "digest", "x"):
        1 / 0  # noqa: B018
    assert not (tmp_path / "a" / "b").exists()
    with lease_folder(tmp_path / "a" / "b", "digest", "x") as lease:
        assert (lease.state, lease.made) == ("new", True)
    with lease_folder(tmp_path / "a" / "b", "digest", "x") as lease:
        assert lease.state == "resume"


def test_the_folder_where_one_stands_with_an_odd_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed while it claimed the folder left half a marker there."""
    here = tmp_path / "-[é β]* 'b\";&c"
    here.mkdir()
    first, second = (dse.load(p) for p in _studies(here))
    (here / "run").mkdir()
    (here / "run" / MARKER).write_text('{"format": 1')
    monkeypatch.chdir(here / "run")
    run(first, Path())
    run(second, Path("../run"))
    assert (here / "run.1" / "front.csv").is_file()
    assert (here / "run.1" / "study.db").is_file()
    assert np.isfinite(dse.load_result(here / "run").front.points).all()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # a finished run has its report
    first, second = (dse.load(p) for p in _studies(tmp_path))
    run(first, tmp_path / "out")

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    assert len(run(first, tmp_path / "out").front) > 0  # it is read
    with pytest.raises(InputError, match="cannot be moved aside: Permission denied"):
        run(second, tmp_path / "out")
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        run(second, tmp_path / "new")
    assert len(dse.load_result(tmp_path / "out").front) > 0
