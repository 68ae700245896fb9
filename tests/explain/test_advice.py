"""Advice against brute force: every neighbour of a design, asked for one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.advice import Advice, select_keeping
from dse.explain.explanation import Explanation, explain
from dse.explain.sensitivity import GIVEN, PART, SPACE
from dse.study.alternatives import alternatives
from tests.explain.examples import content, machine, study

ROOT = Path(__file__).parents[2]
BOUND = [{"quantity": "area", "at_most": 900}, {"relation": "lanes * depth <= 24"}]


def neighbours(made: dse.Study, number: int) -> dict[int, str]:
    """Return the designs that differ in one variable, with its name: by comparing all designs."""
    size = made.evaluator.space.size
    assert size is not None
    labels = pd.DataFrame(
        made.evaluator.space.labels(made.evaluator.space.from_index(np.arange(size)))
    )
    differs = labels != labels.loc[number]
    one = differs.index[differs.sum(axis=1) == 1]
    return {int(n): str(differs.columns[differs.loc[n]][0]) for n in one}


def scalar(made: dse.Study, number: int) -> tuple[float, float, bool]:
    """Return speedup, area and whether the bounds hold, of one design by plain arithmetic."""
    labels = made.evaluator.space.labels(made.evaluator.space.from_index(np.array([number])))
    lanes, depth, bus = (labels[n][0] for n in ("lanes", "depth", "bus"))
    row = content()["space"]["bus"]["rows"][bus]
    time = 1000.0 / lanes * (1 + 1 / depth) + row["bus_wait"]
    area = lanes * (100 + 10 * depth) + row["bus_area"]
    return 900.0 / time, area, area <= 900 and lanes * depth <= 24


def test_advice_is_the_best_of_all_neighbours_and_each_number_gives_what_is_claimed() -> None:
    made = study(constraint=BOUND)
    result = made.run()
    feasible = [n for n in range(96) if scalar(made, n)[2]]
    for found in explain(made, result, feasible):
        speedup, area, _ = scalar(made, found.design)
        near = {n: name for n, name in neighbours(made, found.design).items() if scalar(made, n)[2]}
        near = {n: name for n, name in near.items() if scalar(made, n)[0] > 1}  # it pays
        wanted: dict[tuple[str, str], float] = {}
        for n, name in near.items():
            there = scalar(made, n)
            for objective, gain in (("speedup", there[0] / speedup), ("area", area / there[1])):
                if gain >= 1.01:
                    key = (name, objective)
                    wanted[key] = max(wanted.get(key, 0.0), gain)
        told = {
            (item.variable, e.objective): max(e.gain, 0.0)
            for item in found.advice
            for e in item.effects
            if e.gain >= 1.01
        }
        for key, gain in wanted.items():
            best = max(
                e.gain for i in found.advice for e in i.effects if (i.variable, e.objective) == key
            )
            assert best == pytest.approx(gain, rel=1e-12)
        assert told.keys() == wanted.keys()
        for item in found.advice:
            assert item.kind == SPACE
            assert item.design in near
            assert near[item.design] == item.variable
            after = scalar(made, item.design)
            assert [e.after for e in item.effects] == pytest.approx(after[:2], rel=1e-12)
            assert [e.before for e in item.effects] == pytest.approx((speedup, area), rel=1e-12)


def test_on_the_front_nothing_is_free() -> None:
    made = study()
    result = made.run()
    for found in explain(made, result, list(result.front.designs.index)):
        assert found.standing is not None
        assert found.standing.on_front
        assert all(any(e.gain < 1 for e in item.effects) for item in found.advice)
        assert all("at no cost" not in str(item) for item in found.advice)


def test_a_sampled_continuum_keeps_to_the_space_and_to_the_domain() -> None:
    space = {"lanes": {"integer": [1, 8]}, "bus_wait": {"real": [0, 500]}}
    given = {"host_time": 900.0, "depth": 2, "bus_area": 5}
    search = {"method": "evolution", "evaluations": 200, "seed": 1}
    made = study(space=space, inputs=given, search=search)
    result = made.run()
    for found in explain(made, result, list(result.designs.index[:40])):
        for item in found.advice:
            value = float(item.after.split()[0].replace(",", ""))
            low, high = (1, 8) if item.variable == "lanes" else (0, 500)
            assert low <= value <= high
            if item.design is not None:
                row = result.designs.loc[item.design]
                assert [e.after for e in item.effects] == [row[e.objective] for e in item.effects]


def told(found: Explanation) -> dict[str, str]:
    return {item.input: item.kind for item in found.sensitivities}


def test_kinds_are_told_apart_by_who_sets_an_input() -> None:
    made = study()
    (found,) = explain(made, made.run(), [0])
    assert told(found) == {"lanes": SPACE, "bus_wait": PART, "host_time": GIVEN}
    assert {s.changed_by for s in found.sensitivities} == {
        "beyond your space",  # 1 lane → 10, of 8
        "another bus",
        "not yours to change",
    }
    assert all(item.variable in made.evaluator.space.variables for item in found.advice)


def test_parts_are_rows_left_out_that_compute_the_same() -> None:
    crypto = dse.load(ROOT / "studies" / "crypto.toml")
    rows = alternatives(crypto)
    assert "engine" not in rows  # of AES there are these two; SHA and cosine do something else
    assert "queued-port" in rows["interface"]
    assert not rows["interface"].keys() & set(crypto.choices["interface"])


def test_another_part_is_evaluated_in_the_place_of_the_chosen_one(tmp_path: Path) -> None:
    (tmp_path / "buses.toml").write_text(
        'about = "buses"\nsource = "made up"\n'
        '[slow]\nabout = "slow"\nbus_wait = 400\nbus_area = 10\n'
        '[free]\nabout = "free"\nbus_wait = 0\nbus_area = 20\n'
        '[impossible]\nabout = "not in the domain"\nbus_wait = -1\nbus_area = 20\n'
        '[half]\nabout = "lacks a figure"\nbus_wait = 0\n'
    )
    (tmp_path / "made.py").write_text((ROOT / "tests" / "explain" / "examples.py").read_text())
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "made"\nmodels = ["made.py:machine"]\n[inputs]\nhost_time = 9000\n'
        "[space]\nlanes = { integer = [1, 8] }\ndepth = { values = [2] }\n"
        'bus = { catalog = "buses.toml", options = ["slow"] }\n'
        '[[objective]]\nmaximize = "speedup"\n[[objective]]\nminimize = "area"\n'
    )
    made = dse.load(tmp_path / "study.toml")
    (found,) = explain(made, made.run(), [0])
    (part,) = [item for item in found.advice if item.kind == PART]
    assert (part.variable, part.before, part.after, part.design) == ("bus", "slow", "free", None)
    assert [e.after for e in part.effects] == [9000 / 1500, 120 + 20]
    assert "which the study leaves out" in str(part)
    (best,) = select_keeping(found.advice, PART, "speedup")
    assert isinstance(best, Advice)
    assert best == part


def test_advice_needs_no_more_than_plain_numbers() -> None:
    made = study()
    result = made.run()
    (found,) = explain(made, result, [int(str(result.compromise().name))])
    for item in found.advice:
        assert "e+" not in str(item)
    assert machine(2.0, 4.0, 50.0, 300.0, 900.0).time == 675.0
