"""Library functions that copy memory may move, with all that they do."""

from __future__ import annotations

import numpy as np
import pytest

from dse.profile.document import Profile
from objectives.communication import Setting, from_profile, verdict
from objectives.partition import Architecture, best_partition, graph, problem_of
from objectives.partition.graph import COPY_AREA
from tests.profile.examples import needs_compiler, profile_text

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
    program = graph(profile, "copies")
    functions = np.array(program.function)
    assert program.movable[functions == "memcpy"].all()
    assert not program.movable[functions == "fwrite"].any()  # nor does the block that calls it
    calling = {call.source for call in profile.calls if call.to == "fwrite"}
    assert not program.movable[np.isin(program.block, list(calling))].any()
    assert program.area[functions == "memcpy"].tolist() == [COPY_AREA]
    best = best_partition(problem_of(program, Architecture()), 1e9)
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
