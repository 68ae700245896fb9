"""Functions accelerated: against a literal evaluation, closed forms, and limits."""

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.problems import InputError
from dse.testing import check_model
from objectives.communication import (
    Dataflow,
    Dataflows,
    acceleration,
    accelerator_area,
    ceilings,
    from_profile,
    idle_functions,
    load_dataflow,
    offload_functions,
)
from objectives.communication.acceleration import list_accelerated
from objectives.communication.split import outermost_contexts, split_work, whole_work
from tests.communication_examples import Costs, Machine, literal_time, profile_of

PROFILES = Path(__file__).parents[3] / "studies" / "profiles"
TREES = [Machine(seed, functions=6) for seed in range(4)]


def flow(machine: Machine) -> Dataflows:
    return Dataflows((from_profile(profile_of(machine.trace)),))


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("machine", TREES)
def test_every_selection_is_what_a_literal_evaluation_says(
    machine: Machine, shared: bool, keeps: bool
) -> None:
    programs = flow(machine)
    count = len(programs.candidates)
    assert count >= 4
    hardware: dict[str, Any] = {"computation_factor": 8.0, "communication_factor": 4.0}
    hardware |= {"medium_factor": 2.0, "latency_per_byte": 3.0, "overhead": 5.0, "latency": 2.0}
    hardware |= {"shared_store": float(shared), "keeps_data": float(keeps)}
    got = acceleration(programs, np.arange(2.0**count), **hardware)
    costs = Costs(1 / 8, store=1 / 4, medium=3 / 2, call=7.0, shared=shared, keeps=keeps)
    base, _ = literal_time(machine.trace, set(), costs)
    for selection in range(2**count):
        names = set(programs.chosen(selection))
        time, medium = literal_time(machine.trace, names, costs)
        assert got.accelerated_time[selection] == pytest.approx(time, rel=1e-12), names
        assert got.medium_bytes[selection] == pytest.approx(medium, abs=1e-9), names
        assert got.speedup[selection] == pytest.approx(base / time, rel=1e-12)


# the two functions that compute most exchange data, so that a shared store matters
EXCHANGE = next(
    programs
    for programs in map(flow, TREES)
    if acceleration(programs, 3, 1.0, shared_store=1.0, keeps_data=1.0).medium_bytes
    < acceleration(programs, 3, 1.0, shared_store=0.0, keeps_data=1.0).medium_bytes
)


def raw_split(program: Dataflow, chosen: set[str]) -> defaultdict[str, float]:
    """Evaluate communication.md sentence by sentence, for functions in several contexts."""
    tree, n = program.tree, len(program.names)
    home: list[str] = []
    top: list[bool] = []
    for node in range(len(tree.parent)):
        parent, name = int(tree.parent[node]), program.names[tree.function[node]]
        above = home[parent] if parent >= 0 else ""
        home.append(above or (name if name in chosen else ""))
        top.append(not above and name in chosen)

    def part(f: int, unit: str, values: Any, only_top: bool = False) -> float:
        nodes = [v for v in range(len(home)) if tree.function[v] == f]
        mine = [v for v in nodes if home[v] == unit and (top[v] or not only_top)]
        return float(sum(values[v] for v in mine) / (sum(values[v] for v in nodes) or 1.0))

    units = sorted({unit for unit in home if unit})
    on = {u: [part(f, u, tree.computation) for f in range(n)] for u in units}
    host = [1.0 - sum(on[u][f] for u in units) for f in range(n)]
    found: defaultdict[str, float] = defaultdict(float)
    reads = [program.local_bytes[f] + sum(program.transfers[:, f]) for f in range(n)]
    for u in units:
        f = program.names.index(u)
        taken = part(f, u, tree.inclusive, only_top=True)
        nodes = [v for v in range(len(home)) if top[v] and tree.function[v] == f]
        calls = sum((tree.calls if tree.outermost is None else tree.outermost)[v] for v in nodes)
        came, crossed, own = 0.0, 0.0, 0.0
        for w in range(n):
            # of what w does outside of one call: by the host, other accelerators, other calls
            others = sum(on[v][w] for v in units if v != u)
            again = on[u][w] * (calls - 1) / calls
            outside = host[w] + others + again
            if outside < 1e-9:
                continue
            moved = program.transfers_into[w, f] * taken / outside
            crossed += moved * host[w]
            came += moved * others
            own += moved * again
            found["to_host"] += program.returned[f, w] * taken * host[w] / outside
            found["back"] += program.returned[f, w] * taken * again / outside
            once = program.fetched[w, f] * taken / outside
            found["once_from_host"] += once * host[w]
            found["once_between"] += once * others
        found["from_host"] += crossed
        found["between"] += came
        found["own"] += own
        inside = sum(on[u][g] * reads[g] for g in range(n))
        found["local"] += max(inside - crossed - came - own, 0.0)
    found["reads_host"] = sum(host[g] * reads[g] for g in range(n))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_functions_in_several_contexts_are_divided_as_given(seed: int) -> None:
    program = from_profile(profile_of(Machine(seed, functions=5, helpers=2).trace))
    names = program.candidates
    for count in (1, 2, 3):
        for chosen in combinations(names, count):
            want = raw_split(program, set(chosen))
            got = split_work(program, outermost_contexts(program, map(program.position, chosen)))
            to_host, between = want["to_host"], want["between"] + want["own"]
            anew = [want["local"], between, want["back"], want["from_host"] + to_host]
            assert list(got.anew) == pytest.approx(anew)
            assert got.kept.crossing == pytest.approx(want["once_from_host"] + to_host)
            assert got.kept.between == pytest.approx(want["once_between"])
            assert got.host_bytes == pytest.approx(max(want["reads_host"] - to_host, 0.0))
            assert got.returned == pytest.approx(to_host)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 3),
    selection=st.integers(0, 15),
    factors=st.tuples(*(st.floats(0.1, 1000) for _ in range(3))),
    shared=st.sampled_from([0.0, 1.0]),
)
def test_limits_are_closed_forms(
    seed: int, selection: int, factors: tuple[float, float, float], shared: float
) -> None:
    programs = flow(TREES[seed])
    program = programs.programs[0]
    given_: dict[str, Any] = {"shared_store": shared, "overhead": 3.0, "byte_time": 0.5}
    limits = ceilings(programs, selection, *factors[:2], medium_factor=factors[2], **given_)

    def speedup(a: float, b: float, c: float) -> float:
        return float(acceleration(programs, selection, a, b, medium_factor=c, **given_).speedup)

    inf = np.inf
    cf, sf, mf = factors
    assert limits.memory_wall == pytest.approx(speedup(inf, sf, mf), rel=1e-12)
    assert limits.memory_wall == pytest.approx(speedup(1e15, sf, mf), rel=1e-9)
    assert limits.local_limit == pytest.approx(speedup(cf, inf, mf), rel=1e-12)
    assert limits.accelerator_limit == pytest.approx(speedup(inf, inf, mf), rel=1e-12)
    assert limits.medium_limit == pytest.approx(speedup(cf, sf, inf), rel=1e-12)
    # Amdahl: 1 / (1 - part of the time that is taken over)
    chosen = [program.position(name) for name in programs.chosen(selection)]
    work, all_ = split_work(program, outermost_contexts(program, chosen)), whole_work(program)
    left = work.host_instructions + 0.5 * work.host_bytes
    part = 1 - left / (all_.host_instructions + 0.5 * all_.host_bytes)
    assert limits.amdahl_limit == pytest.approx(1 / (1 - part), rel=1e-9)


def test_area_by_hand() -> None:
    programs = flow(TREES[0])
    program = programs.programs[0]
    at = [f for v, f in enumerate(program.tree.function) if not program.tree.children[v]][:2]
    code = program.code[at].sum()
    given_: dict[str, Any] = {"selection": programs.selection(program.names[f] for f in at)}
    given_ |= {"computation_factor": 4.0, "communication_factor": 3.0, "instruction_area": 10.0}
    given_ |= {"memory_area_per_bit": 0.5, "bank_area": 100.0, "interface_area": 7.0}
    kept, one = (accelerator_area(programs, shared_store=s, **given_) for s in (0.0, 1.0))
    own = accelerator_area(programs, keeps_data=0.0, **given_)
    for got, banks, held in (
        (own, 600, program.call_working_set[at].sum()),
        (kept, 600, program.working_set[at].sum()),
        (one, 300, min(program.working_set[at].sum(), 24)),  # addresses that there are
    ):
        store = 4 * held + banks
        want = [40 * code + store + 14, 40 * code, store, 14, held]
        assert list(map(float, vars(got).values())) == want
    assert program.call_working_set[at].sum() < program.working_set[at].sum()
    given_ |= {"selection": 0, "computation_factor": np.inf}
    assert accelerator_area(programs, **given_).area == 0


def test_models_keep_the_contract() -> None:
    check_model(offload_functions, fixed={"dataflow": EXCHANGE}, pairs=2_000)
    jpeg = Dataflows((load_dataflow(PROFILES / "jpeg.json"),))
    check_model(idle_functions, fixed={"dataflow": jpeg}, pairs=200)


def test_what_is_not_there_is_nan() -> None:
    programs = flow(TREES[0])
    beyond = 2.0 ** len(programs.candidates)
    got = acceleration(programs, np.array([0.0, beyond, np.nan]), 2.0, workload=np.zeros(3))
    assert np.isnan(got.speedup).tolist() == [False, True, True]
    elsewhere = acceleration(programs, 0, 2.0, workload=np.array([0.0, 1, -1])).speedup
    assert np.isnan(elsewhere).tolist() == [False, True, True]
    idle = idle_functions(programs, np.array([1.0, beyond, 1.5]), 0.0).idle_functions
    assert np.isnan(idle).tolist() == [False, True, True]


def test_selections_are_named() -> None:
    programs = flow(TREES[0])
    for selection in range(8):
        assert programs.selection(programs.chosen(selection)) == selection
    with pytest.raises(InputError, match="'f11' is not a candidate\n      did you mean 'f1'"):
        programs.selection(["f11"])
    assert "main" not in programs.candidates


@pytest.mark.parametrize("name", ["jpeg", "rotate/recursive-008"])
def test_idle_functions_are_those_without_a_context_of_their_own(name: str) -> None:
    """Against a literal walk up the tree from every context, for every selection of seven."""
    program = load_dataflow(PROFILES / f"{name}.json")
    program = program.including(["getchar", "load", "putchar"] if name != "jpeg" else [])
    programs = Dataflows((program,))
    tree = json.loads((PROFILES / f"{name}.json").read_text())["call_tree"]
    above: list[set[str]] = []
    for node in tree:
        parent = node["parent"]
        above.append(above[parent] | {tree[parent]["function"]} if parent >= 0 else set())
    for selection in range(128):
        chosen = {c for bit, c in enumerate(programs.candidates) if selection >> bit & 1}
        outer = {
            node["function"]
            for node, callers in zip(tree, above, strict=True)
            if node["function"] in chosen and not chosen & callers
        }
        assert idle_functions(programs, float(selection)).idle_functions == len(chosen - outer)
        assert set(list_accelerated(program, programs.chosen(selection))) == outer
