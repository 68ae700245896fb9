"""Interrupted searches by bounds: a signal or an error at any place loses nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.model import monotonic
from dse.problems import DseError
from dse.search.base import Search, SearchSettings, Start, find_method

_Size = Annotated[Floats, Quantity("1", "size", low=0)]


class Costs(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost", low=0)]
    loss: Annotated[Array, Quantity("1", "loss")]


Hook = Callable[[], None]


def study(hook: Hook = lambda: None, most: int = 51) -> dse.Study:
    """Return a study whose boxes close late; the hook is called in its model."""

    @monotonic(cost="+size", loss="-size")
    def costs(size: _Size, speed: _Size, place: _Size) -> Costs:
        hook()
        size, speed, place = map(np.asarray, (size, speed, place))
        wave = np.sin(3.0 * speed) + np.cos(5.0 * place)
        return Costs(3.0 + size + wave, 60.0 - size + np.abs(speed - place) - wave)

    return dse.from_mapping(
        {
            "study": {"name": "costs", "models": ["costs"]},
            "space": {n: {"integer": [0, most]} for n in ("size", "speed", "place")},
            "objective": [{"minimize": "cost"}, {"minimize": "loss"}],
            "constraint": [{"relation": "speed + place <= 70"}],
            "search": {"method": "bound"},
        },
        models={"costs": costs},
    )


def begun(hook: Hook, tolerance: float, state: Mapping[str, Any] | None = None) -> Search:
    evaluator = study(hook).evaluator
    plan = SearchSettings("bound", evaluator.space.size or 0, 1, 0, None, {}, tolerance)
    return find_method("bound").start(Start(evaluator, plan, 32_768, state=state or {}))


def finish(search: Search) -> None:
    for _ in search.steps():
        pass


def outcome_bytes(search: Search) -> tuple[Any, ...]:
    outcome = search.outcome()
    assert outcome.gap is not None
    front = outcome.numbers[outcome.on_front], outcome.evaluated.objectives[outcome.on_front]
    counts = outcome.tally.evaluated, outcome.tally.violated.tolist(), outcome.gap.boxes
    return (*(column.tobytes() for column in front), outcome.statement, *counts)


def check_resumed(search: Search, tolerance: float, whole: tuple[Any, ...]) -> None:
    """Go on in the same process, and from the saved state in another search."""
    saved = search.state()
    finish(search)
    assert outcome_bytes(search) == whole
    again = begun(lambda: None, tolerance, saved)
    finish(again)
    assert outcome_bytes(again) == whole


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_an_error_at_any_model_call_loses_no_box(tolerance: float) -> None:
    calls, cut = [0], [0]

    def hook() -> None:
        calls[0] += 1
        if calls[0] == cut[0]:
            raise OSError("one time only")

    search = begun(hook, tolerance)
    before = calls[0]  # tables and the first bounds
    finish(search)
    whole, last = outcome_bytes(search), calls[0]
    assert last - before > 30
    for place in np.linspace(before + 1, last, 4).astype(int).tolist():
        calls[0], cut[0] = 0, place
        search = begun(hook, tolerance)
        with pytest.raises((DseError, OSError)):
            finish(search)
        check_resumed(search, tolerance, whole)


@contextmanager
def interrupted_at(line: int) -> Iterator[list[int]]:
    """Raise KeyboardInterrupt once, at a line of the search that is executed; count the lines."""
    lines = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "dse/search" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_an_interruption_at_any_line_loses_no_box(tolerance: float) -> None:
    search = begun(lambda: None, tolerance)
    with interrupted_at(-1) as lines:
        finish(search)
    whole = outcome_bytes(search)
    for line in np.random.default_rng(0).integers(1, lines[0], 4).tolist():
        search = begun(lambda: None, tolerance)
        with pytest.raises(KeyboardInterrupt), interrupted_at(line):
            finish(search)
        check_resumed(search, tolerance, whole)


def test_no_design_is_counted_twice() -> None:
    """Random designs and middles of boxes are evaluated again with their boxes."""
    search = begun(lambda: None, 0.0)
    size = study().evaluator.space.size
    finish(search)
    tally = search.outcome().tally
    assert size is not None
    assert tally.evaluated <= size
    assert (tally.violated <= size).all()
