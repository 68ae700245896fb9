"""Advice, repairs and dominating designs against brute force over all designs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dse
from dse.evaluate.space import Choice, Integer, Real, Space
from dse.explain.advice import best_trade
from dse.explain.benefit import list_benefits
from dse.explain.changes import (
    ENTRY,
    SPACE,
    Change,
    Effect,
    Setting,
    describe_sampling,
    find_neighbours,
    list_settings,
)
from dse.explain.explanation import Explanation, explain
from dse.explain.sensitivity import STUDY, VARIABLE, gain_factor
from dse.model.values import word_name
from dse.study.alternatives import list_alternatives
from tests.explain.examples import content, study

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"
SHIPPED = sorted(path.stem for path in STUDIES.glob("*.toml"))
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
    owners = {item.input: item.set_by for item in explained.sensitivities}
    assert owners == {"lanes": VARIABLE, "bus_wait": "selected bus", "host_time": STUDY}


def test_alternatives_are_entries_left_out_that_compute_the_same() -> None:
    crypto = dse.load(ROOT / "studies" / "crypto.toml")
    rows = list_alternatives(crypto)
    assert "engine" not in rows  # of AES there are these two; SHA and cosine do something else
    assert "queued-port" in rows["interface"]
    assert not rows["interface"].keys() & set(crypto.choices["interface"])


def test_another_entry_is_evaluated_in_the_place_of_the_selected_one(tmp_path: Path) -> None:
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
    (part,) = [change for change in explained.advice if change.kind == ENTRY]
    assert (part.settings, part.design) == ((Setting("bus", "slow", "free"),), None)
    assert [e.after for e in part.effects] == [9000 / 1500, 120 + 20]
    assert (ENTRY, str(part)) in explained.fields
    assert best_trade(explained.advice, ENTRY, "speedup") == part


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


def test_of_an_option_of_several_parts_those_that_differ_are_named() -> None:
    option = "user-port, zstd, engines {}, streams {}"
    one = Setting("zstd", option.format(2, 4), option.format(8, 4))
    assert str(one) == "zstd engines 2 → 8"
    both = Setting("zstd", option.format(2, 4), option.format(8, 16))
    assert str(both) == "zstd engines 2, streams 4 → engines 8, streams 16"
    built = Setting("zstd", "not built", option.format(2, 4))
    assert str(built) == "zstd not built → user-port, zstd, engines 2, streams 4"


# Advice for the shipped studies ---------------------------------------------------------------


def shipped(name: str, entries: dict[str, list[str]] | None = None) -> dse.Study:
    """Return a shipped study, with further options of its variables."""
    text = (STUDIES / f"{name}.toml").read_text()
    if name == "cpu_accelerator":
        text = text.replace("[0, 1, 2, 3, 4, 5]", "[3]")  # a program of few blocks
    content = tomllib.loads(text)
    inputs = {**content.get("inputs", {}), **content.get("kernels", {}).get("inputs", {})}
    for value in inputs.values():
        if isinstance(value, dict) and "file" in value:
            value["file"] = str(STUDIES / value["file"])
    for variable, options in (entries or {}).items():
        content["space"][variable]["options"] += options
    return dse.from_mapping(content)


@pytest.mark.parametrize("name", SHIPPED)
def test_all_advice_for_a_shipped_study_is_true(name: str, request: pytest.FixtureRequest) -> None:
    """Explain 20 designs of its front and 5 infeasible ones."""
    made = shipped(name)
    whole = dse.load_result(request.getfixturevalue("crypto_run")) if name == "crypto" else None
    result, space = whole or made.run(workers=1), made.evaluator.space
    assert space.size is not None
    some = np.unique(np.linspace(0, space.size - 1, 400).astype(int))
    infeasible = some[~made.evaluator.evaluate(space.from_index(some)).feasible][::7][:5]
    front = result.front.designs.index.to_numpy()
    front = front[np.unique(np.linspace(0, len(front) - 1, 20).astype(int))]
    explanations = explain(made, result, [*front.tolist(), *infeasible.tolist()])
    each_change_gives_what_it_says(name, made, explanations)
    no_change_of_one_variable_is_missed(made, explanations)
    sensitivities_name_who_sets_their_input(made, explanations)


def labels_of(made: dse.Study, number: int) -> dict[str, Any]:
    space = made.evaluator.space
    return {n: v[0] for n, v in space.labels(space.from_index(np.array([number]))).items()}


def each_change_gives_what_it_says(
    name: str, made: dse.Study, explanations: list[Explanation]
) -> None:
    pairs = [(e, change) for e in explanations for change in (*e.advice, *e.repairs)]
    entries: dict[str, list[str]] = {}
    designs = []
    for each, change in pairs:
        own = labels_of(made, each.design)
        if change.kind == ENTRY:
            (setting,) = change.settings
            options = entries.setdefault(setting.variable, [])
            options += {setting.after} - set(options)
            designs.append(own | {setting.variable: setting.after})
        else:
            assert change.design is not None
            designs.append(labels_of(made, change.design))
            assert list_settings(made.evaluator, own, designs[-1]) == change.settings
            assert 1 <= len(change.settings) <= (1 if each.feasible else 2)
    if not pairs:
        assert len(explanations) == 1  # the best design in every objective
        return
    table = shipped(name, entries).evaluate(pd.DataFrame(designs))
    assert table["feasible"].all()
    assert not table["outside"].any()
    for (each, change), (_, row) in zip(pairs, table.iterrows(), strict=True):
        for effect in change.effects:
            assert effect.after == pytest.approx(row[effect.objective], rel=1e-12)
            before = each.values[effect.objective]
            assert effect.before == pytest.approx(before, rel=1e-12, nan_ok=True)
        assert change.gain >= 1.01 or not each.feasible


def no_change_of_one_variable_is_missed(made: dse.Study, explanations: list[Explanation]) -> None:
    evaluator, space = made.evaluator, made.evaluator.space
    objectives, benefits = evaluator.objectives, list_benefits(evaluator)
    counts = np.array([v.count for v in space.variables.values()])
    own = space.digits(np.array([each.design for each in explanations]))
    moved = np.repeat(list(space.variables), counts)
    digits = {n: np.repeat(own[n], len(moved)).reshape(-1, len(moved)) for n in space.variables}
    for n, count in zip(space.variables, counts, strict=True):
        digits[n][:, moved == n] = np.arange(count)
    values = evaluator.evaluate(space.from_digits({n: d.ravel() for n, d in digits.items()}))
    after = values.objectives.reshape(len(explanations), len(moved), -1)
    sound = values.feasible.reshape(len(explanations), -1)
    assert values.feasible.any()
    for row, each in enumerate(explanations):
        if not each.feasible:
            repaired = set(moved[sound[row]])
            singles = {c.settings[0].variable for c in each.repairs if len(c.settings) == 1}
            assert singles == repaired
            assert bool(each.repairs) != bool(each.no_change)
            continue
        before = np.array([each.values[o.name] for o in objectives], dtype=float)
        good = sound[row].copy()
        if benefits:
            good &= np.any([after[row][:, i] > worth for i, worth in benefits], axis=0)
        for i, worth in benefits:
            good &= (after[row][:, i] > worth) | (before[i] <= worth)
        wanted: dict[tuple[str, str], float] = {}
        for i, o in enumerate(objectives):
            gains = np.where(good, gain_factor(o, before[i], after[row][:, i]), 0.0)
            best = {n: gains[moved == n].max() for n in space.variables}
            wanted |= {(n, o.name): gain for n, gain in best.items() if gain >= 1.01}
        advised: dict[tuple[str, str], float] = {}
        for change in (c for c in each.advice if c.kind == SPACE):
            for effect in (e for e in change.effects if e.gain >= 1.01):
                key = change.settings[0].variable, effect.objective
                advised[key] = max(advised.get(key, 0.0), effect.gain)
        assert advised == {key: pytest.approx(gain, rel=1e-12) for key, gain in wanted.items()}
        without = {o.name for o in objectives} - {o for _, o in wanted}
        listed = each.no_change.partition("better in ")[2].rpartition(" (")[0]
        assert set(filter(None, listed.split(" or "))) == set(map(word_name, without))
        assert not each.no_change or each.no_change.endswith("(all values evaluated)")


def sensitivities_name_who_sets_their_input(
    made: dse.Study, explanations: list[Explanation]
) -> None:
    owners = made.evaluator.space.quantities()
    for each in explanations:
        for item in each.sensitivities:
            if item.set_by == VARIABLE:
                assert each.values[item.input] == item.value
            elif item.set_by == STUDY:
                assert item.input not in owners
            else:
                owner = item.set_by.removeprefix("selected ")
                variable = made.evaluator.space.variables[owner]
                assert isinstance(variable, Choice)
                assert variable.rows[each.values[owner]][item.input] == item.value


def test_a_text_says_how_many_values_were_evaluated() -> None:
    space = Space({"lanes": Integer(1, 1000), "wait": Real(0.0, 500.0)})
    points = {"lanes": np.array([7.0]), "wait": np.array([3.0])}
    text = "evaluated of lanes: 300 of 1,000 values, wait: 64 values"
    assert describe_sampling(space, 300) == text
    near = find_neighbours(space, points, 300)
    lanes = near.points["lanes"][near.moved == 0]
    assert {6.0, 8.0} <= set(lanes)
    assert len({7.0, *lanes}) >= 300
    assert len(set(near.points["wait"])) >= 64
    grid = Space({"lanes": Integer(1, 1000)})
    assert describe_sampling(grid, 1000) == "all values evaluated"
    assert len(find_neighbours(grid, {"lanes": np.array([7.0])}, 1000).of) == 999


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
    text = "no other value of one variable (all values evaluated), and none of 41 pairs of values"
    assert ("repair", text) in explained.fields
