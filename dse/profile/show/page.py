"""A profile as one page of HTML that works offline: call tree, heatmap, control-flow graphs.

It looks like the report: the same style, themes and policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dse.profile.document import Block, Profile
from dse.profile.show.graph import Box, colour, draw
from dse.profile.show.text import block_work, hot_functions, percentage, short
from dse.report.shell import policy, style

GRAPHS = 12  # functions whose control flow is drawn
LARGEST = 400  # blocks of a function that are drawn
MATRIX = 24  # functions in the heatmap
LINES = 30  # of the source
_SCRIPT = """
document.getElementById("choose").addEventListener("change", (event) => {
  for (const graph of document.querySelectorAll(".graph"))
    graph.classList.toggle("shown", graph.id === `graph-${event.target.value}`);
});
"""


@dataclass(slots=True)
class Branch:
    """A node of the call tree with its share of all computation, callees included."""

    name: str
    calls: int
    computation: int
    total: int
    share: float = 0.0
    children: list[Branch] = field(default_factory=list)


def page(profile: Profile) -> str:
    """Return the page; every text that comes from the program is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    graphs = control_flow(profile)
    ran = sum(1 for f in profile.functions if f.invocations)
    return environment.get_template("page.html.jinja").render(
        profile=profile,
        style=style(),
        own_style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),  # noqa: S704
        script=Markup(_SCRIPT),  # noqa: S704
        policy=policy([_SCRIPT] if graphs else []),
        figures=key_figures(profile),
        ran=ran,
        lines=hot_lines(profile),
        title=titled(profile.program.sources),
        functions=[
            f for n in hot_functions(profile, MATRIX) for f in profile.functions if f.name == n
        ],
        tree=call_tree(profile),
        matrix=heatmap(profile),
        graphs=graphs,
        short=short,
        percentage=percentage,
    )


def key_figures(profile: Profile) -> list[tuple[str, str]]:
    """Return the figures that a reader looks for first: what it is, and the figure."""
    figures = [
        ("calls", profile.run.invocations),
        ("instructions executed", sum(block_work(profile))),
        ("functions that ran", sum(1 for f in profile.functions if f.invocations)),
        ("blocks that ran", sum(1 for block in profile.blocks if block.executions)),
        ("bytes passed between functions", sum(t.bytes for t in profile.transfers)),
    ]
    return [(name, f"{figure:,}") for name, figure in figures]


class HotLine(NamedTuple):
    """A line of the source, and its share of the instructions that were executed."""

    place: str
    text: str
    share: float


def hot_lines(profile: Profile) -> list[HotLine]:
    """Return the lines that execute most, by the blocks that begin there; none without sources."""
    texts = profile.texts
    files = {function.name: function.file for function in profile.functions}
    work: dict[tuple[str, int], int] = {}
    for block, each in zip(profile.blocks, block_work(profile), strict=True):
        place = (files[block.function], block.line)
        work[place] = work.get(place, 0) + each
    whole = sum(work.values()) or 1
    hottest = sorted((p for p in work if p in texts and work[p]), key=lambda p: -work[p])
    return [HotLine(f"{f}:{at}", texts[f, at], work[f, at] / whole) for f, at in hottest[:LINES]]


def titled(sources: Sequence[str]) -> str:
    """Return a program's name: its first sources.

    >>> titled(["a.c", "b.c", "c.c", "d.c", "e.c"])
    'a.c b.c c.c and 2 more'
    """
    more = len(sources) - 3
    return " ".join(sources[:3]) + (f" and {more} more" if more > 0 else "")


def call_tree(profile: Profile) -> list[Branch]:
    """Return the roots of the call tree, the largest branches first."""
    branches = [
        Branch(c.function, c.invocations, c.computation, c.computation) for c in profile.call_tree
    ]
    roots = []
    for at in range(len(branches) - 1, -1, -1):
        parent = profile.call_tree[at].parent
        branches[at].children.sort(key=lambda branch: -branch.total)
        if parent < 0:
            roots.append(branches[at])
        else:
            branches[parent].total += branches[at].total
            branches[parent].children.append(branches[at])
    whole = sum(root.total for root in roots) or 1
    for branch in branches:
        branch.share = branch.total / whole
    return sorted(roots, key=lambda branch: -branch.total)


def heatmap(profile: Profile) -> dict[str, Any]:
    """Return the transfers between the hottest functions, coloured by their logarithm."""
    moved = {(t.source, t.to): t.bytes for t in profile.transfers}
    hot = hot_functions(profile, MATRIX)
    readers = [name for name in hot if any(to == name for _, to in moved)]
    writers = [*hot, *sorted({a for a, _ in moved} - {f.name for f in profile.functions})]
    writers = [name for name in writers if any(a == name for a, _ in moved)]
    most = math.log1p(max(moved.values(), default=1))
    rows = [
        (
            writer,
            [
                (moved.get((writer, r), 0), colour(math.log1p(moved.get((writer, r), 0)) / most))
                for r in readers
            ],
        )
        for writer in writers
    ]
    return {"readers": readers, "lines": rows}


@dataclass(frozen=True, slots=True)
class Graph:
    """The control flow of a function, drawn."""

    name: str
    drawing: Markup
    blocks: int
    """Of the function."""
    shown: int
    """Of them, those that are drawn: what executes most."""


def control_flow(profile: Profile) -> list[Graph]:
    """Return the control-flow graphs of the functions that execute most, coloured by time."""
    work = dict(zip((block.id for block in profile.blocks), block_work(profile), strict=True))
    blocks: dict[str, list[Block]] = {}
    for block in profile.blocks:
        blocks.setdefault(block.function, []).append(block)
    whole = {name: sum(work[b.id] for b in each) for name, each in blocks.items()}
    chosen = sorted((name for name in whole if whole[name]), key=lambda name: -whole[name])
    return [_graph(profile, name, blocks[name], work) for name in chosen[:GRAPHS]]


def _graph(profile: Profile, name: str, blocks: list[Block], work: dict[int, int]) -> Graph:
    """Draw a function: its entry, which comes first, and the blocks that execute most."""
    kept = {
        blocks[0].id,
        *sorted((b.id for b in blocks[1:]), key=lambda b: -work[b])[: LARGEST - 1],
    }
    shown = [block for block in blocks if block.id in kept]
    number = {block.id: i for i, block in enumerate(shown)}
    edges = {
        (number[e.source], number[e.to]): e.count
        for e in profile.edges
        if e.source in number and e.to in number
    }
    most = max(work[block.id] for block in shown) or 1
    boxes = [
        Box(
            title=block.name,
            detail=f"line {block.line}, {block.executions:,}×",
            hint=f"{block.name}: {block.area} instructions, {block.executions:,} executions",
            heat=work[block.id] / most,
        )
        for block in shown
    ]
    return Graph(name, draw(boxes, edges), len(blocks), len(shown))
