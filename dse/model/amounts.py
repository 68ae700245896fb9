"""Amounts: values with their units in three or four digits, for sentences."""

from __future__ import annotations

import math

from dse.model.values import PREFIXES, infinite_word, number, show

_GREAT = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_COUNTED = ("cycle", "instruction", "element", "call")
"""Units that are words: they take an "s" in the plural."""


def amount(value: float, unit: str) -> str:
    """Return a value with its unit in three or four digits, for a sentence.

    >>> amount(237188.0, "LUT"), amount(2.612e7, "cycle"), amount(9.76, "1"), amount(1.0, "call")
    ('237,000 LUT', '26.1 million cycles', '9.76', '1 call')
    >>> amount(3.219e-7, "s"), amount(float("inf"), "B"), amount(0.99996, "1")
    ('321.9 ns', 'never', '1')
    >>> amount(7.945e-5, "1"), amount(1.16e15, "cycle")
    ('7.94×10⁻⁵', '1,160 trillion cycles')
    """
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else infinite_word(unit) if value > 0 else "-∞"
    if unit in PREFIXES:
        return show(value, unit)
    scale, word = next(((s, w) for s, w in _GREAT if abs(value) >= s), (1.0, ""))
    rounded = _rounded(value / scale)
    text = f"{rounded:,.10g}" if 1e-4 <= abs(rounded) < 1e7 or not rounded else number(rounded, 3)
    first, slash, rest = unit.partition("/")
    if first in _COUNTED and text != "1":
        unit = f"{first}s{slash}{rest}"
    return " ".join(each for each in (text, word, unit if unit != "1" else "") if each)


def _rounded(value: float) -> float:
    """Return a value in three digits; whole numbers below 10,000 as they are.

    >>> _rounded(1024.0), _rounded(12345.0), _rounded(0.98765)
    (1024.0, 12300.0, 0.988)
    """
    if value == round(value) and abs(value) < 10_000:
        return value
    return float(f"{value:.3g}")
