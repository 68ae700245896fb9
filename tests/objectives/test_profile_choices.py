"""Numbers that choose something in a profile: what is not there is refused before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from dse.explain.breakdown import scenario_labels
from dse.problems import InputError

PROFILES = Path(__file__).parents[2] / "studies" / "profiles"
STUDY = """
[study]
name = "t"
models = ["{model}"]
[inputs]
{inputs}
[space]
{space}
[[objective]]
maximize = "speedup"
{at}
"""
SIZE = "accelerator_size = { values = [8, 32] }"
FACTOR = "computation_factor = { values = [2, 4] }"
FFT = 'profiles = "PROFILES/fft.json"\n'
ROTATE = 'dataflow = "PROFILES/rotate"\ninstruction_area = 1\nselection = 1'
SELECT = 'dataflow = "PROFILES/fft.json"\ninstruction_area = 1\nselection = '
MEAN = 'over = { workload = [0, 2] }\nreduce = "mean"'
RUNS = "workload = { integer = [0, 14] }\n"


def study(folder: Path, inputs: str, space: str, at: str = "") -> Path:
    path = folder / "s.toml"
    partition = inputs.startswith("profiles")
    model = f"objectives.{'partition:optimal' if partition else 'communication:offload_functions'}"
    inputs = inputs.replace("PROFILES", str(PROFILES))
    text = STUDY.format(model=model, inputs=inputs, space=space, at=at)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("inputs", "space", "at", "where", "allowed"),
    [
        (f"{FFT}workload = 1", SIZE, "", "inputs.workload", "0 fft"),
        (f"{FFT}workload = 0\ncache_configuration = 1", SIZE, "", "inputs.cache_configuration",
         "profiled: 1, counted from 0"),
        (FFT, SIZE, MEAN, "objective[1].over.workload", "0 fft"),
        (ROTATE, f"{RUNS}{FACTOR}", "", "space.workload.integer", "13 recursive-512"),
        (f"{SELECT}128", FACTOR, "", "inputs.selection",
         "add up some of: 1 transform, 2 reorder, 4 distance"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_reported_with_what_is(
    inputs: str, space: str, at: str, where: str, allowed: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is beyond the last choice") as raised:
        dse.load(study(tmp_path, inputs, space, at))
    (problem,) = raised.value.problems
    assert problem.where == where
    assert allowed in problem.remedy


def test_the_greatest_choices_are_allowed(tmp_path: Path) -> None:
    dse.load(study(tmp_path, f"{SELECT}31", FACTOR))
    dse.load(study(tmp_path, f"{FFT}workload = 0", SIZE))


@pytest.mark.parametrize(
    ("section", "meant"),
    [("reprt:integration", "objectives.partition.report:integration"),
     ("report:integraton", "integration")],
)  # fmt: skip
def test_a_section_that_is_none_is_reported(section: str, meant: str, tmp_path: Path) -> None:
    path = study(tmp_path, f"{FFT}workload = 0", SIZE)
    path.write_text(f'{path.read_text()}[report]\nsections = ["objectives.partition.{section}"]\n')
    with pytest.raises(InputError) as raised:
        dse.load(path)
    (problem,) = raised.value.problems
    assert problem.where == "report.sections[1]"
    assert f"did you mean '{meant}'?" in problem.remedy


def test_a_scenario_has_the_name_of_its_program() -> None:
    study = dse.load(PROFILES.parent / "cpu_accelerator.toml")
    objective = study.evaluator.objectives[0]
    names = [path.stem for path in sorted(PROFILES.glob("*.json"))]
    assert scenario_labels(study.evaluator.model_graph, objective) == names
