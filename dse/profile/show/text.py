"""Print a profile as text: the time of each function, and the data between functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dse.model.values import plural, show_percent
from dse.profile.document import CONSTANTS, PROGRAM_INPUT, THREADS, UNKNOWN, Function, Profile

ROWS = 12
_OPERATOR = re.compile(r"operator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\))")
WIDEST = 160  # letters of a C++ name before its inner template arguments are left out
NARROWEST = 20  # letters per line of a name, before a column is left out


def print_profile(profile: Profile, console: Console | None = None) -> None:
    """Print hot functions, hot blocks and the transfer matrix."""
    out = console or Console(highlight=False, emoji=False)
    run = profile.run
    state = "complete" if run.complete else f"partial ({run.ended})"
    out.print(
        escape(f"{' '.join(profile.program.sources)}: {state}, -O{profile.program.optimisation}")
    )
    for line in thread_lines(profile):
        out.print(escape(line))
    out.print(_functions(profile, out.width))
    out.print(_blocks(profile, out.width))
    if profile.settings.transfers:
        out.print(_matrix(profile, out.width))
    if words := describe_library(profile):
        out.print(words)
    if profile.unaccounted.share:
        out.print(f"unaccounted: {show_percent(profile.unaccounted.share)} of the bytes read")


def hot_functions(profile: Profile, count: int = ROWS) -> list[str]:
    """Return the names of the functions that compute or exchange most, the hottest first."""
    heat = {f.name: f.computation for f in profile.functions if f.invocations}
    for transfer in profile.transfers:
        for name in (transfer.source, transfer.to):
            if name in heat:
                heat[name] += transfer.bytes
    return sorted(heat, key=lambda name: -heat[name])[:count]


def library_work(profile: Profile) -> tuple[int, float]:
    """Return calls of library functions, and their fraction of the accesses to memory.

    Their computation is not counted: this fraction is the best hint of the missing time.
    """
    calls = sum(f.invocations for f in profile.functions if f.foreign)
    accesses, library = 0, 0
    for access in profile.accesses:
        count = sum(access.hits[0]) if access.hits else 0
        accesses += count
        library += count if profile.blocks[access.block].name == "(library)" else 0
    return calls, library / accesses if accesses else 0.0


def thread_lines(profile: Profile) -> list[str]:
    """Return lines on other threads: their number and time, and the data from and to them.

    No line if only one thread ran.
    """
    threads = profile.threads
    if threads is None:
        return []
    received = sum(t.bytes for t in profile.transfers if t.source == THREADS)
    sent = sum(t.bytes for t in profile.transfers if t.to == THREADS)
    lines = [threads.words]
    if profile.settings.transfers:
        lines.append(
            f"data of other threads: {received:,} B read from them, {sent:,} B sent to them"
        )
    if names := threads.functions:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        listed = ", ".join(map(shorten_name, names[:5]))
        lines.append(f"library functions of unknown effect in other threads: {listed}{more}")
    return lines


def describe_library(profile: Profile) -> str:
    """Return what library functions do, or nothing if none is called."""
    calls, share = library_work(profile)
    if not calls:
        return ""
    if profile.run.libraries_counted:
        work: Counter[str] = Counter()
        misses = 0
        for function in profile.functions:
            for each in function.libraries:
                work[each.library] += each.instructions
                misses += each.l1_misses or 0
        own = sum(function.instructions or 0 for function in profile.functions)
        whole = (own or sum(block_work(profile))) + sum(work.values())
        named = ", ".join(f"{name} {show_percent(n / whole)}" for name, n in work.most_common(3))
        text = f"library functions: {plural(calls, 'call')}; of the instructions: {named or '0 %'}"
        if all_misses := profile.run.l1_misses:
            text += f"; L1 misses: {all_misses:,}, {show_percent(misses / all_misses)} in libraries"
        return text
    accesses = (
        f", {show_percent(share)} of the accesses to memory" if profile.settings.caches else ""
    )
    uncounted = profile.libraries_matter or not profile.settings.transfers
    counted = "their computation is not counted" if uncounted else "too few to count their work"
    return f"library functions: {plural(calls, 'call')}{accesses}; {counted}"


def count_library_instructions(function: Function) -> int:
    """Return the machine instructions of libraries in the calls from a function."""
    return sum(each.instructions for each in function.libraries)


def parallelism(function: Function) -> str:
    """Return work over critical path of a function, empty if they were not measured."""
    path = function.critical_path
    return f"{path.work / path.length:.3g}" if path and path.length else ""


def block_work(profile: Profile) -> list[int]:
    """Return the instructions that each block executed."""
    return [block.executions * block.area for block in profile.blocks]


def shorten_name(name: str) -> str:
    """Return a C++ name without the arguments that make it very long, the innermost first.

    >>> shorten_name("std::vector<std::pair<int, long>>::push_back(int&&)")
    'std::vector<std::pair<int, long>>::push_back(int&&)'
    >>> shorten_name(f"a<b<{'c' * 160}>>::f(int)")
    'a<b<…>>::f(int)'
    """
    for brackets in ("<>", "()"):
        for level in range(name.count(brackets[0]), 0, -1):
            if len(name) <= WIDEST:
                return name
            name = _emptied(name, brackets, level)
    return name


def _emptied(name: str, brackets: str, level: int) -> str:
    """Return a name without the text in brackets of some depth.

    >>> _emptied("a<b<c>>::operator<<(d<e>)", "<>", 1)
    'a<…>::operator<<(d<…>)'
    """
    out, depth, at = "", 0, 0
    while at < len(name):
        operator = _OPERATOR.match(name, at)
        part = operator[0] if operator else name[at]
        at += len(part)
        if part == brackets[1]:
            depth -= 1
        if depth < level:
            out += part
        if part == brackets[0]:
            depth += 1
            out += "…" if depth == level and name[at] not in f"…{brackets[1]}" else ""
    return out.replace("……", "…")


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    """Return a table with names in its first column and as many of the others as fit, whole."""
    needed = [  # by column; a heading may break between its words
        max(
            [len(row[at]) for row in rows] + [len(word) for word in heading.split()] * (at > 0),
            default=0,
        )
        for at, heading in enumerate(headings)
    ]
    room = width - 4 - min(NARROWEST, needed[0])
    shown = 1
    while shown < len(headings) and room >= needed[shown] + 3:
        room -= needed[shown] + 3
        shown += 1
    table = Table(title=title, title_justify="left")
    names = max(min(NARROWEST, needed[0]) + room, len(headings[0]))
    table.add_column(headings[0], overflow="fold", max_width=names)
    for heading, letters in zip(headings[1:shown], needed[1:shown], strict=True):
        table.add_column(heading, justify="right", width=letters)
    for row in rows:
        table.add_row(escape(row[0]), *row[1:shown])
    if shown < len(headings):
        table.caption = f"a wider terminal also shows: {', '.join(headings[shown:])}"
        table.caption_justify = "left"
    return table


def _functions(profile: Profile, width: int) -> Table:
    headings: tuple[str, ...] = (
        *("function", "instructions", "in libraries", "calls", "computation", "with callees"),
        *("parallelism", "bytes in", "bytes out", "local"),
    )
    rows: list[tuple[str, ...]] = []
    into, out = Counter[str](), Counter[str]()
    for t in profile.transfers:
        into[t.to] += t.bytes
        out[t.source] += t.bytes
    functions = {f.name: f for f in profile.functions}
    for name in hot_functions(profile):
        f = functions[name]
        inclusive = "" if f.computation_inclusive is None else f"{f.computation_inclusive:,}"
        numbers = (into[name], out[name], f.local_bytes)
        executed = "" if f.instructions is None else f"{f.instructions:,}"
        libraries = f"{n:,}" if (n := count_library_instructions(f)) else ""
        counts = (executed, libraries, f"{f.invocations:,}", f"{f.computation:,}", inclusive)
        rows.append((shorten_name(name), *counts, parallelism(f), *(f"{n:,}" for n in numbers)))
    for column in (6, 2, 1):  # parallelism and machine instructions, if none was measured
        if not any(row[column] for row in rows):
            headings = headings[:column] + headings[column + 1 :]
            rows = [row[:column] + row[column + 1 :] for row in rows]
    return _table("hot functions, by computation and bytes in and out", headings, rows, width)


def _blocks(profile: Profile, width: int) -> Table:
    headings = ("block", "share", "executions", "instructions", "line", "memory accesses")
    rows = []
    work = block_work(profile)
    total = sum(work) or 1
    misses = Counter[int]()
    for access in profile.accesses:
        if access.hits:
            misses[access.block] += access.hits[0][2]
    for i in sorted(range(len(work)), key=lambda i: -work[i])[:ROWS]:
        block = profile.blocks[i]
        if work[i]:
            share, line = f"{work[i] / total:.1%}", str(block.line)
            counts = (f"{block.executions:,}", f"{work[i]:,}", line, f"{misses[i]:,}")
            rows.append((f"{shorten_name(block.function)}: {block.name}", share, *counts))
    return _table("hot blocks", headings, rows, width)


def _matrix(profile: Profile, width: int) -> Table | str:
    """Return bytes from the row's function to the column's, of the hottest; in words if none."""
    moved = {(t.source, t.to): t.bytes for t in profile.transfers}
    hot = hot_functions(profile, 8)
    sources = [
        source
        for source in (*hot, CONSTANTS, PROGRAM_INPUT, UNKNOWN, THREADS)
        if any((source, to) in moved for to in hot)
    ]
    readers = [to for to in hot if any((s, to) in moved for s in sources)]
    names = {name: number for number, name in enumerate(readers, 1)}
    rows = []
    for source in sources:
        label = f"{names[source]} " if source in names else ""
        cells = [f"{moved[source, to]:,}" if (source, to) in moved else "" for to in readers]
        rows.append((label + shorten_name(source), *cells))
    empty = [""] * len(readers)
    rows += [(f"{names[r]} {shorten_name(r)}", *empty) for r in readers if r not in sources]
    if not rows:
        return "bytes moved: none between the hottest functions"
    headings = ("from \\ to", *(str(number) for number in names.values()))
    return _table("bytes moved", headings, rows, width)


def program_title(sources: Sequence[str]) -> str:
    """Return a program's name: its first sources.

    >>> program_title(["a.c", "b.c", "c.c", "d.c", "e.c"])
    'a.c b.c c.c and 2 more'
    """
    more = len(sources) - 3
    return " ".join(sources[:3]) + (f" and {more} more" if more > 0 else "")
