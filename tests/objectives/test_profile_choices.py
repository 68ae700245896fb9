"""Numbers that choose something in a profile: what is not there is refused before the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.model import Quantity
from dse.problems import InputError
from objectives.communication import Setting, load_dataflows
from objectives.partition.report import integration

PROFILES = Path(__file__).parents[2] / "studies" / "profiles"
STUDY = """
[study]
name = "t"
models = ["{model}"]
[inputs]
{resource} = "{path}"
{inputs}
[space]
{space}
[[objective]]
maximize = "speedup"
{at}
"""
PARTITION = {"model": "objectives.partition:optimal", "resource": "profiles"}
COMMUNICATION = {"model": "objectives.communication:offload_functions", "resource": "dataflow"}
SIZE = "accelerator_size = { values = [8, 32] }"
FACTOR = "computation_factor = { values = [2, 4] }"
AREA = "instruction_area = 1\n"


def study(folder: Path, kind: dict[str, str], name: str, inputs: str, space: str, at: str) -> Path:
    path = folder / "s.toml"
    text = STUDY.format(**kind, path=PROFILES / name, inputs=inputs, space=space, at=at)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("kind", "name", "inputs", "space", "at", "where", "told"),
    [
        (PARTITION, "fft.json", "workload = 1", SIZE, "", "inputs.workload", "0 fft"),
        (
            PARTITION,
            "fft.json",
            "workload = 0\ncache_configuration = 1",
            SIZE,
            "",
            "inputs.cache_configuration",
            "profiled: 1, counted from 0",
        ),
        (
            PARTITION,
            "fft.json",
            "",
            SIZE,
            'over = { workload = [0, 2] }\nreduce = "mean"',
            "objective[1].over.workload",
            "0 fft",
        ),
        (
            COMMUNICATION,
            "rotate",
            f"{AREA}selection = 1",
            f"workload = {{ integer = [0, 14] }}\n{FACTOR}",
            "",
            "space.workload.integer",
            "13 recursive-512",
        ),
        (
            COMMUNICATION,
            "fft.json",
            f"{AREA}selection = 128",
            FACTOR,
            "",
            "inputs.selection",
            "add up some of: 1 transform, 2 reorder, 4 distance",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    kind: dict[str, str],
    name: str,
    inputs: str,
    space: str,
    at: str,
    where: str,
    told: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="is beyond the last choice") as raised:
        dse.load(study(tmp_path, kind, name, inputs, space, at))
    (problem,) = raised.value.problems
    assert problem.where == where
    assert told in problem.remedy


def test_the_greatest_choices_are_allowed(tmp_path: Path) -> None:
    dse.load(study(tmp_path, COMMUNICATION, "fft.json", f"{AREA}selection = 31", FACTOR, ""))
    dse.load(study(tmp_path, PARTITION, "fft.json", "workload = 0", SIZE, ""))


def test_the_greatest_selection_is_all_candidates() -> None:
    programs = load_dataflows(PROFILES / "fft.json")
    top, _ = programs.greatest()["selection"]
    assert programs.chosen(int(top)) == programs.candidates


def test_a_domain_names_whole_bounds_in_full() -> None:
    assert Quantity("1", "", low=0, high=2**20 - 1).domain() == "[0, 1048575]"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("objectives.partition:optimal", "a model belongs in study.models"),
        (
            "objectives.partition.reprt:integration",
            "did you mean 'objectives.partition.report:integration'?",
        ),
        ("objectives.partition.report:integraton", "did you mean 'integration'?"),
    ],
)
def test_a_section_that_is_none_is_told(section: str, told: str, tmp_path: Path) -> None:
    path = study(tmp_path, PARTITION, "fft.json", "workload = 0", SIZE, "")
    path.write_text(path.read_text() + f'[report]\nsections = ["{section}"]\n')
    with pytest.raises(InputError) as raised:
        dse.load(path)
    (problem,) = raised.value.problems
    assert problem.where == "report.sections[1]"
    assert told in problem.remedy


def test_a_setting_tells_its_domain_and_unit() -> None:
    with pytest.raises(InputError) as raised:
        Setting(computation_factor=-1, byte_time=-1)
    remedies = [p.remedy for p in raised.value.problems]
    assert remedies[0].endswith("over the host's: (0, inf)")
    assert remedies[1].endswith(": [0, inf) cycle/B")


def test_a_narrow_list_cuts_no_name() -> None:
    command = [sys.executable, "-m", "dse", "list", "accelerator_area"]
    narrow = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    )
    assert "instruction_area " in narrow.stdout
    assert "…" not in narrow.stdout


def test_one_value_of_an_axis_is_no_curve(tmp_path: Path) -> None:
    space = f"{SIZE}\naccelerator_efficiency = {{ values = [0.5] }}"
    path = study(tmp_path, PARTITION, "fft.json", "workload = 0", space, "")
    loaded = dse.load(path)
    section = integration(loaded, loaded.run())
    titles = [part.title for part in section.parts if part.title.startswith("Along")]
    assert titles == ["Along accelerator size, penalty of 0"]
