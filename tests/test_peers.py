"""The comparison with peers runs, and what it measures is what it says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks import guided, peer_problems, peers
from benchmarks.peer_searches import SEARCHES, Task, installed
from dse.evaluate.front import is_nondominated


def test_the_comparison_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", "--quick", "queue"])
    peers.main()
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:26].strip(): line[26:].split() for line in lines if "." in line[26:]}
    assert set(SEARCHES) >= set(rows) - {"dse exhaustive"} >= {"dse evolution", "sobol"}
    missing = [label for label in SEARCHES if not installed(label)]
    assert all(label in lines[0] for label in missing)
    assert rows["dse exhaustive"][3:] == ["1.0000", "1.000"]
    assert all(0.0 <= float(share) <= 1.0 for row in rows.values() for share in row[3:])


def test_measures_are_of_the_true_front() -> None:
    evaluator = peer_problems.five(2).evaluator
    points, _, designs = peers.enumerated(evaluator)
    assert designs == evaluator.space.size
    truth = peers.Truth.of(points, evaluator.signs, "")
    assert truth.volume(points) == pytest.approx(1.0)
    assert truth.covered(points) == 1.0
    half = truth.points[::2]
    assert 0.0 < truth.volume(half) < 1.0
    assert truth.covered(half) < 1.0


def test_designs_are_counted_until_a_fraction_of_the_hypervolume() -> None:
    evaluator = peer_problems.five(2).evaluator
    judged = evaluator.evaluate(evaluator.space.from_index(np.arange(evaluator.space.size or 0)))
    points = judged.objectives * evaluator.signs
    truth = peers.Truth.of(points, evaluator.signs, "")
    for share in (0.5, 0.95, 1.0 - 1e-9):
        count = int(guided.count_designs(truth, judged, share))
        assert truth.volume(points[:count]) >= share > truth.volume(points[: count - 1])
    half = judged.rows(slice(count - 1))
    assert guided.count_designs(truth, half, share) == np.inf


@pytest.mark.parametrize("name", ["black_scholes", "matrix_multiplication", "sobel"])
def test_a_table_is_a_study_whose_searches_are_recorded_in_order(name: str) -> None:
    evaluator = guided.PROBLEMS[name]().evaluator
    evaluated = guided.searched("guided", 8)(evaluator, 24, 0)
    longer = guided.searched("guided", 8)(evaluator, 32, 0)
    assert len(evaluated) == 24
    assert np.array_equal(longer.objectives[:16], evaluated.objectives[:16])


def test_the_comparison_for_costly_models_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        guided, "SEARCHES", {k: v for k, v in guided.SEARCHES.items() if "Optuna" not in k}
    )
    monkeypatch.setattr(sys, "argv", ["guided", "--quick"])
    guided.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows[1:]] == list(guided.SEARCHES)


def test_a_penalty_is_worse_than_any_feasible_design() -> None:
    judge = peer_problems.queue(4).evaluator
    task = Task(judge, np.ones(3, dtype=bool), 0, 1.0)
    found = task.judged(np.random.default_rng(0).random((500, 4)))
    seen = task.penalized(found)
    assert 0 < found.feasible.sum() < 500
    assert seen[found.feasible].max() < seen[~found.feasible].min()
    best = is_nondominated(seen)
    assert found.feasible[best].all()
    assert np.array_equal(
        is_nondominated(seen[found.feasible]),
        is_nondominated(task.points()),
    )
