"""Exhaustive search: the whole front, to the last bit, however the work is cut."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Choice, Integer, Real, Values
from dse.search import exhaustive
from dse.search.base import Plan, Start
from dse.search.exhaustive import EARLY, State, cut_chunks, enumerate_designs, outcome_of
from dse.search.tally import Tally
from dse.search.workers import Workers
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


def final(judge: Evaluator, chunk: int, workers: Workers, start: State | None = None) -> State:
    return list(enumerate_designs(judge, chunk, workers, start))[-1]


def parts(state: State) -> list[bytes]:
    tally = state.tally
    arrays: list[NDArray[Any]] = [
        state.archive.index,
        state.archive.points,
        tally.violated,
        tally.least,
        tally.admitted,
        np.array([state.done, tally.evaluated, tally.feasible, tally.undefined]),
    ]
    return [a.tobytes() for a in arrays]


def test_the_front_is_what_a_loop_in_plain_python_finds() -> None:
    state = final(STUDY, 100, Workers(1))
    front, points = by_hand()
    assert state.done == state.tally.evaluated == 13 * 2 * 6 * 3
    assert state.archive.index.tolist() == front
    assert state.archive.points == pytest.approx(np.array(points), rel=1e-14)
    assert 10 < len(front) < 400
    assert np.isinf(state.archive.points).any()  # 'never' stands on the front for its other merits


@pytest.mark.parametrize("chunk", [1, 7, 1_000, 10**6])
@pytest.mark.parametrize(
    "workers", [Workers(1), Workers(2), Workers(2, "loky"), Workers(1, "loky")]
)
def test_the_same_bytes_however_the_work_is_cut(chunk: int, workers: Workers) -> None:
    assert parts(final(STUDY, chunk, workers)) == parts(final(STUDY, 64, Workers(1)))


def test_a_resumed_enumeration_ends_as_an_uninterrupted_one() -> None:
    states = list(enumerate_designs(STUDY, 20, Workers(1)))
    assert states[-1].done == 468
    assert [s.done for s in states] == sorted({s.done for s in states})
    for state in states:
        for chunk in (1_000, 33):
            rest = list(enumerate_designs(STUDY, chunk, Workers(2), state))
            assert parts(rest[-1] if rest else state) == parts(states[-1])


def test_states_say_what_was_done_up_to_them() -> None:
    for state in enumerate_designs(STUDY, 50, Workers(1)):
        judged = STUDY.evaluate(STUDY.space.from_index(np.arange(state.done)))
        assert state.tally.evaluated == state.done
        assert state.tally.feasible == judged.feasible.sum()


@pytest.mark.parametrize("workers", [Workers(1), Workers(2), Workers(2, "loky")])
@pytest.mark.parametrize("chunk", [1, 50, 10_000])
@pytest.mark.parametrize("bad", [(1, 0, 0.5), (7, 8, 1.0), (13, 20, 1.0)])
def test_a_model_that_raises_is_traced_to_its_first_design(
    bad: tuple[float, ...], chunk: int, workers: Workers
) -> None:
    def fragile(lanes: Any, depth: Any, clock: Any) -> tuple[Any, ...]:
        same = (np.asarray(lanes) == bad[0]) & (depth == bad[1]) & (clock == bad[2])
        if np.any(same):
            raise ArithmeticError("does not fit")
        return _engine(lanes, depth, clock)

    lanes, depth, clock = (int(bad[0]) - 1, int(bad[1]) // 4, CLOCK.index(bad[2]))
    number = ((lanes * 2 + 0) * 6 + depth) * 3 + clock
    with pytest.raises(DesignError) as caught:
        final(make(fragile), chunk, workers)
    told = str(caught.value)
    assert told.startswith(f"design {number:,} (lanes = {bad[0]:g}, interface = card, ")
    assert told.endswith("engine raised ArithmeticError: does not fit")


def test_an_error_of_many_designs_together_blames_none_of_them() -> None:
    def crowded(lanes: Any, depth: Any, clock: Any) -> tuple[Any, ...]:
        if np.size(lanes) > 2:
            raise MemoryError("too many")
        return _engine(lanes, depth, clock)

    with pytest.raises(DesignError, match=r"designs 4 to 7 together: .*too many"):
        final(make(crowded), 100, Workers(1))
    assert final(make(crowded), 2, Workers(1)).archive.index.tolist() == by_hand()[0]


@given(st.integers(0, 10**9), st.integers(1, 10**7), st.integers(1, 10**5))
def test_chunks_leave_no_design_out_and_follow_the_work(first: int, count: int, most: int) -> None:
    total = first + count
    cuts = list(itertools.islice(cut_chunks(first, total, most), 2_000))
    assert [low for low, _ in cuts] == [first, *(high for _, high in cuts[:-1])]
    assert cuts[-1][1] == total or len(cuts) == 2_000
    for low, high in cuts:
        assert 1 <= high - low <= min(most, max(1, min(low - first, 64), (low - first) // 8))


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
    *_, last = enumerate_designs(judge, 4, Workers(1))
    assert last.archive.points.tolist() == [[-9.0, 4.0]]


def test_a_continuum_cannot_be_enumerated() -> None:
    judge = evaluator({"x": Real(0, 1)}, [model("m", lambda x: x, ["x"], ["y"])], [objective("y")])
    with pytest.raises(ValueError, match="cannot be enumerated"):
        final(judge, 10, Workers(1))


def test_the_outcome_keeps_the_front_and_an_even_sample() -> None:
    outcome = outcome_of(STUDY, final(STUDY, 100, Workers(1)))
    assert outcome.numbers.tolist() == list(range(468))  # a small space is kept whole
    assert outcome.numbers[outcome.on_front].tolist() == by_hand()[0]
    large = evaluator(
        {"x": Integer(0, 299), "y": Integer(0, 299)},
        [model("m", lambda x, y: (x - y, y + 0.01 * (x - 150) ** 2), ["x", "y"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
    outcome = outcome_of(large, final(large, 30_000, Workers(1)))
    assert 2_000 <= len(outcome.numbers) < 3_000
    assert outcome.tally.evaluated == 90_000
    assert np.diff(outcome.numbers).max() <= 46  # even: one in 45


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_an_enumeration_that_is_left_early_ends_without_a_word(backend: str) -> None:
    steps = enumerate_designs(STUDY, 5, Workers(2, backend))
    assert [next(steps).done for _ in range(4)] == [1, 2, 4, 6]
    steps.close()  # type: ignore[attr-defined]


COUNT = 3 * EARLY
PLAN = Plan("exhaustive", COUNT, 1, 0, None, {})


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


def test_objectives_are_asked_of_designs_that_no_constraint_excludes() -> None:
    ran: list[int] = []
    state = final(large(2.5 * EARLY, ran), 5_000, Workers(1))
    assert sum(ran) == pytest.approx(2.5 * EARLY, rel=0.01)  # the early ones, and those that may be
    judge = large(2.5 * EARLY, ran)
    every = judge.evaluate({"x": np.arange(COUNT, dtype=np.float64)})
    whole = Tally.of(np.arange(COUNT), every, judge.constraints, judge.domains)
    assert state.tally.feasible == every.feasible.sum()
    assert state.tally.violated.tolist() == [COUNT - 2.5 * EARLY, 10]
    assert state.tally.alone.tolist() == [COUNT - 2.5 * EARLY, 10]
    assert state.tally.odd.tolist() == whole.odd.tolist()
    best = every.objectives[every.feasible].max()
    assert np.array_equal(state.archive.points, [[-best]])
    assert np.array_equal(state.early.objectives, every.objectives[:EARLY], equal_nan=True)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_model_may_raise_for_designs_of_which_it_is_not_asked(on_error: Any) -> None:
    cut = 2.2 * EARLY
    quiet, loud = (replace(large(cut, [], n), on_error=on_error) for n in (math.inf, cut))
    for chunk in (EARLY, 7_001):
        states = [final(each, chunk, Workers(1)) for each in (quiet, loud)]
        assert parts(states[0]) == parts(states[1])
        assert states[1].tally.raised == 0
        found = [outcome_of(*each) for each in zip((quiet, loud), states, strict=True)]
        some = found[1].judged.feasible
        assert np.array_equal(found[0].judged.objectives[some], found[1].judged.objectives[some])
        assert np.array_equal(found[0].judged.constrained, found[1].judged.constrained)
        assert not np.isnan(found[0].judged.objectives[-1, 0])
        assert np.isnan(found[1].judged.objectives[-1, 0])


@pytest.mark.parametrize("chunk", [3_000, 10**6])
def test_if_nothing_is_feasible_all_is_asked_to_say_what_to_loosen(chunk: int) -> None:
    none = large(-1.0, [])
    whole = Tally.of(np.arange(COUNT), none.evaluate({"x": np.arange(COUNT)}), none.constraints)
    assert whole.admitted.tolist() == [11, -1]  # not 10, which has no gain
    under_way = exhaustive.start(Start(none, PLAN, chunk, Workers(1)))
    for _ in under_way.steps():
        pass
    tally = under_way.outcome().tally
    for name in ("feasible", "undefined", "nearest", "distance"):
        assert getattr(tally, name) == getattr(whole, name)
    for name in ("least", "admitted", "missed", "violated", "alone"):
        assert getattr(tally, name).tolist() == getattr(whole, name).tolist()


def test_a_model_that_raises_in_the_second_pass_leaves_what_is_known() -> None:
    none = exhaustive.start(Start(large(-1.0, [], raises=2.5 * EARLY), PLAN, 500, Workers(1)))
    for _ in none.steps():
        pass
    tally = none.outcome().tally
    assert (tally.evaluated, tally.feasible) == (COUNT, 0)
    assert tally.violated.tolist() == [COUNT, 10]
    assert tally.admitted.tolist() == [11, -1]
