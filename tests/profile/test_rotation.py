"""Rotation of a picture: counts and transfers derived by hand, at every size."""

from __future__ import annotations

import pytest

from dse.profile.command import Built, Options, build_program
from tests.profile.examples import (
    PROGRAMS,
    by_name,
    executions,
    picture,
    run_built,
    turned,
)


@pytest.fixture(scope="module")
def rotate(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("rotate")
    return build_program(Options((PROGRAMS / "rotate.c",)), folder)


SIDES = (8, 16, 32, 64, 128, 256, 512)


@pytest.mark.parametrize("side", SIDES)
def test_rotation_by_rings_moves_the_picture_and_a_constant(side: int, rotate: Built) -> None:
    profile, output = run_built(rotate, ("i",), picture(side))
    n = side * side
    assert by_name(profile.transfers) == {
        ("load", "turn_rings"): 4 * n + 16,  # the pixels; address (8), side, height
        ("turn_rings", "store"): 4 * n,
        ("load", "store"): 20,  # address, side, height, depth
        ("(input)", "main"): 8 + 1,  # argv[1] and its first letter
    }
    assert output == turned(side)
    digits = 2 * len(str(side)) + len("255")
    calls = {f.name: f.invocations for f in profile.functions}
    assert calls == {
        "main": 1,
        "load": 1,
        "number": 3,
        "turn_rings": 1,
        "turn_quarters": 0,
        "store": 1,
        "digits": digits,
        "fputs": 0,
        "malloc": 1,
        # P6; each number's digits and what ends it, and the blank before the first; the pixels.
        "getchar": 2 + 1 + digits + 3 + 3 * n,
        "putchar": 6 + digits + 3 * n,
    }
    loops = executions(profile, "turn_rings")
    assert max(loops) == n // 4  # the body: a quarter of the picture
    assert loops.count(n // 4) == 1
    assert max(executions(profile, "load")) == max(executions(profile, "store")) == n


@pytest.mark.parametrize("side", SIDES)
def test_rotation_by_quarters_moves_between_its_levels(side: int, rotate: Built) -> None:
    profile, output = run_built(rotate, ("r",), picture(side))
    n, levels = side * side, side.bit_length() - 1
    calls = sum(4**level for level in range(levels))
    moved = by_name(profile.transfers)
    assert moved["load", "turn_quarters"] == 4 * n + 12 * calls  # each reads address and side anew
    assert moved["turn_quarters", "turn_quarters"] == (levels - 1) * 4 * n
    assert moved["turn_quarters", "store"] == 4 * n
    assert moved["load", "store"] == 20
    into = by_name(profile.transfers_into)
    assert into["load", "turn_quarters"] == 4 * n + 12  # the whole recursion reads them once
    assert ("turn_quarters", "turn_quarters") not in into
    assert output == turned(side)
    function = next(f for f in profile.functions if f.name == "turn_quarters")
    assert function.invocations == calls
    assert max(executions(profile, "turn_quarters")) == levels * n // 4


def test_edges_of_the_loops_by_hand(rotate: Built) -> None:
    profile, _ = run_built(rotate, ("i",), picture(16))
    edges = {
        (profile.blocks[e.source].name, profile.blocks[e.to].name): e.count
        for e in profile.edges
        if profile.blocks[e.source].function == "store"
    }
    body = "for.body"
    assert edges[body, body] == 255
    assert sum(count for (source, to), count in edges.items() if to == body and source != body) == 1
    assert sum(count for (source, to), count in edges.items() if source == body and to != body) == 1


def test_the_same_run_gives_the_same_bytes(rotate: Built) -> None:
    first, _ = run_built(rotate, ("r",), picture(32))
    second, _ = run_built(rotate, ("r",), picture(32))
    assert first.dumps() == second.dumps()
