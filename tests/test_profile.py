"""Profiles of real programs against plain references on their full traces."""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dse.problems import InputError
from dse.profile.classes import COMPUTATION
from dse.profile.command import KENTER, Built, Options, build_program, measure
from dse.profile.run import Limits, environment
from dse.profile.schema import CacheLevels, Profile
from dse.profile.toolchain import find_toolchain
from tests.profile_reference import Flow, Follower, events, simulate

PROGRAMS = Path(__file__).parents[1] / "studies" / "programs"
CACHES = (
    KENTER,
    CacheLevels(l1=512, l2=2048, line=32),
    CacheLevels(l1=1024, l2=4096, line=64, l1_ways=2, l2_ways=4),
)


def picture(side: int) -> bytes:
    """Return a square picture with different pixels."""
    pixels = bytes((7 * i + i // 5) % 256 for i in range(3 * side * side))
    return b"P6 %d %d 255\n" % (side, side) + pixels


TEXT = b"the cat sat on the mat; the dog, too\nand then the cat ran off\n" * 3


@dataclass(frozen=True)
class Example:
    sources: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    given: bytes = b""


SCRIPT = tuple(
    f"script/{name}.c"
    for name in [
        "main",
        "value",
        "object",
        "table",
        "lexer",
        "parser",
        "compiler",
        "machine",
        "builtins",
    ]
)
EXAMPLES = {
    "script": Example(SCRIPT, (), (PROGRAMS / "script" / "example.script").read_bytes()),
    "rotate": Example(("rotate.c",), ("i",), picture(8)),
    "rotate quarters": Example(("rotate.c",), ("r",), picture(8)),
    "queens": Example(("queens.c",), ("5",)),
    "values": Example(("values.c",)),
    "blocks": Example(("blocks.c",)),
    "words": Example(("words.c",), (), TEXT),
    "format": Example(("format.c",)),
    "dispatch": Example(("dispatch.c",)),
    "shapes": Example(("shapes.cpp",), ("25",)),
    "fft": Example(("fft.c",)),
    "constructs": Example(("constructs.c",)),
    "bits": Example(("bits.c",), ("300",)),
}


@dataclass
class Measured:
    profile: Profile
    output: bytes
    plain: bytes
    trace: list[tuple[bytes, int, int, int, int, int]]
    built: Built

    @functools.cached_property
    def flow(self) -> Flow:
        """What the reference finds on the trace."""
        return Follower().follow(self.trace)


def run_built(built: Built, arguments: tuple[str, ...], given: bytes) -> tuple[Profile, bytes]:
    """Run a built program on bytes; return profile and output."""
    source, target = built.result.with_name("in"), built.result.with_name("out")
    source.write_bytes(given)
    with source.open("rb") as stdin, target.open("wb") as stdout:
        profile = measure(built, arguments, stdin, stdout)
    return profile, target.read_bytes()


def test_the_script_is_a_program_of_many_lines() -> None:
    lines = sum(len((PROGRAMS / name).read_text().splitlines()) for name in SCRIPT)
    assert lines >= 1000


def plain_output(example: Example, folder: Path) -> bytes:
    """Return what the program prints when it is built by the compiler alone."""
    toolchain = find_toolchain()
    sources = [str(PROGRAMS / name) for name in example.sources]
    compiler = toolchain.cxx if any(name.endswith("cpp") for name in sources) else toolchain.c
    program = folder / "plain"
    command = [*compiler, "-O2", "-fno-sanitize=all", *sources, "-o", str(program), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    name = Path(example.sources[0]).stem
    done = subprocess.run(
        [name, *example.arguments],
        executable=program,
        input=example.given,
        capture_output=True,
        env=environment(()),
        check=True,
    )
    return done.stdout


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
    for (source, to), count in flow.edges.items():
        # A long jump goes on in the middle of the block that called setjmp.
        known = (source, to) in edges
        seen[source if known else next(a for a, b in edges if b == to), to] += count
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
    expected = [tuple(reference.hits[i, k] for k in range(3)) for i in range(len(sites))]
    assert [a.hits[number] for a in sites] == expected
    crossings = {
        (d.source, d.to): [d.dirty, d.clean]
        for d in found.profile.dependencies
        if d.cache == number
    }
    assert crossings == reference.crossings


def named(profile: Profile, matrix: Counter[tuple[int | str, int]]) -> dict[tuple[str, str], int]:
    """Name the functions of a matrix."""
    names = [f.name for f in profile.functions]
    return {
        (a if isinstance(a, str) else names[a], names[b]): count for (a, b), count in matrix.items()
    }


def by_name(transfers: tuple[object, ...]) -> dict[tuple[str, str], int]:
    return {(t.source, t.to): t.bytes for t in transfers}  # type: ignore[attr-defined]


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
        own = sum(b.executions * b.instructions[c] for b in blocks for c in COMPUTATION)
        assert function.computation == own == work[function.name]
        assert function.invocations == calls[function.name]
        total += own
    roots = [c.function for c in profile.call_tree if c.parent < 0]
    inclusive = {f.name: f.computation_inclusive for f in profile.functions}
    assert sum(inclusive[root] or 0 for root in roots) == total


@every_example
def test_little_traffic_is_unaccounted(name: str, measured: Callable[[str], Measured]) -> None:
    profile = measured(name).profile
    unknown = sum(t.bytes for t in profile.transfers if t.source == "(unknown)")
    assert profile.unaccounted.bytes == unknown
    # The containers of C++ are partly in the library, whose writes nobody sees.
    assert profile.unaccounted.share < (0.05 if name == "shapes" else 0.01)


def test_chunks_of_a_word(tmp_path: Path) -> None:
    options = Options((PROGRAMS / "rotate.c",), ("r",), caches=(), chunk=4)
    built = build_program(options, tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, ("r",), picture(8))
    flow = Follower(chunk=4).follow(events(tmp_path / "trace"))
    assert by_name(profile.transfers) == named(profile, flow.transfers)
    assert by_name(profile.transfers_into) == named(profile, flow.into)


@pytest.fixture(scope="module")
def rotate(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("rotate")
    return build_program(Options((PROGRAMS / "rotate.c",)), folder)


SIDES = (8, 16, 32, 64, 128, 256, 512)


@pytest.mark.parametrize("side", SIDES)
def test_rotation_by_rings_moves_the_picture_and_a_constant(side: int, rotate: Built) -> None:
    profile, output = run_built(rotate, ("i",), picture(side))
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
def test_rotation_by_quarters_moves_between_its_levels(side: int, rotate: Built) -> None:
    profile, output = run_built(rotate, ("r",), picture(side))
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


def test_edges_of_the_loops_by_hand(rotate: Built) -> None:
    profile, _ = run_built(rotate, ("i",), picture(16))
    edges = {
        (profile.blocks[e.source].name, profile.blocks[e.to].name): e.count
        for e in profile.edges
        if profile.blocks[e.source].function == "store"
    }
    body = "for.body"
    assert edges[body, body] == 255
    assert sum(count for (source, to), count in edges.items() if to == body and source != body) == 1
    assert sum(count for (source, to), count in edges.items() if source == body and to != body) == 1


def executions(profile: Profile, function: str) -> list[int]:
    return [block.executions for block in profile.blocks if block.function == function]


def turned(side: int) -> bytes:
    """Work out the turned picture directly."""
    old = np.frombuffer(picture(side)[-3 * side * side :], np.uint8).reshape(side, side, 3)
    # Each ring element takes the place of its neighbour: new[y, x] = old[side - 1 - x, y].
    out = old[::-1].swapaxes(0, 1).tobytes()
    return b"P6\n%d %d\n255\n" % (side, side) + out


def test_the_same_run_gives_the_same_bytes(rotate: Built) -> None:
    first, _ = run_built(rotate, ("r",), picture(32))
    second, _ = run_built(rotate, ("r",), picture(32))
    assert first.dumps() == second.dumps()


def test_a_profile_is_read_as_it_was_written(rotate: Built, tmp_path: Path) -> None:
    profile, _ = run_built(rotate, ("i",), picture(8))
    profile.save(tmp_path / "p.json")
    assert Profile.load(tmp_path / "p.json") == profile
    assert (tmp_path / "p.json").stat().st_size < 200_000


def source(folder: Path, text: str, name: str = "program.c") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def profile_text(folder: Path, text: str, *arguments: str, **settings: object) -> Profile:
    """Profile a program given as text."""
    sources = (source(folder, text),)
    built = build_program(Options(sources, arguments, **settings), folder)  # type: ignore[arg-type]
    return run_built(built, arguments, b"")[0]


ENDLESS = """
#include <stdlib.h>
static int step(int x) { return x * 3 + 1; }
int main(void) { volatile int x = 1; for (;;) x = step(x); }
"""
GREEDY = """
#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); } }
"""
CRASHING = """
static int fall(int n) { volatile int *p = 0; return n ? fall(n - 1) + 1 : *p; }
int main(void) { return fall(5); }
"""
DEEP = """
static int deep(int n) {
    volatile int a[64];
    a[n & 63] = n;
    return n < 0 ? 0 : deep(n + 1) + a[n & 63];
}
int main(void) { return deep(0); }
"""
REFUSING = """
#include <stdlib.h>
static void leave(int n) { if (n == 3) exit(7); }
int main(void) { for (int i = 0;; i++) leave(i); }
"""


@pytest.mark.parametrize(
    ("text", "ended", "function", "calls"),
    [
        (CRASHING, "signal", "fall", 6),
        (DEEP, "signal", "deep", None),
        (REFUSING, "exit", "leave", 4),
    ],
)
def test_a_program_that_ends_badly_leaves_a_partial_profile(
    text: str, ended: str, function: str, calls: int | None, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, text)
    assert not profile.run.complete
    assert profile.run.ended == ended
    assert profile.run.signal == (11 if ended == "signal" else None)
    assert profile.run.exit_status == (None if ended == "signal" else 7)
    assert any("did not complete" in note for note in profile.notes)
    found = next(f for f in profile.functions if f.name == function)
    assert found.invocations == calls if calls else found.invocations > 1000


@pytest.mark.parametrize(
    ("text", "limits", "ended"),
    [
        (ENDLESS, Limits(seconds=0.3), "time limit"),
        (GREEDY, Limits(memory=300 << 20), "memory limit"),
    ],
)
def test_a_program_that_runs_away_is_stopped(
    text: str, limits: Limits, ended: str, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, text, limits=limits)
    assert (profile.run.complete, profile.run.ended) == (False, ended)
    assert sum(block.executions for block in profile.blocks) > 10


def test_a_program_killed_outright_is_a_clear_error(tmp_path: Path) -> None:
    text = "#include <signal.h>\nint main(void) { raise(SIGKILL); return 0; }"
    with pytest.raises(InputError, match="without leaving a result"):
        profile_text(tmp_path, text)


@pytest.mark.parametrize(
    ("call", "header", "words"),
    [
        ("pthread_create(0, 0, 0, 0)", "pthread.h", "it has threads"),
        ("fork()", "unistd.h", "it makes processes"),
        ('execl("/bin/true", "true", (char *)0)', "unistd.h", "it replaces itself"),
    ],
)
def test_threads_and_processes_are_refused(
    call: str, header: str, words: str, tmp_path: Path
) -> None:
    text = f"#include <{header}>\nint main(void) {{ return {call}; }}"
    with pytest.raises(InputError, match=words):
        profile_text(tmp_path, text)


COUNTING = """
#include <stdio.h>
static int data[64];
static int add(int n) { int s = 0; for (int i = 0; i < n; i++) s += data[i]; return s; }
static void fill(int n) { for (int i = 0; i < n; i++) data[i] = i; }
static int work(int n) { fill(n); return add(n); }
static int last(void) { return add(1); }
int main(void) {
    int s = 0;
    for (int i = 1; i <= 6; i++) s += work(i);
    printf("%d\\n", s + last());
    return 0;
}
"""


@pytest.mark.parametrize(
    ("region", "calls", "loop"),
    [
        ("work", {"work": 6, "add": 6, "fill": 6, "last": 0}, 21),
        ("work:3", {"work": 1, "add": 1, "fill": 1, "last": 0}, 3),
        ("work:2-4", {"work": 3, "add": 3, "fill": 3, "last": 0}, 9),
        ("work:5-", {"work": 2, "add": 2, "fill": 2, "last": 0}, 11),
        ("add", {"work": 0, "add": 7, "fill": 0, "last": 0}, 0),
        ("work:6..last", {"work": 1, "add": 1, "fill": 1, "last": 0}, 6),
    ],
)
def test_a_region_counts_its_calls_alone(
    region: str, calls: dict[str, int], loop: int, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, COUNTING, region=region)
    found = {f.name: f.invocations for f in profile.functions}
    assert {name: found[name] for name in calls} == calls
    assert max(executions(profile, "fill")) == loop
    stores = [a for a in profile.accesses if profile.blocks[a.block].function == "fill"]
    assert sum(sum(a.hits[0]) for a in stores) == loop
    # What was written before the region began is still known to be written by fill.
    if region == "add":
        assert by_name(profile.transfers)["fill", "add"] == 4 * (21 + 1)


def test_named_functions_take_in_what_they_call(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, COUNTING, functions=("work", "last"))
    assert {c.function for c in profile.call_tree} == {"main", "work", "last"}
    moved = by_name(profile.transfers)
    assert set(moved) == {("work", "last"), ("(constants)", "main")}
    assert moved["work", "last"] == 4


def test_unknown_names_are_answered_with_the_nearest(tmp_path: Path) -> None:
    for settings in ({"functions": ("wrk",)}, {"region": "wrk"}):
        with pytest.raises(InputError, match=r"no function 'wrk'\s+did you mean 'work'"):
            profile_text(tmp_path, COUNTING, **settings)


def test_every_problem_with_the_sources_at_once(tmp_path: Path) -> None:
    broken = source(tmp_path, "int main(void) { return x; }", "broken.c")
    with pytest.raises(InputError) as error:
        build_program(Options((tmp_path / "absent.c", tmp_path / "notes.txt")), tmp_path)
    assert [p.message for p in error.value.problems] == ["no such file", "no such file"]
    with pytest.raises(InputError, match="undeclared identifier 'x'"):
        build_program(Options((broken,)), tmp_path)
    with pytest.raises(InputError, match="power of two"):
        build_program(
            Options((broken,), caches=(CacheLevels(l1=3000, l2=9000, line=64),)), tmp_path
        )
    with pytest.raises(InputError, match="1, 2, 4, 8, 16, 32 or 64 B"):
        build_program(Options((broken,), chunk=3), tmp_path)


def test_functions_of_one_name_in_two_files(tmp_path: Path) -> None:
    one = source(
        tmp_path,
        "static int f(int x) { return x * x; }\nint g(int x) { return f(x + 1) + f(x); }",
        "one.c",
    )
    two = source(
        tmp_path,
        "int g(int);\nstatic int f(int x) { return 2 * x; }\n"
        "int main(int n, char **a) { (void)a; return g(n) + f(n) - 7; }",
        "two.c",
    )
    profile, _ = run_built(build_program(Options((one, two)), tmp_path), (), b"")
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls == {"f (one.c)": 2, "g": 1, "f (two.c)": 1, "main": 1}


FOREIGN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char a[40], b[40], *c = malloc(16);
    int x = 0, y = 0;
    memset(a, 'a', 20); a[20] = 0;
    memcpy(b, a, 21);
    sscanf("12 34", "%d %d", &x, &y);
    snprintf(c, 16, "%s:%d", b + 15, x);
    c = realloc(c, 100000);
    puts(c);
    return c[0] == 'a' && x + y == 46 ? 0 : 1;
}
"""


def test_library_functions_read_and_write_memory(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, FOREIGN)
    moved = by_name(profile.transfers)
    assert moved["memset", "memcpy"] == 20
    assert moved["main", "memcpy"] == 1
    assert moved["memcpy", "snprintf"] == 6
    assert moved["snprintf", "puts"] == len("aaaaa:12") + 1
    assert moved["snprintf", "main"] == 1
    assert moved["sscanf", "main"] == 8
    assert profile.unaccounted.bytes == 0
    assert not profile.unaccounted.functions
    assert {f.name for f in profile.functions if f.foreign} >= {"memcpy", "sscanf", "realloc"}


def test_unmodelled_functions_are_reported(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    #include <stdio.h>
    #include <string.h>
    int main(void) {
        char *a = malloc(32), *rest; a[0] = 'x'; a[1] = ' '; a[2] = 'y'; a[3] = 0;
        char *b = malloc(32); strxfrm(b, a, 32);
        return b[0] == strtok_r(a, " ", &rest)[0] ? 0 : 1;
    }"""
    profile = profile_text(tmp_path, text)
    assert {u.name: u.calls for u in profile.unaccounted.functions} == {"strxfrm": 1, "strtok_r": 1}
    assert profile.unaccounted.bytes == 1
    assert by_name(profile.transfers)["(unknown)", "main"] == 1


def test_levels_of_optimisation(tmp_path: Path) -> None:
    loads = {}
    for level in (0, 1):
        profile = profile_text(tmp_path, COUNTING, optimisation=level)
        loads[level] = sum(
            sum(a.hits[0]) for a in profile.accesses if profile.blocks[a.block].name != "(library)"
        )
    assert loads[0] > 3 * loads[1]  # variables in memory against variables in registers


def command(*words: str, given: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).parents[1]
    environ = {**os.environ, "PYTHONPATH": str(root), **settings}
    line = [sys.executable, "-m", "dse.profile", *words]
    return subprocess.run(line, input=given, capture_output=True, env=environ, check=False)


def test_the_command_passes_streams_and_arguments_on(tmp_path: Path) -> None:
    target, page = tmp_path / "p.json", tmp_path / "p.html"
    words = (
        str(PROGRAMS / "rotate.c"),
        "-o",
        str(target),
        "--cache",
        "32K,4M",
        "--html",
        str(page),
    )
    done = command(*words, "--", "i", given=picture(8))
    assert done.returncode == 0, done.stderr
    assert done.stdout == turned(8)
    profile = Profile.load(target)
    assert profile.program.arguments == ("i",)
    shown = command(str(target))
    assert b"turn_rings" in shown.stdout
    assert b"bytes moved" in shown.stdout
    partial = command(str(PROGRAMS / "rotate.c"), "-o", str(target))
    assert partial.returncode == 3
    assert b"usage: rotate" in partial.stderr
    assert b"exit status 2" in partial.stderr


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "llvmlite").mkdir()
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import sys; sys.modules['llvmlite'] = sys.modules['ziglang'] = None\n")
    root = Path(__file__).parents[1]
    done = command(
        str(PROGRAMS / "rotate.c"), PYTHONPATH=os.pathsep.join((str(tmp_path), str(root)))
    )
    assert done.returncode != 0
    assert b"pip install" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_loader_names_what_is_wrong(tmp_path: Path, rotate: Built) -> None:
    profile, _ = run_built(rotate, ("i",), picture(8))
    path = tmp_path / "p.json"
    for old, new, words in (
        ('"version": 1', '"version": 9', "version 9"),
        ('"executions": ', '"executions": -', "greater than or equal to 0"),
        ('"chunk"', '"chunks"', "settings.chunk"),
    ):
        path.write_text(profile.dumps().replace(old, new))
        with pytest.raises(InputError, match=words):
            Profile.load(path)
    with pytest.raises(InputError, match="No such file"):
        Profile.load(tmp_path / "absent.json")


def test_the_page_shows_tree_heatmap_and_graphs_and_escapes(rotate: Built) -> None:
    from dse.profile.page import page

    profile, _ = run_built(rotate, ("r",), picture(16))
    text = page(profile)
    for words in ('id="tree"', 'id="transfers"', "<svg viewBox", "turn_quarters", "for.body"):
        assert words in text
    assert "http" not in text.replace("http-equiv", "")
    renamed = profile.dumps().replace("turn_quarters", "<script>alert(1)</script>")
    hostile = page(Profile.model_validate_json(renamed))
    assert "<script>alert" not in hostile
    assert "&lt;script&gt;alert" in hostile


def test_the_text_shows_functions_blocks_and_the_matrix(rotate: Built) -> None:
    from rich.console import Console

    from dse.profile.show import print_profile

    profile, _ = run_built(rotate, ("i",), picture(16))
    console = Console(width=120, record=True, file=io.StringIO())
    print_profile(profile, console)
    text = console.export_text()
    for words in ("hot functions", "hot blocks", "bytes moved", "turn_rings", "1,040", "1,024"):
        assert words in text


def test_the_schema_describes_the_file(rotate: Built) -> None:
    schema = Profile.model_json_schema()
    profile, _ = run_built(rotate, ("i",), picture(8))
    assert set(json.loads(profile.dumps())) == set(schema["properties"])
    assert "from" in schema["$defs"]["Edge"]["properties"]


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


def test_an_interrupted_run_leaves_a_partial_profile(tmp_path: Path) -> None:
    target = tmp_path / "p.json"
    path = source(
        tmp_path,
        '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); '
        "for (volatile int i = 0;;) i++; }",
    )
    line = [sys.executable, "-m", "dse.profile", str(path), "-o", str(target)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
        process.communicate(timeout=60)
    profile = Profile.load(target)
    assert (profile.run.complete, profile.run.ended) == (False, "interrupted")
    assert process.returncode == 3
