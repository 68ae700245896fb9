"""Intervals of break-even hold in noise: the law is found that goes through a size given for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.fit_coverage import tables, truth
from dse.fit.analysis import analyse
from dse.fit.choose import Shape, fitted, laws, widest
from dse.fit.crossing import crossings
from dse.fit.intervals import BREAK_EVEN, Fitted, _Held, _limit
from dse.fit.law import FIXED, GAIN


def test_intervals_of_break_even_hold_in_much_noise() -> None:
    """Where a stiff condition alone stops short of the best law, an end comes too early."""
    found = analyse(tables("super-linear", 0.2, 60), Shape(True, True, False, {}))
    spans = [each.break_even_interval or (1.0, 0.0) for each in found]
    true = truth("super-linear")["break_even"]
    assert sum(low <= true <= high for low, high in spans) >= 56


def test_degrees_of_freedom_follow_the_noise_that_a_value_hangs_on() -> None:
    """Welch and Satterthwaite, with the variances of fits to noise in one column alone."""
    shape, noise = Shape(True, True, False, {}), 0.01
    wide = max((widest(shape, each) for each in laws(shape)), key=lambda each: each.terms)
    exact = tables("super-linear", 0.0, 600)
    drawn = noise * np.random.default_rng(4).standard_normal(exact.time.shape)
    weight = np.full(exact.time.shape, 1.0 / noise)
    variances, ones = [], np.ones(len(exact.time))
    for column in (~exact.accelerated, exact.accelerated):
        made = replace(exact, time=exact.time * np.exp(np.where(column, drawn, 0.0)))
        fits = fitted(made, weight, wide, shape)[0]
        crossed = np.log(crossings(fits, 0.0 * ones, ones)[0])
        places = [fits[:, FIXED], fits[:, GAIN], crossed]
        variances.append([np.var(each) for each in places])
    best, cost = fitted(exact.take(np.array([0])), weight[:1], wide, shape)
    around = Fitted(exact.take(np.array([0])), weight[:1], best, cost, wide.free, np.zeros(1))
    here = [best[0, FIXED], best[0, GAIN], np.log(truth("super-linear")["break_even"])]
    for i, place in enumerate((FIXED, GAIN, BREAK_EVEN)):
        host, device = variances[0][i], variances[1][i]
        wanted = (host + device) ** 2 / (host**2 / 8 + device**2 / 5)
        limit = _limit(_Held(around, place), (8, 5), np.array([here[i]]))
        assert limit[0] == pytest.approx(stats.t.ppf(0.975, wanted), abs=0.02)
