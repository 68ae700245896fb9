"""The partition model against a replay of full traces on two cores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dse.profile.command import ProfileOptions, build_program
from dse.profile.document import Profile
from objectives.communication import Setting, from_profile, verdict
from objectives.partition import Architecture, best_partition, estimate, make_graph, make_problem
from objectives.partition.graph import COPY_AREA
from tests.oracles.partition_replay import Memory, Replay, execution
from tests.partition_examples import ORGANISATIONS, organisation
from tests.profile.examples import (
    CACHES,
    PROGRAMS,
    Example,
    Measured,
    needs_compiler,
    plain_output,
    profile_text,
    run_built,
)
from tests.profile.reference import events

PROGRAM = {
    "jpeg": Example(("jpeg.c",)),
    "md5": Example(("md5.c",), ("500",)),
    "sor": Example(("sor.c",), ("8",)),
}
PICTURE = Example(("jpeg_encoder.c",), ("16", "16", "0"))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Measured]:
    """Each program built and run once, with its trace."""
    known: dict[str, Measured] = {}

    def get(name: str) -> Measured:
        if name not in known:
            known[name] = _trace(name, tmp_path_factory.mktemp("traced"))
        return known[name]

    return get


def _trace(name: str, folder: Path) -> Measured:
    example = PROGRAM[name]
    given = plain_output(PICTURE, folder) if name == "jpeg" else b""
    sources = tuple(PROGRAMS / source for source in example.sources)
    options = ProfileOptions(sources, example.arguments, caches=CACHES)
    built = build_program(options, folder, folder / "trace")
    profile, output = run_built(built, example.arguments, given)
    assert profile.run.complete
    return Measured(profile, output, b"", events(folder / "trace"), built)


@pytest.mark.parametrize("name", PROGRAM)
def test_time_is_that_of_a_replay_on_two_cores(
    name: str, traced: Callable[[str], Measured]
) -> None:
    found = traced(name)
    rng = np.random.default_rng(0)
    for number, row in enumerate(ORGANISATIONS):
        cache = number % 2 + 1  # the small ones, in which lines come and go
        program, a = make_graph(found.profile, name, cache), organisation(row)
        moved = program.movable & (rng.random((16, 1)) > rng.random((16, len(program))))
        moved[0] = program.movable
        moved[1] = best_partition(make_problem(program, a), 128).moved
        blocks = np.zeros((16, len(found.profile.blocks)), bool)
        blocks[:, program.block] = moved
        replay = Replay(blocks, CACHES[cache], memory_of(a), copies_of(found.profile))
        replay.follow(found.trace)
        model = [estimate(program, each, a) for each in moved]
        memory = np.array([each.memory_time for each in model])
        assert memory == pytest.approx(replay.times(), rel=1e-12)
        instructions = execution(found.profile, found.trace, blocks)
        assert [e.execution_time for e in model] == pytest.approx(instructions, rel=1e-12)
        values = np.array([each.register_time for each in model])
        whole = replay.times() + instructions + 2.0 * replay.transfers() + values
        assert [e.accelerated_time for e in model] == pytest.approx(whole, rel=0.01)


def copies_of(profile: Profile) -> dict[int, int]:
    """Return the blocks of library functions that copy memory, by number of the function."""
    return {
        number: function.entry or 0
        for number, function in enumerate(profile.functions)
        if function.foreign and function.symbol in ("memcpy", "memmove", "memset")
    }


def memory_of(a: Architecture) -> Memory:
    cached = bool(a.accelerator_cache) or a.shared_level == 1
    return Memory(3.0, 15.0, 200.0, int(a.shared_level), cached)


# Library functions that copy memory may move, with all that they do ---------------------------


pytestmark = needs_compiler

TEXT = """
#include <stdio.h>
#include <string.h>
static unsigned char from[4096], to[4096];
static unsigned mix(unsigned x) {
    unsigned char old[16];
    for (int round = 0; round < 400; round++) {
        memcpy(old, from + 16 * (round % 256), 16);
        for (int i = 0; i < 16; i++) x = x * 31 + (old[i] ^ (x >> 7));
        memcpy(to + 16 * (round % 256), old, 16);
    }
    return x;
}
int main(void) {
    unsigned x = mix(7);
    if (fwrite(to, 1, 16, stdout) != 16) return 1;
    return x == 0;
}
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile_text(tmp_path_factory.mktemp("copies"), TEXT)


def test_a_loop_that_copies_moves_with_its_copies(profile: Profile) -> None:
    program = make_graph(profile, "copies")
    functions = np.array(program.function)
    assert program.movable[functions == "memcpy"].all()
    assert not program.movable[functions == "fwrite"].any()  # nor does the block that calls it
    calling = {call.source for call in profile.calls if call.to == "fwrite"}
    assert not program.movable[np.isin(program.block, list(calling))].any()
    assert program.area[functions == "memcpy"].tolist() == [COPY_AREA]
    best = best_partition(make_problem(program, Architecture()), 1e9)
    hot = (functions == "mix") & (program.executions >= 400)
    assert best.moved[hot].all()
    assert best.moved[functions == "memcpy"].all()


def test_the_copy_counts_where_it_is_done(profile: Profile) -> None:
    """In an accelerator of what calls it, not as a call of the host."""
    program = from_profile(profile)
    judged = verdict(program, "mix", Setting(32, 32, overhead=435, latency=500))
    assert judged.calls == 1
    inside = program.inside[program.position("memcpy"), program.position("mix")]
    assert inside == 1
    # it reads the 4,096 B once, and 16 B of what it copied are written to the file
    assert 4096 <= judged.granularity < 4096 + 64
