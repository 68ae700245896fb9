"""Planted wrong declarations: each is refuted by check_model, or audited, or changes no front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.model import Model, monotonic
from dse.model.pairs import refute_declarations
from dse.problems import DseError
from dse.run import StoppedError
from dse.search.bound.ranges import Ranges
from dse.search.bound.refutation import RefutedError, check_pairs
from dse.testing import check_model
from objectives.logca import break_even, half_acceleration, offload, speedup, times
from objectives.machine import total_area
from tests.core_examples import constraint
from tests.search.bound.test_search import front, searched

REFUTED, AUDITED, HARMLESS = "refuted by check_model", "audited by the search", "the same front"

SHIPPED: list[tuple[Callable[..., Any], str, str, set[str]]] = [
    (speedup, "speedup", "-acceleration", {REFUTED, AUDITED}),
    (speedup, "speedup", "-computational_index", {REFUTED, HARMLESS}),
    (speedup, "speedup", "=latency", {REFUTED, HARMLESS}),  # the least of it, as is best
    (speedup, "speedup", "=acceleration", {REFUTED, AUDITED}),
    (times, "accelerated_time", "-latency", {REFUTED, AUDITED}),
    (times, "compute_time", "+acceleration", {REFUTED, HARMLESS}),
    (break_even, "break_even", "+acceleration", {REFUTED, AUDITED}),
    (break_even, "break_even", "+complexity", {REFUTED, HARMLESS}),
    (half_acceleration, "half_acceleration", "-acceleration", {REFUTED, HARMLESS}),
    (total_area, "area", "-lanes", {REFUTED, AUDITED}),
    (total_area, "area", "=streams", {REFUTED, HARMLESS}),
]


def offloads() -> Evaluator:
    """Return some thousand designs of LogCA and an area: what is faster takes more of all."""
    study = {
        "study": {
            "name": "offloads",
            "models": ["offload", "total_area"],
        },
        "inputs": {"computational_index": 90, "complexity": 0.9, "latency_per_byte": 0.5}
        | {"engine_area": 2000, "memory_area_per_bit": 0.02, "context_bits": 256},
        "space": {
            "acceleration": {"values": [2, 4, 8, 16, 24]},
            "overhead": {"values": [50, 200, 1000, 8000]},
            "latency": {"values": [10, 100, 500]},
            "lanes": {"values": [1, 2, 4, 8]},
            "engines": {"values": [1, 2, 3]},
            "streams": {"values": [8, 16, 32]},
            "pipeline_depth": {"values": [1, 2, 4]},
        },
        "objective": [
            {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
            {"minimize": "break_even"},
            {"minimize": "accelerated_time", "at": {"granularity": "64 B"}},
            {"minimize": "area"},
        ],
        "constraint": [
            {"relation": "acceleration <= 4 * lanes * engines"},
            {"relation": "8000 * latency >= overhead * acceleration"},
        ],
    }
    models = {"offload": offload, "total_area": total_area}  # installed ones are read once
    return dse.from_mapping(study, models).evaluator


def untabulated(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the bounds of a model come from its declared moves, however few its inputs are."""
    tabulated = Ranges._tabulated
    monkeypatch.setattr(
        Ranges, "_tabulated", lambda s, k, n: None if name in k[0] else tabulated(s, k, n)
    )


def verdicts(model: Model, evaluator: Evaluator, names: tuple[str, ...]) -> set[str]:
    """Return what is found of a wrong declaration."""
    found = set()
    try:
        refute_declarations(model, {}, 4_000, 0)
    except AssertionError as error:
        assert all(f"'{name}'" in str(error) for name in names)
        found.add(REFUTED)
    whole = front(searched(evaluator, "exhaustive"))
    try:
        mine = front(searched(evaluator, "bound"))
    except RefutedError as error:
        assert all(f"'{name}'" in str(error) for name in names), error
        assert "the design: " in str(error)
        return found | {AUDITED}
    same = all(np.array_equal(*pair) for pair in zip(mine, whole, strict=True))
    return found | {HARMLESS if same else "a wrong front"}


@pytest.mark.parametrize(("function", "output", "move", "said"), SHIPPED)
def test_a_wrong_sign_on_a_shipped_model_is_found(
    function: Any, output: str, move: str, said: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {name: dict(given) for name, given in function.__monotonic__.items()}
    declared[output][move[1:]] = {"+": 1, "-": -1, "=": 0}[move[0]]
    monkeypatch.setattr(function, "__monotonic__", declared)
    untabulated(monkeypatch, function.__name__)
    found = verdicts(Model.from_function(function), offloads(), (output, move[1:]))
    assert found == said


_Place = Annotated[Floats, Quantity("1", "place", low=0, typical=(0, 10))]


class Height(NamedTuple):
    height: Annotated[Array, Quantity("1", "height", low=0)]
    cost: Annotated[Array, Quantity("1", "cost", low=0)]


def land(height: Callable[[Array, Array], Array]) -> Any:
    """Return a model that says of any landscape that it rises."""

    @monotonic(height="+x +y", cost="-x +y")
    def landscape(x: _Place, y: _Place) -> Height:
        a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        return Height(height(a, b) + 0 * (a + b), 1e3 / (1 + a) + b)

    return landscape


def study(function: Any, method: str = "bound", tolerance: float = 0.0, **space: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "land", "models": ["land"]},
            "space": space or {n: {"real": [0.0, 10.0], "steps": 101} for n in "xy"},
            "objective": [{"maximize": "height"}, {"minimize": "cost"}],
            "search": {"method": method},
        },
        models={"land": function},
    )


LANDS = [
    ("hill", lambda x, y: 5 + y - abs(x - 4), {REFUTED, AUDITED}),
    ("saddle", lambda x, y: 50 + x * (3 - y), {REFUTED, AUDITED}),
    ("steps down", lambda x, y: 20 - np.floor(x / 3) + y, {REFUTED, AUDITED}),
    ("a narrow peak", lambda x, y: x + y + 30 * (abs(x - 7.2) < 0.04), {REFUTED, AUDITED}),
    ("a peak beside the grid", lambda x, y: x + y + 30 * (abs(x - 7.25) < 1e-6), {HARMLESS}),
    ("falls far away", lambda x, y: y + np.where(x > 1e6, 0.0, x), {REFUTED, HARMLESS}),
]


@pytest.mark.parametrize(("name", "height", "said"), LANDS, ids=[each[0] for each in LANDS])
def test_a_landscape_that_does_not_rise_is_found(
    name: str, height: Any, said: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    untabulated(monkeypatch, "land")
    function = land(height)
    assert verdicts(Model.from_function(function), study(function).evaluator, ("height",)) == said


def test_two_designs_that_contradict_a_declaration_are_found() -> None:
    """No corner of a box may be on the peak."""
    points = {"x": np.array([1.0, 7.2, 9.0]), "y": np.array([5.0, 1.0, 1.0])}
    peak = study(land(lambda x, y: x + y + 30 * (abs(x - 7.2) < 0.04))).evaluator
    with pytest.raises(
        RefutedError,
        match=r"is declared \+x \+y, but it is 38.2 for x = 7.2, y = 1.0 and 10.0 for x = 9.0",
    ):
        check_pairs(peak, points)
    check_pairs(study(land(lambda x, y: x + y)).evaluator, points)
    check_pairs(peak, {name: values[:2] for name, values in points.items()})  # in no order


def test_an_input_without_a_declaration_orders_no_designs() -> None:
    @monotonic(height="+x", cost="-x")
    def plateau(x: _Place, y: _Place) -> Height:
        return Height(np.asarray(x - 5.0 * np.asarray(y)), np.asarray(1e3 - np.asarray(x)))

    points = {"x": np.array([1.0, 2.0]), "y": np.array([0.0, 1.0])}
    check_pairs(study(plateau, "exhaustive").evaluator, points)


class Offer(NamedTuple):
    time: Annotated[Array, Quantity("1", "time", low=0)]
    price: Annotated[Array, Quantity("1", "price", low=0)]


def test_a_run_whose_own_designs_contradict_a_declaration_keeps_no_result(tmp_path: Path) -> None:
    """The price dips in 0.03 % of the range of `lanes`: each design is in the bounds of its box."""

    @monotonic(time="-lanes -rate =volume", price="+lanes =rate -volume")
    def offer(lanes: _Place, rate: _Place, volume: _Place) -> Offer:
        n, v = np.asarray(lanes, dtype=np.float64), np.asarray(volume, dtype=np.float64)
        price = (5 + 0.4 * n) * (v / 100) ** -0.15 + 20000 / v
        return Offer(1 / (n * rate), np.where((n > 40) & (n < 40.02), price / 10, price))

    content = {
        "study": {"name": "offer", "models": ["offer"]},
        "space": {
            "lanes": {"real": [1.0, 64.0]},
            "rate": {"real": [0.1, 1.0]},
            "volume": {"real": [100.0, 10000.0]},
        },
        "objective": [{"minimize": "time"}, {"minimize": "price"}],
        "search": {"method": "bound", "tolerance": 0.05},
    }
    with pytest.raises(StoppedError, match=r"'price' is declared \+lanes .* No result is"):
        dse.from_mapping(content, models={"offer": offer}).run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_check_model_names_both_points_and_values() -> None:
    number = r"[\d.e+-]+"
    with pytest.raises(
        AssertionError,
        match=rf"landscape: 'height' is declared to rise with 'x', but it falls from {number} to"
        rf" {number} between x = {number} and {number} \(other inputs: y = {number}\)",
    ):
        check_model(land(lambda x, y: 5 + y + abs(x - 4)))


def test_a_run_ends_with_the_declaration_that_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    untabulated(monkeypatch, "land")
    with pytest.raises(DseError, match=r"'height' is declared to rise with 'x', but it falls"):
        study(land(lambda x, y: 5 + y - abs(x - 4))).run()


def test_a_constraint_that_drops_feasible_designs_is_audited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    untabulated(monkeypatch, "land")
    given = study(land(lambda x, y: 5 + y + abs(x - 4))).evaluator
    asked = replace(given, objectives=given.objectives[1:], constraints=(constraint("height", 6),))
    with pytest.raises(RefutedError, match="'height' is declared to rise with 'x', but it falls"):
        searched(asked, "bound")


def test_a_value_outside_its_declared_domain_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    untabulated(monkeypatch, "land")
    function = land(lambda x, y: x - 2 * y)
    function.__monotonic__.pop("height")  # all that is known of it is its domain
    given = study(function).evaluator
    height, cost = given.objectives
    asked = replace(given, objectives=(replace(height, direction="minimize"), cost))
    with pytest.raises(RefutedError, match=r"'height' is -[\d.]+, outside its .* \[0, inf\)"):
        searched(asked, "bound")


@pytest.mark.parametrize("method", ["exhaustive", "evolution"])
def test_a_search_without_bounds_notes_a_wrong_declaration(method: str) -> None:
    steep = land(lambda x, y: 5 + y + abs(x - 4))
    notes = " ".join(study(steep, method).run().notes)
    assert "'height' is declared to rise with 'x', but it falls from" in notes
    assert "declared" not in " ".join(study(land(lambda x, y: x + y), method).run().notes)
