"""The command and its files, and the sources of a program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import USUAL, ProfileOptions, build_program
from dse.profile.document import CacheLevels, Profile
from dse.profile.run.run import Limits, exit_on_signals
from tests.commands import called
from tests.profile.examples import (
    PROGRAMS,
    calls,
    needs_compiler,
    picture,
    run_built,
    source,
    turned,
)

pytestmark = needs_compiler
ROOT = Path(__file__).parents[2]
LINE = [sys.executable, "-m", "dse", "profile"]
ROTATE = str(PROGRAMS / "rotate.c")


def command(*words: str, given: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    return subprocess.run([*LINE, *words], input=given, capture_output=True, env=environ)


def refused(*words: str) -> str:
    done = called("profile", *words, cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == ""
    return done.stderr


def test_the_command_passes_streams_and_arguments_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target, page = tmp_path / "p.json", tmp_path / "p.html"
    output = ("-o", str(target), "--html", str(page))
    done = command(ROTATE, *output, "--cache", "32K,4M", "--", "i", given=picture(8))
    assert done.returncode == 0, done.stderr
    assert done.stdout == turned(8)
    profile = Profile.load(target)
    assert profile.program.arguments == ("i",)
    assert profile.settings.caches == (USUAL,)  # its line and ways, too
    texts = (PROGRAMS / "rotate.c").read_text().splitlines()
    own = [each for each in profile.lines if each.file == "rotate.c"]
    assert own
    assert all(each.text == " ".join(texts[each.line - 1].split()) for each in own)
    files = {function.name: function.file for function in profile.functions}
    ran = [block for block in profile.blocks if block.line and block.executions]
    assert set(profile.texts) == {(files[block.function], block.line) for block in ran}
    shown = called("profile", str(target), cwd=ROOT)
    assert "turn_rings" in shown.stdout
    assert "bytes moved" in shown.stdout
    wrong = called("profile", ROTATE, "-o", str(target), "--no-libraries", cwd=ROOT)
    assert wrong.returncode == 0
    assert "usage: rotate" in capfd.readouterr().err
    assert "the program ended with exit status 2" in wrong.stderr


def test_an_argument_of_the_program_before_the_dashes_has_a_remedy() -> None:
    done = called("profile", ROTATE, "-q", cwd=ROOT)
    assert done.returncode == 2
    assert "Arguments of the program itself come after --." in done.stderr


def test_arguments_of_the_program_come_after_dashes() -> None:
    told = refused(ROTATE, "7")
    assert "7: no such file\n      arguments of the program come after --" in told


def test_a_profile_that_is_there_already_is_only_shown() -> None:
    shown = str(ROOT / "studies" / "profiles" / "md5.json")
    assert "so --no-cache, --chunk would" in refused(shown, "--no-cache", "--chunk", "4")
    assert "so arguments would have no effect" in refused(shown, "--", "7")


@pytest.mark.parametrize("cache", ["32K,4M,six", "32K,4M," + 30 * "9"])
def test_a_size_that_is_none_is_refused(cache: str) -> None:
    assert "is not a size such as 64, 32K or 4M" in refused(ROTATE, "--cache", cache)


def test_what_cannot_be_written_is_reported_before_the_run(tmp_path: Path) -> None:
    path = source(tmp_path, 'int main(void) { __asm__ volatile("nop"); return 0; }')
    absent = tmp_path / "absent" / "p.json"
    told = refused(str(path), "-o", str(absent), "--html", str(tmp_path))
    assert "profile: 2 problems" in told
    assert "there is no folder" in told
    assert "is a folder" in told
    # only a profile is replaced without --force
    notes, page = tmp_path / "notes.txt", tmp_path / "page.html"
    notes.write_text("mine")
    page.write_text("<!doctype html><title>mine</title>")
    told = refused(str(path), "-o", str(notes), "--html", str(page))
    assert "profile: 2 problems" in told
    assert told.count("is there already") == told.count("--force replaces it") == 2
    assert notes.read_text() == "mine"
    for force in (["--force"], []):  # what this command wrote it may write again
        options = ("--out", str(notes), "--html", str(page), *force)
        again = called("profile", str(path), *options, cwd=ROOT)
        assert again.returncode == 0, again.stderr
    assert Profile.load(notes).run.complete
    assert "1 block execution in 1 function\n" in again.stderr  # one of a thing is not several
    words = re.sub(r"<[^>]*>", " ", page.read_text())
    assert not re.search(r"\b1 (?:calls|times|instructions|executions|functions|blocks)\b", words)
    page.write_text("mine")
    assert "is there already" in refused(str(notes), "--html", str(page))
    assert page.read_text() == "mine"


def test_a_source_and_the_other_output_are_never_replaced(tmp_path: Path) -> None:
    text = "int main(void) { return 0; }"
    path, hard, same = source(tmp_path, text), tmp_path / "hard.json", str(tmp_path / "x")
    hard.hardlink_to(path)
    for target in (path, hard):
        told = refused(str(path), "-o", str(target), "--force")
        assert "is the source of the profile" in told
        assert path.read_text() == text
    assert "is what -o writes" in refused(str(path), "-o", same, "--html", same)


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import sys; sys.modules['llvmlite'] = sys.modules['ziglang'] = None\n")
    done = command(ROTATE, PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT))))
    assert done.returncode != 0
    assert b"pip install" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_signal_while_the_profile_is_written_does_not_cut_it_short(tmp_path: Path) -> None:
    """Ctrl-C reaches the program and the profiler, which then asks the program for its profile."""
    text = """
    #include <signal.h>
    #include <sys/time.h>
    int main(void) {
        struct itimerval often = {{0, 20}, {0, 20}};
        setitimer(ITIMER_REAL, &often, 0);
        raise(SIGINT);
        for (;;) {}
    }"""
    target = tmp_path / "p.json"
    done = called("profile", str(source(tmp_path, text)), "-o", str(target), cwd=ROOT)
    assert done.returncode == 3, done.stderr
    assert "partial: the run ended by signal" in done.stderr
    assert not Profile.load(target).run.complete


def test_an_interrupted_run_leaves_a_partial_profile(tmp_path: Path) -> None:
    text = """
    #include <stdio.h>
    int main(void) { puts("ready"); fflush(stdout); for (volatile int i = 0;;) i++; }"""
    path, target = source(tmp_path, text), tmp_path / "p.json"
    with subprocess.Popen(
        [*LINE, str(path), "-o", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        # a shell's background jobs, which tests may be part of, ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
        process.communicate(timeout=60)
    profile = Profile.load(target)
    assert (profile.run.complete, profile.run.ended) == (False, "interrupted")
    assert process.returncode == 3


RUN = """
import os, sys
from pathlib import Path
from dse.profile.run.run import Limits, run_program
run_program(Path(sys.argv[1]), (), Limits(), os.environ)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_with_its_profiler(tmp_path: Path, number: signal.Signals) -> None:
    """Also one that ignores the signal: its end closes the pipe that it writes to."""
    text = """
    #include <signal.h>
    #include <stdio.h>
    int main(void) {
        signal(SIGTERM, SIG_IGN);
        puts("ready"); fflush(stdout);
        for (volatile int i = 0;;) i++;
    }"""
    line = [*LINE, str(source(tmp_path, text)), "-o", str(tmp_path / "p.json")]
    if number == signal.SIGKILL:  # the profiler can do nothing, whatever it was asked
        script = source(tmp_path, "#!/bin/sh\necho ready\nwhile :; do :; done\n", "endless")
        script.chmod(0o755)
        line = [sys.executable, "-c", RUN, str(script)]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)  # to the profiler alone
        process.communicate(timeout=60)
    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 128 + number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_by_an_exception(number: signal.Signals) -> None:
    with exit_on_signals(None) as watch:
        with pytest.raises(SystemExit):
            signal.raise_signal(number)
        with pytest.raises(SystemExit) as again:  # of which Python drops the first
            watch(0.0, 0)
    assert again.value.code == 128 + number


# ── Settings and sources ──


def test_every_wrong_setting_at_once(tmp_path: Path) -> None:
    path = source(tmp_path, "int main(void) { return 0; }")
    limits = Limits(seconds=-1.0, memory=0)
    huge = CacheLevels(l1=1 << 40, l2=1 << 40, line=64)
    uneven = CacheLevels(l1=3000, l2=9000, line=64)
    options = ProfileOptions(
        (path,),
        caches=(huge, uneven),
        chunk=3,
        optimisation=9,
        limits=limits,
        region="work:0",
        environment=("DSE_UNSET",),
    )
    with pytest.raises(InputError) as error:
        build_program(options, tmp_path)
    problems = error.value.problems
    assert list(dict.fromkeys(p.where for p in problems)) == [
        *("cache 1", "cache 2", "chunk", "optimisation"),
        *("time limit", "memory limit", "region", "environment"),
    ]
    assert [p.where for p in problems].count("cache 1") == 2
    assert "power of two" in str(error.value)
    assert "1, 2, 4, 8, 16, 32 or 64 B" in str(error.value)
    assert "counted from 1, upwards" in str(error.value)
    for region, allowed in (("work:5-2", "counted from 1, upwards"), ("work..", "f, f:3, f:3-5,")):
        with pytest.raises(InputError, match=allowed):
            build_program(ProfileOptions((path,), region=region), tmp_path)


def test_every_problem_with_the_sources_at_once(tmp_path: Path) -> None:
    broken = source(tmp_path, "int main(void) { return x; }", "broken.c")
    with pytest.raises(InputError) as error:
        build_program(ProfileOptions((tmp_path / "absent.c", tmp_path / "notes.txt")), tmp_path)
    assert [p.message for p in error.value.problems] == ["no such file", "no such file"]
    with pytest.raises(InputError, match="undeclared identifier 'x'"):
        build_program(ProfileOptions((broken,)), tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        build_program(ProfileOptions((tmp_path,)), tmp_path)
    text = "int helper(void) { return 1; }\nint main(void) { return 0; }"
    two = tuple(source(tmp_path, text, name) for name in ("first.c", "second.c"))
    with pytest.raises(InputError) as error:
        build_program(ProfileOptions(two), tmp_path)
    for name in ("main", "helper"):
        assert f"{name} is defined in first.c and in second.c" in str(error.value)


POINTED = """
target triple = "x86_64-unknown-linux-gnu"
define internal i32 @one() {
  ret i32 0
}
@pointer = internal global ptr @one
define i32 @pointed() {
  %p = load ptr, ptr @pointer
  %x = call i32 %p() #0
  ret i32 %x
}
attributes #0 = { willreturn memory(none) }
"""


def test_functions_of_one_name_in_two_files_and_attributes_that_may_go(tmp_path: Path) -> None:
    """Attributes that are only assumptions go, and leave no empty group."""
    one = "static int f(int x) { return x * x; }\nint g(int x) { return f(x + 1) + f(x); }"
    two = (
        "int g(int), pointed(void);\nstatic int f(int x) { return 2 * x; }\n"
        "int main(int n, char **a) { (void)a; return g(n) + f(n) + pointed() - 7; }"
    )
    texts = {"one.c": one, "two.c": two, "three.ll": POINTED}
    paths = tuple(source(tmp_path, text, name) for name, text in texts.items())
    profile, _ = run_built(build_program(ProfileOptions(paths), tmp_path), (), b"")
    assert profile.run.exit_status == 0
    assert calls(profile) == {
        "f (one.c)": 2,
        "g": 1,
        "f (two.c)": 1,
        "main": 1,
        "one": 1,
        "pointed": 1,
    }


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
        build_program(ProfileOptions((source(tmp_path, text),)), tmp_path)
