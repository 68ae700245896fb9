"""The answer of a run, held to what designs have: by brute force and by hand."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.explain.explanation import explain, explanation_cost
from dse.explain.recommendation import (
    EXPLAINED,
    Answer,
    explain_most_important,
    make_answer,
    named_designs,
)
from dse.report.payload import payload
from dse.result.folder import read_answer
from dse.run import report
from tests.commands import called
from tests.explain.examples import logca, study
from tests.pages import read_page
from tests.toy import STUDY, written

ROOT = Path(__file__).parents[2]


def answered(made: dse.Study) -> tuple[Answer, dse.StudyResult]:
    result = made.run()
    return make_answer(made, result, explain(made, result, named_designs(made, result))), result


def numbers_in(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"design (\d+)", text)]


# Targets --------------------------------------------------------------------------------------


def test_the_least_that_meets_the_target_is_recommended_and_opens_the_page(tmp_path: Path) -> None:
    made = study(host_time=9000.0, target={"reach": "speedup >= 12", "least": "area"})
    result = made.run(tmp_path / "run")
    front: Any = result.front.designs
    every: Any = result.designs
    cheapest = int(str(front[front["speedup"] >= 12]["area"].idxmin()))
    assert cheapest != result.nash().name
    answer = result.answer()
    row = front.loc[cheapest]
    variables = f"lanes {row['lanes']}, depth {row['depth']}, bus {row['bus']}"
    assert answer.fields["recommended"] == f"design {cheapest}: {variables}"
    assert answer.fields["why"] == "meets speedup >= 12, best area"
    for each in answer.designs:  # runners-up meet it, and so does advice
        assert front["speedup"][each.design] >= 12
        for number in numbers_in(each.fields.get("change", "")):
            assert every["speedup"][number] >= 12
    assert result.target is not None
    assert f"Design {cheapest}: {variables}." in result.target.words
    data = payload(result, [], tmp_path, start=cheapest)
    numbers = np.frombuffer(base64.b64decode(data["designs"]["numbers"]), "<f8")
    assert numbers[data["start"]] == cheapest
    page = read_page(tmp_path / "run" / "report.html")
    assert re.search(rf'"start": ?{data["start"]},', page)


def test_of_several_free_objectives_the_largest_product_is_recommended() -> None:
    result = logca(target={"reach": "speedup >= 10"}).run()
    answer = result.answer()
    assert answer.fields["why"].startswith(
        "meets speedup >= 10, best balance: largest Nash product, of "
    )
    assert all(result.front.designs["speedup"][e.design] >= 10 for e in answer.designs)


def test_if_nothing_meets_the_target_the_nearest_is_named() -> None:
    result = logca(target={"reach": "speedup >= 500"}).run()
    answer = result.answer()
    fastest = int(str(result.best("speedup").name))
    assert answer.verdict == "No design in this space meets speedup >= 500."
    (nearest,) = answer.designs
    variables = "acceleration 64, overhead 116 cycles"
    assert nearest.fields["nearest"] == f"design {fastest}: {variables}"
    assert (answer.beneficial, answer.steps, "change" in nearest.fields) == (False, {}, False)
    assert result.target is not None
    assert f"Design {fastest}: {variables}." in result.target.words


def test_the_nearest_to_several_bounds_misses_each_by_little() -> None:
    result = study(host_time=9000.0, target={"reach": "speedup >= 20 and area <= 200"}).run()
    front: Any = result.front.designs
    miss = pd.concat([1 - front["speedup"] / 20, front["area"] / 200 - 1], axis=1).clip(lower=0)
    (nearest,) = result.answer().designs
    assert nearest.design == miss.max(axis=1).idxmin()


def test_of_equal_designs_the_largest_product_is_named() -> None:
    result = logca(target={"reach": "speedup >= 5", "least": "acceleration"}).run()
    front: Any = result.front.designs
    meets = front[front["speedup"] >= 5]
    ties = meets[meets["acceleration"] == meets["acceleration"].min()]
    assert len(ties) > 1
    answer = result.answer()
    assert result.target is not None
    assert {answer.designs[0].design} == {each.design for each in result.target.best}
    assert answer.designs[0].design in ties.index
    assert f"of {len(ties)} distinct designs the largest Nash product" in answer.fields["why"]
    assert f"of the {len(ties)} distinct designs with that, it has" in result.target.words[1]


def test_the_best_of_equals_has_the_largest_product() -> None:
    front = logca().run().front
    table: Any = front.designs
    product = ((table["speedup"] - 1) * table["overhead"] / table["acceleration"]).to_numpy()
    not_first = 0
    for i, objective in enumerate(front.objectives):
        equal = np.flatnonzero(front.points[:, i] == front.points[:, i].min())
        wanted = max(equal.tolist(), key=lambda row: float(product[row]))
        assert front.best(objective.name).name == front.designs.index[wanted]
        not_first += wanted != equal[0]
    assert not_first > 0


# Benefit --------------------------------------------------------------------------------------


def test_a_space_in_which_nothing_is_beneficial_says_so_first() -> None:
    answer, result = answered(study(host_time=150.0))
    best = float(result.front.designs["speedup"].max())
    assert best < 1
    assert answer.verdict == (
        f"No design in this space is beneficial: best speedup {best:.3g}, beneficial above 1."
    )
    (nearest,) = answer.designs
    assert result.front.designs["speedup"][nearest.design] == best
    assert nearest.fields["nearest"].startswith(f"design {nearest.design}: ")
    assert (answer.beneficial, answer.steps, "change" in nearest.fields) == (False, {}, False)
    (explained,) = explain(study(host_time=150.0), result, [nearest.design])
    assert explained.advice == ()
    assert ("benefit", f"none: speedup {best:.3g}, beneficial above 1") in explained.fields


def test_where_some_designs_are_beneficial_only_these_are_recommended() -> None:
    counts = set[int]()
    for host_time in (900.0, 2000.0, 2600.0):
        made = study(host_time=host_time)
        answer, result = answered(made)
        speedups = result.front.designs["speedup"]
        losing = int((speedups <= 1).sum())
        counts.add(losing)
        gaining = len(result.front.designs) - losing
        is_ = "is" if gaining == 1 else "are"
        said = f"{gaining} of {result.front.size} on the front {is_} beneficial."
        assert answer.verdict == (said if losing else "")
        assert answer.beneficial
        for each in answer.designs:
            assert speedups.loc[each.design] > 1
        for text in answer.steps.values():
            assert all(result.designs["speedup"][number] > 1 for number in numbers_in(text))
        for explained in explain(made, result, list(speedups.index[speedups > 1])):
            assert all(change.on("speedup").after > 1 for change in explained.advice)
    assert {1} < counts


# The recommended design -----------------------------------------------------------------------


def test_weights_change_the_recommended_design_and_stand_in_its_reason(tmp_path: Path) -> None:
    chosen = []
    for weight in (0.2, 1, 5):
        fast = {"maximize": "speedup", "weight": weight}
        made = study(host_time=9000.0, objective=[fast, {"minimize": "area"}])
        result = made.run(tmp_path / str(weight))
        why = result.answer().fields["why"]
        assert ("with the weight speedup" in why) == (weight != 1)
        assert result.nash().name == dse.load_result(tmp_path / str(weight)).nash().name
        chosen.append((result.nash()["speedup"], result.nash()["area"]))
    assert chosen == sorted(chosen) and len(set(chosen)) > 1
    for wrong in (0, -1.0, "2"):
        with pytest.raises(dse.InputError, match="weight"):
            study(objective=[{"maximize": "speedup", "weight": wrong}])


def test_designs_with_equal_objectives_are_one_point_in_counts(tmp_path: Path) -> None:
    result = study(host_time=2600.0).run(tmp_path / "run")
    size, front = f"{len(result.front)} designs ({result.front.distinct} distinct)", result.front
    assert result.front.distinct == len(np.unique(front.points, axis=0)) < len(front)
    certificate = json.loads((tmp_path / "run" / "summary.json").read_text())["certificate"]
    assert certificate["distinct"] == result.front.distinct
    assert size in result.certificate.statement and size in repr(result) and size in repr(front)


def test_the_nash_design_is_recommended_with_its_values_limits_and_change() -> None:
    answer, result = answered(study(host_time=9000.0))
    best = answer.designs[0]
    assert best.design == result.nash().name
    assert {each.role: each.design for each in answer.designs[1:]} == {
        "highest speedup": result.best("speedup").name,
        "lowest area": result.best("area").name,
    }
    row: Any = result.designs.loc[best.design]
    assert answer.verdict == ""
    assert best.fields["recommended"].endswith(f"depth {row['depth']}, bus {row['bus']}")
    assert best.fields["gives"].startswith(f"speedup {row['speedup']:.3g}, area ")
    parts = {"work": 1000 / row["lanes"] * (1 + 1 / row["depth"]), "wait": row["bus_wait"]}
    largest = max(parts, key=lambda name: parts[name])
    share = 100 * parts[largest] / sum(parts.values())
    assert best.fields["limits"] == f"{largest} {share:.2g} % of time"


def test_the_first_change_is_the_best_trade_of_all_single_changes() -> None:
    for host_time in (700.0, 900.0, 1500.0, 9000.0):
        made = study(host_time=host_time)
        result = made.run()
        space = made.evaluator.space
        labels: Any = pd.DataFrame(space.labels(space.from_index(np.arange(96))))
        values: Any = result.designs
        for each in result.answer().designs:
            own = each.role.split(maxsplit=1)[-1]
            main = next((o for o in result.objectives if o.name == own), result.objectives[0])
            here = values.loc[each.design]
            near = labels.index[(labels != labels.loc[each.design]).sum(axis=1) == 1]
            paying = {}
            for n in near:
                gains = {o.name: o.sign * np.log(here[o.name] / values[o.name][n])
                         for o in result.objectives}  # fmt: skip
                trade, most = sum(gains.values()), max(gains.values())
                if values["speedup"][n] > 1 and gains[main.name] >= 0 < trade and most >= 0.0488:
                    paying[n] = trade
            told = numbers_in(each.fields.get("change", ""))
            assert bool(told) == bool(paying)
            if paying:
                assert told == [max(paying, key=lambda n: paying[n])]


class Pair(NamedTuple):
    speedup: Annotated[Array, Quantity("1", "speedup", low=0, worth=1.0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


def pair(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
    ports: Annotated[Floats, Quantity("1", "ports that feed them", low=1, integer=True)],
) -> Pair:
    """Return the speedup of lanes of which each needs a port."""
    return Pair(np.minimum(lanes, ports) + 1.0, np.asarray(100.0 * lanes + 50.0 * ports))


def test_a_step_names_all_variables_that_change_together() -> None:
    content = {
        "study": {"name": "pairs", "models": ["pair"]},
        "space": {"lanes": {"integer": [1, 4]}, "ports": {"integer": [1, 4]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
    }
    result = dse.from_mapping(content, {"pair": pair}).run()
    answer = result.answer()
    here: Any = result.designs.loc[answer.designs[0].design]
    assert here["lanes"] == here["ports"] == 1
    there = result.designs.query("lanes == 2 and ports == 2").index[0]
    assert "change" not in answer.fields
    assert answer.steps["at least 10 % more speedup"] == (
        f"design {there}: speedup +50 %, area ×2 (lanes 1 → 2, ports 1 → 2)"
    )


def shared(
    slots: Annotated[Floats, Quantity("1", "fixed slots", low=0, high=1, integer=True)],
    period: Annotated[Floats, Quantity("1", "length of a slot", low=1, integer=True)],
) -> Pair:
    """Return the speedup of an engine; its slots have a length only if they are fixed."""
    speedup, area = 3.0 - slots / period, 100.0 - 10.0 * slots + 0.0 * period
    return Pair(np.asarray(speedup), np.asarray(area))


@pytest.mark.parametrize(("cheap", "idle"), [(0, ("period",)), (1, ())])
def test_variables_without_effect_are_left_out_of_the_description(
    cheap: int, idle: tuple[str, ...]
) -> None:
    content = {
        "study": {"name": "slots", "models": ["shared"]},
        "space": {"slots": {"values": [cheap]}, "period": {"integer": [1, 4]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
    }
    answer = dse.from_mapping(content, {"shared": shared}).run().answer()
    assert answer.idle == idle
    assert ("period" in answer.fields["recommended"]) == (not idle)


def test_a_study_that_only_minimizes_and_one_design_have_an_answer() -> None:
    answer, _ = answered(study(objective=[{"minimize": "time"}, {"minimize": "area"}]))
    assert answer.verdict == ""
    assert answer.fields["gives"].startswith("time ")
    assert answer.fields["limits"].endswith(" % of time")
    answer, result = answered(study(host_time=9000.0, objective=[{"maximize": "speedup"}]))
    assert len(result.front) == len(answer.designs) == 1
    assert answer.fields["why"] == "the only design on the front"


# The search and the folder --------------------------------------------------------------------


Number = Annotated[dse.Floats, dse.Quantity("1", "a number", above=0)]


class Cost(NamedTuple):
    cost: Number


def summed(v0: Number, v1: Number, v2: Number) -> Cost:
    return Cost(v0 * v1 + v2)


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ("exhaustive", "The search was cut short, and there may be better: 1 of 27,000 designs"),
        ("bound", "The search was cut short, and there may be better: "),
        ("evolution", ""),
    ],
)
def test_a_search_that_was_cut_short_says_so_first(search: str, told: str) -> None:
    content = {
        "study": {"name": "cut", "models": ["f"]},
        "space": {f"v{k}": {"integer": [1, 30]} for k in range(3)},
        "objective": [{"minimize": "cost"}, {"maximize": "v0"}],
        "search": {"method": search},
        "run": {"chunk": 600},
    }
    made = dse.from_mapping(content, {"f": summed})

    def interrupt(state: object) -> None:
        raise KeyboardInterrupt

    result = made.run(workers=1, progress=interrupt)
    assert not result.certificate.complete
    verdict = make_answer(made, result).verdict
    assert verdict.startswith(told) and bool(verdict) == bool(told)
    if search == "bound":
        assert f"{result.certificate.decided:.3%} of the space is decided." in verdict


def test_the_answer_is_in_the_summary_and_the_terminal(tmp_path: Path) -> None:
    shipped, folder = ROOT / "studies" / "sparc_evolution.toml", tmp_path / "run"
    words = ("run", str(shipped), "--out", str(folder), "--verbose")
    _, out, _ = called(*words, cwd=tmp_path, columns=200)
    kept = read_answer(folder)
    assert kept["designs"][0]["design"] == 4
    printed = re.sub(r"\s", "", out)  # columns break the lines of a long text
    for label, text in kept["fields"].items():
        assert re.sub(r"\s", "", label + text) in printed
    (folder / "report.html").unlink()
    called("report", str(folder), cwd=tmp_path, columns=200)
    assert read_answer(folder) == kept


def test_the_answer_says_the_objectives_without_an_accelerator(tmp_path: Path) -> None:
    run = tmp_path / "run"
    called("run", str(ROOT / "studies" / "sparc_evolution.toml"), "--out", str(run), cwd=tmp_path)
    words = read_answer(run)["fields"]["build nothing"]  # 32 cycles for each of g**1.01 at 3 GHz
    assert words == "small call duration 11.71 µs, large call duration 12.85 ms"
    study = dse.load(ROOT / "studies" / "rotate.toml")
    assert "area 0 LUT" in study.run().answer().fields["build nothing"]


@pytest.mark.parametrize("name", ["gpu_memory", "rotate", "shared_pipeline"])
def test_shipped_studies_answer_in_plain_words(name: str) -> None:
    answer = dse.load(ROOT / "studies" / f"{name}.toml").run().answer()
    for each in answer.designs:
        text = " ".join(each.fields.values())
        assert "_" not in each.fields["gives"]
        assert "e+" not in text and "nan" not in text.split()
    assert {"recommended", "gives", "why", "inputs"} <= answer.fields.keys()


# The sample of a report -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[dse.Study, dse.StudyResult]:
    text = STUDY[: STUDY.index("[[constraint]]")]
    made = dse.load(written(tmp_path_factory.mktemp("toy"), text=text))
    return made, made.run(workers=1)


def test_the_sample_follows_from_the_evaluations_of_the_search(
    toy: tuple[dse.Study, dse.StudyResult], tmp_path: Path
) -> None:
    made, result = toy
    named = {*named_designs(made, result), int(str(result.nash().name))}
    named |= {int(str(result.front.best(o.name).name)) for o in result.objectives}
    sizes = []
    for evaluated in (0, 40 * explanation_cost(made, result)):
        certificate = replace(result.certificate, evaluated=evaluated)
        explained, _ = explain_most_important(made, replace(result, certificate=certificate))
        assert named <= {each.design for each in explained}
        sizes.append(len(explained))
    assert sizes == [len(named), EXPLAINED]
    assert explain_most_important(made, result, 0)[0] == []
    report(made, result, tmp_path / "report.html")
    text = read_page(tmp_path / "report.html")
    told = re.search(r"This report explains (\d+) of ([\d,]+) designs in full", text)
    assert told is not None
    assert int(told[1]) < 20
    assert int(told[2].replace(",", "")) == len(result.designs)


def test_explanations_do_not_depend_on_each_other(toy: tuple[dse.Study, dse.StudyResult]) -> None:
    made, result = toy
    numbers = result.front.designs.index[:4].tolist()
    whole = explain(made, result, numbers)
    parts = explain(made, result, numbers[:2]) + explain(made, result, numbers[2:])
    assert [str(each) for each in parts] == [str(each) for each in whole]


def test_no_constraint_is_to_be_loosened_for_a_design_without_benefit() -> None:
    inputs = {"computational_index": 90, "clock": "1.16 GHz", "latency": "1 s"}  # a slow link
    made = logca(inputs=inputs, constraint=[{"quantity": "break_even", "at_most": "64 B"}])
    with pytest.raises(dse.DseError) as error:
        made.run()
    assert "excludes 4,032" in str(error.value)
    assert "would admit" not in str(error.value)
    assert (
        "no constraint need be loosened: design 3968, the first to be admitted, "
        "has speedup 7.94×10⁻⁵, beneficial above 1"
    ) in str(error.value)


SPEEDUPS, AREAS = np.array([10.0, 11.5, 16.0, 20.0]), np.array([100.0, 160.0, 180.0, 400.0])


def price(kind: Annotated[Floats, Quantity("1", "kind", low=0, high=3, integer=True)]) -> Pair:
    """Return a design, one that gains little for its area, a good one, and a large one."""
    row = np.asarray(kind, dtype=int)
    return Pair(SPEEDUPS[row], AREAS[row])


def test_a_step_has_the_least_loss_per_gain() -> None:
    """By hand: 60 % / 15 % = 4, 80 % / 60 % = 1.33, and 300 % / 100 % = 3."""
    content = {
        "study": {"name": "prices", "models": ["price"]},
        "space": {"kind": {"integer": [0, 3]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
        "recommend": {"weights": {"speedup": 0.001}},
    }
    answer = dse.from_mapping(content, {"price": price}).run().answer()
    assert answer.designs[0].design == 0
    assert answer.next_step == "design 2: speedup +60 %, area +80 % (kind 0 → 2)"


class Infinite(NamedTuple):
    time: Annotated[Array, Quantity("cycle", "time", low=0)]
    even: Annotated[Array, Quantity("B", "break-even", low=0)]
    cost: Annotated[Array, Quantity("LUT", "cost", low=0)]


def infinite(
    kind: Annotated[Floats, Quantity("1", "kind", low=0, high=2, integer=True)],
) -> Infinite:
    """Return a cheap design, and two that are faster: a good one and an expensive one."""
    row = np.asarray(kind, dtype=int)
    values = np.array([[10.0, np.inf, 5.0], [8.0, 7.0, 5.5], [7.9, np.inf, 50.0]])[row]
    return Infinite(values[..., 0], values[..., 1], values[..., 2])


def test_an_infinite_value_that_becomes_finite_is_no_loss_of_a_step() -> None:
    content = {
        "study": {"name": "infinite", "models": ["infinite"]},
        "space": {"kind": {"integer": [0, 2]}},
        "objective": [{"minimize": "time"}, {"minimize": "even"}, {"minimize": "cost"}],
        "target": {"reach": "cost < 100 LUT", "least": "cost"},
    }
    answer = dse.from_mapping(content, {"infinite": infinite}).run().answer()
    assert answer.designs[0].design == 0
    assert answer.steps["at least 10 % less time"].startswith("design 1: time −20 %")
