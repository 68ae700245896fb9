"""Runs: those that end badly or are refused, parts of runs, and code before and after main."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import (
    InstrumentedProgram,
    ProfileOptions,
    build_program,
    profile_program,
)
from dse.profile.document import Profile
from dse.profile.run.run import Limits
from tests.profile.examples import (
    by_name,
    calls,
    executions,
    needs_compiler,
    profile_text,
    run_built,
    source,
)

pytestmark = needs_compiler

# One program, which ends in the way that its argument says.
ENDINGS = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int x;
static int fall(int n) { volatile int *p = 0; return n ? fall(n - 1) + 1 : *p; }
static int deep(int n) {
    volatile int a[64];
    a[n & 63] = n;
    return n < 0 ? 0 : deep(n + 1) + a[n & 63];
}
static void leave(int n) { if (n == 3) exit(7); }
static void end(int number) { raise(number); }
static void ignore(int number) { (void)number; }
static void step(void) { x++; }
static int begin(int number) {
    switch (number) {
    case 0: return fork();
    case 1: return execl("/bin/true", "true", (char *)0);
    case 2: return (int)syscall(SYS_fork, 0, 0, 0);
    case 3: return (int)syscall(SYS_clone3, 0, 0, 0);
    case 4: return (int)syscall(SYS_execve, 0, 0, 0);
    }
    return syscall(SYS_getpid) != getpid();
}
int main(int count, char **given) {
    switch (count > 1 ? *given[1] : '9') {
    case 'f': return fall(5);
    case 'd': return deep(0);
    case 'l': for (int i = 0;; i++) leave(i);
    case 'p': end(SIGPIPE); break;
    case 'k': end(SIGKILL); break;
    case 'g': for (;;) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); step(); }
    case 'h': signal(SIGTERM, ignore); for (;;) step();
    default: return begin(count > 1 ? *given[1] - '0' : 9);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory) -> InstrumentedProgram:
    folder = tmp_path_factory.mktemp("endings")
    return build_program(ProfileOptions((source(folder, ENDINGS),)), folder)


@pytest.mark.parametrize(
    ("how", "number", "function", "count"),
    [("fall", 11, "fall", 6), ("deep", 11, "deep", None), ("pipe", 13, "end", 1)],
)
def test_a_program_that_ends_badly_leaves_a_partial_profile(
    endings: InstrumentedProgram, how: str, number: int, function: str, count: int | None
) -> None:
    profile, _ = run_built(endings, (how,), b"")
    assert not profile.run.complete
    assert profile.run.ended == "signal"
    assert (profile.run.signal, profile.run.exit_status) == (number, None)
    assert any("did not complete" in note for note in profile.notes)
    found = calls(profile)[function]
    assert found == count if count else found > 1000


def test_the_exit_status_is_the_programs_own_choice(endings: InstrumentedProgram) -> None:
    profile, _ = run_built(endings, ("leave",), b"")
    assert profile.run.complete
    assert (profile.run.ended, profile.run.exit_status) == ("exit", 7)
    assert calls(profile)["leave"] == 4
    with pytest.raises(InputError, match="without leaving a result"):
        run_built(endings, ("kill",), b"")


def test_a_program_that_runs_away_is_stopped(endings: InstrumentedProgram, tmp_path: Path) -> None:
    """Also one that handles the usual signals, and of which only blocks are counted."""
    options = replace(endings.options, transfers=False, limits=Limits(seconds=0.5))
    limits = Limits(memory=300 << 20)
    greedy = replace(endings, options=replace(endings.options, limits=limits))
    for built, how, ended in (
        (build_program(options, tmp_path), "handle", "time limit"),
        (greedy, "grow", "memory limit"),
    ):
        profile, _ = run_built(built, (how,), b"")
        assert (profile.run.complete, profile.run.ended) == (False, ended)
        assert calls(profile)["step"] > 10


REFUSED = (
    "called fork: it makes processes",
    "called execl: it replaces itself",
    *["called syscall: it makes a thread or a process"] * 3,
)


def test_processes_are_refused_only_when_they_begin(endings: InstrumentedProgram) -> None:
    profile, _ = run_built(endings, (), b"")
    assert profile.run.complete
    assert any("system calls by number (syscall)" in note for note in profile.notes)
    for i, words in enumerate(REFUSED):
        if "syscall" in words and platform.machine() != "x86_64":
            continue  # the numbers are those of x86-64
        with pytest.raises(InputError, match=words):
            run_built(endings, (str(i),), b"")


def test_what_may_be_refused_is_reported_before_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = """
    #include <stdio.h>
    #include <unistd.h>
    int main(int count, char **given) {
        (void)given;
        fprintf(stderr, "working\\n");
        return count > 1 ? fork() : 0;
    }"""
    said: list[str] = []

    def notice(sentence: str) -> None:
        said.append(sentence)
        assert "working" not in capfd.readouterr().err

    options = ProfileOptions((source(tmp_path, text),), libraries=False)
    assert profile_program(options, notice=notice).run.complete
    assert "working" in capfd.readouterr().err
    [sentence] = said
    assert sentence.startswith("the program could call fork (it makes processes): it ends")


# ── Parts of a run ──

COUNTING = """
#include <stdio.h>
static int data[64];
static volatile int lost;
static void never(void) { lost = lost + 1; }
static int add(int n) { int s = 0; for (int i = 0; i < n; i++) s += data[i]; return s; }
static void fill(int n) { for (int i = 0; i < n; i++) data[i] = i; }
static int work(int n) { fill(n); return add(n); }
static int last(void) { return add(1); }
int main(int count, char **given) {
    (void)given;
    int s = 0;
    for (int i = 1; i <= 7 - count; i++) s += work(i);
    s += last();
    if (count > 9) never();
    printf("%d\\n", s);
    return 0;
}
"""


@pytest.mark.parametrize(("region", "work", "loop"), [("work:2-4", 3, 9), ("work:6..last", 1, 6)])
def test_a_region_counts_only_its_calls(region: str, work: int, loop: int, tmp_path: Path) -> None:
    built = build_program(ProfileOptions((source(tmp_path, COUNTING),), region=region), tmp_path)
    profile, _ = run_built(built, (), b"")
    counts = {name: calls(profile)[name] for name in ("work", "fill", "add", "last")}
    assert counts == {"work": work, "fill": work, "add": work, "last": 0}
    assert max(executions(profile, "fill")) == loop
    stores = [a for a in profile.accesses if profile.blocks[a.block].function == "fill"]
    assert sum(sum(a.hits[0]) for a in stores) == loop
    short, _ = run_built(built, ("1", "2", "3", "4", "5"), b"")  # with one call of work
    assert any(f"{region} was not reached" in note for note in short.notes)


@pytest.fixture(scope="module")
def two_functions(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_text(tmp_path_factory.mktemp("two"), COUNTING, functions=("work", "last"))


def test_named_functions_take_in_what_they_call(two_functions: Profile, tmp_path: Path) -> None:
    assert {c.function for c in two_functions.call_tree} == {"main", "work", "last"}
    moved = by_name(two_functions.transfers)
    assert set(moved) == {("work", "last"), ("(constants)", "main")}
    assert moved["work", "last"] == 4
    with pytest.raises(InputError, match=r"no function 'wrk'\s+did you mean 'work'"):
        profile_text(tmp_path, COUNTING, functions=("wrk",))


def test_without_optimisation_variables_are_in_memory(
    two_functions: Profile, tmp_path: Path
) -> None:
    def loads(profile: Profile) -> int:
        own = [a for a in profile.accesses if profile.blocks[a.block].name != "(library)"]
        return sum(sum(a.hits[0]) for a in own)

    assert loads(profile_text(tmp_path, COUNTING, optimisation=0)) > 3 * loads(two_functions)


def test_what_never_ran_is_reported_only_by_functions_and_blocks(two_functions: Profile) -> None:
    profile = two_functions
    assert executions(profile, "never") == [0]
    assert calls(profile)["never"] == 0
    assert {c.to for c in profile.calls} == {"work", "last", "fill", "add", "printf"}
    assert not [a for a in profile.accesses if profile.blocks[a.block].function == "never"]
    lines = [" ".join(line.split()) for line in COUNTING.split("\n")]
    assert {line.text for line in profile.lines} < {*lines}
    hidden = [line for line in lines if "never" in line]
    assert len(hidden) == 2
    assert not [line for line in profile.lines if line.text in hidden]


BEGUN_BEFORE = """
static volatile int kept;
static void begin(void) { kept = 3; }
static void end(void) { kept = 0; }
int main(void) {
    begin();
    int seen = kept;
    end();
    return seen - 3;
}
"""


def test_a_region_keeps_what_a_block_does_in_it_that_began_before(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, BEGUN_BEFORE, region="begin..end")
    (load,) = [i for i, a in enumerate(profile.accesses) if a.kind == "load"]
    access = profile.accesses[load]
    block = profile.blocks[access.block]
    assert (block.function, block.executions, sum(access.hits[0])) == ("main", 0, 1)
    (read,) = profile.reads
    assert (read.access, read.bytes) == (load, 4)
    assert read.source is not None
    assert profile.blocks[read.source].function == "begin"


SUMMED_AGAIN = """
#include <stdlib.h>
static volatile int at;
static void start(void) { at = 1; }
static void stop(void) { at = 2; }
int main(int count, char **given) {
    (void)given;
    int *p = malloc(400), s = 0;
    for (int i = 0; i < 100; i++) p[i] = i;
    for (int i = 0; i < 100; i++) s += p[i];
    start();
    malloc(40);
    if (count == 1) p = realloc(p, 800000);
    for (int i = 0; i < 100; i++) s += p[i];
    stop();
    return s != 9900;
}
"""


@pytest.mark.parametrize(
    ("region", "runs"),
    [(None, {(): (1, 200), ("stay",): (0, 100)}), ("start..stop", {("stay",): (0, 100)})],
)
def test_what_was_read_before_it_moved_or_before_the_region_is_touched_again(
    region: str | None, runs: dict[tuple[str, ...], tuple[int, int]], tmp_path: Path
) -> None:
    options = ProfileOptions((source(tmp_path, SUMMED_AGAIN),), region=region)
    built = build_program(options, tmp_path)
    for argument, (moved, words) in runs.items():
        profile, _ = run_built(built, argument, b"")
        assert profile.run.exit_status == 0
        assert sum(f.invocations for f in profile.functions if f.name == "realloc") == moved
        [main] = [f for f in profile.functions if f.name == "main"]
        assert main.working_set == 4 * (words + 1)  # `at`, by what it calls


ALTERNATING = """
#include <string.h>
static int a[1 << 14] __attribute__((aligned(1 << 16)));
static int even(int i) { return a[i]; }
static int odd(int i) { return a[i]; }
static void whole(int x) { memset(a, x, sizeof a); }
int main(void) {
    int s = 0;
    for (int i = 0; i < 1 << 14; i += 2) s += even(i) + odd(i + 1);
    for (int i = 0; i < 300; i++) whole(i);
    return s;
}
"""


def test_what_is_different_word_by_word_takes_no_square_of_the_time(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, ALTERNATING, limits=Limits(seconds=5))
    assert profile.run.complete
    words = {f.name: f.working_set // 4 for f in profile.functions}
    whole = dict.fromkeys(("main", "whole", "memset"), 1 << 14)
    assert words == {**whole, "even": 1 << 13, "odd": 1 << 13}


PIECES = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
struct large { long a[5]; };
static int shared[2];
static void one(int x) { shared[0] = x; }
static void two(int x) { shared[1] = x; }
static int read(void) { return shared[0] + shared[1]; }
static long taken(struct large s) { return s.a[0]; }
static int first(int n, ...) {
    va_list list; va_start(list, n); int x = va_arg(list, int); va_end(list); return x;
}
static int odd(int n);
static int even(int n) {
    if (!n) return 1;
    __attribute__((musttail)) return odd(n - 1);
}
static int odd(int n) {
    if (!n) return 0;
    __attribute__((musttail)) return even(n - 1);
}
volatile int x = 3;
__attribute__((constructor)) static void late(void) { x = x + 4; }
__attribute__((constructor(200))) static void early(void) { x = x * 10; }
__attribute__((destructor)) static void done(void) { printf("done %d\\n", x); }
int main(int n, char **a) {
    struct large s = {{n, 2, 3, 4, 5}};
    one(n); two(n);
    int seen = read();
    one(n);
    seen += read() + (int)taken(s) + first(1, 7);
    printf("main %d, %d %d\\n", x, seen, even(100000));
    x = 1;
    char *volatile p = malloc(1 << 30);
    p[5] = 1;
    return p[5] - 1;
}
"""


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, bytes]:
    folder = tmp_path_factory.mktemp("pieces")
    built = build_program(ProfileOptions((source(folder, PIECES),)), folder)
    return run_built(built, (), b"")


def test_memory_that_is_given_out_and_not_touched_costs_nothing(
    pieces: tuple[Profile, bytes],
) -> None:
    assert 0 < pieces[0].run.shadow_bytes < 8 << 20


def test_each_load_knows_the_blocks_whose_stores_it_reads(pieces: tuple[Profile, bytes]) -> None:
    profile, _ = pieces
    moved: dict[tuple[str, str], int] = {}
    for read in profile.reads:
        to = profile.blocks[profile.accesses[read.access].block].function
        source = "" if read.source is None else profile.blocks[read.source].function
        moved[source, to] = moved.get((source, to), 0) + read.bytes
    assert moved["one", "read"] == moved["two", "read"] == 2 * 4
    assert moved["main", "taken"] == 8  # an argument passed in memory: by the block that calls
    assert moved["main", "first"] == 4


def test_calls_that_must_be_the_last_keep_the_stack_flat(pieces: tuple[Profile, bytes]) -> None:
    profile, _ = pieces
    assert calls(profile)["even"] == 50001
    assert calls(profile)["odd"] == 50000
    tree = profile.call_tree
    parents = {c.function: tree[c.parent].function for c in tree if c.parent >= 0}
    assert parents["odd"] == parents["even"] == "main"  # beside each other


def test_constructors_run_in_the_order_of_their_priority_and_destructors_run(
    pieces: tuple[Profile, bytes],
) -> None:
    profile, output = pieces
    assert profile.run.complete
    assert output == b"main 34, 12 1\ndone 1\n"
    assert [calls(profile)[name] for name in ("early", "late", "done", "main")] == [1] * 4
