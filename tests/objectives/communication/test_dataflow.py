"""The functions that may move, why the others stay on the host, and calls back to the host."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.problems import InputError
from dse.profile.command import ProfileOptions, build_program
from dse.profile.document import Profile
from objectives.communication import (
    Dataflow,
    Setting,
    best_cut,
    from_profile,
    kept_table,
    load_dataflow,
    verdict,
)
from objectives.communication.acceleration import time_parts
from objectives.communication.dataflow import CallTree, Kinds, find_wrappers, list_staying
from objectives.communication.readers import from_counts
from objectives.communication.split import count_callbacks, split_work
from objectives.drafts.program import communication
from objectives.programs import Calls, Counts
from tests.profile.examples import EXAMPLES, PROGRAMS, needs_compiler, profile_text, run_built
from tests.profile.reference import events

JPEG = Path(__file__).parents[3] / "studies" / "profiles" / "jpeg.json"


def random_tree(seed: int, size: int = 40, functions: int = 14) -> CallTree:
    """Return contexts of which none is of a function that is above it; f0 is the root."""
    rng = np.random.default_rng(seed)
    parent, function = [-1], [0]
    while len(parent) < size:
        above, f = int(rng.integers(0, len(parent))), int(rng.integers(1, functions))
        way, at = set(), above
        while at >= 0:
            way.add(function[at])
            at = parent[at]
        if f not in way:
            parent.append(above)
            function.append(f)
    calls = rng.integers(1, 4, size).astype(float)
    work = rng.integers(0, 100, size) * rng.integers(0, 2, size).astype(float)
    return CallTree(np.array(parent), np.array(function), calls, calls, work)


NAMES = ["main", *(f"f{i}" for i in range(1, 14))]


def functions_below(tree: CallTree, node: int, stop: set[int]) -> set[int]:
    """Return the functions called at or below a node, not looking below those in `stop`."""
    found = set()
    for child in np.flatnonzero(tree.parent == node).tolist():
        found.add(int(tree.function[child]))
        if int(tree.function[child]) not in stop:
            found |= functions_below(tree, child, stop)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_what_does_io_stays_and_all_that_calls_it(seed: int) -> None:
    tree = random_tree(seed)
    names = NAMES[: int(tree.function.max()) + 1]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.arange(1, len(names)))
    io, included = {int(f) for f in chosen[:2]}, {int(f) for f in chosen[2:4]}
    kinds = Kinds(
        included=frozenset(names[f] for f in included),
        library=frozenset(names[f] for f in io),
        io=frozenset(names[f] for f in io),
    )
    found = list_staying(tree, names, kinds)
    expected = {
        names[tree.function[v]]
        for v in range(len(tree.parent))
        if functions_below(tree, v, included) & io
        and int(tree.function[v]) not in io | included | {0}
    }
    assert {name for name, why in found.items() if why.startswith("does I/O")} == expected
    assert set(found) == expected | {"main"} | {names[f] for f in io}


def test_the_shortest_way_to_the_io_is_reported() -> None:
    # main > a > b > c > d > write, and b > write in another context
    parent = np.array([-1, 0, 1, 2, 3, 4, 0, 6])
    function = np.array([0, 1, 2, 3, 4, 5, 2, 5])
    tree = CallTree(parent, function, np.ones(8), np.ones(8), np.ones(8))
    kinds = Kinds(library=frozenset({"write"}), io=frozenset({"write"}))
    names = ["main", "a", "b", "c", "d", "write"]
    found = list_staying(tree, names, kinds)
    assert found["b"] == "does I/O in 2 calls: write"
    assert found["a"] == "does I/O in 1 call: b > … > d > write"
    assert found["c"] == "does I/O in 1 call: d > write"
    # a user that waives the library function waives it for all that call it
    waived = list_staying(tree, names, kinds._replace(included=frozenset({"write"})))
    assert set(waived) == {"main"}


@pytest.mark.parametrize("seed", range(8))
def test_wrappers_are_those_whose_work_is_done_in_one_other(seed: int) -> None:
    tree = random_tree(seed)
    names = NAMES[: int(tree.function.max()) + 1]
    movable = set(names[2:])
    found = find_wrappers(tree, names, Kinds(), tree.computation, movable)
    total = [tree.computation[tree.below(v)].sum() for v in range(len(tree.parent))]
    direct = {}
    for f in range(2, len(names)):
        mine = np.flatnonzero(tree.function == f)
        for g in range(2, len(names)):
            called = [c for c in range(len(total)) if tree.parent[c] in mine]
            called = [c for c in called if tree.function[c] == g]
            most = sum(total[c] for c in called) >= 0.99 * sum(total[v] for v in mine)
            once = tree.calls[called].sum() <= tree.calls[mine].sum()
            if called and most and once and sum(total[v] for v in mine) > 0:
                direct[names[f]] = names[g]
    last = dict(direct)
    for name in last:
        while last[name] in direct:
            last[name] = direct[last[name]]
    assert found == last
    assert not find_wrappers(
        tree, names, Kinds(included=frozenset(names)), tree.computation, movable
    )


TEXT = """
#include <stdio.h>
static char text[20000], packed[40000];
static volatile int verbose = 1;
static int fill(void) { return (int)fread(text, 1, sizeof text, fopen("/dev/zero", "r")); }
static int squeeze(const char *from, int n, char *to) {
    int out = 0;
    for (int i = 0; i < n;) {
        int run = 1;
        while (i + run < n && run < 255 && from[i + run] == from[i]) run++;
        to[out++] = (char)run; to[out++] = from[i]; i += run;
    }
    return out;
}
static int pack(int n) { return squeeze(text, n, packed); }
static int all(void) {
    int n = fill(), out = pack(n);
    if (verbose) fprintf(stderr, "%d\\n", out);
    return fwrite(packed, 1, out, stdout) != (size_t)out;
}
int main(void) { return all(); }
"""


@pytest.fixture(scope="module")
def compressor(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("compressor")
    return profile_text(folder, TEXT)


@needs_compiler
def test_the_best_design_of_a_compressor_does_not_read_and_write_inside(
    compressor: Profile,
) -> None:
    program = from_profile(compressor)
    setting = Setting(32, 32, medium_factor=4, overhead=435, latency=500)
    assert program.candidates == ("squeeze",)
    assert {n: why for n, why in program.staying.items() if "library" not in why} == {
        "main": "the program's frame",
        "all": "does I/O in 4 calls: fprintf",
        "pack": "hands its work to squeeze",
        "fill": "does I/O in 2 calls: fopen",
    }
    cut = best_cut(program, setting)
    assert cut.functions == ("squeeze",)
    judged = verdict(program, "squeeze", setting)
    assert judged.granularity >= 20000  # the text comes in
    assert set(kept_table(program, setting, 0.0).index) == {"main", "all", "pack", "fill"}
    # as it was: everything moves, and next to nothing crosses
    everything = program.including(["all"])
    assert best_cut(everything, setting).functions == ("all",)
    assert verdict(everything, "all", setting).granularity < 100


def study(named: str = "read_stream", **given: object) -> dse.Study:
    table: dict[str, Any] = {"file": str(JPEG), **given}
    return dse.from_mapping(
        {
            "study": {"name": "parts", "models": ["objectives.communication:offload_functions"]},
            "inputs": {"dataflow": table, "instruction_area": 10},
            "space": {
                "accelerated": {"subsets": "selection", "of": [named]},
                "computation_factor": {"values": [2, 8]},
            },
            "objective": [{"maximize": "speedup"}],
        }
    )


def test_a_study_may_override_what_stays() -> None:
    with pytest.raises(
        InputError, match="'read_stream' is not to choose: does I/O in 2 calls: fread"
    ):
        study()
    assert len(study(include=["read_stream"]).run().front) == 1
    assert len(study("room", include=["room"]).run().front) == 1  # one that computes little


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"include": ["read_steam"]}, r"no function 'read_steam'\n.*did you mean 'read_stream'"),
        ({"include": ["main"]}, "'main' cannot move: all of the program is below it"),
        ({"include": ["idct"]}, "'idct' may move as it is\n.*leave it out of include"),
        ({"include": ["stop"]}, "'stop' did no work that could move\n.*leave it out of include"),
        ({"exclude": ["main"]}, "'main' cannot move: .*\n.*leave it out of exclude"),
        ({"exclude": ["main", "rom"]}, "did you mean 'room'(.*\n)+.*leave it out of exclude"),
        ({"include": ["idct"], "exclude": ["idct"]}, "idct: under both exclude and include"),
        (
            {"include": ["read_stream"], "exclude": ["room"]},
            "'read_stream' calls 'room', which is excluded\n.*include or exclude both",
        ),
    ],
)
def test_what_cannot_be_included_is_reported(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        study(**given)


def test_few_allocations_keep_no_function_on_the_host() -> None:
    """`decode_blocks` allocates three times in 4 million instructions, and `room` in 30."""
    program = load_dataflow(JPEG)
    assert "decode_blocks" in program.candidates
    assert program.staying["room"] == "allocates or frees memory in 8 calls: malloc"
    scaled = replace(program.tree, computation=program.tree.computation / 100)
    kept = replace(program, tree=scaled, computation=program.computation / 100).staying
    assert kept["decode_blocks"] == "allocates or frees memory in 3 calls: room > malloc"


@pytest.mark.parametrize(
    ("calls", "stays"),
    [
        ({"malloc": 10, "free": 10}, False),
        ({"operator new[](unsigned long)": 10, "operator delete[](void*)": 10}, False),
        ({"malloc": 11}, True),
        ({"free": 11}, True),
        ({"malloc": 6, "_Znwm": 5, "free": 2}, True),
    ],
)
def test_memory_that_is_taken_and_given_back_counts_once(
    calls: dict[str, int], stays: bool
) -> None:
    """Ten allocations in half a million instructions are the most that keep no function."""
    names = ("main", "fill", *calls)
    count = np.array([1, 1, *calls.values()], dtype=np.float64)
    work = np.zeros(len(names))
    work[1] = 5e5
    parent = np.array([-1, 0, *[1] * len(calls)])
    tree = CallTree(parent, np.arange(len(names)), count, count, work)
    kinds = Kinds(library=frozenset(calls))
    assert ("fill" in list_staying(tree, names, kinds)) == stays


@pytest.mark.parametrize(
    ("taken", "given", "work", "name", "stays"),
    [
        (3200, 3200, 5e5, "malloc", False),
        (3300, 3300, 5e5, "malloc", True),
        (3200, 3199, 5e5, "malloc", True),
        (100, 100, 4.9e5, "malloc", True),
        (3200, 3200, 5e5, "realloc", True),
    ],
)
def test_an_accelerator_has_up_to_32_arrays_of_its_own(
    taken: int, given: int, work: float, name: str, stays: bool
) -> None:
    """A hundred calls of 5,000 instructions that give back what they take, and let nothing grow."""
    names = ("main", "fill", name, "free")
    count = np.array([1, 100, taken, given], dtype=np.float64)
    own = np.array([0, work, 0, 0])
    tree = CallTree(np.array([-1, 0, 1, 1]), np.arange(4), count, count, own)
    assert ("fill" in list_staying(tree, names, Kinds(library=frozenset(names[2:])))) == stays


@pytest.mark.parametrize(
    "grows",
    [
        "int* std::vector<int>::__emplace_back_slow_path<int>(int&&)",
        "std::vector<int>::__append(unsigned long)",
        "realloc",
    ],
)
def test_arrays_that_grow_are_not_local(grows: str) -> None:
    """As above, but a part of the memory is taken by a vector that grows."""
    names = ("main", "fill", grows, "operator new(unsigned long)", "operator delete(void*)")
    count = np.array([1, 100, 100, 100, 200, 100], dtype=np.float64)
    own = np.array([0, 5e5, 0, 0, 0, 0])
    functions = np.array([0, 1, 2, 3, 4, 3])
    tree = CallTree(np.array([-1, 0, 1, 2, 1, 1]), functions, count, count, own)
    assert "fill" in list_staying(tree, names, Kinds(library=frozenset(names[3:])))
    for name in ("grow", "preallocate", "decode_slow_path"):
        plain = ("main", "fill", name, *names[3:])
        assert "fill" not in list_staying(tree, plain, Kinds(library=frozenset(names[3:])))


def test_the_reason_names_the_function_that_is_called_most_often() -> None:
    names = ("main", "load", "fopen", "fgets", "fclose")
    count = np.array([1, 1, 1, 3_000, 1], dtype=np.float64)
    tree = CallTree(np.array([-1, 0, 1, 1, 1]), np.arange(5), count, count, np.zeros(5))
    kinds = Kinds(library=frozenset(names[2:]), io=frozenset(names[2:]))
    assert list_staying(tree, names, kinds)["load"] == "does I/O in 3,002 calls: fgets"


@pytest.mark.parametrize("lock", ["pthread_mutex_lock", "std::mutex::lock()", "sem_wait"])
def test_a_function_that_waits_for_other_threads_stays(lock: str) -> None:
    names = ("main", "insert", "search", lock)
    count = np.array([1, 7, 7, 1_400], dtype=np.float64)
    tree = CallTree(np.array([-1, 0, 1, 2]), np.arange(4), count, count, np.array([0, 5e7, 5e7, 0]))
    stays = list_staying(tree, names, Kinds(library=frozenset([lock])))
    assert stays["search"] == f"waits for other threads in 1,400 calls: {lock}"
    assert stays["insert"] == f"waits for other threads in 1,400 calls: search > {lock}"
    for name in ("mtx_block", "sem_await", "pthread_mutex_unlock"):
        names = ("main", "insert", "search", name)
        assert "search" not in list_staying(tree, names, Kinds(library=frozenset([name])))


def test_local_arrays_of_a_function_keep_none_of_its_callers() -> None:
    """`filter` has 100 calls with an array each, in one call of `image`; `take` only allocates."""
    names = ("main", "image", "filter", "take", "malloc", "free")
    count = np.array([1, 1, 100, 100, 100, 100], dtype=np.float64)
    own = np.array([0, 0, 5e5, 0, 0, 0])
    tree = CallTree(np.array([-1, 0, 1, 2, 3, 2]), np.arange(6), count, count, own)
    stays = list_staying(tree, names, Kinds(library=frozenset(names[4:])))
    assert "image" not in stays and "filter" not in stays
    assert stays["take"] == "allocates or frees memory in 100 calls: malloc"


@pytest.mark.parametrize(
    ("named", "given", "message"),
    [
        ("main", {}, "'main' is not to choose: the program's frame\n +name what it calls"),
        ("idct", {"exclude": ["idct"]}, "the study excludes it\n.*take 'idct' out of exclude"),
        ("decode_unit", {"exclude": ["get_symbol"]}, "take 'get_symbol' out of exclude"),
        ("read_stream", {}, "does I/O in 2 calls: fread\n.*name it under include"),
        (
            "room",
            {},
            "'room' is not to choose: allocates or frees memory in 8 calls: malloc\n.*include",
        ),
    ],
)
def test_what_is_not_to_choose_has_a_remedy(
    named: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        study(named, **given)


def test_nothing_is_included_in_what_has_no_parts() -> None:
    mapping = {
        "study": {"name": "parts", "models": ["objectives.partition:optimal"]},
        "inputs": {"profiles": {"file": str(JPEG), "include": ["idct"]}},
        "space": {"area": {"values": [100]}},
        "objective": [{"maximize": "speedup"}],
    }
    with pytest.raises(InputError, match="nothing can be included in profiles"):
        dse.from_mapping(mapping)


def test_a_source_that_does_not_tell_of_io_says_so(tmp_path: Path) -> None:
    assert not any("input or output" in text for text in load_dataflow(JPEG).missing)
    path = tmp_path / "old.json"
    path.write_text(JPEG.read_text().replace(', "io": false', "").replace(', "io": true', ""))
    old: Dataflow = load_dataflow(path)
    assert any("which functions do input or output is not known" in text for text in old.missing)
    assert "read_scan" in old.candidates


def test_what_headers_define_is_not_judged_but_moves_with_what_calls_it() -> None:
    content = Profile.load(JPEG).model_dump(by_alias=True)
    for function in content["functions"]:
        function["system"] = function["name"] == "idct_1d"
    program = from_profile(Profile.model_validate(content))
    assert "header of the system" in program.staying["idct_1d"]
    whole = from_profile(Profile.load(JPEG))
    assert verdict(program, "idct").share == verdict(whole, "idct").share
    assert "idct_1d" in program.including(["idct_1d"]).candidates


@needs_compiler
def test_a_draft_says_what_stays_and_why(tmp_path: Path, compressor: Profile) -> None:
    path = tmp_path / "compressor.json"
    compressor.save(path)
    text = communication(path, path.name, "draft")
    assert "# all: 100.0 %; does I/O in 4 calls: fprintf" in text
    assert "pack" in text and "hands its work to squeeze" in text
    (chosen,) = tomllib.loads(text)["space"]["accelerated"]["of"]
    assert chosen == "squeeze"


# --------------------------------------------------------------------------- recursions

RECURSION = """
#include <stdio.h>
static volatile int sum;
static int run(int depth);
static int (*again)(int) = run;
static void each(int depth) { for (int i = 0; i < 3; i++) sum += again(depth - 1); }
static int leaf(int x) { return x < 2 ? 1 : leaf(x - 1) + sum; }
static int run(int depth) {
    if (depth > 0) each(depth);
    putchar('.');
    return leaf(4);
}
int main(void) { return run(2) == 0; }
"""


@pytest.fixture(scope="module")
def recursive(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_text(tmp_path_factory.mktemp("recursion"), RECURSION)


@needs_compiler
def test_a_recursion_through_a_pointer_counted_by_hand(recursive: Profile) -> None:
    # run(2) calls each(2), which calls run(1) 3 times; each of these calls each(1), which calls
    # run(0) 3 times: run 1 + 3 + 9, each 1 + 3, leaf 13 times from run and 3 times as often itself
    names = [node.function for node in recursive.call_tree]
    assert names == ["main", "run", "each", "putchar", "leaf"]
    assert [node.invocations for node in recursive.call_tree] == [1, 13, 4, 13, 52]
    assert [node.entered for node in recursive.call_tree] == [1, 1, 1, 13, 13]
    found = {(names[r.source], names[r.to]): r.count for r in recursive.recursions}
    assert found == {("each", "run"): 12, ("leaf", "leaf"): 39}

    program = from_profile(recursive)
    calls = dict(zip(program.names, program.calls.tolist(), strict=False))
    assert calls == calls | {"main": 1, "run": 1, "each": 4, "leaf": 13}
    setting = Setting(10, overhead=100, latency=20)
    whole, part, inner = (verdict(program, name, setting) for name in ("run", "each", "leaf"))
    assert (whole.calls, whole.callbacks) == (1, "")  # all of the recursion is inside
    assert (part.calls, part.callbacks) == (4, "12 callbacks to run on the host")
    assert (inner.calls, inner.callbacks) == (13, "")
    # 4 calls and 12 callbacks, 120 cycles each
    work = split_work(program, (2,))
    assert (work.calls, work.callbacks) == (16, 12)
    assert float(time_parts(work, setting, setting).calls) == 16 * 120

    movable = program.including(["run", "each"])
    assert {"run", "each", "leaf"} <= set(movable.candidates)
    judged = verdict(movable, "each", setting)
    assert (judged.calls, judged.callbacks) == (1, "")  # run is inside: each calls itself by it


@needs_compiler
@pytest.mark.parametrize("name", ["dispatch", "rotate quarters"])
def test_crossings_of_control_are_those_of_a_replay(name: str, tmp_path: Path) -> None:
    """Sets of contexts at random; a live invocation is where its way by names is, repeats cut."""
    example = EXAMPLES[name]
    sources = tuple(PROGRAMS / source for source in example.sources)
    built = build_program(ProfileOptions(sources, example.arguments), tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, example.arguments, example.given)
    program = from_profile(profile)
    calls = _calls([f.name for f in profile.functions], events(tmp_path / "trace"))
    tree, own = program.tree, program.names[: program.functions]
    ways = [
        tuple(own[tree.function[v]] for v in reversed(tree.way(node)))
        for node in range(len(tree.parent))
    ]
    again = sum(n for (a, b), n in calls.items() if len(b) <= len(a))
    assert again == sum(count for *_, count in tree.recursions)
    rng = np.random.default_rng(0)
    for _ in range(40):
        chosen: list[int] = []
        for node in rng.permutation(np.arange(1, len(ways)))[: int(rng.integers(1, 12))].tolist():
            above = set(tree.way(node))
            if not any(c in above or node in tree.way(c) for c in chosen):
                chosen.append(node)
        tops = {ways[node] for node in chosen}

        def unit(way: tuple[str, ...], tops: set[tuple[str, ...]] = tops) -> tuple[str, ...]:
            return next((way[:i] for i in range(1, len(way) + 1) if way[:i] in tops), ())

        enter = sum(n for (a, b), n in calls.items() if unit(b) and not unit(a))
        leave = sum(n for (a, b), n in calls.items() if unit(a) and not unit(b))
        assert sum(tree.calls[chosen]) == enter
        assert sum(count_callbacks(tree, sorted(chosen)).values()) == leave


def _calls(names: list[str], trace: list[Any]) -> Counter[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Count the calls of a trace by the ways of caller and called one."""
    found, stack = Counter[tuple[tuple[str, ...], tuple[str, ...]]](), [()]
    for kind, _, number, *_ in trace:
        if kind == b"E":
            way, name = stack[-1], names[number]
            there = way[: way.index(name) + 1] if name in way else (*way, name)
            found[way, there] += 1
            stack.append(there)
        elif kind == b"X":
            del stack[number + 1 :]
    return found


def test_counts_with_a_circle_of_functions_say_what_they_lack() -> None:
    def missing(calls: dict[tuple[int, int], Calls]) -> str:
        ones = np.ones(3)
        counts = Counts(
            *("p", ("a", "b", "c"), 3, ones, ones, 0 * ones, ones, np.zeros((3, 3))),
            *(calls, ()),
        )
        return " ".join(from_counts(counts).missing)

    one = Calls(1, 1)
    assert "in a circle" not in missing({(0, 1): one, (1, 2): one, (2, 2): one})
    assert "in a circle" in missing({(0, 1): one, (1, 2): one, (2, 1): one})
