"""Intervals: the degrees of freedom, and break-even in much noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.fit_coverage import tables, truth
from dse.fit.analysis import analyse
from dse.fit.law import FIXED, GAIN, times
from dse.fit.profile_likelihood import BREAK_EVEN, Best, threshold
from dse.fit.selection import Shape, candidate_laws, fit_law, widest
from dse.model.quantity import Array

SHAPE = Shape(True, True, False, {})
WIDE = max((widest(SHAPE, law) for law in candidate_laws(SHAPE)), key=lambda law: law.terms)
NOISE = 0.01


def test_intervals_of_break_even_hold_in_much_noise() -> None:
    """Where a stiff condition stops short of the best law, an end comes too early."""
    found = [analyse(table, SHAPE) for table in tables("super-linear", 0.2, 4)]
    spans = [each.break_even_interval or (1.0, 0.0) for each in found]
    true = truth("super-linear")["break_even"]
    assert sum(low <= true <= high for low, high in spans) >= 3


def test_degrees_of_freedom_follow_the_noise_that_a_value_depends_on() -> None:
    """Welch and Satterthwaite, with variances from the linear estimator at the exact law."""
    exact = tables("super-linear", 0.0, 1)[0]
    weight: Array = np.full(len(exact.time), 1.0 / NOISE)
    law, loss = fit_law(exact, weight, WIDE, SHAPE)
    best = Best(exact, weight, law, loss, WIDE.free, 0.0, (8, 5))
    slopes = times(law, exact.size, exact.returned, exact.accelerated)[1] * np.array(WIDE.free)
    estimator = np.linalg.pinv(slopes)
    size = np.full(2, truth("super-linear")["break_even"])
    at_crossing = times(law, size, 0.0 * size, np.array([False, True]))[1]
    rows = {
        FIXED: (estimator[FIXED], law[FIXED]),
        GAIN: (estimator[GAIN], law[GAIN]),
        BREAK_EVEN: ((at_crossing[1] - at_crossing[0]) @ estimator, np.log(size[0])),
    }
    for place, (row, value) in rows.items():
        host, device = (row[~exact.accelerated] ** 2).sum(), (row[exact.accelerated] ** 2).sum()
        freedom = (host + device) ** 2 / (host**2 / 8 + device**2 / 5)
        limit = threshold(best, place, float(value))
        assert limit == pytest.approx(stats.t.ppf(0.975, freedom), abs=0.02)
