"""Runs: those that end badly or are refused, parts of runs, and code before and after main."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import ProfileOptions, build_program, profile_program
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
UNREAD = """
#include <signal.h>
static void end(void) { raise(SIGPIPE); }
int main(void) { end(); }
"""


@pytest.mark.parametrize(
    ("text", "signal", "function", "count"),
    [
        (CRASHING, 11, "fall", 6),
        (DEEP, 11, "deep", None),
        (UNREAD, 13, "end", 1),
    ],
)
def test_a_program_that_ends_badly_leaves_a_partial_profile(
    text: str, signal: int, function: str, count: int | None, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, text)
    assert not profile.run.complete
    assert profile.run.ended == "signal"
    assert (profile.run.signal, profile.run.exit_status) == (signal, None)
    assert any("did not complete" in note for note in profile.notes)
    found = calls(profile)[function]
    assert found == count if count else found > 1000


def test_the_exit_status_is_the_programs_own_choice(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, REFUSING)
    assert profile.run.complete
    assert (profile.run.ended, profile.run.exit_status) == ("exit", 7)
    assert calls(profile)["leave"] == 4


ENDLESS = """
static int step(int x) { return x * 3 + 1; }
int main(void) { volatile int x = 1; for (;;) x = step(x); }
"""
GREEDY = """
#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); } }
"""
HANDLING = """
#include <signal.h>
static volatile int x;
static void ignore(int number) { (void)number; }
static void step(void) { x++; }
int main(void) { signal(SIGTERM, ignore); for (;;) step(); }
"""


@pytest.mark.parametrize(
    ("text", "limits", "ended"),
    [
        (ENDLESS, Limits(seconds=1.0), "time limit"),  # long after it has started
        (HANDLING, Limits(seconds=0.5), "time limit"),
        (GREEDY, Limits(memory=300 << 20), "memory limit"),
    ],
)
def test_a_program_that_runs_away_is_stopped(
    text: str, limits: Limits, ended: str, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, text, limits=limits, transfers=text != HANDLING)
    assert (profile.run.complete, profile.run.ended) == (False, ended)
    assert sum(block.executions for block in profile.blocks) > 10


def test_a_program_killed_outright_is_a_clear_error(tmp_path: Path) -> None:
    text = "#include <signal.h>\nint main(void) { raise(SIGKILL); return 0; }"
    with pytest.raises(InputError, match="without leaving a result"):
        profile_text(tmp_path, text)


REFUSED = (
    ("fork() < 0", "called fork: it makes processes"),
    ('execl("/bin/true", "true", (char *)0)', "called execl: it replaces itself"),
    *(
        (f"(int)syscall({number}, 0, 0, 0)", "called syscall: it makes a thread or a process")
        for number in ("SYS_fork", "SYS_clone3", "SYS_execve")
    ),
)


def test_processes_are_refused_only_when_they_begin(tmp_path: Path) -> None:
    cases = " ".join(f"case {i}: return {call};" for i, (call, _) in enumerate(REFUSED))
    text = f"""
    #define _GNU_SOURCE
    #include <sys/syscall.h>
    #include <unistd.h>
    static int other(int number) {{ switch (number) {{ {cases} }} return 0; }}
    int main(int count, char **given) {{
        if (count > 2 && syscall(SYS_getpid) != getpid()) return 1;
        return count == 2 ? other(given[1][0] - '0') : 0;
    }}"""
    built = build_program(ProfileOptions((source(tmp_path, text),)), tmp_path)
    profile, _ = run_built(built, ("some", "call"), b"")
    assert profile.run.complete
    assert "system calls by number (syscall)" in profile.notes[0]
    for i, (call, words) in enumerate(REFUSED):
        if "syscall" in call and platform.machine() != "x86_64":
            continue  # the numbers are those of x86-64
        with pytest.raises(InputError, match=words):
            run_built(built, (str(i),), b"")


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
    path = source(tmp_path, text)
    said: list[str] = []

    def notice(sentence: str) -> None:
        said.append(sentence)
        assert "working" not in capfd.readouterr().err

    assert profile_program(ProfileOptions((path,)), notice=notice).run.complete
    [sentence] = said
    assert sentence.startswith("the program could call fork (it makes processes): it ends")
    with pytest.raises(InputError, match="called fork: it makes processes"):
        profile_program(ProfileOptions((path,), ("now",)))


# ── Parts of a run ──

COUNTING = """
#include <stdio.h>
static int data[64];
static int add(int n) { int s = 0; for (int i = 0; i < n; i++) s += data[i]; return s; }
static void fill(int n) { for (int i = 0; i < n; i++) data[i] = i; }
static int work(int n) { fill(n); return add(n); }
static int last(void) { return add(1); }
int main(int count, char **given) {
    (void)given;
    int s = 0;
    for (int i = 1; i <= 7 - count; i++) s += work(i);
    printf("%d\\n", s + last());
    return 0;
}
"""


@pytest.mark.parametrize(
    ("region", "work", "add", "loop"),
    [
        ("work:2-4", 3, 3, 9),
        ("add", 0, 7, 0),
        ("work:6..last", 1, 1, 6),
    ],
)
def test_a_region_counts_only_its_calls(
    region: str, work: int, add: int, loop: int, tmp_path: Path
) -> None:
    built = build_program(ProfileOptions((source(tmp_path, COUNTING),), region=region), tmp_path)
    profile, _ = run_built(built, (), b"")
    counts = {name: calls(profile)[name] for name in ("work", "fill", "add", "last")}
    assert counts == {"work": work, "fill": work, "add": add, "last": 0}
    assert max(executions(profile, "fill")) == loop
    stores = [a for a in profile.accesses if profile.blocks[a.block].function == "fill"]
    assert sum(sum(a.hits[0]) for a in stores) == loop
    # What was written before the region began is still known to be written by fill.
    if region == "add":
        assert by_name(profile.transfers)["fill", "add"] == 4 * (21 + 1)
    if work:  # a run with one call of it
        short, _ = run_built(built, ("1", "2", "3", "4", "5"), b"")
        assert any(f"{region} was not reached" in note for note in short.notes)


def test_calls_of_a_region_are_counted_from_one(tmp_path: Path) -> None:
    for region in ("work:0", "work:5-2"):
        with pytest.raises(InputError, match="counted from 1, upwards"):
            profile_text(tmp_path, COUNTING, region=region)


def test_named_functions_take_in_what_they_call(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, COUNTING, functions=("work", "last"))
    assert {c.function for c in profile.call_tree} == {"main", "work", "last"}
    moved = by_name(profile.transfers)
    assert set(moved) == {("work", "last"), ("(constants)", "main")}
    assert moved["work", "last"] == 4
    for settings in ({"functions": ("wrk",)}, {"region": "wrk"}):
        with pytest.raises(InputError, match=r"no function 'wrk'\s+did you mean 'work'"):
            profile_text(tmp_path, COUNTING, **settings)


def test_levels_of_optimisation(tmp_path: Path) -> None:
    def loads(profile: Profile) -> int:
        own = [a for a in profile.accesses if profile.blocks[a.block].name != "(library)"]
        return sum(sum(a.hits[0]) for a in own)

    memory, registers = (profile_text(tmp_path, COUNTING, optimisation=n) for n in (0, 1))
    assert loads(memory) > 3 * loads(registers)


BEGUN_BEFORE = """
static volatile int kept, lost;
static void begin(void) { kept = 3; }
static void end(void) { kept = 0; }
static void never(void) { lost = lost + 1; }
int main(int count, char **arguments) {
    begin();
    int seen = kept;
    end();
    if (count > 9) never();
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


def test_what_never_ran_is_reported_only_by_functions_and_blocks(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, BEGUN_BEFORE)
    assert executions(profile, "never") == [0]
    assert calls(profile)["never"] == 0
    assert [c.to for c in profile.calls] == ["begin", "end"]
    assert not [a for a in profile.accesses if profile.blocks[a.block].function == "never"]
    lines = BEGUN_BEFORE.split("\n")
    assert {line.text for line in profile.lines} < {" ".join(line.split()) for line in lines}
    assert not [line for line in profile.lines if line.text in (lines[4], lines[9].strip())]


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
    ("region", "argument", "moved", "words"),
    [(None, (), 1, 200), (None, ("stay",), 0, 100), ("start..stop", ("stay",), 0, 100)],
)
def test_what_was_read_before_it_moved_or_before_the_region_is_touched_again(
    region: str | None, argument: tuple[str, ...], moved: int, words: int, tmp_path: Path
) -> None:
    profile = profile_text(tmp_path, SUMMED_AGAIN, *argument, region=region)
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
    for (int i = 0; i < 3000; i++) whole(i);
    return s;
}
"""


def test_what_is_different_word_by_word_takes_no_square_of_the_time(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, ALTERNATING, limits=Limits(seconds=10))
    assert profile.run.complete
    words = {f.name: f.working_set // 4 for f in profile.functions}
    whole = dict.fromkeys(("main", "whole", "memset"), 1 << 14)
    assert words == {**whole, "even": 1 << 13, "odd": 1 << 13}


def test_memory_that_is_given_out_and_not_touched_costs_nothing(tmp_path: Path) -> None:
    text = (
        "#include <stdlib.h>\n"
        "int main(void) { char *volatile p = malloc(1 << 30); p[5] = 1; return p[5] - 1; }"
    )
    assert 0 < profile_text(tmp_path, text).run.shadow_bytes < 8 << 20


READING = """
#include <stdarg.h>
struct large { long a[5]; };
static int shared[2];
static void one(int x) { shared[0] = x; }
static void two(int x) { shared[1] = x; }
static int read(void) { return shared[0] + shared[1]; }
static long taken(struct large s) { return s.a[0]; }
static int first(int n, ...) {
    va_list list; va_start(list, n); int x = va_arg(list, int); va_end(list); return x;
}
int main(int n, char **a) {
    struct large s = {{n, 2, 3, 4, 5}};
    one(n); two(n);
    int x = read();
    one(n);
    return x + read() + (int)taken(s) + first(1, 7) - 12;
}
"""


def test_each_load_knows_the_blocks_whose_stores_it_reads(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, READING)
    moved: dict[tuple[str, str], int] = {}
    for read in profile.reads:
        to = profile.blocks[profile.accesses[read.access].block].function
        source = "" if read.source is None else profile.blocks[read.source].function
        moved[source, to] = moved.get((source, to), 0) + read.bytes
    assert moved["one", "read"] == moved["two", "read"] == 2 * 4
    assert moved["main", "taken"] == 8  # an argument passed in memory: by the block that calls
    assert moved["main", "first"] == 4


def test_calls_that_must_be_the_last_keep_the_stack_flat(tmp_path: Path) -> None:
    text = """
    static int odd(int n);
    static int even(int n) {
        if (!n) return 1;
        __attribute__((musttail)) return odd(n - 1);
    }
    static int odd(int n) {
        if (!n) return 0;
        __attribute__((musttail)) return even(n - 1);
    }
    int main(void) { return !even(100000); }"""
    profile = profile_text(tmp_path, text)
    assert profile.run.complete
    assert calls(profile) == {"even": 50001, "odd": 50000, "main": 1}
    tree = {c.function: c for c in profile.call_tree}
    assert tree["odd"].parent == tree["even"].parent == 0  # beside each other, both in main


# ── Before and after main ──

AROUND_MAIN = """
#include <stdio.h>
volatile int x = 3;
__attribute__((constructor)) static void late(void) { x = x + 4; }
__attribute__((constructor(200))) static void early(void) { x = x * 10; }
__attribute__((destructor)) static void done(void) { printf("done %d\\n", x); }
int main(void) { printf("main %d\\n", x); x = 1; return 0; }
"""
STATIC_OBJECTS = """
#include <cstdio>
struct Loud {
    int value;
    Loud(int given) : value(given) { std::printf("made %d\\n", value); }
    ~Loud() { std::printf("gone %d\\n", value); }
};
static Loud first(7), second(8);
template <typename T> struct Holder { static Loud one; };
template <typename T> Loud Holder<T>::one(9);
int main() { std::printf("main %d\\n", first.value + Holder<int>::one.value); }
"""


def test_constructors_run_in_the_order_of_their_priority_and_destructors_run(
    tmp_path: Path,
) -> None:
    built = build_program(ProfileOptions((source(tmp_path, AROUND_MAIN),)), tmp_path)
    profile, output = run_built(built, (), b"")
    assert profile.run.complete
    assert output == b"main 34\ndone 1\n"
    assert calls(profile) == {"early": 1, "late": 1, "done": 1, "main": 1}


def test_static_objects_are_made_and_destroyed(tmp_path: Path) -> None:
    path = source(tmp_path, STATIC_OBJECTS, "program.cpp")
    profile, output = run_built(build_program(ProfileOptions((path,)), tmp_path), (), b"")
    assert profile.run.complete
    lines = output.decode().splitlines()
    assert sorted(lines) == sorted(
        ["main 16", *(f"{word} {i}" for i in (7, 8, 9) for word in ("made", "gone"))]
    )
    assert lines.index("made 7") < lines.index("made 8") < lines.index("main 16")
    assert lines.index("main 16") < lines.index("gone 8") < lines.index("gone 7")
    assert calls(profile)["Loud::~Loud()"] == 3
