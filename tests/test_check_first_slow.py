"""What to check first, by models that take long or raise: how many designs are looked at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.explain import check_first
from dse.explain.explained import founded

Width = Annotated[Floats, Quantity("B/s", "of the link", above=0)]
Size = Annotated[Floats, Quantity("B", "of a transfer", low=0)]
Latency = Annotated[Floats, Quantity("s", "of the link", low=0)]


class Link(NamedTuple):
    transfer_time: Annotated[Array, Quantity("s", "time of a transfer", low=0)]


def study_of(link: Callable[..., Link], latency: Any) -> dse.Study:
    """Return a study of links of 40 widths."""
    made = {
        "study": {"name": "links", "models": ["link"]},
        "inputs": {"size": 1000, "latency": latency},
        "space": {"width": {"integer": [1, 40]}},
        "objective": [{"minimize": "transfer_time"}, {"minimize": "width"}],
    }
    return dse.from_mapping(made, {"link": link})


@pytest.mark.parametrize(
    ("call", "each", "search", "looked_at"),
    [
        (0.0, 1e-5, 0.0, 40),  # a formula: every design
        (0.12, 0.0, 1.0, 40),  # whose call takes long, however few its designs
        (0.0, 0.01, 1.0, 20),  # a simulator: those that matter most
        (0.0, 0.15, 15.0, 20),
        (0.0, 0.15, 60.0, 20),  # on a busy machine
        (0.0, 0.5, 60.0, 20),
        (0.0, 10.0, 400.0, 0),  # that would take longer than the search, and minutes
    ],
)
def test_slow_models_get_few_designs(
    call: float, each: float, search: float, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, seen = [0.0], set[float]()

    def link(width: Width, size: Size, latency: Latency) -> Link:
        seen.update(np.ravel(width).tolist())
        now[0] += call + each * np.broadcast(width, size, latency).size
        return Link(np.asarray(latency + size / width))

    study = study_of(link, latency=1e-6)
    result = study.run(workers=1)
    certificate = replace(result.certificate, evaluated=15)
    kept = {**result.provenance, "seconds": search, "workers": 1}
    result = replace(result, provenance=kept, certificate=certificate)
    seen.clear()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    checks = founded(study, result).checks
    assert len(seen) == looked_at
    assert len(checks) == (2 if looked_at else 0)


def test_slow_models_are_asked_by_as_many_threads_as_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = set[int]()

    def link(width: Width, size: Size, latency: Latency) -> Link:
        threads.add(threading.get_ident())
        if np.any(size >= 1500):
            raise ValueError("the transfer is too large")
        return Link(np.asarray(latency + size / width))

    study = study_of(link, latency=1e-6)
    result = study.run(workers=1)
    monkeypatch.setattr(check_first, "_is_slow", lambda *_: True)
    monkeypatch.setattr(check_first, "cpu_count", lambda: 3)
    found = []
    for workers in (1, 3):
        threads.clear()
        many = replace(result, provenance={**result.provenance, "workers": workers})
        found.append(founded(study, many).checks)
        assert (threads == {threading.get_ident()}) == (workers == 1)
    assert found[0] == found[1]
    assert [check.figure.name for check in found[0]] == ["latency"]  # twice the size raises


def test_a_model_that_raises_at_a_middle_leaves_a_figure_out() -> None:
    def link(width: Width, size: Size, latency: Latency) -> Link:
        if np.any(np.asarray(latency) == 2.0):
            raise ValueError("in the middle")
        return Link(np.asarray(latency + size / width))

    result = study_of(link, latency=1.0).run(workers=1)
    moved = study_of(link, latency={"uniform": [1.0, 3.0]})
    assert founded(moved, result).checks == ()
