"""Where a design stands, what would mend it, and why it has no value: against brute force."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import dse
from dse.explain.explanation import explain, verdict_lines
from dse.model import Array, Floats, Quantity
from dse.problems import InputError
from tests.commands import called
from tests.core_examples import command
from tests.explain.examples import study


def test_a_dominated_design_names_the_designs_that_dominate_it() -> None:
    made = study()
    result = made.run()
    every = made.evaluator.evaluate(made.evaluator.space.from_index(np.arange(96))).objectives
    front = list(result.front.designs.index)
    for found in explain(made, result, range(96)):
        mine = every[found.design]
        better = [
            n
            for n in front
            if every[n][0] >= mine[0] and every[n][1] <= mine[1] and (every[n] != mine).any()
        ]
        assert found.standing is not None
        assert found.standing.on_front == (found.design in front) == (not better)
        assert found.standing.dominated == len(better)
        named = [each.design for each in found.standing.by]
        assert len(named) == min(3, len(better))
        assert set(named) <= set(better)
        for each in found.standing.by:
            assert [e.after for e in each.effects] == list(every[each.design])


def test_an_infeasible_design_is_mended_by_the_nearest_value_of_each_variable() -> None:
    made = study(constraint=[{"quantity": "area", "at_most": 500}])
    result = made.run()
    space = made.evaluator.space
    feasible = made.evaluator.evaluate(space.from_index(np.arange(96))).feasible
    bad = np.flatnonzero(~feasible).tolist()
    digits = {n: space.digits(np.arange(96))[n] for n in space.variables}
    checked = 0
    for found in explain(made, result, bad):
        assert not found.advice
        assert found.standing is None
        single = {}
        for name in space.variables:
            others = [n for n in space.variables if n != name]
            near = [
                (abs(int(digits[name][n]) - int(digits[name][found.design])), n)
                for n in np.flatnonzero(feasible).tolist()
                if all(digits[o][n] == digits[o][found.design] for o in others)
            ]
            if near:
                single[name] = min(near)
        for mend in found.repairs:
            assert mend.design is not None
            assert feasible[mend.design]
        if single:
            assert {m.changes[0].variable for m in found.repairs} == set(single)
            for mend in found.repairs:
                name = mend.changes[0].variable
                if name != "bus":  # options have no order
                    assert mend.design == single[name][1]
            checked += 1
        else:
            assert [len(m.changes) for m in found.repairs] in ([], [2])
    assert checked > 10


def test_two_changes_are_found_where_one_does_not_do() -> None:
    bounds = [{"relation": "lanes <= 1"}, {"relation": "depth <= 1"}]
    made = study(constraint=bounds)
    (found,) = explain(made, made.run(), [95])
    (mend,) = found.repairs
    assert [str(each) for each in mend.changes] == ["lanes 8 → 1", "depth 8 → 1"]
    assert mend.design == 2
    three = study(
        constraint=[*bounds, {"relation": "bus_wait >= 400"}, {"relation": "bus_wait <= 500"}]
    )
    (found,) = explain(three, three.run(), [95])
    assert found.repairs == ()
    assert "no change of one variable or of two makes it feasible" in verdict_lines(found)


class Root(NamedTuple):
    root: Annotated[Array, Quantity("1", "root")]


class Twice(NamedTuple):
    twice: Annotated[Array, Quantity("1", "twice the root")]


def rooted(x: Annotated[Floats, Quantity("1", "any number")]) -> Root:
    with np.errstate(all="ignore"):
        return Root(np.sqrt(np.asarray(x, dtype=np.float64)))


def twice(root: Annotated[Floats, Quantity("1", "a root", low=0, high=2)]) -> Twice:
    return Twice(np.asarray(root) * 2.0)


def chained(**change: object) -> dse.Study:
    content = {
        "study": {"name": "chained", "models": ["rooted", "twice"]},
        "space": {"x": {"values": [-1, 4, 9]}},
        "objective": [{"minimize": "twice"}, {"minimize": "x"}],
    }
    return dse.from_mapping(content | change, {"rooted": rooted, "twice": twice})


def test_a_design_without_a_value_says_which_quantity_was_first_to_have_none() -> None:
    made = chained()
    result = made.run()
    first, second, third = explain(made, result, [0, 1, 2])
    (violation,) = first.violations
    assert "root, which rooted gives, is not a number" in violation.why
    assert violation.why in str(violation)
    assert second.feasible
    (violation,) = third.violations
    assert violation.why == "root = 3 is outside the domain [0, 2] of twice"
    assert any("for design 0: root, which rooted gives, is not a number" in n for n in result.notes)


def test_a_run_without_any_value_says_why() -> None:
    for method in ("exhaustive", "random"):
        made = chained(
            space={"x": {"values": [-1, -4]}}, search={"method": method, "evaluations": 2}
        )
        with pytest.raises(InputError, match="root, which rooted gives, is not a number"):
            made.run()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("standing")
    shipped = Path(__file__).parents[2] / "studies" / "shared_pipeline.toml"
    done = called("run", str(shipped), "--out", "run", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return str(folder / "run")


def test_explain_on_the_command_line_shows_what_is_given_on_demand_alone(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = command(monkeypatch, capsys, "explain", folder, "--design", "1", "--design", "130")
    assert "design 1 is feasible, and on the front" in out
    assert "design 130 is feasible" in out
    assert "clock_period  10 ns" not in " ".join(out.split("bottlenecks")[0].split())
    _, out, _ = command(monkeypatch, capsys, "explain", folder, "--design", "1", "--all")
    assert "context_switch" in out
    _, out, _ = command(monkeypatch, capsys, "explain", folder, "--design", "1", "--json")
    data = json.loads(out)
    assert data["standing"]["on_front"] is True
    assert data["told"][0].startswith("design 1 is feasible")
    assert {item["kind"] for item in data["advice"]} == {"within your space"}
    pairs = itertools.chain.from_iterable(item["effects"] for item in data["advice"])
    assert all({"before", "after", "gain"} <= each.keys() for each in pairs)


def test_a_filter_chooses_the_design_to_explain(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = dse.load_result(folder).where("schedule_period > 100").compromise().name
    text = "schedule_period > 100"
    _, out, _ = command(monkeypatch, capsys, "explain", folder, "--where", text, "--json")
    assert json.loads(out)["design"] == wanted
    code, _, err = command(monkeypatch, capsys, "explain", folder, "--where", "latency < 1 ns")
    assert code == 2
    assert "of 252 designs on the front none satisfies 'latency < 1 ns'" in err
