"""Numbers for people and for programs: digits, prefixes, units and infinities.

The terminal, the report, tables and messages take their texts from here. The report's script gets
the tables of prefixes and words as data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dse.model.quantity import Quantity

_DECIMAL = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_FIRST_BYTES = 10_240.0  # smaller amounts get no prefix
PREFIXES: Mapping[str, Mapping[str, float]] = {
    "B": _BINARY,
    **dict.fromkeys(("s", "Hz", "W", "J", "m", "B/s", "bit/s"), _DECIMAL),
}
"""The prefixes of each unit that takes any, with their factors."""
INFINITE: Mapping[str, str] = {"s": "saturated", "cycle": "saturated", "B": "never"}
"""The word for an infinite value, by unit: an endless time, an amount that never suffices."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MAX_DIGITS = 17  # enough to distinguish every float from its neighbours


def infinite_word(unit: str) -> str:
    """Return the word for an infinite value of a unit.

    >>> infinite_word("s"), infinite_word("B"), infinite_word("1")
    ('saturated', 'never', '∞')
    """
    return INFINITE.get(unit, "∞")


def show_value(value: float, unit: str, inside: Quantity | None = None) -> str:
    """Return a value of a result for people: like `show`, with words for infinities.

    >>> show_value(2.5e-7, "s"), show_value(np.inf, "s"), show_value(np.inf, "B")
    ('250 ns', 'saturated', 'never')
    >>> show_value(-np.inf, "B"), show_value(np.nan, "1")
    ('-∞', 'undefined')
    """
    if math.isfinite(value):
        return show(value, unit, inside)
    return "undefined" if math.isnan(value) else infinite_word(unit) if value > 0 else "-∞"


def show(value: float, unit: str, inside: Quantity | None = None) -> str:
    """Return a value with its unit in four digits, as a study may contain it.

    `inside`: the quantity of the value. If its domain contains the value, it also contains the
    rounded value, which gets more digits if necessary.

    >>> show(1024.0, "B"), show(2.0**25, "B"), show(0.5, "1"), show(2.5e-7, "s")
    ('1,024 B', '32 MiB', '0.5', '250 ns')
    >>> show(0.99996, "1"), show(0.99996, "1", Quantity("1", "share", below=1))
    ('1', '0.99996')
    """
    scale, shown = 1.0, unit
    if unit in PREFIXES and value and math.isfinite(value):
        scale, shown = _prefix(abs(value), unit)
    text = show_number(value / scale)
    if inside is not None and inside.contains(value):
        for digits in range(4, _MAX_DIGITS + 1):
            text = show_number(value / scale, digits)
            if inside.contains(float(_plain(text)) * scale):
                break
    return text if unit == "1" else f"{text} {shown}"


def show_apart(first: float, second: float, unit: str) -> tuple[str, str]:
    """Return two values with their unit, in the fewest digits that distinguish them, at least four.

    >>> show_apart(4096.0, 4087.0, "B"), show_apart(1.00004, 1.00002, "1")
    (('4,096 B', '4,087 B'), ('1.00004', '1.00002'))
    """
    texts = show(first, unit), show(second, unit)
    for digits in range(5, _MAX_DIGITS + 1):
        if first == second or texts[0] != texts[1]:
            break
        scale, shown = _prefix(abs(first), unit) if unit in PREFIXES and first else (1.0, unit)
        numbers = [show_number(value / scale, digits) for value in (first, second)]
        texts = numbers[0] + f" {shown}" * (unit != "1"), numbers[1] + f" {shown}" * (unit != "1")
    return texts


def _prefix(size: float, unit: str) -> tuple[float, str]:
    """Return the scale and the prefixed unit for one value above 0."""
    table = PREFIXES[unit]
    if unit == "B":
        power = 0 if size < _FIRST_BYTES else min(4, int(math.log2(size) // 10))
    else:
        most = 0 if unit == "s" else 3  # nobody writes ks
        power = max(-4, min(most, math.floor(math.log10(size) / 3))) + 4
    prefix, scale = list(table.items())[power]
    return scale, prefix + unit


def show_number(value: float, digits: int = 4) -> str:
    """Return a number in a number of digits; whole numbers below ten million in full.

    >>> [show_number(value) for value in (1234567.0, 0.123456, 12345.6, 5e7, 3.2194e-7)]
    ['1,234,567', '0.1235', '12,346', '5×10⁷', '3.219×10⁻⁷']
    """
    size, most = abs(value), 10.0**digits - 0.5
    if size < 1e7 and value == round(value):
        return f"{int(value):,}"
    if most <= size < 1e7:
        return f"{value:,.0f}"
    return _powered(f"{value:,.{digits}g}")


def _powered(text: str) -> str:
    """Return a number with its power of ten as people write it."""
    head, e, power = text.partition("e")
    return f"{head}×10{str(int(power)).translate(SUPERSCRIPT)}" if e else text


def _plain(text: str) -> str:
    """Return a number from `show_number` in the form that `float` reads."""
    head, times, power = text.replace(",", "").partition("×10")
    back = {new: old for old, new in SUPERSCRIPT.items()}
    return f"{head}e{power.translate(back)}" if times else head


def choose_decimals(values: ArrayLike) -> int | None:
    """Return the number of decimals that align a column; None if the range is too wide.

    The smallest gets three digits.

    >>> choose_decimals([18.93, 4.535, 1.078]), choose_decimals([3.0, 20_000.0])
    (2, 0)
    >>> choose_decimals([1e-6, 1.5]) is None
    True
    """
    x = np.asarray(values, dtype=np.float64)
    x = np.abs(x[np.isfinite(x)])
    if (x == np.round(x)).all():
        return 0 if not x.size or x.max() < 1e7 else None
    x = x[x > 0]
    if x.max() > 1e5 * x.min() or x.max() >= 1e7 or x.min() < 1e-4:
        return None
    return max(0, 2 - math.floor(math.log10(x.min())))


def align_numbers(values: ArrayLike) -> list[str]:
    """Return a column of numbers with aligned decimal points.

    >>> align_numbers([18.934, 4.5351, np.inf]), align_numbers([1e-6, 1.5])
    (['18.93', '4.54', '∞'], ['1×10⁻⁶', '1.5'])
    """
    places = choose_decimals(values)
    return [
        infinite_word("")
        if x == np.inf
        else show_number(x)
        if places is None
        else f"{x:,.{places}f}"
        for x in np.asarray(values, dtype=np.float64).tolist()
    ]


def choose_prefix(values: ArrayLike, unit: str) -> tuple[float, str]:
    """Return the scale and the prefixed unit that suit the median of some values.

    A unit that takes no prefix gets a power of ten, if the values are far from 1.

    >>> choose_prefix([2e-7, 3e-7], "s"), choose_prefix([4096.0], "B")
    ((1e-09, 'ns'), (1024.0, 'KiB'))
    >>> choose_prefix([4096.0], "cycle")
    (1.0, 'cycle')
    >>> choose_prefix([6.67e7], "element/s")
    (1000000.0, '10⁶ element/s')
    """
    table = PREFIXES.get(unit, {})
    x = np.abs(np.asarray(values, dtype=np.float64))
    x = x[np.isfinite(x) & (x > 0)]
    if not x.size or unit in ("", "1"):
        return 1.0, unit
    middle = float(np.median(x))
    if not table:
        power = 3 * math.floor(math.log10(middle) / 3)
        if 1e-4 <= middle < 1e7:
            return 1.0, unit
        return 10.0**power, f"10{str(power).translate(SUPERSCRIPT)} {unit}"
    fitting = [(scale, prefix) for prefix, scale in table.items() if scale <= middle]
    scale, prefix = max(fitting) if fitting else min((s, p) for p, s in table.items())
    return scale, prefix + unit


def add_unit(name: str, unit: str) -> str:
    """Return a name with its unit; only the name if the unit is 1.

    >>> add_unit("latency", "ns"), add_unit("speedup", "1")
    ('latency [ns]', 'speedup')
    """
    return name if unit in ("1", "") else f"{name} [{unit}]"


def shorten_number(value: float) -> str:
    """Return a number in few characters.

    >>> shorten_number(1234567.0), shorten_number(0.5), shorten_number(float("nan"))
    ('1.23M', '0.5', '')
    """
    if not math.isfinite(value):
        return ""
    for scale, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.3g}{prefix}"
    return f"{value:.3g}"


def show_count(value: int) -> str:
    """Return a count as text, with separators.

    >>> show_count(1234567), show_count(10**20)
    ('1,234,567', 'about 1×10²⁰')
    """
    if value < 10**15:
        return f"{value:,}"
    first, power = float(str(value)[:3]) / 100, len(str(value)) - 1  # of any size, unlike a float
    return f"about {_powered(f'{first:.2g}e{power}')}"


def plural(value: int, one: str, many: str = "") -> str:
    """Return a count with a noun in the singular or plural.

    >>> plural(1, "design"), plural(1200, "design"), plural(0, "box", "boxes")
    ('1 design', '1,200 designs', '0 boxes')
    """
    return f"{show_count(value)} {one if value == 1 else many or one + 's'}"


def word_name(name: str) -> str:
    """Return the name of a quantity in words.

    >>> word_name("interface_latency")
    'interface latency'
    """
    return name.replace("_", " ")


def join_words(words: Iterable[str], last: str = "and") -> str:
    """Return words as an enumeration.

    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    every = list(words)
    return f" {last} ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def show_percent(fraction: float, digits: int = 3) -> str:
    """Return a fraction in percent; one above 1 as a factor.

    A part is never shown as nothing or as all.

    >>> show_percent(0.0123), show_percent(0.99999), show_percent(0.126, digits=2)
    ('1.23 %', '99.9 %', '13 %')
    >>> show_percent(3.5)
    'a factor of 4.5'
    """
    if fraction > 1:
        return f"a factor of {1 + fraction:.{digits}g}"
    shown = min(fraction, 1 - 10.0**-digits) if fraction < 1 else fraction
    return f"{show_number(100 * shown, digits)} %"


def show_tolerance(fraction: float, digits: int = 3) -> str:
    """Return a proven tolerance as `show_percent` does, rounded up: less is not proven.

    >>> show_tolerance(0.01), show_tolerance(0.010049), show_tolerance(2.142)
    ('1 %', '1.01 %', 'a factor of 3.15')
    """
    size = 1 + fraction if fraction > 1 else fraction
    if not 0 < size < math.inf:
        return show_percent(fraction, digits)
    step = 10.0 ** (math.floor(math.log10(size)) + 1 - digits)
    size = math.ceil(round(size / step, 6)) * step  # the quotient may lose the last bit
    return show_percent(size - 1 if fraction > 1 else size, digits)


def add_conditions(name: str, condition: str) -> str:
    """Return a quantity with its conditions; a condition on one input shows only the value.

    >>> add_conditions("speedup", "at granularity = 1 KiB"), add_conditions("area", "")
    ('speedup at 1 KiB', 'area')
    >>> add_conditions("speedup", "mean over workload")
    'speedup, mean over workload'
    """
    head, equals, value = condition.partition(" = ")
    if equals and head.startswith("at ") and "=" not in value:
        return name if name.endswith(condition) else f"{name} at {value}"
    return name if not condition or name.endswith(condition) else f"{name}, {condition}"


def show_change(before: str, after: str) -> str:
    """Return two values as a change, with their common unit once.

    >>> show_change("10 cycle", "1 cycle"), show_change("never", "16 B")
    ('10 → 1 cycle', 'never → 16 B')
    """
    number, _, unit = before.partition(" ")
    common = unit and number[-1:].isdigit() and after.endswith(f" {unit}")
    return f"{number if common else before} → {after}"


def show_cell(value: Any) -> str:
    """Return a value for a cell of a table: four digits, whole numbers in full.

    >>> [show_cell(value) for value in (1234567, 1234.5, 0.123456, float("inf"), "SL1", True)]
    ['1,234,567', '1,234', '0.1235', '∞', 'SL1', 'yes']
    """
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # missing in pandas
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if not hasattr(value, "__float__"):
        return str(value)
    x = float(value)
    if not math.isfinite(x):
        return "–" if math.isnan(x) else "∞" if x > 0 else "-∞"
    if x.is_integer() and abs(x) < 1e15:
        return f"{x:,.0f}"
    return f"{x:,.0f}" if 999.5 <= abs(x) < 1e15 else _powered(f"{x:.4g}")


def json_value(value: Any) -> Any:
    """Return a value for JSON; infinities become "inf" and "-inf", which `float` reads.

    >>> json_value({"a": (1.5, np.inf), "b": np.array([np.nan, 2])})
    {'a': [1.5, 'inf'], 'b': [None, 2.0]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


# Amounts: values with their units in three or four digits, for sentences.

_GREAT = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_COUNTED = ("cycle", "instruction", "element", "call")
"""Units that are words: they take an "s" in the plural."""


def show_amount(value: float, unit: str) -> str:
    """Return a value with its unit in three or four digits, for a sentence.

    >>> show_amount(237188.0, "LUT"), show_amount(2.612e7, "cycle")
    ('237,000 LUT', '26.1 million cycles')
    >>> show_amount(9.76, "1"), show_amount(1.0, "call")
    ('9.76', '1 call')
    >>> show_amount(3.219e-7, "s"), show_amount(float("inf"), "B"), show_amount(0.99996, "1")
    ('321.9 ns', 'never', '1')
    >>> show_amount(7.945e-5, "1"), show_amount(1.16e15, "cycle")
    ('7.94×10⁻⁵', '1,160 trillion cycles')
    """
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else infinite_word(unit) if value > 0 else "-∞"
    if unit in PREFIXES:
        return show(value, unit)
    scale, word = next(((s, w) for s, w in _GREAT if abs(value) >= s), (1.0, ""))
    rounded = _rounded(value / scale)
    text = (
        f"{rounded:,.10g}" if 1e-4 <= abs(rounded) < 1e7 or not rounded else show_number(rounded, 3)
    )
    first, slash, rest = unit.partition("/")
    if first in _COUNTED and text != "1":
        unit = f"{first}s{slash}{rest}"
    return " ".join(each for each in (text, word, unit if unit != "1" else "") if each)


def show_bound(value: float, unit: str, *, up: bool) -> str:
    """Return a value as `show_amount` does, in three digits that are rounded up or down.

    >>> show_bound(523.5, "cycle", up=False), show_bound(12.791, "B", up=True)
    ('523 cycles', '12.8 B')
    >>> show_bound(20_065.0, "B", up=True), show_bound(1234.2, "cycle", up=True)
    ('19.6 KiB', '1,235 cycles')
    >>> show_bound(0.57, "1", up=False), show_bound(1.15e-9, "s", up=False)  # three digits stay
    ('0.57', '1.15 ns')
    """
    if not value:
        return show_amount(value, unit)
    scale = _prefix(abs(value), unit)[0] if unit in PREFIXES else 1.0
    shown = value / scale
    step = 10.0 ** (math.floor(math.log10(abs(shown))) - 2)
    if abs(shown) < 10_000:  # such whole numbers are shown as they are
        step = min(step, 1.0)
    steps = round(shown / step, 6)  # the quotient may lose the last bit of a number of three digits
    return show_amount((math.ceil if up else math.floor)(steps) * step * scale, unit)


def _rounded(value: float) -> float:
    """Return a value in three digits; whole numbers below 10,000 as they are.

    >>> _rounded(1024.0), _rounded(12345.0), _rounded(0.98765)
    (1024.0, 12300.0, 0.988)
    """
    if value == round(value) and abs(value) < 10_000:
        return value
    return float(f"{value:.3g}")
