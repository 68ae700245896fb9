"""What a search by bounds need not look at: variables of which all agree, designs asked before."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from benchmarks.shared_aes import shared_aes
from dse import Array, Floats, Quantity, lower_bound
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Real, Space
from dse.model import Model, monotonic
from dse.model.pairs import refute_declarations
from dse.problems import DseError, InputError
from dse.search.bound import cells
from dse.search.bound.cover import Cover
from dse.search.bound.monotonicity import find_best_ends
from dse.search.bound.ranges import Ranges
from objectives.sharing.calls import call_latency, call_service
from tests.search.bound.test_ranges import model_graph_of
from tests.search.bound.test_search import covers, searched


def grid(evaluator: Evaluator) -> Evaluator:
    """Return the evaluator with nine steps instead of each continuum."""
    variables = evaluator.space.variables
    steps = {n: replace(v, steps=9) for n, v in variables.items() if isinstance(v, Real)}
    return replace(evaluator, space=Space({**variables, **steps}))


@pytest.mark.parametrize("tabulated", [True, False])
def test_no_design_is_better_than_at_the_ends_on_which_all_agree(
    tabulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 100 if tabulated else 0)
    ends = 0
    for seed in range(120):
        evaluator = grid(model_graph_of(np.random.default_rng(seed)))
        few = replace(evaluator, objectives=evaluator.objectives[seed % 3 :])
        few = replace(few, constraints=few.constraints[: seed % 2])
        found = Ranges(few)
        rng = np.random.default_rng(seed)
        places = np.column_stack([rng.integers(0, axis.count, 200) for axis in found.axes])
        before = few.evaluate(found.points(places))
        for variable, end in find_best_ends(found).items():
            moved = places.copy()
            moved[:, variable] = 0 if end < 0 else found.axes[variable].count - 1
            after = few.evaluate(found.points(moved))
            worse = (after.objectives * few.signs > before.objectives * few.signs + 1e-9).any()
            broken = few.violations(after.constrained) > few.violations(before.constrained) + 1e-9
            assert not worse
            assert not broken.any()
            ends += int((places[:, variable] != moved[:, variable]).any())
    assert ends > 20


def test_random_model_graphs_are_covered_where_variables_are_left_out() -> None:
    left_out = 0
    for seed in range(40):
        evaluator = grid(model_graph_of(np.random.default_rng(seed)))
        few = replace(evaluator, objectives=evaluator.objectives[seed % 3 :], constraints=())
        whole = searched(few, "exhaustive")
        for tolerance in (0.1, 0.01):
            found = searched(few, "bound", tolerance)
            assert found.complete
            assert covers(found, whole, few.signs, tolerance)
        left_out += bool(find_best_ends(Ranges(few)))
    assert left_out > 5


def test_a_buffer_that_costs_area_alone_is_the_least() -> None:
    evaluator = shared_aes(31, 64, 8)
    found = Ranges(evaluator)
    assert {found.axes[i].name: end for i, end in find_best_ends(found).items()} == {"buffered": -1}


class Price(NamedTuple):
    price: Annotated[Array, Quantity("1", "price", low=0)]
    gain: Annotated[Array, Quantity("1", "gain")]


_Size = Annotated[Floats, Quantity("1", "size", low=0)]


@monotonic(price="+size +speed", gain="+speed =size")
def priced(size: _Size, speed: _Size) -> Price:
    """Return a price that the least sizes do not have, of few speeds more than of many."""
    none = np.asarray(size) < np.where(np.asarray(speed) > 4.0, 3.0, 1.0)
    return Price(np.where(none, np.nan, 1.0 + size + np.asarray(speed)), 2.0 + np.asarray(speed))


def test_where_the_best_end_has_no_value_the_others_are_looked_at() -> None:
    def study(**search: Any) -> dse.Study:
        return dse.from_mapping(
            {
                "study": {"name": "priced", "models": ["priced"]},
                "space": {
                    "size": {"real": [0.0, 400.0], "steps": 1_601},
                    "speed": {"real": [0.0, 9.0], "steps": 901},
                },
                "objective": [{"minimize": "price"}, {"maximize": "gain"}],
                "search": search,
            },
            models={"priced": priced},
        )

    evaluator = study(method="bound").evaluator
    assert find_best_ends(Ranges(evaluator)) == {0: -1}
    found = searched(evaluator, "bound", 0.001)
    assert found.complete
    sizes = found.points["size"][found.on_front]
    assert set(sizes.tolist()) == {1.0, 3.0}
    assert covers(found, searched(evaluator, "exhaustive"), evaluator.signs, 0.001)


@pytest.mark.parametrize("objectives", [1, 4])
def test_a_cover_need_not_be_asked_again_for_what_it_had(objectives: int) -> None:
    rng = np.random.default_rng(0)
    cover = Cover.empty(objectives)
    designs = rng.integers(0, 40, (6_000, objectives)).astype(np.float64)
    points = rng.integers(0, 40, (900, objectives)) - rng.integers(0, 9, (900, 1)) * 4.0
    since = np.full(900, -1, dtype=np.int32)
    known = np.zeros((2, 900), dtype=bool)
    for k, part in enumerate(np.array_split(designs, 12)):
        cover = cover.added(part)
        if k == 7:
            cover = cover.thinned()
        some = np.flatnonzero(rng.random(900) < 0.6)
        mark = cover.mark
        for row, ask in enumerate((cover.weakly, cover.strictly)):
            left = some[~known[row, some]]
            known[row, left] = ask(points[left], since[left])
        since[some] = mark
    left = np.ones(900, dtype=bool)
    known[0, left] |= cover.weakly(points, since)
    known[1, left] |= cover.strictly(points, since)
    nowhere_worse = np.asarray((designs[None] <= points[:, None]).all(axis=2))
    better = nowhere_worse & np.asarray((designs[None] < points[:, None]).any(axis=2))
    np.testing.assert_array_equal(known[0], nowhere_worse.any(axis=1))
    np.testing.assert_array_equal(known[1], better.any(axis=1))


# Floors: what an output is declared to be never below, in a search and put to the test --------


_Place = Annotated[Floats, Quantity("1", "place", low=0, typical=(0, 40))]


class Height(NamedTuple):
    height: Annotated[Array, Quantity("1", "height", low=0)]


class Ground(NamedTuple):
    height: Annotated[Array, Quantity("1", "ground", low=0)]


@monotonic(height="+x +y")
def ground(x: _Place, y: _Place) -> Ground:
    return Ground(np.add(x, y))


@monotonic(height="+x +y")
def high(x: _Place, y: _Place) -> Ground:
    return Ground(np.add(x, y) + 1.0)


def hills(x: _Place, y: _Place) -> Height:
    x, y = np.asarray(x), np.asarray(y)
    return Height(x + y + 2.0 * (np.mod(3 * x + y, 5) > 1))


def study(function: Any, **search: Any) -> Any:
    return dse.from_mapping(
        {
            "study": {"name": "hills", "models": ["hills"]},
            "space": {"x": {"integer": [0, 999]}, "y": {"integer": [0, 999]}},
            "objective": [{"minimize": "height"}],
            "constraint": [{"relation": "x + 2 * y >= 30"}],
            "search": {"method": "bound", **search},
        },
        models={"hills": function},
    )


def floored(floor: Any) -> Any:
    def found(x: _Place, y: _Place) -> Height:
        return hills(x, y)

    found.__annotations__ = hills.__annotations__
    return lower_bound(height=floor)(found)


def test_a_floor_bounds_what_no_move_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranges, "_tabulated", lambda *_: None)
    found = study(floored(ground)).run()
    assert found.certificate.complete
    assert found.certificate.evaluated < 100_000
    places = np.indices((60, 60)).reshape(2, -1)
    places = places[:, places[0] + 2 * places[1] >= 30]
    assert found.front.designs["height"].min() == hills(*places).height.min()


def test_a_floor_that_is_too_high_is_refuted_and_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    told = r"'height' is .*, and never less than .* by 'high'"
    with pytest.raises(AssertionError, match=told):
        refute_declarations(Model.from_function(floored(high)), {}, 1_000, 0)
    refute_declarations(Model.from_function(floored(ground)), {}, 1_000, 0)
    monkeypatch.setattr(Ranges, "_tabulated", lambda *_: None)
    with pytest.raises(DseError, match=told):
        study(floored(high)).run()


def test_a_floor_is_of_the_model_s_own_quantities() -> None:
    def other(z: _Place) -> Ground:
        return Ground(np.asarray(z))

    with pytest.raises(InputError, match="z: is an input of other only"):
        lower_bound(height=other)(floored(ground))


_SLOTS = {"schedule_period": np.array([1.0, 2, 3, 4, 5, 8, 12, 16, 32])}


@pytest.mark.parametrize(
    ("function", "pairs", "fixed"),
    [
        (call_service, 30_000, {}),
        (call_latency, 10_000, _SLOTS),
    ],
)
def test_times_on_a_shared_engine_keep_to_moves_and_floors(
    function: Any, pairs: int, fixed: dict[str, Any]
) -> None:
    refute_declarations(Model.from_function(function), fixed, pairs, 3)
