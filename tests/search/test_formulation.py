"""Notes on the formulation of a study: hosts, objectives, variables and inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse.evaluate.space import sample_designs
from dse.model import Array, Floats, Quantity
from dse.problems import InputError
from dse.search.formulation import check_formulation, find_own_hosts, review_study
from tests.commands import called

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path.stem for path in (ROOT / "studies").glob("*.toml"))
Input = Annotated[Floats, Quantity("1", "an input", above=0)]


class Offload(NamedTuple):
    gain: Annotated[Array, Quantity("1", "gain over the host", reference=("work",), over="time")]
    time: Annotated[Array, Quantity("s", "time with the accelerator")]
    price: Annotated[Array, Quantity("LUT", "price")]


def offload(
    work: Input,
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)] = 4,
    delay: Input = 1.0,
    slack: Input = 1.0,
) -> Offload:
    time = np.divide(work, lanes) + delay + np.maximum(np.multiply(slack, 1e-9), 1.0)
    return Offload(work / time, time, np.multiply(lanes, 100.0))


LANES = {"lanes": {"integer": [1, 64]}}
HOSTS = {"host": {"rows": {"slow": {"work": 90}, "fast": {"work": 30}}}}
GAIN, PRICE, TIME = {"maximize": "gain"}, {"minimize": "price"}, {"minimize": "time"}


def small(
    space: dict[str, Any], *objectives: dict[str, Any], constraint: Any = (), **inputs: Any
) -> dse.Study:
    content: dict[str, Any] = {
        "study": {"name": "small", "models": ["f"]},
        "space": space,
        "inputs": inputs,
    }
    content |= {"objective": list(objectives), "constraint": list(constraint)}
    return dse.from_mapping(content, {"f": offload})


def notes_of(study: dse.Study) -> list[str]:
    evaluator = study.evaluator
    notes = review_study(evaluator, sample_designs(evaluator.space, 64), 10_000)
    reported = {note.partition(" in ")[0] for note in study.run(workers=1).notes}
    assert {note.partition(" in ")[0] for note in notes} <= reported  # of kept designs, a run does
    return notes


def test_a_gain_over_a_host_that_differs_is_refused() -> None:
    study = small(HOSTS | LANES, GAIN, PRICE)
    for refuse in (lambda: check_formulation(study.evaluator, "small", 5.0), study.run):
        with pytest.raises(InputError) as refused:
            refuse()
        (problem,) = refused.value.problems
        assert problem.where == "objective[1]"
        assert "'gain' compares each design with its own host, because host changes" in str(problem)
        assert problem.remedy.startswith('Compare all designs: minimize = "time"')


@pytest.mark.parametrize(
    "study",
    [
        small(HOSTS | LANES, TIME, PRICE),
        small(LANES, GAIN, PRICE, work=90),
        small(HOSTS | LANES, TIME, PRICE, constraint=[{"quantity": "gain", "at_least": 1}]),
        small(HOSTS | LANES, GAIN | {"at": {"work": 90}}, PRICE, TIME),
        small(HOSTS | LANES, GAIN | {"own_host": True}, PRICE),
        small({"host": {"rows": {"a": {"work": 9}, "b": {"work": 9}}}} | LANES, GAIN, PRICE),
    ],
    ids=["time", "one host", "constraint", "condition", "declared", "equal hosts"],
)
def test_one_host_is_no_problem(study: dse.Study) -> None:
    evaluator = study.evaluator
    assert find_own_hosts(evaluator, sample_designs(evaluator.space, 64)) == []


def test_an_objective_that_is_a_variable_is_noted_and_the_number_of_an_entry_is_not() -> None:
    (note,) = notes_of(small(LANES, GAIN, {"minimize": "lanes"}, work=90))
    assert note.startswith("objective 'lanes' is a variable itself")
    entries = {"engine": {"rows": {"a": {"lanes": 1}, "b": {"lanes": 8}}}}
    assert notes_of(small(entries, GAIN, {"minimize": "lanes"}, work=90)) == []


def test_a_variable_whose_best_end_costs_nothing_is_noted() -> None:
    space = LANES | {"delay": {"values": [0.5, 1.0, 2.0]}}
    (note,) = notes_of(small(space, GAIN, PRICE, work=90))
    assert note.startswith("space.delay is best at 0.5 in 64 sampled designs")
    (note,) = notes_of(small(LANES, GAIN, work=90))
    assert note.startswith("space.lanes is best at 64 in ")


def test_a_variable_with_a_price_is_not_noted() -> None:
    assert notes_of(small(LANES, GAIN, PRICE, work=90)) == []
    limit = [{"quantity": "price", "at_most": 5000}]
    assert notes_of(small(LANES, GAIN, work=90, constraint=limit)) == []


def test_an_input_without_effect_is_noted() -> None:
    (note,) = notes_of(small(LANES, GAIN, PRICE, work=90, slack=2.0))
    assert note.startswith("inputs.slack changed no objective and no constraint in 64 sampled")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_studies_have_none_of_them_and_areas_in_one_unit(name: str) -> None:
    evaluator = dse.load(ROOT / "studies" / f"{name}.toml").evaluator
    assert check_formulation(evaluator, name, 2.0) == []
    quantities = evaluator.model_graph.quantities
    areas = {q.unit.split("/")[0] for n, q in quantities.items() if n.split("_")[0] == "area"}
    assert areas <= {"LUT"} or areas <= {"instruction"}


def test_a_command_refuses_a_study_that_ranks_hosts(tmp_path: Path) -> None:
    text = (ROOT / "benchmarks" / "studies" / "sparc_evolution.toml").read_text()
    (tmp_path / "hosts.toml").write_text(text.replace("own_host = true\n", ""))
    code, _, err = called("check", "hosts.toml", cwd=tmp_path, columns=200)
    assert code == 2
    assert err.count("compares each design with its own host") == 3
    assert not (tmp_path / "runs").exists()
