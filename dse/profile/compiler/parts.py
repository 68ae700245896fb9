"""The parts of a program, from its sources or from a program that is built."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dse.profile.build.frontend import compile_to_ir, is_cxx
from dse.profile.build.toolchain import Toolchain
from dse.profile.compiler.arguments import optimisation_level
from dse.profile.compiler.mixed import build_mixed, is_mixed
from dse.profile.compiler.program import is_program, read_program
from dse.profile.errors import source_error


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a program: files of IR, and the files that they are linked with.

    Parameters
    ----------
    name : str
        Of the program.
    modules, sources : tuple of Path
        The IR, and its sources.
    digest : str
        Over the sources, or over the modules of a program that is built.
    optimisation : int
    flags : tuple of str
    cxx : bool
    arguments : tuple of str
        Of the link.
    directory : str or None
        Where the link runs.
    notes : tuple of str
        What the reader of the profile should know of it.
    """

    name: str
    modules: tuple[Path, ...]
    sources: tuple[Path, ...]
    digest: str
    optimisation: int
    flags: tuple[str, ...]
    cxx: bool
    arguments: tuple[str, ...] = ()
    directory: str | None = None
    notes: tuple[str, ...] = ()


def collect_parts(
    sources: tuple[Path, ...],
    level: int,
    flags: tuple[str, ...],
    link_flags: tuple[str, ...],
    toolchain: Toolchain,
    folder: Path,
) -> Parts:
    """Compile the sources in `folder`, or read the program that was built from them.

    Raises
    ------
    InputError
        If a source is missing, unknown or refused, or the program was built by another compiler.
    """
    if len(sources) == 1 and is_program(sources[0]):
        if flags:
            message = "the program is built: its flags cannot change any more"
            raise source_error(str(sources[0]), message, "leave --flag out")
        return _built_parts(sources[0], link_flags, folder)
    if is_mixed(sources):
        built = build_mixed(sources, folder, level, flags, link_flags)
        return _built_parts(built, (), folder)
    modules = compile_to_ir(toolchain, sources, folder, level, flags)
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    return Parts(
        name=sources[0].stem,
        modules=tuple(modules),
        sources=sources,
        digest=digest.hexdigest(),
        optimisation=level,
        flags=flags,
        cxx=is_cxx(sources),
        arguments=link_flags,
    )


def _built_parts(path: Path, link_flags: tuple[str, ...], folder: Path) -> Parts:
    linked = read_program(path)
    modules, objects = [], []
    for i, each in enumerate(linked.modules):
        modules.append(folder / f"{i}.bc")
        modules[-1].write_bytes(each.data)
    for i, data in enumerate(linked.objects):
        objects.append(folder / f"native{i}.o")
        objects[-1].write_bytes(data)
    arguments = list(linked.arguments)
    for i, (argument, data) in enumerate(linked.absent.items()):
        copy = folder / f"absent{i}{Path(argument).suffix or '.a'}"  # of -lNAME: an archive
        copy.write_bytes(data)
        arguments = [str(copy) if each == argument else each for each in arguments]
    levels = Counter(optimisation_level(each.about["flags"]) for each in linked.modules)
    each_flags = {tuple(each.about["flags"]) for each in linked.modules}
    notes = [f"not instrumented: {each}" for each in linked.native]
    if len(levels) > 1:
        counts = ", ".join(f"{n} at -O{level}" for level, n in sorted(levels.items()))
        notes.append(f"files were compiled at different levels: {counts}")
    return Parts(
        name=path.name,
        modules=tuple(modules),
        sources=linked.sources,
        digest=linked.digest,
        optimisation=levels.most_common(1)[0][0],
        flags=each_flags.pop() if len(each_flags) == 1 else (),
        cxx=linked.cxx,
        arguments=(*map(str, objects), *arguments, *link_flags),
        directory=linked.directory if Path(linked.directory).is_dir() else str(folder),
        notes=tuple(notes),
    )
