"""Constants of one build, compiled apart: the object of a runtime is then the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dse.profile.build.irtext import quote_name


def compile_constants(texts: Mapping[str, str], target: Path, others: Sequence[str] = ()) -> None:
    """Write an object file of constants.

    Parameters
    ----------
    texts : mapping of str to str
        By name in the runtime.
    target : Path
    others : sequence of str
        More constants, as LLVM IR.
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    lines = [*others]
    for name, text in texts.items():
        size = len(text.encode()) + 1
        lines.append(f'@__dse_{name} = hidden constant [{size} x i8] c"{quote_name(text)}\\00"')
    machine = binding.Target.from_default_triple().create_target_machine(reloc="pic")
    target.write_bytes(machine.emit_object(binding.parse_assembly("\n".join(lines))))
