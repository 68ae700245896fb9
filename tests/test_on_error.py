"""Models that misbehave: named with the design; the run ends, or goes on without the design."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.result.folder import CHECKPOINT
from dse.run import StoppedError, run
from dse.search.base import Progress, Start
from dse.search.evolution import Evolution
from dse.search.outcome import outcome_of_sample
from tests.crashing import SEARCHES
from tests.toy import MODEL, STUDY

DECLARED = "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
RAISES = "if (np.asarray(lanes) == 7).any():\n        raise ArithmeticError('7 lanes do not fit')"
THREE = "return Toy(np.ones(3), np.ones(3))"
SKIPS = '[run]\non_error = "skip"\nchunk = 50\n'


def _study(folder: Path, body: str, search: str = "exhaustive", added: str = "") -> dse.Study:
    text = MODEL.replace("def toy(", DECLARED).replace(
        "from dse import", "from dse import monotonic,"
    )
    (folder / "toy_model.py").write_text(
        text.replace("    return Toy(l", f"    {body}\n    return Toy(l", 1)
    )
    small = STUDY.replace("[1, 64]", "[1, 12]").replace("steps = 100", "steps = 10")
    options = SEARCHES[search]
    (folder / "study.toml").write_text(f'{small}[search]\nmethod = "{search}"\n{options}{added}')
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (RAISES, "ArithmeticError: 7 lanes do not fit"),
        ("if (np.asarray(lanes) == 7).any(): raise SystemExit(3)", "raised SystemExit: 3"),
    ],
)
def test_what_raises_is_named_with_its_first_design(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match=rf"design 180 \(lanes = 7, .*{words}"):
        run(_study(tmp_path, body), tmp_path / "out", 2)
    cut = dse.load_result(tmp_path / "out").certificate.statement
    assert " The search ended with an error: design 180 (lanes = 7" in cut
    found = run(_study(tmp_path, body, added=SKIPS), tmp_path / "skipped", 2)
    assert found.certificate.evaluated == 360
    assert any("design 180 (lanes = 7" in note and words in note for note in found.notes)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (np.asarray(lanes) == 7).any(): return Toy(np.ones(361), lanes)", "of shape"),
        ("if (np.asarray(lanes) == 7).any(): return Toy(lanes * 1j, lanes)", "complex numbers"),
        ("if (np.asarray(lanes) == 7).any(): lanes[...] = 1", "it changes its inputs: copy"),
    ],
)
def test_what_breaks_the_contract_ends_a_run_and_is_named_with_its_first_design(
    body: str, words: str, tmp_path: Path
) -> None:
    """A run that skips designs ends too: the model is wrong, not the design."""
    for added in ("", SKIPS):
        with pytest.raises(StoppedError, match=rf"design 180 \(lanes = 7, .*{words}"):
            run(_study(tmp_path, body, added=added), tmp_path / "out", 2)


@pytest.mark.parametrize("search", list(SEARCHES))
@pytest.mark.parametrize("body", [THREE, f"if (np.asarray(lanes) > 1).any(): {THREE}"])
def test_a_length_that_fits_by_accident_is_not_taken_for_values(
    body: str, search: str, tmp_path: Path
) -> None:
    """Halves of 50 designs are of 3 at some time, as what the model returns is."""
    words = r"toy_model.py:toy returned 'speed' of shape \(3,\) for inputs"
    with pytest.raises((StoppedError, dse.InputError), match=words):
        run(_study(tmp_path, body, search, SKIPS), None, 1)


@pytest.mark.parametrize("search", list(SEARCHES))
def test_that_every_design_raises_is_told_with_the_first(search: str, tmp_path: Path) -> None:
    study = _study(tmp_path, "raise KeyError('no luck')", search, SKIPS)
    words = (
        r"^toy: models raised for all of the \d+ designs looked at, first for design \d+ \(lanes"
    )
    with pytest.raises(StoppedError, match=words + r" = .*raised KeyError: 'no luck'$"):
        run(study, None, 1)


@pytest.mark.parametrize("search", list(SEARCHES))
def test_a_run_goes_on_without_what_raises_and_says_so(search: str, tmp_path: Path) -> None:
    found = run(_study(tmp_path, RAISES, search, SKIPS), tmp_path / "out", 2)
    assert not found.certificate.complete
    assert found.certificate.gap is None
    assert found.certificate.statement.startswith("Not certified: models raised for ")
    assert any("skipped, as a model raised: design " in note for note in found.notes)
    assert not (found.front.designs["lanes"] == 7).any()
    assert (tmp_path / "out" / "report.html").is_file()
    again = dse.load_result(tmp_path / "out")
    assert again.certificate == found.certificate
    assert again.explain(int(found.front.designs.index[0])).values


def test_the_front_without_what_raises_is_that_of_the_others(tmp_path: Path) -> None:
    found = run(_study(tmp_path, RAISES, added=SKIPS), None, 2)
    excluded = run(_study(tmp_path, "lanes = np.where(lanes == 7, np.nan, lanes)"), None, 1)
    front, other = (each.front.designs.drop(columns=["speed"]) for each in (found, excluded))
    pd.testing.assert_frame_equal(front, other)
    raised = found.notes[0]
    assert sum("skipped, as a model raised" in note for note in found.notes) == 11
    assert "20 more, designs 190, 191," in " ".join(found.notes), raised


def test_a_resumed_run_counts_what_raised_before(tmp_path: Path) -> None:
    def interrupt(state: Progress) -> None:
        if state.done > 250:
            raise KeyboardInterrupt

    study = _study(tmp_path, RAISES, added=SKIPS)
    run(study, tmp_path / "out", 1, interrupt)
    assert (tmp_path / "out" / CHECKPOINT).is_file()
    resumed, whole = run(study, tmp_path / "out", 1), run(study, None, 1)
    assert resumed.certificate == whole.certificate
    skipped = [[n for n in each.notes if "skipped" in n] for each in (whole, resumed)]
    assert len(skipped[0]) == 11
    assert skipped[0] == skipped[1]


@pytest.mark.parametrize("body", ["os.chdir('/')", "print('\\x1b[2J')", "LEAK.append(lanes)"])
def test_what_a_model_does_to_its_process_does_not_reach_the_run(body: str, tmp_path: Path) -> None:
    whole = run(_study(tmp_path, "pass"), None, 1)
    _study(tmp_path, f"import os; {body}")
    code = (
        (tmp_path / "toy_model.py").read_text().replace("class Toy(", "LEAK = []\n\n\nclass Toy(")
    )
    (tmp_path / "toy_model.py").write_text(code)
    command = [sys.executable, "-m", "dse", "run", "study.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("report: out/report.html") == 1
    front = dse.load_result(tmp_path / "out").front.designs
    assert np.array_equal(front.index, whole.front.designs.index)
    assert len(list((tmp_path / "out").glob("*.html"))) == 1


@pytest.mark.parametrize("search", ["evolution", "guided", "NSGAIISampler"])
def test_what_raised_has_the_number_of_its_design_in_a_resumed_run_too(
    search: str, tmp_path: Path
) -> None:
    """A sampler repeats designs: the tenth draw need not be the tenth design."""

    def interrupt(state: Progress) -> None:
        if state.done >= 40:
            raise KeyboardInterrupt

    study = _study(tmp_path, RAISES, search, SKIPS)
    run(study, tmp_path / "out", 1, interrupt)
    resumed, whole = run(study, tmp_path / "out", 1), run(study, None, 1)
    skipped = [[n for n in each.notes if "skipped" in n] for each in (whole, resumed)]
    assert skipped[0] == skipped[1] != []
    for note in skipped[0]:
        if found := re.search(r"design (\d+) \(lanes = (\d+), ", note):
            assert whole.designs["lanes"][int(found[1])] == int(found[2]) == 7
    (first, *_) = (n for n in whole.designs.index if whole.designs["lanes"][n] == 7)
    assert f"design {first} (" in skipped[0][0]


def test_what_raised_is_not_run_again_after_the_search(tmp_path: Path) -> None:
    study = _study(tmp_path, RAISES, "evolution", SKIPS)
    search = Evolution(Start(study.evaluator, study.plan))
    for _ in search.steps():
        pass
    evaluated = search.population.evaluated
    points = study.evaluator.space.from_unit(search.population.unit)
    models = tuple(replace(m, function=_never) for m in study.evaluator.wiring.models)
    dead = replace(study.evaluator, wiring=replace(study.evaluator.wiring, models=models))
    outcome = outcome_of_sample(dead, points, evaluated, "evolution")
    assert outcome.tally.raised == (points["lanes"] == 7).sum() > 0


def _never(**_: object) -> None:
    raise AssertionError("a model was run")
