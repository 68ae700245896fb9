"""``study.explore()``: widgets that search again."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from tests.live.test_session import FIXED
from tests.toy import written

pytest.importorskip("ipywidgets")


def test_a_moved_slider_gives_the_front_of_the_changed_study(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path, text=FIXED))
    explorer = study.explore()
    status, body = explorer.children
    first = explorer.result.front.designs
    assert "Complete" in status.value
    assert [trace.name for trace in explorer.figure.data][1:] == [f"front ({len(first)})"]
    inputs, variables, limits = (group.children for group in body.children[0].children)
    label, size, slider = inputs[0].children
    assert (label.value, size.value, slider.max) == ("size", "1 KiB", 8.0)
    slider.value = 4.0
    assert size.value == "4 KiB"
    now = explorer.result.front.designs
    expected = study.with_inputs(size="4 KiB").run().front.designs
    assert now.equals(expected)
    *_, before = explorer.figure.data
    assert before.name == "front before" and len(before.x) == len(first)
    lanes = variables[0].children[1]
    lanes.value = 3
    assert set(explorer.result.front.designs["lanes"]) == {3}
    assert explorer.study.content["space"]["lanes"] == {"values": [3]}
    cost = limits[0].children[1]
    cost.value = "200"
    assert "no unit" in status.value or "feasible" in status.value
    cost.value = "20 kLUT"
    lanes.value = ""
    size.value = "1 KiB"
    assert explorer.result.front.designs.equals(first)
