"""Files that are damaged at random: whatever is read is used or told, and it ends.

Each input is an example with some of its bytes, words, lines or values changed, the same ones for
equal seeds and numbers. An exception that is not a `DseError` is a finding, an unforeseen one too,
and so is an input that takes more than `SECONDS` of CPU time.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import shlex
import shutil
import signal
import tomllib
import traceback
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomlkit

from dse.boundary import UnforeseenError
from dse.problems import DseError
from tests.commands import called
from tests.objectives.programs.test_load import GRIND
from tests.toy import MODEL, STUDY

ROOT = Path(__file__).parents[1]
SECONDS = 10
_WORDS = (
    *("0", "-1", "1e308", "1e400", "nan", "inf", "-inf", "1e-320", "9" * 30, "9" * 5000),
    *("true", "null", '""', "[]", "{}", "[[", "]]", "}}", '"', "'", '"""'),
    *("\\", "\\u0000", "\\ud800"),
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
        with contextlib.suppress(DseError):
            load(folder / "p")


def _table(folder: Path, number: int) -> Sequence[Path]:
    return _placed(folder, {"t.csv": TABLE, "study.toml": OF_TABLE})[:1]


def _read_times(folder: Path) -> None:
    from dse.fit.series import read_series

    read_series(folder / "fit.csv")


COMMANDS = (
    'explain run --where "speed >= 2 and cost between 1 kLUT and 20 kLUT"',
    "explain run --design 3 --design nash --json",
    'check study.toml --target "speed / cost >= 1 and size in (1, 2)"',
    'run study.toml --target "speed >= 1e-3 and cost < 10 kLUT" --least cost --seconds 1 --quiet',
    "run study.toml --workers 1 --seconds 0.5 --fresh --quiet",
    'fit fit.csv --given overhead=5us --given "clock=1.16 GHz" --by granularity_B --force',
    "list objectives.logca --help",
    "profile p.json --cache 32K,4M,64,8,16 --chunk 4 --region f:2-3 --functions a,b",
    "new new.toml --kernel aes --interface axi-dma --host sparc-t4 --force",
    "certify run --designs 10 --seed 3",
    "compare run run --json",
    "status run --json",
)


def _command(folder: Path, number: int) -> Sequence[Path]:
    _study(folder, 0)
    _placed(folder, {"fit.csv": TIMES, "p.json": '{"format": "dse profile"}'})
    shutil.copytree(ROOT / "tests" / "folders" / "format-4", folder / "run")
    return _placed(folder, {"line": COMMANDS[number % len(COMMANDS)]})


def _read_command(folder: Path) -> None:
    try:
        words = shlex.split((folder / "line").read_text("utf-8", "surrogateescape"))
    except ValueError:
        return
    if words[:2] == ["profile", "cc"] or words[:2] == ["profile", "c++"]:
        return  # the real compiler's
    done = called(*(word.replace("\0", "") for word in words), cwd=folder)
    text = done.stdout + done.stderr
    if done.returncode not in (0, 1, 2) or "Traceback" in text:
        raise AssertionError(f"exit code {done.returncode}: {text[-3000:]}")


def _folder(folder: Path, number: int) -> Sequence[Path]:
    shutil.copytree(ROOT / "tests" / "folders" / "format-4", folder / "run")
    names = ("summary.json", "summary.json", "summary.json", "run.json", "front.csv", "designs.csv")
    return [folder / "run" / names[number % len(names)]]


def _read_folder(folder: Path) -> None:
    import dse
    from dse.result.folder import load_copied_study, read_answer
    from dse.result.lease import is_finished_run_of

    is_finished_run_of(folder / "run", "digest")
    result = dse.load_result(folder / "run")
    read_answer(folder / "run")
    load_copied_study(folder / "run")
    result.summary()
    repr(result)


KINDS = {
    "study": Kind(_study, _read_study),
    "catalog": Kind(_catalog, _read_catalog),
    "profile": Kind(_profile, _read_programs),
    "callgrind": Kind(lambda folder, _: _placed(folder, {"p": GRIND}), _read_programs),
    "table": Kind(_table, _read_study),
    "times": Kind(lambda folder, _: _placed(folder, {"fit.csv": TIMES}), _read_times),
    "command": Kind(_command, _read_command),
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


_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, 2**63, 2**64, -(2**70), float("nan"), float("inf"), 1e-320, 0.5),
    *("", "x", "1 GHz", "5 %", "-3 kLUT", "nan", "a" * 3000, "\u202e", "a\nb", "../x", "speed"),
    *([], {}, [[]], [{}], {"": 1}, [1, "a"], ["1 KiB", "2 KiB"], {"of": {"of": [1]}}),
    list(range(2000)),
)


def restructured(content: bytes, draw: np.random.Generator) -> bytes:
    """Return TOML or JSON of which one or two values are others, twice there, or missing.

    A text in another format, or one that cannot be written with the new value, is damaged instead.
    """
    text = content.decode("utf-8", "replace")
    is_json = text.lstrip().startswith("{")
    try:
        tree = json.loads(text) if is_json else tomllib.loads(text)
        for _ in range(draw.integers(1, 3)):
            _change(tree, draw)
        written = json.dumps(tree) if is_json else tomlkit.dumps(tree)
    except (ValueError, TypeError, AttributeError, tomlkit.exceptions.TOMLKitError):
        return damaged(content, draw)
    return written.encode("utf-8", "surrogatepass")


def _change(tree: Any, draw: np.random.Generator) -> None:
    """Change one value somewhere in a tree of tables and lists."""
    places: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        places += [(node, key) for key in keys]
        waiting += [node[key] for key in keys if isinstance(node[key], dict | list)]
    if not places:
        return
    node, key = places[draw.integers(len(places))]
    other_node, other_key = places[draw.integers(len(places))]
    match draw.integers(5):
        case 0 | 1:
            node[key] = copy.deepcopy(_VALUES[draw.integers(len(_VALUES))])
        case 2:
            node[key] = json.loads(json.dumps(other_node[other_key], default=str))
        case 3:
            del node[key]
        case _ if isinstance(node, dict):
            node[f"{key}{_VALUES[draw.integers(12, 23)]}"] = copy.deepcopy(node[key])
        case _:
            node.append(copy.deepcopy(node[key]))


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
    change = restructured if kind != "command" and draw.integers(2) else damaged
    chosen.write_bytes(change(chosen.read_bytes(), draw))
    before = signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        KINDS[kind].read(folder)
    except UnforeseenError:
        return f"{kind} {number}: in {folder}\n{traceback.format_exc()}"
    except DseError:
        pass
    except _Hangs:
        return f"{kind} {number}: takes more than {SECONDS} s of CPU time, in {folder}"
    except BaseException:
        return f"{kind} {number}: in {folder}\n{traceback.format_exc()}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    shutil.rmtree(folder)
    return ""
