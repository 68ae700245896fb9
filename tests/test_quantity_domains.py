"""The one-pass domain check says what the element-wise check says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dse.model import Quantity

INF = np.inf


@pytest.mark.parametrize(
    "quantity",
    [
        Quantity("1", "any"),
        Quantity("1", "x", low=0),
        Quantity("1", "x", above=0),
        Quantity("1", "x", high=1),
        Quantity("1", "x", below=1),
        Quantity("1", "x", low=0, high=1),
        Quantity("1", "x", above=0, below=1),
        Quantity("1", "x", low=0, below=1),
        Quantity("1", "x", above=0, high=1),
        Quantity("1", "x", low=0, high=2, integer=True),
    ],
)
def test_contains_all_is_all_of_contains(quantity: Quantity) -> None:
    values = [-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF, np.nan]
    for pair in itertools.product(values, repeat=2):
        x = np.array(pair)
        assert quantity.contains_all(x) == bool(quantity.contains(x).all()), pair
    for value in values:  # numbers have a way of their own
        assert quantity.contains_all(value) == bool(quantity.contains(value)), value
    assert quantity.contains_all(2) == bool(quantity.contains(2))
    assert quantity.contains_all(np.empty(0))
