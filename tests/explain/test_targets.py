"""What is told of targets, ties, prices and the ends of the space: by brute force and by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse import Array, Floats, Quantity
from dse.cli import commands
from dse.explain.explanation import verdict_lines
from tests.explain.examples import study
from tests.explain.test_recommendation import logca
from tests.toy import MODEL, STUDY


def told(explanation: Any) -> str:
    return "\n".join(verdict_lines(explanation))


def of_text(result: dse.StudyResult) -> str:
    assert result.target is not None
    return "\n".join([*result.answer().short, *result.target.words])


# ── A target ─────────────────────────────────────────────────────────────────


def test_runs_of_one_study_with_different_targets_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY.replace("steps = 100", "steps = 5"))
    asked = {"a": (), "b": ("--target", "speed >= 3", "--least", "cost")}
    for name, options in asked.items():
        given = ["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / name), *options]
        done = CliRunner().invoke(commands, given)
        assert done.exit_code == 0, done.output
    one, other = (dse.load_result(tmp_path / name) for name in asked)
    both = dse.compare(one, other)
    assert {d.what: (d.first, d.second) for d in both.differences} == {
        "target.reach": ("absent", "speed >= 3"),
        "target.least": ("absent", "cost"),
    }
    assert "differs: target.reach: absent against speed >= 3" in str(both)
    assert not dse.compare(other, other).differences
    done = CliRunner().invoke(commands, ["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert "target.reach" in done.output


def test_a_target_in_the_study_is_compared_once() -> None:
    one, other = (logca(target={"reach": f"speedup >= {n}"}).run() for n in (5, 6))
    (only,) = dse.compare(one, other).differences
    assert str(only) == "target.reach: speedup >= 5 against speedup >= 6"


def test_the_least_of_what_is_maximized_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dse.InputError) as error:
        logca(target={"reach": "speedup >= 5", "least": "speedup"})
    (problem,) = error.value.problems
    assert problem.where == "target.least"
    assert "'speedup' is maximized" in problem.message
    assert problem.remedy == "name one that is minimized: acceleration"
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY)
    given = ["run", str(tmp_path / "study.toml"), "--target", "speed >= 3", "--least", "speed"]
    done = CliRunner().invoke(commands, given)
    assert done.exception is not None
    assert "'speed' is maximized" in f"{done.exception}{done.output}"


def test_a_tie_in_the_least_names_one_design_and_says_how_it_is_broken() -> None:
    result = logca(target={"reach": "speedup >= 5", "least": "acceleration"}).run()
    front: Any = result.front.designs
    reached = front[front["speedup"] >= 5]
    ties = reached[reached["acceleration"] == reached["acceleration"].min()]
    assert len(ties) > 1
    answer = result.answer()
    assert result.target is not None
    assert {answer.designs[0].design} == {each.design for each in result.target.best}
    assert answer.designs[0].design in ties.index
    said = f"; of the {len(ties)} designs with that, it is the nearest to the best of every "
    assert said in answer.designs[0].why
    assert said in result.target.words[1]
    assert set(re.findall(r"[Dd]esign (\d+)", of_text(result).split("That is exact")[0])) == {
        str(answer.designs[0].design)
    }


def test_an_explanation_says_whether_the_design_reaches_the_target() -> None:
    result = logca(target={"reach": "speedup >= 500"}).run()
    assert "it misses the target, speedup >= 500: its speedup is 30.1\n" in told(
        result.explain(3968)
    )
    result = logca(target={"reach": "speedup >= 5 and acceleration <= 40"}).run()
    for number in result.front.designs.index[::500]:
        row: Any = result.front.designs.loc[number]
        reaches = row["speedup"] >= 5 and row["acceleration"] <= 40
        said = told(result.explain(int(number)))
        assert ("it reaches the target" in said) == reaches
        assert ("it misses the target" in said) == (not reaches)
    assert "the target" not in told(logca().run().explain())


def test_what_misses_by_little_is_told_in_enough_digits() -> None:
    result = logca(target={"reach": "speedup >= 30.1"}).run()
    most = float(result.best("speedup")["speedup"])
    assert f"{most:.3g}" == "30.1"  # as the bound
    said = re.search(r"its speedup is (\S+)", told(result.explain(result.best("speedup"))))
    assert said is not None
    assert float(said[1]) == pytest.approx(most, rel=1e-6)
    assert float(said[1]) < 30.1


def test_what_breaks_a_bound_is_not_said_to_give_itself() -> None:
    result = logca(target={"reach": "overhead >= 30 us and speedup >= 20"}).run()
    assert result.target is not None
    assert "overhead = 34,800 cycles breaks speedup >= 20." in result.target.words
    assert not re.search(r"(\w+) = \S+( \w+)? gives \1 ", of_text(result))


def test_units_of_an_answer_are_plural_and_its_amounts_agree() -> None:
    result = logca(target={"reach": "overhead >= 30 us and speedup >= 20"}).run()
    text = of_text(result)
    assert re.findall(r"[\d,.]+ cycles?\b", text)
    assert not re.findall(r"(?<![\d,.])(?!1 )[\d,.]+ cycle\b", text)
    assert not re.findall(r"design \d+,\d{3}", text)


# ── What to change, and its price ────────────────────────────────────────────


class Fit(NamedTuple):
    steady: Annotated[Array, Quantity("1", "steady speed", low=0)]
    peak: Annotated[Array, Quantity("1", "peak speed", low=0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


def fit(
    at_rest: Annotated[Floats, Quantity("1", "steady speed of the part", low=0)],
    at_peak: Annotated[Floats, Quantity("1", "peak speed of the part", low=0)],
    size: Annotated[Floats, Quantity("LUT", "area of the part", low=0)],
) -> Fit:
    """Return what a part has, as it is."""
    return Fit(*(np.asarray(x, dtype=np.float64) for x in (at_rest, at_peak, size)))


def test_first_comes_what_costs_no_benefit_of_any_objective() -> None:
    rows = {
        "base": {"at_rest": 10, "at_peak": 7, "size": 1000},
        "small": {"at_rest": 10, "at_peak": 6.21, "size": 100},  # gains most, at a price
        "trim": {"at_rest": 10, "at_peak": 7, "size": 800},
    }
    objectives = [{"maximize": "steady"}, {"maximize": "peak"}, {"minimize": "area"}]
    made = dse.from_mapping(
        {
            "study": {"name": "parts", "models": ["fit"]},
            "space": {"part": {"rows": rows}},
            "objective": objectives,
        },
        {"fit": fit},
    )
    lines = told(made.run().explain(0)).split("(first what costs none of its benefit):\n")[1]
    first, second = lines.split("\n")
    assert (
        first
        == "  part base → trim (design 2): area 1,000 → 800 LUT, at no cost in other objectives"
    )
    assert second.endswith(", at the price of peak 7 → 6.21")


def test_a_variable_that_is_an_objective_has_its_price() -> None:
    result = logca().run()
    checked = 0
    for number in (0, 300, 1378, 3968):
        for item in result.explain(number).advice:
            effect = item.on(item.variable)
            text = str(item)
            if effect.worse:
                more = "more" if effect.after > effect.before else "less"
                price = text.split(", at the price of ")[1]
                assert f"{more} {item.variable}" in price
                checked += 1
            else:
                assert f"more {item.variable}" not in text
                assert f"less {item.variable}" not in text
    assert checked
    assert "acceleration 2 → 64 (design 3968): speedup 1.93 → 30.1, at the price of more accel" in (
        told(result.explain(0))
    )


def test_what_no_design_of_the_space_has_is_not_called_within_it() -> None:
    result, space = logca().run(), {"acceleration": (2, 64), "overhead": (116, 34_800)}
    seen = set()
    for number in range(0, len(result.designs), 501):
        for each in result.explain(number).sensitivities:
            if each.input in space:
                low, high = space[each.input]
                within = bool(low <= each.improved <= high)
                assert each.changed_by == ("within your space" if within else "beyond your space")
                seen.add((each.input, within))
    assert len(seen) == 4


# ── What a script gives ──────────────────────────────────────────────────────


def test_what_is_no_result_no_path_and_no_design_is_told(tmp_path: Path) -> None:
    made: Any = study()
    result = made.run(tmp_path / "run")
    no_path: Any = 3
    assert result.explain("compromise").design == result.compromise().name
    assert made.explain(result, "compromise", 3)[0].design == result.compromise().name
    cases: list[tuple[Any, str]] = [
        (lambda: dse.compare(result, made), "second: is of the type Study, not the result of a"),
        (lambda: dse.compare(made, result), "first: is of the type Study, not the result of a"),
        (lambda: dse.load(no_path), "3 is not a path"),
        (lambda: dse.load_result(no_path), "give the path of a run's folder"),
        (lambda: result.explain("abc"), '"compromise"'),
    ]
    for wrong, message in cases:
        with pytest.raises(dse.InputError) as error:
            wrong()
        assert message in str(error.value)
    done = CliRunner().invoke(commands, ["explain", str(tmp_path / "run"), "--design", "abc"])
    assert done.exit_code == 2
    assert "'abc' is neither the number of a design, as in front.csv, nor compromise" in " ".join(
        done.output.split()
    )
