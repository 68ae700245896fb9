"""A run of the program without instrumentation under valgrind, for machine instructions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dse.problems import InputError
from dse.profile.build.build import load_modules
from dse.profile.build.elf import symbol_addresses, write_sparse
from dse.profile.build.frontend import link_program
from dse.profile.build.instrument import list_static_initializers
from dse.profile.build.toolchain import Toolchain
from dse.profile.compiler.parts import Parts
from dse.profile.document.callgrind import read_callgrind_costs
from dse.profile.errors import NotMeasuredError
from dse.profile.library.attribution import LibraryCode, attribute_library
from dse.profile.run.run import Limits, run_program


def build_plain_program(
    parts: Parts, toolchain: Toolchain, cxx: bool, folder: Path, objects: Sequence[Path] = ()
) -> Path:
    """Build the profiled program without hooks in `folder`: the same functions, none inlined.

    Parameters
    ----------
    objects : sequence of Path
        What is linked to it. If the program is there already, it is returned as it is.

    Raises
    ------
    NotMeasuredError
        If LLVM or the linker cannot.
    """
    executable = folder / "plain" / parts.name
    if executable.is_file():
        return executable
    executable.parent.mkdir(exist_ok=True)
    target = folder / "plain.o"
    command = [sys.executable, "-m", "dse.profile.library.measure", str(target)]
    modules = json.dumps([str(path) for path in parts.modules])
    done = subprocess.run(command, input=modules, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise NotMeasuredError("LLVM cannot process the IR")
    try:
        # without symbols, valgrind could not name the functions
        arguments = [word for word in parts.arguments if word not in ("-s", "-Wl,-s")]
        link_program(toolchain, [*objects, target], executable, cxx, arguments, parts.directory)
    except InputError as error:
        raise NotMeasuredError(error.problems[0].message.splitlines()[-1]) from None
    return executable


@dataclass(frozen=True, slots=True)
class MachineInstructions:
    """Machine instructions of a run.

    Parameters
    ----------
    own : dict of str to int
        Of the program's functions themselves, by symbol.
    libraries : dict of str to Counter of LibraryCode
        Of libraries, by the symbol of the program's function that calls them.
    """

    own: dict[str, int]
    libraries: dict[str, Counter[LibraryCode]]


def measure_instructions(
    executable: Path,
    own: Collection[str],
    arguments: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    stdin: IO[Any],
    folder: Path,
    progress: Callable[[float, int], None] | None = None,
) -> MachineInstructions:
    """Return the machine instructions of the program's functions (`own`, by symbol) and libraries.

    Raises
    ------
    NotMeasuredError
        If valgrind is missing, or the run did not end by itself.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise NotMeasuredError("valgrind is not installed")
    result, silent = folder / "callgrind.out", subprocess.DEVNULL
    options = ["--tool=callgrind", "-q", "--demangle=no", f"--callgrind-out-file={result}"]
    options.append("--separate-threads=yes")
    result = result.with_name(f"{result.name}-01")  # of the thread that runs main
    words = [*options, str(executable), *arguments]
    outcome = run_program(
        Path(valgrind), words, limits, environ, stdin, silent, progress, stderr=silent
    )
    if outcome.stopped or not result.is_file():
        raise NotMeasuredError(f"the run under valgrind ended by {outcome.stopped or 'an error'}")
    at = symbol_addresses(executable.read_bytes())
    by_address = {at[symbol]: symbol for symbol in own if symbol in at}

    def name_of(listed: str) -> str:
        """Return a function's symbol: callgrind lists aliases, and recursive calls with a mark."""
        name = re.sub(r"'\d+$", "", listed)
        return name if name in own else by_address.get(at.get(name, -1), name)

    costs = read_callgrind_costs(result).renamed(name_of)
    counts = {symbol: round(costs.own.get(symbol, 0.0)) for symbol in own}
    return MachineInstructions(counts, attribute_library(costs, own))


def main(target: str) -> None:
    """Build the object file of the modules whose names come as JSON."""
    from llvmlite import binding

    module, machine = load_modules(json.load(sys.stdin))
    lines: list[str] = []
    for line in str(module).splitlines():
        if line.startswith("attributes #"):  # zig keeps frame pointers, usual compilers do not
            line = line.replace('"frame-pointer"="all"', '"frame-pointer"="none"')
        structors = re.match(r"@llvm\.global_([cd])tors = ", line)
        lines += (
            list_static_initializers(line, {"c": "init", "d": "fini"}[structors[1]])
            if structors
            else [line]
        )
    write_sparse(Path(target), machine.emit_object(binding.parse_assembly("\n".join(lines))))


if __name__ == "__main__":
    main(sys.argv[1])
