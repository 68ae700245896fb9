"""The part of the build that works on LLVM IR, in a separate process that LLVM's errors may end.

``python -m dse.profile.build.build JOB`` reads a job (JSON) and writes the instrumented object
file and the tables of the analysis (JSON) where the job says.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.problems import InputError, Problem
from dse.profile.build.analysis import Analysis, analyse_module
from dse.profile.build.counters import Counters, place_counters
from dse.profile.build.elf import align_sections, write_sparse
from dse.profile.build.frontend import add_inline_bodies
from dse.profile.build.hooks import Hooks
from dse.profile.build.instrument import ALIGNMENTS, instrument_module
from dse.profile.build.irtext import parse_module
from dse.profile.errors import source_error

_REFUSED = 3  # the exit status if modules are refused; it lists them
_OPTNONE = re.compile(r"\b(?:optnone|noinline) ?")
_RAISED = re.compile(r"[\w.]*(Error|Exception)\b")  # the last line of a traceback


@dataclass(frozen=True, slots=True)
class Job:
    """What to build.

    Parameters
    ----------
    modules : list of str
        Files of LLVM IR.
    object, tables : str
        The files to write.
    trace : bool
        As in :class:`dse.profile.build.hooks.Hooks`.
    modelled : list of str
        Library functions that the runtime wraps.
    """

    modules: list[str]
    object: str
    tables: str
    trace: bool
    modelled: list[str]


def build_object(job: Job, folder: Path) -> dict[str, Any]:
    """Do a job in another process and return its tables; raise InputError if LLVM refuses."""
    path = folder / "job.json"
    path.write_text(json.dumps(dataclasses.asdict(job)))
    command = [sys.executable, "-m", "dse.profile.build.build", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == _REFUSED:
        raise InputError("profile", [Problem(*each) for each in json.loads(done.stdout)])
    if done.returncode:
        raise source_error("profile", f"LLVM cannot process the IR: {_last_error(done.stderr)}")
    tables: dict[str, Any] = json.loads(Path(job.tables).read_text())
    return tables


def _last_error(stderr: str) -> str:
    """Return the error in which a traceback ends; the last line if it is of another process."""
    lines = stderr.strip().splitlines() or ["the process ended without a message"]
    begins = [i for i, line in enumerate(lines) if _RAISED.match(line)]
    return "\n".join(lines[begins[-1] if begins else -1 :])


class RefusedModulesError(Exception):
    """Modules that are not IR or not of one program; its arguments are places, messages, fixes."""


def load_modules(files: Sequence[str]) -> tuple[Any, Any]:
    """Return one module of all files, its values and blocks named, and what compiles it.

    Raises
    ------
    RefusedModulesError
        If LLVM cannot read one, or two of them define the same symbol.
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    modules = [_parsed(Path(file)) for file in files]
    if twice := _defined_twice(modules):
        raise RefusedModulesError(*twice)
    linked = modules[0]
    for module in modules[1:]:
        linked.link_in(module)
    linked.triple = linked.triple or binding.get_default_triple()
    machine = binding.Target.from_triple(linked.triple).create_target_machine(
        opt=2, reloc="pic", codemodel="small"
    )
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(
        linked, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    )
    return linked, machine


def _defined_twice(modules: Sequence[Any]) -> list[tuple[str, str, str]]:
    """Return the message about symbols that several modules define."""
    places: dict[str, list[str]] = {}
    for module in modules:
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.linkage.name == "external":
                places.setdefault(value.name, []).append(Path(module.source_file).name)
    remedy = "give the files of one program"
    twice = [(name, files) for name, files in places.items() if len(files) > 1]
    return [
        ("", f"{name} is defined in {' and in '.join(files)}", remedy) for name, files in twice[:10]
    ]


def _parsed(file: Path) -> Any:
    """Return a module of bitcode or text."""
    from llvmlite import binding

    content = file.read_bytes()
    try:
        if content.startswith(b"BC"):
            module = binding.parse_bitcode(content)
            without = any(b"optnone" in part for f in module.functions for part in f.attributes)
            if not without and b".__uniq." not in content:
                return module
            content = str(module).encode()
        # The instruction namer passes by functions that are not to be optimised.
        text = "\n".join(
            _allow_optimisation(line) if line.startswith("attributes #") else line
            for line in content.decode().splitlines()
        )
        return binding.parse_assembly(add_inline_bodies(text))
    except (RuntimeError, UnicodeDecodeError) as error:
        version = binding.llvm_version_info[0]
        said = " ".join(str(error).splitlines()[:2]).removeprefix("LLVM IR parsing error ")
        said = "it is no text" if isinstance(error, UnicodeDecodeError) else said
        message = f"LLVM {version} cannot read this IR: {said}"
        remedy = f"write it with a compiler of LLVM {version} or older"
        raise RefusedModulesError((str(file), message, remedy)) from None


def _allow_optimisation(attributes: str) -> str:
    """Return a group of attributes without `optnone`; LLVM reads no empty group."""
    return _OPTNONE.sub("", attributes).replace("{ }", '{ "dse" }')


def _fields(each: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON takes them, without copying their contents."""
    return {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}


def _tables(analysis: Analysis, counters: Counters, triple: str) -> dict[str, Any]:
    tables = _fields(analysis)
    tables["counters"] = counters.blocks
    tables["edges"] = [[a, b, slots] for (a, b), slots in counters.edges.items()]
    tables["triple"] = triple
    return tables


def main(path: str) -> None:
    """Do the job in a file."""
    from llvmlite import binding

    gc.disable()  # there are millions of objects, all of which stay to the end
    job = Job(**json.loads(Path(path).read_text()))
    try:
        module, machine = load_modules(job.modules)
    except RefusedModulesError as error:
        print(json.dumps(error.args))  # noqa: T201
        sys.exit(_REFUSED)
    parts = parse_module(str(module))
    analysis = analyse_module(parts)
    counters = place_counters(analysis)
    hooks = Hooks(job.trace, frozenset(job.modelled))
    text = instrument_module(parts, analysis, counters, hooks)
    tables = _tables(analysis, counters, module.triple)
    Path(job.object).with_suffix(".ll").write_text(text)
    made = binding.parse_assembly(text)
    made.verify()
    write_sparse(Path(job.object), align_sections(machine.emit_object(made), ALIGNMENTS))
    Path(job.tables).write_text(json.dumps(tables, default=_fields))


if __name__ == "__main__":
    main(sys.argv[1])
