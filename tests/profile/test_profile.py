"""Profiles of real programs: against plain references on their full traces, valgrind and by hand.

Valgrind counts instructions exactly: before each block of the program's LLVM IR is a row of
no-operations, as many as the block has instructions by the profile's definition, which a variable
switches off. The machine instructions of both runs of this one binary differ by the number of IR
instructions that were executed.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.profile import command
from dse.profile.build.analysis import analyse_module
from dse.profile.build.build import load_modules
from dse.profile.build.classes import COMPUTATION
from dse.profile.build.frontend import link_program
from dse.profile.build.irtext import FunctionText, parse_module
from dse.profile.build.runtime_options import compile_runtime
from dse.profile.build.toolchain import Toolchain, find_toolchain
from dse.profile.command import InstrumentedProgram, ProfileOptions, build_program
from dse.profile.document import CacheLevels
from dse.profile.run.run import environment
from tests.needs import needs
from tests.profile.examples import (
    CACHES,
    EXAMPLES,
    PROGRAMS,
    Example,
    Measured,
    by_name,
    executions,
    named,
    picture,
    plain_output,
    run_built,
    sites_that_ran,
    source,
    turned,
)
from tests.profile.reference import Follower, events, simulate
from tests.profile.test_irtext import compare_modules

# Files of one program, each with the arguments of its main.
FILES = dict.fromkeys(["values", "blocks", "words", "format", "dispatch", "fft", "constructs"], "")
FILES |= {"queens": "5", "bits": "300"}


def one_program(folder: Path) -> Example:
    """Write the files, each main renamed, and a main that calls all."""
    calls, names = "", []
    for name, argument in FILES.items():
        text = (PROGRAMS / f"{name}.c").read_text()
        head = re.search(r"^int main\((.*)\) {$", text, re.MULTILINE)
        assert head
        line = f"int {name}_main(int argc, char **argv) {{"
        source(folder, text.replace(head[0], line), f"{name}.c")
        given = f'"{name}", "{argument}", 0' if argument else f'"{name}", 0'
        calls += f"    {name}_main({1 + bool(argument)}, (char *[]){{{given}}});\n"
        names.append(f"{name}_main(int, char **)")
    main = f"int {', '.join(names)};\nint main(void) {{\n{calls}    return 0;\n}}\n"
    paths = [source(folder, main, "main.c"), *(folder / f"{name}.c" for name in FILES)]
    return Example(tuple(map(str, paths)), (), EXAMPLES["words"].given)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Measured]:
    """Return a function that builds each program once, and runs each example once."""
    known: dict[str, Measured] = {}
    programs: dict[tuple[Path, ...], InstrumentedProgram] = {}

    def get(name: str) -> Measured:
        if name not in known:
            folder = tmp_path_factory.mktemp("built")
            example = one_program(folder) if name == "several" else EXAMPLES[name]
            sources = tuple(PROGRAMS / source for source in example.sources)
            if sources not in programs:
                options = ProfileOptions(sources, caches=CACHES)
                programs[sources] = build_program(options, folder, folder / "trace")
            built = programs[sources]
            profile, output = run_built(built, example.arguments, example.given)
            plain, trace = plain_output(example, folder), built.result.with_name("trace")
            known[name] = Measured(profile, output, plain, events(trace), built)
        return known[name]

    return get


@pytest.mark.parametrize("name", ["several", "script", "rotate", "rotate quarters", "shapes"])
def test_a_profile_is_that_of_the_references(
    name: str, measured: Callable[[str], Measured]
) -> None:
    found = measured(name)
    assert found.output == found.plain
    assert len(found.output) > 0
    assert found.profile.run.complete
    check_counts(found)
    check_flow(found)
    check_static_tables(found)
    for number in range(len(CACHES)):
        check_cache(found, number)
    check_transfers(found)
    check_working_sets(found)
    check_reads(found)
    check_computation(found)
    profile = found.profile
    if name == "script":  # start-up is a larger fraction of the short script
        whole = (PROGRAMS / "script" / "example.script").read_bytes()
        profile, _ = run_built(found.built, (), whole)
    # The containers of C++ are partly in the library, whose writes nobody sees.
    assert profile.unaccounted.share < (0.05 if name == "shapes" else 0.01)


def check_counts(found: Measured) -> None:
    """Compare executions of blocks and edges with the trace."""
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


def check_flow(found: Measured) -> None:
    """Check that flow is conserved at each block."""
    profile = found.profile
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


def check_static_tables(found: Measured) -> None:
    """Compare calls, registers and lines with those of the blocks that ran."""
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


def check_cache(found: Measured, number: int) -> None:
    """Compare a cache with the reference, access by access."""
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


def check_transfers(found: Measured) -> None:
    """Compare transfers with the rule; kept data is fetched once and returned once per reader."""
    profile, flow = found.profile, found.flow
    assert by_name(profile.transfers) == named(profile, flow.transfers)
    assert by_name(profile.transfers_into) == named(profile, flow.into)
    assert by_name(profile.transfers_out) == named(profile, flow.out)  # type: ignore[arg-type]
    local = {f.name: f.local_bytes for f in profile.functions if f.local_bytes}
    assert local == {profile.functions[i].name: n for i, n in flow.local.items()}
    calls = {f.name: f.invocations for f in profile.functions if f.invocations}
    assert calls == {profile.functions[i].name: n for i, n in flow.invocations.items()}
    assert by_name(profile.fetched) == named(profile, flow.fetched)
    assert by_name(profile.returned) == named(profile, flow.returned)  # type: ignore[arg-type]
    for once, anew in (
        (profile.fetched, profile.transfers_into),
        (profile.returned, profile.transfers_out),
    ):
        assert all(count <= by_name(anew)[pair] for pair, count in by_name(once).items())
    unknown = sum(t.bytes for t in profile.transfers if t.source == "(unknown)")
    assert profile.unaccounted.bytes == unknown


def check_working_sets(found: Measured) -> None:
    """Compare working sets with the words that a function touched."""
    flow = found.flow
    for i, function in enumerate(found.profile.functions):
        calls = [len(words) for (f, _), words in flow.call_words.items() if f == i]
        assert function.working_set == 4 * len(flow.words[i]), function.name
        assert function.call_working_set == 4 * max(calls, default=0), function.name


def check_reads(found: Measured) -> None:
    """Compare the loads with the blocks whose stores they read."""
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


def check_computation(found: Measured) -> None:
    """Compare computation of blocks, functions and the call tree."""
    profile = found.profile
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


def test_chunks_of_words_and_blocks_beyond_two_bytes_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.profile.command.NARROW", 0)
    options = ProfileOptions((PROGRAMS / "rotate.c",), caches=(), chunk=8)
    built = build_program(options, tmp_path, tmp_path / "trace")
    program = len(built.tables["accesses"])
    for way in ("r", "i"):
        profile, _ = run_built(built, (way,), picture(8))
        flow = Follower(chunk=8).follow(events(tmp_path / "trace"))
        sites = dict(enumerate(sites_that_ran(built, flow)))
        reads = {(sites[r.access], r.source): r.bytes for r in profile.reads if r.access in sites}
        assert reads == {key: n for key, n in flow.reads.items() if key[0] < program}
        assert len({block for _, block in reads}) > 3
        assert by_name(profile.transfers) == named(profile, flow.transfers)
        assert by_name(profile.transfers_into) == named(profile, flow.into)


def test_text_of_cxx_is_read_as_llvm_reads_it(measured: Callable[[str], Measured]) -> None:
    compare_modules([str(path) for path in measured("shapes").built.parts.modules])


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


def test_long_jumps_put_the_call_stack_right(
    measured: Callable[[str], Measured], tmp_path: Path
) -> None:
    options = ProfileOptions((PROGRAMS / "dispatch.c",), functions=("execute", "by_value"))
    whole = measured("several")
    some, output = run_built(build_program(options, tmp_path), (), b"")
    assert output in whole.output
    assert int(output.split(b",")[1].split()[0]) > 1  # failures
    for profile, main, caller in (
        (whole.profile, "dispatch_main", "qsort"),
        (some, "main", "main"),
    ):
        parents = {
            (context.function, profile.call_tree[context.parent].function)
            for context in profile.call_tree
            if context.parent >= 0
        }
        assert {b for a, b in parents if a == "execute"} == {main}
        assert {b for a, b in parents if a == "by_value"} == {caller}


SCATTERED = """
#include <stdio.h>
static unsigned char held[6000];
static unsigned at = 1;
static unsigned next(void) { return at = at * 1103515245u + 12345u; }
static void put(unsigned i) { held[i] += (unsigned char)i; }
static unsigned long wide(unsigned i) { return *(unsigned long *)(held + i / 8 * 8); }
int main(void) {
    unsigned long s = 0;
    for (int i = 0; i < 800; i++) { put(next() / 65536 % 6000); s += wide(next() / 65536 % 2000); }
    printf("%lu\\n", s);
    return 0;
}
"""
WAYS = tuple(
    CacheLevels(l1=32 * first, l2=32 * 2 * second, line=32, l1_ways=ways, l2_ways=second)
    for first, ways, second in [(1, 1, 3), (3, 3, 5), (8, 8, 16), (12, 6, 12), (24, 24, 75)]
)


def test_caches_of_any_number_of_ways_are_those_of_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However soon the clock of L2 ends: after 99 lines the order of up to 75 ways is kept."""

    def compiled(chain: Toolchain, definitions: dict[str, str | int | None], target: Path) -> None:
        compile_runtime(chain, definitions | {"DSE_FILLS": 99}, target)

    monkeypatch.setattr(command, "compile_runtime", compiled)
    options = ProfileOptions((source(tmp_path, SCATTERED),), caches=WAYS)
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
        assert min(hits) > 50


# ── Instructions, by valgrind ──

ROW = (
    '  call void asm sideeffect "testb $$1, dse_rows(%rip)\\0Aje 1f\\0A.rept {n}\\0Anop\\0A'
    '.endr\\0A1:",'
    ' "~{{memory}},~{{dirflag}},~{{fpsr}},~{{flags}}"()'
)
SWITCH = """
#include <stdlib.h>
__attribute__((visibility("hidden"))) char dse_rows;
__attribute__((constructor(101))) static void begin(void) { dse_rows = getenv("ROWS") != 0; }
"""


def with_rows(modules: list[str], target: Path) -> None:
    """Write an object file whose blocks have rows of no-operations."""
    from llvmlite import binding

    module, machine = load_modules(modules)
    parts = parse_module(str(module))
    blocks = iter(analyse_module(parts).blocks)
    lines: list[str] = []
    for part in parts:
        if not isinstance(part, FunctionText):
            lines.append(part)
            continue
        lines.append(part.header)
        for text in part.blocks:
            row = ROW.format(n=sum(next(blocks).instructions.values()))
            first = next(
                i for i, s in enumerate(text.statements) if s.opcode not in ("phi", "landingpad")
            )
            lines.append(f"{text.label}:")
            for i, statement in enumerate(text.statements):
                lines += [row] * (i == first) + statement.lines
        lines.append("}")
    target.write_bytes(machine.emit_object(binding.parse_assembly("\n".join(lines))))


def symbol(name: str) -> str:
    """Return a function's one symbol: without the level of a recursion, not by its alias."""
    name = re.sub(r"'\d+$", "", name)
    return {"other": "original"}.get(name, name)


def callgrind(
    program: Path, arguments: tuple[str, ...], given: bytes, rows: bool
) -> tuple[Counter[str], Counter[str]]:
    """Return machine instructions by function, and calls of each function."""
    out = program.with_name("callgrind.out")
    line = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        "--compress-strings=no",
        "--demangle=no",
    ]
    environ = environment(()) | ({"ROWS": "1"} if rows else {})
    subprocess.run(
        [*line, str(program), *arguments], input=given, capture_output=True, env=environ, check=True
    )
    cost, calls, function, called = Counter[str](), Counter[str](), "", False
    for text in out.read_text().splitlines():
        if text.startswith("fn="):
            function = symbol(text[3:])
        elif text.startswith("cfn="):
            callee = symbol(text[4:])
        elif text.startswith("calls="):
            calls[callee] += int(text[6:].split()[0])
            called = True
        elif re.match(r"[+\-*\d]", text):
            if not called:
                cost[function] += int(text.split()[1])
            called = False
    return cost, calls


@pytest.mark.parametrize("name", ["several", "shapes"])
def test_instructions_are_those_that_valgrind_counts(
    name: str, measured: Callable[[str], Measured], tmp_path: Path
) -> None:
    needs("valgrind")
    found = measured(name)
    profile, modules = found.profile, found.built.parts.modules
    example = EXAMPLES["words" if name == "several" else name]  # the same input
    with_rows([str(path) for path in modules], tmp_path / "rows.o")
    (tmp_path / "switch.c").write_text(SWITCH)
    program, objects = tmp_path / "rows", (tmp_path / "rows.o", tmp_path / "switch.o")
    # compiled first: beside a source the linker would compile another C++ library
    command = [*find_toolchain().c, "-O1", "-fno-sanitize=all", "-c", str(tmp_path / "switch.c")]
    subprocess.run([*command, "-o", str(objects[1])], check=True)
    link_program(find_toolchain(), objects, program, found.built.cxx)
    off, _ = callgrind(program, example.arguments, example.given, rows=False)
    on, calls = callgrind(program, example.arguments, example.given, rows=True)
    functions = {f.name: f for f in profile.functions if not f.foreign}
    counted: Counter[str] = Counter()
    for block in profile.blocks:
        if block.function in functions:
            counted[functions[block.function].symbol] += block.executions * block.area
    executed = {f.symbol for f in functions.values() if f.invocations}
    assert sum(counted.values()) > 100
    assert {s: on[s] - off[s] for s in executed} == {s: counted[s] for s in executed}
    invocations = {f.symbol: f.invocations for f in functions.values() if f.invocations}
    assert {symbol: calls[symbol] for symbol in invocations} == invocations


# ── Rotation of a picture, by hand ──


SIDES = (8, 32)


@pytest.mark.parametrize("side", SIDES)
def test_rotation_by_rings_moves_the_picture_and_a_constant(
    side: int, measured: Callable[[str], Measured]
) -> None:
    profile, output = run_built(measured("rotate").built, ("i",), picture(side))
    n = side * side
    assert by_name(profile.transfers) == {
        ("load", "turn_rings"): 4 * n + 16,  # the pixels; address (8), side, height
        ("turn_rings", "store"): 4 * n,
        ("load", "store"): 20,  # address, side, height, depth
        ("(input)", "main"): 8 + 1,  # argv[1] and its first letter
    }
    assert output == turned(side)
    digits = 2 * len(str(side)) + len("255")
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls == {
        "main": 1,
        "load": 1,
        "number": 3,
        "turn_rings": 1,
        "turn_quarters": 0,
        "store": 1,
        "digits": digits,
        "fputs": 0,
        "malloc": 1,
        # P6; each number's digits and what ends it, and the blank before the first; the pixels.
        "getchar": 2 + 1 + digits + 3 + 3 * n,
        "putchar": 6 + digits + 3 * n,
    }
    loops = executions(profile, "turn_rings")
    assert max(loops) == n // 4  # the body: a quarter of the picture
    assert loops.count(n // 4) == 1
    assert max(executions(profile, "load")) == max(executions(profile, "store")) == n


@pytest.mark.parametrize("side", SIDES)
def test_rotation_by_quarters_moves_between_its_levels(
    side: int, measured: Callable[[str], Measured]
) -> None:
    profile, output = run_built(measured("rotate").built, ("r",), picture(side))
    n, levels = side * side, side.bit_length() - 1
    calls = sum(4**level for level in range(levels))
    moved = by_name(profile.transfers)
    assert moved["load", "turn_quarters"] == 4 * n + 12 * calls  # each reads address and side anew
    assert moved["turn_quarters", "turn_quarters"] == (levels - 1) * 4 * n
    assert moved["turn_quarters", "store"] == 4 * n
    assert moved["load", "store"] == 20
    into = by_name(profile.transfers_into)
    assert into["load", "turn_quarters"] == 4 * n + 12  # the whole recursion reads them once
    assert ("turn_quarters", "turn_quarters") not in into
    assert output == turned(side)
    function = next(f for f in profile.functions if f.name == "turn_quarters")
    assert function.invocations == calls
    assert max(executions(profile, "turn_quarters")) == levels * n // 4
