"""Exhaustive search: the whole front, to the last bit, however the work is cut."""

from __future__ import annotations

import functools
import itertools
import math
from collections import deque
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Choice, Integer, Values
from dse.search.base import Search, SearchSettings, Start
from dse.search.exhaustive import EARLY, cut_chunks, start
from dse.search.tally import Tally
from dse.search.workers import ALONE, Workers
from tests.core_examples import constraint, evaluator, model, objective, relation

ROWS = {"card": {"overhead": 90.0, "base": 4.0}, "port": {"overhead": 1.5, "base": 9.0}}
LANES, DEPTH, CLOCK = range(1, 14), range(0, 21, 4), (0.5, 2.0, 1.0)


def _engine(lanes: Any, depth: Any, clock: Any) -> tuple[Any, ...]:
    return lanes * clock * (1 + 0.25 * depth), lanes * (1 + 0.5 * depth) * clock


def _offload(rate: Any, overhead: Any, size: Any) -> Any:
    return np.where(rate > 25, np.inf, overhead + size / rate)


def make(engine: Any = _engine) -> Evaluator:
    return evaluator(
        {
            "lanes": Integer(1, 13),
            "interface": Choice(ROWS),
            "depth": Integer(0, 20, 4),
            "clock": Values(CLOCK),
        },
        [
            model("engine", engine, ["lanes", "depth", "clock"], ["rate", "power"]),
            model("offload", _offload, ["rate", "overhead", "size"], ["time"]),
            model("area", lambda power, base: 3 * power + base, ["power", "base"], ["area"]),
        ],
        [
            objective("time", scenarios=[{"size": 10.0}, {"size": 1e3}], reduction="mean"),
            objective("area"),
            objective("rate", "maximize"),
        ],
        [constraint("power", 60.0), relation("lanes * clock < 20")],
        size=100.0,
    )


STUDY = make()


@functools.cache
def by_hand() -> tuple[list[int], list[tuple[float, ...]]]:
    """Return the front, found design by design in plain Python."""
    feasible = {}
    designs = itertools.product(LANES, ROWS.values(), DEPTH, CLOCK)
    for number, (lanes, row, depth, clock) in enumerate(designs):
        rate = lanes * clock * (1 + 0.25 * depth)
        power = lanes * (1 + 0.5 * depth) * clock
        times = [math.inf if rate > 25 else row["overhead"] + s / rate for s in (10.0, 1e3)]
        if power <= 60.0 and lanes * clock < 20:
            feasible[number] = (sum(times) / 2, 3 * power + row["base"], -rate)
    front = [
        n
        for n, p in feasible.items()
        if not any(q != p and all(map(float.__le__, q, p)) for q in feasible.values())
    ]
    return front, [feasible[n] for n in front]


def begun(judge: Evaluator, chunk: int, workers: Workers = ALONE, **others: Any) -> Search:
    size = judge.space.size or 0
    return start(Start(judge, SearchSettings("exhaustive", size, 1), chunk, workers, **others))


def ended(judge: Evaluator, chunk: int, workers: Workers = ALONE, **others: Any) -> Search:
    search = begun(judge, chunk, workers, **others)
    deque(search.steps(), maxlen=0)
    return search


def as_bytes(search: Search) -> dict[str, bytes]:
    """Return the front and the counts, which do not depend on how the work is cut."""
    outcome, state = search.outcome(), search.state()
    nearest = {"tally_distance", "tally_nearest", "tally_missed"}  # of use if nothing is feasible
    names = {name for name in state if name.startswith("tally_")} - nearest
    columns = {name: state[name] for name in sorted(names)}
    columns |= {"numbers": outcome.numbers[outcome.on_front]}
    columns |= {"objectives": outcome.evaluated.objectives[outcome.on_front]}
    return {name: column.tobytes() for name, column in columns.items()}


def test_the_front_is_what_a_loop_in_plain_python_finds() -> None:
    outcome = ended(STUDY, 100).outcome()
    numbers, points = by_hand()
    found = outcome.evaluated.objectives[outcome.on_front] * STUDY.signs
    assert outcome.complete
    assert outcome.tally.evaluated == 13 * 2 * 6 * 3
    assert outcome.numbers[outcome.on_front].tolist() == numbers
    assert found == pytest.approx(np.array(points), rel=1e-14)
    assert 10 < len(numbers) < 400
    assert np.isinf(found).any()  # 'never' stands on the front for its other merits


LOKY = Workers(2, "loky")


@pytest.mark.parametrize(
    ("workers", "chunk"),
    [(ALONE, 7), (Workers(2), 7), (LOKY, 50)],
)
def test_the_same_bytes_however_the_work_is_cut(workers: Workers, chunk: int) -> None:
    assert as_bytes(ended(STUDY, chunk, workers)) == as_bytes(ended(STUDY, 64))


def test_a_resumed_enumeration_ends_as_an_uninterrupted_one() -> None:
    search = begun(STUDY, 60)
    whole, before = as_bytes(ended(STUDY, 20)), 0
    for _ in search.steps():
        done, tally = search.progress().done, search.outcome().tally
        assert before < done == tally.evaluated
        judged = STUDY.evaluate(STUDY.space.from_index(np.arange(done)))
        assert tally.feasible == judged.feasible.sum()
        assert as_bytes(ended(STUDY, 33, Workers(2), state=search.state())) == whole
        before = done


@pytest.mark.parametrize(
    ("workers", "chunk", "bad"),
    [
        (ALONE, 10_000, (1, 0, 0.5)),
        (LOKY, 10_000, (13, 20, 1.0)),
    ],
)
def test_a_model_that_raises_is_traced_to_its_first_design(
    workers: Workers, chunk: int, bad: tuple[float, ...]
) -> None:
    def fragile(lanes: Any, depth: Any, clock: Any) -> tuple[Any, ...]:
        same = (np.asarray(lanes) == bad[0]) & (depth == bad[1]) & (clock == bad[2])
        if np.any(same):
            raise ArithmeticError("does not fit")
        return _engine(lanes, depth, clock)

    lanes, depth, clock = (int(bad[0]) - 1, int(bad[1]) // 4, CLOCK.index(bad[2]))
    number = ((lanes * 2 + 0) * 6 + depth) * 3 + clock
    with pytest.raises(DesignError) as caught:
        ended(make(fragile), chunk, workers)
    message = str(caught.value)
    assert message.startswith(f"design {number:,} (lanes = {bad[0]:g}, interface = card, ")
    assert message.endswith("engine raised ArithmeticError: does not fit")


def test_an_error_of_many_designs_together_blames_none_of_them() -> None:
    def crowded(lanes: Any, depth: Any, clock: Any) -> tuple[Any, ...]:
        if np.size(lanes) > 2:
            raise MemoryError("too many")
        return _engine(lanes, depth, clock)

    with pytest.raises(DesignError, match=r"designs 4 to 7 together: .*too many"):
        ended(make(crowded), 100)
    outcome = ended(make(crowded), 2).outcome()
    assert outcome.numbers[outcome.on_front].tolist() == by_hand()[0]


@given(st.integers(0, 10**9), st.integers(1, 10**7), st.integers(1, 10**5))
def test_chunks_leave_no_design_out_and_follow_the_work(first: int, count: int, most: int) -> None:
    total = first + count
    cuts = list(itertools.islice(cut_chunks(first, total, most), 2_000))
    assert [low for low, _ in cuts] == [first, *(high for _, high in cuts[:-1])]
    assert cuts[-1][1] == total or len(cuts) == 2_000
    for low, high in cuts:
        growing = max(1, min(low - first, 64), (low - first) // 4)
        assert 1 <= high - low <= min(most, growing, max(1, total // 8))


def test_an_objective_over_scenarios_alone_is_the_same_for_all_designs() -> None:
    """It depends on no variable, so its table has one entry for each scenario."""
    load = [{"load": 1.0}, {"load": 3.0}]
    judge = evaluator(
        {"x": Integer(1, 9)},
        [
            model("m", lambda x: -x, ["x"], ["y"]),
            model("n", lambda load: 2 * load, ["load"], ["z"]),
        ],
        [objective("y"), objective("z", scenarios=load, reduction="mean")],
    )
    outcome = ended(judge, 4).outcome()
    assert outcome.evaluated.objectives[outcome.on_front].tolist() == [[-9.0, 4.0]]


def test_the_outcome_keeps_the_front_and_an_even_sample_without_further_calls() -> None:
    calls: list[int] = []

    def counted(x: Any, y: Any) -> tuple[Any, Any]:
        calls.append(np.size(x))
        return x - y, y + 0.01 * (x - 150) ** 2

    def plane(side: int) -> Evaluator:
        space = {"x": Integer(0, side - 1), "y": Integer(0, side - 1)}
        costs = model("m", counted, ["x", "y"], ["a", "b"])
        limit = [constraint("a", 20.0)] if side < 100 else []
        return evaluator(space, [costs], [objective("a"), objective("b")], limit)

    small = ended(plane(40), 1_000)
    before = sum(calls)
    outcome = small.outcome()
    assert sum(calls) == before
    assert outcome.numbers.tolist() == list(range(1_600))  # a small space is kept whole
    again = plane(40).evaluate(outcome.points)
    assert np.array_equal(outcome.evaluated.objectives, again.objectives)
    assert np.array_equal(outcome.evaluated.constrained, again.constrained)
    assert np.array_equal(outcome.evaluated.feasible, again.feasible)
    outcome = ended(plane(300), 30_000).outcome()
    assert 2_000 <= len(outcome.numbers) < 3_000
    assert outcome.tally.evaluated == 90_000
    assert np.diff(outcome.numbers).max() <= 46  # even: one in 45


def test_an_enumeration_that_is_left_early_ends_without_a_word() -> None:
    search = begun(STUDY, 5, LOKY)
    steps = search.steps()
    done = []
    for _ in range(4):
        next(steps)
        done.append(search.progress().done)
    assert done == [1, 2, 4, 6]
    steps.close()  # type: ignore[attr-defined]


COUNT = 3 * EARLY


def large(cut: float, ran: list[int], raises: float = math.inf) -> Evaluator:
    """Return a study beyond the `EARLY` designs: cost may be at most `cut`, and gain is dear."""

    def gain(x: Any) -> Any:
        x = np.atleast_1d(x)
        ran.append(x.size)
        if (x > raises).any():
            raise ValueError("is not defined there")
        return np.where(x % 7 == 3, np.nan, 1e6 - np.abs(x - COUNT / 2))

    return evaluator(
        {"x": Integer(0, COUNT - 1)},
        [
            model("cost", lambda x: x + 1.0, ["x"], ["cost"]),
            model("gain", gain, ["x"], ["gain"]),
        ],
        [objective("gain", "maximize")],
        [constraint("cost", cut), constraint("x", 10.0, upper=False)],
    )


def test_objectives_are_computed_of_designs_that_no_constraint_excludes() -> None:
    ran: list[int] = []
    search = ended(large(2.5 * EARLY, ran), 5_000)
    assert sum(ran) == pytest.approx(2.5 * EARLY, rel=0.01)  # the early ones, and those that may be
    judge = large(2.5 * EARLY, ran)
    every = judge.evaluate({"x": np.arange(COUNT, dtype=np.float64)})
    whole = Tally.of(np.arange(COUNT), every, judge.constraints, judge.domains)
    outcome = search.outcome()
    assert outcome.tally.feasible == every.feasible.sum()
    assert outcome.tally.violated.tolist() == [COUNT - 2.5 * EARLY, 10]
    assert outcome.tally.alone.tolist() == [COUNT - 2.5 * EARLY, 10]
    assert outcome.tally.odd.tolist() == whole.odd.tolist()
    best = every.objectives[every.feasible].max()
    assert np.array_equal(outcome.evaluated.objectives[outcome.on_front], [[best]])


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_model_may_raise_for_designs_whose_objectives_are_not_computed(on_error: Any) -> None:
    cut = 2.2 * EARLY
    quiet, loud = (replace(large(cut, [], n), on_error=on_error) for n in (math.inf, cut))
    searches = [ended(judge, 7_001) for judge in (quiet, loud)]
    assert as_bytes(searches[0]) == as_bytes(searches[1])
    one, other = (search.outcome() for search in searches)
    assert other.tally.raised == 0
    some = other.evaluated.feasible
    assert np.array_equal(one.evaluated.objectives[some], other.evaluated.objectives[some])
    assert np.array_equal(one.evaluated.constrained, other.evaluated.constrained)
    assert not np.isnan(one.evaluated.objectives[-1, 0])
    assert np.isnan(other.evaluated.objectives[-1, 0])


def test_if_nothing_is_feasible_all_objectives_say_what_to_loosen() -> None:
    none = large(-1.0, [])
    whole = Tally.of(np.arange(COUNT), none.evaluate({"x": np.arange(COUNT)}), none.constraints)
    assert whole.admitted.tolist() == [11, -1]  # not 10, which has no gain
    tally = ended(none, 3_000).outcome().tally
    for name in ("feasible", "undefined", "nearest", "distance"):
        assert getattr(tally, name) == getattr(whole, name)
    for name in ("least", "admitted", "missed", "violated", "alone"):
        assert getattr(tally, name).tolist() == getattr(whole, name).tolist()


def test_a_model_that_raises_in_the_second_pass_leaves_what_is_known() -> None:
    none = large(-1.0, [], raises=2.5 * EARLY)
    tally = ended(none, 500).outcome().tally
    assert (tally.evaluated, tally.feasible) == (COUNT, 0)
    assert tally.violated.tolist() == [COUNT, 10]
    assert tally.admitted.tolist() == [11, -1]  # not 10, which has no gain


class Costs(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost")]
    loss: Annotated[Array, Quantity("1", "loss")]


_Size = Annotated[Floats, Quantity("1", "a size", low=0)]


def opposed(size: _Size, width: _Size) -> Costs:
    value = np.asarray(size) * 1_024 + np.asarray(width)
    return Costs(value, -value)


def test_a_search_whose_front_does_not_fit_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.run.LARGEST_FRONT", 20_000)
    study = dse.from_mapping(
        {
            "study": {"name": "opposed", "models": ["opposed"]},
            "space": {n: {"integer": [0, 1_023]} for n in ("size", "width")},
            "objective": [{"minimize": "cost"}, {"minimize": "loss"}],
            "search": {"method": "exhaustive"},
        },
        models={"opposed": opposed},
    )
    with pytest.raises(dse.StoppedError, match="the front has more than 20,000 designs"):
        study.run()
