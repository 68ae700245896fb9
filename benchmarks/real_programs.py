"""Real programs, profiled and compared with their native run and with valgrind.

    python -m benchmarks.real_programs SOURCES [PROGRAM...]

SOURCES is a folder with the sources: for each program of ``benchmarks.github_programs`` a git
repository of its name (``git clone https://github.com/OWNER/NAME``), which has the commit, and for
each of Debian its archive (``apt-get source --download-only NAME``). The command builds them with
``dse profile cc`` and prints a row per program; docs/validation/programs.md sums them up. The
columns:

* output: the profiled program prints the bytes of the native one
* calls: every function has the calls that callgrind counts on the same IR without hooks
* functions: those with at least 1 % of the instructions, libraries included, whose fraction of the
  instructions is within 5 % of callgrind's; "(LLVM)": the profile has only instructions of LLVM
* largest: the largest difference of a fraction, in percentage points
* libraries: their fraction of the instructions, by the profile and by callgrind
* L1 misses: by the profile and by callgrind with the same cache, without the loader; where
  ``dse profile`` does not run valgrind, the profile has no accesses inside of libraries, except
  those of functions whose effect is known
* in libraries: the fraction of callgrind's misses that is in libraries
* program's misses: without those in libraries, except of memcpy, memmove and memset that the
  program itself calls
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.built_programs import addresses, build_package, seconds, unpacked
from benchmarks.callgrind import Callgrind, is_copy, run_callgrind
from benchmarks.debian_programs import PACKAGES, Package
from benchmarks.github_programs import SNAPSHOTS
from dse.problems import InputError
from dse.profile.command import ProfileOptions, build_program, profile_program
from dse.profile.document import Profile
from dse.profile.library.plain import build_plain_program

LARGE, NEAR = 0.01, 0.05  # fractions of the instructions; relative difference
DEBIAN = ("bc", "cjson", "expat", "giflib", "gzip", "libstb", "lzo2", "mawk", "picosat")
PROGRAMS = (*DEBIAN, *SNAPSHOTS)


@dataclass
class Row:
    """The comparison of one program."""

    name: str
    output: bool
    calls: bool
    functions: int
    near: int
    largest: float
    libraries: tuple[float, float]
    misses: int
    misses_by_callgrind: int
    misses_in_libraries: int
    own_misses: tuple[int, int]
    instructions: int
    counted: bool

    def text(self) -> str:
        """Return the row as the page has it."""
        ours, theirs = (f"{100 * value:.1f}" for value in self.libraries)
        own, own_by_callgrind = self.own_misses
        cells = [
            self.name,
            f"{self.instructions / 1e6:.3g}",
            "yes" if self.output else "**no**",
            "yes" if self.calls else "**no**",
            f"{self.near} of {self.functions}" + ("" if self.counted else " (LLVM)"),
            f"{100 * self.largest:.1f}",
            f"{ours} / {theirs}",
            f"{self.misses:,} / {self.misses_by_callgrind:,}",
            f"{100 * (self.misses / max(self.misses_by_callgrind, 1) - 1):+.1f}",
            f"{100 * self.misses_in_libraries / max(self.misses_by_callgrind, 1):.1f}",
            f"{own:,} / {own_by_callgrind:,}",
            f"{100 * (own / max(own_by_callgrind, 1) - 1):+.1f}",
        ]
        return f"| {' | '.join(cells)} |"


HEADS = (
    "| program | instructions [million] | output | calls | functions | largest [points]"
    " | libraries [%] | L1 misses | difference [%] | in libraries [%]"
    " | program's misses | difference [%] |\n"
    "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def fractions(profile: Profile, costs: Callgrind, at: dict[str, str]) -> list[tuple[float, float]]:
    """Return the fraction of each large function, by the profile and by callgrind."""
    ours = Counter[str]()
    symbols = {f.name: f.symbol for f in profile.functions}
    if profile.run.libraries_counted:
        for f in profile.functions:
            ours[at.get(f.symbol, f.symbol)] += f.instructions or 0
    else:
        for block in profile.blocks:
            symbol = symbols[block.function]
            ours[at.get(symbol, symbol)] += block.executions * block.area
    theirs = Counter[str]()
    for symbol, instructions in costs.own.items():
        theirs[at.get(symbol, symbol)] += instructions
    library = sum(each.instructions for f in profile.functions for each in f.libraries)
    whole, all_ = ours.total() + library, theirs.total() + costs.libraries
    pairs = [(ours[name] / whole, theirs[name] / all_) for name in ours | theirs]
    return [
        *(pair for pair in pairs if max(pair) >= LARGE),
        (library / whole, costs.libraries / all_),
    ]


def whole_misses(profile: Profile) -> int:
    """Return the L1 misses by valgrind, or by the hooks if it did not run."""
    hooked = sum(sum(access.hits[0][1:]) for access in profile.accesses)
    return hooked if profile.run.l1_misses is None else profile.run.l1_misses


def program_misses(profile: Profile) -> int:
    """Return the L1 misses of the program's code and of the copies that it calls."""
    libraries = {f.name for f in profile.functions if f.foreign and not is_copy(f.symbol)}
    return sum(
        sum(access.hits[0][1:])
        for access in profile.accesses
        if profile.blocks[access.block].function not in libraries
    )


def checkout(name: str, sources: Path, folder: Path) -> Path:
    """Write the files of a snapshot's commit to a folder and return it."""
    target, commit = folder / name, SNAPSHOTS[name].commit
    line = ["git", "-C", str(sources / name), "archive", commit]
    archive = subprocess.run(line, capture_output=True, check=True).stdout  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    return target


def prepare(name: str, sources: Path, folder: Path) -> tuple[Package, Path]:
    """Return a program's package and the folder with its sources."""
    if name not in SNAPSHOTS:
        return PACKAGES[name], unpacked(name, sources, folder)
    for needed in SNAPSHOTS[name].needs:
        checkout(needed, sources, folder)
    return SNAPSHOTS[name].package, checkout(name, sources, folder)


def compare(name: str, sources: Path, folder: Path) -> Row:
    """Build, profile and compare one program."""
    package, source = prepare(name, sources, folder)
    given, out = (folder / f"{name}.{kind}" for kind in ("in", "out"))
    build_package(package, source, given)
    program = source / package.program
    arguments = tuple(each.replace("{source}", str(source)) for each in package.arguments)
    options = ProfileOptions((program,), arguments, libraries=True)
    with given.open("rb") as stdin, out.open("wb") as stdout:
        profile = profile_program(options, stdin=stdin, stdout=stdout)
    same = seconds([str(program), *arguments], given)[1] == out.read_bytes()
    with tempfile.TemporaryDirectory(prefix="dse-profile-") as work:  # the stack has its length
        built = build_program(options, Path(work))
        plain = build_plain_program(built.parts, built.toolchain, built.cxx, Path(work))
        costs = run_callgrind(plain, arguments, given)
        at = addresses(plain)
        *large, libraries = fractions(profile, costs, at)
    reached = Counter[str]()
    for symbol, number in costs.calls.items():
        reached[at.get(symbol, symbol)] += number
    calls = {f.symbol: f.invocations for f in profile.functions if not f.foreign and f.invocations}
    return Row(
        name,
        same,
        all(reached[at.get(symbol, symbol)] == n for symbol, n in calls.items()),
        len(large),
        sum(abs(a - b) <= NEAR * b for a, b in large),
        max((abs(a - b) for a, b in large), default=0.0),
        libraries,
        whole_misses(profile),
        costs.misses,
        costs.misses_in_libraries,
        (program_misses(profile), costs.misses_of_program),
        costs.own.total() + costs.libraries,
        profile.run.libraries_counted,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []])
    options = parser.parse_args()
    print(HEADS)
    for name in options.programs or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(compare(name, options.sources.resolve(), Path(folder)).text(), flush=True)
            except (InputError, subprocess.CalledProcessError, ValueError, OSError) as error:
                said = getattr(error, "stderr", None) or str(error).encode()
                print(f"{name}: {said.decode('utf-8', 'replace').strip()[-300:]}", file=sys.stderr)


if __name__ == "__main__":
    main()
