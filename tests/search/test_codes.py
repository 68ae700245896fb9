"""The set of codes is a set, and the codes of a space tell its designs apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.evaluate.space import Choice, Integer, Real, Space, Values
from dse.search.codes import Codes

SPACE = Space(
    {
        "lanes": Integer(1, 64, log=True),
        "depth": Integer(0, 30, 3),
        "clock": Real(0.5, 2.0, steps=16),
        "row": Choice({"a": {"base": 1.0}, "b": {"base": 3.0}, "c": {"base": 0.5}}),
        "width": Values((8.0, 64.0, 16.0, 32.0)),
    }
)


@given(st.lists(st.lists(st.integers(0, 3_000), max_size=700), max_size=6), st.integers(1, 2**50))
def test_a_set_of_codes_is_a_set(batches: list[list[int]], stride: int) -> None:
    held, truth = Codes(), set[int]()
    for batch in batches:
        codes = np.unique(np.array(batch, dtype=np.uint64) * np.uint64(stride))
        new = ~held.holds(codes)
        assert new.tolist() == [c not in truth for c in codes.tolist()]
        held.add(codes[new])
        truth |= set(codes.tolist())
        assert len(held) == len(truth)
    assert set(held.every().tolist()) == truth


def test_settled_points_stand_for_their_designs() -> None:
    unit = np.random.default_rng(0).random((5_000, 5)) * 1.2 - 0.1
    settled, codes = SPACE.settled(unit)
    points = SPACE.from_unit(np.clip(unit, 0, 1))
    assert np.array_equal(settled, SPACE.to_unit(points))
    assert np.array_equal(codes, SPACE.to_index(points).astype(np.uint64))
    again = SPACE.settled(settled)
    assert np.array_equal(again[0], settled)
    assert np.array_equal(again[1], codes)


@pytest.mark.parametrize("large", [Real(0, 1), Integer(0, 2**62)])
def test_codes_of_a_continuum_and_of_a_huge_space_differ_if_designs_do(
    large: Real | Integer,
) -> None:
    space = Space({"a": large, "b": Integer(0, 9), "c": Integer(0, 9)})
    unit = np.random.default_rng(0).random((100_000, 3))
    settled, codes = space.settled(np.concatenate([unit, unit[:100]]))
    assert len(np.unique(codes)) == len(np.unique(settled, axis=0)) == 100_000
    zero = space.settled(np.array([[0.0, 0.5, 0.5], [-0.0, 0.5, 0.5], [-3.0, 0.5, 0.5]]))[1]
    assert len(np.unique(zero)) == 1
