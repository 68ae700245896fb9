"""Numbers that choose something in a profile: what is not there is refused before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.problems import InputError
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
def test_what_is_not_there_is_reported_with_what_is(
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


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            "objectives.partition.reprt:integration",
            "did you mean 'objectives.partition.report:integration'?",
        ),
        ("objectives.partition.report:integraton", "did you mean 'integration'?"),
    ],
)
def test_a_section_that_is_none_is_reported(section: str, told: str, tmp_path: Path) -> None:
    path = study(tmp_path, PARTITION, "fft.json", "workload = 0", SIZE, "")
    path.write_text(path.read_text() + f'[report]\nsections = ["{section}"]\n')
    with pytest.raises(InputError) as raised:
        dse.load(path)
    (problem,) = raised.value.problems
    assert problem.where == "report.sections[1]"
    assert told in problem.remedy


def test_one_value_of_an_axis_is_no_curve(tmp_path: Path) -> None:
    space = f"{SIZE}\naccelerator_efficiency = {{ values = [0.5] }}"
    path = study(tmp_path, PARTITION, "fft.json", "workload = 0", space, "")
    loaded = dse.load(path)
    section = integration(loaded, loaded.run())
    titles = [part.title for part in section.parts if part.title.startswith("Along")]
    assert titles == ["Along accelerator size, penalty of 0"]
