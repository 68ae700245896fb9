"""Time-outs hold for the whole of a run: by a clock that slow models move, and by hanging ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.problems import InputError
from dse.run import StoppedError, run
from tests.crashing import SEARCHES
from tests.toy import MODEL, STUDY

DECLARED = "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
TIMEOUT = 100.0


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
def test_a_search_of_slow_models_ends_soon_after_its_limit(search: str, tmp_path: Path) -> None:
    slow = "    __import__('time').sleep(0.005 * np.broadcast(lanes, clock, size).size)\n"
    study = _study(tmp_path, search, slow, timeout=0.5)
    found = run(study, None, 1)
    assert found.certificate.stopped == "timeout"
    assert "time limit of 0.5 s" in found.certificate.statement
    assert found.certificate.evaluated >= 1
    assert found.provenance["seconds"] < 5.0  # a whole generation, or chunk, takes a minute


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


def test_seconds_take_the_place_of_the_time_out(tmp_path: Path) -> None:
    own = _study(tmp_path, "exhaustive", "")
    given = dse.load(tmp_path / "study.toml", seconds=7.5)
    assert (own.plan.timeout, given.plan.timeout) == (TIMEOUT, 7.5)
    assert own.digest == given.digest  # how long a run may take is not what it is of
    with pytest.raises(InputError, match=r"search\.timeout: 0 should be greater than 0"):
        dse.load(tmp_path / "study.toml", seconds=0)


@pytest.mark.parametrize("search", ["exhaustive", "bound"])
def test_a_longer_limit_goes_on_from_a_shorter_one(search: str, tmp_path: Path) -> None:
    slow = "    __import__('time').sleep(1e-3 * np.broadcast(lanes, clock, size).size)\n"
    first = run(_study(tmp_path, search, slow, timeout=0.3), tmp_path / "out", 1)
    again = run(dse.load(tmp_path / "study.toml", seconds=0.3), tmp_path / "out", 1)
    assert first.certificate.stopped == "timeout"
    assert again.certificate == first.certificate  # nothing was done
    _study(tmp_path, search, slow, timeout=0.3)
    longer = run(dse.load(tmp_path / "study.toml", seconds=0.6), tmp_path / "out", 1)
    assert any("the run went on from" in note for note in longer.notes)
    assert longer.certificate.evaluated > first.certificate.evaluated
