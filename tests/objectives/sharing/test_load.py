"""How streams are shared out: elements of a call, what arrives at a lane, and engines."""

from typing import Any

import numpy as np
import pytest

from dse.testing import check_model
from objectives.sharing import engine_count, lane_arrivals, share_out


@pytest.mark.parametrize("model", [lane_arrivals, engine_count, share_out])
def test_models_keep_the_contract(model: Any) -> None:
    check_model(model)


def test_a_call_fills_whole_elements_and_its_fullest_lane() -> None:
    arrivals = lane_arrivals(100.0, np.array([1.0, 16.0, 17.0, 1024.0]), 16.0, 3)
    assert arrivals.call_elements.tolist() == [1, 1, 2, 64]
    assert arrivals.lane_elements.tolist() == [1, 1, 1, 22]
    assert arrivals.arrival_rate.tolist() == [100, 100, 100, 2200]
    # data of exactly three elements, and 3 * 0.1 / 0.1 is 3.0000000000000004
    tenths = np.arange(1, 1000)
    assert np.array_equal(lane_arrivals(1.0, tenths * 0.1, 0.1, 1).call_elements, tenths)


def test_engines_for_all_streams() -> None:
    assert engine_count(64, np.array([64, 63, 24, 100])).engines.tolist() == [1, 2, 3, 1]
    both = share_out(100.0, 1024.0, 16.0, 3, 64, 24)
    assert [both.lane_elements, both.arrival_rate, both.engines] == [22, 2200, 3]
