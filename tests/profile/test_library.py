"""Functions of the library: what they read and write, which do input or output, what is noted."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from dse.profile.build.library_io import does_io
from dse.profile.command import InstrumentedProgram, ProfileOptions, build_program
from dse.profile.document import Profile
from dse.profile.show.text import library_work
from objectives.communication import from_profile
from tests.profile.examples import (
    by_name,
    hollow_profile,
    needs_compiler,
    profile_text,
    run_built,
    source,
)

pytestmark = needs_compiler


def test_functions_of_files_and_streams_do_io_and_functions_of_memory_do_not() -> None:
    names = "fread fopen64 __isoc23_fscanf fputs_unlocked __fprintf_chk getline"
    streams = (
        *("_ZNSolsEi", "_ZNSirsERi"),
        "_ZNSt3__113basic_istreamIcNS_11char_traitsIcEEErsERi",
        "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
    )
    clocks = (
        *("time", "ftime", "clock_gettime", "__clock_gettime64", "nanosleep"),
        *("_ZNSt6chrono3_V212system_clock3nowEv", "_ZNSt3__16chrono12steady_clock3nowEv"),
    )
    for name in (*names.split(), *streams, *clocks):
        assert does_io(name), name
    names = "memcpy malloc snprintf sscanf qsort getenv strlen _ZNSs6appendEPKc"
    for name in names.split():
        assert not does_io(name), name


# Each of these is a file of one program.
MEMORY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__asm__(".globl other\n.set other, main\n# a comment\n");  /* has no instructions */
static volatile int twelve = 12;
static int read(void) { return twelve; }  /* the program's own, whatever its name */
int memory(int count, char **given) {
    char a[40], b[40], *c = malloc(16);
    int x = 0, y = 0;
    memset(a, 'a', 20); a[20] = 0;
    memcpy(b, a, 21);
    sscanf("12 34", "%d %d", &x, &y);
    snprintf(c, 16, "%s:%d", b + 15, read());
    c = realloc(c, 100000);
    puts(c);
    return c[0] == 'a' && x + y == 46 ? 0 : 1;
}
"""
MAPPED = r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
static long sum(const unsigned char *p, long n) { long s = 0; while (n--) s += *p++; return s; }
int mapped(int count, char **given) {
    char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own[7] = 1;
    if (count == 1) return 0;
    struct stat about;
    int file = open(given[count - 1], O_RDONLY);
    if (file < 0 || fstat(file, &about)) return 1;
    unsigned char *p = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    return sum(p, about.st_size) + own[7] != 19901;
}
"""
LINES = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int length(const char *s) { int n = 0; while (*s++) n++; return n; }
int lines(int count, char **given) {
    char *line = 0, *word; size_t room = 0; int n = 0, c;
    while ((c = getopt(count, given, "ab:")) != -1) n += c == 'b' ? length(optarg) : 1;
    while (getline(&line, &room, stdin) > 0)
        for (word = strtok(line, " \n"); word; word = strtok(0, " \n")) n += length(word);
    free(line);
    FILE *f = fopen64("/dev/null", "r");
    return !f || (count > 1 && n != 14);
}
"""
HOOK = r"""
#include <stdlib.h>
static void (*hook)(void *) = free;
struct node { struct node *next; };
static void drop(struct node *n) {
    while (n) { struct node *next = n->next; hook(n); n = next; }
}
int hooked(int count, char **given) {
    struct node *list = 0;
    for (int i = 0; i < 10; i++) {
        struct node *n = malloc(sizeof *n);
        n->next = list; list = n;
    }
    drop(list);
    return 0;
}
"""
MAIN = r"""
int memory(int, char **), mapped(int, char **), lines(int, char **), hooked(int, char **);
int main(int n, char **a) { return memory(n, a) | mapped(n, a) | lines(n, a) | hooked(n, a); }
"""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, Profile]:
    """Profile the files as one program: with options, lines and a file to map, and without."""
    folder = tmp_path_factory.mktemp("library")
    texts = {"memory": MEMORY, "mapped": MAPPED, "lines": LINES, "hook": HOOK, "main": MAIN}
    sources = tuple(source(folder, text, f"{name}.c") for name, text in texts.items())
    flags = ("-D_LARGEFILE64_SOURCE",)
    built = build_program(ProfileOptions(sources, flags=flags), folder)
    (folder / "data").write_bytes(bytes(range(200)))
    words = ("-a", "-b", "xyz", str(folder / "data"))
    whole, _ = run_built(built, words, b"one two\nfour\n")
    without, _ = run_built(built, (), b"")
    for profile in (whole, without):
        assert profile.run.exit_status == 0
        assert profile.unaccounted.bytes == 0
        assert not profile.unaccounted.functions
        assert not [note for note in profile.notes if "assembly" in note]
    return whole, without


def test_library_functions_read_and_write_memory(profiles: tuple[Profile, Profile]) -> None:
    profile, _ = profiles
    moved = by_name(profile.transfers)
    assert moved["memset", "memcpy"] == 20
    assert moved["memory", "memcpy"] == 1
    assert moved["memcpy", "snprintf"] == 6
    assert moved["snprintf", "puts"] == len("aaaaa:12") + 1
    assert moved["snprintf", "memory"] == 1
    assert moved["sscanf", "memory"] == 8
    assert {f.name for f in profile.functions if f.foreign} >= {"memcpy", "sscanf", "realloc"}
    io = {f.name for f in profile.functions if f.io}
    assert io == {"puts", "open", "fstat", "mmap", "getline", "fopen"}


def test_a_mapped_file_is_input(profiles: tuple[Profile, Profile]) -> None:
    moved = by_name(profiles[0].transfers)
    assert moved["(input)", "sum"] == 200
    assert moved["fstat", "mapped"] == 8
    io = [{f.name: f.io for f in each.functions}["mmap"] for each in profiles]
    assert io == [True, False]


def test_lines_tokens_and_options_are_followed(profiles: tuple[Profile, Profile]) -> None:
    moved = by_name(profiles[0].transfers)
    assert moved["getline", "length"] == len("onetwofour")
    assert moved["strtok", "length"] == 3  # the ends of the words
    assert moved["(input)", "length"] == len("xyz") + 1
    assert moved["getopt", "lines"] == 8


def test_what_frees_memory_through_a_pointer_stays_on_the_host(
    profiles: tuple[Profile, Profile],
) -> None:
    calls = {f.name: f.invocations for f in profiles[0].functions}
    assert calls["free"] == calls["malloc"] == 10 + 1
    staying = from_profile(profiles[0], "list").staying
    assert staying["drop"] == "allocates or frees memory in 10 calls: free"


NOTED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef int (*printer)(void *, const char *, ...);
static void put(printer print, void *to, int x) { print(to, "%d", x); }
static void pointers(int count) {
    char text[20];
    for (int i = 0; i < 3; i++) {
        put((printer)fprintf, stderr, i);
        put((printer)sprintf, text, count);
    }
}
static int unmodelled(void) {
    char *a = malloc(32), *rest = a; a[0] = 'x'; a[1] = ' '; a[2] = 'y'; a[3] = 0;
    char *b = malloc(32); strxfrm(b, a, 32);
    return b[0] == strsep(&rest, " ")[0] ? 0 : 1;
}
static int others(void) {
    char line[20];
    FILE *there = popen("echo there", "r");
    if (!fgets(line, sizeof line, there) || pclose(there)) return 1;
    return system("exit 0");
}
#ifdef __x86_64__
__asm__(".globl double_it\ndouble_it: lea (%rdi,%rdi), %eax\nret\n");
int double_it(int);
static int twice(int x) { __asm__ volatile("addl %0, %0" : "+r"(x)); return x; }
static void barrier(void) { __asm__ volatile("" ::: "memory"); }
static int assembly(void) {
    int s = 0;
    for (int i = 0; i < 5; i++) { s += twice(i); barrier(); }
    return s + double_it(10) != 40;
}
#else
static int assembly(void) { return 0; }
#endif
int main(int count, char **given) {
    (void)given;
    pointers(count);
    return unmodelled() | assembly() | (count > 1 && others());
}
"""


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> InstrumentedProgram:
    folder = tmp_path_factory.mktemp("noted")
    return build_program(ProfileOptions((source(folder, NOTED),), optimisation=2), folder)


def test_unmodelled_functions_are_reported(noted: InstrumentedProgram) -> None:
    profile, _ = run_built(noted, (), b"")
    assert profile.run.exit_status == 0
    assert {u.name: u.calls for u in profile.unaccounted.functions} == {"strxfrm": 1, "strsep": 1}
    assert profile.unaccounted.bytes == 1
    assert by_name(profile.transfers)["(unknown)", "unmodelled"] == 1


def test_what_a_pointer_may_call_is_of_the_library(noted: InstrumentedProgram) -> None:
    assert "!callees" in noted.result.with_name("program.ll").read_text()
    profile, _ = run_built(noted, (), b"")
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls["fprintf"] == calls["sprintf"] == 3


def test_other_programs_that_run_are_noted(noted: InstrumentedProgram) -> None:
    profile, _ = run_built(noted, ("others",), b"")
    assert profile.run.exit_status == 0
    assert "other programs ran (system, popen): the profile does not contain them" in profile.notes
    assert {u.name for u in profile.unaccounted.functions} == {"strxfrm", "strsep"}
    alone, _ = run_built(noted, (), b"")
    assert not [note for note in alone.notes if "other programs" in note]  # only if one ran


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly is that of x86-64")
def test_assembly_that_computes_is_noted(noted: InstrumentedProgram) -> None:
    profile, _ = run_built(noted, (), b"")
    outside, inline = sorted(note for note in profile.notes if "assembly" in note)
    assert "ran 5 times, in twice:" in inline
    assert outside.startswith("assembly outside of functions (double_it) is part of the program")


def test_a_program_of_streams_is_profiled_with_its_output(tmp_path: Path) -> None:
    text = r"""
    #include <fstream>
    #include <iostream>
    #include <sstream>
    #include <string>
    static std::string upper(const std::string &s) {
        std::string r;
        for (char c : s) r += c >= 'a' && c <= 'z' ? char(c - 32) : c;
        return r;
    }
    static long letters() {
        std::string line;
        long n = 0;
        while (std::getline(std::cin, line)) { n += line.size(); std::cout << upper(line) << '\n'; }
        return n;
    }
    int main() {
        std::ostringstream out;
        std::ofstream file("/dev/null");
        out << letters();
        file << out.str() << 1.5;
        std::cout << out.str() << std::endl;
        return !file;
    }"""
    path = source(tmp_path, text, "program.cpp")
    profile, output = run_built(
        build_program(ProfileOptions((path,)), tmp_path), (), b"one\ntwo words\n"
    )
    assert profile.run.complete
    assert output == b"ONE\nTWO WORDS\n12\n"
    upper = "upper(std::string const&)"
    functions = {f.name: f for f in profile.functions if not f.foreign}
    assert functions[upper].invocations == 2
    moved = from_profile(profile)
    assert upper in moved.candidates
    assert re.match(r"does I/O in \d+ calls: std::", moved.staying["letters()"])
    # headers of the system define the others
    assert not any(functions[name].system for name in ("main", "letters()", upper))
    others = [f for name, f in functions.items() if "std::" in name.split("(")[0]]
    assert others
    assert all(f.system for f in others)


def test_what_libraries_do_is_reported_beside_the_profile(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    #include <string.h>
    int main(void) {
        char *a = malloc(6400);
        memset(a, 1, 6400);
        for (int i = 0; i < 100; i++) a[i] = 2;
        return a[0] != 2;
    }"""
    # 100 or 101 lines in memset, 100 stores and a load in main
    calls, share = library_work(profile_text(tmp_path, text))
    assert calls == 2
    assert share == pytest.approx(0.5, abs=0.01)
    assert library_work(hollow_profile()) == (0, 0.0)
