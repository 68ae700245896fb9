"""Example programs, and what the tests of profiles do with them."""

from __future__ import annotations

import functools
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dse.problems import InputError
from dse.profile.build.frontend import is_cxx, link_program
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import (
    KENTER,
    InstrumentedProgram,
    ProfileOptions,
    build_program,
    measure_program,
)
from dse.profile.document import CacheLevels, Profile
from dse.profile.run.run import environment
from tests.profile.reference import Flow, Follower

PROGRAMS = Path(__file__).parents[2] / "studies" / "programs"
CACHES = (
    KENTER,
    CacheLevels(l1=512, l2=2048, line=32),
    CacheLevels(l1=1024, l2=4096, line=64, l1_ways=2, l2_ways=4),
)


def picture(side: int) -> bytes:
    """Return a square picture with different pixels."""
    pixels = bytes((7 * i + i // 5) % 256 for i in range(3 * side * side))
    return b"P6 %d %d 255\n" % (side, side) + pixels


TEXT = b"the cat sat on the mat; the dog, too\nand then the cat ran off\n" * 3


def _toolchain_missing() -> str:
    try:
        find_toolchain()
    except InputError as error:
        return str(error)
    return ""


needs_compiler = pytest.mark.skipif(
    bool(_toolchain_missing()), reason=f"programs cannot be built: {_toolchain_missing()}"
)


@dataclass(frozen=True)
class Example:
    sources: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    given: bytes = b""


_PARTS = "main value object table lexer parser compiler machine builtins"
SCRIPT = tuple(f"script/{name}.c" for name in _PARTS.split())


# Short, as the reference follows each access.
SHORT_SCRIPT = b"""
fn fibonacci(n) { if n < 2 { return n; } return fibonacci(n - 1) + fibonacci(n - 2); }
let seed = 7; let numbers = [];
while length(numbers) < 3 { seed = (seed * 37 + 11) % 101; append(numbers, seed); }
let word = "abc"; let turned = ""; let i = length(word) - 1;
while i >= 0 { turned = turned + letter(word, i); i = i - 1; }
print fibonacci(3), sorted(numbers), numbers[0] == 68, turned, root(2), -3 / 4, not true or "kept";
"""


EXAMPLES = {
    "script": Example(SCRIPT, (), SHORT_SCRIPT),
    "rotate": Example(("rotate.c",), ("i",), picture(8)),
    "rotate quarters": Example(("rotate.c",), ("r",), picture(8)),
    "queens": Example(("queens.c",), ("5",)),
    "words": Example(("words.c",), (), TEXT),
    "dispatch": Example(("dispatch.c",)),
    "shapes": Example(("shapes.cpp",), ("25",)),
}


@dataclass
class Measured:
    profile: Profile
    output: bytes
    plain: bytes
    trace: list[tuple[bytes, int, int, int, int, int]]
    built: InstrumentedProgram

    @functools.cached_property
    def sites(self) -> list[int]:
        """The program's loads and stores in blocks that ran, as numbered in the trace."""
        return sites_that_ran(self.built, self.flow)

    @functools.cached_property
    def flow(self) -> Flow:
        """What the reference finds on the trace."""
        return Follower().follow(self.trace)


def sites_that_ran(built: InstrumentedProgram, flow: Flow) -> list[int]:
    """Return the loads and stores in blocks of the trace: a profile lists these first."""
    accesses = enumerate(built.tables["accesses"])
    return [site for site, access in accesses if flow.blocks[access["block"]]]


def run_built(
    built: InstrumentedProgram, arguments: tuple[str, ...], given: bytes
) -> tuple[Profile, bytes]:
    """Run a built program on bytes; return profile and output."""
    source, target = built.result.with_name("in"), built.result.with_name("out")
    source.write_bytes(given)
    with source.open("rb") as stdin, target.open("wb") as stdout:
        profile = measure_program(built, arguments, stdin, stdout)
    return profile, target.read_bytes()


def plain_output(example: Example, folder: Path) -> bytes:
    """Return what the program prints when it is built by the compiler alone."""
    toolchain = find_toolchain()
    program, cxx = folder / "plain", is_cxx([Path(name) for name in example.sources])
    command = [*(toolchain.cxx if cxx else toolchain.c), "-O2", "-fno-sanitize=all"]
    command += [*toolchain.baseline, "-o", str(program), "-lm"]
    if cxx:  # next to a source, zig would link its own C++ library, and compile it first
        command[-3:] = ["-c", "-o", str(program.with_suffix(".o"))]
    sources = [str(PROGRAMS / name) for name in example.sources]
    subprocess.run([*command, *sources], check=True, capture_output=True)
    if cxx:
        link_program(toolchain, [program.with_suffix(".o")], program, cxx)
    name = Path(example.sources[0]).stem
    done = subprocess.run(
        [name, *example.arguments],
        executable=program,
        input=example.given,
        capture_output=True,
        env=environment(()),
        check=True,
    )
    return done.stdout


def named(profile: Profile, matrix: Counter[tuple[int | str, int]]) -> dict[tuple[str, str], int]:
    """Name the functions of a matrix."""
    names = [f.name for f in profile.functions]
    return {
        (a if isinstance(a, str) else names[a], names[b]): count for (a, b), count in matrix.items()
    }


def hollow_profile(**tables: object) -> Profile:
    """Return a profile of which all tables are empty but the given ones."""
    profile = Profile.load(PROGRAMS.parent / "profiles" / "sor.json")
    empty = {name: () for name, table in profile if isinstance(table, tuple)}
    return profile.model_copy(update={**empty, **tables})


def by_name(transfers: tuple[object, ...]) -> dict[tuple[str, str], int]:
    return {(t.source, t.to): t.bytes for t in transfers}  # type: ignore[attr-defined]


def executions(profile: Profile, function: str) -> list[int]:
    return [block.executions for block in profile.blocks if block.function == function]


def calls(profile: Profile) -> dict[str, int]:
    """Return how often each function of the program was called."""
    return {f.name: f.invocations for f in profile.functions if not f.foreign}


def turned(side: int) -> bytes:
    """Work out the turned picture directly."""
    old = np.frombuffer(picture(side)[-3 * side * side :], np.uint8).reshape(side, side, 3)
    # Each ring element takes the place of its neighbour: new[y, x] = old[side - 1 - x, y].
    out = old[::-1].swapaxes(0, 1).tobytes()
    return b"P6\n%d %d\n255\n" % (side, side) + out


def source(folder: Path, text: str, name: str = "program.c") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def profile_text(folder: Path, text: str, *arguments: str, **settings: object) -> Profile:
    """Profile a program given as text."""
    sources = (source(folder, text),)
    built = build_program(ProfileOptions(sources, arguments, **settings), folder)  # type: ignore[arg-type]
    return run_built(built, arguments, b"")[0]
