"""Calls from inside of an accelerator to functions that live above it, on the host."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.profile.command import Options, build_program
from dse.profile.document import Profile
from objectives.communication import Setting, from_profile, verdict
from objectives.communication.acceleration import time_parts
from objectives.communication.dataflow import callbacks
from objectives.communication.readers import from_counts
from objectives.communication.split import split
from objectives.programs import Calls, Counts
from tests.profile.examples import EXAMPLES, PROGRAMS, needs_compiler, profile_text, run_built
from tests.profile.reference import events

pytestmark = needs_compiler

TEXT = """
static volatile int sum;
static int run(int depth);
static int (*again)(int) = run;
static void each(int depth) { for (int i = 0; i < 3; i++) sum += again(depth - 1); }
static int leaf(int x) { return x < 2 ? 1 : leaf(x - 1) + sum; }
static int run(int depth) {
    if (depth > 0) each(depth);
    REPORT;
    return leaf(4);
}
int main(void) { return run(2) == 0; }
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    text = TEXT.replace("REPORT", "putchar('.')")
    return profile_text(tmp_path_factory.mktemp("recursion"), f"#include <stdio.h>\n{text}")


def test_a_recursion_through_a_pointer_counted_by_hand(profile: Profile) -> None:
    # run(2) calls each(2), which calls run(1) 3 times; each of these calls each(1), which calls
    # run(0) 3 times: run 1 + 3 + 9, each 1 + 3, leaf 13 times from run and 3 times as often itself
    names = [node.function for node in profile.call_tree]
    assert names == ["main", "run", "each", "putchar", "leaf"]
    assert [node.invocations for node in profile.call_tree] == [1, 13, 4, 13, 52]
    assert [node.entered for node in profile.call_tree] == [1, 1, 1, 13, 13]
    found = {(names[r.source], names[r.to]): r.count for r in profile.recursions}
    assert found == {("each", "run"): 12, ("leaf", "leaf"): 39}

    program = from_profile(profile)
    calls = dict(zip(program.names, program.calls.tolist(), strict=False))
    assert calls == calls | {"main": 1, "run": 1, "each": 4, "leaf": 13}
    setting = Setting(10, overhead=100, latency=20)
    whole, part, inner = (verdict(program, name, setting) for name in ("run", "each", "leaf"))
    assert (whole.calls, whole.callbacks) == (1, "")  # all of the recursion is inside
    assert (part.calls, part.callbacks) == (4, "12 callbacks to run on the host")
    assert (inner.calls, inner.callbacks) == (13, "")
    # 4 calls and 12 callbacks, 120 cycles each
    work = split(program, (2,))
    assert (work.calls, work.callbacks) == (16, 12)
    assert float(time_parts(work, setting, setting).calls) == 16 * 120


def test_what_may_move_is_held_and_not_called_back(tmp_path: Path) -> None:
    program = from_profile(profile_text(tmp_path, TEXT.replace("REPORT", "")))
    assert {"run", "each", "leaf"} <= set(program.candidates)
    judged = verdict(program, "each", Setting(10, overhead=100, latency=20))
    assert (judged.calls, judged.callbacks) == (1, "")  # run is inside: each calls itself by it


@pytest.mark.parametrize("name", ["queens", "dispatch", "rotate quarters"])
def test_crossings_of_control_are_those_of_a_replay(name: str, tmp_path: Path) -> None:
    """Sets of contexts at random; a live invocation is where its way by names is, repeats cut."""
    example = EXAMPLES[name]
    sources = tuple(PROGRAMS / source for source in example.sources)
    built = build_program(Options(sources, example.arguments), tmp_path, tmp_path / "trace")
    profile, _ = run_built(built, example.arguments, example.given)
    program = from_profile(profile)
    calls = _calls([f.name for f in profile.functions], events(tmp_path / "trace"))
    tree, own = program.tree, program.names[: program.functions]
    ways = [
        tuple(own[tree.function[v]] for v in reversed(tree.way(node)))
        for node in range(len(tree.parent))
    ]
    again = sum(n for (a, b), n in calls.items() if len(b) <= len(a))
    assert again == sum(count for *_, count in tree.recursions)
    rng = np.random.default_rng(0)
    for _ in range(40):
        chosen: list[int] = []
        for node in rng.permutation(np.arange(1, len(ways)))[: int(rng.integers(1, 12))].tolist():
            above = set(tree.way(node))
            if not any(c in above or node in tree.way(c) for c in chosen):
                chosen.append(node)
        tops = {ways[node] for node in chosen}

        def unit(way: tuple[str, ...], tops: set[tuple[str, ...]] = tops) -> tuple[str, ...]:
            return next((way[:i] for i in range(1, len(way) + 1) if way[:i] in tops), ())

        enter = sum(n for (a, b), n in calls.items() if unit(b) and not unit(a))
        leave = sum(n for (a, b), n in calls.items() if unit(a) and not unit(b))
        assert sum(tree.calls[chosen]) == enter
        assert sum(callbacks(tree, sorted(chosen)).values()) == leave


def _calls(names: list[str], trace: list[Any]) -> Counter[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Count the calls of a trace by the ways of caller and called one."""
    found, stack = Counter[tuple[tuple[str, ...], tuple[str, ...]]](), [()]
    for kind, _, number, *_ in trace:
        if kind == b"E":
            way, name = stack[-1], names[number]
            there = way[: way.index(name) + 1] if name in way else (*way, name)
            found[way, there] += 1
            stack.append(there)
        elif kind == b"X":
            del stack[number + 1 :]
    return found


def test_counts_with_a_circle_of_functions_say_what_they_lack() -> None:
    def missing(calls: dict[tuple[int, int], Calls]) -> str:
        ones = np.ones(3)
        counts = Counts(
            *("p", ("a", "b", "c"), 3, ones, ones, 0 * ones, ones, np.zeros((3, 3))),
            *(calls, ()),
        )
        return " ".join(from_counts(counts).missing)

    one = Calls(1, 1)
    assert "in a circle" not in missing({(0, 1): one, (1, 2): one, (2, 2): one})
    assert "in a circle" in missing({(0, 1): one, (1, 2): one, (2, 1): one})
