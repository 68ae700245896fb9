"""Mistakes of a study or a script that used to pass without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from tests.toy import MODEL, STUDY


def _study(folder: Path, text: str = STUDY) -> dse.Study:
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(text)
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"100 MHz"', '"1e8"', r"space\.clock\.real\[1\]: '1e8' has no unit\n.*\"1e8 GHz\""),
        ('"2 KiB"', '"2"', r"space\.size\.values\[2\]: '2' has no unit\n.*\"2 KiB\""),
        ('"20 kLUT"', '"20"', r"constraint\[1\]\.at_most: '20' has no unit\n.*is in LUT"),
        ('"2 GHz"', "2e9", ""),  # a number, not a text
    ],
)
def test_a_text_without_a_unit_is_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    if not words:
        assert _study(tmp_path, STUDY.replace(old, new)).plan.method == "exhaustive"
        return
    with pytest.raises(dse.InputError, match=words):
        _study(tmp_path, STUDY.replace(old, new))


def test_a_catalog_may_give_plain_numbers(tmp_path: Path) -> None:
    rows = 'catalog = "1"\nabout = "x"\nsource = "a book"\n'
    rows += '[fast]\nabout = "a"\nclock = "2e9"\n[slow]\nabout = "b"\nclock = 1e9\n'
    (tmp_path / "clocks.toml").write_text(rows.partition("\n")[2])
    text = STUDY.replace(
        'clock = { real = ["100 MHz", "2 GHz"], steps = 100, log = true }',
        'rate = { catalog = "clocks.toml" }',
    )
    study = _study(tmp_path, text)
    assert [row["clock"] for row in study.choices["rate"].values()] == [2e9, 1e9]
    wrong = text.replace('toml" }', 'toml", override = { fast = { clock = "3" } } }')
    (tmp_path / "clocks.toml").write_text(rows.partition("\n")[2].replace('"2e9"', '"2 GHz"'))
    with pytest.raises(dse.InputError, match=r"space\.rate\.fast\.clock: '3' has no unit"):
        _study(tmp_path, wrong)


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ({"lnaes": 3}, "lnaes: is not a variable\n.*did you mean 'lanes'"),
        ({"colour": 3}, "colour: is not a variable"),
    ],
)
def test_a_name_that_would_be_ignored_is_refused(
    added: dict[str, Any], words: str, tmp_path: Path
) -> None:
    study, design = _study(tmp_path), {"lanes": 2, "clock": "1 GHz", "size": 1024}
    with pytest.raises(dse.InputError, match=words):
        study.evaluate({**design, **added})
    assert len(study.evaluate(pd.DataFrame([{**design, "label": "mine"}]))) == 1
    assert len(study.evaluate({**design, "speed": 3.0, "feasible": True})) == 1  # as it returns


def test_an_input_that_is_no_variable_is_refused(tmp_path: Path) -> None:
    text = STUDY.replace('size = { values = ["1 KiB", "2 KiB", "4 KiB"] }', "")
    study = _study(tmp_path, text.replace("[space]", '[inputs]\nsize = "1 KiB"\n[space]'))
    for design in (
        {"lanes": 2, "clock": 1e9, "size": 2048},
        pd.Series({"lanes": 2, "clock": 1e9, "size": 8}),
    ):
        with pytest.raises(dse.InputError, match=r"size: is an input .*\n.*with_inputs\(size="):
            study.evaluate(design)


def test_what_is_outside_the_space_is_noted(tmp_path: Path) -> None:
    study = _study(tmp_path)
    found = study.evaluate({"lanes": [64, 100], "clock": [2e9, 1.2345e9], "size": "2 KiB"})
    assert found["outside"].tolist() == [
        "",
        "lanes = 100 is outside 1 to 64; clock = 1.234 GHz is between values of the space",
    ]
    front = study.run(workers=1).front.designs
    assert not study.evaluate(front)["outside"].any()
    assert "space.lanes: 100 is outside 1 to 64, the space of the study" in (
        study.with_inputs(lanes=100).notes
    )
    assert not any("space.lanes" in note for note in study.with_inputs(lanes=64).notes)


def test_certify_counts_draws_and_the_rows_of_a_table(tmp_path: Path) -> None:
    """The space has 19,200 designs, fewer than the 200,000 that may be tried: each is tried."""
    _study(tmp_path).run(tmp_path / "out", workers=1)
    told = CliRunner().invoke(commands, ["certify", str(tmp_path / "out")]).output
    assert "Not refuted: of 19,200 designs, " in told
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n")
    table = '[study]\nname = "t"\ntable = "t.csv"\n[[objective]]\nminimize = "a"\n'
    (tmp_path / "t.toml").write_text(f'{table}[[objective]]\nminimize = "b"\n')
    dse.load(tmp_path / "t.toml").run(tmp_path / "rows", workers=1)
    told = CliRunner().invoke(commands, ["certify", str(tmp_path / "rows")]).output
    assert "Not refuted: of 2 designs, 2 feasible" in told


SERVICE: dict[str, Any] = {
    "study": {"name": "service", "models": ["objectives.accelerometer:host_speedup"]},
    "inputs": {
        "threading": 0,
        "accelerable_share": 0.5,
        "offload_rate": 5e-4,
        "overhead": 20,
        "latency": 80,
        "cores_per_engine": 8,
    },
    "space": {"acceleration": {"values": [2, 10]}},
    "objective": [{"maximize": "speedup"}, {"minimize": "acceleration"}],
}
JPEG = str(Path(__file__).parents[2] / "studies" / "profiles" / "jpeg.json")


def _told(content: dict[str, Any]) -> tuple[dse.problems.Problem, ...]:
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(content)
    return raised.value.problems


def test_a_name_that_has_all_words_of_another_is_near() -> None:
    inputs = {k: v for k, v in SERVICE["inputs"].items() if k != "cores_per_engine"}
    (problem,) = _told({**SERVICE, "inputs": {**inputs, "cores": 8}})
    assert "did you mean 'cores_per_engine'?" in problem.remedy


@pytest.mark.parametrize("name", ["cpu_arithmetic_cost", "cpu_add_cost", "cpu_integer_cost"])
def test_a_name_of_another_class_is_not_taken_for_a_misspelt_one(name: str) -> None:
    """The nearest text is `cpu_multiply_cost`, which means something else."""
    (problem,) = _told(
        {
            "study": {"name": "p", "models": ["objectives.partition:optimal"]},
            "inputs": {"profiles": JPEG, "workload": 0, name: 3},
            "space": {"accelerator_size": {"values": [64, 128]}},
            "objective": [{"maximize": "speedup"}, {"minimize": "area_used"}],
        }
    )
    assert problem.remedy.startswith("known: cpu_cast_cost, cpu_divide_cost, cpu_float_cost")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"fille": JPEG, "include": ["read_stream"]}, "did you mean 'file'?"),
        ({"file": JPEG, "incl": ["read_stream"]}, "did you mean 'include'?"),
        ({"file": JPEG, "inclde": ["read_stream"]}, "did you mean 'include'?"),
        ({"path": JPEG}, "known: "),
    ],
)
def test_a_misspelt_key_is_one_problem(table: dict[str, Any], told: str) -> None:
    content = {
        "study": {"name": "parts", "models": ["objectives.communication:offload_functions"]},
        "inputs": {"dataflow": table, "instruction_area": 10},
        "space": {
            "accelerated": {"subsets": "selection", "of": ["read_stream"]},
            "computation_factor": {"values": [2, 8]},
        },
        "objective": [{"maximize": "speedup"}],
    }
    (problem,) = _told(content)
    assert told in problem.remedy
    assert problem.message.startswith("unknown key")


def test_what_is_missing_beside_misspelt_keys_is_reported() -> None:
    curve = {"quantities": ["speedup"], "alng": "granularity"}
    told = [p.where for p in _told({**SERVICE, "curve": [curve]})]
    assert told == ["curve[1].name", "curve[1].axis", "curve[1].alng"]


@pytest.mark.parametrize(
    ("changed", "where", "remedy"),
    [
        ({"objective": {"max": "speedup"}}, "objective", "write [[objective]]"),
        ({"objective": "speedup"}, "objective", "write [[objective]]"),
        ({"objective": [{"max": "speedup"}]}, "objective[1].max", "'maximize'"),
        ({"objective": [{"best": "speedup"}]}, "objective[1].best", "known: "),
        ({"constraint": [{"expr": "acceleration <= 4"}]}, "constraint[1].expr", "known: "),
        (
            {"constraint": [{"quantity": "acceleration", "max": 4}]},
            "constraint[1].max",
            "known: at, at_least, at_most",
        ),
    ],
)
def test_a_table_of_a_wrong_shape_is_one_problem(
    changed: dict[str, Any], where: str, remedy: str
) -> None:
    (problem,) = _told({**SERVICE, **changed})
    assert problem.where == where
    assert remedy in problem.remedy


def test_both_directions_are_reported_as_such() -> None:
    both = {"maximize": "speedup", "minimize": "acceleration", "foo": 1}
    (unknown,) = _told({**SERVICE, "objective": [both]})
    assert unknown.where == "objective[1].foo"
    del both["foo"]
    (problem,) = _told({**SERVICE, "objective": [both]})
    assert problem.where == "objective[1]"
    assert "both maximize and minimize" in problem.message
