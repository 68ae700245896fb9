"""Targets of runs, comparisons and explanations: by brute force and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.explain.explanation import Explanation
from tests.explain.examples import logca, study
from tests.toy import SMALL, written


def field(explanation: Explanation, label: str) -> str:
    return dict(explanation.fields).get(label, "")


def test_runs_of_one_study_with_different_targets_are_distinguished(tmp_path: Path) -> None:
    path = written(tmp_path, text=SMALL)
    asked = {"a": (), "b": ("--target", "speed >= 3", "--least", "cost")}
    for name, options in asked.items():
        given = ["run", str(path), "--out", str(tmp_path / name), *options]
        done = CliRunner().invoke(commands, given)
        assert done.exit_code == 0, done.output
    one, other = (dse.load_result(tmp_path / name) for name in asked)
    assert {d.what: (d.first, d.second) for d in dse.compare(one, other).differences} == {
        "target.reach": ("absent", "speed >= 3"),
        "target.least": ("absent", "cost"),
    }
    done = CliRunner().invoke(commands, ["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert "target.reach" in done.output
    first, second = (logca(target={"reach": f"speedup >= {n}"}).run() for n in (5, 6))
    (only,) = dse.compare(first, second).differences  # each target is in its study
    assert str(only) == "target.reach: speedup >= 5 against speedup >= 6"


def test_a_run_with_a_target_that_nothing_meets_has_its_own_exit_code(tmp_path: Path) -> None:
    study = str(written(tmp_path, text=SMALL))
    for target, code in (("speed >= 3", 0), ("speed >= 3e9", 3), ("speed >= 3e9", 3)):
        given = ["run", study, "--out", str(tmp_path / "run"), "--target", target]
        assert CliRunner().invoke(commands, given).exit_code == code
    assert (tmp_path / "run" / "report.html").exists()


def test_the_least_of_what_is_maximized_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dse.InputError) as error:
        logca(target={"reach": "speedup >= 5", "least": "speedup"})
    (problem,) = error.value.problems
    assert problem.where == "target.least"
    assert "'speedup' is maximized" in problem.message
    assert problem.remedy == "name one that is minimized: acceleration"
    given = ["run", str(written(tmp_path)), "--target", "speed >= 3", "--least", "speed"]
    done = CliRunner().invoke(commands, given)
    assert "'speed' is maximized" in f"{done.exception}{done.output}"


def test_an_explanation_says_whether_the_design_meets_the_target() -> None:
    result = logca(target={"reach": "speedup >= 500"}).run()
    assert field(result.explain(3968), "target") == "speedup >= 500: missed, speedup 30.1"
    result = logca(target={"reach": "speedup >= 5 and acceleration <= 40"}).run()
    for number in result.front.designs.index[::500]:
        row: Any = result.front.designs.loc[number]
        meets = row["speedup"] >= 5 and row["acceleration"] <= 40
        said = field(result.explain(int(number)), "target")
        assert said.endswith(": met") == meets
        assert (": missed, " in said) == (not meets)
    assert field(logca().run().explain(), "target") == ""
    result = logca(target={"reach": "speedup >= 30.1"}).run()  # missed by little: more digits
    most = float(result.best("speedup")["speedup"])
    assert f"{most:.3g}" == "30.1"
    shown = float(field(result.explain(result.best("speedup")), "target").rsplit(" ", 1)[1])
    assert shown == pytest.approx(most, rel=1e-6)
    assert shown < 30.1


def test_obstacles_are_constraints_of_better_designs_and_units_are_plural() -> None:
    result = logca(target={"reach": "overhead >= 30 us and speedup >= 20"}).run()
    assert result.target is not None
    assert "overhead = 34,800 cycles breaks speedup >= 20." in result.target.words
    made = study(
        host_time=150.0,
        target={"reach": "area <= 100"},
        constraint=[{"relation": "bus_area >= 10"}],
    )
    target = made.run().target
    assert target is not None
    wanted = "The design with less area breaks bus_area >= 10, and would not be beneficial."
    assert wanted in target.words


def test_what_is_no_result_no_path_and_no_design_is_reported(tmp_path: Path) -> None:
    made: Any = study()
    result = made.run(tmp_path / "run")
    no_path: Any = 3
    assert result.explain("nash").design == result.nash().name
    assert made.explain(result, "nash", 3)[0].design == result.nash().name
    cases: list[tuple[Any, str]] = [
        (lambda: dse.compare(result, made), "second: is of the type Study, not the result of a"),
        (lambda: dse.compare(made, result), "first: is of the type Study, not the result of a"),
        (lambda: dse.load(no_path), "3 is not a path"),
        (lambda: dse.load_result(no_path), "give the path of a run's folder"),
        (lambda: result.explain("abc"), '"nash"'),
    ]
    for wrong, message in cases:
        with pytest.raises(dse.InputError) as error:
            wrong()
        assert message in str(error.value)
    done = CliRunner().invoke(commands, ["explain", str(tmp_path / "run"), "--design", "abc"])
    assert done.exit_code == 2
    assert "'abc' is neither the number of a design, as in front.csv, nor nash" in " ".join(
        done.output.split()
    )
