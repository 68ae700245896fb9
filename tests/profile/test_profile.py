"""Profiles of real programs against plain references on their full traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.profile import command
from dse.profile.build.classes import COMPUTATION
from dse.profile.build.runtime_options import compile_runtime
from dse.profile.build.toolchain import Toolchain
from dse.profile.command import Options, build_program
from dse.profile.document import CacheLevels
from tests.profile.examples import (
    CACHES,
    EXAMPLES,
    PROGRAMS,
    SCRIPT,
    Measured,
    by_name,
    named,
    picture,
    plain_output,
    run_built,
    sites_that_ran,
    source,
)
from tests.profile.reference import Follower, events, simulate


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Measured]:
    """Each example built and run once."""
    known: dict[str, Measured] = {}

    def get(name: str) -> Measured:
        if name not in known:
            example, folder = EXAMPLES[name], tmp_path_factory.mktemp("built")
            sources = tuple(PROGRAMS / source for source in example.sources)
            options = Options(sources, example.arguments, caches=CACHES)
            built = build_program(options, folder, folder / "trace")
            profile, output = run_built(built, example.arguments, example.given)
            plain = plain_output(example, folder)
            known[name] = Measured(profile, output, plain, events(folder / "trace"), built)
        return known[name]

    return get


every_example = pytest.mark.parametrize("name", EXAMPLES)


@every_example
def test_program_behaves_as_without_instrumentation(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    assert found.output == found.plain
    assert len(found.output) > 0
    assert found.profile.run.complete


@every_example
def test_block_and_edge_counts_are_those_of_the_trace(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    flow = found.flow
    blocks = [b for b in found.profile.blocks if b.name != "(library)"]
    assert {b.id: b.executions for b in blocks if b.executions} == dict(flow.blocks)
    edges = {(e.source, e.to): e.count for e in found.profile.edges}
    seen: Counter[tuple[int, int]] = Counter()
    for (came, to), count in flow.edges.items():
        # A long jump goes on in the middle of the block that called setjmp.
        known = (came, to) in edges
        seen[came if known else next(a for a, b in edges if b == to), to] += count
    assert {edge: count for edge, count in edges.items() if count} == dict(seen)


@every_example
def test_flow_is_conserved_at_every_block(name: str, measured: Callable[[str], Measured]) -> None:
    profile = measured(name).profile
    entries = {f.entry: f.invocations for f in profile.functions}
    into, out = Counter(entries), Counter[int]()
    for edge in profile.edges:
        into[edge.to] += edge.count
        out[edge.source] += edge.count
    for block in profile.blocks:
        assert block.executions == into[block.id], block
        assert block.executions == out[block.id] + block.exits, block
    leaves = {b.function: 0 for b in profile.blocks}
    for block in profile.blocks:
        leaves[block.function] += block.exits
    assert leaves == {f.name: f.invocations for f in profile.functions}


@every_example
def test_calls_registers_and_lines_are_those_of_blocks_that_ran(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    profile, tables, ran = found.profile, found.built.tables, set(found.flow.blocks)
    own = {f["symbol"]: i for i, f in enumerate(tables["functions"])}
    own |= {symbol: len(own) + i for i, symbol in enumerate(tables["foreign"])}
    direct = Counter(
        (c["block"], profile.functions[own[c["target"]]].name)
        for c in tables["calls"]
        if c["target"] in own and c["block"] in ran
    )
    told = Counter((c.source, c.to) for c in profile.calls)
    assert direct <= told
    assert {c.source for c in profile.calls} <= ran
    assert all(call.count for call in profile.calls)
    values = {(r["name"], r["definition"], b) for r in tables["registers"] for b in r["uses"]}
    assert {(r.name, r.source, to) for r in profile.registers for to in r.to} == {
        value for value in values if ran.issuperset(value[1:])
    }
    files = {f.name: f.file for f in profile.functions}
    places = {(files[b.function], b.line) for b in profile.blocks if b.id in ran}
    assert {(line.file, line.line) for line in profile.lines} <= places


@every_example
@pytest.mark.parametrize("number", range(len(CACHES)))
def test_caches_are_those_of_the_reference_access_by_access(
    name: str, number: int, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    reference = simulate(found.trace, CACHES[number], number)
    assert reference.wrong == 0
    hits = Counter[int]()
    for (_, level), count in reference.hits.items():
        hits[level] += count
    ours = [access.hits[number] for access in found.profile.accesses]
    assert [sum(column) for column in zip(*ours, strict=True)] == [hits[0], hits[1], hits[2]]
    sites = [a for a in found.profile.accesses if found.profile.blocks[a.block].name != "(library)"]
    expected = [tuple(reference.hits[i, k] for k in range(3)) for i in found.sites]
    assert [a.hits[number] for a in sites] == expected
    crossings = Counter[tuple[int, int, bool, frozenset[int]]]()
    for row in found.profile.crossings:
        if row.cache == number:
            crossings[row.level, row.source, True, frozenset(row.to)] += row.dirty
            crossings[row.level, row.source, False, frozenset(row.to)] += row.clean
    assert +crossings == reference.crossings


@every_example
def test_transfers_are_those_of_the_rule(name: str, measured: Callable[[str], Measured]) -> None:
    found = measured(name)
    profile, flow = found.profile, found.flow
    assert by_name(profile.transfers) == named(profile, flow.transfers)
    assert by_name(profile.transfers_into) == named(profile, flow.into)
    assert by_name(profile.transfers_out) == named(profile, flow.out)  # type: ignore[arg-type]
    local = {f.name: f.local_bytes for f in profile.functions if f.local_bytes}
    assert local == {profile.functions[i].name: n for i, n in flow.local.items()}
    calls = {f.name: f.invocations for f in profile.functions if f.invocations}
    assert calls == {profile.functions[i].name: n for i, n in flow.invocations.items()}


@every_example
def test_what_is_kept_is_fetched_once_and_returned_once_to_each_reader(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    profile, flow = found.profile, found.flow
    assert by_name(profile.fetched) == named(profile, flow.fetched)
    assert by_name(profile.returned) == named(profile, flow.returned)  # type: ignore[arg-type]
    for once, anew in (
        (profile.fetched, profile.transfers_into),
        (profile.returned, profile.transfers_out),
    ):
        assert all(count <= by_name(anew)[pair] for pair, count in by_name(once).items())


@every_example
def test_working_sets_are_the_words_that_a_function_touched(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    flow = found.flow
    for i, function in enumerate(found.profile.functions):
        calls = [len(words) for (f, _), words in flow.call_words.items() if f == i]
        assert function.working_set == 4 * len(flow.words[i]), function.name
        assert function.call_working_set == 4 * max(calls, default=0), function.name


@every_example
def test_each_load_reads_what_the_reference_says_each_block_stored(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    profile, reference = found.profile, found.flow.reads
    reads: dict[tuple[int, int | None], int] = {
        (r.access, r.source): r.bytes for r in profile.reads
    }
    program = len(found.built.tables["accesses"])
    sites = dict(enumerate(found.sites))
    assert {(sites[at], block): n for (at, block), n in reads.items() if at in sites} == {
        key: n for key, n in reference.items() if key[0] < program
    }
    library: Counter[tuple[int, int | None]] = Counter()
    for (place, block), count in reads.items():
        if place not in sites:
            library[profile.accesses[place].block, block] += count
    expected: Counter[tuple[int, int | None]] = Counter()
    blocks = sum(block.name != "(library)" for block in profile.blocks)
    for (site, block), count in reference.items():
        if site >= program:
            expected[blocks + (site - program) // 2, block] += count
    assert library == expected
    total = Counter[int]()
    for (place, _), count in reads.items():
        total[place] += count
    for position, access in enumerate(profile.accesses):
        if access.kind == "store":
            assert position not in total
        elif access.size:
            assert total[position] == sum(access.hits[0]) * access.size


@every_example
def test_computation_and_call_tree_agree(name: str, measured: Callable[[str], Measured]) -> None:
    profile = measured(name).profile
    work, calls = Counter[str](), Counter[str]()
    for context in profile.call_tree:
        work[context.function] += context.computation
        calls[context.function] += context.invocations
        assert context.parent < len(profile.call_tree)
    total = 0
    for function in profile.functions:
        blocks = [b for b in profile.blocks if b.function == function.name]
        own = sum(b.executions * b.instructions.get(c, 0) for b in blocks for c in COMPUTATION)
        assert function.computation == own == work[function.name]
        assert function.invocations == calls[function.name]
        total += own
    roots = [c.function for c in profile.call_tree if c.parent < 0]
    inclusive = {f.name: f.computation_inclusive for f in profile.functions}
    assert sum(inclusive[root] or 0 for root in roots) == total


@every_example
def test_little_traffic_is_unaccounted(name: str, measured: Callable[[str], Measured]) -> None:
    profile = measured(name).profile
    if name == "script":  # start-up is a larger fraction of the short script
        whole = (PROGRAMS / "script" / "example.script").read_bytes()
        profile, _ = run_built(measured(name).built, (), whole)
    unknown = sum(t.bytes for t in profile.transfers if t.source == "(unknown)")
    assert profile.unaccounted.bytes == unknown
    # The containers of C++ are partly in the library, whose writes nobody sees.
    assert profile.unaccounted.share < (0.05 if name == "shapes" else 0.01)


def test_blocks_beyond_two_bytes_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options((PROGRAMS / "values.c",))
    narrow, _ = run_built(build_program(options, tmp_path), (), b"")
    monkeypatch.setattr("dse.profile.command.NARROW", 0)
    wide, _ = run_built(build_program(options, tmp_path), (), b"")
    assert len({read.source for read in narrow.reads}) > 1
    assert wide.reads == narrow.reads
    assert wide.run.shadow_bytes > narrow.run.shadow_bytes


@pytest.mark.parametrize("size", [8, 16])
def test_chunks_larger_than_a_word_keep_their_last_block(size: int, tmp_path: Path) -> None:
    options = Options((PROGRAMS / "rotate.c",), ("i",), caches=(), chunk=size)
    built = build_program(options, tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, ("i",), picture(8))
    flow = Follower(chunk=size).follow(events(tmp_path / "trace"))
    program = len(built.tables["accesses"])
    sites = dict(enumerate(sites_that_ran(built, flow)))
    reads = {(sites[r.access], r.source): r.bytes for r in profile.reads if r.access in sites}
    assert reads == {key: n for key, n in flow.reads.items() if key[0] < program}


def test_chunks_of_a_word(tmp_path: Path) -> None:
    options = Options((PROGRAMS / "rotate.c",), ("r",), caches=(), chunk=4)
    built = build_program(options, tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, ("r",), picture(8))
    flow = Follower(chunk=4).follow(events(tmp_path / "trace"))
    assert by_name(profile.transfers) == named(profile, flow.transfers)
    assert by_name(profile.transfers_into) == named(profile, flow.into)


def test_exceptions_put_the_call_stack_right(measured: Callable[[str], Measured]) -> None:
    profile = measured("shapes").profile
    calls = {f.name: f.invocations for f in profile.functions}
    large = [i for i in range(0, 25, 3) if i > 6]
    assert calls["guarded(Shape const&, Ring<double, 4>&)"] == 25 - 1  # a side of -1 is refused
    assert calls["Disk::area() const"] == len(range(0, 25, 3))
    assert calls["__cxa_throw"] == 1 + len(large)
    parents = {
        (context.function, profile.call_tree[context.parent].function)
        for context in profile.call_tree
        if context.parent >= 0
    }
    # What runs after a catch is called by the function that caught, not by the one that threw.
    for name in ("Disk::area() const", "__cxa_begin_catch", "__cxa_end_catch"):
        assert {b for a, b in parents if a == name} <= {
            "guarded(Shape const&, Ring<double, 4>&)",
            "main",
        }
    push = next(name for name in calls if "::push(" in name and name.startswith("Ring"))
    assert {b for a, b in parents if a == push} == {"guarded(Shape const&, Ring<double, 4>&)"}


@pytest.mark.parametrize("functions", [None, ("execute", "by_value")])
def test_long_jumps_put_the_call_stack_right(
    functions: tuple[str, ...] | None, tmp_path: Path
) -> None:
    built = build_program(Options((PROGRAMS / "dispatch.c",), functions=functions), tmp_path)
    profile, output = run_built(built, (), b"")
    failures = int(output.split(b",")[1].split()[0])
    assert failures > 1
    parents = {
        (context.function, profile.call_tree[context.parent].function)
        for context in profile.call_tree
        if context.parent >= 0
    }
    assert {b for a, b in parents if a == "execute"} == {"main"}
    assert {b for a, b in parents if a == "by_value"} == {"main" if functions else "qsort"}


def test_the_script_is_a_program_of_many_lines() -> None:
    lines = sum(len((PROGRAMS / name).read_text().splitlines()) for name in SCRIPT)
    assert lines >= 1000


SCATTERED = """
#include <stdio.h>
static unsigned char held[6000];
static unsigned at = 1;
static unsigned next(void) { return at = at * 1103515245u + 12345u; }
static void put(unsigned i) { held[i] += (unsigned char)i; }
static unsigned long wide(unsigned i) { return *(unsigned long *)(held + i / 8 * 8); }
int main(void) {
    unsigned long s = 0;
    for (int i = 0; i < 1500; i++) { put(next() / 65536 % 6000); s += wide(next() / 65536 % 2000); }
    printf("%lu\\n", s);
    return 0;
}
"""
WAYS = tuple(
    CacheLevels(l1=32 * first, l2=32 * 2 * second, line=32, l1_ways=ways, l2_ways=second)
    for first, ways, second in [
        (1, 1, 2),
        (1, 1, 3),
        (3, 3, 5),
        (8, 8, 16),
        (12, 6, 12),
        (16, 16, 24),
        (20, 20, 33),
        (24, 24, 75),
    ]
)


@pytest.mark.parametrize("fills", [0, 99])
def test_caches_of_any_number_of_ways_are_those_of_the_reference(
    fills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However soon the clock of L2 ends: after 99 lines the order of up to 75 ways is kept."""

    def compiled(chain: Toolchain, definitions: dict[str, str | int | None], target: Path) -> None:
        compile_runtime(chain, definitions | {"DSE_FILLS": fills}, target)

    monkeypatch.setattr(command, "compile_runtime", compiled)
    options = Options((source(tmp_path, SCATTERED),), caches=WAYS)
    built = build_program(options, tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, (), b"")
    trace = events(tmp_path / "trace")
    for number, levels in enumerate(WAYS):
        reference = simulate(trace, levels, number)
        assert reference.wrong == 0
        hits = [sum(a.hits[number][k] for a in profile.accesses) for k in range(3)]
        assert hits == [
            sum(n for (_, at), n in reference.hits.items() if at == k) for k in range(3)
        ]
        assert min(hits) > 100
