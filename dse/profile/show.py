"""A profile as text: where the time goes, what moves between functions."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dse.profile.schema import CONSTANTS, PROGRAM_INPUT, UNKNOWN, Profile

ROWS = 12
WIDEST = 48  # letters of a function's name


def print_profile(profile: Profile, console: Console | None = None) -> None:
    """Print hot functions, hot blocks and the transfer matrix."""
    out = console or Console(highlight=False)
    run = profile.run
    state = "complete" if run.complete else f"partial ({run.ended})"
    out.print(
        escape(f"{' '.join(profile.program.sources)}: {state}, -O{profile.program.optimisation}")
    )
    out.print(_functions(profile))
    out.print(_blocks(profile))
    if profile.settings.transfers:
        out.print(_matrix(profile))
    if profile.unaccounted.share:
        out.print(f"unaccounted: {profile.unaccounted.share:.2%} of the bytes read")


def hot_functions(profile: Profile, count: int = ROWS) -> list[str]:
    """Return the names of the functions that compute or exchange most, the hottest first."""
    heat = {f.name: f.computation for f in profile.functions if f.invocations}
    for transfer in profile.transfers:
        for name in (transfer.source, transfer.to):
            if name in heat:
                heat[name] += transfer.bytes
    return sorted(heat, key=lambda name: -heat[name])[:count]


def block_work(profile: Profile) -> list[int]:
    """Return the instructions that each block executed."""
    return [block.executions * block.area for block in profile.blocks]


def short(name: str) -> str:
    """Cut a long C++ name in its middle.

    >>> short("f" * 60)
    'ffffffffffffffffffffffff…fffffffffffffffffffffff'
    """
    if len(name) <= WIDEST:
        return name
    return name[: WIDEST // 2] + "…" + name[-(WIDEST // 2 - 1) :]


def _functions(profile: Profile) -> Table:
    table = Table("function", title="hot functions", title_justify="left")
    headings = ("calls", "computation", "with callees", "bytes in", "bytes out", "local")
    for heading in headings:
        table.add_column(heading, justify="right")
    into: dict[str, int] = {}
    out: dict[str, int] = {}
    for t in profile.transfers:
        into[t.to] = into.get(t.to, 0) + t.bytes
        out[t.source] = out.get(t.source, 0) + t.bytes
    functions = {f.name: f for f in profile.functions}
    for name in hot_functions(profile):
        f = functions[name]
        inclusive = "" if f.computation_inclusive is None else f"{f.computation_inclusive:,}"
        table.add_row(
            escape(short(name)),
            f"{f.invocations:,}",
            f"{f.computation:,}",
            inclusive,
            f"{into.get(name, 0):,}",
            f"{out.get(name, 0):,}",
            f"{f.local_bytes:,}",
        )
    return table


def _blocks(profile: Profile) -> Table:
    table = Table("block", title="hot blocks", title_justify="left")
    for heading in ("line", "executions", "instructions", "share", "memory accesses"):
        table.add_column(heading, justify="right")
    work = block_work(profile)
    total = sum(work) or 1
    misses: dict[int, int] = {}
    for access in profile.accesses:
        if access.hits:
            misses[access.block] = misses.get(access.block, 0) + access.hits[0][2]
    for i in sorted(range(len(work)), key=lambda i: -work[i])[:ROWS]:
        block = profile.blocks[i]
        if work[i]:
            table.add_row(
                escape(f"{short(block.function)}: {block.name}"),
                str(block.line),
                f"{block.executions:,}",
                f"{work[i]:,}",
                f"{work[i] / total:.1%}",
                f"{misses.get(i, 0):,}",
            )
    return table


def _matrix(profile: Profile) -> Table:
    """Bytes from the row's function to the column's, of the hottest."""
    moved = {(t.source, t.to): t.bytes for t in profile.transfers}
    hot = hot_functions(profile, 8)
    sources = [
        source
        for source in (*hot, CONSTANTS, PROGRAM_INPUT, UNKNOWN)
        if any((source, to) in moved for to in hot)
    ]
    readers = [to for to in hot if any((s, to) in moved for s in sources)]
    table = Table("from \\ to", title="bytes moved", title_justify="left")
    for number, _ in enumerate(readers, 1):
        table.add_column(f"{number}", justify="right")
    names = {name: number for number, name in enumerate(readers, 1)}
    for source in sources:
        label = f"{names[source]} " if source in names else ""
        cells = [f"{moved[source, to]:,}" if (source, to) in moved else "" for to in readers]
        table.add_row(escape(label + short(source)), *cells)
    for reader in readers:
        if reader not in sources:
            table.add_row(escape(f"{names[reader]} {short(reader)}"), *("" for _ in readers))
    return table
