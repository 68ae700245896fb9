"""How far a run is, seen from outside: of a folder whose run works, was killed, or has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.result.status import Status, Worker, of_folder, take_up
from dse.run import run
from dse.search.base import Progress
from dse.search.workers import NEVER
from dse.terminal.status import lines
from tests.toy import MODEL, STUDY


@pytest.mark.parametrize("method", ["exhaustive", "evolution", "NSGAIISampler"])
def test_a_folder_tells_how_far_its_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("dse.run._NOTED", 0.0)
    (tmp_path / "toy_model.py").write_text(MODEL)
    some = "" if method == "exhaustive" else "evaluations = 200\ngeneration = 50\n"
    (tmp_path / "study.toml").write_text(f'{STUDY}[search]\nmethod = "{method}"\n{some}')
    out, seen = tmp_path / "out", list[tuple[Progress, Status]]()

    def watch(progress: Progress) -> None:
        if (out / "progress.json").exists():  # of the step before
            seen.append((last[0], of_folder(out)))
        else:
            assert of_folder(out).state == "unknown"
        last[0] = progress

    last = [Progress(0, 0, 0)]
    result = run(dse.load(tmp_path / "study.toml"), out, 1, watch)
    assert seen
    for progress, status in seen:
        assert (status.name, status.state, status.method) == ("toy", "under way", method)
        assert (status.done, status.total) == (progress.done, progress.total)
        assert status.front == progress.front
        (worker,) = status.workers
        assert (worker.pid, worker.working, worker.done) == (os.getpid(), True, progress.done)
        assert status.rate is None or status.left is not None
    assert not (out / "progress.json").exists()
    ended = of_folder(out)
    assert (ended.state, ended.done) == ("finished", result.certificate.evaluated)
    assert ended.front == len(result.front)
    (out / "study.db").unlink()


def test_a_run_that_was_killed_is_cut_short(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], text=True,
                          capture_output=True, check=True)  # fmt: skip
    (tmp_path / "run.json").write_text('{"name": "toy", "digest": "x", "format": 4}')
    noted = {
        "method": "exhaustive",
        "done": 50,
        "total": 200,
        "front": 7,
        "own": 40,
        "pid": int(gone.stdout),
        "host": os.uname().nodename,
        "since": "2026-01-01T10:00:00+00:00",
        "seen": "2026-01-01T10:00:20+00:00",
        "seconds": 20.0,
    }
    (tmp_path / "progress.json").write_text(json.dumps(noted))
    found = of_folder(tmp_path)
    assert (found.state, found.done, found.rate, found.left) == ("cut short", 50, None, None)
    assert found.workers[0].rate == 2.0
    (tmp_path / "progress.json").write_text(json.dumps(noted | {"pid": os.getpid()}))
    found = of_folder(tmp_path)
    assert (found.state, found.rate, found.left) == ("under way", 2.0, 75.0)
    (tmp_path / "progress.json").write_text(json.dumps(noted | {"seen": 3}))
    with pytest.raises(dse.InputError, match="cannot be read"):
        of_folder(tmp_path)


@pytest.mark.parametrize("method", ["exhaustive", "evolution", "RandomSampler"])
@pytest.mark.parametrize("stopped", ["interrupted", "timeout"])
def test_a_run_that_goes_on_is_not_finished_and_keeps_its_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, stopped: str
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    some = "" if method == "exhaustive" else "evaluations = 5000\n"
    text = f'{STUDY}[search]\nmethod = "{method}"\n{some}[run]\nchunk = 1024\n'
    (tmp_path / "study.toml").write_text(text)

    def follow(session: Any, _: Any) -> str:
        next(iter(session.search.steps(NEVER)))
        return stopped

    monkeypatch.setattr("dse.run._follow", follow)
    result = run(dse.load(tmp_path / "study.toml"), tmp_path / "out", 1)
    found = of_folder(tmp_path / "out")
    total = 19_200 if method == "exhaustive" else 5_000
    assert found.state == "cut short"
    assert (found.done, found.total) == (result.certificate.evaluated, total)
    assert ("With more --seconds it goes on." in found.told) == (stopped == "timeout")

    take_up(tmp_path / "out")  # as the next run does, which may then wait for workers
    found = of_folder(tmp_path / "out")
    assert (found.state, found.total, found.rate) == ("under way", total, None)
    assert found.done == result.certificate.evaluated
    assert [(w.pid, w.working, w.done) for w in found.workers] == [(os.getpid(), True, 0)]


def test_no_rate_is_told_in_the_first_seconds(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"name": "toy", "digest": "x", "format": 4}')
    now = datetime.now(UTC).isoformat(timespec="seconds")
    where = {"pid": os.getpid(), "host": os.uname().nodename, "since": now, "seen": now}
    noted = {"method": "exhaustive", "done": 14, "total": 200, "front": 7, "own": 14}
    (tmp_path / "progress.json").write_text(json.dumps({**noted, **where, "seconds": 1.0}))
    found = of_folder(tmp_path)
    assert (found.rate, found.left, found.workers[0].rate) == (None, None, None)
    assert "/s" not in "\n".join(lines(found))


def test_a_status_in_words() -> None:
    worker = Worker(
        "here", 7, False, "2026-01-01T10:00:00+00:00", "2026-01-01T10:01:00+00:00", 9, 0.15
    )
    status = Status("toy", "under way", "exhaustive", 50, 200, 4, 2.0, 75.0, (worker,))
    told = list(lines(status, datetime(2026, 1, 1, 10, 3, 5, tzinfo=UTC)))
    assert told[:2] == [
        "toy: under way, exhaustive search",
        "  50 of 200 designs done (25.0%); 4 on the front so far",
    ]
    assert told[2].startswith("  2 designs/s; expected end in 1 min 15 s, at 2026-01-01 ")
    ended = replace(status, state="finished", rate=1979.4, left=None)
    told += lines(ended, datetime(2026, 1, 1, 10, 3, 5, tzinfo=UTC))
    assert told[6] == "  1,979 designs/s"
    assert told[7].endswith(": 9 designs, 0.15/s; ended")
    assert told[3].startswith("  process 7 on here, since 2026-01-01 ")
    assert told[3].endswith(": 9 designs, 0.15/s; gone, last heard of 2 min 5 s ago")


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    for place, words in (
        (tmp_path, "has no run.json"),
        (tmp_path / "nowhere", "does not exist"),
        (tmp_path / "nowhere.toml", "there is no such file"),
    ):
        found = CliRunner().invoke(commands, ["status", str(place)])
        assert isinstance(found.exception, dse.InputError)
        assert words in str(found.exception)
