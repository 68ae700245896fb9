"""Partitions: the optimum is the optimum, of every subset, with and without a limit of area."""

from __future__ import annotations

import dataclasses
import itertools
import math

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from objectives.partition import branch
from objectives.partition.cut import IntegerProblem, minimum_cut, reduce_problem
from objectives.partition.estimate import estimate, memory_latencies
from objectives.partition.graph import COSTED, Controls, Crossings, Graph, Registers
from objectives.partition.milp import solve_program
from objectives.partition.model import optimal
from objectives.partition.problem import PartitionProblem, make_problem
from objectives.partition.quantities import Architecture, Workloads
from objectives.partition.solve import best_partition, decide_moves, greedy_partition
from tests.partition_examples import organisation, random_program, some_architecture


def every_mapping(graph: Graph) -> NDArray[np.bool_]:
    """All 2^n subsets of the blocks that can move, a row each."""
    places = np.flatnonzero(graph.movable)
    found = np.zeros((2 ** len(places), len(graph)), bool)
    found[:, places] = (np.arange(2 ** len(places))[:, None] >> np.arange(len(places))) & 1
    return found


def times(graph: Graph, moved: NDArray[np.bool_], a: Architecture) -> NDArray[np.float64]:
    """Return the time of each mapping, by the sums of the paper."""
    x = moved.astype(float)
    memory = memory_latencies(a)
    on_cpu, on_acc = graph.hits @ memory.cpu, graph.hits @ memory.accelerator
    for kind, count in zip(("", *COSTED), graph.operations.T, strict=True):
        cpu, acc = (getattr(a, f"{core}_{kind}_cost", 1.0) for core in ("cpu", "accelerator"))
        on_cpu = on_cpu + count * cpu * a.cpu_instruction_time
        on_acc = on_acc + count * acc * a.accelerator_instruction_time
    found = (1 - x) @ on_cpu + x @ on_acc
    scale = a.interface_latency_factor
    for one, two, count in zip(*graph.controls, strict=True):
        found += (moved[:, one] != moved[:, two]) * count * a.control_latency * scale
    for one, two, values, defined, used in zip(*graph.registers, strict=True):
        each = min(
            defined * a.register_push_latency * scale, used * a.register_pull_latency * scale
        )
        found += (moved[:, one] != moved[:, two]) * values * each
    c = graph.crossings
    for i, (level, owner, dirty, clean) in enumerate(
        zip(c.level, c.source, c.dirty, c.clean, strict=True)
    ):
        cost = memory.level1 if level == 1 else memory.level2
        readers = moved[:, c.reader[c.row == i]]
        inward = ~moved[:, owner] & readers.any(axis=1)
        outward = moved[:, owner] & ~readers.all(axis=1)
        found += inward * (dirty * cost.dirty_to_accelerator + clean * cost.clean_to_accelerator)
        found += outward * (dirty * cost.dirty_to_cpu + clean * cost.clean_to_cpu)
    return found


@pytest.mark.parametrize("batch", range(2))
def test_the_optimum_is_that_of_all_subsets(batch: int) -> None:
    rng = np.random.default_rng(batch)
    gains = 0
    for seed in range(20):  # 40 programs in all
        graph = random_program(int(rng.integers(5, 14)), 100 * batch + seed)
        a = some_architecture(rng)
        problem = make_problem(graph, a)
        mappings = every_mapping(graph)
        every = times(graph, mappings, a)
        area = mappings @ graph.area
        rounding = 1e-10 * make_problem(graph, a, capped=False).magnitude
        most = best_partition(problem, np.inf)
        assert every[0] + most.change == pytest.approx(every.min(), abs=rounding)
        for size in rng.integers(0, graph.area.sum(), 2).tolist():
            best, quick = best_partition(problem, size), greedy_partition(problem, size)
            least = every[area <= size].min()
            assert every[0] + best.change == pytest.approx(least, abs=rounding)
            assert best.bound == best.change  # proven
            for found in (best, quick):
                assert graph.area[found.moved].sum() <= size
                assert not found.moved[~graph.movable].any()
                time = estimate(graph, found.moved, a).accelerated_time
                assert every[0] + found.change == pytest.approx(time, abs=rounding)
            assert best.change <= quick.change + rounding
            gains += best.change < quick.change - rounding
    assert gains > 0  # else these programs would tell nothing


def test_the_optimum_holds_beside_costs_of_any_size() -> None:
    """Beside ties of 10²¹ cycles small savings were rounded away, and the rest was "proven"."""
    rng = np.random.default_rng(2_000)
    told = saved = 0
    for seed in range(50):
        graph = random_program(int(rng.integers(4, 9)), seed)
        graph = dataclasses.replace(graph, movable=rng.random(len(graph)) > 0.01)
        wide = [name for name in Architecture._fields if name.endswith("_cost")]
        drawn = {n: 10 ** rng.uniform(-6, 6) for n in wide if rng.random() < 0.5}
        wide = ["register_push_latency", "accelerator_instruction_time", "cpu_instruction_time"]
        drawn |= {n: 10 ** rng.uniform(-6, 11.9) for n in wide if rng.random() < 0.3}
        wide = ["interface_latency_factor", "control_latency"]
        drawn |= {n: 10 ** rng.uniform(6, 11.9) for n in wide if rng.random() < 0.8}
        a = some_architecture(rng)._replace(**drawn).effective
        mappings = every_mapping(graph)
        area = mappings @ graph.area
        every = np.array([estimate(graph, m, a).accelerated_time for m in mappings])
        program = Workloads(((graph,),))
        for size in (float(area.max()), float(rng.integers(0, area.max()))):
            found = optimal(program, 0, accelerator_size=size, **a._asdict())
            least, gap = every[area <= size].min(), float(found.optimality_gap)
            assert found.accelerated_time >= least
            assert least >= found.accelerated_time * (1 - 1e-6 - gap)
            told += gap > 0
            saved += least < every[0]
    assert saved > 10
    assert told < 20  # the resolution is told, and is hardly ever short


def test_what_no_saving_pays_for_is_as_good_as_never_done() -> None:
    rng = np.random.default_rng(7)
    apart = 0
    for seed in range(10):
        graph, a = random_program(9, seed), some_architecture(rng)
        mappings = every_mapping(graph)
        capped, plain = make_problem(graph, a), make_problem(graph, a, capped=False)
        assert capped.magnitude <= plain.magnitude * (1 + 1e-12)
        for moved in mappings:
            value, true = capped.value(capped.chosen(moved)), plain.value(plain.chosen(moved))
            rounding = 1e-9 * plain.magnitude
            assert value == pytest.approx(true, abs=rounding) or 0 <= value < true
            apart += value != pytest.approx(true, abs=rounding)
    assert apart > 0


def literal_greedy(graph: Graph, a: Architecture, size: int) -> NDArray[np.bool_]:
    """Move, one by one, the block that saves most for its area, of those that fit and save."""
    moved = np.zeros(len(graph), bool)
    while True:
        now = times(graph, moved[None, :], a)[0]
        left = size - graph.area[moved].sum()
        found = [b for b in np.flatnonzero(graph.movable & ~moved) if graph.area[b] <= left]
        tried = np.tile(moved, (len(found), 1))
        tried[np.arange(len(found)), found] = True
        gain = now - times(graph, tried, a)
        ratio = gain / graph.area[found]
        if not (gain > 1e-9 * now).any():
            return moved
        moved[found[int(ratio.argmax())]] = True


def test_greedy_is_the_paper_s_block_by_block() -> None:
    rng = np.random.default_rng(11)
    apart = 0
    for seed in range(40):
        graph, a = random_program(30, seed), some_architecture(rng)
        size = int(rng.integers(10, graph.area.sum()))
        literal = literal_greedy(graph, a, size)
        found = greedy_partition(make_problem(graph, a), size).moved
        assert found.tolist() == literal.tolist()
        apart += not np.array_equal(found, best_partition(make_problem(graph, a), size).moved)
    assert apart > 0  # else greedy would be as good, and the programs too simple


@pytest.mark.parametrize("scale", [1.0, 2.0**40])
def test_the_minimum_cut_is_that_of_another_library(scale: float) -> None:
    for seed in range(3):
        problem = make_problem(random_program(150, seed), organisation("SL2+"))
        other = nx.DiGraph()
        other.add_nodes_from(["CPU", "ACC"])
        for node, cost in enumerate(problem.cost.tolist()):
            ends = ("CPU", node) if cost > 0 else (node, "ACC")
            other.add_edge(*ends, capacity=abs(cost) * scale)
        for tie, (cost, gain) in enumerate(zip(problem.any_cost, problem.all_gain, strict=True)):
            other.add_edge("CPU", ("any", tie), capacity=cost * scale)
            other.add_edge(("all", tie), "ACC", capacity=gain * scale)
            for node in problem.node[problem.tie == tie].tolist():
                other.add_edge(("any", tie), node)  # without end
                other.add_edge(node, ("all", tie))
        value, _ = nx.minimum_cut(other, "CPU", "ACC")
        least = float(problem.cost[problem.cost < 0].sum()) - float(problem.all_gain.sum())
        least = least * scale + value
        scaled = {n: getattr(problem, n) * scale for n in ("cost", "any_cost", "all_gain")}
        bigger = dataclasses.replace(problem, **scaled)
        assert bigger.value(minimum_cut(bigger)) == pytest.approx(least, rel=1e-9)


def test_the_smallest_of_equal_cuts_is_taken() -> None:
    nobody, none = np.zeros(0, np.int64), np.zeros(0)
    cost, ones = np.array([0.0, -1.0, 0.0]), np.ones(3, np.int64)
    problem = PartitionProblem(cost, ones, nobody, nobody, none, none, np.arange(3))
    assert minimum_cut(problem).tolist() == [False, True, False]


def test_the_sets_under_a_rising_price_are_nested_and_bound_the_time() -> None:
    problem = make_problem(random_program(40, 3), organisation("SL2+"))
    whole, total = IntegerProblem(problem), float(problem.area.sum())
    rates = [0.0, *np.geomspace(0.01, 100, 25) * problem.magnitude / total]
    prices = [round(math.ldexp(rate, whole.scale)) for rate in rates]
    sets = [whole.cut(1, price) for price in prices]
    assert len({chosen.sum() for chosen in sets}) > 5 and not sets[-1].any()
    assert all(np.all(smaller <= larger) for larger, smaller in itertools.pairwise(sets))
    for size in np.linspace(0, problem.area[sets[0]].sum(), 25).round():
        best = best_partition(problem, size).change
        for rate, chosen in zip(rates, sets, strict=True):
            bound = problem.value(chosen) + rate * (problem.area[chosen].sum() - size)
            assert best >= bound - 1e-9 * problem.magnitude


def test_a_search_that_is_cut_short_says_what_is_not_proven() -> None:
    graph = random_program(400, 4)
    problem = make_problem(graph, organisation("SL2+"))
    best = best_partition(problem, 40)
    short = best_partition(problem, 40, nodes=0)
    assert graph.area[short.moved].sum() <= 40
    assert short.bound <= best.change <= short.change
    assert short.change <= greedy_partition(problem, 40).change


def test_branches_find_what_the_program_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch, "SMALL", 0)  # no branch is solved as a program
    rng = np.random.default_rng(21)
    cut_short = 0
    for seed in range(25):
        graph, a = random_program(int(rng.integers(8, 60)), seed), some_architecture(rng)
        problem = make_problem(graph, a)
        size = float(rng.integers(5, max(6, graph.area.sum() // 2)))
        found, other = branch.BranchSearch(problem, size).solve(), solve_program(problem, size)
        rounding = 2e-9 * problem.magnitude
        value, least = (problem.value(each.chosen) for each in (found, other))
        assert problem.area[found.chosen].sum() <= size
        assert value == pytest.approx(least, abs=rounding)
        assert found.bound == pytest.approx(value, abs=rounding)
        short = branch.BranchSearch(problem, size).solve(nodes=0)
        assert short.bound <= least + rounding
        assert problem.value(short.chosen) >= least - rounding
        cut_short += short.bound < problem.value(short.chosen) - rounding
    assert cut_short > 0  # else the first bound would have proven all of them


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Its constructor prints past Python, into what `dse explain --json` writes."""
    solve_program(make_problem(random_program(20, 1), organisation("SMM+")), 10)
    assert capfd.readouterr() == ("", "")


def test_reduction_leaves_less_and_the_same_optimum() -> None:
    graph = random_program(300, 8)
    problem = make_problem(graph, organisation("SMM+"))
    less = reduce_problem(problem, 64)
    assert len(less) < 0.9 * len(problem)
    one, two = solve_program(problem, 64), solve_program(less, 64)
    assert problem.value(one.chosen) == pytest.approx(less.value(two.chosen), rel=1e-9)


def test_the_blocks_of_a_loop_move_together_or_not_at_all() -> None:
    """Entry, head and body of a loop, exit: head and body pass control every turn."""
    none, runs = np.zeros(0, np.int64), np.array([1.0, 1000.0, 1000.0, 1.0])
    graph = dataclasses.replace(
        random_program(4, 0),
        executions=runs,
        operations=np.outer([5.0, 6.0, 6.0, 5.0] * runs, [1, 0, 0, 0, 0, 0, 0]),
        hits=np.zeros((4, 3)),
        area=np.array([5, 6, 6, 5]),
        movable=np.array([False, True, True, False]),
        controls=Controls(np.array([0, 1, 2, 1]), np.array([1, 2, 1, 3]), runs),
        registers=Registers(none, none, np.zeros(0), np.zeros(0), np.zeros(0)),
        crossings=Crossings(none, none, np.zeros(0), np.zeros(0), none, none),
    )
    decision = decide_moves(graph, organisation("SL2+"), 12)
    # alone: 3,000 cycles saved, 4,000 lost on control; together: 6,000 saved, 4 lost
    assert not decision.greedy.moved.any()
    assert decision.optimum.moved.tolist() == [False, True, True, False]
    (group,) = decision.groups
    assert group.blocks.tolist() == [1, 2] and group.area == 12
    assert group.gain == 6_000 - 4 and group.alone == 3_000 - 4_000
    assert not decide_moves(
        graph, organisation("SL2+"), 11
    ).optimum.moved.any()  # half a loop is none


def test_what_groups_gain_adds_up_to_what_greedy_lacks() -> None:
    for seed in range(6):
        graph = random_program(60, seed)
        a = organisation("SL2+")
        decision = decide_moves(graph, a, 90)
        shared = decision.optimum.moved & decision.greedy.moved
        base = estimate(graph, shared, a).accelerated_time
        best = estimate(graph, decision.optimum.moved, a).accelerated_time
        assert sum(g.gain for g in decision.groups) == pytest.approx(base - best, abs=1e-3)
        blocks = np.concatenate([g.blocks for g in decision.groups])
        extra = np.flatnonzero(decision.optimum.moved & ~decision.greedy.moved)
        assert sorted(blocks.tolist()) == extra.tolist()
