"""Contradictions that a study of the shipped chain can hold: each is refused, or told in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.problems import InputError

ROOT = Path(__file__).parents[3]


def crypto(**changes: Any) -> dict[str, Any]:
    """Return the content of studies/crypto.toml, with some inputs or variables in other words."""
    content = tomllib.loads((ROOT / "studies" / "crypto.toml").read_text(encoding="utf-8"))
    for name, value in changes.items():
        table = "space" if name in content["space"] or isinstance(value, dict) else "inputs"
        content[table][name] = value
    return content


def small(**changes: Any) -> dict[str, Any]:
    """Return the same with few values of each variable."""
    few = {
        "lanes": {"values": [1, 2]},
        "pipeline_depth": {"values": [4, 8]},
        "streams": {"values": [8, 64]},
        "schedule_period": {"values": [2, 8]},
        "calls_in_flight": {"values": [1, 2]},
    }
    return crypto(**few | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # the acceleration of a lane follows from clock, element and host: it cannot be given beside
        ({"base_acceleration": 1.0}, ["'base_acceleration'"]),
        ({"acceleration": 8}, ["'lanes' is given twice", "lanes_for"]),
        ({"overlap": {"real": [0.0, 0.75]}}, ["overlap"]),
        ({"call_rate": 4000}, ["'call_rate' is given twice", "objectives.machine:requests"]),
        ({"call_rate": "4000 element/s"}, ["'element/s' counts elements"]),
        ({}, ["'kLUT4' is in LUT4, not LUT"]),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], words: list[str]) -> None:
    content = crypto(**changes)
    if "acceleration" in changes:
        content["study"]["models"].append("objectives.machine:lanes_for")
    if "element/s" in str(changes):
        content["study"]["models"].remove("objectives.machine:requests")
    if not changes:
        area = next(c for c in content["constraint"] if c.get("quantity") == "area")
        area["at_most"] = "400 kLUT4"
    with pytest.raises(InputError) as error:
        dse.from_mapping(content)
    assert all(word in str(error.value) for word in words), error.value


def test_a_load_that_nothing_carries_names_load_and_carrier() -> None:
    with pytest.raises(InputError) as error:
        dse.from_mapping(small(stream_data_rate="4 GB/s")).run()
    told = str(error.value)
    assert "the engine carries the calls of all its streams" in told
    assert "engine_utilization < 1" in told


def test_designs_that_cannot_carry_their_load_are_counted_with_the_reason() -> None:
    result = dse.from_mapping(small(stream_data_rate="20 MB/s", total_streams=64)).run()
    told = " ".join(result.notes)
    assert "infeasible, of 896 designs (a design may break several): 128 break this: " in told
    assert " break this: the engine carries the calls" in told
    front = result.front.designs
    assert (front["stream_utilization"] < 1).all()


def test_a_variable_that_reaches_only_some_objectives_is_noted() -> None:
    notes = dse.from_mapping(crypto()).notes
    assert "schedule_period does not affect area" in notes


def test_streams_meet_on_the_link() -> None:
    loads = []
    for total in (64, 128):
        evaluator = dse.from_mapping(small(total_streams=total)).evaluator
        columns = evaluator.space.columns(evaluator.space.from_index(np.arange(896)))
        (load,) = evaluator.model_graph.evaluate([("link_utilization", {})], columns)
        loads.append(np.asarray(load)[columns["shared_link"] == 1].max())
    assert loads[0] < loads[1]


def test_feasible_designs_carry_their_load_and_take_their_own_set_up() -> None:
    """Those of crypto.toml do so in tests/test_crypto.py."""
    evaluator = dse.load(ROOT / "studies" / "compress.toml").evaluator
    size = evaluator.space.size or 0
    numbers = np.unique(np.random.default_rng(0).integers(0, size, 20_000))
    points = evaluator.space.from_index(numbers)
    feasible = evaluator.evaluate(points).feasible
    assert feasible.sum() > 200
    columns = evaluator.space.columns(points)
    loads = ("engine_utilization", "link_utilization", "stream_utilization")
    names = (*loads, "call_interval", "set_up_time", "calls_in_flight")
    found = dict(
        zip(names, evaluator.model_graph.evaluate([(n, {}) for n in names], columns), strict=True)
    )
    for each in loads:
        assert (np.broadcast_to(found[each], feasible.shape)[feasible] < 1).all()
    single = feasible & (found["calls_in_flight"] == 1)
    assert single.any()
    own = np.broadcast_to(found["set_up_time"], feasible.shape)
    assert (found["call_interval"] >= own * (1 - 1e-12))[single].all()
