"""All searches alike: what counts as a design, who works, when they end, and what is certified."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import dse
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import DesignError, evaluate_designs
from dse.evaluate.space import Integer, Real, Variable
from dse.result.folder import load_result
from dse.result.record import EmptyFrontError
from dse.run import run
from dse.search.base import Plan, Progress, Search, Start, Trials, method_of
from dse.search.exhaustive import evaluate_chunk
from dse.search.judges import Judges
from dse.search.workers import NEVER, Workers
from tests.core_examples import constraint, evaluator, model, objective
from tests.toy import MODEL, STUDY

SAMPLERS = ["NSGAIISampler", "TPESampler", "RandomSampler", "QMCSampler"]
TINY = [("[1, 64]", "[1, 4]"), ("steps = 100", "steps = 3"), ('"2 KiB", "4 KiB"', '"2 KiB"')]


def study(folder: Path, search: str, *changes: tuple[str, str]) -> dse.Study:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(f"{text}[search]\n{search}\n")
    return dse.load(folder / "study.toml")


def begun(
    judge: Evaluator,
    method: str,
    evaluations: int,
    generation: int,
    workers: Workers,
    trials: Trials | None = None,
) -> Search:
    plan = Plan(method, evaluations, generation, 3, None, {})
    return method_of(method).start(Start(judge, plan, chunk=10_000, workers=workers, trials=trials))


def finished(search: Search, until: float = NEVER) -> Search:
    for _ in search.steps(until):
        pass
    return search


@pytest.mark.parametrize("method", SAMPLERS)
def test_a_design_that_is_drawn_again_is_no_further_design(tmp_path: Path, method: str) -> None:
    seen: list[Progress] = []
    # 24 designs, of which 20 draws cannot hold all
    drawn = study(tmp_path, f"method = '{method}'\nevaluations = 20\ngeneration = 5", *TINY)
    result = run(drawn, tmp_path / "out", 1, seen.append)
    trials = optuna.load_study(
        study_name="toy", storage=f"sqlite:///{tmp_path / 'out' / 'study.db'}"
    ).get_trials(deepcopy=False)
    first: dict[tuple[Any, ...], int] = {}
    for trial in trials:
        first.setdefault(tuple(trial.params[n] for n in ("lanes", "clock", "size")), trial.number)
    assert len(trials) == 20  # the storage keeps every draw
    assert result.designs.index.tolist() == sorted(first.values())
    certificate = result.certificate
    assert certificate.evaluated == len(first) < 20
    assert certificate.feasible == result.designs["feasible"].sum()
    assert certificate.non_dominated == len(result.front)
    assert f"{len(first)} designs of 24 were evaluated by {method} in 20 draws, " in (
        certificate.statement
    )
    assert (seen[-1].done, seen[-1].repeats) == (20, 20 - len(first))
    assert seen[-1].front == len(result.front)


@pytest.mark.parametrize(
    "search", ["method = 'evolution'", "method = 'guided'", "method = 'RandomSampler'"]
)
def test_a_space_that_was_gone_through_is_certified_whatever_searched_it(
    tmp_path: Path, search: str
) -> None:
    whole = run(study(tmp_path, "method = 'exhaustive'", *TINY), None)
    result = run(study(tmp_path, f"{search}\nevaluations = 500", *TINY), None)
    assert result.certificate.complete
    assert result.certificate.stopped == "complete"
    assert result.certificate.statement == whole.certificate.statement
    assert "all 24 designs of the space were evaluated" in result.certificate.statement
    columns = ["lanes", "clock", "size", "speed", "cost"]
    fronts = [r.front.designs[columns].sort_values(columns).to_numpy() for r in (whole, result)]
    assert np.array_equal(fronts[0], fronts[1])
    part = run(study(tmp_path, f"{search}\nevaluations = 6", *TINY), None).certificate
    assert not part.complete


@pytest.mark.parametrize("method", ["exhaustive", "evolution", "guided", "RandomSampler"])
def test_a_run_that_is_cut_short_before_anything_is_feasible_says_so(
    tmp_path: Path, method: str
) -> None:
    # one design in 19,200 is feasible, and it is the last one
    changes = [('at_most = "20 kLUT"', 'at_least = "256 kLUT"'), ("<= 40e9", "<= 400e9")]

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    some = "" if method == "exhaustive" else "evaluations = 90\ngeneration = 30\n"
    cut = study(tmp_path, f"method = '{method}'\n{some}", *changes)
    result = run(cut, tmp_path / "out", 1, interrupt)
    assert result.certificate.stopped == "interrupted"
    assert (result.certificate.feasible, len(result.front)) == (0, 0)
    assert "interrupted" in str(result)
    assert len(result.summary()) == 0
    for ask in (result.compromise, lambda: result.best("speed")):
        with pytest.raises(EmptyFrontError, match="no design on the front"):
            ask()
    assert len(load_result(tmp_path / "out").front) == 0
    for command, code in (("report", 0), ("explain", 2)):
        done = subprocess.run(
            [sys.executable, "-m", "dse", command, str(tmp_path / "out")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
    assert "no design on the front" in done.stderr


WHERE: list[tuple[str, int]] = []


def costly(method_name: str = "m") -> Evaluator:
    """Return an evaluator of a model that takes milliseconds for a design, and notes who works."""

    def slow(x: Any, y: Any) -> tuple[Any, Any]:
        WHERE.append((threading.current_thread().name, os.getpid()))
        time.sleep(0.004 * np.size(x))
        return x + 0.0 * y, (x - 30.0) ** 2 + y

    space: dict[str, Variable] = {"x": Integer(1, 64), "y": Real(0, 1, steps=20)}
    outputs = ["a", "b"]
    return evaluator(
        space, [model(method_name, slow, ["x", "y"], outputs)], [*map(objective, outputs)]
    )


@pytest.mark.parametrize("method", ["evolution", "guided", "RandomSampler"])
def test_a_costly_generation_is_spread_over_threads(method: str) -> None:
    WHERE.clear()
    alone = finished(begun(costly(), method, 300, 150, Workers(1))).outcome()
    assert len(set(WHERE)) == 1
    WHERE.clear()
    shared = finished(begun(costly(), method, 300, 150, Workers(2))).outcome()
    assert len({thread for thread, _ in WHERE}) > 1
    for name in ("numbers", "on_front"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name))
    assert np.array_equal(alone.judged.objectives, shared.judged.objectives)


@pytest.mark.parametrize("method", ["evolution", "RandomSampler"])
def test_processes_that_were_asked_for_do_the_work_however_cheap(method: str) -> None:
    def named(x: Any) -> tuple[Any, Any]:
        return x, np.full(np.shape(x), float(os.getpid()))

    judge = evaluator(
        {"x": Integer(1, 1_000)},
        [model("named", named, ["x"], ["y", "process"])],
        [objective("y")],
        [constraint("process", 1e18)],
    )
    here = finished(begun(judge, method, 60, 30, Workers(2))).outcome()
    away = finished(begun(judge, method, 60, 30, Workers(2, "loky"))).outcome()
    assert set(here.judged.constrained[:, 0]) == {os.getpid()}
    assert os.getpid() not in set(away.judged.constrained[:, 0])
    assert np.array_equal(here.judged.objectives[:, 0], away.judged.objectives[:, 0])


@pytest.mark.parametrize("workers", [Workers(1), Workers(2), Workers(2, "loky")])
@pytest.mark.parametrize("method", ["evolution", "RandomSampler"])
def test_an_error_is_of_the_first_design_whoever_meets_it(method: str, workers: Workers) -> None:
    def fragile(x: Any) -> Any:
        if (np.asarray(x) % 50 == 7).any():
            raise ArithmeticError("does not fit")
        return x

    judge = evaluator(
        {"x": Integer(1, 1_000)}, [model("f", fragile, ["x"], ["y"])], [objective("y")]
    )
    with pytest.raises(DesignError) as caught:
        finished(begun(judge, method, 500, 250, workers))
    with pytest.raises(DesignError) as alone:
        finished(begun(judge, method, 500, 250, Workers(1)))
    assert str(caught.value) == str(alone.value)
    assert "does not fit" in str(caught.value)


@pytest.mark.parametrize("workers", [Workers(1), Workers(2), Workers(2, "loky")])
@pytest.mark.parametrize(
    "method", ["exhaustive", "evolution", "guided", "RandomSampler", "TPESampler"]
)
def test_a_search_whose_time_is_over_ends_in_the_midst(method: str, workers: Workers) -> None:
    def plain(x: Any, y: Any) -> tuple[Any, Any]:
        return x + 0 * y, y - x

    judge = evaluator(
        {"x": Integer(1, 3_000), "y": Integer(1, 400)},
        [model("m", plain, ["x", "y"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
    search = finished(begun(judge, method, 1_200_000, 10_000, workers), until=0.0)
    progress, outcome = search.progress(), search.outcome()
    assert 0 < progress.done < 10_000
    assert not outcome.complete
    assert outcome.tally.evaluated == progress.done - progress.repeats
    judged = judge.evaluate(outcome.points)
    assert np.array_equal(judged.objectives, outcome.judged.objectives)


def test_judges_give_a_prefix_when_time_is_over_and_all_otherwise() -> None:
    judge = evaluator(
        {"x": Integer(1, 999)}, [model("m", lambda x: -x, ["x"], ["y"])], [objective("y")]
    )
    points = judge.space.from_index(np.arange(999))
    whole = judge.evaluate(points).objectives
    for workers in (Workers(1), Workers(3), Workers(2, "loky")):
        judges = Judges(judge, workers, chunk=100)
        part = judges.judge(points, 0, until=0.0)
        assert 0 < len(part) < 999
        assert np.array_equal(part.objectives, whole[: len(part)])
        assert np.array_equal(judges.judge(points, 0).objectives, whole)
        assert 0 < len(judges.judge(points, 0, until=0.0)) < 999


def test_a_model_that_takes_one_number_at_a_time_is_told_so() -> None:
    def plain(lanes: Any) -> Any:
        if lanes > 4:
            return lanes * 2.0
        return lanes * 1.0

    judging = evaluator(
        {"lanes": Integer(1, 500)}, [model("plain", plain, ["lanes"], ["y"])], [objective("y")]
    )
    with pytest.raises(DesignError) as caught:
        finished(begun(judging, "exhaustive", 500, 1, Workers(1)))
    told = str(caught.value)
    assert "plain is not elementwise: it raises on a batch of designs, though on none" in told
    assert "np.where" in told
    assert "run.chunk" not in told


def test_an_error_within_either_half_is_of_the_design_that_has_it() -> None:
    def fragile(x: Any) -> Any:
        if (np.asarray(x) == 41).any():
            raise ArithmeticError("41 does not fit")
        return x

    judging = evaluator(
        {"x": Integer(0, 63)}, [model("f", fragile, ["x"], ["y"])], [objective("y")]
    )
    with pytest.raises(DesignError, match=r"^design 41 \(x = 41\): f raised .*41 does not fit"):
        evaluate_designs(judging, judging.space.from_index(np.arange(64)), 0)


def test_an_enumeration_imports_no_sampler(tmp_path: Path) -> None:
    study(tmp_path, "method = 'exhaustive'")
    code = (
        "import sys, dse; r = dse.load('study.toml').run(); assert len(r.front);"
        "assert not {'optuna', 'sqlalchemy'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_kept_designs_are_not_evaluated_anew() -> None:
    calls: list[int] = []

    def counted(x: Any) -> tuple[Any, Any]:
        calls.append(np.size(x))
        return x, -x

    judging = evaluator(
        {"x": Integer(1, 1_500)},
        [model("m", counted, ["x"], ["a", "b"])],
        [objective("a"), objective("b")],
        [constraint("a", 1_200.0)],
    )
    search = finished(begun(judging, "exhaustive", 1_500, 1, Workers(1)))
    before = sum(calls)
    outcome = search.outcome()
    assert sum(calls) == before
    again: Evaluated = judging.evaluate(outcome.points)
    assert len(outcome.numbers) == 1_500
    assert np.array_equal(outcome.judged.objectives, again.objectives)
    assert np.array_equal(outcome.judged.constrained, again.constrained)
    assert np.array_equal(outcome.judged.feasible, again.feasible)


def states(search: Search) -> Iterator[dict[str, Any]]:
    for _ in search.steps():
        yield {k: v.copy() for k, v in search.state().items()}


def test_an_enumeration_resumes_from_a_checkpoint_of_unmerged_fronts() -> None:
    x = np.arange(30_000.0)

    def model_of(n: Any) -> tuple[Any, Any]:
        return np.sin(x[np.asarray(n, dtype=int)]) + 2, 1 / (n + 1)

    judging = evaluator(
        {"n": Integer(0, 29_999)},
        [model("m", model_of, ["n"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
    plan = Plan("exhaustive", 30_000, 1, 0, None, {})

    def start(state: dict[str, Any]) -> Search:
        return method_of("exhaustive").start(Start(judging, plan, chunk=700, state=state))

    whole = finished(start({})).outcome()
    for state in list(states(start({})))[:-1]:
        resumed = finished(start(state)).outcome()
        assert np.array_equal(resumed.numbers, whole.numbers)
        assert np.array_equal(resumed.on_front, whole.on_front)
        assert np.array_equal(resumed.judged.objectives, whole.judged.objectives)


def test_a_deadline_changes_nothing_while_it_does_not_come() -> None:
    judging = costly_free()
    whole = evaluate_chunk(judging, {}, 5, 9_000, 1_000)
    cut = evaluate_chunk(judging, {}, 5, 9_000, 3, until=1e12)
    assert cut.done == whole.done == 9_000
    assert np.array_equal(cut.archive.index, whole.archive.index)
    assert np.array_equal(cut.early.objectives, whole.early.objectives)
    late = evaluate_chunk(judging, {}, 5, 9_000, 1_000, until=0.0)
    assert (late.done, late.tally.evaluated, len(late.archive.index)) == (5, 0, 0)


def costly_free() -> Evaluator:
    """Return an evaluator of a model that costs nothing."""
    return evaluator(
        {"x": Integer(0, 9_999)},
        [model("m", lambda x: (np.sin(x), np.cos(x)), ["x"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
