"""A run of the plain program under valgrind: machine instructions and misses of L1."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dse.profile.build.elf import symbol_addresses
from dse.profile.document import CacheLevels
from dse.profile.document.callgrind import read_callgrind_costs
from dse.profile.errors import NotMeasuredError
from dse.profile.library.attribution import LibraryCode, attribute_library
from dse.profile.run.run import Limits, run_program

_MIN_LINE = 16
"""Bytes of a line: valgrind simulates no shorter ones."""
_L1_MISSES = ("D1mr", "D1mw")


@dataclass(frozen=True, slots=True)
class MachineCounts:
    """Machine instructions or misses of a run.

    Parameters
    ----------
    own : dict of str to int
        Of the program's functions themselves, by symbol.
    libraries : dict of str to Counter of LibraryCode
        Of libraries, by the symbol of the program's function that calls them.
    total : int
        Of all code but the loader: also of libraries before main and after it.
    """

    own: dict[str, int]
    libraries: dict[str, Counter[LibraryCode]]
    total: int


def find_valgrind() -> Path:
    """Return where valgrind is; raise NotMeasuredError if it is not installed."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise NotMeasuredError("valgrind is not installed")
    return Path(valgrind)


def measure_machine_counts(
    valgrind: Path,
    executable: Path,
    own: Collection[str],
    cache: CacheLevels | None,
    arguments: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    stdin: IO[Any],
    folder: Path,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[MachineCounts, MachineCounts | None]:
    """Return machine instructions of the program's functions (`own`, by symbol) and of libraries.

    The second counts are their misses in L1, if valgrind can simulate the cache.

    Raises
    ------
    NotMeasuredError
        If the run did not end by itself.
    """
    result, silent = folder / "callgrind.out", subprocess.DEVNULL
    options = ["--tool=callgrind", "-q", "--demangle=no", f"--callgrind-out-file={result}"]
    options.append("--separate-threads=yes")
    simulated = cache is not None and cache.line >= _MIN_LINE and cache.l1 > cache.line
    if cache and simulated:
        options += ["--cache-sim=yes", f"--D1={cache.l1},{cache.l1_ways},{cache.line}"]
    result = result.with_name(f"{result.name}-01")  # of the thread that runs main
    words = [*options, str(executable), *arguments]
    outcome = run_program(valgrind, words, limits, environ, stdin, silent, progress, stderr=silent)
    if outcome.stopped or not result.is_file():
        raise NotMeasuredError(f"the run under valgrind ended by {outcome.stopped or 'an error'}")
    at = symbol_addresses(executable.read_bytes())
    by_address = {at[symbol]: symbol for symbol in own if symbol in at}

    def name_of(listed: str) -> str:
        """Return a function's symbol: callgrind lists aliases, and recursive calls with a mark."""
        name = re.sub(r"'\d+$", "", listed)
        return name if name in own else by_address.get(at.get(name, -1), name)

    def counts(events: tuple[str, ...]) -> MachineCounts:
        costs = read_callgrind_costs(result, events).renamed(name_of)
        counted = {symbol: round(costs.own.get(symbol, 0.0)) for symbol in own}
        objects = costs.by_object.items()
        total = sum(cost for path, cost in objects if not Path(path).name.startswith("ld-"))
        return MachineCounts(counted, attribute_library(costs, own), round(total))

    instructions = counts(("Ir",))
    if not any(instructions.own.values()):
        raise NotMeasuredError("valgrind read no symbols of the program")
    return instructions, counts(_L1_MISSES) if simulated else None
