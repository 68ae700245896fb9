"""Verdicts flip exactly where they say; LogCA agrees; the best cut against all cuts."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.problems import InputError
from objectives.communication import (
    Dataflow,
    Dataflows,
    Setting,
    acceleration,
    accelerator_area,
    best_cut,
    from_profile,
    load_dataflow,
    verdict,
    verdict_table,
    verdicts,
)
from objectives.communication.dataflow import CallTree, Chain
from objectives.communication.split import split_work, whole_work
from objectives.communication.verdict import Change, best_antichain
from objectives.logca import speedup
from tests.communication_examples import Machine, antichains, profile_of

JPEG = Path(__file__).parents[3] / "studies" / "profiles" / "jpeg.json"
PROGRAM = from_profile(profile_of(Machine(11, functions=12).trace), "random")
TEN = PROGRAM.candidates[:10]
CHAINED = replace(
    PROGRAM,
    chains=tuple(
        Chain(f, 1.0, 0.4 * float(PROGRAM.computation[f]), 1.0)
        for f in range(1, PROGRAM.functions, 2)
    ),
)
"""The same program, with two fifths of every other function one after the other."""
SETTINGS = {
    "dear calls": Setting(overhead=3e4, latency=1500.0),
    "slow medium": Setting(latency_per_byte=60.0),
    "slow store": Setting(communication_factor=0.1, latency_per_byte=2.0),
    "slow computing": Setting(computation_factor=0.6, overhead=1.0),
    "all of it": Setting(0.5, 0.5, medium_factor=0.5, overhead=30.0, latency_per_byte=1.5),
    "much asked": Setting(least_speedup=1.05, overhead=3.0),
}


MIXED = Setting(overhead=40.0, latency=20.0)  # some functions are worth it


def program_speedup(
    program: Dataflow, functions: Iterable[str], setting: Setting, merged: float = 1.0
) -> float:
    """Return the speedup by the study's model, which knows nothing of verdicts."""
    programs, given_ = (
        Dataflows((program,)),
        vars(setting)
        | {"overhead": setting.overhead / merged, "latency": setting.latency / merged},
    )
    del given_["least_speedup"]
    return float(acceleration(programs, programs.selection(functions), **given_).speedup)


def changed(setting: Setting, change: Change, k: float) -> tuple[Setting, float]:
    """Return the setting with a change by the factor k, and how many calls are one."""
    factors = {
        "computation": {"computation_factor": k},
        "store": {"communication_factor": k},
        "medium": {"medium_factor": k},
        "interface": {"overhead": 1 / k, "latency": 1 / k},
        "calls": {},
    }
    by = {
        n: x
        for knob, each in factors.items()
        if change.knob in (knob, "everything")
        for n, x in each.items()
    }
    new = replace(setting, **{name: getattr(setting, name) * x for name, x in by.items()})
    return new, k if change.knob == "calls" else 1.0


@pytest.mark.parametrize("program", [PROGRAM, CHAINED], ids=["", "chained"])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_verdict_flips_exactly_at_each_change_on_ten_functions(
    name: str, program: Dataflow
) -> None:
    setting, flipped = SETTINGS[name], 0
    assert len(TEN) == 10
    for function in TEN:
        judged = verdict(program, function, setting)
        now = program_speedup(program, [function], setting)
        assert judged.speedup == pytest.approx(now, rel=1e-12)
        assert judged.worth == (now > setting.least_speedup)
        assert bool(judged.reason) != judged.worth
        assert judged.own_speedup <= judged.own_limit * (1 + 1e-9)
        for change in judged.changes:
            assert change.factor >= 1
            for beside, worth in ((1 - 1e-9, False), (1 + 1e-9, True)):
                k = change.factor * beside
                new, merged = changed(setting, change, k)
                there = program_speedup(program, [function], new, merged)
                assert (there > setting.least_speedup) == worth, (function, change)
                if change.knob != "calls":
                    assert verdict(program, function, new).worth == worth
        flipped += bool(judged.changes)
    if program is PROGRAM:
        assert flipped >= {"slow medium": 9, "slow store": 4, "much asked": 2}.get(name, 10)


def test_a_change_that_is_not_named_does_not_suffice() -> None:
    huge, tried = 1e12, 0
    for setting in SETTINGS.values():
        for each in verdicts(PROGRAM, setting, TEN):
            if each.worth:
                continue
            named = {change.knob for change in each.changes}
            for knob in {"computation", "store", "medium", "interface"} - named:
                new, _ = changed(setting, Change(knob, huge), huge)  # type: ignore[arg-type]
                there = program_speedup(PROGRAM, [each.function], new)
                assert there <= setting.least_speedup * (1 + 1e-9)
                tried += 1
    assert tried > 50
    changes = [c for s in SETTINGS.values() for v in verdicts(PROGRAM, s, TEN) for c in v.changes]
    knobs = {"computation", "store", "medium", "interface", "calls", "everything"}
    assert {change.knob for change in changes} == knobs


@pytest.mark.parametrize("name", ["dear calls", "slow medium", "all of it"])
def test_logca_says_the_same(name: str) -> None:
    setting, seen = replace(SETTINGS[name], least_speedup=1.0), 0
    for each in verdicts(PROGRAM, setting):
        if not each.granularity > 0:
            continue
        at = speedup(
            granularity=each.granularity,
            overhead=setting.overhead,
            latency=setting.latency,
            latency_per_byte=setting.latency_per_byte / setting.medium_factor,
            computational_index=each.computational_index,
            acceleration=each.acceleration,
        )
        assert each.own_speedup == pytest.approx(float(at.speedup), rel=1e-12)
        assert each.worth == (each.granularity > each.break_even)
        merge = [change.factor for change in each.changes if change.knob == "calls"]
        if merge:
            assert merge[0] * each.granularity == pytest.approx(each.break_even, rel=1e-9)
        seen += 1
    assert seen >= 8


def test_bounds_and_ceilings() -> None:
    setting = Setting(overhead=2.0)
    for each in verdicts(PROGRAM, setting):
        fast = replace(setting, computation_factor=np.inf, communication_factor=np.inf)
        assert each.ceiling == pytest.approx(program_speedup(PROGRAM, [each.function], fast))
        free = replace(fast, medium_factor=np.inf, overhead=0.0)
        assert each.amdahl_limit == pytest.approx(program_speedup(PROGRAM, [each.function], free))
        assert each.speedup <= each.ceiling <= each.amdahl_limit
    slow = Setting(computation_factor=0.001)
    assert {each.bound for each in verdicts(PROGRAM, slow)} == {"computation"}
    assert {each.limited_by for each in verdicts(PROGRAM, slow)} == {"computation"}
    dear = Setting(latency_per_byte=1e6)
    moving = [each for each in verdicts(PROGRAM, dear) if each.granularity > 0]
    assert moving and {(e.bound, e.limited_by) for e in moving} == {("communication", "medium")}


def test_table_and_names() -> None:
    table = verdict_table(PROGRAM, MIXED, TEN)
    assert list(table.index) == list(TEN)
    assert table["worth"].nunique() == 2
    assert (table["change"] == "").tolist() == [
        each.change is None for each in verdicts(PROGRAM, MIXED, TEN)
    ]
    with pytest.raises(InputError, match="there is no function 'f99'"):
        verdict(PROGRAM, "f99")


def test_a_bad_setting_is_reported_with_all_its_problems() -> None:
    with pytest.raises(InputError) as error:
        Setting(computation_factor=0.0, overhead=-1.0, least_speedup=0.5)
    where = [p.where for p in error.value.problems]
    assert where == ["computation_factor", "overhead", "least_speedup"]
    assert "call: [0, inf) cycle\n" in str(error.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_best_antichain_is_the_best_of_all(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 10))
    parent = np.array([data.draw(st.integers(-1, v - 1)) for v in range(size)])
    values = np.array([float(data.draw(st.integers(-9, 9))) for _ in range(size)])
    ones = np.ones(size)
    tree = CallTree(parent, np.arange(size), ones, ones, ones)
    found = best_antichain(tree, values)
    best = max(sum(values[v] for v in nodes) for nodes in antichains(tree, list(range(size))))
    assert sum(values[v] for v in found) == best
    assert all(values[v] > 0 for v in found)
    for v in found:
        assert not set(tree.way(v)[1:]) & set(found)


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_against_every_cut(seed: int) -> None:
    program = from_profile(profile_of(Machine(seed, functions=7).trace))
    setting = Setting(6.0, 6.0, overhead=25.0, least_speedup=1.0)
    total = setting.time(whole_work(program))
    nodes = list(range(1, len(program.tree.parent)))
    alone = {v: total - setting.time(split_work(program, (v,))) for v in nodes}
    all_ = list(antichains(program.tree, nodes))
    cut = best_cut(program, setting)
    assert cut.saved == pytest.approx(max(sum(alone[v] for v in chosen) for chosen in all_))
    by_model = max(total / setting.time(split_work(program, chosen)) for chosen in all_)
    assert cut.speedup == pytest.approx(program_speedup(program, cut.functions, setting))
    assert total / (total - cut.saved) <= cut.speedup * (1 + 1e-12) <= by_model * (1 + 1e-9)
    assert [path.split(" > ")[-1] for path in cut.paths] == list(cut.functions)


def test_no_parallel_hardware_shortens_what_waits() -> None:
    programs, chained = Dataflows((CHAINED,)), [(n, CHAINED.position(n)) for n in TEN]
    chained = [(name, f) for name, f in chained if CHAINED.waiting[f] > 0]
    assert len(chained) >= 3
    for name, f in chained:
        waiting, work = float(CHAINED.waiting[f]), float(CHAINED.computation_inclusive[f])
        chosen = programs.selection([name])
        found = acceleration(programs, chosen, np.array([1.0, 4.0, np.inf])).computation_time
        assert found == pytest.approx([work, max(work / 4, waiting), waiting], rel=1e-12)
        area = accelerator_area(programs, chosen, 1e9, instruction_area=1.0)
        assert float(area.area_engine) >= CHAINED.code[f] * work / waiting * (1 - 1e-12)
        assert float(area.area_engine) < 1e6  # no more operators than the chain lets work


def test_what_waits_bounds_how_fast_a_function_computes() -> None:
    """However large the factor: the bound is the work over what waits of it."""
    bounded = load_dataflow(JPEG)
    table = verdict_table(bounded, Setting(computation_factor=1e9, instruction_time=2.0))
    judged = table[(table["factor_limit"] < 1e6) & (table["waiting"] > 0)]
    assert len(judged) >= 5
    at = [bounded.position(str(name)) for name in judged.index]
    work, waiting = bounded.computation_inclusive[at], bounded.waiting[at]
    assert judged["factor_limit"].to_numpy() == pytest.approx(work / np.minimum(waiting, work))
    assert (table["factor_limit"][table["waiting"] == 0] == np.inf).all()


def test_a_function_with_too_little_of_the_time_is_no_candidate() -> None:
    judged = verdicts(PROGRAM, Setting(least_speedup=1.5))
    small = [each for each in judged if each.amdahl_limit <= 1.5]
    assert small and not any(each.worth or each.changes for each in small)
    assert all("too little" in each.reason for each in small)


def test_a_source_without_chains_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text(JPEG.read_text().replace('"optimisation": 1', '"optimisation": 0'))
    assert any("wait for one another is not known" in text for text in load_dataflow(path).missing)
    assert not any("wait for one another" in text for text in load_dataflow(JPEG).missing)
