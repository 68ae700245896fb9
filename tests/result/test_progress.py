"""How far a run is, seen from outside: of a folder whose run works, was killed, or has ended."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dse
from dse.result.progress import Status, note_resumption, read_status
from dse.run import run
from dse.search.base import Progress
from dse.terminal.terminal import status_lines
from tests.commands import called
from tests.toy import written

pytestmark = pytest.mark.usefixtures("no_report")

NOTE = {
    "method": "exhaustive",
    "done": 50,
    "total": 200,
    "front": 7,
    "own": 40,
    "pid": os.getpid(),
    "host": os.uname().nodename,
    "since": "2026-01-01T10:00:00+00:00",
    "seen": "2026-01-01T10:00:20+00:00",
    "seconds": 20.0,
}


def _study(folder: Path, added: str) -> dse.Study:
    return dse.load(written(folder, added))


def _status(folder: Path, **changes: object) -> Status:
    (folder / "run.json").write_text('{"name": "toy", "digest": "x", "format": 4}')
    (folder / "progress.json").write_text(json.dumps(NOTE | changes))
    return read_status(folder)


@pytest.mark.parametrize("method", ["exhaustive", "NSGAIISampler"])
def test_a_folder_tells_how_far_its_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("dse.run.NOTE_INTERVAL", 0.0)
    some = "" if method == "exhaustive" else "evaluations = 60\ngeneration = 20\n"
    study = _study(tmp_path, f'[search]\nmethod = "{method}"\n{some}')
    out, seen, last = tmp_path / "out", list[tuple[Progress, Status]](), [Progress(0, 0, 0)]

    def watch(progress: Progress) -> None:
        if (out / "progress.json").exists():  # of the step before
            seen.append((last[0], read_status(out)))
        else:
            assert read_status(out).state == "unknown"
        last[0] = progress

    result = run(study, out, 1, watch)
    assert seen
    for progress, status in seen:
        assert (status.name, status.state, status.method) == ("toy", "under way", method)
        assert (status.done, status.total) == (progress.done, progress.total)
        assert (status.front, status.pid) == (progress.front, os.getpid())
    assert not (out / "progress.json").exists()
    ended = read_status(out)
    assert (ended.state, ended.done) == ("finished", result.certificate.evaluated)
    assert ended.front == len(result.front)


def test_a_run_that_was_killed_is_cut_short(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    status = _status(tmp_path, pid=gone.pid)
    assert (status.state, status.done, status.left) == ("cut short", 50, None)
    status = _status(tmp_path)
    assert (status.state, status.rate, status.left) == ("under way", 2.0, 75.0)
    status = _status(tmp_path, seconds=1.0)  # too early for a rate
    assert (status.rate, status.left) == (None, None)
    with pytest.raises(dse.InputError, match="cannot be read"):
        _status(tmp_path, seen=3)


@pytest.mark.parametrize(
    ("method", "stopped"),
    [("exhaustive", "timeout"), ("RandomSampler", "interrupted")],
)
def test_a_run_that_goes_on_is_not_finished_and_keeps_its_total(
    tmp_path: Path, method: str, stopped: str
) -> None:
    some = "" if method == "exhaustive" else "evaluations = 5000\n"
    limit = "timeout = 0.5\n" if stopped == "timeout" else ""
    added = f'[search]\nmethod = "{method}"\n{some}{limit}[run]\nchunk = 1024\n'

    def stop(_: Progress) -> None:
        if stopped == "interrupted":
            raise KeyboardInterrupt
        time.sleep(0.6)

    result = run(_study(tmp_path, added), tmp_path / "out", 1, stop)
    assert result.certificate.stopped == stopped
    status = read_status(tmp_path / "out")
    total = 19_200 if method == "exhaustive" else 5_000
    assert (status.state, status.total) == ("cut short", total)
    assert status.done == result.certificate.evaluated
    assert ("With more --seconds it goes on." in status.hint) == (stopped == "timeout")

    note_resumption(tmp_path / "out")  # as the next run does, which may then wait for workers
    status = read_status(tmp_path / "out")
    assert (status.state, status.total, status.rate) == ("under way", total, None)
    assert (status.done, status.pid) == (result.certificate.evaluated, os.getpid())


def test_a_status_in_words() -> None:
    now = datetime(2026, 1, 1, 10, 3, 5, tzinfo=UTC)
    place = {"host": "here", "pid": 7, "since": NOTE["since"], "seen": "2026-01-01T10:01:00+00:00"}
    under_way = Status("toy", "under way", "exhaustive", 50, 200, 4, 2.0, 75.0, **place)  # type: ignore[arg-type]
    lines = list(status_lines(under_way, now))
    assert lines[:2] == [
        "toy: under way, exhaustive search",
        "  50 of 200 designs done (25.0%); 4 on the front so far",
    ]
    assert lines[2].startswith("  2 designs/s; expected end in 1 min 15 s, at 2026-01-01 ")
    assert lines[3].startswith("  process 7 on here, since 2026-01-01 ")
    assert lines[3].endswith(": works")
    killed = list(status_lines(Status("toy", "cut short", **place), now))  # type: ignore[arg-type]
    assert killed[-1].endswith(": gone, last note 2 min 5 s ago")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (".", "has no run.json"),
        ("nowhere", "does not exist"),
        ("nowhere.toml", "there is no such file"),
    ],
)
def test_what_is_no_run_is_reported(place: str, words: str, tmp_path: Path) -> None:
    done = called("status", place, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
