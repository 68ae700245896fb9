"""What an answer promises and advises, held to what designs have: by brute force and by hand."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dse
from dse import Array, Floats, Quantity
from dse.explain.explanation import explain, region_lines, verdict_lines
from dse.explain.recommendation import Answer
from dse.explain.tradeoffs import Effect, Step
from dse.report.payload import payload
from dse.terminal.best import best_designs
from tests.explain.examples import study

ROOT = Path(__file__).parents[2]


def logca(**change: Any) -> dse.Study:
    """Return the study of the README, but for what is changed."""
    content: dict[str, Any] = {
        "study": {"name": "aes", "models": ["objectives.logca:offload"]},
        "inputs": {"computational_index": 90, "clock": "1.16 GHz", "latency": "1.3 us"},
        "space": {
            "acceleration": {"integer": [2, 64]},
            "overhead": {"real": ["0.1 us", "30 us"], "log": True, "steps": 64},
        },
        "objective": [
            {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
            {"minimize": "acceleration"},
            {"maximize": "overhead"},
        ],
    }
    return dse.from_mapping(content | change)


def slow(**change: Any) -> dse.Study:
    """Return the same behind a link of a second."""
    inputs = {"computational_index": 90, "clock": "1.16 GHz", "latency": "1 s"}
    return logca(**{"inputs": inputs, **change})


def text_of(answer: Answer) -> str:
    return " ".join(answer.short)


# ── A target is what is answered ─────────────────────────────────────────────


def test_the_design_to_build_is_the_least_that_reaches_the_target() -> None:
    made = study(host_time=9000.0, target={"reach": "speedup >= 12", "least": "area"})
    result = made.run()
    front: Any = result.front.designs
    every: Any = result.designs
    cheapest = int(str(front[front["speedup"] >= 12]["area"].idxmin()))
    assert cheapest != result.compromise().name
    answer = result.answer()
    best = answer.designs[0]
    row = front.loc[cheapest]
    lanes = f"{row['lanes']} lane{'s' if row['lanes'] != 1 else ''}"
    knobs = f"{lanes}, depth {row['depth']}, bus {row['bus']}"
    assert best.build == f"Build design {cheapest}: {knobs}."
    assert best.why.startswith("It reaches the target, speedup >= 12, with the least area, ")
    assert f"{front['area'][cheapest]:,.0f} LUT"[:2] in best.why
    for each in answer.designs:  # runners-up reach it, and so does what is advised
        assert front["speedup"][each.design] >= 12
        for number in re.findall(r"\(design (\d+)\)", each.change):
            assert every["speedup"][int(number)] >= 12
    assert result.target is not None
    assert f"Design {cheapest}: {knobs}." in result.target.words


def test_of_several_objectives_that_are_free_the_nearest_to_all_is_built() -> None:
    made = logca(target={"reach": "speedup >= 10"})
    result = made.run()
    answer = result.answer()
    best = answer.designs[0]
    assert result.front.designs["speedup"][best.design] >= 10
    assert "It reaches the target, speedup >= 10; of the " in best.why
    assert all(result.front.designs["speedup"][e.design] >= 10 for e in answer.designs)


def test_the_page_opens_with_the_design_to_build(tmp_path: Path) -> None:
    made = study(host_time=9000.0, target={"reach": "speedup >= 12", "least": "area"})
    result = made.run(tmp_path / "run")
    best = result.answer().designs[0].design
    assert best != result.compromise().name
    data = payload(result, [], tmp_path, start=best)
    numbers = np.frombuffer(base64.b64decode(data["designs"]["numbers"]), "<f8")
    assert numbers[data["start"]] == best
    page = (tmp_path / "run" / "report.html").read_text()
    assert re.search(rf'"start": ?{data["start"]},', page)


def test_if_nothing_reaches_the_target_the_nearest_is_named_with_its_knobs() -> None:
    result = logca(target={"reach": "speedup >= 500"}).run()
    answer = result.answer()
    fastest = int(str(result.best("speedup").name))
    assert answer.verdict == "No design in this space reaches speedup >= 500."
    (nearest,) = answer.designs
    assert nearest.build == (f"Nearest is design {fastest}: acceleration 64, overhead 116 cycles.")
    assert (answer.pays, answer.steps, nearest.change) == (False, (), "")
    assert result.target is not None
    assert f"Design {fastest}: acceleration 64, overhead 116 cycles." in result.target.words


def test_the_nearest_to_several_bounds_misses_each_by_little() -> None:
    made = study(host_time=9000.0, target={"reach": "speedup >= 20 and area <= 200"})
    result = made.run()
    front: Any = result.front.designs
    miss = pd.concat([1 - front["speedup"] / 20, front["area"] / 200 - 1], axis=1).clip(lower=0)
    (nearest,) = result.answer().designs
    assert nearest.design == miss.max(axis=1).idxmin()


# ── What to change first ─────────────────────────────────────────────────────


def checked(result: dse.StudyResult, answer: Answer) -> int:
    """Hold what is advised to its promises; return how much is."""
    count, benefit = 0, str(result.objectives[0].name)
    values: Any = result.designs
    for each in answer.designs:
        about = {
            f"{'highest' if o.direction == 'maximize' else 'lowest'} {o.name.replace('_', ' ')}": o
            for o in result.objectives
        }
        own = about.get(each.role, result.objectives[0])
        for number in map(int, re.findall(r"\(design (\d+)\)", each.change)):
            if number not in values.index:
                continue
            before, after = values.loc[each.design, own.name], values.loc[number, own.name]
            assert after * own.sign <= before * own.sign
            if benefit == "speedup":
                assert values.loc[number, benefit] > 1
            count += 1
    return count


@pytest.mark.parametrize("host_time", [700.0, 900.0, 1500.0, 9000.0])
def test_advice_never_gives_away_what_a_design_is_for_nor_ends_in_loss(host_time: float) -> None:
    result = study(host_time=host_time).run()
    assert checked(result, result.answer()) > 0


@pytest.mark.parametrize("name", ["gpu_memory", "sparc_evolution", "shared_pipeline", "rotate"])
def test_advice_of_shipped_studies_keeps_what_a_design_is_for(name: str) -> None:
    result = dse.load(ROOT / "studies" / f"{name}.toml").run()
    checked(result, result.answer())


def test_what_is_advised_first_pays_most_of_all_single_changes() -> None:
    made = study(host_time=9000.0)
    result = made.run()
    answer = result.answer()
    best = answer.designs[0]
    labels: Any = pd.DataFrame(
        made.evaluator.space.labels(made.evaluator.space.from_index(np.arange(96)))
    )
    near = labels.index[(labels != labels.loc[best.design]).sum(axis=1) == 1]
    values: Any = result.designs
    here = values.loc[best.design]
    trades = {
        n: np.log(values["speedup"][n] / here["speedup"]) + np.log(here["area"] / values["area"][n])
        for n in near
        if values["speedup"][n] >= here["speedup"]
    }
    paying = {n: trade for n, trade in trades.items() if trade > 0}
    told = re.search(r"\(design (\d+)\)", best.change)
    if paying:
        assert told is not None
        assert int(told[1]) == max(paying, key=lambda n: paying[n])
        assert best.change.startswith("To change first: ")
    else:
        assert best.change.startswith("No single change gains more than it costs; the best trade")
        better = {n: t for n, t in trades.items() if values["speedup"][n] >= 1.05 * here["speedup"]}
        assert told is not None
        assert int(told[1]) == max(better, key=lambda n: better[n])


class Pair(NamedTuple):
    speedup: Annotated[Array, Quantity("1", "speedup", low=0, worth=1.0)]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


def pair(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
    ports: Annotated[Floats, Quantity("1", "ports that feed them", low=1, integer=True)],
) -> Pair:
    """Return what lanes give of which each needs a port."""
    return Pair(np.minimum(lanes, ports) + 1.0, np.asarray(100.0 * lanes + 50.0 * ports))


def test_if_no_single_change_gives_more_several_at_once_are_named() -> None:
    content = {
        "study": {"name": "pairs", "models": ["pair"]},
        "space": {"lanes": {"integer": [1, 4]}, "ports": {"integer": [1, 4]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
    }
    result = dse.from_mapping(content, {"pair": pair}).run()
    best = result.answer().designs[0]
    here: Any = result.designs.loc[best.design]
    assert here["lanes"] == here["ports"] < 4
    more = int(here["lanes"]) + 1
    there = result.designs.query(f"lanes == {more} and ports == {more}").index[0]
    assert best.change == (
        f"No single change gives more speedup; several at once do: lanes {more - 1} → {more} and "
        f"ports {more - 1} → {more} (design {there}): speedup {more} → {more + 1}, "
        f"at the price of area {150 * (more - 1)} → {150 * more} LUT."
    )


# ── Costs, shares and steps ──────────────────────────────────────────────────


def test_no_cost_is_said_only_of_what_costs_nothing() -> None:
    made = slow(objective=[{"minimize": "accelerated_time", "at": {"granularity": "1 KiB"}},
                           {"minimize": "acceleration"}, {"maximize": "overhead"}])  # fmt: skip
    result = made.run()
    small = 0
    for found in explain(made, result, list(result.front.designs.index[::500])):
        for item in found.advice:
            costs = [e for e in item.effects if e.gain < 1]
            assert ("at no cost" in str(item)) == (not costs)
            small += ", at less than 0.1 % more accelerated time" in str(item)
    assert small > 0


def test_differences_that_the_digits_do_not_show_are_not_listed() -> None:
    gain = Effect("area", "LUT", 396_000.0, 352_000.0, 396 / 352)
    seen = Effect("speedup", "1", 15.0, 10.0, 10 / 15)
    unseen = Effect("medium_bytes", "B", 246_181.0, 246_201.0, 246_181 / 246_201)
    told = str(Step(0.1, False, 7, gain, (seen, unseen)))
    assert told == (
        "10 % less area: design 7, area 396,000 → 352,000 LUT (-11.1 %), "
        "for speedup 15 → 10 (-33.3 %)"
    )
    alone = str(Step(0.1, False, 7, gain, (unseen,)))
    assert alone.endswith("(-11.1 %), for less than 0.1 % more medium bytes")


def test_a_tenth_more_stays_with_what_pays() -> None:
    result = study(host_time=900.0).run()
    values: Any = result.designs
    answer = result.answer()
    assert answer.steps
    for step in answer.steps:
        for number in re.findall(r"design (\d+)", step):
            assert values["speedup"][int(number)] > 1


# ── Where nothing pays ───────────────────────────────────────────────────────


def test_if_nothing_pays_nothing_is_advised_and_no_step_is_shown() -> None:
    made = slow()
    result = made.run()
    answer = result.answer()
    assert answer.verdict == (
        "Nothing in this space is beneficial: the best speedup is 7.94×10⁻⁵, "
        "and a speedup is beneficial only above 1."
    )
    assert (answer.pays, answer.steps) == (False, ())
    (found,) = explain(made, result, [answer.designs[0].design])
    assert found.advice == ()
    assert "it is not beneficial: it has speedup 7.94×10⁻⁵, and is beneficial only above 1" in (
        verdict_lines(found)
    )


def test_no_constraint_is_to_be_loosened_for_a_design_that_does_not_pay() -> None:
    made = slow(constraint=[{"quantity": "break_even", "at_most": "64 B"}])
    with pytest.raises(dse.DseError) as error:
        made.run()
    assert "excludes 4,032" in str(error.value)
    assert "would admit" not in str(error.value)
    assert (
        "to loosen a constraint is not worth it: design 3968, the first to be admitted, "
        "has speedup 7.94×10⁻⁵, and is beneficial only above 1"
    ) in str(error.value)


def test_no_constraint_stands_in_the_way_of_what_would_not_pay() -> None:
    made = study(
        host_time=150.0,
        target={"reach": "area <= 100"},
        constraint=[{"relation": "bus_area >= 10"}],
    )
    result = made.run()
    assert result.target is not None
    assert not any(" gives area " in words for words in result.target.words)
    assert "The design with less area breaks bus_area >= 10, and would not be beneficial." in (
        result.target.words
    )


# ── Where the time goes ──────────────────────────────────────────────────────


@pytest.mark.parametrize("objective", ["speedup", "accelerated_time"])
def test_the_largest_parts_of_the_time_are_named(objective: str) -> None:
    way = "maximize" if objective == "speedup" else "minimize"
    made = slow(objective=[{way: objective, "at": {"granularity": "1 KiB"}},
                           {"minimize": "acceleration"}])  # fmt: skip
    result = made.run()
    assert "100 % is latency time (time on the interface)" in result.answer().designs[0].time
    (explained,) = explain(study(host_time=9000.0), study(host_time=9000.0).run(), [0])
    (part,) = explained.time_parts
    assert part.name == "work"
    assert part.share == pytest.approx(2000 / 2400)


# ── Words ────────────────────────────────────────────────────────────────────


def test_regions_are_told_in_words() -> None:
    made = logca(regions={"axis": "granularity", "low": "16 B", "high": "1 MiB"})
    result = made.run()
    (found,) = explain(made, result, [int(str(result.compromise().name))])
    lines = region_lines(found.regions)
    assert lines[0] == "what limits speedup along granularity:"
    assert all(re.match(r"  \S+ \S+ to \S+ \S+: limited by [a-z ]+", line) for line in lines[1:])
    told = {region.words for region in found.regions[0].regions}
    assert told == {line.partition(": ")[2] for line in lines[1:]}


def test_what_two_cores_share_is_a_condition_and_not_a_choice() -> None:
    made = dse.load(ROOT / "studies" / "cpu_accelerator.toml")
    assert "shared_penalty" not in made.evaluator.space.variables
    bound = [objective.conditions.get("shared_penalty") for objective in made.evaluator.objectives]
    assert bound[0] == (0.0,) * 6 or bound[0] == 0.0
    assert bound[1] == (1.0,) * 6 or bound[1] == 1.0
    assert [o.direction for o in made.evaluator.objectives] == ["maximize", "maximize", "minimize"]


def test_a_list_within_a_list_is_told_apart() -> None:
    answer = dse.load(ROOT / "studies" / "rotate.toml").run().answer()
    assert "; accelerated: store, load and turn_rings; computation factor " in text_of(answer)


def test_no_name_of_the_best_designs_is_cut_at_any_width() -> None:
    result = dse.load(ROOT / "studies" / "rotate.toml").run()
    for width in range(60, 100, 2):
        console = Console(width=width, file=io.StringIO(), record=True)
        for each in best_designs(result, console):
            console.print(each)
        text = console.export_text()
        assert "…" not in text
        for name in ("accelerated_time", "medium_bytes", "accelerated", "turn_rings"):
            assert name in text
