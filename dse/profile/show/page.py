"""A profile as one page of HTML that works offline: call tree, heatmap, control-flow graphs.

It looks like the report: the same style, themes and policy.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dse.model.values import plural, show_percent
from dse.profile.document import Block, Function, Profile
from dse.profile.show.graph import Box, colour, draw
from dse.profile.show.text import (
    block_work,
    count_library_instructions,
    describe_library,
    hot_functions,
    parallelism,
    program_title,
    shorten_name,
    thread_lines,
)
from dse.report.page_assets import policy, style

GRAPHS = 12  # functions with a picture of their control flow
LARGEST = 400  # blocks in the picture of a function
MATRIX = 24  # functions in the heatmap
LINES = 30  # of the source
FEW = 24  # functions in the table before one is searched for
MANY = 2000  # functions in the table at all


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
    script = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
    ran = sum(1 for f in profile.functions if f.invocations)
    return environment.get_template("page.html.jinja").render(
        profile=profile,
        style=style(),
        own_style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=policy([script]),
        figures=list_key_numbers(profile),
        ran=ran,
        lines=hot_lines(profile),
        title=program_title(profile.program.sources),
        functions=function_rows(profile),
        timed=any(f.critical_path for f in profile.functions),
        counted=profile.run.libraries_counted,
        parallelism=parallelism,
        in_libraries=count_library_instructions,
        few=FEW,
        library=describe_library(profile),
        threads=thread_lines(profile),
        tree=call_tree(profile),
        matrix=heatmap(profile),
        graphs=graphs,
        short=shorten_name,
        percent=show_percent,
    )


def list_key_numbers(profile: Profile) -> list[tuple[str, str]]:
    """Return the numbers that a reader looks for first: name and value."""
    figures = [
        ("call{}", profile.run.invocations),
        ("instruction{} executed", sum(block_work(profile))),
        ("function{} that ran", sum(1 for f in profile.functions if f.invocations)),
        ("block{} that ran", sum(1 for block in profile.blocks if block.executions)),
        ("byte{} passed between functions", sum(t.bytes for t in profile.transfers)),
    ]
    return [(name.format("" if n == 1 else "s"), f"{n:,}") for name, n in figures]


class FunctionRow(NamedTuple):
    """A function, its accesses to memory, and its misses in L1 and L2."""

    function: Function
    accesses: int
    beyond_l1: int
    beyond_l2: int


def function_rows(profile: Profile) -> list[FunctionRow]:
    """Return the functions that ran, the largest in computation or traffic first."""
    found = {f.name: [0, 0, 0] for f in profile.functions}
    for access in profile.accesses:
        if access.hits:
            levels, sums = access.hits[0], found[profile.blocks[access.block].function]
            for at in range(3):
                sums[at] += sum(levels[at:])
    functions = {f.name: f for f in profile.functions}
    return [FunctionRow(functions[n], *found[n]) for n in hot_functions(profile, MANY)]


class HotLine(NamedTuple):
    """A line of the source, its share of the instructions executed, and its misses of L1."""

    place: str
    text: str
    share: float
    misses: int


def hot_lines(profile: Profile) -> list[HotLine]:
    """Return the lines that execute most, by the blocks that begin there; none without sources."""
    texts = profile.texts
    files = {function.name: function.file for function in profile.functions}
    work: dict[tuple[str, int], int] = {}
    for block, each in zip(profile.blocks, block_work(profile), strict=True):
        place = (files[block.function], block.line)
        work[place] = work.get(place, 0) + each
    whole = sum(work.values()) or 1
    misses: Counter[tuple[str, int]] = Counter()
    for access in profile.accesses:
        if access.hits:
            block = profile.blocks[access.block]
            misses[files[block.function], block.line] += sum(access.hits[0][1:])
    hottest = sorted((p for p in work if p in texts and work[p]), key=lambda p: -work[p])
    return [
        HotLine(f"{p[0]}:{p[1]}", texts[p], work[p] / whole, misses[p]) for p in hottest[:LINES]
    ]


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
    """The blocks in the picture: the most executed ones."""


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
            hint=f"{block.name}: {plural(block.area, 'instruction')}, "
            f"{plural(block.executions, 'execution')}",
            heat=work[block.id] / most,
        )
        for block in shown
    ]
    return Graph(name, draw(boxes, edges), len(blocks), len(shown))
