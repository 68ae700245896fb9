"""One contract of all search methods: plan, steps, interruptions, resumption, workers and ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dse
import dse.search
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.front import is_nondominated
from dse.evaluate.model_graph import ModelError
from dse.evaluate.space import Choice, Integer, Real
from dse.evaluate.totals import make_total_model, part_name
from dse.model.quantity import Quantity
from dse.problems import Problem
from dse.result.folder import load_result
from dse.result.record import EmptyFrontError
from dse.run import run
from dse.search.base import METHODS, Progress, Search, SearchSettings, Start, find_method
from dse.search.outcome import Outcome
from dse.search.workers import ALONE, NEVER, Workers
from dse.study.execution import JoblibConfiguration, joblib_configuration
from tests.core_examples import (
    MIXED,
    SPEED,
    command,
    constraint,
    evaluator,
    model,
    objective,
    relation,
)
from tests.quality import recall
from tests.toy import changed as study

CODE = str(Path(dse.search.__file__).parent)
SIZE, WAVES = 30 * 30, 32
Hook = Callable[[], None]


class Interruption(BaseException):
    """Ctrl-C or SIGTERM, as a handler raises it."""


class Storage:
    """Trials in memory, written as a database writes them: all of a batch or none."""

    def __init__(self) -> None:
        self._trials: list[Any] = []
        self._state: dict[str, Any] = {}

    def trials(self) -> Sequence[Any]:
        return list(self._trials)

    def append(self, trials: Sequence[Any], state: Mapping[str, Any] | None = None) -> None:
        self._trials, self._state = [*self._trials, *trials], dict(state or self._state)

    def state(self) -> dict[str, Any]:
        return dict(self._state)


TESTED = [name for name in METHODS if name != "GPSampler"]
"""All methods but one: it is a sampler of Optuna like others, and needs PyTorch."""
OWN = ("exhaustive", "bound", "evolution", "guided", "merge", "NSGAIISampler")
"""The methods with steps of their own; other samplers share those of the last one."""


def judging(hook: Hook = lambda: None, method: str = "") -> Evaluator:
    """Return an evaluator with some hundred designs; the hook is called in its model."""
    if method in ("merge", "bound"):
        return adding(hook) if method == "merge" else waving(hook)

    def costs(x: Any, y: Any) -> tuple[Any, Any]:
        hook()
        return np.hypot(x - 20.0, y - 3.0), np.hypot(x - 4.0, y - 22.0) + x % 3

    return evaluator(
        {"x": Integer(0, 29), "y": Integer(0, 29)},
        [model("costs", costs, ["x", "y"], ["a", "b"])],
        [objective("a"), objective("b")],
        [constraint("a", 25.0)],
    )


def waving(hook: Hook) -> Evaluator:
    """Return an evaluator whose boxes close late."""

    def costs(size: Any, speed: Any, place: Any) -> tuple[Any, Any]:
        hook()
        size, speed, place = map(np.asarray, (size, speed, place))
        wave = np.sin(3.0 * speed) + np.cos(5.0 * place)
        return 3.0 + size + wave, 60.0 - size + np.abs(speed - place) - wave

    names = ("size", "speed", "place")
    made = model("costs", costs, names, ["cost", "loss"])
    made = replace(made, monotonic={"cost": {"size": 1}, "loss": {"size": -1}})
    goals, limit = [objective("cost"), objective("loss")], relation("speed + place <= 40")
    return evaluator(dict.fromkeys(names, Integer(0, WAVES - 1)), [made], goals, [limit])


def adding(hook: Hook) -> Evaluator:
    """Return the evaluator of a system with some hundred designs."""

    def costs(u: Any, v: Any) -> tuple[Any, Any]:
        hook()
        return u + 0.01 * u**2, v + 0.001 * v**2

    rng = np.random.default_rng(0)
    totals, variables = ("u", "v"), {}
    for kernel in ("x", "y"):
        high = rng.permutation(30.0 + np.arange(30.0) ** 2)
        pairs = enumerate(zip(high.tolist(), (1e3 / high).tolist(), strict=True))
        names = [part_name(kernel, total) for total in totals]
        rows = {f"option {i}": dict(zip(names, pair, strict=True)) for i, pair in pairs}
        variables[kernel] = Choice(rows)
    shared = model("costs", costs, totals, ["a", "b"])
    shared = replace(shared, monotonic={"a": {"u": 1, "v": 0}, "b": {"u": 0, "v": 1}})
    quantity = Quantity("1", "a total", low=0)
    sums = [make_total_model(total, total, quantity, ("x", "y")) for total in totals]
    return evaluator(variables, [*sums, shared], [objective("a"), objective("b")])


def planned(name: str) -> SearchSettings:
    """Return the plan of a method for a few designs."""
    problems: list[Problem] = []
    counts = {"exhaustive": SIZE, "bound": WAVES**3, "evolution": 80}
    settings = SearchSettings(name, counts.get(name, 40), generation=16, seed=3)
    settings = replace(settings, tolerance=0.02) if name == "bound" else settings
    plan = find_method(name).plan(settings, judging(method=name).space, 2, problems)
    assert not problems and plan.method == name
    return plan


@pytest.mark.parametrize("name", TESTED)
def test_options_that_a_method_does_not_have_are_refused(name: str) -> None:
    problems: list[Problem] = []
    settings = SearchSettings(name, options={"no_option": 3})
    find_method(name).plan(settings, judging().space, 2, problems)
    assert len(problems) == 1
    assert problems[0].where.startswith("search.options")


def begin(
    plan: SearchSettings,
    storage: Storage,
    hook: Hook = lambda: None,
    state: Mapping[str, Any] | None = None,
) -> Search:
    return find_method(plan.method).start(
        Start(judging(hook, plan.method), plan, chunk=64, state=state or {}, trials=storage)
    )


def finish(search: Search) -> Search:
    for step, _ in enumerate(search.steps()):
        if step % 16 < 2:
            check_counts(search)
    check_counts(search)
    return search


def check_counts(search: Search) -> None:
    progress = search.progress()
    size = WAVES**3 if progress.total == WAVES**3 else SIZE
    assert 0 <= progress.done - progress.repeats <= size
    assert progress.done <= progress.total
    if progress.done:
        assert search.outcome().tally.evaluated <= size


def as_values(outcome: Outcome) -> tuple[Any, ...]:
    judged, points = outcome.evaluated, outcome.points
    columns = [outcome.numbers, outcome.on_front, judged.objectives, *points.values()]
    return (outcome.tally.evaluated, outcome.gap, *(column.tobytes() for column in columns))


@contextmanager
def cut_at(line: int, lines: list[int]) -> Iterator[None]:
    """Interrupt at so many lines of the searches' code; count the lines."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == line:
                raise Interruption
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("name", TESTED)
def test_an_interruption_at_any_place_leaves_the_state_before_the_step(name: str) -> None:
    plan, calls, lines = planned(name), [0], [0]

    def count() -> None:
        calls[0] += 1

    whole = as_values(finish(begin(plan, Storage(), count)).outcome())
    search = begin(plan, Storage())
    with cut_at(-1, lines):
        finish(search)
    errors = [KeyboardInterrupt(), Interruption(), OSError("the model's file is gone")]
    rng = np.random.default_rng(0)
    most = 3 if name == "bound" else 6 if name in OWN else 2
    for turn, at in enumerate(sorted(rng.choice(calls[0], min(most, calls[0]), replace=False) + 1)):
        made, error = [0], errors[turn % 3]

        def fail(made: list[int] = made, at: int = at, error: BaseException = error) -> None:
            made[0] += 1
            if made[0] == at:
                raise error

        storage, cut = Storage(), None
        with suppress(KeyboardInterrupt, Interruption, DesignError, ModelError):
            cut = begin(plan, storage, fail)  # a method may call models before its steps
            finish(cut)
        if cut is not None:
            check_resumed(plan, cut, storage, whole)
    for at in rng.integers(1, lines[0], most):
        storage = Storage()
        cut = begin(plan, storage)
        with pytest.raises(Interruption), cut_at(int(at), [0]):
            finish(cut)
        check_resumed(plan, cut, storage, whole)


def check_resumed(
    plan: SearchSettings, cut: Search, storage: Storage, whole: tuple[Any, ...]
) -> None:
    check_counts(cut)
    resumed = finish(begin(plan, storage, state=cut.state()))
    assert as_values(resumed.outcome()) == whole
    if plan.method == "bound":  # and in the same process
        assert as_values(finish(cut).outcome()) == whole


# -------------------------------------------------------------------- the designs of a search


def searched(
    judge: Evaluator, method: str, evaluations: int, generation: int, seed: int = 0
) -> Outcome:
    settings = SearchSettings(method, evaluations, generation, seed)
    return ended(find_method(method).start(Start(judge, settings))).outcome()


@pytest.mark.parametrize("method", ["evolution", "guided", "RandomSampler"])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(method: str) -> None:
    one, same, other = (as_values(searched(judging(), method, 60, 20, s)) for s in (3, 3, 4))
    assert one == same != other


@pytest.mark.parametrize(
    ("method", "evaluations", "limit"),
    [("evolution", 2_000, 70.0), ("guided", 200, 300.0)],
)
def test_no_design_is_evaluated_twice_and_none_that_a_relation_forbids(
    method: str, evaluations: int, limit: float
) -> None:
    seen: list[Any] = []

    def spy(lanes: Any, streams: Any, size: Any) -> tuple[Any, ...]:
        seen.append(np.column_stack(np.broadcast_arrays(lanes, streams, size)))
        return lanes * streams + 1 / size, size

    judge = evaluator(
        {"lanes": Integer(1, 512), "streams": Integer(8, 512), "size": Real(1, 10)},
        [model("spy", spy, ["lanes", "streams", "size"], ["a", "b"])],
        [objective("a", "maximize"), objective("b")],
        [relation(f"lanes * streams <= {limit}")],
    )
    outcome = searched(judge, method, evaluations, evaluations // 20)
    designs = np.concatenate(seen)
    assert len(designs) == len(np.unique(designs, axis=0)) == evaluations
    assert (designs[:, 0] * designs[:, 1] <= limit).all()
    assert outcome.evaluated.objectives[:, 0].max() > 0.98 * limit  # the edge is reached


@pytest.mark.parametrize(
    ("method", "evaluations", "generation", "share"),
    [("evolution", 3_000, 100, 0.9), ("guided", 250, 16, 0.5)],
)
def test_constraints_of_models_are_reached_from_outside(
    method: str, evaluations: int, generation: int, share: float
) -> None:
    # feasible is one design in four hundred: 40 <= cost <= 60 and speed >= 5
    lower = [constraint("cost", 40.0, upper=False), constraint("speed", 5.0, upper=False)]
    goals = [objective("speed", "maximize"), objective("cost")]
    judge = evaluator(MIXED, [SPEED], goals, [constraint("cost", 60.0), *lower])
    every = judge.evaluate(judge.space.from_index(np.arange(judge.space.size or 0)))
    assert 0 < every.feasible.mean() < 0.003
    outcome = searched(judge, method, evaluations, generation)
    feasible = outcome.evaluated.feasible
    assert feasible.mean() > 5 * every.feasible.mean()
    truth = every.objectives[every.feasible] * judge.signs
    found = outcome.evaluated.objectives[feasible] * judge.signs
    assert recall(found, truth[is_nondominated(truth)]) > share


# --------------------------------------------------------------------------------- workers

CALLERS: list[tuple[str, int]] = []


def begun(
    judge: Evaluator, method: str, evaluations: int, generation: int, team: Workers
) -> Search:
    settings = SearchSettings(method, evaluations, generation, 3)
    return find_method(method).start(Start(judge, settings, chunk=10_000, workers=team))


def ended(search: Search, until: float = NEVER) -> Search:
    deque(search.steps(until), maxlen=0)
    return search


@pytest.mark.parametrize("method", ["guided", "RandomSampler"])
def test_a_slow_generation_is_spread_over_threads(method: str) -> None:
    def slow(x: Any, y: Any) -> tuple[Any, Any]:
        CALLERS.append((threading.current_thread().name, os.getpid()))
        time.sleep(0.001 * np.size(x))
        return x + 0.0 * y, (x - 30.0) ** 2 + y

    judge = evaluator(
        {"x": Integer(1, 64), "y": Real(0, 1, steps=20)},
        [model("m", slow, ["x", "y"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
    outcomes = []
    for count in (1, 2):
        CALLERS.clear()
        outcomes.append(ended(begun(judge, method, 120, 60, Workers(count))).outcome())
        assert (len({thread for thread, _ in CALLERS}) > 1) == (count > 1)
    alone, shared = outcomes
    assert as_values(alone) == as_values(shared)


@pytest.mark.parametrize("method", ["evolution", "RandomSampler"])
def test_processes_do_the_work_however_cheap_it_is(method: str) -> None:
    def named(x: Any) -> tuple[Any, Any]:
        return x, np.full(np.shape(x), float(os.getpid()))

    judge = evaluator(
        {"x": Integer(1, 1_000)},
        [model("named", named, ["x"], ["y", "process"])],
        [objective("y")],
        [constraint("process", 1e18)],
    )
    here = ended(begun(judge, method, 60, 30, Workers(2))).outcome()
    there = ended(begun(judge, method, 60, 30, Workers(2, "loky"))).outcome()
    assert set(here.evaluated.constrained[:, 0]) == {os.getpid()}
    assert os.getpid() not in set(there.evaluated.constrained[:, 0])
    assert np.array_equal(here.evaluated.objectives[:, 0], there.evaluated.objectives[:, 0])


@pytest.mark.parametrize("method", ["evolution", "RandomSampler"])
def test_an_error_is_of_the_first_design_whoever_meets_it(method: str) -> None:
    def fragile(x: Any) -> Any:
        if (np.asarray(x) % 50 == 7).any():
            raise ArithmeticError("does not fit")
        return x

    judge = evaluator(
        {"x": Integer(1, 1_000)}, [model("f", fragile, ["x"], ["y"])], [objective("y")]
    )
    messages = set()
    for workers in (ALONE, Workers(2), Workers(2, "loky")):
        with pytest.raises(DesignError, match="does not fit") as caught:
            ended(begun(judge, method, 500, 250, workers))
        messages.add(str(caught.value))
        assert joblib_configuration() == JoblibConfiguration()  # what the search set has ended
    assert len(messages) == 1


PLAIN = evaluator(
    {"x": Integer(1, 3_000), "y": Integer(1, 400)},
    [model("m", lambda x, y: (x + 0 * y, y - x), ["x", "y"], ["a", "b"])],
    [objective("a"), objective("b")],
)


@pytest.mark.parametrize(
    ("method", "workers"),
    [
        ("exhaustive", ALONE),
        ("exhaustive", Workers(2, "loky")),
        ("evolution", Workers(2)),
        ("guided", Workers(2, "loky")),
        ("TPESampler", ALONE),
    ],
)
def test_a_search_whose_time_is_over_ends_within_a_generation(
    method: str, workers: Workers
) -> None:
    search = ended(begun(PLAIN, method, 1_200_000, 10_000, workers), until=0.0)
    progress, outcome = search.progress(), search.outcome()
    assert 0 < progress.done < 10_000
    assert not outcome.complete
    assert outcome.tally.evaluated == progress.done - progress.repeats
    again = PLAIN.evaluate(outcome.points)
    assert np.array_equal(again.objectives, outcome.evaluated.objectives)


# ----------------------------------------------------------------------------- whole runs

TINY = [("[1, 64]", "[1, 4]"), ("steps = 100", "steps = 3"), ('"2 KiB", "4 KiB"', '"2 KiB"')]


@pytest.mark.parametrize("method", ["evolution", "guided", "RandomSampler"])
def test_a_space_that_was_gone_through_is_certified_whatever_searched_it(
    tmp_path: Path, method: str
) -> None:
    whole = run(study(tmp_path, "method = 'exhaustive'", *TINY), None)
    result = run(study(tmp_path, f"method = '{method}'\nevaluations = 500", *TINY), None)
    assert result.certificate.complete
    assert result.certificate.stopped == "complete"
    assert result.certificate.statement == whole.certificate.statement
    assert "all 24 designs of the space were evaluated" in result.certificate.statement
    columns = ["lanes", "clock", "size", "speed", "cost"]
    fronts = [r.front.designs[columns].sort_values(columns).to_numpy() for r in (whole, result)]
    assert np.array_equal(fronts[0], fronts[1])
    part = run(study(tmp_path, f"method = '{method}'\nevaluations = 6", *TINY), None)
    assert not part.certificate.complete


@pytest.mark.parametrize("method", ["exhaustive", "evolution"])
def test_a_run_that_is_cut_short_before_anything_is_feasible_says_so(
    tmp_path: Path,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
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
    for request in (result.nash, lambda: result.best("speed")):
        with pytest.raises(EmptyFrontError, match="no design on the front"):
            request()
    assert len(load_result(tmp_path / "out").front) == 0
    for name, expected in (("report", 0), ("explain", 2)):
        code, _, err = command(monkeypatch, capsys, name, str(tmp_path / "out"))
        assert code == expected
    assert "no design on the front" in err


def test_an_enumeration_imports_no_sampler(tmp_path: Path) -> None:
    study(tmp_path, "method = 'exhaustive'", *TINY)
    code = (
        "import sys, dse; r = dse.load('study.toml').run(); assert len(r.front);"
        "assert not {'optuna', 'sqlalchemy'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
