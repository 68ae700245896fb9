"""Runs that end badly, parts of runs, library functions, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import Options, build_program
from dse.profile.document import CacheLevels
from dse.profile.run.run import Limits
from tests.profile.examples import (
    by_name,
    executions,
    profile_text,
    run_built,
    source,
)

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
        (ENDLESS, Limits(seconds=2.0), "time limit"),  # long after it has started
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


def test_memory_that_is_given_out_and_not_touched_costs_nothing(tmp_path: Path) -> None:
    text = (
        "#include <stdlib.h>\n"
        "int main(void) { char *volatile p = malloc(1 << 30); p[5] = 1; return p[5] - 1; }"
    )
    profile = profile_text(tmp_path, text)
    assert 0 < profile.run.shadow_bytes < 8 << 20


def test_a_reader_that_goes_away_leaves_a_partial_profile(tmp_path: Path) -> None:
    text = "#include <signal.h>\nint main(void) { return raise(SIGPIPE); }"
    profile = profile_text(tmp_path, text)
    assert (profile.run.complete, profile.run.signal) == (False, 13)


def test_a_region_that_is_not_reached_is_reported(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, COUNTING, region="work:50")
    assert any("work:50 was not reached" in note for note in profile.notes)
    for region in ("work:0", "work:5-2"):
        with pytest.raises(InputError, match="counted from 1, upwards"):
            profile_text(tmp_path, COUNTING, region=region)


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
    assert words == {
        "main": 1 << 14,
        "even": 1 << 13,
        "odd": 1 << 13,
        "whole": 1 << 14,
        "memset": 1 << 14,
    }


def test_unmodelled_functions_are_reported(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    #include <stdio.h>
    #include <string.h>
    int main(void) {
        char *a = malloc(32), *rest = a; a[0] = 'x'; a[1] = ' '; a[2] = 'y'; a[3] = 0;
        char *b = malloc(32); strxfrm(b, a, 32);
        return b[0] == strsep(&rest, " ")[0] ? 0 : 1;
    }"""
    profile = profile_text(tmp_path, text)
    assert {u.name: u.calls for u in profile.unaccounted.functions} == {"strxfrm": 1, "strsep": 1}
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
