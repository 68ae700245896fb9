"""The preferences of a study: they select among the designs on the front."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dse
from dse.evaluate.front import find_nash_design
from dse.problems import InputError
from tests.toy import MODEL, STUDY

RECOMMEND = """
[recommend]
weights = { cost = 0.5 }
require = ["speed >= 4", "cost <= 15 kLUT"]
exclude = { lanes = [10, 11, 12, 13, 14, 15, 16, 17] }
"""


def written(folder: Path, table: str) -> Path:
    (folder / "toy_model.py").write_text(MODEL)
    path = folder / "toy.toml"
    path.write_text(STUDY + table)
    return path


def test_preferences_select_among_the_designs_on_the_front(tmp_path: Path) -> None:
    plain = dse.load(written(tmp_path, "")).run(tmp_path / "plain")
    result = dse.load(written(tmp_path, RECOMMEND)).run(tmp_path / "run")
    front = result.front
    assert front.designs.equals(plain.front.designs)  # the search does not see them
    values = front.designs
    among = (values["speed"] >= 4) & (values["cost"] <= 15_000)
    among &= ~values["lanes"].isin(range(10, 18))
    weights = {"speed": 1.0, "cost": 0.5}
    objectives = [replace(o, weight=weights[o.name]) for o in result.objectives]
    row = find_nash_design(front.points, objectives, among.to_numpy(bool))
    assert result.answer().designs[0].design == front.designs.index[row]
    assert result.answer().designs[0].design != plain.answer().designs[0].design


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ('require = ["speed >= 1000"]', "No design in this space meets speed >= 1000."),
        (
            f'require = ["speed >= 4"]\nexclude = {{ lanes = {list(range(1, 18))} }}',
            "Each design on the front has an excluded option.",  # others have up to 64 lanes
        ),
        (
            f'require = ["speed >= 1000"]\nexclude = {{ lanes = {list(range(1, 10))} }}',
            "No design on the front without an excluded option meets speed >= 1000.",
        ),
    ],
)
def test_preferences_that_no_design_meets_are_named(
    tmp_path: Path, table: str, verdict: str
) -> None:
    answer = dse.load(written(tmp_path, f"[recommend]\n{table}\n")).run().answer()
    assert answer.verdict == verdict
    assert not answer.beneficial


@pytest.mark.parametrize(
    ("table", "place", "word"),
    [
        ("weights = { spead = 2 }", "recommend.weights", "did you mean 'speed'"),
        ('require = ["spead >= 4"]', "recommend.require", "'spead' is not an objective"),
        ('require = ["speed <= 4"]', "recommend.require", "at least, >="),
        ('require = ["cost <= 4 GHz"]', "recommend.require", "cost is in LUT"),
        ('require = ["speed >= 4 and cost <= 5 LUT"]', "recommend.require", "several bounds"),
        ("exclude = { lane = [1] }", "recommend.exclude", "did you mean 'lanes'"),
        ('exclude = { lanes = ["two"] }', "recommend.exclude", "write a number"),
    ],
)
def test_each_problem_names_its_place(tmp_path: Path, table: str, place: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        dse.load(written(tmp_path, f"[recommend]\n{table}\n"))
    assert place in str(caught.value)
    assert word in str(caught.value)
