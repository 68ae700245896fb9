"""Profile the six workloads: ``python studies/profiles/make.py [NAME...]``.

Writes ``NAME.json`` beside this file for each workload named, or for all. They are of the families
that T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration of
CPU-Accelerator Architectures" (2010), studies; the programs are ``studies/programs/NAME.c``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dse.profile import Profile, ProfileOptions
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import KENTER, build_program, measure_program

PROFILES = Path(__file__).parent
PROGRAMS = PROFILES.parent / "programs"


@dataclass(frozen=True)
class Workload:
    """A program's arguments, and the program (with arguments) that writes its input."""

    arguments: tuple[str, ...] = ()
    input_from: tuple[str, ...] = ()


WORKLOADS = {
    "aes": Workload(("2048",)),  # blocks: 32 KiB encrypted and decrypted
    "fft": Workload(("2048", "2")),  # 64 KiB of points and factors, there and back twice
    "jpeg": Workload((), ("jpeg_encoder", "320", "240", "0")),
    "md5": Workload(("200000",)),  # bytes
    "sor": Workload(("80",)),  # a square of 51,200 B
    "whetstone": Workload(("100",)),
}


def build_plainly(name: str, folder: Path) -> Path:
    """Build a program without instrumentation."""
    target = folder / f"{name}-plain"
    command = [*find_toolchain().c, "-O2", "-fno-sanitize=all", str(PROGRAMS / f"{name}.c")]
    subprocess.run([*command, "-o", str(target), "-lm"], check=True, capture_output=True)  # noqa: S603
    return target


def given_to(workload: Workload, folder: Path) -> bytes:
    """Return what the workload reads on its standard input."""
    if not workload.input_from:
        return b""
    name, *arguments = workload.input_from
    command = [str(build_plainly(name, folder)), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603


def profile_workload(name: str) -> Profile:
    """Build and run a workload and return its profile; what it prints is not kept."""
    workload = WORKLOADS[name]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        given = folder / "given"
        given.write_bytes(given_to(workload, folder))
        options = ProfileOptions((PROGRAMS / f"{name}.c",), workload.arguments, caches=(KENTER,))
        built = build_program(options, folder)
        with given.open("rb") as stdin:
            return measure_program(built, stdin=stdin, stdout=subprocess.DEVNULL)


def main() -> None:
    """Write the profiles named on the command line, or all."""
    names = sys.argv[1:] or list(WORKLOADS)
    if unknown := sorted(set(names) - set(WORKLOADS)):
        sys.exit(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    for name in names:
        profile = profile_workload(name)
        if not profile.run.complete:
            sys.exit(f"{name}: the run ended with {profile.run.ended} {profile.run.exit_status}")
        profile.save(PROFILES / f"{name}.json")


if __name__ == "__main__":
    main()
