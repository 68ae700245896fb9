"""The text of a program's lines, read when it is profiled: what shows a profile needs no source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.profile.document import Profile, SourceLine

_LONGEST = 160  # letters that are kept of a line
_INLINING = ("-finline", "-flto")


def with_lines(profile: Profile, sources: Sequence[Path]) -> Profile:
    """Return the profile with the text of the lines in which blocks that ran begin.

    A name must identify one file: two sources of one name are left out, and so are headers outside
    of the sources' folders. If functions are inlined, a line may be in another file than its
    function; the profile then has no lines.

    Parameters
    ----------
    profile : Profile
        As the run left it.
    sources : sequence of Path
        The sources of the program.
    """
    if any(flag.startswith(_INLINING) for flag in profile.program.flags):
        return profile
    files = {function.name: function.file for function in profile.functions}
    ran = [block for block in profile.blocks if block.line and block.executions]
    places = sorted({(files[block.function], block.line) for block in ran})
    texts = {name: _text(name, sources) for name in {name for name, _ in places if name}}
    found = tuple(
        SourceLine(file=name, line=line, text=" ".join(texts[name][line - 1].split())[:_LONGEST])
        for name, line in places
        if line <= len(texts.get(name, ()))
    )
    return profile.model_copy(update={"lines": found})


def _text(name: str, sources: Sequence[Path]) -> list[str]:
    """Return the lines of the only file of this name among the sources and in their folders."""
    named = {path.resolve() for path in sources if path.name == name}
    beside = {(path.parent / name).resolve() for path in sources}
    found = [path for path in named or beside if path.is_file()]
    if len(found) != 1:
        return []
    return found[0].read_text(encoding="utf-8", errors="replace").split("\n")
