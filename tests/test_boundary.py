"""Whatever a command or a script is given: an exit code and a short text, never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.boundary import UnforeseenError, end_with, reader
from dse.problems import LONGEST_MESSAGE, InputError, Problem, check_regular, printable
from dse.result.folder import read_json
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import Ranges
from dse.study.catalog import load_catalog
from dse.terminal.layout import escape
from objectives.communication import load_dataflow
from tests.commands import called
from tests.fuzzing import KINDS, finding
from tests.toy import STUDY, acting, written

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "folders" / "format-4"
MOST = 3 * LONGEST_MESSAGE  # a usage line and an indented list of problems are added to it
OF_TABLE = '[study]\nname = "t"\ntable = {}\n[[objective]]\nmaximize = "a"\n'
PROGRAM = """
[study]
name = "p"
models = ["objectives.partition:optimal"]
[inputs]
profiles = "FILE"
[space]
accelerator_area = { values = [64, 128] }
[[objective]]
maximize = "speedup"
"""


# Commands


def _replaced(old: str, new: str) -> dict[str, str]:
    assert old in STUDY
    return {"study.toml": STUDY.replace(old, new, 1)}


def _of_table(content: str, table: str = '"t.csv"') -> dict[str, str]:
    return {"t.csv": content, "study.toml": OF_TABLE.format(table)}


def _profile() -> dict[str, str]:
    profile = json.loads((ROOT / "studies" / "profiles" / "sor.json").read_text())
    for function in profile["functions"]:
        function["line"] = 2**64
    return {"p.json": json.dumps(profile)}


def _summary() -> dict[str, str]:
    summary = json.loads((FOLDER / "summary.json").read_text())
    for column in summary["columns"]:
        column["unit"] = {"of": "LUT"}
    return {"run/summary.json": json.dumps(summary)}


CHECK = ["check", "study.toml"]
NOT_UTF_8 = "bad\udcff"
OVER = '[[objective]]\nminimize = "cost"\nover = { clock = ["1 GHz", "2 sheep"] }\n'
WEIGHTS = {"study.toml": f'{STUDY}{OVER}reduce = "mean"\nweights = [1, 2]\n'}
OBJECTIVES = {"study.toml": STUDY + '[[objective]]\nminimize = "nothing"\n' * 50}
ROWS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "a table in a list": (_of_table("a,b\n1,2\n", '["t.csv"]'), CHECK, "study.table"),
    "more objectives than allowed": (OBJECTIVES, CHECK, "objective"),
    "a long value": (_replaced("20 kLUT", "x" * 100_000), CHECK, "at_most"),
    "a long key": (_replaced("[study]", f"{'a' * 70_000} = 1\n[study]"), CHECK, "70,000 char"),
    "a long number": (_replaced("[study]", f"x = {'9' * 400}\n[study]"), CHECK, "too large"),
    "control characters": (_replaced('"toy"', '"to\\u001b[31my"'), CHECK, "U+001B"),
    "a path with a zero": (_replaced(".py:toy", "\\u0000.py:toy"), CHECK, "models[1]: holds"),
    "a function of Python": (_replaced("toy_model.py:toy", "builtins:eval"), CHECK, "no function"),
    "a weight without a value": (WEIGHTS, CHECK, "over.clock: unknown unit"),
    "a long column": (_of_table(f"a,b,{'x' * 70_000}\n1,2,3\n2,1,4\n"), CHECK, "70,000 characters"),
    "an open quotation mark": (_of_table('a,b\n1,2\n3,"4\n'), CHECK, "close each quotation mark"),
    "a line beyond 64 bits": (_profile(), ["profile", "p.json"], "functions.0.line"),
    "the same, for a study": (
        _profile(),
        ["new", "s.toml", "--from", "p.json"],
        "functions.0.line",
    ),
    "a unit that is a table": (_summary(), ["explain", "run"], "columns.0.unit: Input should be"),
    "IR that is none": (
        {"p.ll": "define void @f() {\n garbage\n}\n"},
        ["profile", "p.ll"],
        "cannot read this IR",
    ),
    "a study's name in bytes": ({}, ["check", f"{NOT_UTF_8}.toml"], "not UTF-8"),
    "a long file name": ({}, ["check", "x" * 5000], "File name too long"),
    "a long option": ({}, ["run", "--" + "x" * 90_000], "No such option"),
}


@pytest.mark.parametrize("row", ROWS)
def test_an_odd_input_is_bad_input_in_a_short_message(row: str, tmp_path: Path) -> None:
    files, arguments, words = ROWS[row]
    written(tmp_path)
    shutil.copytree(FOLDER, tmp_path / "run")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = called(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[:MOST]
    assert words in done.stderr[:MOST]
    assert len(done.stderr) <= MOST
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("processes", ["false", "true"])
def test_a_model_that_raises_no_exception_class_leaves_one_line(
    processes: str, tmp_path: Path
) -> None:
    raises = "raise type('Odd', (BaseException,), {})('odd')"
    written(tmp_path, f"[run]\nprocesses = {processes}\n", model=acting(raises))
    done = called("run", "study.toml", "--quiet", cwd=tmp_path)
    assert done.returncode == 70, done.stderr[:MOST]
    assert "Traceback" not in done.stderr
    assert "Odd: odd" in done.stderr


CHECK = [sys.executable, "-m", "dse", "check", "study.toml"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])  # empty: not set, so that Python keeps a buffer
def test_an_output_without_space_is_no_unforeseen_error(unbuffered: str, tmp_path: Path) -> None:
    written(tmp_path)
    own = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            CHECK, cwd=tmp_path, env=own, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "unforeseen" not in done.stderr
    assert "Exception ignored" not in done.stderr


# Errors and their texts


class _Own(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_Own("was postgresql://me:secret@host/db\n" + "x" * 90_000), "_Own: was postgresql"),
        (MemoryError(), "the memory is not enough"),
        (RecursionError("maximum"), "RecursionError: maximum"),
    ],
)
def test_an_unforeseen_error_is_one_line_and_a_saved_traceback(
    error: Exception, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise error
    except Exception as raised:
        assert end_with(raised) == 70
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("\n") == 1
    assert len(printed) <= LONGEST_MESSAGE
    named = re.search(r"traceback is in (\S+)", printed)
    assert named
    saved = Path(named[1])
    text = saved.read_text()
    assert "Traceback" in text
    assert "secret" not in text + printed
    assert saved.stat().st_mode & 0o077 == 0
    saved.unlink()


def test_a_reader_names_its_file_and_keeps_the_cause() -> None:
    @reader
    def read(path: Path) -> None:
        raise KeyError("unit")

    with pytest.raises(UnforeseenError, match=r"a\.json: .*KeyError") as caught:
        read(Path("a.json"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_many_long_problems_are_shortened_and_one_is_not() -> None:
    short = Problem("a", "m" * 1_000, "r" * 900)
    assert str(short).count("m") == 1_000
    assert len(str(InputError("s", [short]))) < LONGEST_MESSAGE
    many = [Problem(f"a{i}", "m" * 5_000, "r" * 5_000) for i in range(100)]
    assert len(str(InputError("s", many))) < 15_000


def test_a_terminal_obeys_no_text() -> None:
    assert escape("a\x1b[2J\x9b1m[b]") == "a\\x1b[2J\\x9b1m\\[b]"
    assert printable("two\nlines\tβ") == "two\nlines\tβ"


# Files


@pytest.mark.parametrize("file", ["/dev/zero", "pipe", "in"])
def test_an_input_that_never_ends_is_not_read(file: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.csv")
    (tmp_path / "study.toml").write_text(PROGRAM.replace("FILE", file))
    words = r"inputs\.profiles: .*is not a regular file\n +give a file or a folder"
    with pytest.raises(InputError, match=words):
        dse.load(tmp_path / "study.toml")
    if file != "in":
        with pytest.raises(InputError, match="is not a regular file"):
            dse.load(tmp_path / file)
    check_regular(tmp_path / "nothing", 1)  # the reader reports it


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no space
    (tmp_path / "study.toml").write_text(PROGRAM.replace("FILE", "large"))
    with pytest.raises(InputError, match="is 1,099,511,627,776 bytes long, more than"):
        dse.load(tmp_path / "study.toml")
    for read in (dse.load, read_json):
        with pytest.raises(InputError, match="more than"):
            read(tmp_path / "large")


def test_a_catalog_is_a_regular_file_of_the_folder(tmp_path: Path) -> None:
    text = STUDY.replace("size = {", 'kind = { catalog = "kinds.toml" }\nsize = {')
    path = written(tmp_path, text=text)
    os.symlink("/dev/zero", tmp_path / "kinds.toml")
    with pytest.raises(InputError, match="is outside the study"):
        dse.load(path)
    (tmp_path / "kinds.toml").unlink()
    os.mkfifo(tmp_path / "kinds.toml")
    with pytest.raises(InputError, match="is not a regular file"):
        dse.load(path)


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 200_000])
def test_a_value_without_end_is_reported(value: str, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'about = "a"\nn = {value}\n')
    with pytest.raises(InputError, match=r"is not TOML|is nested too deeply"):
        load_catalog(path)
    path.write_text(value)
    with pytest.raises(InputError, match="is not JSON"):
        read_json(path)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["cfn=(2) f", "calls=1 1", "fn=(1)", "1 5"], "line 7: '1 5' .*\n +costs of calls must"),
        ([f"1 {'9' * 400}"], "line 4: '1 9+' is not callgrind output"),
    ],
)
def test_a_broken_line_of_callgrind_is_reported(
    lines: list[str], words: str, tmp_path: Path
) -> None:
    text = "\n".join(["# callgrind format", "events: Ir", "fn=(1) main", *lines, ""])
    (tmp_path / "callgrind.out.1").write_text(text)
    with pytest.raises(InputError, match=words):
        load_dataflow(tmp_path / "callgrind.out.1")


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        ("integer = [1, 9007199254740991]", True),
        ("integer = [4, 9007199254740991], step = 9007199254740990", False),  # one value
    ],
)
def test_the_values_of_a_large_variable_are_not_written_out(
    values: str, changes: bool, tmp_path: Path
) -> None:
    study = dse.load(written(tmp_path, text=STUDY.replace("integer = [1, 64]", values)))
    missing = find_missing_declarations(Ranges(study.evaluator))
    assert any(text.endswith("'speed' changes with 'lanes'") for text in missing) == changes


# A few files of each kind, damaged at random: ``python -m benchmarks.fuzz`` reads thousands ---


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_damaged_is_used_or_reported(kind: str, tmp_path: Path) -> None:
    found = [finding(kind, number, tmp_path / str(number)) for number in range(40)]
    assert [each for each in found if each] == []
