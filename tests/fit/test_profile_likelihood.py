"""Intervals: the degrees of freedom, break-even in much noise, and two valleys of the loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.fit_coverage import shares, tables, truth
from dse.fit.analysis import analyse
from dse.fit.law import FIXED, GAIN, PER_BYTE, crossings
from dse.fit.least_squares import minimize
from dse.fit.profile_likelihood import BREAK_EVEN, Best, interval, threshold
from dse.fit.selection import count_terms, fit_law, widest
from dse.model.quantity import Array
from tests.fit.made_tables import SHAPE, WIDE, SelectedFit, select_fit

NOISE = 0.01


def best_law(selected: SelectedFit) -> Best:
    """Return the widest law of a table at its best."""
    wide = widest(SHAPE, selected.law)
    law, loss = fit_law(selected.points, selected.weight, wide, SHAPE)
    host, device = (11 - terms for terms in count_terms(wide, SHAPE))
    return Best(selected.points, selected.weight, law, loss, wide.free, 0.0, (host, device))


def test_intervals_of_break_even_hold_in_much_noise() -> None:
    """Where a stiff condition stops short of the best law, an end comes too early."""
    spans = []
    for table in tables("super-linear", 0.2, 60):
        best = best_law(select_fit(table))
        spans.append(interval(best, BREAK_EVEN, float(np.log(crossings(best.law)[0]))))
    true = np.log(truth("super-linear")["break_even"])
    assert sum(low <= true <= high for low, high in spans) >= 56


def test_degrees_of_freedom_follow_the_noise_that_a_value_depends_on() -> None:
    """Welch and Satterthwaite, with the variances of fits to noise in one column."""
    exact = tables("super-linear", 0.0, 1)[0]
    weight: Array = np.full(len(exact.time), 1.0 / NOISE)
    law, loss = fit_law(exact, weight, WIDE, SHAPE)
    noise = NOISE * np.random.default_rng(4).standard_normal((600, len(exact.time)))
    variances = []
    for column in (~exact.accelerated, exact.accelerated):
        samples = (exact._replace(time=exact.time * np.exp(row * column)) for row in noise)
        fits = [minimize(table, weight, law, np.array(WIDE.free))[0] for table in samples]
        rows = [(fit[FIXED], fit[GAIN], np.log(crossings(fit)[0])) for fit in fits]
        variances.append(np.var(rows, axis=0))
    best = Best(exact, weight, law, loss, WIDE.free, 0.0, (8, 5))
    size = float(np.log(truth("super-linear")["break_even"]))
    values = {FIXED: float(law[FIXED]), GAIN: float(law[GAIN]), BREAK_EVEN: size}
    for (place, value), host, device in zip(values.items(), *variances, strict=True):
        freedom = (host + device) ** 2 / (host**2 / 8 + device**2 / 5)
        limit = threshold(best, place, value)
        assert limit == pytest.approx(stats.t.ppf(0.975, freedom), abs=0.02)


def test_an_absent_term_has_the_fewer_degrees_of_freedom() -> None:
    """Rounding does not decide: no time changes with a term that is absent."""
    exact = tables("sub-linear", 0.0, 1)[0]
    weight: Array = np.full(len(exact.time), 1.0 / NOISE)
    law, loss = fit_law(exact, weight, WIDE, SHAPE)
    for freedom in ((8, 5), (5, 8)):
        best = Best(exact, weight, law, loss, WIDE.free, 0.0, freedom)
        limit = threshold(best, PER_BYTE, float(law[PER_BYTE]))
        assert limit == pytest.approx(stats.t.ppf(0.975, 5))


def test_no_law_with_less_loss_is_outside_an_interval() -> None:
    """The loss over the acceleration has two valleys here: the ends are in the lower one."""
    selected = select_fit(tables("sub-linear", 0.05, 2, seed=11)[1])
    best = best_law(selected)
    value = float(best.law[GAIN])
    limit = threshold(best, GAIN, value)
    low, high = interval(best, GAIN, value)
    for end, side in ((low, -1.0), (high, 1.0)):
        assert best.hold(GAIN, end, best.law)[0] == pytest.approx(limit, rel=2e-3)
        assert best.hold(GAIN, end + 0.02 * side, best.law)[0] > limit


@pytest.mark.parametrize("case", ["linear", "two-crossings"])
def test_intervals_hold_about_as_often_as_they_say(case: str) -> None:
    """40 tables: 95 % give 34 to 40 by chance; `benchmarks.fit_coverage` makes 1,000."""
    found = [analyse(table, SHAPE) for table in tables(case, 0.05, 40)]
    held = shares(found, truth(case))
    assert held.keys() == truth(case).keys()
    assert min(held.values()) >= 34 / 40
