"""The command, and profiles as files, text and pages."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.command import Built, Options, build_program
from dse.profile.document import CacheLevels, Profile
from dse.profile.document.profile import FORMAT_VERSION
from dse.profile.run.run import Limits
from tests.profile.examples import (
    PROGRAMS,
    picture,
    run_built,
    source,
    turned,
)


@pytest.fixture(scope="module")
def rotate(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("rotate")
    return build_program(Options((PROGRAMS / "rotate.c",)), folder)


def test_a_profile_is_read_as_it_was_written(rotate: Built, tmp_path: Path) -> None:
    profile, _ = run_built(rotate, ("i",), picture(8))
    profile.save(tmp_path / "p.json")
    assert Profile.load(tmp_path / "p.json") == profile
    assert (tmp_path / "p.json").stat().st_size < 200_000


def command(*words: str, given: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root), **settings}
    line = [sys.executable, "-m", "dse", "profile", *words]
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
    texts = (PROGRAMS / "rotate.c").read_text().splitlines()
    own = [each for each in profile.lines if each.file == "rotate.c"]
    assert own
    assert all(each.text == " ".join(texts[each.line - 1].split()) for each in own)
    files = {function.name: function.file for function in profile.functions}
    ran = [block for block in profile.blocks if block.line and block.executions]
    assert set(profile.texts) == {(files[block.function], block.line) for block in ran}
    shown = command(str(target))
    assert b"turn_rings" in shown.stdout
    assert b"bytes moved" in shown.stdout
    partial = command(str(PROGRAMS / "rotate.c"), "-o", str(target))
    assert partial.returncode == 3
    assert b"usage: rotate" in partial.stderr
    assert b"exit status 2" in partial.stderr


@pytest.mark.parametrize("cache", ["32K,4M,six", "32K,4M," + 30 * "9"])
def test_a_size_that_is_none_is_refused(cache: str) -> None:
    done = command(str(PROGRAMS / "rotate.c"), "--cache", cache)
    assert done.returncode == 2
    assert b"is not a size such as 64, 32K or 4M" in done.stderr


def test_a_partial_profile_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    path = source(tmp_path, "#include <stdlib.h>\nint main(void) { abort(); }")
    line = [sys.executable, "-m", "dse", "profile", str(path), "-o", str(tmp_path / "p.json")]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(line, capture_output=True, env=environ, check=False)
    assert done.returncode == 3, done.stderr
    assert b"partial: the run ended by signal 6" in done.stderr


def test_what_cannot_be_written_is_reported_before_the_run(tmp_path: Path) -> None:
    path = source(tmp_path, '#include <stdio.h>\nint main(void) { puts("ran"); }')
    words = ("-o", str(tmp_path / "absent" / "p.json"), "--html", str(tmp_path))
    done = command(str(path), *words)
    assert done.returncode != 0
    assert b"ran" not in done.stdout
    assert b"profile: 2 problems" in done.stderr
    assert b"there is no folder" in done.stderr
    assert b"is a folder" in done.stderr


def test_only_a_profile_is_replaced_without_being_asked(tmp_path: Path) -> None:
    path = source(tmp_path, '#include <stdio.h>\nint main(void) { puts("ran"); }')
    notes, page = tmp_path / "notes.txt", tmp_path / "page.html"
    notes.write_text("mine")
    page.write_text("<!doctype html><title>mine</title>")
    done = command(str(path), "-o", str(notes), "--html", str(page))
    assert done.returncode == 2
    assert b"ran" not in done.stdout
    assert b"profile: 2 problems" in done.stderr
    assert done.stderr.count(b"is there already") == done.stderr.count(b"--force replaces it") == 2
    assert notes.read_text() == "mine"
    for force in (["--force"], []):  # what this command wrote it may write again
        again = command(str(path), "--out", str(notes), "--html", str(page), *force)
        assert again.returncode == 0, again.stderr
    assert Profile.load(notes).run.complete
    page.write_text("mine")
    shown = command(str(notes), "--html", str(page))
    assert shown.returncode == 2
    assert b"is there already" in shown.stderr
    assert page.read_text() == "mine"


def test_a_source_and_the_other_output_are_never_replaced(tmp_path: Path) -> None:
    text = "int main(void) { return 0; }"
    path = source(tmp_path, text)
    done = command(str(path), "-o", str(path), "--force")
    assert done.returncode == 2
    assert b"is the source of the profile" in done.stderr
    assert path.read_text() == text
    (tmp_path / "hard.json").hardlink_to(path)
    done = command(str(path), "-o", str(tmp_path / "hard.json"), "--force")
    assert done.returncode == 2
    assert b"is the source of the profile" in done.stderr
    assert path.read_text() == text
    both = command(str(path), "-o", str(tmp_path / "x"), "--html", str(tmp_path / "x"))
    assert both.returncode == 2
    assert b"is what -o writes" in both.stderr


def test_every_wrong_setting_at_once(tmp_path: Path) -> None:
    path = source(tmp_path, "int main(void) { return 0; }")
    limits = Limits(seconds=-1.0, memory=0)
    huge = CacheLevels(l1=1 << 40, l2=1 << 40, line=64)
    options = Options(
        (path,), caches=(huge,), chunk=3, optimisation=9, limits=limits, environment=("DSE_UNSET",)
    )
    with pytest.raises(InputError) as error:
        build_program(options, tmp_path)
    assert [p.where for p in error.value.problems] == [
        *["cache 1"] * 2,
        "chunk",
        "optimisation",
        "time limit",
        "memory limit",
        "environment",
    ]
    with pytest.raises(InputError, match="is a folder"):
        build_program(Options((tmp_path,)), tmp_path)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_terminal_and_cut_no_number(rotate: Built, width: int) -> None:
    from rich.console import Console

    from dse.profile.show.text import print_profile

    profile, _ = run_built(rotate, ("r",), picture(64))
    console = Console(width=width, record=True, file=io.StringIO())
    print_profile(profile, console)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    cells = [cell.strip() for line in lines if line.startswith("│") for cell in line.split("│")[2:]]
    assert not any("…" in cell for cell in cells)
    told = any("a wider terminal also shows" in line for line in lines)
    assert told == (width == 60)


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "llvmlite").mkdir()
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import sys; sys.modules['llvmlite'] = sys.modules['ziglang'] = None\n")
    root = Path(__file__).parents[2]
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
        (f'"version": {FORMAT_VERSION}', '"version": 9', "version 9"),
        ('"executions": ', '"executions": -', "greater than or equal to 0"),
        ('"chunk"', '"chunks"', "settings.chunk"),
        ('"format"', '"formats"', "this is not a profile"),
    ):
        path.write_text(profile.dumps().replace(old, new))
        with pytest.raises(InputError, match=words):
            Profile.load(path)
    with pytest.raises(InputError, match="No such file"):
        Profile.load(tmp_path / "absent.json")


def test_the_page_shows_tree_heatmap_and_graphs_and_escapes(rotate: Built) -> None:
    from dse.profile.show.page import page

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

    from dse.profile.show.text import print_profile

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
    done = command(str(source(tmp_path, text)), "-o", str(target))
    assert done.returncode == 3, done.stderr
    assert not Profile.load(target).run.complete


def test_an_interrupted_run_leaves_a_partial_profile(tmp_path: Path) -> None:
    target = tmp_path / "p.json"
    path = source(
        tmp_path,
        '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); '
        "for (volatile int i = 0;;) i++; }",
    )
    line = [sys.executable, "-m", "dse", "profile", str(path), "-o", str(target)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
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
