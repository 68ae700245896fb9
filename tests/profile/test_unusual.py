"""What a profile must not pass by in silence: it is supported, noted or refused in words."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import Options, build_program, profile_program
from dse.profile.run.run import Limits
from dse.profile.show.text import library_words, library_work
from tests.profile.examples import by_name, needs_compiler, profile_text, run_built, source

pytestmark = needs_compiler


def test_inline_assembly_that_computes_is_noted(tmp_path: Path) -> None:
    text = """
    static int twice(int x) { __asm__ volatile("addl %0, %0" : "+r"(x)); return x; }
    static void barrier(void) { __asm__ volatile("" ::: "memory"); }
    int main(void) { int s = 0; for (int i = 0; i < 5; i++) { s += twice(i); barrier(); }
                     return s != 20; }"""
    if platform.machine() != "x86_64":
        pytest.skip("the assembly is that of x86-64")
    [note] = [n for n in profile_text(tmp_path, text).notes if "assembly" in n]
    assert "ran 5 times, in twice:" in note


@pytest.mark.parametrize(
    ("call", "headers", "words"),
    [
        ("fork() < 0", "unistd.h", "called fork: it makes processes"),
        ('execl("/bin/true", "true", (char *)0)', "unistd.h", "called execl: it replaces itself"),
    ],
)
def test_what_is_refused_is_refused_when_it_is_called_alone(
    call: str, headers: str, words: str, tmp_path: Path
) -> None:
    text = f"""
    #include <{headers}>
    static int other(void) {{ return {call}; }}
    int main(int count, char **given) {{ (void)given; return count > 1 ? other() : 0; }}"""
    built = build_program(Options((source(tmp_path, text),)), tmp_path)
    profile, _ = run_built(built, (), b"")
    assert profile.run.complete
    with pytest.raises(InputError, match=words):
        run_built(built, ("now",), b"")


def test_what_a_pointer_may_call_is_of_the_library(tmp_path: Path) -> None:
    text = """
    #include <stdio.h>
    typedef int (*printer)(void *, const char *, ...);
    static void put(printer print, void *to, int x) { print(to, "%d", x); }
    int main(int count, char **given) {
        char text[20];
        (void)given;
        for (int i = 0; i < 3; i++) {
            put((printer)fprintf, stderr, i);
            put((printer)sprintf, text, count);
        }
        return text[0] != '1';
    }"""
    profile = profile_text(tmp_path, text, optimisation=2)
    assert "!callees" in (tmp_path / "program.ll").read_text()
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls["fprintf"] == calls["sprintf"] == 3


def test_a_mapped_file_is_input(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(range(200)))
    text = """
    #include <fcntl.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    static long sum(const unsigned char *p, long n) { long s = 0; while (n--) s += *p++; return s; }
    int main(int count, char **given) {
        struct stat about;
        int file = open(given[count - 1], O_RDONLY);
        if (file < 0 || fstat(file, &about)) return 1;
        unsigned char *p = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        own[7] = 1;
        return sum(p, about.st_size) + own[7] != 19901;
    }"""
    profile = profile_text(tmp_path, text, str(file))
    assert profile.run.complete
    moved = by_name(profile.transfers)
    assert moved["(input)", "sum"] == 200
    assert moved["fstat", "main"] == 8
    assert profile.unaccounted.bytes == 0
    assert not profile.unaccounted.functions


def test_lines_tokens_and_options_are_followed(tmp_path: Path) -> None:
    text = """
    #define _GNU_SOURCE
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    static int length(const char *s) { int n = 0; while (*s++) n++; return n; }
    int main(int count, char **given) {
        char *line = 0, *word; size_t room = 0; int n = 0, c;
        while ((c = getopt(count, given, "ab:")) != -1) n += c == 'b' ? length(optarg) : 1;
        while (getline(&line, &room, stdin) > 0)
            for (word = strtok(line, " \\n"); word; word = strtok(0, " \\n")) n += length(word);
        free(line);
        FILE *f = fopen64("/dev/null", "r");
        return !f || n != 14;
    }"""
    built = build_program(
        Options((source(tmp_path, text),), flags=("-D_LARGEFILE64_SOURCE",)), tmp_path
    )
    profile, _ = run_built(built, ("-a", "-b", "xyz"), b"one two\nfour\n")
    assert profile.run.complete
    moved = by_name(profile.transfers)
    assert moved["getline", "length"] == len("onetwofour")
    assert moved["strtok", "length"] == 3  # the ends of the words
    assert moved["(input)", "length"] == len("xyz") + 1
    assert moved["getopt", "main"] == 8
    assert profile.unaccounted.bytes == 0
    assert not profile.unaccounted.functions


def test_a_program_that_handles_sigterm_is_stopped_with_its_profile(tmp_path: Path) -> None:
    text = """
    #include <signal.h>
    static volatile int x;
    static void ignore(int number) { (void)number; }
    static void step(void) { x++; }
    int main(void) { signal(SIGTERM, ignore); for (;;) step(); }"""
    profile = profile_text(tmp_path, text, limits=Limits(seconds=0.5), transfers=False)
    assert profile.run.ended == "time limit"
    assert sum(block.executions for block in profile.blocks) > 10


def test_two_programs_in_one_are_distinguished_in_words(tmp_path: Path) -> None:
    sources = []
    for name in ("first.c", "second.c"):
        (tmp_path / name).write_text("int helper(void) { return 1; }\nint main(void) { return 0; }")
        sources.append(tmp_path / name)
    with pytest.raises(InputError) as error:
        build_program(Options(tuple(sources)), tmp_path)
    said = str(error.value)
    assert "main is defined in first.c and in second.c" in said
    assert "helper is defined in first.c and in second.c" in said


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
    calls = {f.name: f.invocations for f in profile.functions}
    assert (calls["even"], calls["odd"]) == (50001, 50000)
    tree = {c.function: c for c in profile.call_tree}
    assert tree["odd"].parent == tree["even"].parent == 0  # beside each other, both in main


def test_static_data_beyond_what_code_can_address_is_reported(tmp_path: Path) -> None:
    text = """
    static char data[3L << 30];
    static int last[4];
    int main(int n, char **v) {
        (void)v;
        data[n * 1000L] = 3; data[(3L << 30) - n] = 4; last[n] = 5;
        return data[n * 1000L] + data[(3L << 30) - 1] + last[1] != 12;
    }"""
    with pytest.raises(InputError, match="static data is larger than the 2 GiB"):
        build_program(Options((source(tmp_path, text),)), tmp_path)


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
    profile = profile_text(tmp_path, text)
    # 100 or 101 lines in memset, 100 stores and a load in main
    calls, share = library_work(profile)
    assert calls == 2
    assert share == pytest.approx(0.5, abs=0.01)
    profile = profile_text(tmp_path, "int main(void) { return 0; }")
    assert library_work(profile) == (0, 0.0)


def test_attributes_that_are_assumptions_alone_may_go(tmp_path: Path) -> None:
    """Of a function pointer that is called, say: a group of attributes must not be left empty."""
    path = source(
        tmp_path,
        """
        target triple = "x86_64-unknown-linux-gnu"
        define internal i32 @one() {
          ret i32 0
        }
        @pointer = internal global ptr @one
        define i32 @main() {
          %p = load ptr, ptr @pointer
          %x = call i32 %p() #0
          ret i32 %x
        }
        attributes #0 = { willreturn memory(none) }
        """.replace("\n        ", "\n"),
        "program.ll",
    )
    profile, _ = run_built(build_program(Options((path,)), tmp_path), (), b"")
    assert profile.run.complete


def test_what_may_be_refused_is_reported_before_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = """
    #include <cstdio>
    #include <thread>
    int main(int count, char **) {
        fprintf(stderr, "working\\n");
        if (count > 1) std::thread([] {}).join();
    }"""
    path = source(tmp_path, text, "program.cpp")
    said: list[str] = []

    def notice(sentence: str) -> None:
        said.append(sentence)
        assert "working" not in capfd.readouterr().err

    assert profile_program(Options((path,)), notice=notice).run.complete
    [sentence] = said
    assert sentence.startswith("the program could call pthread_create (it has threads): it ends")
    with pytest.raises(InputError, match="called pthread_create: it has threads"):
        profile_program(Options((path,), ("now",)))


@pytest.mark.parametrize("number", ["SYS_fork", "SYS_clone3", "SYS_execve"])
def test_a_system_call_by_number_that_makes_processes_is_refused(
    number: str, tmp_path: Path
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    text = f"""
    #define _GNU_SOURCE
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(int count, char **given) {{
        (void)given;
        if (syscall(SYS_getpid) != getpid()) return 1;
        return count > 1 ? (int)syscall({number}, 0, 0, 0) : 0;
    }}"""
    built = build_program(Options((source(tmp_path, text),)), tmp_path)
    profile, _ = run_built(built, (), b"")
    assert profile.run.complete
    assert "system calls by number (syscall)" in profile.notes[0]
    with pytest.raises(InputError, match="called syscall: it makes a thread or a process"):
        run_built(built, ("now",), b"")


def test_other_programs_that_run_are_noted(tmp_path: Path) -> None:
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(void) {
        char line[20];
        FILE *there = popen("echo there", "r");
        if (!fgets(line, sizeof line, there) || pclose(there)) return 1;
        return system("exit 0");
    }"""
    profile = profile_text(tmp_path, text)
    assert profile.run.complete
    [note] = profile.notes
    assert note == "other programs ran (system, popen): the profile does not contain them"
    assert not profile.unaccounted.functions
    text = """
    #include <stdlib.h>
    int main(int count, char **given) { (void)given; return count > 1 ? system("exit 0") : 0; }"""
    assert not profile_text(tmp_path, text).notes  # only if one ran


def test_assembly_outside_of_functions_is_noted(tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the assembly is that of x86-64")
    text = r"""
    __asm__(".globl twice\ntwice: lea (%rdi,%rdi), %eax\nret\n");
    int twice(int);
    int main(void) { return twice(10) != 20; }"""
    [note] = profile_text(tmp_path, text).notes
    assert note.startswith("assembly outside of functions (twice) is part of the program")
    text = r"""
    __asm__(".globl other\n.set other, main\n# a comment\n");
    int main(void) { return 0; }"""
    assert not profile_text(tmp_path, text).notes  # it has no instructions


def test_one_of_a_thing_is_not_several(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    int main(void) { return getenv("no such name") != NULL; }"""
    profile = profile_text(tmp_path, text)
    assert library_words(profile).startswith("library functions: 1 call,")
    text = 'int main(void) { __asm__ volatile("nop"); return 0; }'
    [note] = profile_text(tmp_path, text).notes
    assert "ran 1 time, in main" in note
    done = subprocess.run(
        [sys.executable, "-m", "dse", "profile", "program.c", "-o", "a.json", "--html", "a.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 block execution in 1 function\n" in done.stderr
    words = re.sub(r"<[^>]*>", " ", (tmp_path / "a.html").read_text())
    assert not re.search(r"\b1 (?:calls|times|instructions|executions|functions|blocks)\b", words)
