"""Time-outs hold for the whole of a run: by a clock that slow models move, and by hanging ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import optuna
import pytest

import dse
from dse.problems import InputError
from dse.run import StoppedError, run
from dse.search.workers import NEVER, LateError, Workers
from tests.crashing import SEARCHES, written
from tests.toy import MODEL, STUDY

DECLARED = "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
TIMEOUT = 100.0


class Clock:
    """Time that passes only while models work."""

    now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, clock)
    return clock


def _study(
    folder: Path, search: str, body: str, added: str = "", timeout: float = TIMEOUT
) -> dse.Study:
    text = MODEL.replace("def toy(", DECLARED).replace(
        "from dse import", "from dse import monotonic,"
    )
    text = text.replace("    return Toy(l", f"{body}    return Toy(l", 1)
    (folder / "toy_model.py").write_text(text)
    search = f'[search]\nmethod = "{search}"\nevaluations = 10000\ntimeout = {timeout}\n'
    (folder / "study.toml").write_text(f"{STUDY}{search}{added}".replace("[1, 64]", "[1, 16]"))
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize("search", list(SEARCHES))
@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_a_search_of_slow_models_is_over_in_time(
    search: str, seconds: float, tmp_path: Path, clock: Clock
) -> None:
    count = "    clock_.now += SECONDS * np.broadcast(lanes, clock, size).size\n"
    study = _study(tmp_path, search, count.replace("SECONDS", str(seconds)))
    models: Any = study.evaluator.wiring.models
    inner = models[0].function
    inner = getattr(inner, "__wrapped__", inner)
    inner.__globals__["clock_"] = clock
    began = clock.now
    found = run(study, tmp_path / "out", 1)
    assert found.certificate.stopped == "timeout"
    assert found.certificate.evaluated >= 1
    assert clock.now - began <= TIMEOUT + 2 * seconds
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    "hangs",  # each design, and the first one alone
    ["True", "np.size(lanes) == 1 and np.all(lanes * clock * size == 1024e8)"],
)
def test_a_model_that_hangs_in_a_process_is_ended_and_named(hangs: str, tmp_path: Path) -> None:
    body = f"    if {hangs}:\n        __import__('time').sleep(1e6)\n"
    added = "[run]\nprocesses = true\nworkers = 2\n"
    study = _study(tmp_path, "exhaustive", body, added, 3.0)
    words = r"toy: designs? 0.* not done .*: a model hangs, or takes that long"
    with pytest.raises(StoppedError, match=words):
        run(study, tmp_path / "out")


def test_processes_get_as_much_more_time_as_they_took_to_begin(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    untils = []

    def alone(workers: Workers, function: Any, *task: object) -> Any:
        untils.append(workers.until - 1e9)
        clock.now += 1.5
        return function(*task)

    def never(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Workers, "alone", alone)
    monkeypatch.setattr("dse.run.settled", never)
    study = _study(tmp_path, "exhaustive", "", "[run]\nprocesses = true\n", 3.0)
    with pytest.raises(KeyboardInterrupt):
        run(study, None)
    beginning, audited = untils
    assert beginning > 3.0 > 2 * (audited - 1.5) > 2.0  # half for the audit; some for the page


def test_what_is_waited_for_counts_from_when_it_was_given(clock: Clock) -> None:
    """The second task was given with the first, and not when the first was done."""

    class There:
        lost = False

        def each(self, function: Any, tasks: Any, until: float) -> Any:
            first, _ = tasks
            clock.now += 6.0
            yield function(*first)
            clock.now += 3.0
            raise TimeoutError

    def late(until: float) -> LateError:
        workers = Workers(2, "dask", clock.now + until, There())  # type: ignore[arg-type]
        with pytest.raises(LateError) as told:
            list(workers.each(abs, [(-1,), (-2,)]))
        return told.value

    error = late(8.0)
    assert (error.task, error.waited) == (1, 9.0)
    assert "designs 0 to 9 were not done after 9.0 s" in str(error.told(0, 9, 0.5))
    over = late(-1.0).told(0, 9, NEVER)
    assert str(over) == "the time was over before designs 0 to 9 were begun: give the run more"


def test_seconds_take_the_place_of_the_time_out(tmp_path: Path) -> None:
    own = _study(tmp_path, "exhaustive", "")
    given = dse.load(tmp_path / "study.toml", seconds=7.5)
    assert (own.plan.timeout, given.plan.timeout) == (TIMEOUT, 7.5)
    assert own.digest == given.digest  # how long a run may take is not what it is of
    with pytest.raises(InputError, match=r"search\.timeout: 0 should be greater than 0"):
        dse.load(tmp_path / "study.toml", seconds=0)


@pytest.mark.parametrize("search", list(SEARCHES))
def test_a_longer_time_out_goes_on_from_a_shorter_one(
    search: str, tmp_path: Path, clock: Clock
) -> None:
    """What is searched box by box or slab by slab ends with the front of a run of one session."""
    CLOCKS[:] = [clock]
    path = written(tmp_path, search)
    text = f"from tests.test_time_out import CLOCKS\n{(tmp_path / 'toy_model.py').read_text()}"
    count = "    CLOCKS[0].now += np.broadcast(lanes, clock, size).size\n    return Toy(l"
    (tmp_path / "toy_model.py").write_text(text.replace("    return Toy(l", count, 1))
    first = run(dse.load(path, seconds=30.0), tmp_path / "out", 1)
    assert first.certificate.stopped == "timeout"
    again = run(dse.load(path, seconds=30.0), tmp_path / "out", 1)
    assert again.certificate == first.certificate  # nothing was done
    longer = run(dse.load(path), tmp_path / "out", 1)
    assert any("the run went on from" in note for note in longer.notes)
    assert longer.certificate.stopped != "timeout"
    assert longer.certificate.evaluated > first.certificate.evaluated
    assert not (tmp_path / "out" / "checkpoint.npz").exists()
    if search in ("exhaustive", "bound"):
        run(dse.load(path), tmp_path / "whole", 1)
        fronts = [(tmp_path / name / "front.csv").read_bytes() for name in ("out", "whole")]
        assert fronts[0] == fronts[1]
        stored = [_stored(tmp_path / name / "study.db") for name in ("out", "whole")]
        assert stored[0] == stored[1]


CLOCKS: list[Clock] = []


def _stored(path: Path) -> int:
    (summary,) = optuna.get_all_study_summaries(f"sqlite:///{path}")
    return summary.n_trials
