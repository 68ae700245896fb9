"""Real programs, profiled and compared with their native run and with valgrind.

    python -m benchmarks.real_programs [--write] [PROGRAM...]

Fetches sources as ``benchmarks.built_programs`` does, builds them with ``dse profile cc`` and
prints a row per program. ``--write`` also writes docs/validation/programs.md. The columns:

* output: the profiled program prints the bytes of the native one
* calls: every function has the calls that callgrind counts on the same IR without hooks
* functions: those with at least 1 % of the instructions, libraries included, whose fraction of the
  instructions is within 5 % of callgrind's; the profile counts instructions of LLVM, callgrind
  counts machine instructions
* largest: the largest difference of such a fraction, in percentage points
* libraries: their fraction of the instructions, by the profile and by callgrind
* L1 misses: by the profile and by callgrind with the same cache, without the loader; the profile
  has no accesses inside of libraries, except those of functions whose effect is known
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.built_programs import CC, CXX, addresses, fetch, seconds, unpacked, without_hooks
from benchmarks.debian_programs import DRIVERS, PACKAGES, Package
from dse.problems import InputError
from dse.profile.command import USUAL, Options, build_program, profile_program
from dse.profile.document import Profile

PAGE = Path(__file__).parents[1] / "docs" / "validation" / "programs.md"
LARGE, NEAR = 0.01, 0.05  # fractions of the instructions; relative difference


@dataclass
class Callgrind:
    """A run under callgrind: calls and instructions by symbol, and L1 misses."""

    calls: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    libraries: int = 0
    misses: int = 0


def run_callgrind(plain: Path, arguments: tuple[str, ...], given: Path) -> Callgrind:
    """Run a program under callgrind with the profile's cache; return its counts."""
    out = plain.with_name("callgrind")
    cache = f"{USUAL.l1},{USUAL.l1_ways},{USUAL.line}"
    last = f"{USUAL.l2},{USUAL.l2_ways},{USUAL.line}"
    line = ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--D1={cache}", f"--LL={last}"]
    line += [f"--callgrind-out-file={out}", "--compress-strings=no", "--compress-pos=no"]
    seconds([*line, "--demangle=no", str(plain), *arguments], given)
    found, events, callee, holder, place, name, skip = Callgrind(), [], "", "", "", "", False
    for text in out.read_text().splitlines():
        key, _, value = text.partition("=")
        if text.startswith("events:"):
            events = text.split()[1:]
        elif key == "ob":
            holder = place = value
        elif key == "cob":
            place = value
        elif key == "fn":
            name = re.sub(r"'\d+$", "", value)
        elif key == "cfn":
            callee = re.sub(r"'\d+$", "", value)
        elif key == "calls":
            if Path(place) == plain:
                found.calls[callee] += int(value.split()[0])
            place, skip = holder, True
        elif text[:1].isdigit():
            if skip:
                skip = False
                continue
            cost = dict(zip(events, map(int, text.split()[1:]), strict=False))
            if "/ld-" in holder:
                continue
            if Path(holder) == plain:
                found.own[name] += cost["Ir"]
            else:
                found.libraries += cost["Ir"]
            found.misses += cost.get("D1mr", 0) + cost.get("D1mw", 0)
    return found


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
    instructions: int

    def text(self) -> str:
        """Return the row as the page has it."""
        ours, theirs = (f"{100 * value:.1f}" for value in self.libraries)
        cells = [
            self.name,
            f"{self.instructions / 1e6:.3g}",
            "yes" if self.output else "**no**",
            "yes" if self.calls else "**no**",
            f"{self.near} of {self.functions}",
            f"{100 * self.largest:.1f}",
            f"{ours} / {theirs}",
            f"{self.misses:,} / {self.misses_by_callgrind:,}",
            f"{100 * (self.misses / max(self.misses_by_callgrind, 1) - 1):+.1f}",
        ]
        return f"| {' | '.join(cells)} |"


HEADS = (
    "| program | instructions [million] | output | calls | functions | largest [points]"
    " | libraries [%] | L1 misses | difference [%] |\n|---|--:|---|---|--:|--:|--:|--:|--:|"
)


def fractions(profile: Profile, costs: Callgrind, plain: Path) -> list[tuple[float, float]]:
    """Return the fraction of each large function, by the profile and by callgrind."""
    at, ours = addresses(plain), Counter[str]()
    symbols = {f.name: f.symbol for f in profile.functions}
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


def compare(name: str, package: Package, folder: Path) -> Row:
    """Build, profile and compare one program."""
    source = unpacked(name, folder)
    one, onexx = folder / "cc", folder / "c++"
    for file, command in ((one, CC), (onexx, CXX)):
        file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        file.chmod(0o755)
    line = package.build.format(cc=CC, cxx=CXX, one=one, onexx=onexx, drivers=DRIVERS)
    subprocess.run(["bash", "-c", line], cwd=source, capture_output=True, check=True)  # noqa: S603, S607
    work, given, out = folder / f"{name}.work", folder / f"{name}.in", folder / f"{name}.out"
    work.mkdir()
    content = package.given
    given.write_bytes((source / content).read_bytes() if isinstance(content, str) else content)
    program = source / package.program
    options = Options((program,), package.arguments)
    with given.open("rb") as stdin, out.open("wb") as stdout:
        profile = profile_program(options, stdin=stdin, stdout=stdout)
    same = seconds([str(program), *package.arguments], given)[1] == out.read_bytes()
    built = build_program(options, work)
    plain = without_hooks(built, work)
    costs = run_callgrind(plain, package.arguments, given)
    at, reached = addresses(plain), Counter[str]()
    for symbol, number in costs.calls.items():
        reached[at.get(symbol, symbol)] += number
    calls = {f.symbol: f.invocations for f in profile.functions if not f.foreign and f.invocations}
    *large, libraries = fractions(profile, costs, plain)
    return Row(
        name,
        same,
        all(reached[at.get(symbol, symbol)] == n for symbol, n in calls.items()),
        len(large),
        sum(abs(a - b) <= NEAR * b for a, b in large),
        max((abs(a - b) for a, b in large), default=0.0),
        libraries,
        sum(sum(access.hits[0][1:]) for access in profile.accesses),
        costs.misses,
        costs.own.total() + costs.libraries,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*PACKAGES, []])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = options.programs or list(PACKAGES)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        fetch(chosen, folder)
        print(HEADS)
        for name in chosen:
            try:
                rows.append(compare(name, PACKAGES[name], folder))
                print(rows[-1].text(), flush=True)
            except (InputError, subprocess.CalledProcessError, ValueError, OSError) as error:
                said = getattr(error, "stderr", None) or str(error).encode()
                print(f"{name}: {said.decode('utf-8', 'replace').strip()[-300:]}", file=sys.stderr)
    if options.write:
        write_page(rows)


def write_page(rows: list[Row]) -> None:
    """Replace the table of the page, and the sentence above it."""
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join([HEADS, *(row.text() for row in rows)])
    PAGE.write_text(
        re.sub(r"(?s)\| program \|.*?(?=\n\n|\Z)", lambda _: table, text, count=1), "utf-8"
    )


if __name__ == "__main__":
    main()
