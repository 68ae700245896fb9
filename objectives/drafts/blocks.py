"""The draft from a program's profile whose designs move basic blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.model.values import plural
from dse.problems import InputError, Problem
from objectives.drafts.program import THREAD_REMEDY, check_one_program
from objectives.drafts.text import (
    add_gaps,
    comment_origin,
    comment_speedup,
    comment_threads,
    describe_origin,
    fill_template,
    make_comment,
    quote_text,
    show_percent,
)
from objectives.partition import Architecture, Graph, Workloads, block_times, cpu_time
from objectives.programs import load_program

_SMALLEST = 4  # instructions of an accelerator
_TOLD = 20  # functions


def partition(profile: Path, named: str, name: str) -> str:
    """Return a study of which basic blocks to move, and where accelerator and CPU share memory.

    `named` is how the study `name` names the profile: relative to its folder. InputError if it is
    not a profile of one program with caches, or no block could move.
    """
    check_one_program(profile)
    graph = Workloads.load(profile).graphs[0][0]
    area = int(graph.area[graph.movable].sum())
    threads = load_program(profile, comment_threads)
    if not area:
        message = "no block could move: all that run call library functions"
        remedy = "profile a program that computes"
        if threads:
            message, remedy = f"{threads.words}; in the profiled thread, {message}", THREAD_REMEDY
        raise InputError(str(profile), [Problem("", message, remedy)])
    text = fill_template(
        "partition",
        name=quote_text(name),
        origin=comment_origin(load_program(profile, describe_origin), threads),
        whole=comment_speedup(threads),
        profile=quote_text(named),
        functions="\n".join(make_comment(f"  {line}") for line in _functions(graph)),
        sizes=", ".join(map(str, list_sizes(area))),
        area=f"{area:,}",
    )
    return add_gaps(text, threads)


def list_sizes(area: int) -> list[int]:
    """Return sizes of an accelerator in steps of about a half, up to all that could move.

    >>> list_sizes(20)
    [4, 6, 8, 12, 16, 20]
    """
    steps = (base << power for power in range(40) for base in (_SMALLEST, _SMALLEST * 3 // 2))
    return [size for size in sorted(set(steps)) if size < area] + [area]


def _functions(graph: Graph) -> list[str]:
    """Return a line for each function with blocks that could move, by time."""
    time = block_times(graph, Architecture())
    share = time / max(cpu_time(graph, Architecture()), 1.0)
    names = np.array(graph.function)
    of = {name: (graph.movable & (names == name), names == name) for name in dict.fromkeys(names)}
    rows = sorted(
        (
            (float(share[could].sum()), name, int(could.sum()), int(all_.sum()), could)
            for name, (could, all_) in of.items()
            if could.any()
        ),
        key=lambda row: (-row[0], row[1]),
    )
    lines = [
        f"{name}: {show_percent(part)} of the time in {could} of its {plural(count, 'block')}, "
        f"{plural(int(graph.area[which].sum()), 'instruction')}"
        for part, name, could, count, which in rows[:_TOLD]
    ]
    if len(rows) > _TOLD:
        lines.append(f"and {len(rows) - _TOLD} more")
    if graph.library:
        part = graph.library / (1.0 + graph.library)
        lines.append(f"Libraries have {show_percent(part)} of the time; they stay on the CPU.")
    return lines
