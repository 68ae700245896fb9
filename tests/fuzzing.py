"""Files that are damaged at random: whatever is read is used or told, and it ends.

Each input is an example with some of its bytes, words or lines changed, the same ones for equal
seeds and numbers. What a reader raises beside `DseError` is a finding, and so is one that takes
longer than `SECONDS`.
"""

from __future__ import annotations

import re
import shutil
import signal
import traceback
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dse.problems import DseError
from tests.test_programs import GRIND
from tests.toy import MODEL, STUDY

ROOT = Path(__file__).parents[1]
SECONDS = 30
_WORDS = (
    *("0", "-1", "1e308", "1e400", "nan", "inf", "-inf", "1e-320", "9" * 30, "9" * 5000),
    *(
        "true",
        "null",
        '""',
        "[]",
        "{}",
        "[[",
        "]]",
        "}}",
        '"',
        "'",
        '"""',
        "\\",
        "\\u0000",
        "\\ud800",
    ),
    *("\x00", "\x1b[2J", "\x9b", "\ufeff", "\u202e", "ß", "=", ",", ";", "\t", "\r", "\n\n", "#"),
    *("[" * 300, "{" * 300, "(" * 300, "a." * 300, "-" * 300, "x" * 20_000, "1 GiB", "% / s", "**"),
    *("..", "/", "/dev/zero", "../../etc/passwd", "builtins:eval", "nothing.py:f", "__class__"),
)
MORE = """
[[objective]]
minimize = "cost"
over = { clock = ["1 GHz", "2 GHz"] }
reduce = "mean"
weights = [1, 2]
[target]
reach = "speed >= 2 and cost < 10 kLUT"
[search]
method = "bound"
tolerance = { speed = "1 %", cost = "10 LUT" }
timeout = 3
[run]
chunk = 100
[bottlenecks]
factor = 5
[[curve]]
name = "speed"
quantities = ["speed"]
axis = "size"
real = ["1 KiB", "1 MiB"]
"""
TABLE = "lanes,clock_GHz,speed,cost_LUT,kind\n1,0.5,1.5,100,a\n2,1,2.5,200,b\n4,1,nan,300,a\n"
OF_TABLE = """
[study]
name = "t"
table = "t.csv"
[space]
columns = ["lanes", "clock_GHz"]
[[objective]]
maximize = "speed"
[[objective]]
minimize = "cost_LUT"
"""
TIMES = "granularity_B,host_s,accelerated_s\n" + "".join(
    f"{g},{1e-9 * g},{1e-6 + 1e-10 * g}\n" for g in (64, 256, 1024, 4096, 16384)
)
PARTS = '[study]\nname = "p"\nmodels = ["objectives.partition:optimal"]\n'


class Kind(NamedTuple):
    """A kind of input.

    Attributes
    ----------
    examples : callable
        Puts what is needed into a folder; returns the files one of which is damaged.
    read : callable
        Reads it all, given the folder.
    """

    examples: Callable[[Path, int], Sequence[Path]]
    read: Callable[[Path], None]


def _placed(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / name for name in files]


def _study(folder: Path, number: int) -> Sequence[Path]:
    (folder / "toy_model.py").write_text(MODEL)
    return _placed(folder, {"study.toml": STUDY + MORE * (number % 2)})


def _read_study(folder: Path) -> None:
    import dse

    dse.load(folder / "study.toml")


def _catalog(folder: Path, number: int) -> Sequence[Path]:
    every = sorted((ROOT / "spaces").glob("*.toml"), key=lambda p: p.stat().st_size)[:7]
    return _placed(folder, {"some.toml": every[number % len(every)].read_text()})


def _read_catalog(folder: Path) -> None:
    from dse.study.catalog import load_catalog

    load_catalog(folder / "some.toml")


def _profile(folder: Path, number: int) -> Sequence[Path]:
    name = ("sor", "fft", "rotate/iterative-008")[number % 3]
    return _placed(folder, {"p": (ROOT / "studies" / "profiles" / f"{name}.json").read_text()})


def _read_programs(folder: Path) -> None:
    from objectives.communication import load_dataflows
    from objectives.partition import Workloads

    for load in (load_dataflows, Workloads.load):
        try:
            load(folder / "p")
        except DseError:
            continue


def _callgrind(folder: Path, number: int) -> Sequence[Path]:
    return _placed(folder, {"p": GRIND})


def _table(folder: Path, number: int) -> Sequence[Path]:
    (folder / "study.toml").write_text(OF_TABLE)
    return _placed(folder, {("t.csv", "fit.csv")[number % 2]: (TABLE, TIMES)[number % 2]})


def _read_table(folder: Path) -> None:
    import dse
    from dse.fit.reading import read_series

    if (folder / "t.csv").exists():
        dse.load(folder / "study.toml")
    else:
        read_series(folder / "fit.csv")


def _folder(folder: Path, number: int) -> Sequence[Path]:
    shutil.copytree(ROOT / "tests" / "folders" / "format-4", folder / "run")
    names = ("summary.json", "summary.json", "summary.json", "run.json", "front.csv", "designs.csv")
    return [folder / "run" / names[number % len(names)]]


def _read_folder(folder: Path) -> None:
    import dse
    from dse.result.claim import is_finished_run_of
    from dse.result.folder import read_answer, study_of

    is_finished_run_of(folder / "run", "digest")
    result = dse.load_result(folder / "run")
    read_answer(folder / "run")
    study_of(folder / "run")
    result.summary()
    repr(result)


KINDS = {
    "study": Kind(_study, _read_study),
    "catalog": Kind(_catalog, _read_catalog),
    "profile": Kind(_profile, _read_programs),
    "callgrind": Kind(_callgrind, _read_programs),
    "csv": Kind(_table, _read_table),
    "folder": Kind(_folder, _read_folder),
}


def damaged(content: bytes, draw: np.random.Generator) -> bytes:
    """Return a text with one to four changes."""
    for _ in range(draw.integers(1, 5)):
        tokens = [m.span() for m in re.finditer(rb"[\w.+-]+|\"[^\"\n]*\"|[^\s\w]", content)]
        low, high = tokens[draw.integers(len(tokens))] if tokens else (0, len(content))
        other = tokens[draw.integers(len(tokens))] if tokens else (0, 0)
        word = _WORDS[draw.integers(len(_WORDS))].encode("utf-8", "surrogatepass")
        match draw.integers(9):
            case 0 | 1:  # a word is another
                content = content[:low] + word + content[high:]
            case 2:
                content = content[:low] + word + content[low:]
            case 3:  # a word of its own is another
                content = content[:low] + content[slice(*other)] + content[high:]
            case 4:
                content = content[:low] + content[high:]
            case 5 if content:  # a bit
                place = int(draw.integers(len(content)))
                flipped = bytes([content[place] ^ (1 << int(draw.integers(8)))])
                content = content[:place] + flipped + content[place + 1 :]
            case 6:  # lines twice, or somewhere else
                lines = content.splitlines(keepends=True) or [b""]
                a, b = sorted(draw.integers(len(lines), size=2))
                content = b"".join([*lines[:b], *lines[a : a + 3], *lines[b:]])
            case 7:
                lines = content.splitlines(keepends=True) or [b""]
                a = int(draw.integers(len(lines)))
                content = b"".join(lines[:a] + lines[a + 1 + int(draw.integers(3)) :])
            case _:  # the end is missing
                content = content[: int(draw.integers(len(content) + 1))]
    return content


class _Hangs(BaseException):
    """A reader took too long; no reader catches it."""


def _late(_: int, __: types.FrameType | None) -> None:
    raise _Hangs


def finding(kind: str, number: int, folder: Path, seed: int = 0) -> str:
    """Read the input of a number; return what went wrong, empty if nothing did.

    The folder is left if something did.
    """
    draw = np.random.default_rng([seed, list(KINDS).index(kind), number])
    folder.mkdir(parents=True)
    files = KINDS[kind].examples(folder, number)
    chosen = files[int(draw.integers(len(files)))]
    chosen.write_bytes(damaged(chosen.read_bytes(), draw))
    before = signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        KINDS[kind].read(folder)
    except DseError:
        pass
    except _Hangs:
        return f"{kind} {number}: takes more than {SECONDS} s, in {folder}"
    except BaseException:
        return f"{kind} {number}: in {folder}\n{traceback.format_exc()}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    shutil.rmtree(folder)
    return ""
