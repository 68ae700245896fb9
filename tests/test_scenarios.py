"""Scenarios are an axis of the arrays: against one objective a scenario, however they are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse

SIZES = [64.0, 1024.0, 65536.0]


def content(objectives: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
    return {
        "study": {"name": "scenarios", "models": ["objectives.logca:offload"]},
        "inputs": {
            "overhead": 2000,
            "latency_per_byte": 1.5,
            "computational_index": 90,
            "complexity": 1.1,
        },
        "space": {
            "acceleration": {"integer": [2, 40]},
            "latency": {"values": [0, 10, 100]},
        },
        "objective": [*objectives, {"minimize": "acceleration"}],
        "run": run,
    }


def study(objectives: list[dict[str, Any]], **run: Any) -> dse.Study:
    return dse.from_mapping(content(objectives, **run))


@pytest.mark.parametrize("reduction", ["mean", "min", "max", "harmonic mean"])
def test_scenarios_against_one_objective_each(reduction: str) -> None:
    over = study([{"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": reduction}])
    each = study(
        [{"maximize": "speedup", "at": {"granularity": s}, "name": f"s{s:g}"} for s in SIZES]
    )
    index = np.arange(over.evaluator.space.size or 0)
    got = over.evaluator.evaluate(over.evaluator.space.from_index(index)).objectives[:, 0]
    columns = each.evaluator.evaluate(each.evaluator.space.from_index(index)).objectives[:, :3]
    by_hand = {
        "mean": columns.mean(axis=1),
        "min": columns.min(axis=1),
        "max": columns.max(axis=1),
        "harmonic mean": 3 / (1 / columns).sum(axis=1),
    }[reduction]
    assert got == pytest.approx(by_hand, rel=1e-14)


def test_two_axes_of_scenarios_are_every_combination() -> None:
    loads = [0.5, 1.0]
    both = study(
        [
            {
                "maximize": "speedup",
                "over": {"granularity": SIZES, "computational_index": [50, 90]},
                "reduce": "min",
                "at": {"complexity": 1.0},
            }
        ]
    )
    (objective, _) = both.evaluator.objectives
    assert objective.scenarios == len(SIZES) * len(loads)
    assert objective.conditions == {
        "complexity": 1.0,
        "granularity": (64.0, 64.0, 1024.0, 1024.0, 65536.0, 65536.0),
        "computational_index": (50.0, 90.0) * 3,
    }


def test_tables_chunks_and_workers_give_the_same_bytes() -> None:
    objective = {"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": "mean"}
    whole = study([objective]).run().designs.to_csv()
    for run in ({"chunk": 1}, {"chunk": 7, "workers": 2}, {"chunk": 50}):
        assert study([objective], **run).run().designs.to_csv() == whole


def test_one_scenario_is_its_condition() -> None:
    over = {"maximize": "speedup", "over": {"granularity": [1024]}, "reduce": "max"}
    at = {"maximize": "speedup", "at": {"granularity": 1024}}
    fronts = [study([each]).run().front.designs for each in (over, at)]
    assert fronts[0].to_numpy().tolist() == fronts[1].to_numpy().tolist()


def test_a_result_with_scenarios_is_read_back(tmp_path: Any) -> None:
    objective = {"maximize": "speedup", "over": {"granularity": SIZES}, "reduce": "mean"}
    result = study([objective]).run(tmp_path / "run")
    assert dse.load_result(tmp_path / "run").objectives == result.objectives
