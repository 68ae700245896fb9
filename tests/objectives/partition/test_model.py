"""The estimate against a literal one, the graph against a program read by hand, and the models."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.model import Model
from dse.problems import InputError
from dse.profile import Profile
from dse.profile.document import LibraryWork
from dse.study.catalog import load_catalog
from dse.testing import check_model
from objectives.partition import greedy, optimal
from objectives.partition.estimate import (
    cpu_time,
    estimate,
    memory_latencies,
    theoretical_time,
)
from objectives.partition.graph import make_graph
from objectives.partition.problem import make_problem
from objectives.partition.quantities import Workloads
from tests.oracles.partition_times import literal_times, organisations
from tests.partition_examples import ORGANISATIONS, organisation, random_program, some_architecture

ROOT = Path(__file__).parents[3]
PROFILES = ROOT / "studies" / "profiles"
COSTS = {
    **{("cpu", "divide"): 22.0, ("cpu", "float_divide"): 14.0, ("cpu", "logical"): 0.5},
    **{("accelerator", "multiply"): 3.0, ("accelerator", "float"): 5.0},
    ("accelerator", "logical"): 0.0,
}
NAMES = sorted(path.stem for path in PROFILES.glob("*.json"))


@pytest.fixture(scope="module")
def workloads() -> Workloads:
    return Workloads.load(PROFILES)


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_the_paper_s_sum_by_sum(name: str, workloads: Workloads) -> None:
    document = json.loads((PROFILES / f"{name}.json").read_text())
    program = workloads.graphs[workloads.names.index(name)][0]
    rng = np.random.default_rng(0)
    for row in ORGANISATIONS:
        for penalty in (0.0, 1.0):
            moved = program.movable & (rng.random(len(program)) < rng.uniform(0.1, 0.9))
            a = organisation(row, penalty)._replace(
                accelerator_instruction_time=0.4,
                interface_latency_factor=3.0,
                register_pull_latency=5.0,
                **{f"{core}_{kind}_cost": cost for (core, kind), cost in COSTS.items()},
            )
            memory = organisations(3.0, 15.0, 200.0, penalty)[row]
            rates = {"cpu": 1.0, "acc": 0.4, "factor": 3.0, "control": 2, "push": 1, "pull": 5}
            rates |= {f"{core}_{kind}": cost for (core, kind), cost in COSTS.items()}
            want = literal_times(document, set(program.block[moved].tolist()), memory, rates)
            parts = [want[part] for part in ("t_e", "t_m", "t_c", "t_r")]
            got = estimate(program, moved, a)
            assert list(got) == pytest.approx([sum(want.values()), *parts, 0.0], rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_baselines_are_the_paper_s(name: str, workloads: Workloads) -> None:
    document = json.loads((PROFILES / f"{name}.json").read_text())
    program = workloads.graphs[workloads.names.index(name)][0]
    plain = organisations(3.0, 15.0, 200.0, 0.0)["SL1"]
    rates = {"cpu": 1.0, "acc": 0.5, "factor": 0.0, "control": 0, "push": 0, "pull": 0}
    alone = literal_times(document, set(), plain, rates)
    every = {block["id"] for block in document["blocks"]}
    all_moved = literal_times(document, every, plain, rates)
    for row in ORGANISATIONS:  # neither depends on where the accelerator would be
        a = organisation(row, 1.0)
        assert cpu_time(program, a) == pytest.approx(sum(alone.values()), rel=1e-12)
        assert theoretical_time(program, a) == pytest.approx(sum(all_moved.values()), rel=1e-12)


def test_moving_blocks_changes_the_time_as_the_problem_says() -> None:
    rng = np.random.default_rng(3)
    for seed in range(30):
        program, a = random_program(50, seed), some_architecture(rng)
        problem = make_problem(program, a, capped=False)
        # separating blocks never pays: what makes the time submodular, and the best a minimum cut
        assert (problem.any_cost >= 0).all() and (problem.all_gain >= 0).all()
        none = estimate(program, np.zeros(50, bool), a).accelerated_time
        chosen = rng.random(len(problem)) < 0.5
        time = estimate(program, problem.moved(chosen), a).accelerated_time
        assert time - none == pytest.approx(problem.value(chosen), abs=1e-10 * none)


def test_libraries_stay_on_the_cpu_and_take_time() -> None:
    """Of 1,400 instructions, 400 compute in a library; copies of memory do not count here."""
    profile = Profile.load(PROFILES / "md5.json")
    first, *others = profile.functions
    assert not first.foreign
    works = (
        LibraryWork(library="libz.so.1", instructions=400),
        LibraryWork(library="libc.so.6", instructions=999, copies=True),
    )
    counted = first.model_copy(update={"instructions": 1_000, "libraries": works})
    whole = profile.model_copy(update={"functions": (counted, *others)})
    plain, program = make_graph(profile, "md5"), make_graph(whole, "md5")
    assert program.library == 0.4 and plain.library == 0.0
    a = organisation("SL1", 1.0)
    moved, alone = program.movable, cpu_time(plain, a)
    before, after = estimate(plain, moved, a), estimate(program, moved, a)
    assert after.library_time == pytest.approx(0.4 * alone, rel=1e-12)
    assert after.accelerated_time == pytest.approx(before.accelerated_time + 0.4 * alone, rel=1e-12)
    assert cpu_time(program, a) == pytest.approx(1.4 * alone, rel=1e-12)
    least = theoretical_time(plain, a) + 0.4 * alone
    assert theoretical_time(program, a) == pytest.approx(least, rel=1e-12)
    graphs = (plain,), (program,)
    without, found = (optimal(Workloads((each,)), 0) for each in graphs)
    own = without.cpu_time
    assert found.accelerated_time == pytest.approx(without.accelerated_time + 0.4 * own, rel=1e-9)
    assert found.speedup == pytest.approx(1.4 * own / found.accelerated_time, rel=1e-9)
    greedy_time = without.accelerated_time * (1 + without.greedy_gap) + 0.4 * own
    assert found.greedy_speedup == pytest.approx(1.4 * own / greedy_time, rel=1e-9)


def test_two_programs_read_by_hand() -> None:
    """Main calls twice(x) 8 times from a loop and prints; twice returns from two blocks."""
    blocks = [  # id, function, executions, exits, instructions
        (0, "main", 1, 0, {"arithmetic": 2, "branch": 1, "alloca": 1}),
        (1, "main", 8, 0, {"phi": 1, "call": 1, "cast": 2, "branch": 1, "load": 1}),
        (2, "main", 1, 1, {"call": 1, "branch": 1}),
        (3, "twice", 8, 6, {"compare": 1, "branch": 1}),
        (4, "twice", 2, 2, {"arithmetic": 1, "branch": 1, "store": 1}),
        (5, "twice", 0, 0, {"arithmetic": 9}),
        (6, "printf", 1, 1, {}),
    ]
    document = _document(blocks)
    program = make_graph(Profile.model_validate(document), "hand")
    assert program.block.tolist() == [0, 1, 2, 3, 4, 6]  # 5 never ran
    assert program.operations[:, :-1].sum(axis=1).tolist() == [3, 16, 2, 16, 4, 0]
    assert program.operations[:, -1].tolist() == [0, 16, 0, 0, 0, 0]
    assert program.hits.tolist() == [[0] * 3, [5, 2, 1], [0] * 3, [0] * 3, [2, 0, 0], [1, 1, 0]]
    assert program.movable.tolist() == [True, True, False, True, True, False]
    controls = {(a, b): n for a, b, n in zip(*(c.tolist() for c in program.controls), strict=True)}
    # edges 0→1, 1→2 and 3→4; calls 1→3; of 8 returns three quarters from 3, the others from 4
    assert controls == {(0, 1): 1, (1, 2): 1, (3, 4): 2, (1, 3): 8, (3, 1): 6, (4, 1): 2}
    registers = sorted(zip(*(c.tolist() for c in program.registers), strict=True))
    assert registers == [
        (0, 1, 1, 1, 8),  # n, used in the loop: pushed once or pulled 8 times
        (1, 3, 1, 8, 8),  # the argument, each call
        (3, 1, 1, 6, 6),  # the result
        (3, 4, 2, 8, 2),  # the argument and another value, used where 4 runs
        (4, 1, 1, 2, 2),
    ]
    crossings = program.crossings
    assert crossings.source.tolist() == [1, 4, -1] and crossings.level.tolist() == [1, 1, 2]
    assert crossings.dirty.tolist() == [1, 0, 2] and crossings.clean.tolist() == [4, 1, 0]
    assert crossings.row.tolist() == [0, 0, 1, 2]
    assert crossings.reader.tolist() == [3, 4, 1, 0]  # 5 wrote, and is the CPU's


def _document(blocks: list[tuple[Any, ...]]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((PROFILES / "sor.json").read_text())
    function = {"computation": 0, "computation_inclusive": 0, "local_bytes": 0}
    caches = document["settings"]["caches"]
    return document | {
        "settings": document["settings"] | {"caches": [caches[0], caches[0]]},
        "functions": [
            function
            | {"name": n, "symbol": n, "foreign": n == "printf", "entry": e}
            | {"invocations": i}
            for n, e, i in (("main", 0, 1), ("twice", 3, 8), ("printf", 6, 1))
        ],
        "blocks": [
            {"id": i, "function": f, "name": f"b{i}", "line": i, "executions": n, "exits": x}
            | {"area": sum(kinds.values()), "instructions": kinds}
            for i, f, n, x, kinds in blocks
        ],
        "edges": [
            {"from": source, "to": to, "count": count}
            for source, to, count in ((0, 1, 1), (1, 1, 7), (1, 2, 1), (3, 4, 2))
        ],
        "calls": [
            {"from": 1, "to": "twice", "count": 8, "arguments": 1, "result": True},
            {"from": 2, "to": "printf", "count": 1, "arguments": 2, "result": True},
        ],
        "registers": [
            {"name": "n", "from": 0, "to": [1]},
            {"name": "x", "from": 3, "to": [4, 5], "argument": True},
            {"name": "y", "from": 3, "to": [4]},
        ],
        "accesses": [
            {"block": 1, "kind": "load", "size": 4, "line": 1, "hits": [[5, 2, 1], [8, 0, 0]]},
            {"block": 4, "kind": "store", "size": 4, "line": 1, "hits": [[2, 0, 0], [0, 0, 2]]},
            {"block": 6, "kind": "load", "size": 0, "line": 0, "hits": [[1, 1, 0], [2, 0, 0]]},
        ],
        "crossings": [
            {"cache": 0, "level": 1, "from": 1, "to": [3, 4], "dirty": 1, "clean": 4},
            {"cache": 0, "level": 1, "from": 4, "to": [1], "dirty": 0, "clean": 1},
            {"cache": 0, "level": 2, "from": 5, "to": [0], "dirty": 2, "clean": 0},
            {"cache": 1, "level": 1, "from": 4, "to": [1], "dirty": 50, "clean": 50},
        ],
        **{key: [] for key in ("call_tree", "transfers", "transfers_into", "transfers_out")},
    }


@pytest.mark.parametrize("model", [greedy, optimal])
def test_the_models_hold_to_the_contract(model: Any, workloads: Workloads) -> None:
    some = Workloads(workloads.graphs[1:2])
    check_model(model, fixed={"profiles": some}, samples=8, pairs=20)


def test_designs_outside_the_domain_are_nan_and_the_others_as_ever(workloads: Workloads) -> None:
    sizes = np.array([64.0, -1.0, 64.0, 64.0, 64.0, np.inf, 64.0])
    programs = np.array([0.0, 0.0, 6.0, 0.5, 5.0, 0.0, 0.0])
    level2 = np.array([15.0, 15.0, 15.0, 15.0, 15.0, 15.0, 2.0])  # below that of L1
    found = optimal(workloads, programs, accelerator_size=sizes, level2_latency=level2)
    for column in vars(found).values():
        assert np.isnan(column).tolist() == [False, True, True, True, False, False, True]
    assert found.speedup[5] > found.speedup[0] > 1
    assert found.size_used[5] == found.size_used[5].round() > 64
    assert np.isnan(optimal(workloads, 0, cache_configuration=1).speedup)
    assert np.isnan(optimal(workloads, 0, interface_latency_factor=1e300).speedup)


def test_a_graph_in_another_process_is_the_same(workloads: Workloads) -> None:
    one, two = workloads.graphs[0][0], Workloads.load(PROFILES).graphs[0][0]
    assert one == two and hash(one) == hash(two) and one is not two
    assert one != workloads.graphs[1][0]
    assert one != dataclasses.replace(one, hits=one.hits + 1)


def test_outputs_agree_with_each_other(workloads: Workloads) -> None:
    rng = np.random.default_rng(7)
    program = rng.integers(0, 6, 60).astype(float)
    level, cache = np.array(list(ORGANISATIONS.values()))[rng.integers(0, 5, 60)].T
    given: dict[str, Any] = {
        "shared_level": level,
        "accelerator_cache": cache,
        "shared_penalty": rng.integers(0, 2, 60).astype(float),
        "accelerator_size": 2.0 ** rng.integers(3, 9, 60),
    }
    best, quick = optimal(workloads, program, **given), greedy(workloads, program, **given)
    assert (best.size_used <= given["accelerator_size"]).all()
    assert (quick.size_used <= given["accelerator_size"]).all()
    assert best.speedup == pytest.approx(best.cpu_time / best.accelerated_time)
    assert best.greedy_speedup == pytest.approx(quick.speedup, rel=1e-12)
    assert (best.greedy_gap >= 0).all() and (best.greedy_gap > 1e-3).any()
    assert best.speedup / quick.speedup == pytest.approx(1 + best.greedy_gap, rel=1e-12)
    assert (best.optimality_gap == 0).all()
    gain, most = best.speedup - 1, best.theoretical_speedup - 1
    assert best.relative_speedup == pytest.approx(gain / most)
    assert (best.relative_speedup <= 1 + 1e-12).all()


def test_organisations_differ_as_the_paper_says() -> None:
    """SL1 crosses for free; without a cache the accelerator pays the shared level at least."""
    found = {row: memory_latencies(organisation(row, 1.0)) for row in ORGANISATIONS}
    assert {row: [float(x) for x in memory.accelerator] for row, memory in found.items()} == {
        "SL1": [4, 15, 200],
        "SL2+": [3, 16, 200],
        "SL2-": [16, 16, 200],
        "SMM+": [3, 15, 200],
        "SMM-": [200, 200, 200],
    }
    added = {row: (memory.level1, memory.level2) for row, memory in found.items()}
    assert {row: [[float(x) for x in level] for level in both] for row, both in added.items()} == {
        # dirty and clean to the accelerator, dirty and clean to the CPU; in L1, in L2
        "SL1": [[0, 0, 0, 0], [0, 0, 0, 0]],
        "SL2+": [[16 + 13, 13, 16 + 13, 13], [0, 0, 0, 0]],
        "SL2-": [[16, 0, 13, 13], [0, 0, 0, 0]],
        "SMM+": [[12, 12, 12, 12], [200 + 185, 185, 200 + 185, 185]],
        "SMM-": [[0, 0, 12, 12], [200, 0, 185, 185]],
    }


def test_catalogs_set_what_the_model_takes() -> None:
    inputs = Model.from_function(optimal).inputs
    for name in ("memory_hierarchies", "memory_organisations"):
        for row in load_catalog(ROOT / "spaces" / f"{name}.toml").rows.values():
            assert set(row.values) - {"level1_size", "level2_size"} <= set(inputs)
    defaults = Model.from_function(optimal).defaults
    table1 = load_catalog(ROOT / "spaces" / "memory_hierarchies.toml").rows
    for quantity, figure in table1["private-level1-shared-level2"].values.items():
        if quantity in defaults:
            assert float(str(figure.text).split()[0]) == defaults[quantity]


def test_a_profile_without_caches_is_refused(tmp_path: Path) -> None:
    document = json.loads((PROFILES / "sor.json").read_text())
    document["settings"]["caches"] = []
    document["crossings"] = []
    for access in document["accesses"]:
        access["hits"] = []
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"a\.json: the profile has no caches"):
        Workloads.load(tmp_path)
    profile = Profile.load(PROFILES / "sor.json")
    with pytest.raises(ValueError, match="no cache configuration 1; the profile has 1"):
        make_graph(profile, "sor", 1)
