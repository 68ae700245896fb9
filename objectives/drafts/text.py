"""Text of a draft: a template with blanks, and what fills them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from string import Template

import numpy as np

from dse.profile.document import Profile, Threads
from objectives.communication.dataflow import Dataflow
from objectives.programs import Program

_TEMPLATES = Path(__file__).parent


def fill_template(template: str, **blanks: str) -> str:
    """Return a template of this folder with its blanks filled; KeyError if one is left."""
    text = (_TEMPLATES / f"{template}.toml.template").read_text(encoding="utf-8")
    return Template(text).substitute(blanks)


def quote_text(text: str) -> str:
    """Return a text as TOML has it.

    >>> print(quote_text('say "hi"').replace(chr(92), "/"))
    "say /"hi/""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def make_comment(text: str) -> str:
    """Return a text as a comment of one line, whatever a program calls its functions.

    >>> make_comment("two" + chr(10) + "lines")
    '# two lines'
    """
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())


_LONGEST = 40  # characters of a name up to which comments are aligned


def comment_list(
    entries: Iterable[tuple[str, str]], commented: Iterable[tuple[str, str]] = ()
) -> str:
    """Return the lines of a list of texts, each with its comment; some commented out.

    >>> print(comment_list([("idct", "60 % of the time")], [("sort", "2 % of the time")]))
        "idct",    # 60 % of the time
        # "sort",  # 2 % of the time
    """
    rows = [(f"{quote_text(name)},", said) for name, said in entries]
    rows += [(f"# {quote_text(name)},", said) for name, said in commented]
    width = min(max((len(name) for name, _ in rows), default=0), _LONGEST)
    return "\n".join(f"    {name:<{width}}  {make_comment(said)}" for name, said in rows)


def show_percent(share: float) -> str:
    """Return a fraction in percent; a positive one is never shown as zero.

    >>> show_percent(0.3456), show_percent(0.0001)
    ('34.6 %', 'less than 0.1 %')
    """
    return "less than 0.1 %" if 0 < share < 1e-3 else f"{100 * share:.1f} %"


def describe_origin(program: Program, name: str) -> str:
    """Return in a sentence what was profiled, and how."""
    if not isinstance(program, Profile):
        return f"The program: {name}."
    said = program.program
    arguments = f" with the arguments {' '.join(said.arguments)}" if said.arguments else ""
    state = "" if program.run.complete else f", cut short ({program.run.ended})"
    return (
        f"The program: {' '.join(said.sources)}, run{arguments}{state}; "
        f"{said.compiler}, -O{said.optimisation}."
    )


def comment_origin(origin: str, threads: Threads | None) -> str:
    """Return comments on the profiled program, and on its threads that the profile lacks."""
    lines = [origin]
    if threads and not threads.most:
        lines.append(f"{threads.words[0].upper()}{threads.words[1:]}.")
    if threads:
        lines.append("All times and speedups are of the profiled thread.")
    return "\n".join(map(make_comment, lines))


def comment_threads(program: Program, name: str) -> Threads | None:
    """Return the threads that a profile does not contain."""
    return program.threads if isinstance(program, Profile) else None


def comment_speedup(threads: Threads | None) -> str:
    """Return in a comment the program part to which a speedup refers."""
    return "of the profiled thread" if threads else "of the whole program"


_UNMEASURED = """\
# Critical paths were not measured: a serial function, such as a decoder, may gain much less than
# this study states. Only dse profile --critical-path measures the limit of each function.
"""
_DEEP = (
    "Critical paths were not measured for functions that ran only below many levels of calls, such "
    "as {}: they may gain much less than this study states."
)
_NAMED = 3


def list_unmeasured(program: Dataflow) -> list[str]:
    """Return the functions that may move and have no critical path, though others have one."""
    paths = program.critical_path
    if paths is None:
        return []
    return [name for name in program.candidates if np.isnan(paths[program.position(name)])]


def add_gaps(text: str, threads: Threads | None, program: Dataflow | None = None) -> str:
    """Return a draft that begins with the most important gaps of its profile.

    These are other threads with most of the CPU time, and the critical paths of a `program`.
    """
    if program is not None and program.critical_path is None:
        text = _UNMEASURED + text
    elif program is not None and (unknown := list_unmeasured(program)):
        some = ", ".join(unknown[:_NAMED]) + (" and others" if len(unknown) > _NAMED else "")
        text = f"{make_comment(_DEEP.format(some))}\n{text}"
    if threads is None or not threads.most:
        return text
    first = f"{threads.words[0].upper()}{threads.words[1:]}."
    about = re.search(r'(?m)^about = "(.*)"$', text)
    if about:  # the report begins with it
        text = text.replace(about[0], f"about = {quote_text(f'{first} {about[1]}')}")
    return f"{make_comment(first)}\n{text}"
