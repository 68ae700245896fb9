"""Requirements of models are constraints of the studies that use the models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, InputError, Quantity, Requirement, requires
from dse.model import Model, composed_of, model
from dse.terminal import Terminal
from dse.testing import check_model
from tests.chain import LOADED, MODELS, CallRate, Queue, Size, queue, study

CARRIES = "the engine carries the calls that it is offered: utilization < 1"


def front(content: dict[str, object], **more: object) -> dse.StudyResult:
    return dse.from_mapping(content, {**MODELS, **more}).run()  # type: ignore[dict-item]


def test_a_load_above_the_capacity_is_infeasible_and_reported() -> None:
    made = dse.from_mapping(study(), MODELS)
    (constraint,) = made.evaluator.constraints
    assert constraint.name == f"{CARRIES}, required by queue"
    result = made.run()
    lanes = result.front.designs["lanes"]
    assert lanes.min() == 9  # 8.5 million calls a second, a million a lane
    assert (result.front.designs["latency"] > 0).all()
    assert result.certificate.feasible == 8
    assert "Designs that break what a model requires are infeasible" in result.certificate.statement
    note = f"infeasible, of 16 designs: 8 break this: {constraint.name}"
    assert note in result.notes
    (explained,) = made.explain(result, 7)  # 8 lanes
    assert not explained.feasible
    assert str(explained.violations[0]) == f"{constraint.name} is violated by 0.0625"


def test_a_study_that_no_design_satisfies_says_what_it_lacks() -> None:
    with pytest.raises(InputError) as caught:
        front(study(inputs={"call_rate": "20 Mcall/s", "size": 64}))
    told = str(caught.value)
    assert f"'{CARRIES}, required by queue' excludes 16" in told
    assert f"meeting '{CARRIES}, required by queue' (broken by 0.25) would admit design 15" in told


def test_a_requirement_is_judged_only_if_its_model_is_used() -> None:
    made = dse.from_mapping(
        study(inputs={"size": 64}, objective=[{"minimize": "area"}, {"maximize": "carried"}]),
        MODELS,
    )
    assert made.evaluator.constraints == ()
    assert made.unchecked == ()


def test_a_requirement_is_judged_under_the_conditions_of_what_uses_its_model() -> None:
    latency = {"minimize": "latency", "at": {"size": "128 B"}}
    made = dse.from_mapping(study(objective=[latency, {"minimize": "area"}]), MODELS)
    (constraint,) = made.evaluator.constraints
    assert constraint.name == f"{CARRIES} at size = 128 B, required by queue"
    with pytest.raises(InputError, match="no design is feasible"):
        made.run()  # 17 lanes are needed at 128 B
    two = [latency | {"at": {"size": "32 B"}}, {"minimize": "latency"}]
    made = dse.from_mapping(study(objective=two), MODELS)
    assert [c.condition for c in made.evaluator.constraints] == ["at size = 32 B", ""]
    assert made.run().certificate.feasible == 8


def test_a_requirement_holds_in_every_scenario() -> None:
    over = {"minimize": "latency", "over": {"size": ["16 B", "64 B"]}, "reduce": "mean"}
    made = dse.from_mapping(study(objective=[over, {"minimize": "area"}]), MODELS)
    (constraint,) = made.evaluator.constraints
    assert constraint.name == f"{CARRIES} over size = 16 B, 64 B, required by queue"
    assert made.run().front.designs["lanes"].min() == 9  # the mean alone would allow 4


def test_conditions_that_do_not_matter_make_no_further_constraint() -> None:
    both = [{"minimize": "latency", "at": {"waiting": w}} for w in (100, 200)]
    margins = [{"maximize": "margin", "at": {"waiting": w}} for w in (1e6, 2e6)]
    content = study(
        study={"name": "t", "models": ["engine", "queue", "margin"]},
        inputs={"call_rate": 8.5e6, "size": 64, "clock": "1 GHz"},
        objective=[*both, *margins],
    )
    names = [c.name for c in dse.from_mapping(content, MODELS).evaluator.constraints]
    assert sum(name == f"{CARRIES}, required by queue" for name in names) == 1
    assert len(names) == 3


def test_a_requirement_is_in_the_units_of_its_model() -> None:
    content = study(
        study={"name": "t", "models": ["engine", "queue", "margin"]},
        inputs={"call_rate": 8.5e6, "size": 64, "clock": "1 GHz", "waiting": "700 ns"},
        objective=[{"maximize": "margin"}, {"minimize": "area"}],
    )
    result = front(content)  # 1 / (lanes - 8.5) microseconds of at most 0.7
    assert result.front.designs["lanes"].min() == 10
    words = "a call is served before its time is over: latency <= waiting, required by margin"
    (note,) = [note for note in result.notes if "infeasible" in note]
    assert note.startswith("infeasible, of 16 designs (a design may break several): ")
    assert note.endswith(f"; 1 breaks this: {words}")


class Bound(NamedTuple):
    bound: Annotated[Array, Quantity("call/s", "calls that the link carries")]


@requires(Requirement("bound >= call_rate * share", "the link carries the calls of its share"))
def link(
    size: Size, call_rate: CallRate, share: Annotated[Floats, Quantity("1", "share")] = 0.5
) -> Bound:
    return Bound(np.asarray(256e6 / size))


def test_an_input_that_nothing_gives_stands_for_its_default() -> None:
    content = study(
        study={"name": "t", "models": ["link"]},
        inputs={"call_rate": 1e6},
        space={"size": {"values": [128, 256, 512, 1024]}},
        objective=[{"maximize": "bound"}],
    )
    assert dse.from_mapping(content, {"link": link}).run().certificate.feasible == 3
    content["inputs"]["share"] = 1.0
    assert dse.from_mapping(content, {"link": link}).run().certificate.feasible == 2
    content["objective"][0]["at"] = {"share": 2.0}
    assert dse.from_mapping(content, {"link": link}).run().certificate.feasible == 1


class Twice(NamedTuple):
    by_cycles: Annotated[Array, Quantity("s", "time by its cycles")]
    by_bytes: Annotated[Array, Quantity("s", "time by its bytes")]


@requires(Requirement("by_cycles == by_bytes", "both ways to the time of a call agree"))
def routes(size: Size, rate: Annotated[Floats, Quantity("B/s", "rate")]) -> Twice:
    size = np.asarray(size)
    return Twice(size * 0.1 * 3.0 * 1e-9, size / rate)


def test_two_routes_to_one_thing_agree_up_to_rounding() -> None:
    content = {
        "study": {"name": "t", "models": ["routes"]},
        "inputs": {"size": "1 KiB"},
        "space": {"rate": {"values": [1e9, 1 / 3e-10, 4e9]}},
        "objective": [{"minimize": "by_bytes"}],
    }
    made = dse.from_mapping(content, {"routes": routes})
    (rate,) = made.run().front.designs["rate"]
    assert rate == 1 / 3e-10
    (explained,) = made.explain(made.run(), 2)
    told = str(explained.violations[0])
    assert told.startswith("both ways to the time of a call agree: by_cycles == by_bytes")


class Ratio(NamedTuple):
    ratio: Annotated[Array, Quantity("1", "a ratio")]
    other: Annotated[Array, Quantity("1", "another output")]


@requires(Requirement("ratio <= 10", "the ratio is small"))
def ratio(lanes: Annotated[Floats, Quantity("1", "lanes")]) -> Ratio:
    lanes = np.asarray(lanes)
    with np.errstate(all="ignore"):
        return Ratio((lanes - 2) / (lanes - 2), lanes * 1.0)


def test_what_is_not_a_number_meets_no_requirement() -> None:
    content = {
        "study": {"name": "t", "models": ["ratio"]},
        "space": {"lanes": {"integer": [1, 4]}},
        "objective": [{"maximize": "other"}],
    }
    made = dse.from_mapping(content, {"ratio": ratio})
    result = made.run()
    assert result.certificate.feasible == 3
    (explained,) = made.explain(result, 1)
    (violation,) = map(str, explained.violations)
    told = "the ratio is small: ratio <= 10, required by ratio has no value: it is not a number"
    why = "for ratio, which ratio gives, is not a number, though every input of that model is in"
    assert violation == f"{told}, {why} its domain"


class Load(NamedTuple):
    carried: Annotated[Array, Quantity("call/s", "calls that are carried")]


def carry(lanes: Annotated[Floats, Quantity("1", "lanes")]) -> Load:
    return Load(np.asarray(1e6 * lanes))


class Joined(NamedTuple):
    carried: Annotated[Array, Quantity("call/s", "calls that are carried")]
    utilization: Annotated[Array, Quantity("1", "share of the time that the engine is busy")]
    latency: Annotated[Array, Quantity("s", "mean time of a call")]


SPARE = Requirement("carried >= 2 * call_rate", "half of the engine is spare")


@requires(SPARE)
@composed_of(carry, queue)
def chain(lanes: Annotated[Floats, Quantity("1", "lanes")], call_rate: CallRate) -> Joined:
    """Join both."""
    raise NotImplementedError


def test_a_composed_model_has_its_parts_requirements_and_its_own() -> None:
    leaves = Model.from_function(chain, "chain").leaves
    assert [[(d.relation.text, d.by) for d in leaf.requirements] for leaf in leaves] == [
        [(SPARE.relation, "chain")],
        [(LOADED.relation, "tests.chain:queue"), (SPARE.relation, "chain")],
    ]


def chain_study(
    quantity: str, *, chain: Callable[..., Joined] = chain, **inputs: float
) -> dse.Study:
    content = {
        "study": {"name": "t", "models": ["chain"]},
        "inputs": inputs,
        "space": {"lanes": {"integer": [1, 16]}},
        "objective": [{"minimize": quantity}],
    }
    return dse.from_mapping(content, {"chain": chain})


def test_a_requirement_whose_quantities_are_not_wired_is_listed_as_not_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = chain_study("carried")
    assert made.evaluator.constraints == ()
    told = "half of the engine is spare: carried >= 2 * call_rate, required by chain"
    assert made.unchecked == (f"{told}: needs call_rate",)
    Terminal().whole_plan(made, ())
    assert f"not checked {told}: needs call_rate" in " ".join(capsys.readouterr().out.split())
    wired = chain_study("latency", call_rate=3e6)
    assert wired.unchecked == ()
    assert [c.name for c in wired.evaluator.constraints][:1] == [told]
    assert wired.run().certificate.feasible == 11  # 6 lanes and more


def test_a_requirement_adds_only_what_has_one_unit() -> None:
    wrong = Requirement("carried >= call_rate + lanes", "a lane has a call a second to spare")
    words = r"adds call_rate \[call/s\] and lanes \[1\]"
    function = requires(wrong)(composed_of(carry, queue)(chain))
    with pytest.raises(AssertionError, match=words):
        check_model(function)
    with pytest.raises(InputError, match=words):
        chain_study("carried", chain=function)


def test_names_of_a_requirement_are_checked_where_it_is_declared() -> None:
    with pytest.raises(InputError) as caught:
        requires(
            Requirement("utilisation < 1", "it carries"),
            Requirement("carried >", "it carries"),
            Requirement("carried > 1", " "),
        )(queue)
    told = str(caught.value)
    assert "tests.chain:queue: 3 problems" in told
    assert (
        "requirement 'utilisation < 1': names 'utilisation', which the model neither takes" in told
    )
    assert "did you mean 'utilization'?" in told
    assert "requirement 'carried >': character 10: the text ends" in told
    assert "requirement 'carried > 1': has no description" in told


def test_requirements_go_with_either_order_of_decorators() -> None:
    def plain(call_rate: CallRate, carried: CallRate) -> Queue:
        return queue(call_rate, carried)

    first = model(requires(LOADED)(plain))
    second = requires(LOADED)(model(plain))
    for function in (first, second):
        assert [d.relation.text for d in Model.from_function(function).requirements] == [
            LOADED.relation
        ]


def test_a_requirement_follows_a_renamed_quantity() -> None:
    use = {"use": "queue", "rename": {"utilization": "busy_share", "latency": "delay"}}
    content = study(
        study={"name": "t", "models": ["engine", use]},
        objective=[{"minimize": "delay"}, {"minimize": "area"}],
    )
    made = dse.from_mapping(content, MODELS)
    assert "busy_share < 1" in made.evaluator.constraints[0].name
    assert made.run().front.designs["lanes"].min() == 9


def test_check_and_report_show_requirements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = dse.from_mapping(study(), MODELS)
    Terminal().whole_plan(made, ())
    shown = " ".join(capsys.readouterr().out.split())
    assert f"requirement {CARRIES}, required by queue" in shown
    made.run(tmp_path / "out")
    assert f"{CARRIES}, required by queue".replace("<", "&lt;") in (
        tmp_path / "out" / "report.html"
    ).read_text(encoding="utf-8")
