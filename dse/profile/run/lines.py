"""The text of a program's lines, read when it is profiled: what shows a profile needs no source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from dse.profile.document import Profile, SourceLine

_LONGEST = 160  # letters that are kept of a line
_INLINING = ("-finline", "-flto")


def add_lines(profile: Profile, sources: Sequence[Path], paths: Iterable[str]) -> Profile:
    """Return the profile with the text of the lines in which blocks that ran begin.

    A name must identify one file: two files of one name are left out. If functions are inlined, a
    line may be in another file than its function; the profile then has no lines.

    Parameters
    ----------
    profile : Profile
        As the run left it.
    sources : sequence of Path
        The sources of the program.
    paths : iterable of str
        The files of its functions, as the compiler found them; empty where it did not say.
    """
    if any(flag.startswith(_INLINING) for flag in profile.program.flags):
        return profile
    files = {function.name: function.file for function in profile.functions}
    ran = [block for block in profile.blocks if block.line and block.executions]
    places = sorted({(files[block.function], block.line) for block in ran})
    known = {*map(Path, filter(None, paths))}
    texts = {name: _text(name, sources, known) for name in {name for name, _ in places if name}}
    found = tuple(
        SourceLine(file=name, line=line, text=" ".join(texts[name][line - 1].split())[:_LONGEST])
        for name, line in places
        if line <= len(texts.get(name, ()))
    )
    return profile.model_copy(update={"lines": found})


def _text(name: str, sources: Sequence[Path], paths: Collection[Path]) -> list[str]:
    """Return the lines of the only file of this name among sources, headers and their folders."""
    known = {path.resolve() for path in (*sources, *paths) if path.name == name}
    named = {path for path in known if path.is_file()}
    beside = {(path.parent / name).resolve() for path in sources}
    found = [path for path in named or beside if path.is_file()]
    if len(found) != 1:
        return []
    return found[0].read_text(encoding="utf-8", errors="replace").split("\n")
