"""Every command ends with an exit code and a short text, whatever it is given."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.boundary import UnforeseenError, end_with, reader
from dse.problems import LONGEST_MESSAGE, InputError, Problem
from tests.commands import called
from tests.toy import MODEL, STUDY

ROOT = Path(__file__).parents[1]
MOST = 3 * LONGEST_MESSAGE  # a usage line and an indented list of problems are added to it
OF_TABLE = '[study]\nname = "t"\ntable = {}\n[[objective]]\nmaximize = "a"\n'


def _study(folder: Path, text: str, model: str = MODEL) -> None:
    (folder / "toy_model.py").write_text(model)
    (folder / "study.toml").write_text(text)


def _table(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b\n1,2\n")
    (folder / "study.toml").write_text(OF_TABLE.format('["t.csv"]'))


def _objectives(folder: Path) -> None:
    objective = '[[objective]]\nminimize = "nothing"\n'
    _study(folder, STUDY + objective * 50)


def _countless(folder: Path) -> None:
    head = STUDY[: STUDY.index("[[objective]]")]
    _study(folder, f"objective = [{', '.join(['1'] * 50_000)}]\n{head}")


def _long_value(folder: Path) -> None:
    _study(folder, STUDY.replace("20 kLUT", "x" * 100_000))


def _long_name(folder: Path) -> None:
    _study(folder, STUDY.replace('maximize = "speed"', f'maximize = "{"x" * 100_000}"'))


def _long_column(folder: Path) -> None:
    (folder / "t.csv").write_text(f"a,b,{'x' * 70_000}\n1,2,3\n2,1,4\n")
    (folder / "study.toml").write_text(
        OF_TABLE.format('"t.csv"') + '[[objective]]\nminimize = "bb"'
    )


def _profile(folder: Path) -> None:
    profile = json.loads((ROOT / "studies" / "profiles" / "sor.json").read_text())
    for function in profile["functions"]:
        function["line"] = 2**64
    (folder / "p.json").write_text(json.dumps(profile))


def _summary(folder: Path) -> None:
    shutil.copytree(ROOT / "tests" / "folders" / "format-4", folder / "run")
    path = folder / "run" / "summary.json"
    summary = json.loads(path.read_text())
    for column in summary["columns"]:
        column["unit"] = {"of": "LUT"}
    path.write_text(json.dumps(summary))


def _garbage(folder: Path) -> None:
    (folder / "p.ll").write_text("define void @f() {\n garbage\n}\n")


def _nothing(folder: Path) -> None:
    pass


NOT_UTF_8 = "bad\udcff"
ROWS: dict[str, tuple[Callable[[Path], None], list[str], str]] = {
    "a table in a list": (_table, ["check", "study.toml"], "study.table"),
    "more objectives than allowed": (_objectives, ["check", "study.toml"], "objective"),
    "objectives that are no tables": (_countless, ["check", "study.toml"], "objective"),
    "a long value": (_long_value, ["check", "study.toml"], "at_most"),
    "a long name": (_long_name, ["check", "study.toml"], "objective[1].maximize"),
    "a long column": (_long_column, ["check", "study.toml"], "70,000 characters"),
    "a line beyond 64 bits": (_profile, ["profile", "p.json"], "functions.0.line"),
    "the same, for a study": (_profile, ["new", "s.toml", "--from", "p.json"], "functions.0.line"),
    "a unit that is a table": (_summary, ["explain", "run"], "a unit is not a text"),
    "IR that is none": (_garbage, ["profile", "p.ll"], "LLVM cannot process the IR"),
    "a study's name in bytes": (_nothing, ["check", f"{NOT_UTF_8}.toml"], "not UTF-8"),
    "a folder's name in bytes": (_nothing, ["report", NOT_UTF_8], "not UTF-8"),
    "a table's name in bytes": (_nothing, ["fit", f"{NOT_UTF_8}.csv"], "not UTF-8"),
    "a long file name": (_nothing, ["check", "x" * 5000], "File name too long"),
    "a long option": (_nothing, ["run", "--" + "x" * 90_000], "No such option"),
}


@pytest.mark.parametrize("row", ROWS)
def test_an_odd_input_is_bad_input_in_a_short_message(row: str, tmp_path: Path) -> None:
    build, arguments, words = ROWS[row]
    build(tmp_path)
    done = called(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[:MOST]
    assert words in done.stderr[:MOST]
    assert len(done.stderr) <= MOST
    assert "Traceback" not in done.stderr


def test_ir_of_a_newer_compiler_is_read(tmp_path: Path) -> None:
    """The IR of rustc has groups of the one attribute that is taken away."""
    binding = pytest.importorskip("llvmlite.binding")
    body = "define i32 @main() #0 {\nstart:\n  ret i32 0\n}\nattributes #0 = { noinline }\n"
    triple = f'target triple = "{binding.get_default_triple()}"\n'
    (tmp_path / "p.ll").write_text(triple + body)
    done = called("profile", "p.ll", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


CLOSES = "    import os\n    os.closerange(3, 100)\n"


@pytest.mark.parametrize("low", [0, 3])
def test_a_model_that_closes_files_leaves_an_exit_code(low: int, tmp_path: Path) -> None:
    head, separator, tail = MODEL.partition("    return Toy(lanes * clock")
    _study(tmp_path, STUDY, f"{head}{CLOSES.replace('3', str(low), 1)}{separator}{tail}")
    command = [sys.executable, "-m", "dse", "run", "study.toml", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2, 70)
    assert "Traceback" not in done.stdout + done.stderr
    assert len(done.stderr) <= MOST


@pytest.mark.parametrize("processes", ["false", "true"])
def test_a_model_that_raises_no_exception_class_leaves_one_line(
    processes: str, tmp_path: Path
) -> None:
    head, separator, tail = MODEL.partition("    return Toy(lanes * clock")
    raises = "    class Odd(BaseException): pass\n    raise Odd('odd')\n"
    study = f"{STUDY}\n[run]\nprocesses = {processes}\n"
    _study(tmp_path, study, f"{head}{raises}{separator}{tail}")
    done = called("run", "study.toml", "--quiet", cwd=tmp_path)
    assert done.returncode == 70, done.stderr[:MOST]
    assert "Traceback" not in done.stderr
    assert "Odd: odd" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_without_space_is_no_unforeseen_error(tmp_path: Path) -> None:
    _study(tmp_path, STUDY)
    command = [sys.executable, "-m", "dse", "check", "study.toml"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "unforeseen" not in done.stderr


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
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    assert len(told) <= LONGEST_MESSAGE
    found = re.search(r"traceback is in (\S+)", told)
    assert found
    saved = Path(found[1])
    text = saved.read_text()
    assert "Traceback" in text
    assert "secret" not in text + told
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
