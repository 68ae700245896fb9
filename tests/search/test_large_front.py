"""Fronts that do not fit: a search of designs that are all on the front ends with a remedy."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest

import dse
from dse import Array, Floats, Quantity

_Size = Annotated[Floats, Quantity("1", "a size", low=0)]


class Costs(NamedTuple):
    cost: Annotated[Array, Quantity("1", "cost")]
    loss: Annotated[Array, Quantity("1", "loss")]


def opposed(size: _Size, width: _Size) -> Costs:
    value = np.asarray(size) * 32_768 + np.asarray(width)
    return Costs(value, -value)


def test_a_search_whose_designs_are_all_on_the_front_ends() -> None:
    study = dse.from_mapping(
        {
            "study": {"name": "opposed", "models": ["opposed"]},
            "space": {n: {"integer": [0, 32_767]} for n in ("size", "width")},
            "objective": [{"minimize": "cost"}, {"minimize": "loss"}],
            "search": {"method": "exhaustive"},
        },
        models={"opposed": opposed},
    )
    with pytest.raises(dse.StoppedError, match="the front has more than 2,000,000 designs"):
        study.run()
