"""Targets: what reaches one, and the least it takes, against all designs of the space."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dse
from dse import Array, Floats, Quantity
from dse.cli import commands
from dse.evaluate.target import read_target
from dse.explain.advice import find_steps
from dse.explain.targets import answer_target
from dse.model.grammar import GrammarError
from dse.model.values import show_amount
from dse.problems import InputError
from dse.result.folder import load_copied_study, load_result
from tests.pages import read_page
from tests.toy import MODEL, STUDY


class Engine(NamedTuple):
    speed: Annotated[Array, Quantity("1", "speed", low=0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]
    power: Annotated[Array, Quantity("W", "power", low=0)]
    heat: Annotated[Array, Quantity("W", "heat", low=0)]


def engine(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
    depth: Annotated[Floats, Quantity("1", "stages", low=1, integer=True)],
    load: Annotated[Floats, Quantity("1", "load", above=0)] = 1.0,
) -> Engine:
    """Return an engine whose figures are odd enough that no bound is met by accident."""
    lanes, depth, load = (np.asarray(x, dtype=np.float64) for x in (lanes, depth, load))
    speed = lanes * depth / (depth + 3) * load
    area = 100 * lanes**1.3 + 40 * depth * lanes
    power = 0.1 * lanes + 0.02 * depth**2
    return Engine(speed, area, power, 0.3 * power + 1 / lanes + 0 * speed)


KINDS = {"serial": {"load": 1.0}, "wide": {"load": 1.7}, "narrow": {"load": 0.6}}


def content(**tables: Any) -> dict[str, Any]:
    return {
        "study": {"name": "engine", "models": ["engine"]},
        "space": {
            "lanes": {"integer": [1, 24]},
            "depth": {"integer": [1, 12]},
            "kind": {"rows": KINDS},
        },
        "objective": [{"maximize": "speed"}, {"minimize": "area"}, {"minimize": "power"}],
        "constraint": [{"relation": "lanes * depth <= 120"}],
    } | tables


def study(**tables: Any) -> dse.Study:
    return dse.from_mapping(content(**tables), {"engine": engine})


def every() -> dict[str, Any]:
    """Return all designs of the study that satisfy its constraint: what each has."""
    lanes, depth, load = (
        np.array(x)
        for x in zip(
            *itertools.product(range(1, 25), range(1, 13), [r["load"] for r in KINDS.values()]),
            strict=True,
        )
    )
    found = engine(lanes.astype(float), depth.astype(float), load)
    kept = lanes * depth <= 120
    return {name: values[kept] for name, values in found._asdict().items()}


@pytest.mark.parametrize(
    ("reach", "holds"),
    [
        ("speed >= 5", lambda d: d["speed"] >= 5),
        ("speed > 6 and area < 3 kLUT", lambda d: (d["speed"] > 6) & (d["area"] < 3000)),
        ("0.9 W >= power and 4 < speed", lambda d: (d["power"] <= 0.9) & (d["speed"] > 4)),
        # no objective, or not in the direction in which it is better
        ("heat <= 1 W", lambda d: d["heat"] <= 1),
        ("speed >= 5 and heat <= 0.7", lambda d: (d["speed"] >= 5) & (d["heat"] <= 0.7)),
        ("speed <= 5", lambda d: d["speed"] <= 5),
        ("area >= 2 kLUT and speed >= 3", lambda d: (d["area"] >= 2000) & (d["speed"] >= 3)),
        ("0.9 < power < 1.4", lambda d: (d["power"] > 0.9) & (d["power"] < 1.4)),
    ],
)
def test_the_least_is_that_of_all_feasible_designs(reach: str, holds: Any) -> None:
    result = study(target={"reach": reach}).run()
    assert result.target is not None
    assert result.certificate.complete
    designs = every()
    reached = holds(designs)
    assert reached.any()
    assert result.target.best
    for best in result.target.best:
        values = designs[best.objective][reached]
        assert best.value == pytest.approx(values.max() if best.word == "most" else values.min())
        row = result.front.designs.loc[best.design]
        assert holds({"heat": np.zeros(1), **row}) or "heat" in reach
    assert "That is exact" in " ".join(result.target.words)


def test_only_the_objective_asked_for_is_reported() -> None:
    result = study(target={"reach": "speed >= 5 and power <= 1.1", "least": "power"}).run()
    assert result.target is not None
    (best,) = result.target.best
    designs = every()
    reached = (designs["speed"] >= 5) & (designs["power"] <= 1.1)
    assert best.value == pytest.approx(designs["power"][reached].min())
    told = f"The least power is {1000 * best.value:.4g} mW, of design {best.design}."
    assert told in result.target.words


def test_a_target_of_objectives_does_not_change_the_front() -> None:
    plain, asked = study().run(), study(target={"reach": "speed >= 5"}).run()
    assert plain.front.designs.equals(asked.front.designs)
    assert plain.target is None
    assert asked.target is not None
    rows = asked.reaching("speed >= 5")
    assert tuple(rows.designs.index) == asked.target.designs
    assert (rows.designs["speed"] >= 5).all()
    assert rows.best("area").name == asked.target.best[0].design
    left = asked.front.designs.drop(rows.designs.index)
    assert (left["speed"] < 5).all()


def test_unreached_alone_says_the_most_and_which_variable_is_at_its_end() -> None:
    result = study(target={"reach": "speed >= 50"}, constraint=[]).run()
    assert result.target is not None
    assert result.target.designs == ()
    (nearest,) = result.target.nearest
    assert nearest.value == pytest.approx(24 * 12 / 15 * 1.7)
    words = " ".join(result.target.words)
    assert f"The most speed is 32.6, of design {nearest.design}." in words
    assert "lanes is at its greatest value in the space, 24." in words
    assert "depth is at its greatest value in the space, 12." in words
    assert "breaks" not in words


def test_unreached_names_the_constraint_that_cuts() -> None:
    given = study(target={"reach": "speed >= 26"})
    result = given.run()
    assert result.target is not None
    (cut,) = [w for w in result.target.words if "breaks" in w]
    assert cut.endswith("but breaks lanes * depth <= 120.")
    label, value = cut.split(" gives speed ")
    name, moved = label.split(" = ")
    row: Any = result.front.designs.loc[result.target.nearest[0].design]
    at = {"lanes": float(row["lanes"]), "depth": float(row["depth"])} | {name: float(moved)}
    assert at["lanes"] * at["depth"] > 120
    speed = engine(at["lanes"], at["depth"], KINDS[row["kind"]]["load"]).speed
    assert value.startswith(f"{show_amount(float(speed), '1')},")
    assert result.target == answer_target(given, result)


@pytest.mark.parametrize("seed", range(6))
def test_an_obstacle_is_true_of_a_search_that_evaluates_few_designs(seed: int) -> None:
    search = {"method": "RandomSampler", "evaluations": 30, "seed": seed}
    result = study(target={"reach": "speed >= 50"}, search=search).run()
    assert result.target is not None
    row: Any = result.front.designs.loc[result.target.nearest[0].design]
    own = {"lanes": int(row["lanes"]), "depth": int(row["depth"]), "kind": row["kind"]}
    levels = {"lanes": range(1, 25), "depth": range(1, 13), "kind": KINDS}
    better = {}
    for name, values in levels.items():
        for value in values:
            at: dict[str, Any] = own | {name: value}
            speed = float(engine(at["lanes"], at["depth"], KINDS[at["kind"]]["load"]).speed)
            if speed > row["speed"]:
                cut = at["lanes"] * at["depth"] > 120
                verdict = "breaks lanes * depth <= 120" if cut else "is not on the front"
                better[
                    f"{name} = {value} gives speed {show_amount(speed, '1')}, but {verdict}."
                ] = cut
    told = [words for words in result.target.words if " gives " in words]
    assert set(told) <= set(better)
    assert {better[words] for words in told} == set(better.values())
    assert any("No other value" in words for words in result.target.words) <= (not better)


def test_unreached_together_says_what_each_costs_the_other() -> None:
    result = study(target={"reach": "speed >= 20 and power <= 1"}).run()
    assert result.target is not None
    designs = every()
    fast, cool = designs["speed"] >= 20, designs["power"] <= 1
    assert fast.any()
    assert cool.any()
    assert not (fast & cool).any()
    nearest = {best.objective: best.value for best in result.target.nearest}
    assert nearest["speed"] == pytest.approx(designs["speed"][cool].max())
    assert nearest["power"] == pytest.approx(designs["power"][fast].min())
    words = " ".join(result.target.words)
    assert "With power <= 1, the most speed is" in words
    assert "breaks power <= 1" in words


def test_what_no_variable_moves_is_not_in_the_space() -> None:
    one = {"lanes": {"values": [4]}, "depth": {"values": [2]}}
    result = study(target={"reach": "speed >= 9"}, space=one, constraint=[]).run()
    assert result.target is not None
    words = "No other value of one variable gives more speed, whatever the constraints"
    assert result.target.words[-1] == f"{words} (all values evaluated)."


def test_a_target_that_no_design_of_the_search_meets_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError) as error:
        study(target={"reach": "heat <= 0.01"}).run()
    assert "'heat <= 0.01' excludes 864" in str(error.value)
    assert "would admit design" in str(error.value)


def test_a_front_with_a_gap_and_one_without_a_certificate_say_so() -> None:
    drawn = study(
        target={"reach": "speed >= 5"}, search={"method": "RandomSampler", "evaluations": 200}
    ).run()
    assert drawn.target is not None
    assert "not certified" in drawn.target.words[-1]


def test_a_tenth_more_against_all_designs_of_the_front() -> None:
    made = study()
    result = made.run()
    front: Any = result.front.designs
    every = np.ones(len(front), dtype=bool)
    top = int(str(result.best("speed").name))
    for start in (int(str(result.nash().name)), top):
        steps, here = find_steps(made.evaluator, result, start, every), front.loc[start]
        assert steps.keys() == {
            "at least 10 % more speed",
            "at least 10 % less area",
            "at least 10 % less power",
        }
        for label, text in steps.items():
            name, sign = label.split()[-1], -1 if " more " in label else 1
            enough = front[front[name] * sign <= here[name] * sign - 0.1 * here[name]]
            if enough.empty:
                assert text.startswith("no design on the front, the ")
                continue
            design = int(text.removeprefix("design ").partition(":")[0])
            changes = [
                (enough[o.name] - here[o.name]) * o.sign / here[o.name] for o in result.objectives
            ]
            table = pd.concat(changes, axis=1)
            prices = table.clip(lower=0).sum(axis=1) / -table.clip(upper=0).sum(axis=1)
            assert prices[design] == prices.min()
    assert steps["at least 10 % more speed"] == "no design on the front, the best is 25.5"
    assert find_steps(made.evaluator, result, top, every & False).keys() == set()


@pytest.mark.parametrize(
    ("reach", "message"),
    [
        ("speed", ["character 6: the text ends", "speedup >= 5 and area"]),
        ("speed == 5", ["character 1:", "does not compare by =="]),
        ("speed >= 5 or area < 3", ["joined by 'and'"]),
        ("speed >= area", ["compares speed [1] with area [LUT]"]),
        ("5 < 7", ["character 1:", "does not name a quantity"]),
        ("not speed > 5", ["joined by 'and'"]),
        ("sped >= 5", ["unknown quantity 'sped'", "did you mean 'speed'?"]),
        ("area <= 5 ns", ["'area <= 5 ns'", "is a unit of time"]),
        ("heat <= 5 LUT", ["'LUT' is a unit of another kind", "heat is a number in W"]),
        ("speed >= 'fast'", ["character 10: compares texts"]),
        ("", ["at least 1 character"]),
    ],
)
def test_what_is_not_a_target_is_reported(reach: str, message: list[str]) -> None:
    with pytest.raises(InputError) as error:
        study(target={"reach": reach})
    assert len(error.value.problems) == 1
    assert all(part in str(error.value) for part in ["target.reach", *message])


def test_a_target_without_anything_to_reach_is_one_problem() -> None:
    with pytest.raises(InputError) as error:
        study(target={"least": "area"})
    assert [str(p) for p in error.value.problems] == ["target.reach: is missing"]


def test_an_objective_with_conditions_goes_by_its_name() -> None:
    objectives = [
        {"maximize": "speed", "at": {"load": 1}},
        {"maximize": "speed", "at": {"load": 2}},
        {"minimize": "area"},
    ]
    space = {"lanes": {"integer": [1, 24]}, "depth": {"integer": [1, 12]}}
    with pytest.raises(InputError) as error:
        study(target={"reach": "speed >= 5"}, objective=objectives, space=space)
    assert "'speed' is the quantity of 2 objectives" in str(error.value)
    assert "`speed at load = 1`, `speed at load = 2`" in str(error.value)
    target = {"reach": "`speed at load = 2` >= 10"}
    result = study(target=target, objective=objectives, space=space).run()
    assert result.target is not None
    rows = result.front.designs.loc[list(result.target.designs)]
    assert (rows["speed at load = 2"] >= 10).all()
    assert not (rows["speed at load = 1"] >= 10).all()


def test_reaching_refuses_what_a_front_cannot_answer() -> None:
    result = study().run()
    for text, message in (
        ("heat <= 1", "'heat' is not an objective"),
        ("speed <= 5", "does not ask for a better value"),
        ("area <= 3 s", "is a unit of time"),
        ("speed", "the text ends"),
        ("speed / area >= 2", "is not a bound of one objective"),
    ):
        with pytest.raises(InputError) as error:
            result.reaching(text)
        assert message in str(error.value)


def test_alternatives_are_no_target() -> None:
    with pytest.raises(GrammarError):
        read_target("a >= 5 or b < 3")


def test_a_target_may_relate_quantities() -> None:
    """Arithmetic, between and units are those of constraints and filters."""
    reach = "speed * 0.3 kLUT >= area and heat between 0 W and 0.02 kW"
    result = study(target={"reach": reach}).run()
    assert result.target is not None
    front = result.front.designs.loc[list(result.target.designs)]
    assert len(front)
    assert (front["speed"] * 300 >= front["area"]).all()
    assert result.certificate.stopped == "complete"


def test_a_table_has_targets_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "lanes,speed,area,power\n1,1,10,3\n2,2,30,2\n3,4,90,9\n4,3,50,1\n"
    )
    text = (
        '[study]\nname = "t"\ntable = "t.csv"\n[[objective]]\nmaximize = "speed"\n'
        '[[objective]]\nminimize = "area"\n'
    )
    (tmp_path / "t.toml").write_text(text + '[target]\nreach = "speed >= 2 and power <= 2"\n')
    result = dse.load(tmp_path / "t.toml").run()
    assert result.target is not None
    assert [str(b) for b in result.target.best] == ["least area is 30, of design 1"]
    (tmp_path / "t.toml").write_text(
        text + '[[constraint]]\nquantity = "power"\nat_most = 5\n[target]\nreach = "speed >= 4"\n'
    )
    result = dse.load(tmp_path / "t.toml").run()
    assert result.target is not None
    assert result.target.words[-1] == "design 2 gives speed 4, but breaks power <= 5."


def test_the_command_line_asks_a_finished_run_without_running_it_again(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY.replace("steps = 100", "steps = 5"))
    path, out = str(tmp_path / "study.toml"), tmp_path / "out"

    def run(*options: str) -> tuple[str, dict[str, Any]]:
        done = CliRunner().invoke(commands, ["run", path, "--out", str(out), *options])
        assert done.exit_code == 0, done.output
        return done.output, json.loads((out / "summary.json").read_text())

    _, first = run()
    assert first["target"] is None
    assert first["answer"]["steps"]
    bounds = ("--target", "speed >= 3", "--target", "cost < 19 kLUT")
    text, asked = run(*bounds, "--least", "cost", "--verbose")
    assert "holds a finished run of this study" in text
    assert asked["provenance"]["created"] == first["provenance"]["created"]
    assert asked["target"]["reach"] == "speed >= 3 and cost < 19 kLUT"
    assert asked["target"]["least"] == "cost"
    assert "target: speed >= 3 and cost < 19 kLUT" in text
    (best,) = asked["target"]["best"]
    assert f"of design {best['design']}" in text.replace("\n", " ").replace("  ", "")
    assert "Target: speed &gt;= 3 and cost &lt; 19 kLUT" in read_page(out / "report.html")
    kept, of = load_result(out), load_copied_study(out)
    assert kept.target is not None
    assert kept.target.designs == tuple(asked["target"]["designs"])
    assert of.target is not None
    assert of.target.least == "cost"
    assert run()[1]["target"] is None
    assert not (tmp_path / "out.1").exists()
    _, searched = run("--target", "size <= 2 KiB")  # no objective: another search
    assert (tmp_path / "out.1").exists()
    assert searched["certificate"]["feasible"] < first["certificate"]["feasible"]


def test_least_goes_with_a_target(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["run", "study.toml", "--least", "cost"])
    assert done.exit_code == 2
    assert "--least goes with --target" in done.output


def test_a_target_is_answered_though_a_model_raises_for_designs_that_constraints_exclude(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(
        "from typing import Annotated, NamedTuple\n"
        "import numpy as np\n"
        "from dse import Array, Floats, Quantity\n"
        "X = Annotated[Floats, Quantity('1', 'x')]\n"
        "class Cost(NamedTuple):\n    cost: Annotated[Array, Quantity('1', 'cost')]\n"
        "class Gain(NamedTuple):\n    gain: Annotated[Array, Quantity('1', 'gain')]\n"
        "def cost(x: X) -> Cost:\n    return Cost(np.asarray(x) * 1.0)\n"
        "def gain(x: X) -> Gain:\n"
        "    if np.any(np.asarray(x) > 40_000):\n        raise ValueError('is too large')\n"
        "    return Gain(np.asarray(x) * 2.0)\n"
    )
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "x"\nmodels = ["m.py:cost", "m.py:gain"]\n'
        "[space]\nx = { integer = [0, 49_999] }\n"
        '[[objective]]\nmaximize = "gain"\n'
        '[[constraint]]\nquantity = "cost"\nat_most = 30_000\n'
        '[target]\nreach = "gain >= 80_000"\n'
    )
    result = dse.load(tmp_path / "study.toml").run()
    assert result.certificate.complete
    assert result.target is not None
    assert "cost" in " ".join(result.target.words)
