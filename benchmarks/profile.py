"""Slow-down and memory of profiling, beside valgrind's callgrind with caches and jumps, in one run.

    python benchmarks/profile.py [--runs 5] [PROGRAM...]

Native is the program as it is profiled, without instrumentation: the same compiler, level and flags
(-O1, nothing inlined). Callgrind runs on that same binary. Every figure is a median over the runs,
in seconds of the processor's work, divided by native's; the column "-O2" is native's own slow-down
over the program at -O2. Callgrind runs once a program: it takes long and varies little beside that.
The column "second" is the run under valgrind that counts instructions of libraries, 0 if the
profile needs none. "all" has no second run; the comparison with callgrind adds it.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.profile.build.frontend import flags_keeping_blocks, flags_keeping_library_calls
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import ProfileOptions, build_program
from dse.profile.command import measure_program as run_built
from dse.profile.run.run import environment

PROGRAMS = Path(__file__).parents[1] / "studies" / "programs"
SCRIPT = sorted((PROGRAMS / "script").glob("*.c"))
VARIANTS: dict[str, dict[str, Any]] = {
    "counts": {"caches": (), "transfers": False},
    "caches": {"transfers": False},
    "all": {},
}
LIMITS = {"counts": 2.0, "caches": 25.0}
MEDIAN = 0.9
"""Of the time of callgrind, at most, for a profile with its second run."""


@dataclass(frozen=True)
class Load:
    sources: tuple[Path, ...]
    arguments: tuple[str, ...] = ()
    given: bytes = b""


def picture(side: int) -> bytes:
    return b"P6 %d %d 255\n" % (side, side) + random.Random(1).randbytes(3 * side * side)  # noqa: S311


def words() -> bytes:
    draw = random.Random(1)  # noqa: S311
    known = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(3000)]
    return "\n".join(" ".join(draw.choices(known, k=8)) for _ in range(60000)).encode()


def script() -> bytes:
    text = (PROGRAMS / "script" / "example.script").read_text()
    return text.replace("fibonacci(9)", "fibonacci(27)").replace("< 24", "< 70").encode()


def loads() -> dict[str, Load]:
    def of(name: str, *arguments: str, given: bytes = b"") -> Load:
        return Load((PROGRAMS / name,), arguments, given)

    return {
        "rotate, rings": of("rotate.c", "i", given=picture(1024)),
        "rotate, quarters": of("rotate.c", "r", given=picture(1024)),
        "queens": of("queens.c", "12"),
        "values": of("values.c", "2000000"),
        "blocks": of("blocks.c", "12000"),
        "words": of("words.c", given=words()),
        "dispatch": of("dispatch.c", "50000"),
        "shapes": of("shapes.cpp", "30000"),
        "fft": of("fft.c", "65536", "5"),
        "bits": of("bits.c", "6000000"),
        "script": Load(tuple(SCRIPT), (), script()),
    }


def once(command: list[str], given: Path) -> float:
    """Return the seconds that a processor worked for a run: others may use it as well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with given.open("rb") as stdin:
        subprocess.run(  # noqa: S603
            command,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(()),
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak(command: list[str], given: Path) -> float:
    """Return the largest resident MiB that was seen in a run of its own."""
    most = 0.0
    with (
        given.open("rb") as stdin,
        subprocess.Popen(  # noqa: S603
            command,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(()),
        ) as process,
    ):
        while process.poll() is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    most = float(line.split()[1]) / 1024
    return most


def median(command: list[str], given: Path, runs: int) -> float:
    return statistics.median(once(command, given) for _ in range(runs))


def native(load: Load, folder: Path, *flags: str) -> Path:
    """Build the program without instrumentation."""
    toolchain = find_toolchain()
    compiler = toolchain.cxx if load.sources[0].suffix == ".cpp" else toolchain.c
    program = folder / f"native{flags[0]}"
    command = [*compiler, *flags, "-mcpu=baseline", *map(str, load.sources)]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True)  # noqa: S603
    return program


def measure(name: str, load: Load, runs: int) -> dict[str, float]:
    row: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        given = folder / "given"
        given.write_bytes(load.given)
        same = (
            "-O1",
            *flags_keeping_blocks(("-O1",)),
            *flags_keeping_library_calls(),
        )  # as a program is profiled
        plain = [str(native(load, folder, *same)), *load.arguments]
        fast = [str(native(load, folder, "-O2", "-fno-sanitize=all")), *load.arguments]
        base = median(plain, given, max(runs, 5))
        row["native s"], row["native MiB"] = base, peak(plain, given)
        row["-O2"] = base / median(fast, given, runs)
        for variant, settings in VARIANTS.items():
            part = folder / variant
            part.mkdir()
            built = build_program(ProfileOptions(load.sources, load.arguments, **settings), part)
            command = [str(built.executable), *load.arguments]
            row[variant] = median(command, given, runs) / base
            if variant == "all":
                row["MiB"] = peak(command, given)
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind'}"]
        with given.open("rb") as stdin:
            again = run_built(built, stdin=stdin, stdout=subprocess.DEVNULL).libraries_matter
        second = [*tool, "-q", "--separate-threads=yes", "--cache-sim=yes", *plain]
        row["second"] = once(second, given) / base if again else 0.0
        row["callgrind"] = once([*tool, "--cache-sim=yes", "--collect-jumps=yes", *plain], given)
        row["callgrind"] /= base
    print(f"{name:17}" + "".join(f"{value:11.2f}" for value in row.values()), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    chosen = {n: w for n, w in loads().items() if not given.programs or n in given.programs}
    heads = ["native s", "native MiB", "-O2", *VARIANTS, "MiB all", "second", "callgrind"]
    print(f"{'':17}" + "".join(f"{head:>11}" for head in heads))
    rows = {name: measure(name, load, given.runs) for name, load in chosen.items()}
    wrong = [
        f"{name}: {variant} {row[variant]:.1f}x, at most {limit}x"
        for name, row in rows.items()
        for variant, limit in LIMITS.items()
        if row[variant] > limit
    ]
    ratios = {n: (row["all"] + row["second"]) / row["callgrind"] for n, row in rows.items()}
    wrong += [f"{n}: {ratio:.2f} of callgrind's time" for n, ratio in ratios.items() if ratio > 1]
    middle = statistics.median(ratios.values())
    print(f"everything against callgrind: median {middle:.2f}, worst {max(ratios.values()):.2f}")
    if middle > MEDIAN:
        wrong.append(f"the median is above {MEDIAN} of callgrind's time")
    print("\n".join(wrong) or "every bound is kept")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
