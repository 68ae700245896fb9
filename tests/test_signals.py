"""Signals: the first Ctrl-C or SIGTERM ends a run with a report, the second one at once."""

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
from dse.run import run
from tests.toy import MODEL, STUDY

PAUSES = """
    import os, time
    if os.path.exists(os.environ.get("HANG", "")):
        time.sleep(1e6)
    time.sleep(float(os.environ.get("PAUSE", 0)))
    return Toy(l"""
SEARCHES = {
    "exhaustive": '[search]\nmethod = "exhaustive"\n',
    "NSGAIISampler": '[search]\nmethod = "NSGAIISampler"\nevaluations = 400\n'
    "[search.options]\npopulation_size = 20\n",
}


def _written(folder: Path, added: str) -> Path:
    (folder / "toy_model.py").write_text(MODEL.replace("\n    return Toy(l", PAUSES, 1))
    small = STUDY.replace("[1, 64]", "[1, 12]").replace("steps = 100", "steps = 20")
    (folder / "study.toml").write_text(small + added)
    return folder / "study.toml"


@contextmanager
def _running(study: Path, pause: float) -> Iterator[subprocess.Popen[str]]:
    """Run a study in a session of its own, as a terminal does, once it has something to keep."""
    begin = "import dse.cli, dse.run; dse.run.is_checkpoint_due = lambda *_: True; dse.cli.main()"
    given = os.environ | {"PAUSE": str(pause), "HANG": str(study.parent / "hang")}
    process = subprocess.Popen(
        [sys.executable, "-c", begin, "run", study.name, "--out", "out"],
        cwd=study.parent,
        env=given,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _until_something_is_kept(out: Path, process: subprocess.Popen[str]) -> None:
    from dse.result.database import has_trials

    while process.poll() is None:
        if (out / "checkpoint.npz").is_file():
            return
        if (out / "study.db").is_file() and has_trials(out / "study.db"):
            return
        time.sleep(0.05)
    raise AssertionError(process.communicate())


@pytest.mark.parametrize(
    ("search", "processes", "sign"),
    [
        ("exhaustive", False, signal.SIGINT),
        ("exhaustive", True, signal.SIGINT),
        ("exhaustive", True, signal.SIGTERM),
        ("NSGAIISampler", False, signal.SIGTERM),
    ],
)
def test_the_first_signal_ends_with_a_report_and_the_next_run_goes_on(
    search: str, processes: bool, sign: signal.Signals, tmp_path: Path
) -> None:
    added = (
        f"{SEARCHES[search]}[run]\nchunk = 5\nworkers = 2\nprocesses = {str(processes).lower()}\n"
    )
    study, out = _written(tmp_path, added), tmp_path / "out"
    with _running(study, 0.1) as process:
        _until_something_is_kept(out, process)
        os.killpg(process.pid, sign)  # a terminal tells the workers, too
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert (out / "report.html").is_file()
    first = dse.load_result(out)
    assert first.certificate.stopped == "interrupted"
    assert not [p for p in out.iterdir() if p.name.startswith(".")]
    loaded = dse.load(study)
    found, whole = run(loaded, out, 1), run(loaded, None, 1)
    assert any("went on from" in note for note in found.notes)
    pd.testing.assert_frame_equal(found.designs, whole.designs)


def test_a_signal_ends_a_run_whose_threads_hang(tmp_path: Path) -> None:
    study = _written(tmp_path, f"{SEARCHES['exhaustive']}[run]\nchunk = 5\nworkers = 2\n")
    with _running(study, 0.1) as process:
        _until_something_is_kept(tmp_path / "out", process)
        (tmp_path / "hang").touch()
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert (tmp_path / "out" / "checkpoint.npz").is_file()
