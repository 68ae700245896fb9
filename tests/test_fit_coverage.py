"""Intervals of break-even hold in noise: the law is found that goes through a size given for it."""

from __future__ import annotations

from benchmarks.fit_coverage import tables, truth
from dse.fit.analysis import analyse
from dse.fit.choose import Shape


def test_intervals_of_break_even_hold_in_much_noise() -> None:
    """Where a stiff condition alone stops short of the best law, an end comes too early."""
    found = analyse(tables("super-linear", 0.2, 60), Shape(True, True, False, {}))
    spans = [each.break_even_interval or (1.0, 0.0) for each in found]
    true = truth("super-linear")["break_even"]
    assert sum(low <= true <= high for low, high in spans) >= 56
