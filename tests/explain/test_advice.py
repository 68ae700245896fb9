"""Advice, repairs and dominating designs against brute force over all designs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.advice import first_change
from dse.explain.changes import Change, Effect, Setting
from dse.explain.explanation import explain
from dse.explain.sensitivity import GIVEN, PART, SPACE
from dse.study.alternatives import alternatives
from tests.explain.examples import content, logca, study

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


# Advice ---------------------------------------------------------------------------------------


def test_advice_is_the_best_of_all_neighbours_and_each_number_gives_what_is_claimed() -> None:
    made = study(constraint=BOUND)
    result = made.run()
    feasible = [n for n in range(96) if scalar(made, n)[2]]
    for explained in explain(made, result, feasible):
        speedup, area, _ = scalar(made, explained.design)
        near = {n: name for n, name in neighbours(made, explained.design).items()
                if scalar(made, n)[2] and scalar(made, n)[0] > 1}  # fmt: skip
        wanted: dict[tuple[str, str], float] = {}
        for n, name in near.items():
            there = scalar(made, n)
            for objective, gain in (("speedup", there[0] / speedup), ("area", area / there[1])):
                if gain >= 1.01:
                    wanted[name, objective] = max(wanted.get((name, objective), 0.0), gain)
        advised: dict[tuple[str, str], float] = {}
        for change in explained.advice:
            assert change.kind == SPACE
            assert change.design in near
            (setting,) = change.settings
            assert near[change.design] == setting.variable
            after = scalar(made, change.design)
            assert [e.after for e in change.effects] == pytest.approx(after[:2], rel=1e-12)
            assert [e.before for e in change.effects] == pytest.approx((speedup, area), rel=1e-12)
            for effect in change.effects:
                if effect.gain >= 1.01:
                    key = (setting.variable, effect.objective)
                    advised[key] = max(advised.get(key, 0.0), effect.gain)
        assert advised == {key: pytest.approx(gain, rel=1e-12) for key, gain in wanted.items()}


def test_a_sampled_continuum_keeps_to_the_space_and_to_the_domain() -> None:
    space = {"lanes": {"integer": [1, 8]}, "bus_wait": {"real": [0, 500]}}
    given = {"host_time": 900.0, "depth": 2, "bus_area": 5}
    search = {"method": "evolution", "evaluations": 100, "seed": 1}
    made = study(space=space, inputs=given, search=search)
    result = made.run()
    for explained in explain(made, result, list(result.designs.index[:10])):
        for change in explained.advice:
            (setting,) = change.settings
            low, high = (1, 8) if setting.variable == "lanes" else (0, 500)
            assert low <= float(setting.after.split()[0].replace(",", "")) <= high
            if change.design is not None:
                row = result.designs.loc[change.design]
                assert [e.after for e in change.effects] == [row["speedup"], row["area"]]


def test_inputs_are_distinguished_by_who_sets_them() -> None:
    made = study()
    (explained,) = explain(made, made.run(), [0])
    kinds = {item.input: item.kind for item in explained.sensitivities}
    assert kinds == {"lanes": SPACE, "bus_wait": PART, "host_time": GIVEN}
    assert {item.changed_by for item in explained.sensitivities} == {
        "beyond your space",  # 1 lane → 10, of 8
        "another bus",
        "not yours to change",
    }


def test_alternatives_are_entries_left_out_that_compute_the_same() -> None:
    crypto = dse.load(ROOT / "studies" / "crypto.toml")
    rows = alternatives(crypto)
    assert "engine" not in rows  # of AES there are these two; SHA and cosine do something else
    assert "queued-port" in rows["interface"]
    assert not rows["interface"].keys() & set(crypto.choices["interface"])


def test_another_part_is_evaluated_in_the_place_of_the_selected_one(tmp_path: Path) -> None:
    (tmp_path / "buses.toml").write_text(
        'about = "buses"\nsource = "made up"\n'
        '[slow]\nabout = "slow"\nbus_wait = 400\nbus_area = 10\n'
        '[free]\nabout = "free"\nbus_wait = 0\nbus_area = 20\n'
        '[impossible]\nabout = "not in the domain"\nbus_wait = -1\nbus_area = 20\n'
        '[half]\nabout = "lacks a value"\nbus_wait = 0\n'
    )
    (tmp_path / "made.py").write_text((ROOT / "tests" / "explain" / "examples.py").read_text())
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "made"\nmodels = ["made.py:machine"]\n[inputs]\nhost_time = 9000\n'
        "[space]\nlanes = { integer = [1, 8] }\ndepth = { values = [2] }\n"
        'bus = { catalog = "buses.toml", options = ["slow"] }\n'
        '[[objective]]\nmaximize = "speedup"\n[[objective]]\nminimize = "area"\n'
    )
    made = dse.load(tmp_path / "study.toml")
    (explained,) = explain(made, made.run(), [0])
    (part,) = [change for change in explained.advice if change.kind == PART]
    assert (part.settings, part.design) == ((Setting("bus", "slow", "free"),), None)
    assert [e.after for e in part.effects] == [9000 / 1500, 120 + 20]
    assert ("other part", str(part)) in explained.fields
    assert first_change(explained.advice, PART, "speedup") == part


def test_first_comes_a_change_that_costs_no_benefit() -> None:
    made = study(host_time=9000.0)
    for explained in explain(made, made.run(), range(0, 96, 7)):
        costs = [change.on("speedup").gain < 1 for change in explained.advice]
        assert costs == sorted(costs)


def test_effects_are_values_with_their_change_in_percent() -> None:
    effects = (
        Effect("area", "LUT", 396_000.0, 352_000.0, 396 / 352),
        Effect("call_time", "cycle", 10.0, 156.0, 10 / 156),
        Effect("break_even", "B", np.inf, 16.0, np.inf),
        Effect("speedup", "1", 15.0, 15.0, 1.0),
    )
    settings = (Setting("lanes", "1", "2"), Setting("bus_width", "8 bit", "16 bit"))
    assert str(Change(settings, 7, effects, beneficial=False)) == (
        "lanes 1 → 2, bus width 8 → 16 bit (design 7): area 352,000 LUT (−11.1 %), "
        "call time 156 cycles (×15.6), break even 16 B (from never); not beneficial"
    )


def test_improved_values_outside_the_space_are_called_so() -> None:
    result, space = logca().run(), {"acceleration": (2, 64), "overhead": (116, 34_800)}
    seen = set()
    for number in range(0, len(result.designs), 501):
        for item in result.explain(number).sensitivities:
            if item.input in space:
                low, high = space[item.input]
                within = bool(low <= item.improved <= high)
                assert item.changed_by == ("within your space" if within else "beyond your space")
                seen.add((item.input, within))
    assert len(seen) == 4


# Dominating designs and repairs ---------------------------------------------------------------


def test_a_dominated_design_names_the_designs_that_dominate_it() -> None:
    made = study()
    result = made.run()
    every = made.evaluator.evaluate(made.evaluator.space.from_index(np.arange(96))).objectives
    front = list(result.front.designs.index)
    for explained in explain(made, result, range(96)):
        mine = every[explained.design]
        better = [
            n
            for n in front
            if every[n][0] >= mine[0] and every[n][1] <= mine[1] and (every[n] != mine).any()
        ]
        place = explained.dominance
        assert place is not None
        assert place.on_front == (explained.design in front) == (not better)
        assert place.dominated == len(better)
        named = [each.design for each in place.by]
        assert len(named) == min(3, len(better))
        assert set(named) <= set(better)
        for each in place.by:
            assert each.design is not None
            assert [e.after for e in each.effects] == list(every[each.design])


def test_a_repair_is_the_nearest_feasible_value_of_each_variable() -> None:
    made = study(constraint=[{"quantity": "area", "at_most": 500}])
    result = made.run()
    space = made.evaluator.space
    feasible = made.evaluator.evaluate(space.from_index(np.arange(96))).feasible
    digits = {n: space.digits(np.arange(96))[n] for n in space.variables}
    repaired = 0
    for explained in explain(made, result, np.flatnonzero(~feasible).tolist()):
        assert not explained.advice
        assert explained.dominance is None
        nearest = {}
        for name in space.variables:
            others = [n for n in space.variables if n != name]
            near = [
                (abs(int(digits[name][n]) - int(digits[name][explained.design])), n)
                for n in np.flatnonzero(feasible).tolist()
                if all(digits[o][n] == digits[o][explained.design] for o in others)
            ]
            if near:
                nearest[name] = min(near)
        for repair in explained.repairs:
            assert repair.design is not None
            assert feasible[repair.design]
        if nearest:
            assert {r.settings[0].variable for r in explained.repairs} == set(nearest)
            for repair in explained.repairs:
                if (name := repair.settings[0].variable) != "bus":  # options have no order
                    assert repair.design == nearest[name][1]
            repaired += 1
        else:
            assert [len(r.settings) for r in explained.repairs] in ([], [2])
    assert repaired > 10


def test_two_changes_are_found_where_one_does_not_repair() -> None:
    bounds = [{"relation": "lanes <= 1"}, {"relation": "depth <= 1"}]
    made = study(constraint=bounds)
    (explained,) = explain(made, made.run(), [95])
    (repair,) = explained.repairs
    assert [str(each) for each in repair.settings] == ["lanes 8 → 1", "depth 8 → 1"]
    assert repair.design == 2
    three = study(
        constraint=[*bounds, {"relation": "bus_wait >= 400"}, {"relation": "bus_wait <= 500"}]
    )
    (explained,) = explain(three, three.run(), [95])
    assert explained.repairs == ()
    assert ("repair", "no change of one or two variables") in explained.fields
