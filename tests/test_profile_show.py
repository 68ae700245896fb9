"""A profile as text and as a page, at its extremes: nothing passed on, functions without end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from dse.profile.document import Profile
from dse.profile.show.page import LARGEST, control_flow, page
from dse.profile.show.text import print_profile

SOR = Path(__file__).parents[1] / "studies" / "profiles" / "sor.json"


def shown(**changed: Any) -> tuple[Profile, str]:
    profile = Profile.model_validate(json.loads(SOR.read_text()) | changed)
    text = io.StringIO()
    print_profile(profile, Console(file=text, width=100))
    return profile, text.getvalue()


def test_a_program_that_passes_nothing_on_is_shown() -> None:
    profile, text = shown(transfers=[])
    assert "bytes moved: none" in text
    assert "sweep" in text
    assert "sweep" in page(profile)


def test_a_program_of_which_no_function_ran_is_shown() -> None:
    functions = json.loads(SOR.read_text())["functions"]
    idle = [{**function, "invocations": 0} for function in functions]
    profile, text = shown(functions=idle)
    assert "hot functions" in text
    assert "sor.c" in page(profile)


def chain(count: int) -> Profile:
    """Return a program of one function whose blocks follow each other; the last ones are hot."""
    content = json.loads(SOR.read_text())
    empty = (
        "blocks edges registers calls accesses reads dependencies chains transfers transfers_into"
        " transfers_out fetched returned call_tree"
    )
    content |= {name: [] for name in empty.split()}
    main = {**content["functions"][0], "name": "main", "entry": 0}
    block = {"function": "main", "line": 1, "exits": 0, "area": 1, "instructions": {}}
    blocks = [{**block, "id": i, "name": f"b{i}", "executions": i + 1} for i in range(count)]
    edges = [{"from": i, "to": i + 1, "count": 1} for i in range(count - 1)]
    return Profile.model_validate(content | {"functions": [main], "blocks": blocks, "edges": edges})


def test_the_hottest_function_is_drawn_however_large() -> None:
    profile = chain(LARGEST + 100)
    (graph,) = control_flow(profile)
    assert (graph.name, graph.blocks, graph.shown) == ("main", LARGEST + 100, LARGEST)
    assert ">b0<" in graph.drawing  # its entry
    assert f">b{LARGEST + 99}<" in graph.drawing  # what executes most
    assert ">b50<" not in graph.drawing
    assert f"the {LARGEST} of {LARGEST + 100} blocks that execute most" in page(profile)
    (whole,) = control_flow(chain(20))
    assert whole.shown == whole.blocks == 20
    assert "blocks that execute most" not in page(chain(20))
