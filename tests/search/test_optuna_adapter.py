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
from tests.toy import changed

pytestmark = pytest.mark.usefixtures("no_report")

NAMES = ["lanes", "clock", "size"]


def _tiny(folder: Path, search: str) -> dse.Study:
    """Return a study of 24 designs, a few of them infeasible, from which 60 are sampled."""
    changes = [("[1, 64]", "[1, 4]"), ("steps = 100", "steps = 3"), ("20 kLUT", "2 kLUT")]
    changes.append(('["1 KiB", "2 KiB", "4 KiB"]', '["1 KiB", "2 KiB"]'))
    return changed(folder, f"evaluations = 60\n{search}", *changes)


def _trials(out: Path) -> list[FrozenTrial]:
    storage = f"sqlite:///{out / 'study.db'}"
    return optuna.load_study(study_name="toy", storage=storage).get_trials(deepcopy=False)


def _design(trial: FrozenTrial) -> tuple[Any, ...]:
    return tuple(trial.params[name] for name in NAMES)


def test_best_trials_are_the_front_design_for_design_and_resuming_changes_nothing(
    tmp_path: Path,
) -> None:
    search = "method = 'NSGAIISampler'\noptions = { population_size = 12 }"

    def interrupt(state: Progress) -> None:
        if 20 < state.done < 60:
            raise KeyboardInterrupt

    tiny = _tiny(tmp_path, search)
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    assert run(tiny, cut, progress=interrupt).certificate.stopped == "interrupted"
    early = _trials(cut)
    assert 20 < len(early) < 60
    assert any(t.state == TrialState.PRUNED for t in early)
    contents = []
    for out in (cut, whole):
        last: list[Progress] = []
        result = run(tiny, out, progress=last.append)
        note = f"went on from {len(set(map(_design, early)))} designs of an earlier session"
        assert any(note in text for text in result.notes) == (out == cut)
        trials = _trials(out)
        first: dict[tuple[Any, ...], FrozenTrial] = {}
        for trial in trials:
            if (original := first.setdefault(_design(trial), trial)) is trial:
                assert trial.state == TrialState.COMPLETE
            else:
                assert trial.state == TrialState.PRUNED
                assert trial.user_attrs["repeats"] == original.number
                assert trial.values == original.values
        numbers = sorted(trial.number for trial in first.values())
        assert result.designs.index.tolist() == numbers
        assert result.certificate.evaluated == len(first) <= 24
        assert (last[-1].done, last[-1].repeats) == (len(trials), len(trials) - len(first))
        assert last[-1].front == result.certificate.non_dominated == len(result.front)
        if len(first) < 24:  # a space that was gone through is certified
            counts = f"{len(first)} designs of 24 were evaluated by {tiny.plan.method} in 60 draws"
            assert counts in result.certificate.statement
        front = pd.read_csv(out / "front.csv", index_col="design")
        best = optuna.load_study(study_name="toy", storage=f"sqlite:///{out / 'study.db'}")
        stored = {t.number: [*_design(t), *t.values] for t in best.best_trials}
        assert stored == {n: list(row) for n, *row in front[[*NAMES, "speed", "cost"]].itertuples()}
        contents.append(
            [(t.number, t.state, t.params, t.values, t.user_attrs, t.system_attrs) for t in trials]
        )
    assert contents[0] == contents[1]
    assert (cut / "front.csv").read_bytes() == (whole / "front.csv").read_bytes()
