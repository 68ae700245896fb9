"""Evolution: where it begins, what relations forbid, and why it ends."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import dse
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import hypervolume, is_nondominated
from dse.evaluate.space import Integer, Real, Space
from dse.model import Quantity
from dse.search.base import Plan, Search, Start
from dse.search.evolution import evolve, start
from dse.search.stall import Stall
from dse.search.variation import first
from dse.search.workers import Workers
from tests.core_examples import MIXED, SPEED, constraint, evaluator, model, objective, relation
from tests.search.test_evolution import equal, last, plan

Floats = NDArray[np.float64]


def _begun(judge: Evaluator, chosen: Plan, workers: int = 1, chunk: int = 65_536) -> Search:
    return start(Start(judge, chosen, chunk=chunk, workers=Workers(workers)))


def test_the_first_generation_is_a_net() -> None:
    # each of 16 x 16 cells of the first two variables has exactly one of 256 Sobol points
    space = Space({name: Real(0, 1) for name in "abcde"})
    unit = first(space, 256, np.random.default_rng(7))
    cells = (unit[:, :2] * 16).astype(int)
    assert len(np.unique(cells, axis=0)) == 256
    assert first(space, 100, np.random.default_rng(7)).shape == (100, 5)


@pytest.mark.parametrize("most", [4096.0, 400.0, 70.0])
def test_what_a_relation_between_variables_forbids_reaches_no_model(most: float) -> None:
    seen: list[Floats] = []

    def spy(lanes: Floats, streams: Floats, size: Floats) -> tuple[Any, ...]:
        seen.append(np.column_stack(np.broadcast_arrays(lanes, streams, size)))
        return lanes * streams + 1 / size, size

    judge = evaluator(
        {"lanes": Integer(1, 512), "streams": Integer(8, 512), "size": Real(1, 10)},
        [model("spy", spy, ["lanes", "streams", "size"], ["a", "b"])],
        [objective("a", "maximize"), objective("b")],
        [relation(f"lanes * streams <= {most}")],
    )
    state = last(judge, plan(2_000, 100))
    designs = np.concatenate(seen)
    assert len(designs) == len(state.unit) == 2_000
    assert (designs[:, 0] * designs[:, 1] <= most).all()
    assert len(np.unique(designs, axis=0)) == 2_000
    assert state.judged.objectives[:, 0].max() > 0.98 * most  # the edge is reached
    assert equal(state, last(judge, plan(2_000, 100)))


def test_if_no_design_is_known_that_a_relation_allows_the_search_finds_its_way() -> None:
    judge = evaluator(
        {f"x{i}": Real(0, 1) for i in range(6)},
        [model("m", lambda x0, x1: x0 + x1, ["x0", "x1"], ["y"])],
        [objective("y")],
        [relation(" + ".join(f"x{i}" for i in range(6)) + " <= 0.02")],  # one in 10^13
    )
    state = last(judge, plan(20_000, 200))
    assert not state.judged.feasible[:1_000].any()
    assert state.judged.feasible[-1_000:].all()


def test_all_that_a_relation_allows_is_the_whole_front() -> None:
    judge = evaluator(
        {"lanes": Integer(1, 100), "streams": Integer(1, 100)},
        [model("m", lambda lanes, streams: (lanes, streams), ["lanes", "streams"], ["a", "b"])],
        [objective("a", "maximize"), objective("b", "maximize")],
        [relation("lanes * streams <= 30")],
    )
    search = _begun(judge, plan(5_000, 50))
    for _ in search.steps():
        pass
    allowed = sum(30 // lanes for lanes in range(1, 31))
    outcome = search.outcome()
    assert outcome.complete
    assert len(outcome.numbers) == allowed
    assert f"all {allowed} designs of the space that 'lanes * streams <= 30' allow" in (
        outcome.statement
    )
    every = judge.evaluate(judge.space.from_index(np.arange(10_000)))
    truth = every.objectives[every.feasible] * judge.signs
    truth = truth[is_nondominated(truth)]
    found = outcome.judged.objectives[outcome.on_front] * judge.signs
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, truth.tolist()))


def test_a_constraint_is_known_beforehand_if_no_model_feeds_it() -> None:
    constraints = [constraint("cost", 60.0), constraint("lanes", 32.0), relation("lanes <= cost")]
    judge = evaluator(MIXED, [SPEED], [objective("speed"), objective("cost")], constraints)
    rules = judge.prefilter()
    assert [c.name for c in rules.constraints] == ["lanes <= 32"]
    points = judge.space.from_index(np.arange(0, judge.space.size or 0, 997))
    assert np.array_equal(rules.evaluate(points).feasible, points["lanes"] <= 32)


PLANE = evaluator(
    {"x": Real(0, 1), "y": Real(0, 1), "z": Real(0, 1)},
    [
        model(
            "plane",
            lambda x, y, z: (x + (z - 0.5) ** 2, 1 - np.sqrt(x) + (y - 0.25) ** 2),
            ["x", "y", "z"],
            ["a", "b"],
        )
    ],
    [objective("a"), objective("b")],
)


def test_a_stalled_front_ends_the_search_and_the_certificate_says_so() -> None:
    long = plan(400_000, 500)
    search = _begun(PLANE, long)
    for _ in search.steps():
        pass
    outcome = search.outcome()
    assert len(outcome.numbers) < 100_000
    assert "the front has stalled" in outcome.ended
    # what it had found by then is within 0.1 % of the true front's hypervolume: a = x, b = 1 - √x
    found = outcome.judged.objectives[outcome.on_front]
    assert hypervolume(found, np.ones(2)) > (2 / 3) * 0.999
    # neither workers nor chunks nor a resumption matter
    other = _begun(PLANE, long, workers=2, chunk=77)
    for _ in other.steps():
        pass
    assert other.outcome().statement == outcome.statement
    assert other.outcome().ended == outcome.ended
    resumed = list(evolve(PLANE, long, list(evolve(PLANE, plan(6_000, 500)))[-1]))[-1]
    assert len(resumed.unit) == len(outcome.numbers)
    assert resumed.ended == outcome.ended
    assert list(evolve(PLANE, long, resumed)) == [resumed]  # as stalled as before


def test_a_search_whose_front_grows_goes_on() -> None:
    feasible = np.ones(50_000, dtype=bool)
    x = np.tile(np.random.default_rng(0).random(500), 100)  # the same designs in each generation
    front = np.column_stack([x, 1 - x])
    grows = np.linspace(1, 0.5, 50_000)[:, None]
    for points, stalls in ((front, True), (front * grows, False)):
        stall = Stall(np.ones(2), 500)
        stall.grown(Evaluated(points, np.empty((50_000, 0)), feasible))
        assert stall.has_stalled == stalls
    nothing = Stall(np.ones(2), 500)  # without a feasible design there is nothing to stall
    nothing.grown(Evaluated(front, np.empty((50_000, 0)), ~feasible))
    assert not nothing.has_stalled


def test_a_stalled_run_says_why_and_is_finished() -> None:
    study = dse.from_mapping(
        {
            "study": {"name": "stalled", "models": ["flat"]},
            "space": {"knob": {"real": [0.5, 2.0]}},
            "objective": [{"minimize": "same"}],
            "search": {"method": "evolution", "evaluations": 100_000, "generation": 500},
        },
        {"flat": _flat},
    )
    certificate = study.run().certificate
    assert certificate.stopped == "stalled"
    assert certificate.evaluated < 30_000
    assert "The search ended because the front has stalled" in certificate.statement


class Same(NamedTuple):
    same: Annotated[Floats, Quantity("1", "what does not change")]


def _flat(knob: Annotated[Floats, Quantity("1", "a knob")]) -> Same:
    return Same(0.0 * knob + 1.0)
