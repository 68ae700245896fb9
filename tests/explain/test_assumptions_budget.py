"""What to check first, by models that take long or raise: how many designs are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity
from dse.explain.recommendation import assess_inputs

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


@pytest.mark.parametrize(("evaluated", "looked_at"), [(1, 20), (600, 30), (2_000, 40)])
def test_a_budget_of_evaluations_limits_the_designs(evaluated: int, looked_at: int) -> None:
    seen = set[float]()

    def link(width: Width, size: Size, latency: Latency) -> Link:
        seen.update(np.ravel(width).tolist())
        return Link(np.asarray(latency + size / width))

    study = study_of(link, latency=1e-6)
    result = study.run(workers=1)
    certificate = replace(result.certificate, evaluated=evaluated)
    result = replace(result, certificate=certificate)
    seen.clear()
    checks = assess_inputs(study, result).checks
    assert len(seen) == looked_at
    assert len(checks) == 2
    assert assess_inputs(study, result, effort=False).checks == ()


def test_a_model_that_raises_at_a_middle_leaves_a_figure_out() -> None:
    def link(width: Width, size: Size, latency: Latency) -> Link:
        if np.any(np.asarray(latency) == 2.0):
            raise ValueError("in the middle")
        return Link(np.asarray(latency + size / width))

    result = study_of(link, latency=1.0).run(workers=1)
    moved = study_of(link, latency={"uniform": [1.0, 3.0]})
    assert assess_inputs(moved, result).checks == ()
