"""The model graph as `dse check` and the report show it, and the effect of each variable."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.evaluate.graph_summary import list_steps, list_variable_effects
from dse.terminal import Terminal
from tests.chain import MODELS, study
from tests.pages import read_page

ROOT = Path(__file__).parents[2]
CHOSEN = {"small": {"size": 64}, "large": {"size": 4096}}


def made(**changes: object) -> dse.Study:
    return dse.from_mapping(study(**changes), MODELS)


def test_each_model_is_shown_with_the_origin_of_its_inputs() -> None:
    content = made(
        study={"name": "t", "models": ["margin", "queue", "engine"]},
        inputs={"call_rate": 1e5, "clock": "1 GHz"},
        space={"lanes": {"integer": [1, 16]}, "kind": {"rows": CHOSEN}},
        objective=[
            {"maximize": "margin", "at": {"waiting": "1 us"}},
            {"minimize": "area"},
        ],
    )
    assert [
        (step.model, step.gives, dict(step.takes)) for step in list_steps(content.evaluator)
    ] == [
        ("engine", ("carried", "area"), {"variable": ("lanes",), "row of kind": ("size",)}),
        ("queue", ("utilization", "latency"), {"input": ("call_rate",), "engine": ("carried",)}),
        (
            "margin",
            ("margin",),
            {
                "condition": ("at waiting = 1,000 cycle",),
                "queue": ("latency",),
                "input": ("clock",),
            },
        ),
    ]


def test_defaults_and_several_conditions_are_shown() -> None:
    path = ROOT / "studies" / "compress.toml"
    found = {step.model: step for step in list_steps(dse.load(path).evaluator)}
    assert found["objectives.communication:function_calls"].takes["default"]
    over = {"minimize": "latency", "over": {"size": [16, 32, 48, 64, 80]}, "reduce": "max"}
    two = made(objective=[over, {"minimize": "area", "at": {"size": 64}}])
    (first, _) = list_steps(two.evaluator)
    assert first.takes["condition"] == ("over size = 16 B … 80 B", "at size = 64 B")


@pytest.mark.parametrize("width", [60, 100])
def test_check_prints_the_model_graph_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    Terminal().model_graph(dse.load(ROOT / "studies" / "crypto.toml").evaluator)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "call_rate ← objectives.machine:requests ← input: stream_data_rate, granularity" in text
    assert "← row of interface: interface_overhead, interface_overhead_per_byte" in text
    assert "nothing asks for what these give: objectives.machine:engine_rate" in text


def test_a_variable_that_moves_only_some_objectives_is_noted() -> None:
    space = {"lanes": {"integer": [1, 16]}, "size": {"values": [32, 64]}}
    other = {"maximize": "carried", "at": {"size": 64}, "name": "peak"}
    content = made(
        inputs={"call_rate": 1e5},
        space=space,
        objective=[{"minimize": "latency"}, {"minimize": "area"}, other],
    )
    assert content.notes == ("size does not affect peak",)
    noted, free = content.run().notes
    assert (noted,) == content.notes
    assert free.startswith("space.size is best at 32 B in ")  # it has no price here
    reach = list_variable_effects(content.evaluator)
    assert reach["lanes"].objectives == ("latency", "area", "peak")
    assert reach["lanes"].others == ()
    assert reach["size"].objectives == ("latency", "area")
    assert reach["size"].constraints == ("utilization < 1",)


def test_a_variable_that_only_constraints_name_is_noted() -> None:
    content = made(
        inputs={"size": 64},
        space={"lanes": {"integer": [1, 16]}, "call_rate": {"values": [1e5, 2e5]}},
        objective=[{"minimize": "area"}, {"maximize": "carried"}],
        constraint=[{"quantity": "utilization", "at_most": 0.5}],
    )
    told = "call_rate affects no objective: only constraints depend on it"
    assert content.notes == (told,)


def test_the_report_shows_the_model_graph_and_the_notes(tmp_path: Path) -> None:
    other = {"maximize": "carried", "at": {"lanes": 4}, "name": "peak"}
    made(
        objective=[{"minimize": "latency"}, other],
        space={"lanes": {"integer": [1, 16]}, "size": {"values": [32, 64]}},
        inputs={"call_rate": 1e5},
    ).run(tmp_path / "out")
    page = read_page(tmp_path / "out" / "report.html")
    assert '<table id="model-graph">' in page
    assert "<td>input: call_rate; engine: carried</td>" in page
    assert "<li>lanes does not affect peak</li>" in page
