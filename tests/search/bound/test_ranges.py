"""Bounds of boxes against the designs in them: shipped studies, random model graphs, relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dse
from dse.evaluate.criteria import ReductionName
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Integer, Real, Values, Variable
from dse.model import Model, Quantity
from dse.model.relation import read_relation
from dse.search.bound import cells
from dse.search.bound.boxes import make_random_boxes
from dse.search.bound.ranges import Ranges, violation_range
from tests.core_examples import constraint, evaluator, model, objective, relation

STUDIES = Path(__file__).parents[3] / "studies"
SHIPPED = ("crypto", "gpu_memory", "jpeg", "shared_pipeline", "sparc_evolution", "rotate")


def assert_bounded(given_: Evaluator, seed: int, count: int = 400) -> None:
    """Assert that random designs keep to the bounds of random boxes around them."""
    rng = np.random.default_rng(seed)
    found = Ranges(given_)
    places = np.column_stack([rng.integers(0, axis.count, count) for axis in found.axes])
    boxes = make_random_boxes(found.axes, places, rng)
    for i, axis in enumerate(found.axes):
        first, last = axis.ends(boxes.level[:, i], boxes.cell[:, i])
        assert ((first <= places[:, i]) & (places[:, i] <= last)).all()
    bounds, judged = found(boxes), given_.evaluate(found.points(places))
    violated = given_.violations(judged.constrained)
    assert not (judged.objectives * given_.signs < bounds.ideal).any()
    assert not (violated < bounds.least).any()
    assert not (violated > bounds.most).any()
    assert bounds.possible[judged.feasible].all()


@pytest.mark.parametrize("tabulated", [True, False])
@pytest.mark.parametrize("name", SHIPPED)
def test_designs_of_shipped_studies_keep_to_the_bounds_of_their_boxes(
    name: str, tabulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tabulated:  # so that bounds rest on declared moves
        monkeypatch.setattr(cells, "TABLE_ROWS", 0)
    assert_bounded(dse.load(STUDIES / f"{name}.toml").evaluator, seed=SHIPPED.index(name))


_CURVES: list[Callable[[Any], Any]] = [
    lambda x: x,
    np.sqrt,
    np.ceil,
    np.square,
    lambda x: np.where(x > 3, np.inf, x),
]


def _part(rng: np.random.Generator, name: str, inputs: list[str], low: float) -> Model:
    """Return a model of a random sum of curves, most of whose moves are declared."""
    weights = rng.choice([-2.0, -1.0, 0.0, 0.5, 3.0], len(inputs))
    curves = [_CURVES[i] for i in rng.choice(5, len(inputs), p=(0.3, 0.25, 0.2, 0.2, 0.05))]

    def total(**columns: Any) -> Any:
        terms = (
            w * curve(np.asarray(columns[n]))
            for n, w, curve in zip(inputs, weights, curves, strict=True)
            if w
        )
        value = sum(terms, start=np.float64(4.0))
        return np.maximum(value, low) + 0.0 * sum(np.isnan(columns[n]) for n in inputs)

    moves = {n: int(np.sign(w)) for n, w in zip(inputs, weights, strict=True)}
    known = {n: move for n, move in moves.items() if rng.random() < 0.8}
    made = model(name, total, inputs, [name])
    bounded = {name: Quantity("1", name, low=low)}
    return replace(made, outputs=bounded, monotonic={name: known})


def model_graph_of(rng: np.random.Generator) -> Evaluator:
    rows = {
        f"row{i}": {"c": float(c), "d": float(d)} for i, (c, d) in enumerate(rng.random((4, 2)))
    }
    space: dict[str, Variable] = {
        "a": Integer(0, int(rng.integers(1, 9))),
        "b": Values(tuple(rng.permutation(6).tolist())),
        "row": Choice(rows),
        "e": Real(0.0, 5.0) if rng.random() < 0.5 else Real(0.0, 5.0, steps=9),
    }
    names, models = ["a", "b", "c", "d", "e", "f"], []
    for i in range(4):
        inputs = rng.choice(names, int(rng.integers(1, 4)), replace=False).tolist()
        low = float(rng.choice([0.0, -9.0])) if i == 3 else 0.0  # curves fall below 0
        models.append(_part(rng, f"m{i}", inputs, low))
        names.append(f"m{i}")
    reduction = str(rng.choice([*get_args(ReductionName), "quantile"]))
    direction: Any = rng.choice(["minimize", "maximize"])
    return evaluator(
        space,
        models,
        [
            objective("m3", direction, [{"f": 0.5}, {"f": 2.0}, {"f": 7.0}], reduction),
            objective("m2", "maximize"),
            objective("m1"),
        ],
        [
            constraint("m1", 5.0, upper=False),
            relation("m2 * a <= 3 + m3 ** 2"),
            relation("m0 == b"),
        ],
        f=1.0,
    )


@pytest.mark.parametrize("tabulated", [True, False])
def test_designs_of_random_model_graphs_keep_to_the_bounds_of_their_boxes(
    tabulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 100 if tabulated else 0)
    for seed in range(60):
        assert_bounded(model_graph_of(np.random.default_rng(seed)), seed, 200)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("tabulated", [True, False])
def test_a_harmonic_mean_of_terms_that_may_be_negative_keeps_to_its_bounds(
    tabulated: bool, direction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 100 if tabulated else 0)
    # of -8 and 7 it is 112, of 2 and 7 only 3.1
    part = model("m", lambda a, f: f * (a - 10.0) + (1 - f) * 7.0, ["a", "f"], ["m"])
    rising = replace(part, monotonic={"m": {"a": 1}})
    one = objective("m", direction, [{"f": 0.0}, {"f": 1.0}], "harmonic mean")
    assert_bounded(evaluator({"a": Integer(0, 12)}, [rising], [one], f=1.0), seed=1)


_NUMBERS = st.sampled_from(["0", "1", "2", "3", "0.5", "7"])
_NAMES = st.sampled_from(["a", "b", "c"])
_TERMS = st.recursive(
    _NUMBERS | _NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        inner.map(lambda t: f"(-{t})"),
        st.tuples(
            st.sampled_from(["abs", "ceil", "exp", "floor", "log", "log2", "log10", "sqrt"]), inner
        ).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=6,
)
_VALUES = st.sampled_from([-np.inf, -7.0, -1.5, -1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 11.0, np.inf])


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    left=_TERMS,
    sign=st.sampled_from(["<=", ">=", "<", ">", "=="]),
    right=_TERMS,
    slack=st.sampled_from([0.0, 0.1]),
    ends=st.lists(st.tuples(_VALUES, _VALUES), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
)
def test_violations_of_relations_keep_to_their_ranges(
    left: str, sign: str, right: str, slack: float, ends: list[tuple[float, float]], seed: int
) -> None:
    asked = replace(read_relation(f"{left} {sign} {right} + 0*a"), slack=slack)
    pairs = {n: (min(e), max(e)) for n, e in zip("abc", ends, strict=True)}
    low, high = violation_range(
        asked, {n: (np.float64(x), np.float64(y)) for n, (x, y) in pairs.items()}
    )
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        inside = {}
        for name, (least, most) in pairs.items():
            bottom, top = np.clip([least, most], -1e3, 1e3).tolist()
            drawn = np.round(rng.uniform(bottom, top, 200) * 4) / 4
            inside[name] = np.clip(np.concatenate([[least, most], drawn]), least, most)
        violation = asked.violation(inside)
    known = violation[~np.isnan(violation)]
    assert (known >= low).all()
    assert (known <= high).all()


def test_a_requirement_that_holds_but_for_rounding_drops_no_box() -> None:
    """What models require to be equal may differ by a share; the bounds know of it."""
    asked = replace(read_relation("a == b"), slack=1e-9)
    near = {"a": (1.0, 1.0), "b": (1.0 + 1e-12, 1.0 + 1e-12)}
    low, high = violation_range(asked, near)
    assert asked.violation({n: v[0] for n, v in near.items()}) <= 0
    assert low <= 0
    assert high <= 0


def test_what_is_never_at_the_best_corner_is_never_in_the_box() -> None:
    given_ = dse.from_mapping(
        {
            "study": {"name": "slow", "models": ["objectives.logca:break_even"]},
            "inputs": {"computational_index": 1, "complexity": 1.1, "latency_per_byte": 1},
            "space": {
                "acceleration": {"real": [0.1, 0.9]},
                "overhead": {"real": [10, 1000]},
                "latency": {"real": [10, 1000]},
            },
            "objective": [{"minimize": "break_even"}],
            "search": {"method": "bound", "tolerance": 0.01},
        }
    ).evaluator
    found = Ranges(given_)
    assert found(found.whole()).ideal == np.inf


def test_bounds_of_what_is_counted_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 0)
    given_ = dse.from_mapping(
        {
            "study": {
                "name": "lanes",
                "models": ["objectives.machine:lanes_for", "objectives.machine:total_area"],
            },
            "inputs": {
                "computational_index": 90,
                "granularity": 1024,
                "clock_period": 92.8,
                "element_bytes": 16,
                "passes": 1,
                "engine_area": 1000,
                "memory_area_per_bit": 0.1,
                "streams": 8,
                "context_bits": 100,
            },
            "space": {"acceleration": {"real": [20, 200]}},
            "objective": [{"minimize": "area"}],
            "search": {"method": "bound", "tolerance": 0.01},
        }
    ).evaluator
    found = Ranges(given_)
    assert found(found.whole()).ideal == pytest.approx(1000 + 0.1 * 100 * 2 * 7)


@pytest.mark.parametrize("how", ["mean", "harmonic mean", "quantile", "max"])
def test_a_missing_value_in_a_corner_leaves_means_their_bounds(how: Any) -> None:
    # the first scenario is a corner: it counts only in the maximum
    part = model("m", lambda a, f: np.where(f + 0 * a == 0, np.nan, a - f), ["a", "f"], ["m"])
    one = objective("m", "minimize", [{"f": 0.0}, {"f": 1.0}, {"f": 9.0}], how)
    assert one.reduction is not None
    one = replace(one, reduction=replace(one.reduction, skipped=1))
    given_ = evaluator({"a": Values((2.0, 5.0, 12.0, 30.0))}, [part], [one], f=1.0)
    assert_bounded(given_, seed=1)
    found = Ranges(given_)
    assert found(found.whole()).possible.all() == (how != "max")


@pytest.mark.parametrize("units", [("s", "cycle"), ("cycle", "s")])
def test_negative_times_are_bounded_at_both_ends_of_the_clock(
    units: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "TABLE_ROWS", 0)
    slack = model("slack", lambda a: a - 5.0, {"a": "1"}, {"slack": units[0]})
    cost = model("cost", lambda slack: 2 * slack, {"slack": units[1]}, {"cost": units[1]})
    given_ = evaluator(
        {"a": Integer(0, 8), "clock": Values((1.0, 2.0, 4.0))},
        [
            replace(slack, monotonic={"slack": {"a": 1}}),
            replace(cost, monotonic={"cost": {"slack": 1}}),
            model("speed", lambda clock: clock, {"clock": "Hz"}, ["speed"]),
        ],
        [objective("cost"), objective("cost", "maximize"), objective("speed")],
    )
    assert_bounded(given_, seed=1)
