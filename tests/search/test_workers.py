"""Workers: batches in pieces, time limits, and models that hang, crash or run in processes only."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import dse
from dse import Array, Floats
from dse.evaluate.space import Integer
from dse.problems import InputError
from dse.run import StoppedError, run
from dse.search.base import Start, find_method
from dse.search.outcome import Outcome
from dse.search.workers import ALONE, BatchEvaluator, Workers
from tests.core_examples import evaluator, model, objective
from tests.toy import DECLARED, STUDY, written

SLOW = "    __import__('time').sleep({} * np.broadcast(lanes, clock, size).size)\n"
PROCESSES = "[run]\nprocesses = true\nworkers = 2\n"


def _study(
    folder: Path, search: str, body: str, added: str = "", timeout: float = 100
) -> dse.Study:
    table = f'[search]\nmethod = "{search}"\nevaluations = 10000\ntimeout = {timeout}\n'
    text = STUDY.replace("[1, 64]", "[1, 16]")
    model = DECLARED.replace("    return Toy(l", f"{body}    return Toy(l", 1)
    return dse.load(written(folder, table + added, text, model))


def test_a_batch_is_evaluated_whole_or_up_to_the_time_limit() -> None:
    judge = evaluator(
        {"x": Integer(1, 999)}, [model("m", lambda x: -x, ["x"], ["y"])], [objective("y")]
    )
    points = judge.space.from_index(np.arange(999))
    whole = judge.evaluate(points).objectives
    for workers in (ALONE, Workers(3), Workers(2, "loky")):
        batches = BatchEvaluator(judge, workers, chunk=100)
        part = batches.evaluate(points, 0, until=0.0)
        assert 0 < len(part) < 999
        assert np.array_equal(part.objectives, whole[: len(part)])
        assert np.array_equal(batches.evaluate(points, 0).objectives, whole)
        assert 0 < len(batches.evaluate(points, 0, until=0.0)) < 999


@pytest.mark.parametrize(
    ("keep_small", "count", "wait", "threaded"),
    [
        (True, 32, 0.0, False),
        (False, 32, 0.0, True),
        (False, 1000, 0.0, False),
        (False, 100, 0.002, True),
        (True, 32, 0.01, True),
    ],
)
def test_threads_serve_slow_designs(
    keep_small: bool, count: int, wait: float, threaded: bool
) -> None:
    """Two threads share the interpreter's lock; a model that waits for a program leaves it."""
    threads = set[int]()

    def noted(x: Floats) -> Array:
        threads.add(threading.get_ident())
        time.sleep(wait * np.size(x))
        return np.negative(x)

    judge = evaluator({"x": Integer(1, 9999)}, [model("m", noted, ["x"], ["y"])], [objective("y")])
    batches = BatchEvaluator(judge, Workers(2), keep_small=keep_small)
    for first in (0, 64):  # the pace of each batch chooses for the next
        batches.evaluate(judge.space.from_index(np.arange(first, first + 64)), 0)
    threads.clear()
    batches.evaluate(judge.space.from_index(np.arange(count)), 0)
    assert (threads != {threading.get_ident()}) == threaded


# ------------------------------------------------------------------------------- time limits


def test_a_model_that_hangs_in_a_process_is_ended_and_named(tmp_path: Path) -> None:
    hangs = "np.size(lanes) == 1 and np.all(lanes * clock * size == 1024e8)"  # the first design
    body = f"    if {hangs}:\n        __import__('time').sleep(1e6)\n"
    study = _study(tmp_path, "exhaustive", body, PROCESSES, 1.5)
    words = r"toy: designs? 0.* not done .*: a model hangs, or takes that long"
    with pytest.raises(StoppedError, match=words):
        run(study, tmp_path / "out")


def test_seconds_take_the_place_of_the_time_out(tmp_path: Path) -> None:
    own = _study(tmp_path, "exhaustive", "")
    given = dse.load(tmp_path / "study.toml", seconds=7.5)
    assert (own.plan.timeout, given.plan.timeout) == (100.0, 7.5)
    assert own.digest == given.digest  # the time limit is no part of the study's identity
    with pytest.raises(InputError, match=r"search\.timeout: 0 should be greater than 0"):
        dse.load(tmp_path / "study.toml", seconds=0)


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("search", ["exhaustive", "bound"])
def test_a_longer_limit_goes_on_from_a_shorter_one(search: str, tmp_path: Path) -> None:
    """A whole table takes a minute."""
    first = run(_study(tmp_path, search, SLOW.format(1e-3), timeout=0.3), tmp_path / "out", 1)
    again = run(dse.load(tmp_path / "study.toml", seconds=0.3), tmp_path / "out", 1)
    assert first.certificate.stopped == "timeout"
    assert "time limit of 0.3 s" in first.certificate.statement
    assert first.certificate.evaluated >= 1
    assert first.provenance["seconds"] < 5.0
    assert again.certificate == first.certificate  # nothing was done
    longer = run(dse.load(tmp_path / "study.toml", seconds=1.2), tmp_path / "out", 1)
    assert any("the run went on from" in note for note in longer.notes)
    assert longer.certificate.evaluated > first.certificate.evaluated


# -------------------------------------------------------------------------- processes alone

NOTE_PROCESS = """    import os
    with open({file!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
"""
CRASH = """    import os
    if np.size(lanes) > 64:
        os._exit(9)
"""


def _search_bounds(study: dse.Study, workers: Workers) -> Outcome:
    search = find_method("bound").start(Start(study.evaluator, study.plan, workers=workers))
    deque(search.steps(), maxlen=0)
    return search.outcome()


@pytest.mark.parametrize("continuous", [False, True])  # tabulated, and bounded by monotonicity
def test_bounds_run_models_in_processes_alone(continuous: bool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    _study(tmp_path, "bound", NOTE_PROCESS.format(file=str(pids)), PROCESSES)
    text = (tmp_path / "study.toml").read_text()
    text = text.replace("timeout = 100", "tolerance = 0.2")
    text = text.replace("steps = 100, ", "") if continuous else text
    (tmp_path / "study.toml").write_text(text)
    study = dse.load(tmp_path / "study.toml")
    there = _search_bounds(study, Workers(2, "loky"))
    assert str(os.getpid()) not in pids.read_text().split()
    here = _search_bounds(study, ALONE)
    assert str(os.getpid()) in pids.read_text().split()
    np.testing.assert_array_equal(there.evaluated.objectives, here.evaluated.objectives)
    assert there.statement == here.statement


def test_a_model_that_ends_the_process_of_a_table_ends_the_run_with_a_message(
    tmp_path: Path,
) -> None:
    study = _study(tmp_path, "bound", CRASH, PROCESSES)  # in larger batches than the audit's
    with pytest.raises(StoppedError, match="toy: a process of the workers ended"):
        run(study, tmp_path / "out")
