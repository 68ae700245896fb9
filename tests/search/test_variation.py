"""Children are spread as the papers say, repeats become other children, parents grow in number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from dse.evaluate.space import Choice, Integer, Real, Space
from dse.search.drawing import Drawing
from dse.search.evolution import evolve
from dse.search.stall import Stall
from dse.search.variation import children
from tests.core_examples import MIXED, SPEED, evaluator, objective
from tests.search.test_evolution import plan
from tests.search.test_evolution_ends import PLANE

Floats = NDArray[np.float64]

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices


def _sbx(spread: Any) -> Floats:
    """Return how probable it is that a spread is less: Deb and Agrawal's density, integrated."""
    power = _CROSSOVER + 1.0
    near = 0.5 * np.minimum(spread, 1.0) ** power
    return np.asarray(np.where(spread <= 1.0, near, 1.0 - 0.5 * np.maximum(spread, 1.0) ** -power))


def _polynomial(step: Any) -> Floats:
    power = _MUTATION + 1.0
    less, more = 1.0 + np.minimum(step, 0.0), 1.0 - np.maximum(step, 0.0)
    return np.asarray(np.where(step < 0.0, 0.5 * less**power, 1.0 - 0.5 * more**power))


def _family(width: int, count: int) -> tuple[Floats, Floats]:
    """Return children and the two values that each coordinate of a parent has."""
    space = Space({f"x{i}": Real(0, 1) for i in range(width)})
    parents = np.repeat([[0.4], [0.6]], width, axis=1)
    return children(space, parents, count, np.random.default_rng(3)), parents[:, 0]


def test_what_is_crossed_is_spread_as_by_simulated_binary_crossover() -> None:
    unit, (low, high) = _family(50, 4_000)
    spread = np.abs(unit - 0.5) / (0.5 * (high - low))
    crossed = spread[(np.abs(spread - 1.0) > 1e-12) & (spread < 1.7)]
    # the better parent wins three of four tournaments, so that mother and father differ in 6 of 16
    # families; half of their coordinates are crossed, and a mutation moves one in fifty
    assert len(crossed) / spread.size == pytest.approx(0.5 * 6 / 16 + 0.02, abs=0.01)
    inside = crossed[(crossed > 0.8) & (crossed < 1.2)]  # where mutations are few
    ends = _sbx(np.array([0.8, 1.2]))
    found = kstest(inside, lambda s: (_sbx(s) - ends[0]) / (ends[1] - ends[0]))
    assert found.statistic < 0.02


def test_a_mutation_is_polynomial_or_a_fresh_draw() -> None:
    width = 40
    space = Space({f"x{i}": Real(0, 1) for i in range(width)})
    unit = children(space, np.full((5, width), 0.5), 10_000, np.random.default_rng(0))
    moved = unit[unit != 0.5] - 0.5
    assert len(moved) / unit.size == pytest.approx(1 / width, rel=0.03)  # one of a child
    mixed = kstest(moved, lambda s: 0.9 * _polynomial(s) + 0.1 * np.clip(s + 0.5, 0.0, 1.0))
    assert mixed.statistic < 0.02


def test_choices_are_a_parents_or_drawn_afresh() -> None:
    row = Choice({name: {"base": float(i)} for i, name in enumerate("abcdefgh")})
    space = Space({"row": row, "lanes": Integer(1, 64)})
    parents = np.array([[1 / 16, 0.5], [3 / 16, 0.5]])
    unit = children(space, parents, 20_000, np.random.default_rng(1))
    kept = np.isin(unit[:, 0], parents[:, 0])
    assert kept.mean() == pytest.approx(0.5, abs=0.02)  # one of two coordinates is mutated
    assert kstest(unit[~kept, 0], "uniform").statistic < 0.02


def test_better_parents_have_more_children() -> None:
    width = 10
    space = Space({f"x{i}": Real(0, 1) for i in range(width)})
    parents = np.repeat(np.linspace(0.0, 1.0, 1_000)[:, None], width, axis=1)
    unit = children(space, parents, 20_000, np.random.default_rng(2))
    kept = unit[np.isin(unit, parents)]  # neither crossed nor mutated
    assert len(kept) / unit.size == pytest.approx(0.5 * 0.9, abs=0.02)
    # of two at random the better one is in the better half three times of four
    assert (kept < 0.5).mean() == pytest.approx(0.75, abs=0.01)


SMALL = evaluator(MIXED, [SPEED], [objective("speed", "maximize"), objective("cost")])


def test_what_was_drawn_before_is_replaced_by_more_of_what_is_wanted() -> None:
    asked: list[int] = []
    wanted = SMALL.space.to_unit(SMALL.space.from_index(np.arange(100)))
    more = SMALL.space.to_unit(SMALL.space.from_index(np.arange(90, 300)))

    def again(count: int) -> Floats:
        asked.append(count)
        return more[:count]

    drawing, rng = Drawing(SMALL, wanted[:80]), np.random.default_rng(0)
    found = drawing.fresh(wanted, 100, rng, wanted[:80], again)
    numbers = SMALL.space.to_index(SMALL.space.from_unit(found))
    assert len(set(numbers.tolist())) == 100
    assert numbers[:100].tolist() == list(range(80, 180))  # 20 new ones, then those that are more
    assert asked == [160]
    rest = drawing.fresh(wanted, 10, rng, wanted[:80], lambda count: wanted[:count])
    assert len(rest) == 10  # if there is nothing more, by designs drawn at random
    assert not set(SMALL.space.to_index(SMALL.space.from_unit(rest)).tolist()) & set(range(180))


def test_there_are_few_parents_at_first_and_a_generation_of_them_later() -> None:
    states = list(evolve(PLANE, plan(16_000, 800)))
    assert [len(s.parents) for s in states[:5]] == [200, 200, 200, 200, 250]
    assert len(states[-1].parents) == 800
    assert max(len(s.parents) for s in states) == 800


def test_designs_that_another_dominates_do_not_matter_for_a_stall() -> None:
    states = list(evolve(PLANE, plan(3_000, 60)))
    judged = states[-1].judged
    leading = np.zeros(len(judged), dtype=bool)
    best = np.full(len(judged), True)
    for row in range(len(judged)):  # what an earlier design dominates
        earlier = judged.objectives[:row]
        best[row] = not (earlier <= judged.objectives[row]).all(axis=1).any()
    leading[best] = True
    assert 0.02 < leading.mean() < 0.9
    one, other = Stall(np.ones(2), 60), Stall(np.ones(2), 60)
    for state in states:
        one.grown(state.judged)
        other.grown(state.judged, leading[: len(state.judged)])
    assert one._volumes == other._volumes
    assert one.has_stalled == other.has_stalled
