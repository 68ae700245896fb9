"""One measured system, predicted from its parts: the deviations that accuracy.md states."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.system_prediction import predict, section, table
from tests.docs.pages import read_page


def test_the_prediction_has_the_stated_deviations() -> None:
    size, host, accelerated = table()
    assert section() in read_page("docs/validation/accuracy.md")
    assert (np.abs(host) < 0.14).all()
    assert (accelerated < -0.05).all()
    assert accelerated.min() > -0.4
    found = predict(size)
    # 16 clocks of 7 ns per block of 16 B, in cycles of 650 MHz
    slope = np.diff(found.accelerated_time) / np.diff(size) / 650e6
    assert slope == pytest.approx(7e-9, rel=1e-5)
