"""Work of libraries: against valgrind on a program of another compiler, and by hand."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from dse.profile.command import ProfileOptions, build_program, profile_program
from dse.profile.document import CacheLevels, LibraryWork, Profile
from dse.profile.document.callgrind import CallCosts, CallgrindCosts, read_callgrind_costs
from dse.profile.library.attribution import LibraryCode, attribute_library
from dse.profile.library.plain import build_plain_program
from dse.profile.run.inputs import keep_input
from dse.profile.show.text import describe_library
from objectives.communication import Dataflows, accelerator_area, from_profile, verdict
from tests.needs import needs
from tests.profile.examples import needs_compiler, run_built, source

PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double shade(int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += sin(i * 0.01) * cos(i * 0.02);
    return s;
}
static long filter(const int *v, int n) {
    long s = 0;
    for (int i = 2; i < n; i++) s += 3 * v[i] - v[i - 1] + v[i - 2] / 7;
    return s;
}
static long ladder(int n) { return n ? 3 * ladder(n - 1) + n : 1; }
static int below(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void sort(int *v, int n) { qsort(v, n, sizeof *v, below); }
/* Conversions and random numbers, which no accelerator computes. */
static char text[64], copies[64 * 400];
static int noise[4000];
static void scatter(void) { for (int i = 0; i < 4000; i++) noise[i] = rand(); }
static void convert(int i) { sprintf(text, "%1.15g", i * 1.1); }
static void table(void) {
    for (int i = 0; i < 400; i++) { convert(i); memcpy(copies + 64 * i, text, 64); }
}
static unsigned mix(void) {
    unsigned r = 1;
    for (int i = 0; i < 400; i++) {
        memmove(copies + 64, copies, 64 * 399);
        for (int k = 0; k < 100; k++) r = r * 31 + copies[64 * 399 + k % 64];
    }
    return r;
}
/* Mathematics, for which hardware is known. */
static double waves[4000], powers[400];
static void wave(int i) { waves[i] = sin(i); }
static void signal(void) { for (int i = 0; i < 4000; i++) wave(i); }
static void both(void) { for (int i = 0; i < 400; i++) powers[i] = exp(sin(i)) + floor(i * 0.3); }
static void numbers(void) {
    int n = 5000, *v = malloc(n * sizeof *v);
    for (int i = 0; i < n; i++) v[i] = (i * 7919) % 1000;
    double s = shade(n); long t = 0;
    for (int k = 0; k < 20; k++) t += filter(v, n);
    sort(v, n);
    t += ladder(500);
    printf("%f %ld %d\n", s, t, v[7]);
}
int main(void) {
    numbers(); table(); signal(); scatter(); both();
    printf("%u %f %d %f\n", mix(), waves[7], noise[7], powers[7]);
}
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    needs("valgrind")
    path = source(tmp_path_factory.mktemp("libraries"), PROGRAM)
    profile = profile_program(ProfileOptions((path,)), stdout=subprocess.DEVNULL)
    assert profile.run.libraries_counted
    assert not profile.notes
    assert "of the instructions" in describe_library(profile)
    return profile


def callgrind(program: Path, folder: Path, *options: str) -> CallgrindCosts:
    """Run a program under valgrind."""
    out = folder / "out"
    command = ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={out}", *options]
    command.append(str(program))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_callgrind_costs(out)


@needs_compiler
def test_work_of_libraries_is_that_of_another_build(profile: Profile, tmp_path: Path) -> None:
    (cc,) = needs("cc")
    path = source(tmp_path, PROGRAM)
    subprocess.run([cc, "-O1", "-fno-inline", path, "-o", tmp_path / "native", "-lm"], check=True)
    costs = callgrind(tmp_path / "native", tmp_path)
    costs.own["ladder"] += costs.own.get("ladder'2", 0.0)  # recursive calls
    called = dict.fromkeys(costs.own, 0.0)
    for (caller, _), calls in costs.calls.items():
        called[caller] += calls.cost
    work = {f.name: sum(each.instructions for each in f.libraries) for f in profile.functions}
    assert work["shade"] == pytest.approx(called["shade"], rel=0.05)
    assert work["sort"] == pytest.approx(called["sort"] - costs.own["below"], rel=0.05)
    assert work["filter"] == work["below"] == 0

    counts = {f.name: f.instructions for f in profile.functions}
    for name in ("shade", "filter", "below", "ladder"):
        assert counts[name] == pytest.approx(costs.own[name], rel=0.25)  # of another compiler

    program = from_profile(profile)
    own = {name: costs.own[name] + called[name] for name in ("shade", "numbers")}
    shares = [verdict(program, name).share for name in own]
    assert shares[0] / shares[1] == pytest.approx(own["shade"] / own["numbers"], rel=0.15)
    assert {"shade", "filter"} <= set(program.candidates)


@needs_compiler
def test_conversions_and_random_numbers_keep_their_callers_on_the_host(profile: Profile) -> None:
    program = from_profile(profile)
    for name in ("table", "convert", "scatter"):
        why = r"\d[\d.]* % of its work is in libc\.so\.6, which was not profiled"
        assert re.fullmatch(why, program.staying[name]), name
    # memmove is followed, and computes nothing; hardware for a sine is known
    assert {"mix", "signal", "wave"}.isdisjoint(program.staying)
    (mix,) = (f for f in profile.functions if f.name == "mix")
    assert program.computation[program.position("mix")] == mix.computation
    assert sum(each.instructions for each in mix.libraries) > 0.2 * mix.computation
    included = program.including(["convert"]).candidates
    assert set(included) == {*program.candidates, "convert", "table"}
    other = LibraryWork(library="libz.so.1", instructions=10**9)
    functions = tuple(
        f.model_copy(update={"libraries": (other,)}) if f.name == "mix" else f
        for f in profile.functions
    )
    moved = from_profile(profile.model_copy(update={"functions": functions}))
    assert "% of its work is in libz.so.1, which was not profiled" in moved.staying["mix"]


@needs_compiler
def test_mathematics_goes_with_its_callers_and_has_an_area(profile: Profile) -> None:
    program = from_profile(profile)
    assert {"both", "wave"} <= set(program.candidates)
    assert "libc.so.6" in program.staying["sort"]  # its work is in qsort
    programs, costs = Dataflows((program,)), {"computation_factor": 1.0, "instruction_area": 1.0}
    for name, functions in (("both", 2), ("wave", 1)):  # floor is an instruction of the caller
        area = accelerator_area(programs, programs.selection([name]), **costs).area_engine
        assert area == program.code[program.position(name)] + 50 * functions


LONG = r"""
#include <stdio.h>
#include <stdlib.h>
static int v[100000];
static int below(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int count, char **given) {
    unsigned s = 1;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 100000; i++) { s = s * 1664525u + 1013904223u; v[i] = s >> 8; }
    qsort(v, count > 1 ? atoi(given[1]) : 0, sizeof *v, below);
    printf("%d\n", v[7]);
}
"""


@needs_compiler
def test_a_program_runs_again_only_if_libraries_may_matter(tmp_path: Path) -> None:
    """Printing is a call in millions of instructions; a call of qsort may be most of them."""
    built = build_program(ProfileOptions((source(tmp_path, LONG),), caches=()), tmp_path)
    few, _ = run_built(built, (), b"")
    assert not few.libraries_matter
    assert "too few to count" in describe_library(few)
    back, _ = run_built(built, ("2",), b"")
    assert back.libraries_matter
    settings = back.settings.model_copy(update={"transfers": False})
    without = back.model_copy(update={"settings": settings})
    assert not without.libraries_matter
    assert "not counted" in describe_library(without)


SORTED = r"""
#include <stdio.h>
#include <stdlib.h>
static int v[20000];
static int below(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void fill(void) { for (int i = 0; i < 20000; i++) v[i] = i * 7919 % 20011; }
static void sort(void) { qsort(v, 20000, sizeof *v, below); }
int main(void) { fill(); sort(); printf("%d\n", v[7]); }
"""


@needs_compiler
def test_misses_in_libraries_count_for_their_callers(tmp_path: Path) -> None:
    """Merge sort of 80 kB reads and writes whole arrays many times, and `fill` writes one once."""
    needs("valgrind", "cc")
    path = source(tmp_path, SORTED)
    profile = profile_program(
        ProfileOptions((path,)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    subprocess.run(["cc", "-O1", "-fno-inline", path, "-o", tmp_path / "native"], check=True)
    callgrind(tmp_path / "native", tmp_path, "--cache-sim=yes", "--D1=32768,8,64")
    misses = read_callgrind_costs(tmp_path / "out", ("D1mr", "D1mw"))
    loader = sum(n for name, n in misses.by_object.items() if "/ld-" in name)
    expected = sum(misses.by_object.values()) - loader
    assert profile.run.l1_misses == pytest.approx(expected, rel=0.02)
    by_caller = {
        f.name: sum(each.l1_misses or 0 for each in f.libraries) for f in profile.functions
    }
    below = misses.own["below"]
    assert by_caller["sort"] == pytest.approx(misses.calls["sort", "qsort"].cost - below, rel=0.02)
    assert by_caller["sort"] > 0.5 * expected
    assert by_caller["fill"] == 0
    assert re.search(r"L1 misses: [\d,]+, [\d.]+ % in libraries", describe_library(profile))


@needs_compiler
def test_the_program_for_valgrind_has_one_writable_segment(tmp_path: Path) -> None:
    """A second one without bytes in the file hides the symbols from valgrind 3.19."""
    built = build_program(ProfileOptions((source(tmp_path, SORTED),)), tmp_path)
    plain = build_plain_program(built.parts, built.toolchain, built.cxx, tmp_path).read_bytes()
    (start,), (size, number) = (
        struct.unpack_from("<Q", plain, 32),
        struct.unpack_from("<HH", plain, 54),
    )
    headers = [struct.unpack_from("<II", plain, start + i * size) for i in range(number)]
    loaded, writable = 1, 2
    assert sum(kind == loaded and bool(flags & writable) for kind, flags in headers) == 1


@needs_compiler
def test_of_a_cache_that_valgrind_lacks_no_misses_are_counted(tmp_path: Path) -> None:
    """The program calls libraries seldom; the option counts them."""
    needs("valgrind")
    caches = (CacheLevels(l1=1024, l2=4096, line=8),)
    options = ProfileOptions((source(tmp_path, LONG),), caches=caches, libraries=True)
    profile = profile_program(options, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert not profile.libraries_matter
    assert profile.run.libraries_counted
    assert profile.run.l1_misses is None
    assert "L1" not in describe_library(profile)


def test_callbacks_and_circles_are_divided() -> None:
    """A library function calls a helper that calls itself, and calls the program back."""
    costs = CallgrindCosts(program="program")
    costs.own = {"main": 10.0, "sort": 100.0, "helper": 60.0, "below": 40.0, "spare": 5.0}
    costs.objects = dict.fromkeys(("main", "below"), "/bin/program") | {
        "sort": "/lib/libc.so.6", "helper": "/lib/libx.so", "spare": "/lib/ld-linux-x86-64.so.2",
    }  # fmt: skip
    costs.calls = {
        ("main", "sort"): CallCosts(1, 205.0),
        ("sort", "helper"): CallCosts(1, 60.0),
        ("sort", "below"): CallCosts(4, 40.0),
        ("sort", "spare"): CallCosts(1, 5.0),
        ("helper", "helper"): CallCosts(3, 45.0),
    }
    found = attribute_library(costs, {"main", "below"})
    libc, libx = LibraryCode("libc.so.6", copies=False), LibraryCode("libx.so", copies=False)
    assert found == {"main": {libc: 100, libx: 60}}


def test_copies_of_memory_are_apart_from_other_library_code() -> None:
    costs = CallgrindCosts(program="program")
    names = {"__memmove_avx_unaligned_erms": 70.0, "memcpy@@GLIBC_2.14": 20.0, "memchr": 9.0}
    costs.own = {"main": 10.0, **names}
    costs.objects = {"main": "/bin/program"} | dict.fromkeys(names, "/lib/libc.so.6")
    costs.calls = {("main", name): CallCosts(1, count) for name, count in names.items()}
    found = attribute_library(costs, {"main"})
    copies, others = (LibraryCode("libc.so.6", copies=each) for each in (True, False))
    assert found == {"main": {copies: 90, others: 9}}


@needs_compiler
def test_without_valgrind_the_profile_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cc,) = needs("cc")
    (tmp_path / "cc").symlink_to(cc)
    monkeypatch.setenv("PATH", str(tmp_path))
    text = '#include <stdio.h>\nint main(void) { puts("a"); return 0; }'
    options = ProfileOptions((source(tmp_path, text),))
    profile = profile_program(options, stdout=subprocess.DEVNULL)
    assert not profile.run.libraries_counted
    assert "machine instructions were not counted: valgrind is not installed" in profile.notes
    assert {f.instructions for f in profile.functions} == {None}


def test_an_endless_input_is_kept_as_far_as_it_is_read(tmp_path: Path) -> None:
    source, stop = os.pipe()
    writer = threading.Thread(target=lambda: os.write(stop, b"some words"))
    writer.start()
    kept = tmp_path / "kept"
    with keep_input(source, kept) as first:  # nobody closes the pipe
        assert isinstance(first, int)
        assert os.read(first, 100) == b"some words"
    writer.join()
    assert kept.read_bytes() == b"some words"
    os.close(source)
    os.close(stop)
