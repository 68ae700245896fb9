"""Studies with other inputs: what a script changes is as if it stood in the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from tests.toy import MODEL, STUDY

CATALOG = """
about = "Links"
source = "a test"
[slow]
about = "a slow one"
size = "4 KiB"
note = "a note"
[quick]
about = "a quick one"
size = "1 KiB"
"""
ROWS = """
[study]
name = "rows"
models = ["toy_model.py:toy"]
[inputs]
clock = "1 GHz"
[space]
lanes = { integer = [1, 8] }
link = { catalog = "links" }
[[objective]]
maximize = "speed"
[[objective]]
minimize = "cost"
"""


class Out(NamedTuple):
    speed: Annotated[dse.Array, dse.Quantity("1", "speed", low=0)]


def scaled(
    lanes: Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1)],
    factor: Annotated[dse.Floats, dse.Quantity("1", "a lane's speed", low=0)],
) -> Out:
    return Out(np.asarray(lanes * factor))


@pytest.fixture
def toy(tmp_path: Path) -> dse.Study:
    return _written(tmp_path, STUDY)


@pytest.fixture
def rows(tmp_path: Path) -> dse.Study:
    return _written(tmp_path, ROWS)


def _written(folder: Path, text: str) -> dse.Study:
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "links.toml").write_text(CATALOG)
    (folder / "study.toml").write_text(text)
    return dse.load(folder / "study.toml")


def _edited(study: dse.Study, old: str, new: str) -> dse.Study:
    """Return the study of the same file with another text."""
    assert study.path
    text = study.path.read_text()
    assert old in text
    study.path.write_text(text.replace(old, new))
    return dse.load(study.path)


def _same(one: dse.Study, other: dse.Study) -> bool:
    return one.run(workers=1).designs.equals(other.run(workers=1).designs)


def test_an_input_is_what_it_would_be_in_the_file(rows: dse.Study) -> None:
    changed = rows.with_inputs(clock="2 GHz")
    assert changed.constants["clock"] == 2e9
    assert rows.constants["clock"] == 1e9
    assert rows.with_inputs(clock=np.float64(2e9)).constants["clock"] == 2e9
    assert changed.digest != rows.digest
    assert _same(changed, _edited(rows, '"1 GHz"', '"2 GHz"'))


def test_a_variable_is_held_at_a_value(toy: dse.Study) -> None:
    held = toy.with_inputs(lanes=4, size="2 KiB")
    designs = held.run(workers=1).designs
    assert set(designs["lanes"]) == {4}
    assert set(designs["size"]) == {2048.0}
    assert designs["lanes"].dtype == np.int64
    assert held.evaluator.space.size == 100


def test_a_choice_is_held_at_an_option(rows: dse.Study) -> None:
    held = rows.with_inputs(link="slow")
    assert set(held.run(workers=1).designs["link"]) == {"slow"}
    with pytest.raises(dse.InputError, match=r"no row 'slwo'\s+did you mean 'slow'"):
        rows.with_inputs(link="slwo")
    inline = dse.from_mapping(
        {
            "study": {"name": "inline", "models": ["objectives.logca:offload"]},
            "inputs": {"computational_index": 90, "overhead": 100, "granularity": 1024},
            "space": {
                "device": {"rows": {"a": {"acceleration": 2}, "b": {"acceleration": 8}}},
            },
            "objective": [{"maximize": "speedup"}],
        }
    )
    assert inline.with_inputs(device="b").run(workers=1).best("speedup")["acceleration"] == 8
    with pytest.raises(dse.InputError, match="there is no option 'c'"):
        inline.with_inputs(device="c")
    better = inline.with_row("device", "a", acceleration=16)
    assert better.run(workers=1).best("speedup")["device"] == "a"
    with pytest.raises(dse.InputError, match=r"no value 'accelaration'\s+did you mean"):
        inline.with_row("device", "a", accelaration=16)


def test_a_subset_is_held_at_its_parts() -> None:
    study = dse.load("studies/jpeg.toml")
    options = next(iter(study.choices.values()))
    key, option = next(iter(study.choices)), next(o for o in options if " + " in o)
    held = study.with_inputs(**{key: option})
    assert held.choices[key] == {option: options[option]}


def test_a_figure_of_a_row_among_the_inputs_becomes_the_studys_own() -> None:
    study = dse.load("studies/crypto.toml")
    assert study.constants["computational_index"] == 90
    changed = study.with_inputs(computational_index="100 cycle/B", clock="2 GHz")
    assert changed.constants["computational_index"] == 100
    by_row = study.with_row("kernel", "aes-ultrasparc-t2", computational_index=100)
    assert by_row.constants["computational_index"] == 100
    again = by_row.with_row("kernel", "aes-ultrasparc-t2", computational_index=110)
    assert again.constants["computational_index"] == 110
    with pytest.raises(dse.InputError, match="is the row 'aes-ultrasparc-t2', not 'des'"):
        study.with_row("kernel", "des", computational_index=100)
    with pytest.raises(dse.InputError, match=r"set by the rows of space.interface\s+change a row"):
        study.with_inputs(interface_latency="1 us")


def test_one_figure_of_one_row_is_overridden(rows: dse.Study) -> None:
    changed = rows.with_row("link", "slow", size="3 KiB")
    assert {o: r["size"] for o, r in changed.choices["link"].items()} == {
        "slow": 3072.0, "quick": 1024.0,
    }  # fmt: skip
    note = "space.link.override: size of slow is 3 KiB, the study's own value"
    assert note in changed.notes
    assert note in changed.run(workers=1).notes
    in_the_file = 'catalog = "links", override = { slow = { size = "3 KiB" } }'
    assert _same(changed, _edited(rows, 'catalog = "links"', in_the_file))
    plain = rows.with_row("link", "slow", size=3072)
    assert plain.choices == changed.choices


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: s.with_inputs(clok=1), "clok: is not an input or a variable\n.*'clock'"),
        (lambda s: s.with_inputs(lnes=1), "lnes: is not an input or a variable\n.*'lanes'"),
        (lambda s: s.with_inputs(clock="2 GB"), "inputs.clock: 'GB' is a unit of information"),
        (lambda s: s.with_inputs(clock=print), "clock: is of the type builtin_function"),
        (lambda s: s.with_inputs(lanes=0), "lanes = 0 is outside its domain"),
        (lambda s: s.with_inputs(size=1), "size: is set by the rows of space.link"),
        (lambda s: s.with_row("lnk", "slow", size=1), "is not an entry that takes rows\n.*'link'"),
        (lambda s: s.with_row("link", "slwo", size=1), "'slwo' is not an option\n.*'slow'"),
        (lambda s: s.with_row("link", "slow", siz=1), "has no value 'siz'\n.*'size'"),
        (lambda s: s.with_row("link", "slow", size="1 s"), "'s' is a unit of time"),
        (lambda s: s.with_row("link", "slow"), "no value is given"),
        (lambda s: s.with_row("link", "slow", size=-1), "size = -1 B is outside its domain"),
    ],
)
def test_what_cannot_be_is_reported(rows: dse.Study, ask: Any, words: str) -> None:
    with pytest.raises(dse.InputError) as caught:
        ask(rows)
    assert re.search(words, str(caught.value)), caught.value


def test_an_input_that_changes_nothing_is_refused() -> None:
    study = dse.from_mapping(
        {
            "study": {"name": "bound", "models": ["objectives.logca:offload"]},
            "inputs": {"computational_index": 90, "overhead": 100},
            "space": {"acceleration": {"integer": [2, 8]}},
            "objective": [{"maximize": "speedup", "at": {"granularity": 1024}}],
        }
    )
    with pytest.raises(dse.InputError, match="granularity: changes nothing"):
        study.with_inputs(granularity="2 KiB")


def test_an_override_in_a_file_that_cannot_be_is_reported(rows: dse.Study) -> None:
    for override, words in (
        ('{ slow = { sise = "3 KiB" } }', "the row 'slow' has no value 'sise'\n.*'size'"),
        ('{ slwo = { size = "3 KiB" } }', "'slwo' is not an option\n.*'slow'"),
        ("{ slow = { size = [1] } }", "space.link.override.slow.size"),
    ):
        with pytest.raises(dse.InputError) as caught:
            _edited(rows, 'catalog = "links"', f'catalog = "links", override = {override}')
        assert re.search(words, str(caught.value)), caught.value
        assert rows.path
        rows.path.write_text(ROWS)


def test_functions_of_a_script_and_the_runs_folder_go_along(tmp_path: Path) -> None:
    study = _written(tmp_path, ROWS).with_inputs(clock="3 GHz")
    study.run(tmp_path / "run", workers=1)
    back = dse.load_result(tmp_path / "run")
    assert back.constants["clock"] == (3e9, "Hz")
    assert back.explain().values["clock"] == 3e9  # by the copy of the study in the folder
    content = {
        "study": {"name": "script", "models": ["f"]},
        "inputs": {"factor": 2},
        "space": {"lanes": {"integer": [1, 4]}},
        "objective": [{"maximize": "speed"}],
    }
    script = dse.from_mapping(content, models={"f": scaled})
    assert script.run(workers=1).best("speed")["speed"] == 8
    assert script.with_inputs(factor=3).run(workers=1).best("speed")["speed"] == 12


def test_a_study_of_a_table_has_no_inputs(tmp_path: Path) -> None:
    (tmp_path / "designs.csv").write_text("lanes,speed\n1,2\n2,3\n")
    text = '[study]\nname = "t"\ntable = "designs.csv"\n[[objective]]\nmaximize = "speed"\n'
    with pytest.raises(dse.InputError, match="a study of a table has no inputs"):
        _written(tmp_path, text).with_inputs(lanes=1)


def test_what_is_outside_the_space_is_noted(toy: dse.Study) -> None:
    found = toy.evaluate({"lanes": [64, 100], "clock": [2e9, 1.2345e9], "size": "2 KiB"})
    assert found["outside"].tolist() == [
        "",
        "lanes = 100 is outside 1 to 64; clock = 1.234 GHz is between values of the space",
    ]
    front = toy.run(workers=1).front.designs
    assert not toy.evaluate(front)["outside"].any()
    note = "space.lanes: 100 is outside 1 to 64, the space of the study"
    assert note in toy.with_inputs(lanes=100).notes
    assert not any("space.lanes" in note for note in toy.with_inputs(lanes=64).notes)
