"""Profiles that were cut, edited or made by hand: each is refused, saying where and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.problems import InputError
from dse.profile import Profile

FFT = Path(__file__).parents[2] / "studies" / "profiles" / "fft.json"
NO_PROFILE = r"is not a profile[^!]*dse profile SOURCE -o FILE"
Change = Callable[[dict[str, Any]], object]


def edited(tmp_path: Path, change: Change) -> Path:
    content = json.loads(FFT.read_text())
    change(content)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(content))
    return path


WRONG: dict[str, Change] = {
    "functions.12.name": lambda p: p["functions"].append(p["functions"][0]),
    "functions.0.entry": lambda p: p["functions"][0].update(entry=9999),
    "blocks.1.id": lambda p: p["blocks"][1].update(id=0),
    "blocks.0.function": lambda p: p["blocks"][0].update(function="nosuch"),
    "blocks.3.executions": lambda p: p["blocks"][3].update(executions=-5),
    "edges.0.to": lambda p: p["edges"][0].update(to=9999),
    "calls.0.from": lambda p: p["calls"][0].update({"from": 9999}),
    "calls.0.to": lambda p: p["calls"][0].update(to="nosuch"),
    "registers.0.to": lambda p: p["registers"][0].update(to=[9999]),
    "accesses.0.block": lambda p: p["accesses"][0].update(block=9999),
    "accesses.0.hits": lambda p: p["accesses"][0].update(hits=[]),
    "reads.0.access": lambda p: p["reads"][0].update(access=9999),
    "reads.0.from": lambda p: p["reads"][0].update({"from": 9999}),
    "crossings.0.cache": lambda p: p["crossings"][0].update(cache=7),
    "transfers.0.to": lambda p: p["transfers"][0].update(to="nosuch"),
    "call_tree.1.function": lambda p: p["call_tree"][1].update(function="nosuch"),
    "call_tree.0.parent": lambda p: p["call_tree"][0].update(parent=5),
    "extra": lambda p: p.update(extra=2),
}


@pytest.mark.parametrize("where", WRONG)
def test_what_is_wrong_is_reported_with_its_place(where: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        Profile.load(edited(tmp_path, WRONG[where]))
    assert [p.where for p in raised.value.problems] == [where]
    assert raised.value.problems[0].remedy
    with pytest.raises(InputError, match=r"settings\.chunk: is missing"):
        Profile.load(edited(tmp_path, lambda p: p["settings"].pop("chunk")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format": "dse profile", "version": 99}', "version 99 of the profile .*upgrade dse"),
        ('{"format": "dse profile", "version": 3}', "version 3 of the .*profile the program"),
        ('{"format": "dse profile", "version": 4}', "not a whole profile: it lacks program, set"),
        *((text, NO_PROFILE) for text in ("", "[1, 2]", '{"program": ', "\x00", "{}")),
    ],
)
def test_another_version_or_file_has_its_remedy(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"(?s){words}") as raised:
        Profile.load(path)
    assert len(raised.value.problems) == 1
    with pytest.raises(InputError, match="No such file"):
        Profile.load(tmp_path / "absent.json")


def test_a_profile_is_read_as_it_was_written_and_as_its_schema_describes(tmp_path: Path) -> None:
    profile, schema = Profile.load(FFT), Profile.model_json_schema()
    profile.save(tmp_path / "p.json")
    assert Profile.load(tmp_path / "p.json") == profile
    assert set(json.loads(profile.dumps())) == set(schema["properties"])
    assert "from" in schema["$defs"]["Edge"]["properties"]


STUDY = """
[study]
name = "t"
models = ["{model}"]
[inputs]
{input} = "{path}"
instruction_area = 32
[space]
{variable} = {{ integer = [1, 2] }}
[[objective]]
maximize = "speedup"
"""


@pytest.mark.parametrize(
    ("model", "given", "variable"),
    [
        ("objectives.partition:optimal", "profiles", "accelerator_size"),
        ("objectives.communication:offload_functions", "dataflow", "computation_factor"),
    ],
)
def test_a_study_names_the_file_once(model: str, given: str, variable: str, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}")
    study = tmp_path / "s.toml"
    study.write_text(STUDY.format(model=model, input=given, path="empty.json", variable=variable))
    with pytest.raises(InputError) as raised:
        dse.load(study)
    wheres = [p.where for p in raised.value.problems]
    assert f"inputs.{given}: empty.json" in wheres
    assert "empty.json: : " not in str(raised.value)


def test_a_program_without_any_work_is_refused(tmp_path: Path) -> None:
    from objectives.communication import load_dataflow

    def hollow(content: dict[str, Any]) -> None:
        for key, value in content.items():
            if isinstance(value, list):
                content[key] = []

    with pytest.raises(InputError, match="no function computes anything"):
        load_dataflow(edited(tmp_path, hollow))
