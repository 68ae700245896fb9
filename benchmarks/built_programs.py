"""Programs from Debian's source packages, built by their own makefiles with ``dse profile cc``.

    python -m benchmarks.built_programs [PROGRAM...]

Fetches the sources from the mirrors that apt is set up with (nothing is installed, apt's own state
is not touched), builds, profiles, and prints a row for each program: whether its output is that of
the program as built, whether the calls of each function are those that callgrind counts on the
same IR without hooks, seconds of build and instrumentation, seconds of the run with everything on
beside callgrind's with caches, how often ours fits into that, how far L1 misses are from those of
another simulation (``drivers/caches.c``) on the same trace, at worst of four, and MB of JSON.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from llvmlite import binding

from benchmarks.callgrind import run_callgrind
from benchmarks.debian_programs import DRIVERS, PACKAGES, Package
from dse.problems import InputError
from dse.profile.build.build import load_modules
from dse.profile.build.frontend import link_program
from dse.profile.build.instrument import list_static_initializers, remove_assumptions
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import (
    USUAL,
    InstrumentedProgram,
    ProfileOptions,
    build_program,
    measure_program,
)
from dse.profile.document import CacheLevels

CC, CXX = (f"{sys.executable} -m dse profile {name}" for name in ("cc", "c++"))
CACHES = (  # the usual ones, and others of several ways
    USUAL,
    CacheLevels(l1=16 << 10, l2=1 << 20, line=32, l1_ways=4, l2_ways=8),
    CacheLevels(l1=8 << 10, l2=256 << 10, line=64, l1_ways=2, l2_ways=8),
    CacheLevels(l1=1 << 10, l2=64 << 10, line=64, l1_ways=16, l2_ways=16),
)
WITHIN = 0.02  # of the L1 misses


def fetch(names: list[str], folder: Path) -> None:
    """Fetch source packages with apt, its state in a folder."""
    state = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True)
    (state / "parts").mkdir()
    for file in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = re.sub(r"(?m)^Types: .*", "Types: deb-src", file.read_text())
        (state / "parts" / file.name).write_text(text)
    listed = Path("/etc/apt/sources.list")
    old = listed.read_text() if listed.is_file() else ""
    (state / "sources.list").write_text(re.sub(r"(?m)^deb ", "deb-src ", old))
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": state / "parts",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state / "cache",
    }
    config = state / "apt.conf"
    config.write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()))
    environ = {**os.environ, "APT_CONFIG": str(config)}
    subprocess.run(["apt-get", "update", "-qq"], env=environ, check=True)  # noqa: S607
    for name in names:
        # what is newer on one mirror than on another may be refused: the original sources suffice
        line = ["apt-get", "source", "-qq", "--download-only", name]
        subprocess.run(line, cwd=folder, env=environ, capture_output=True, check=False)  # noqa: S603


def unpacked(name: str, archives: Path, folder: Path) -> Path:
    """Unpack a package's original sources in a folder and return theirs."""
    [archive] = (each for each in archives.glob(f"{name}_*.orig.tar.*") if each.suffix != ".asc")
    target = folder / name
    target.mkdir()
    shutil.unpack_archive(archive, target)
    [inside] = target.iterdir()
    return inside


def addresses(plain: Path) -> dict[str, str]:
    """Return the address of each symbol: of several at one, such as constructors, one is told."""
    listed = subprocess.run(["nm", str(plain)], capture_output=True, text=True, check=True)  # noqa: S603, S607
    rows = (line.split() for line in listed.stdout.splitlines())
    return {row[2]: row[0] for row in rows if len(row) == 3}


def without_hooks(built: InstrumentedProgram, folder: Path) -> Path:
    """Link the same IR without hooks."""
    parts, toolchain = built.parts, find_toolchain()
    module, machine = load_modules([str(path) for path in parts.modules])
    plain = folder / "plain"
    lines: list[str] = []
    for line in str(module).splitlines():
        found = re.match(r"@llvm\.global_([cd])tors = ", line)
        if line.startswith(("attributes #", "declare ")):  # or calls of no effect are left out
            line = remove_assumptions(line)
        lines += (
            list_static_initializers(line, {"c": "init", "d": "fini"}[found[1]])
            if found
            else [line]
        )
    module = binding.parse_assembly("\n".join(lines))
    (folder / "plain.o").write_bytes(machine.emit_object(module))
    objects = (folder / "plain.o",)
    arguments = [each for each in parts.arguments if each not in ("-s", "-Wl,-s")]  # its symbols
    link_program(toolchain, objects, plain, parts.cxx, arguments, parts.directory)
    return plain


def seconds(line: list[str], given: Path) -> tuple[float, bytes]:
    """Run a command; return its seconds of work and its output."""
    before = os.times().children_user
    with given.open("rb") as stdin:
        done = subprocess.run(line, stdin=stdin, capture_output=True, check=False)  # noqa: S603
    return os.times().children_user - before, done.stdout


def worst_cache(options: ProfileOptions, given: Path, folder: Path) -> float:
    """Return how far L1 misses are from those of another simulation on the same trace, at worst."""
    folder.mkdir()
    simulator, trace = folder / "caches", folder / "trace"
    compiled = [*find_toolchain().c, "-O2", "-o", str(simulator), str(DRIVERS / "caches.c")]
    subprocess.run(compiled, check=True)  # noqa: S603
    os.mkfifo(trace)
    built = build_program(replace(options, caches=CACHES, transfers=False), folder, trace)
    shapes = [(c.line, c.l1 // c.line // c.l1_ways, c.l1_ways) for c in CACHES]
    line = [str(simulator), *(str(number) for shape in shapes for number in shape)]
    held = trace.open("rb+", buffering=0)  # so that neither side waits for the other
    with (
        given.open("rb") as stdin,
        trace.open("rb") as read,
        subprocess.Popen(line, stdin=read, stdout=subprocess.PIPE) as process,  # noqa: S603
    ):
        profile = measure_program(built, stdin=stdin, stdout=subprocess.DEVNULL)
        held.close()
        expected = [int(each) for each in process.communicate()[0].split()]
    found = [sum(sum(a.hits[k][1:]) for a in profile.accesses) for k in range(len(CACHES))]
    return max(abs(a / b - 1) for a, b in zip(found, expected, strict=True))


def build_package(package: Package, source: Path, given: Path) -> None:
    """Write a package's input and build its program with ``dse profile cc``."""
    one, onexx = given.with_suffix(".cc"), given.with_suffix(".c++")
    for file, command in ((one, CC), (onexx, CXX)):
        file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        file.chmod(0o755)
    content = package.given
    given.write_bytes((source / content).read_bytes() if isinstance(content, str) else content)
    names = {"cc": CC, "cxx": CXX, "one": one, "onexx": onexx, "drivers": DRIVERS, "given": given}
    line = package.build.format(**names)
    subprocess.run(["bash", "-c", line], cwd=source, capture_output=True, check=True)  # noqa: S603, S607


def row(name: str, package: Package, folder: Path) -> bool:
    """Build, profile and compare one program; tell whether all is equal."""
    source = unpacked(name, folder, folder)
    work, given, out = folder / f"{name}.work", folder / f"{name}.in", folder / f"{name}.out"
    work.mkdir()
    began = time.monotonic()
    build_package(package, source, given)
    building = time.monotonic() - began
    program = source / package.program
    options = ProfileOptions((program,), package.arguments)
    began = time.monotonic()
    built = build_program(options, work)
    instrumenting = time.monotonic() - began
    with given.open("rb") as stdin, out.open("wb") as stdout:
        profile = measure_program(built, stdin=stdin, stdout=stdout)
    same = seconds([str(program), *package.arguments], given)[1] == out.read_bytes()
    plain = without_hooks(built, work)
    ours = seconds([str(built.executable), *package.arguments], given)[0]
    before = os.times().children_user
    counted = run_callgrind(plain, package.arguments, given).calls
    theirs = os.times().children_user - before
    calls = {f.symbol: f.invocations for f in profile.functions if not f.foreign and f.invocations}
    at, reached = addresses(plain), Counter[str]()
    for symbol, number in counted.items():
        reached[at.get(symbol, symbol)] += number
    equal = all(reached[at.get(symbol, symbol)] == n for symbol, n in calls.items())
    off = worst_cache(options, given, folder / f"{name}.traced")
    size = len(profile.dumps()) / 1e6
    print(
        f"{name:14}{'yes' if same else 'NO':>8}{'yes' if equal else 'NO':>8}{len(calls):11,}"
        f"{sum(calls.values()):12,}{building:9.1f}{instrumenting:9.1f}{ours:8.2f}{theirs:11.2f}"
        f"{theirs / max(ours, 0.01):8.1f}{100 * off:11.2f}{size:7.1f}",
        flush=True,
    )
    return same and equal and off < WITHIN


def tried(name: str, package: Package, folder: Path) -> bool:
    """Return whether all is equal; a package that does not come so far is told."""
    try:
        return row(name, package, folder)
    except (InputError, subprocess.CalledProcessError, ValueError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        print(f"{name:14} FAILED: {said.decode('utf-8', 'replace').strip()[-400:]}", flush=True)
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*PACKAGES, []])
    chosen = parser.parse_args().programs or list(PACKAGES)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        fetch(chosen, folder)
        heads = f"{'':14}{'output':>8}{'calls':>8}{'functions':>11}{'calls':>12}{'build s':>9}"
        heads += f"{'hooks s':>9}{'run s':>8}{'callgrind':>11}{'times':>8}{'misses %':>11}{'MB':>7}"
        print(heads)
        equal = [tried(name, PACKAGES[name], folder) for name in chosen]
    sys.exit(not all(equal))


if __name__ == "__main__":
    main()
