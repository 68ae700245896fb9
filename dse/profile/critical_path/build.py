"""The program with the times of its values, built as the profiled program is."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dse.problems import InputError
from dse.profile.build.build import load_modules
from dse.profile.build.constants import compile_constants
from dse.profile.build.elf import write_sparse
from dse.profile.build.frontend import link_program
from dse.profile.build.irtext import parse_module
from dse.profile.build.kept import compile_kept
from dse.profile.build.toolchain import Toolchain
from dse.profile.compiler.parts import Parts
from dse.profile.critical_path.rewrite import DEPTH, insert_times
from dse.profile.critical_path.weights import LOAD, STORE
from dse.profile.errors import NotMeasuredError

_LINKED = 6  # pointers, each in the object that the one before leads to: longer than ways to rows
_RUNTIME = Path(__file__).with_name("runtime.c")


@dataclass(frozen=True, slots=True)
class TimedProgram:
    """A program that writes the times of its functions to a file when it ends."""

    executable: Path
    result: Path


def build_timed_program(
    parts: Parts, toolchain: Toolchain, cxx: bool, folder: Path
) -> TimedProgram:
    """Build a program in `folder`; raise NotMeasuredError if LLVM or the linker cannot."""
    objects = [folder / f"times{part}.o" for part in ("", ".runtime", ".settings")]
    made = TimedProgram(folder / "times" / parts.name, folder / "times.txt")
    made.executable.parent.mkdir()
    _compile_runtime(toolchain, objects[1])
    compile_constants({"result_file": str(made.result)}, objects[2])
    command = [sys.executable, "-m", "dse.profile.critical_path.build", str(objects[0])]
    modules = json.dumps([str(path) for path in parts.modules])
    done = subprocess.run(command, input=modules, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["the process ended without a message"])[-1]
        raise NotMeasuredError(f"LLVM cannot process the IR: {last}")
    try:
        link_program(toolchain, objects, made.executable, cxx, parts.arguments, parts.directory)
    except InputError as error:
        raise NotMeasuredError(error.problems[0].message.splitlines()[-1]) from None
    return made


def _compile_runtime(toolchain: Toolchain, target: Path) -> None:
    """Compile the runtime, which is the same for all programs."""
    command = [*toolchain.c, "-O2", "-g0", "-std=gnu11", "-march=native", "-fPIC"]
    command += [f"-DDEPTH={DEPTH}", f"-DLOAD={LOAD}", f"-DSTORE={STORE}", "-fexceptions"]
    command += ["-fno-sanitize=all", f"-DLINKED={_LINKED}"]
    command += ["-funwind-tables"]
    done = compile_kept(command, toolchain.version, _RUNTIME, target)
    if done and done.returncode:
        raise NotMeasuredError(f"the runtime does not compile: {done.stderr.strip()}")


def main(target: str) -> None:
    """Build the object file of the modules whose names come as JSON."""
    from llvmlite import binding

    gc.disable()  # there are millions of objects, all of which stay to the end
    module, _ = load_modules(json.load(sys.stdin))
    made = binding.parse_assembly(insert_times(parse_module(str(module))))
    made.verify()
    # vectors as wide as this machine has them: the program runs here only
    machine = binding.Target.from_triple(made.triple).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=1,
        reloc="pic",
        codemodel="small",
    )
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()  # times leave memory for registers
    passes.add_instruction_combine_pass()
    passes.run(made, builder)
    write_sparse(Path(target), machine.emit_object(made))


if __name__ == "__main__":
    main(sys.argv[1])
