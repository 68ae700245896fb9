"""Samplers that repeat designs: the storage's best trials are the front, design for design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest
from optuna.trial import FrozenTrial, TrialState

import dse
from dse.run import run
from dse.search.base import Progress
from tests.toy import MODEL, STUDY

NAMES = ["lanes", "clock", "size"]
SAMPLERS = [
    "method = 'NSGAIISampler'\noptions = { population_size = 12 }",
    "method = 'TPESampler'\ngeneration = 6",
    "method = 'RandomSampler'\ngeneration = 25",
    "method = 'QMCSampler'\ngeneration = 32",
]


@pytest.fixture(params=SAMPLERS, ids=lambda text: text.split("'")[1])
def tiny(tmp_path: Path, request: pytest.FixtureRequest) -> dse.Study:
    """Return a study of 24 designs, a few of them infeasible, from which 90 are drawn."""
    text = STUDY.replace("[1, 64]", "[1, 4]").replace("steps = 100", "steps = 3")
    text = text.replace('["1 KiB", "2 KiB", "4 KiB"]', '["1 KiB", "2 KiB"]')
    text = text.replace("20 kLUT", "2 kLUT")
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(f"{text}[search]\nevaluations = 90\n{request.param}\n")
    return dse.load(tmp_path / "study.toml")


def _stored(out: Path) -> optuna.Study:
    return optuna.load_study(study_name="toy", storage=f"sqlite:///{out / 'study.db'}")


def _content(trial: FrozenTrial) -> tuple[Any, ...]:
    attributes = (trial.user_attrs, trial.system_attrs)
    return trial.number, trial.state, trial.params, trial.values, attributes


def _assert_best_trials_are_the_front(out: Path) -> None:
    study = _stored(out)
    front = pd.read_csv(out / "front.csv", index_col="design")
    assert len(study.best_trials) == len(front)
    best = {t.number: [*(t.params[n] for n in NAMES), *t.values] for t in study.best_trials}
    assert best == {n: list(row) for n, *row in front[[*NAMES, "speed", "cost"]].itertuples()}


def _assert_each_design_is_complete_once(trials: list[FrozenTrial]) -> None:
    complete = {t.number: t for t in trials if t.state == TrialState.COMPLETE}
    repeats = [t for t in trials if t.state == TrialState.PRUNED]
    assert len(complete) + len(repeats) == len(trials)
    assert len(trials) == 90 or len(complete) == 24  # it ends early once all were drawn
    assert len(complete) <= 24
    assert len({tuple(t.params[n] for n in NAMES) for t in complete.values()}) == len(complete)
    for trial in repeats:
        first = complete[trial.user_attrs["repeats"]]
        assert first.number < trial.number
        assert (first.params, first.values) == (trial.params, trial.values)


def test_best_trials_are_the_front_design_for_design_and_resuming_changes_nothing(
    tiny: dse.Study, tmp_path: Path
) -> None:
    def interrupt(state: Progress) -> None:
        if 40 < state.done < 90:
            raise KeyboardInterrupt

    cut, whole = tmp_path / "cut", tmp_path / "whole"
    assert run(tiny, cut, progress=interrupt).certificate.stopped == "interrupted"
    early = _stored(cut).trials
    assert 40 < len(early) < 90
    assert any(t.state == TrialState.PRUNED for t in early)
    for out in (cut, whole):
        went_on = [note for note in run(tiny, out).notes if "went on from" in note]
        distinct = len({tuple(t.params[n] for n in NAMES) for t in early})
        told = f"went on from {distinct} designs of an earlier session"
        assert [told in note for note in went_on] == ([True] if out == cut else [])
        _assert_best_trials_are_the_front(out)
        _assert_each_design_is_complete_once(_stored(out).trials)
    assert [_content(t) for t in _stored(cut).trials] == [
        _content(t) for t in _stored(whole).trials
    ]
    assert (cut / "front.csv").read_bytes() == (whole / "front.csv").read_bytes()
