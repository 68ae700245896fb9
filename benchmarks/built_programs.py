"""Programs from Debian's source packages, built by their own makefiles with ``dse profile cc``.

    python benchmarks/built_programs.py [PROGRAM...]

Fetches the sources from the mirrors that apt is set up with (nothing is installed, apt's own state
is not touched), builds, profiles, and prints a row for each program: whether its output is that of
the program as built, whether the calls of each function are those that callgrind counts on the
same IR without hooks, seconds of build and instrumentation, slow-down beside callgrind's with
caches, and MB of JSON.
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
from dataclasses import dataclass
from pathlib import Path

from dse.profile.build.build import load_modules
from dse.profile.build.frontend import link_program
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import Built, Options, build_program, measure

CC = f"{sys.executable} -m dse.profile cc"
LUA = b"""
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {} for i = 1, 90 do t[i] = (i * 7919) % 1000 end table.sort(t)
print(fib(16), t[1], t[#t], ("the quick brown fox"):gsub("%a+", string.upper))
"""
XML = b"<r>" + b"".join(b'<a i="%d">t &amp; %d</a>' % (i, i * i) for i in range(3000)) + b"</r>"
TEXT = b"".join(b"%d bottles of %d on the wall\n" % (i, i * i % 97) for i in range(4000))


@dataclass(frozen=True)
class Package:
    """How a package is built, which program it makes, and what that gets."""

    build: str
    program: str
    arguments: tuple[str, ...]
    given: bytes


PACKAGES = {
    "bzip2": Package("make CC='{cc}' bzip2", "bzip2", ("-c",), TEXT),
    "zlib": Package("CC='{cc}' ./configure && make minigzip", "minigzip", ("-c",), TEXT),
    "lua5.4": Package(  # it hashes by address: calls would differ where addresses do
        "sed -i 's/(size_t)(p) & UINT_MAX/0/' src/llimits.h && "
        """make -C src CC='{cc}' MYCFLAGS="-D'luai_makeseed(L)=7'" lua""",
        "src/lua",
        ("-",),
        LUA,
    ),
    "expat": Package(
        "cmake -S expat -B out -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER={one} "
        "-DEXPAT_BUILD_DOCS=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_EXAMPLES=OFF "
        "&& cmake --build out --target xmlwf",
        "out/xmlwf/xmlwf",
        ("-c", "/dev/stdin"),
        XML,
    ),
}


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


def unpacked(name: str, folder: Path) -> Path:
    """Unpack a package's original sources and return their folder."""
    [archive] = folder.glob(f"{name}_*.orig.tar.*")
    target = folder / name
    target.mkdir()
    shutil.unpack_archive(archive, target)
    [inside] = target.iterdir()
    return inside


def calls_by_callgrind(plain: Path, arguments: tuple[str, ...], given: Path) -> Counter[str]:
    """Return the calls of every symbol of the program itself: libraries may have functions so named."""
    out = plain.with_name("callgrind")
    line = ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--callgrind-out-file={out}"]
    line += ["--compress-strings=no", "--demangle=no", str(plain), *arguments]
    seconds(line, given)
    calls, callee, holder, place = Counter[str](), "", "", ""
    for text in out.read_text().splitlines():
        key, _, value = text.partition("=")
        if key == "ob":
            holder = place = value
        elif key == "cob":
            place = value
        elif key == "cfn":
            callee = re.sub(r"'\d+$", "", value)
        elif key == "calls":
            if Path(place) == plain:
                calls[callee] += int(value.split()[0])
            place = holder
    return calls


def without_hooks(built: Built, folder: Path) -> Path:
    """Link the same IR without hooks."""
    parts, toolchain = built.parts, find_toolchain()
    module, machine = load_modules([str(path) for path in parts.modules])
    plain = folder / "plain"
    (folder / "plain.o").write_bytes(machine.emit_object(module))
    objects = (folder / "plain.o",)
    link_program(toolchain, objects, plain, parts.cxx, parts.arguments, parts.directory)
    return plain


def seconds(line: list[str], given: Path) -> tuple[float, bytes]:
    """Run a command; return its seconds of work and its output."""
    before = os.times().children_user
    with given.open("rb") as stdin:
        done = subprocess.run(line, stdin=stdin, capture_output=True, check=False)  # noqa: S603
    return os.times().children_user - before, done.stdout


def row(name: str, package: Package, folder: Path) -> bool:
    """Build, profile and compare one program; tell whether all is equal."""
    source = unpacked(name, folder)
    one = folder / "cc"
    one.write_text(f'#!/bin/sh\nexec {CC} "$@"\n')
    one.chmod(0o755)
    began = time.monotonic()
    line = package.build.format(cc=CC, one=one)
    subprocess.run(["bash", "-c", line], cwd=source, capture_output=True, check=True)  # noqa: S603, S607
    building = time.monotonic() - began
    work, given, out = folder / f"{name}.work", folder / f"{name}.in", folder / f"{name}.out"
    work.mkdir()
    given.write_bytes(package.given)
    program = source / package.program
    began = time.monotonic()
    built = build_program(Options((program,), package.arguments), work)
    instrumenting = time.monotonic() - began
    with given.open("rb") as stdin, out.open("wb") as stdout:
        profile = measure(built, stdin=stdin, stdout=stdout)
    same = seconds([str(program), *package.arguments], given)[1] == out.read_bytes()
    plain = without_hooks(built, work)
    base = max(seconds([str(plain), *package.arguments], given)[0], 0.01)
    ours = seconds([str(built.executable), *package.arguments], given)[0] / base
    before = os.times().children_user
    counted = calls_by_callgrind(plain, package.arguments, given)
    theirs = (os.times().children_user - before) / base
    calls = {f.symbol: f.invocations for f in profile.functions if not f.foreign and f.invocations}
    equal = all(counted[symbol] == number for symbol, number in calls.items())
    size = len(profile.dumps()) / 1e6
    print(
        f"{name:8}{'yes' if same else 'NO':>8}{'yes' if equal else 'NO':>8}{len(calls):11,}"
        f"{sum(calls.values()):12,}{building:9.1f}{instrumenting:12.1f}{ours:9.0f}{theirs:11.0f}{size:7.1f}",
        flush=True,
    )
    return same and equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*PACKAGES, []])
    chosen = parser.parse_args().programs or list(PACKAGES)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        fetch(chosen, folder)
        heads = f"{'':8}{'output':>8}{'calls':>8}{'functions':>11}{'calls':>12}{'build s':>9}"
        print(f"{heads}{'hooks s':>12}{'slower':>9}{'callgrind':>11}{'MB':>7}")
        equal = [row(name, PACKAGES[name], folder) for name in chosen]
    sys.exit(not all(equal))


if __name__ == "__main__":
    main()
