"""What a profile says of code that did not run, or that began before counting did."""

from __future__ import annotations

from pathlib import Path

from tests.profile.examples import executions, needs_compiler, profile_text

pytestmark = needs_compiler

BEGUN_BEFORE = """
static volatile int kept, lost;
static void begin(void) { kept = 3; }
static void end(void) { kept = 0; }
static void never(void) { lost = lost + 1; }
int main(int count, char **arguments) {
    begin();
    int seen = kept;
    end();
    if (count > 9) never();
    return seen - 3;
}
"""


def test_a_region_keeps_what_a_block_does_in_it_that_began_before(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, BEGUN_BEFORE, region="begin..end")
    (load,) = [i for i, a in enumerate(profile.accesses) if a.kind == "load"]
    access = profile.accesses[load]
    block = profile.blocks[access.block]
    assert (block.function, block.executions, sum(access.hits[0])) == ("main", 0, 1)
    (read,) = profile.reads
    assert (read.access, read.bytes) == (load, 4)
    assert read.source is not None
    assert profile.blocks[read.source].function == "begin"


def test_what_never_ran_is_reported_by_functions_and_blocks_alone(tmp_path: Path) -> None:
    profile = profile_text(tmp_path, BEGUN_BEFORE)
    assert executions(profile, "never") == [0]
    assert {f.name: f.invocations for f in profile.functions}["never"] == 0
    assert [c.to for c in profile.calls] == ["begin", "end"]
    assert not [a for a in profile.accesses if profile.blocks[a.block].function == "never"]
    lines = BEGUN_BEFORE.split("\n")
    assert {line.text for line in profile.lines} < {" ".join(line.split()) for line in lines}
    assert not [line for line in profile.lines if line.text in (lines[4], lines[9].strip())]
