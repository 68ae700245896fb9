"""Models that misbehave: named with the design; the run ends, or goes on without the design."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.problems import InputError
from dse.run import StoppedError, run
from dse.search.base import Progress, Start, find_method
from dse.search.workers import EndedError, Workers
from tests.commands import called
from tests.toy import DECLARED, SEARCHES, SMALL, acting, search, written

AT_SEVEN = "if (np.asarray(lanes) == 7).any():"
RAISES = f"{AT_SEVEN} raise ArithmeticError('7 lanes do not fit')"
THREE = "return Toy(np.ones(3), np.ones(3))"
SKIPS = '[run]\non_error = "skip"\nchunk = 50\n'


def _study(folder: Path, body: str, method: str = "exhaustive", added: str = "") -> dse.Study:
    return dse.load(written(folder, search(method) + added, SMALL, acting(body)))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("lanes += 1", "read-only .it changes its inputs: copy them first"),
        ("return None", "returned NoneType, which has no 'speed'"),
        ("return Toy(lanes * 1j, lanes)", "returned complex numbers for 'speed', not numbers"),
        ("return Toy('abc', lanes)", "returned texts for 'speed', not numbers"),
        ("raise SystemExit(0)", "raised SystemExit"),
    ],
)
def test_a_model_that_misbehaves_is_reported(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises((StoppedError, InputError), match=words):
        run(_study(tmp_path, body), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_raises_is_named_with_its_first_design(tmp_path: Path) -> None:
    body, words = f"{AT_SEVEN} raise SystemExit(3)", "raised SystemExit: 3"
    study = _study(tmp_path, body)
    done = called("run", "study.toml", "--out", "out", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(rf"design 180 \(lanes = 7, .*{words}", done.stderr)
    assert "Traceback" not in done.stderr
    kept = dse.load_result(tmp_path / "out").certificate
    assert 0 < kept.evaluated <= 180
    assert " The search ended with an error: design 180 (lanes = 7" in kept.statement
    with pytest.raises(StoppedError, match="design 180"):
        run(study, None)
    skipped = run(_study(tmp_path, body, added=SKIPS), None, 2)
    assert skipped.certificate.evaluated == 360
    assert any("design 180 (lanes = 7" in note and words in note for note in skipped.notes)
    assert sum("skipped, as a model raised" in note for note in skipped.notes) == 11
    assert "20 more, designs 190, 191," in " ".join(skipped.notes)
    excluded = run(_study(tmp_path, "lanes = np.where(lanes == 7, np.nan, lanes)"), None, 1)
    fronts = [r.front.designs.drop(columns=["speed"]) for r in (skipped, excluded)]
    pd.testing.assert_frame_equal(fronts[0], fronts[1])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return Toy(np.ones(361), lanes)", "of shape"),
        ("return Toy(lanes * 1j, lanes)", "complex numbers"),
        ("lanes[...] = 1", "it changes its inputs: copy"),
    ],
)
def test_what_breaks_the_contract_ends_a_run_and_is_named_with_its_first_design(
    body: str, words: str, tmp_path: Path
) -> None:
    """A run that skips designs ends too: the model is wrong, not the design."""
    for added in ("", SKIPS):
        with pytest.raises(StoppedError, match=rf"design 180 \(lanes = 7, .*{words}"):
            run(_study(tmp_path, f"{AT_SEVEN} {body}", added=added), None, 2)


@pytest.mark.parametrize("method", ["exhaustive", "bound", "NSGAIISampler"])
def test_a_search_ends_if_every_design_raises_or_a_length_fits_by_accident(
    method: str, tmp_path: Path
) -> None:
    words = (
        r"^toy: models raised for all of the \d+ designs looked at, first for design \d+ \(lanes"
        r" = .*raised KeyError: 'no luck'$"
    )
    with pytest.raises(StoppedError, match=words):
        run(_study(tmp_path / "all", "raise KeyError('no luck')", method, SKIPS), None, 1)
    # halves of 50 designs are of 3 at some time, as what the model returns is
    words = r"toy_model.py:toy returned 'speed' of shape \(3,\) for inputs"
    body = f"if (np.asarray(lanes) > 1).any(): {THREE}"
    with pytest.raises((StoppedError, InputError), match=words):
        run(_study(tmp_path / "length", body, method, SKIPS), None, 1)


@pytest.mark.parametrize("method", SEARCHES)
def test_a_run_goes_on_without_what_raises_and_resumes_with_the_same_notes(
    method: str, tmp_path: Path
) -> None:
    """A sampler repeats designs: the tenth sample need not be the tenth design."""
    study, out = _study(tmp_path, RAISES, method, SKIPS), tmp_path / "out"

    def interrupt(state: Progress) -> None:
        if state.done >= 40:
            raise KeyboardInterrupt

    whole = run(study, None, 2)
    run(study, out, 1, interrupt)
    resumed = run(study, out, 1)
    assert resumed.certificate == whole.certificate
    assert not whole.certificate.complete
    assert whole.certificate.gap is None
    assert whole.certificate.statement.startswith("Not certified: models raised for ")
    assert not (whole.front.designs["lanes"] == 7).any()
    skipped = [[n for n in each.notes if "skipped" in n] for each in (whole, resumed)]
    assert skipped[0] == skipped[1]
    assert "skipped, as a model raised: design " in skipped[0][0]
    assert (out / "report.html").is_file()
    again = dse.load_result(out)
    assert again.certificate == whole.certificate
    assert again.explain(int(str(whole.front.designs.index[0]))).values
    for note in skipped[0]:
        named = re.search(r"design (\d+) \(lanes = (\d+), ", note)
        if named and int(named[1]) in whole.designs.index:
            assert whole.designs["lanes"][int(named[1])] == int(named[2]) == 7


def test_what_a_model_does_to_its_process_does_not_affect_the_run(tmp_path: Path) -> None:
    whole = run(_study(tmp_path, "pass"), None, 1)
    body = "import os; os.chdir('/'); print('\\x1b[2J'); LEAK.append(lanes)"
    model = acting(body).replace("class Toy(", "LEAK = []\n\n\nclass Toy(")
    written(tmp_path, search("exhaustive"), SMALL, model)
    command = [sys.executable, "-m", "dse", "run", "study.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("out/report.html") == 1
    front = dse.load_result(tmp_path / "out").front.designs
    assert np.array_equal(front.index, whole.front.designs.index)
    assert len(list((tmp_path / "out").glob("*.html"))) == 1


# Models that end their process

ENDS = f"{AT_SEVEN} __import__('os')._exit(9)"


def test_a_model_that_ends_its_process_ends_the_run(tmp_path: Path) -> None:
    model = acting(ENDS.replace("7", "1"))
    path = written(tmp_path, "[run]\nprocesses = true\nworkers = 2\n", SMALL, model)
    with pytest.raises(StoppedError, match="a process of the workers ended: a model crashed"):
        run(dse.load(path), tmp_path / "out")


@pytest.mark.parametrize("method", ["exhaustive", "evolution"])
def test_designs_at_which_a_process_ended_are_named(method: str, tmp_path: Path) -> None:
    """Of the first task that was not done: what ended it is there, or in one under way with it."""
    study = dse.load(written(tmp_path, search(method), SMALL, acting(ENDS, DECLARED)))
    workers = Workers(2, "loky")
    under_way = find_method(method).start(Start(study.evaluator, study.plan, 32, workers))
    with pytest.raises(EndedError) as ended:
        for _ in under_way.steps():
            pass
    named = re.search(r"; it was at designs? (\d+)(?: to (\d+))?, or soon", str(ended.value))
    assert named is not None
    most = 180 if method == "exhaustive" else 199
    assert under_way.progress().done <= int(named[1]) <= min(int(named[2] or named[1]), most)


def test_a_run_that_contradicts_a_declaration_certifies_nothing(tmp_path: Path) -> None:
    """Bounds that rest on a wrong declaration are no proof, whatever the search has found."""
    (tmp_path / "wrong.py").write_text(
        "from typing import Annotated, NamedTuple\n"
        "import numpy as np, dse\n"
        "from dse import Array, Floats, Quantity\n"
        "class Out(NamedTuple):\n"
        "    time: Annotated[Array, Quantity('1', 'time', low=0)]\n"
        "    cost: Annotated[Array, Quantity('1', 'cost', low=0)]\n"
        "@dse.monotonic(time='-size', cost='+size')\n"  # the cost falls from 5 on
        "def out(size: Annotated[Floats, Quantity('1', 'size', low=0)]) -> Out:\n"
        "    size = np.asarray(size, dtype=float)\n"
        "    return Out(11.0 - size, np.where(size < 5, size, 10.0 - size))\n"
    )
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "wrong"\nmodels = ["wrong.py:out"]\n'
        "[space]\nsize = { real = [0, 10] }\n"
        '[[objective]]\nminimize = "time"\n[[objective]]\nminimize = "cost"\n'
        '[search]\nmethod = "bound"\ntolerance = "2 %"\n'
    )
    done = called("run", "study.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "is declared to" in done.stderr
    kept = dse.load_result(tmp_path / "out").certificate
    assert kept.gap is None
    assert not kept.complete
    assert kept.statement.startswith("Nothing is certified: ")
    tested = called("certify", "out", cwd=tmp_path)
    assert tested.returncode == 1
    assert "ertified within" not in kept.statement + tested.stdout
