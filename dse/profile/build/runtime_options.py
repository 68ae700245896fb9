"""The runtime's settings as definitions for its compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dse.problems import Problem
from dse.profile.build.constants import compile_constants
from dse.profile.build.kept import compile_kept
from dse.profile.build.toolchain import Toolchain
from dse.profile.document import CacheLevels
from dse.profile.errors import source_error

RUNTIME = Path(__file__).parent / "runtime"
LINES = 2**22  # of a cache: 256 MiB in lines of 64 B


def check_caches(caches: Sequence[CacheLevels]) -> list[Problem]:
    """Return every size that no cache can have."""
    problems: list[Problem] = []
    for number, cache in enumerate(caches):
        where = f"cache {number + 1}"
        for name, size, ways in (("L1", cache.l1, cache.l1_ways), ("L2", cache.l2, cache.l2_ways)):
            if not _power(cache.line) or not 4 <= cache.line <= 4096:
                problems.append(
                    Problem(where, f"a line of {cache.line} B", "a power of two from 4 B to 4096 B")
                )
            elif ways < 1 or size % (cache.line * ways) or not _power(size // (cache.line * ways)):
                problems.append(
                    Problem(
                        where,
                        f"{name} of {size} B in lines of {cache.line} B and {ways} ways",
                        "size / (line x ways) must be a power of two",
                    )
                )
            elif size // cache.line > LINES:
                problems.append(
                    Problem(where, f"{name} of {size // cache.line:,} lines", f"at most {LINES:,}")
                )
        if cache.l2 < cache.l1:
            problems.append(
                Problem(
                    where,
                    f"L2 of {cache.l2} B is smaller than L1 of {cache.l1} B",
                    "L2 holds all that L1 holds",
                )
            )
    if len(caches) > 8:
        problems.append(Problem("cache", f"{len(caches)} configurations", "at most 8 in a run"))
    return problems


def _power(x: int) -> bool:
    return x > 0 and x & (x - 1) == 0


def define_caches(caches: Sequence[CacheLevels]) -> str:
    """Return the macro that lists the caches, each with logarithms of its sizes.

    >>> define_caches([CacheLevels(l1=32768, l2=4194304, line=64)])
    'DSE_CACHES(X)=X(0,9,1,16,1,6)'
    """
    listed = []
    for k, c in enumerate(caches):
        sets = [
            (size // (c.line * ways)).bit_length() - 1
            for size, ways in ((c.l1, c.l1_ways), (c.l2, c.l2_ways))
        ]
        shift = c.line.bit_length() - 1
        listed.append(f"X({k},{sets[0]},{c.l1_ways},{sets[1]},{c.l2_ways},{shift})")
    return "DSE_CACHES(X)=" + " ".join(listed)


def compile_settings(
    framed: Sequence[bool], region: Sequence[int], texts: Mapping[str, str], target: Path
) -> None:
    """Compile the constants of one build; the runtime itself is the same for all programs.

    Parameters
    ----------
    framed : sequence of bool
        By function, first the program's, then the library's: whether its calls are separate.
    region : sequence of int
        Its first function and the function that ends it (-1: none), its first and its last call.
    texts : mapping of str to str
        By name in the runtime: the files that the program leaves.
    """
    table = ", ".join(f"i8 {int(each)}" for each in framed)
    lines = [f"@__dse_framed = hidden constant [{len(framed)} x i8] [{table}]"]
    table = ", ".join(f"i64 {each}" for each in region)
    lines.append(f"@__dse_region = hidden constant [{len(region)} x i64] [{table}]")
    compile_constants(texts, target, lines)


def compile_runtime(
    toolchain: Toolchain, definitions: Mapping[str, str | int | None], target: Path
) -> None:
    """Compile the runtime to an object file; None as a value defines a name without a value."""
    command = [
        *toolchain.c,
        "-O2",
        "-g0",  # zig would take a third more time for debug information
        "-fomit-frame-pointer",
        "-std=gnu11",
        "-fno-sanitize=all",
        "-fexceptions",
        "-fPIC",
    ]
    command += ["-funwind-tables", "-Wno-unused", "-fno-builtin-malloc", "-march=native"]
    command += [
        f"-D{name}" if value is None else f"-D{name}={value}" for name, value in definitions.items()
    ]
    done = compile_kept(command, toolchain.version, RUNTIME / "runtime.c", target)
    if done and done.returncode:
        raise source_error("profile", "the runtime does not compile:\n" + done.stderr.strip())
