"""Bounding against enumeration: the same fronts, covered within the tolerance, and what is said."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from benchmarks.bound_model_graphs import wired
from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Integer, Space, Values
from dse.explain.certification import refute
from dse.model import monotonic
from dse.search.base import SearchSettings, Start, find_method
from dse.search.bound.boxes import measure_variables
from dse.search.bound.cover import DOUBLINGS, Cover, count_doublings, relax_points
from dse.search.bound.ranges import Ranges
from dse.search.outcome import Outcome
from dse.search.workers import Workers
from tests.core_examples import evaluator, model, objective

STUDIES = Path(__file__).parents[3] / "studies"
SHIPPED = ("crypto", "gpu_memory", "jpeg", "shared_pipeline", "sparc_evolution", "rotate")


def searched(
    evaluator: Evaluator, method: str, tolerance: float = 0.0, workers: int = 1
) -> Outcome:
    size = evaluator.space.size
    plan = SearchSettings(method, size or 2**62, 1, 0, None, {}, tolerance)
    search = find_method(method).start(Start(evaluator, plan, 32_768, Workers(workers)))
    for _ in search.steps():
        pass
    return search.outcome()


def front(outcome: Outcome) -> tuple[Any, Any]:
    return outcome.numbers[outcome.on_front], outcome.evaluated.objectives[outcome.on_front]


def assert_equal(found: Outcome, whole: Outcome) -> None:
    for mine, true in zip(front(found), front(whole), strict=True):
        np.testing.assert_array_equal(mine, true)


def covers(found: Outcome, whole: Outcome, signs: Array, tolerance: float) -> bool:
    cover = Cover.empty(len(signs))
    cover = cover.added(front(found)[1] * signs)
    wanted = relax_points(front(whole)[1] * signs, np.full(len(signs), tolerance))
    return bool(cover.weakly(wanted).all())


def narrowed(evaluator: Evaluator, rng: np.random.Generator) -> Evaluator:
    """Return the evaluator over a random part of its space, of 1,000 designs at most."""
    variables: dict[str, Any] = {}
    left = 1_000
    for name in rng.permutation(list(evaluator.space.variables)):
        variable = evaluator.space.variables[name]
        most = max(1, min(variable.count or 12, left, int(rng.integers(1, 13))))
        chosen = np.sort(rng.choice(variable.count or 12, most, replace=False))
        left //= most
        if isinstance(variable, Choice):
            names = variable.names
            variables[name] = Choice({names[i]: variable.rows[names[i]] for i in chosen})
        else:
            variables[name] = Values(tuple(float(variable.levels()[i]) for i in chosen))
    ordered = {name: variables[name] for name in evaluator.space.variables}
    return replace(evaluator, space=Space(ordered))


def redirected(evaluator: Evaluator, rng: np.random.Generator) -> Evaluator:
    """Return the evaluator with random outputs of its models as objectives, either way.

    With its own, if each output takes what only its objectives say.
    """
    model_graph = evaluator.model_graph
    names = [n for n in model_graph.producers if not model_graph.needs([n]).missing]
    if not names:
        return evaluator
    chosen = rng.choice(names, min(len(names), int(rng.integers(1, 5))), replace=False).tolist()
    directions = rng.choice(["maximize", "minimize"], len(chosen)).tolist()
    objectives = tuple(
        objective(name, direction) for name, direction in zip(chosen, directions, strict=True)
    )
    return replace(evaluator, objectives=objectives)


@pytest.mark.parametrize("name", SHIPPED)
def test_random_parts_of_shipped_studies_have_the_fronts_of_enumeration(name: str) -> None:
    evaluator = dse.load(STUDIES / f"{name}.toml").evaluator
    rng = np.random.default_rng(SHIPPED.index(name))
    for turn in range(4):
        part = narrowed(evaluator, rng)
        part = redirected(part, rng) if turn > 1 else part
        whole = searched(part, "exhaustive")
        assert_equal(searched(part, "bound"), whole)
        if turn < 2:
            found = searched(part, "bound", 0.1 if turn else 0.01)
            assert found.complete
            assert covers(found, whole, part.signs, 0.1 if turn else 0.01)


def test_random_model_graphs_of_shipped_models_have_the_fronts_of_enumeration() -> None:
    for seed in range(12):
        judge = wired(np.random.default_rng((7, 8, seed)))
        whole = searched(judge, "exhaustive")
        assert_equal(searched(judge, "bound"), whole)
        assert covers(searched(judge, "bound", 0.01), whole, judge.signs, 0.01)


class Made(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost", low=0)]
    gain: Annotated[Array, Quantity("1", "gain")]


_Size = Annotated[Floats, Quantity("1", "size", low=0)]
_Speed = Annotated[Floats, Quantity("1", "speed", low=0)]


DECLARED = {"cost": "+size +speed", "gain": "+speed -size"}


@monotonic(**DECLARED)
def made(size: _Size, speed: _Speed) -> Made:
    size, speed = np.asarray(size), np.asarray(speed)
    return Made(1.0 + size * size + np.ceil(speed), 3.0 + np.sqrt(speed) - np.log1p(size))


def bare(size: _Size, speed: _Speed) -> Made:
    return made(size, speed)


def study(function: Any, steps: int | None, **search: Any) -> dse.Study:
    grid = {} if steps is None else {"steps": steps}
    return dse.from_mapping(
        {
            "study": {"name": "made", "models": ["made"]},
            "space": {"size": {"real": [0.0, 4.0], **grid}, "speed": {"real": [0.0, 9.0], **grid}},
            "objective": [{"minimize": "cost"}, {"maximize": "gain"}],
            "constraint": [{"relation": "size * speed <= 20"}],
            "search": {"method": "bound", **search},
        },
        models={"made": function},
    )


def test_a_large_space_is_exact_without_evaluating_it() -> None:
    result = study(made, 3_000).run()
    certificate = result.certificate
    assert certificate.complete
    assert (certificate.tolerance, certificate.gap) == (0.0, 0.0)
    assert certificate.evaluated < 1_000_000
    assert certificate.designs == 9_000_000
    assert "proven to be infeasible or dominated" in certificate.statement
    # no size is best; of each cost the greatest speed, which is a whole number or the last below
    speeds = np.linspace(0.0, 9.0, 3_000)
    best = [speeds[np.ceil(speeds) == cost].max() for cost in range(10)]
    assert result.front.designs["size"].unique().tolist() == [0.0]
    np.testing.assert_array_equal(np.sort(result.front.designs["speed"]), best)


def test_a_model_without_declared_moves_is_branched_to_single_designs() -> None:
    whole = study(bare, 40, method="exhaustive").run()
    found = study(bare, 40).run()
    assert found.certificate.complete
    assert found.front.designs.equals(whole.front.designs)


def test_a_certificate_is_put_to_the_test(tmp_path: Path) -> None:
    result = study(made, 3_000).run()
    again = study(made, 3_000)
    assert refute(again, result, 50_000, 0).design is None
    # without one design of the front, its neighbours refute it
    designs = result.designs.copy()
    designs.loc[result.front.designs.index[len(result.front) // 2], "on_front"] = False
    found = refute(again, replace(result, designs=designs), 50_000, 0)
    assert found.design is not None
    assert found.values is not None


def test_a_deadline_in_the_middle_of_a_batch_loses_nothing() -> None:
    evaluator = study(made, 3_000).evaluator
    plan = SearchSettings("bound", 9_000_000, 1, 0, None, {}, 0.0)
    search = find_method("bound").start(Start(evaluator, plan, chunk=32_768))
    for _ in itertools.islice(search.steps(), 3):
        pass
    for _ in search.steps(until=time.time() - 1.0):
        pass
    for _ in search.steps():
        pass
    assert_equal(search.outcome(), searched(evaluator, "bound"))


def test_how_far_a_cover_misses_is_counted_in_doublings() -> None:
    rng = np.random.default_rng(0)
    cover, points = Cover.empty(2), rng.uniform(1, 2, (500, 2))
    designs = rng.uniform(2, 40, (3_000, 2))
    cover = cover.added(designs)
    tolerance = np.full(2, 0.01)
    found = count_doublings(cover, points, np.full(500, DOUBLINGS, dtype=np.int8), tolerance)
    needed = (designs[None] / points[:, None]).max(axis=2).min(axis=1) - 1.0
    doublings = np.clip(np.ceil(np.log2(needed / 0.01)), 1, DOUBLINGS)
    np.testing.assert_array_equal(found, doublings)
    again = count_doublings(cover, points, found, tolerance)
    np.testing.assert_array_equal(again, found)


def rarely(size: _Size, speed: _Speed) -> Made:
    """Return a cost that is "never" for most sizes, of all speeds."""
    found = made(size, speed)
    return Made(np.where(np.asarray(size) >= 1.0, np.inf, found.cost), found.gain)


def test_designs_that_never_pay_are_not_halved_for_ever() -> None:
    result = study(monotonic(**DECLARED)(rarely), None, tolerance="1 %").run()
    assert result.certificate.complete
    assert result.certificate.evaluated < 40_000


def test_a_choice_whose_middle_bounds_alone_is_halved_too() -> None:
    """The better of two engines for each objective is in every bound until they are apart."""
    part = dse.from_mapping(
        {
            "study": {"name": "made", "models": ["made"]},
            "space": {
                "engine": {"rows": {"a": {"size": 0.0}, "b": {"size": 4.0}}},
                "speed": {"real": [0.0, 9.0]},
            },
            "objective": [{"minimize": "cost"}, {"maximize": "gain"}],
            "search": {"method": "bound", "tolerance": "1 %"},
        },
        models={"made": made},
    ).evaluator
    found = Ranges(part)
    assert (measure_variables(found, found, found.whole()) > 0.01).all()


def test_the_last_open_box_of_a_huge_space_is_not_rounded_away() -> None:
    names = [f"x{i}" for i in range(17)]
    added = model("m", lambda **x: sum((i + 1) * v for i, v in enumerate(x.values())), names, ["y"])
    rising = replace(added, monotonic={"y": dict.fromkeys(names, 1)})
    given = evaluator({name: Integer(0, 15) for name in names}, [rising], [objective("y")])
    search = find_method("bound").start(Start(given, SearchSettings("bound", 2**62, 1)))
    best = np.inf
    for _ in search.steps():
        outcome = search.outcome()
        best = float(outcome.evaluated.objectives[outcome.on_front].min())
        assert best == 0 or not outcome.complete
    assert outcome.complete
