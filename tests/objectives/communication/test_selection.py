"""Selection functions without an accelerator of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dse.testing import check_model
from objectives.communication import Dataflows, load_dataflow
from objectives.communication.acceleration import accelerated, idle_functions

PROFILES = Path(__file__).parents[3] / "studies" / "profiles"


def test_idle_functions_keep_the_contract() -> None:
    jpeg = load_dataflow(PROFILES / "jpeg.json")
    check_model(idle_functions, fixed={"dataflow": Dataflows((jpeg,))})


@pytest.mark.parametrize("name", ["jpeg", "rotate/recursive-008"])
def test_idle_functions_are_those_without_a_context_of_their_own(name: str) -> None:
    """Against a literal walk up the tree from every context, for every selection of seven."""
    program = load_dataflow(PROFILES / f"{name}.json")
    program = program.including(["getchar", "putchar"] if name != "jpeg" else [])
    programs = Dataflows((program,))
    tree = json.loads((PROFILES / f"{name}.json").read_text())["call_tree"]
    for selection in range(128):
        chosen = {c for bit, c in enumerate(programs.candidates) if selection >> bit & 1}
        outer = set()
        for node in tree:
            above, at = [], node["parent"]
            while at >= 0:
                above.append(tree[at]["function"])
                at = tree[at]["parent"]
            if node["function"] in chosen and not chosen & set(above):
                outer.add(node["function"])
        assert idle_functions(programs, float(selection)).idle_functions == len(chosen - outer)
        assert set(accelerated(program, programs.chosen(selection))) == outer


def test_idle_functions_are_not_a_number_outside() -> None:
    program = Dataflows((load_dataflow(PROFILES / "rotate" / "iterative-008.json"),))
    found = idle_functions(program, np.array([1.0, 2.0**19, 1.5]), np.array([0.0, 0.0, 0.0]))
    assert found.idle_functions[0] == 0
    assert np.isnan(found.idle_functions[1:]).all()
    assert np.isnan(idle_functions(program, 1.0, 1.0).idle_functions)
