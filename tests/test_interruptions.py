"""Runs that are cut: by signals, in the middle of a search, and at operations on the disk.

``benchmarks/interruptions.py`` and ``benchmarks/crashes.py`` make thousands of cuts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import dse
from benchmarks.interruptions import Case, Interruptions
from dse.run import run
from tests.crashing import crashed
from tests.needs import needs
from tests.toy import SMALL, acting, search, small, written


# The turn decides between an error (0), SIGINT and SIGTERM.
@pytest.mark.parametrize(("turn", "method"), [(1, "exhaustive"), (2, "NSGAIISampler")])
def test_an_interrupted_search_ends_as_if_nothing_had_been(
    turn: int, method: str, tmp_path: Path
) -> None:
    with Interruptions(Case(method), tmp_path) as interruptions:
        for cut in interruptions.cuts(2, turn):
            interruptions.cut(cut)
        interruptions.certify()
    assert not interruptions.wrong


@pytest.mark.parametrize(
    ("method", "cases"),
    [
        ("exhaustive", ["new:once", "resumed:kill", "finished:full"]),
        ("NSGAIISampler", ["new:kill", "resumed:full", "finished:once"]),
    ],
)
def test_runs_that_are_cut_on_the_disk_end_with_the_same_front(
    method: str, cases: list[str], tmp_path: Path
) -> None:
    needs("cc")
    rows = crashed([small(tmp_path, method)], tmp_path, "--once", *cases)
    assert [f"{row['state']}:{row['mode']}" for row in rows] == cases
    assert all(row["tried"] == 1 for row in rows)
    assert [wrong for row in rows for wrong in row["wrong"]] == []


PAUSES = """import os, time
    while os.path.exists(os.environ.get("HANG", "")):
        try:
            time.sleep(1e6)
        except KeyboardInterrupt:
            pass
    time.sleep(float(os.environ.get("PAUSE", 0)))"""


def _study(folder: Path, processes: bool = False, workers: int = 2) -> Path:
    added = f"[run]\nchunk = 5\nworkers = {workers}\nprocesses = {str(processes).lower()}\n"
    return written(folder, search("exhaustive") + added, SMALL, acting(PAUSES))


@contextmanager
def _running(study: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a study in a session of its own, as a terminal does, until it keeps something."""
    begin = "import dse.cli, dse.run; dse.run.is_checkpoint_due = lambda *_: True; dse.cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", begin, "run", study.name, "--out", "out"],
        cwd=study.parent,
        env=os.environ | {"PAUSE": "0.1", "HANG": str(study.parent / "hang")},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out = study.parent / "out"
    try:
        while not (out / "checkpoint.npz").is_file():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.usefixtures("no_report")  # of this process
def test_the_first_signal_ends_with_a_report_and_the_next_run_goes_on(tmp_path: Path) -> None:
    study, out = _study(tmp_path, processes=True), tmp_path / "out"
    with _running(study) as process:
        os.killpg(process.pid, signal.SIGINT)  # a terminal signals the workers, too
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert (out / "report.html").is_file()
    assert dse.load_result(out).certificate.stopped == "interrupted"
    assert not [p for p in out.iterdir() if p.name.startswith(".")]
    loaded = dse.load(study)
    resumed, whole = run(loaded, out, 1), run(loaded, None, 1)
    assert any("went on from" in note for note in resumed.notes)
    pd.testing.assert_frame_equal(resumed.designs, whole.designs)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_whose_model_hangs_ends_at_the_first_or_the_second_signal(
    workers: int, tmp_path: Path
) -> None:
    """`timeout` sends the first one twice, to the process and to its group: that is one."""
    study = _study(tmp_path, workers=workers)
    with _running(study) as process:
        (tmp_path / "hang").touch()
        time.sleep(0.3)  # the next call is under way
        process.send_signal(signal.SIGTERM)
        if workers == 1:  # the model catches the exception of the first signal
            process.send_signal(signal.SIGTERM)
            time.sleep(1.0)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert ("the next run goes on from it" in errors) == (workers == 1)
    assert (tmp_path / "out" / "checkpoint.npz").is_file()
