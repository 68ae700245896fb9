"""The program without instrumentation: the same functions, none inlined.

Another process makes its object file, as LLVM's errors may end that process. Its imports are few:
they would take longer than the work.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dse.problems import InputError
from dse.profile.build.build import load_modules
from dse.profile.build.elf import write_sparse
from dse.profile.build.frontend import link_program
from dse.profile.build.instrument import list_static_initializers
from dse.profile.build.toolchain import Toolchain
from dse.profile.compiler.parts import Parts
from dse.profile.errors import NotMeasuredError

_ONE_SEGMENT = "-Wl,-z,norelro"
"""Valgrind 3.19 reads no symbols if data that become read-only fill their pages exactly."""


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
    command = [sys.executable, "-m", "dse.profile.library.plain", str(target)]
    modules = json.dumps([str(path) for path in parts.modules])
    done = subprocess.run(command, input=modules, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise NotMeasuredError("LLVM cannot process the IR")
    try:
        # without symbols, valgrind could not name the functions
        arguments = [word for word in parts.arguments if word not in ("-s", "-Wl,-s")]
        arguments.append(_ONE_SEGMENT)
        link_program(toolchain, [*objects, target], executable, cxx, arguments, parts.directory)
    except InputError as error:
        raise NotMeasuredError(error.problems[0].message.splitlines()[-1]) from None
    return executable


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
