"""The best cut of a call tree within an area, against all cuts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.problems import InputError
from objectives.communication import (
    AreaCosts,
    Dataflows,
    Setting,
    accelerator_area,
    best_cut,
    from_profile,
    load_dataflow,
)
from objectives.communication.split import split, whole
from objectives.communication.tree import CallTree
from objectives.communication.within import best_within
from tests.communication_examples import Machine, antichains, profile_of

JPEG = Path(__file__).parents[3] / "studies" / "profiles" / "jpeg.json"
COSTS = AreaCosts(instruction_area=32, memory_area_per_bit=1 / 64, bank_area=50, interface_area=500)


def random_tree(rng: np.random.Generator, size: int) -> CallTree:
    """Return contexts, some of one function, none of which is above another of it."""
    parent, function = [-1], [0]
    while len(parent) < size:
        above, f = int(rng.integers(0, len(parent))), int(rng.integers(1, size // 2 + 2))
        way, at = [], above
        while at >= 0:
            way.append(function[at])
            at = parent[at]
        if f not in way:
            parent.append(above)
            function.append(f)
    ones = np.ones(size)
    return CallTree(np.array(parent), np.array(function), ones, ones, ones)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_contexts_that_fit_are_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 11)
    values = rng.integers(-3, 20, 11).astype(float)
    of_function = rng.integers(0, 9, int(tree.function.max()) + 1).astype(float)
    area = of_function[tree.function]
    every = [
        (sum(values[v] for v in chosen), of_function[sorted({*tree.function[list(chosen)]})].sum())
        if chosen
        else (0.0, 0.0)
        for chosen in antichains(tree, list(range(11)))
    ]
    for limit in (0.0, 3.0, 8.0, 15.0, 1e6):  # whole numbers: what fits exactly, fits
        found = best_within(tree, values, area, limit)
        best = max(value for value, taken in every if taken <= limit)
        assert values[list(found.contexts)].sum() == best
        assert found.bound == pytest.approx(best)
        used = of_function[sorted({int(tree.function[v]) for v in found.contexts})].sum()
        assert used <= limit
        for v in found.contexts:
            assert not set(tree.way(v)[1:]) & set(found.contexts)


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_within_an_area_against_every_cut(seed: int) -> None:
    program = from_profile(profile_of(Machine(seed, functions=7).trace))
    setting = Setting(6.0, 6.0, overhead=25.0, least_speedup=1.0)
    total, tree = setting.time(whole(program)), program.tree
    nodes = list(range(1, len(tree.parent)))
    alone = {v: total - setting.time(split(program, (v,))) for v in nodes}
    programs = Dataflows((program,))

    def area(functions: list[str]) -> float:
        chosen = programs.selection(functions)
        found = accelerator_area(programs, chosen, 6.0, communication_factor=6.0, **COSTS.__dict__)
        return float(found.area)

    names = [program.names[f] for f in tree.function]
    of = {name: area([name]) for name in set(names) if name in program.candidates}
    most = max(of.values())
    for limit in (0.0, 0.9 * min(of.values()), most, 1.5 * most, 10 * most):
        cut = best_cut(program, setting, limit, COSTS)
        best = max(
            sum(alone[v] for v in chosen)
            for chosen in antichains(tree, [v for v in nodes if names[v] in of])
            if sum(of[name] for name in {names[v] for v in chosen}) <= limit
        )
        assert cut.saved == pytest.approx(best)
        assert cut.gap == 0
        assert cut.area <= limit * (1 + 1e-9)


def test_the_area_of_a_program_is_spent_on_what_saves_most() -> None:
    program = load_dataflow(JPEG)
    setting = Setting(32, 32, medium_factor=4, byte_time=0.25, overhead=435, latency=500)
    free = best_cut(program, setting, area_costs=COSTS)
    assert free == best_cut(program, setting, math.inf, COSTS)
    assert math.isnan(best_cut(program, setting).area)
    limits = free.area * np.array([1.0, 0.7, 0.4, 0.2, 0.0])
    cuts = [best_cut(program, setting, float(limit), COSTS) for limit in limits]
    assert cuts[0].saved == pytest.approx(free.saved)
    assert cuts[-1].contexts == ()
    saved = [cut.saved for cut in cuts]
    assert saved == sorted(saved, reverse=True)
    assert 0 < saved[2] < saved[0]
    assert all(cut.area <= limit for cut, limit in zip(cuts, limits, strict=True))


def test_a_limit_needs_costs_and_a_number() -> None:
    program = load_dataflow(JPEG)
    with pytest.raises(InputError, match="area_costs is missing"):
        best_cut(program, area_limit=100.0)
    for wrong in (-1.0, math.nan):
        with pytest.raises(InputError, match="at least 0 LUT"):
            best_cut(program, area_limit=wrong, area_costs=COSTS)


@pytest.mark.parametrize("limit", [math.inf, 300_000.0])
def test_no_function_of_a_cut_saves_less_than_is_asked_for(limit: float) -> None:
    program = load_dataflow(JPEG)
    machine = Setting(32, 32, medium_factor=4, byte_time=0.25, overhead=435, least_speedup=1.0)
    total = machine.time(whole(program))
    every = best_cut(program, machine, limit, COSTS)
    few = best_cut(program, replace(machine, least_speedup=1.03), limit, COSTS)
    assert 0 < few.saved < every.saved
    for cut, least in ((every, 0.0), (few, 0.03)):
        by_function: dict[int, float] = {}
        for node in cut.contexts:
            function = int(program.tree.function[node])
            gain = total - machine.time(split(program, (node,)))
            by_function[function] = by_function.get(function, 0.0) + gain
        assert all(total / (total - gain) > 1 + least for gain in by_function.values())
    small = [name for name in every.functions if name not in few.functions]
    assert small
