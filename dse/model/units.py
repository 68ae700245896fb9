"""Units: a text with a unit becomes a number in base units, the unit of all arrays.

Cycles and seconds are different dimensions that a clock relates: a text in seconds is accepted for
a quantity in cycles (and the other way round) if a clock is given. The counted things are part of a
unit: elements, calls and streams are different dimensions. A LUT is a 6-input LUT of Xilinx' 7
series; 4-input LUTs (``LUT4``) and Intel's adaptive logic modules (``ALM``) are other dimensions.
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from dse.problems import closest

if TYPE_CHECKING:
    import pint

DEFINITIONS = """
kilo- = 1e3 = k-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
milli- = 1e-3 = m-
micro- = 1e-6 = µ- = \u03bc- = u-
nano- = 1e-9 = n-
pico- = 1e-12 = p-
kibi- = 1024.0 = Ki-
mebi- = 1048576.0 = Mi-
gibi- = 1073741824.0 = Gi-
byte = [information] = B
bit = 0.125 * byte
word = 4.0 * byte
second = [time] = s
minute = 60.0 * second = min
hour = 3600.0 * second = h
hertz = 1 / second = Hz
meter = [length] = m
gram = [mass] = g
newton = 1e3 * gram * meter / second ** 2 = N
joule = newton * meter = J
watt = joule / second = W
watt_hour = 3600.0 * joule = Wh
percent = 0.01 = %
operation = [] = op = count = instruction
lut = [lut] = LUT
lut4 = [lut4] = LUT4
alm = [alm] = ALM
flip_flop = [flip_flop] = FF
gate = [gate] = GE
cycle = [cycle]
slice = [slice]
element = [element]
stream = [stream]
call = [call]
dollar = [currency] = USD
""".strip().splitlines()
"""The vocabulary as pint reads it: prefixes, then units.

All scales are floats. Python would compute a huge power of an integer to the last digit.
"""


def _names(is_prefix: bool) -> list[list[str]]:
    """Return the names of each prefix or unit: its symbol first if it has one."""
    lines = (line.split(" = ") for line in DEFINITIONS)
    return [
        [name.rstrip("-") for name in (*symbols, long_name)]
        for long_name, _, *symbols in lines
        if long_name.endswith("-") == is_prefix
    ]


SYMBOLS = tuple(names[0] for names in _names(is_prefix=False))
"""One symbol per unit."""
_PREFIXES: dict[str, float] = {}
_UNITS: dict[str, tuple[float, dict[str, int]]] = {}
_SCALE = re.compile(r"([\d.]+(?:e\d+)?)(?: \* |$)")
_FACTOR = re.compile(r"(^|(?!^)[*/])\s*(?:1(?![\w.])|([^\W\d]\w*|%))\s*(?:\*\*\s*(\d)\s*)?")


def _multiply(text: str) -> tuple[float, dict[str, int]] | None:
    """Return a product of known units as `resolve_unit` does; None if pint must read the text.

    Pint takes 0.2 seconds to load. It rounds products and powers of scales in its own way.
    """
    scale, dimension, end = 1.0, dict[str, int](), 0
    for factor in _FACTOR.finditer(text):
        operator, name, exponent = factor.groups()
        unit = _find_unit(name or "")
        several = unit is not None and unit[0] != 1.0 and (scale != 1.0 or exponent)
        if unit is None or several or factor.start() != end:
            return None
        power, end = int(exponent or 1) * (-1 if operator == "/" else 1), factor.end()
        scale *= unit[0] ** power
        for key, value in unit[1].items():
            dimension[key] = dimension.get(key, 0) + value * power
    return (scale, {k: v for k, v in dimension.items() if v}) if end == len(text) else None


def _find_unit(name: str) -> tuple[float, dict[str, int]] | None:
    """Return a unit, or a basic unit with a prefix; None if it is neither."""
    if name in _UNITS or not name:
        return _UNITS.get(name, (1.0, {}))
    units = ((scale, _UNITS.get(name.removeprefix(p))) for p, scale in _PREFIXES.items())
    return next(((scale, unit[1]) for scale, unit in units if unit and unit[0] == 1.0), None)


for _name, _value, *_symbols in (line.split(" = ") for line in DEFINITIONS):
    _scale = _SCALE.match(_value)
    if _name.endswith("-"):
        _PREFIXES |= {name.rstrip("-"): float(_value) for name in (*_symbols, _name)}
    elif _value.startswith("["):
        _UNITS |= dict.fromkeys((*_symbols, _name), (1.0, {_value: 1} if _value != "[]" else {}))
    elif _unit := _multiply(_value[_scale.end() :] if _scale else _value):
        _unit = float(_scale[1] if _scale else 1) * _unit[0], _unit[1]
        _UNITS |= dict.fromkeys((*_symbols, _name), _unit)
# Letters, one digit per power and no power of a power: pint computes all that it is given. A unit
# is read part by part: a repetition of all would backtrack for ever, and the possessive one, *+,
# accepts too much in Python 3.11.2.
_PART = re.compile(
    r"""(?!(?:sq|square|squared|cubic|cubed)\b) [A-Za-zµ\u03bc_] [A-Za-z0-9µ\u03bc_]*
      | [%1()/\s] | \*(?!\*)
      | (?: (?:\*\*|\^) \s* -?[0-9] | ⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹] ) (?! [\w.] | \s*(?:\*\*|\^) )""",
    re.VERBOSE,
)


def _has_known_parts(text: str) -> bool:
    """Return whether a unit consists of names, operators and small powers only."""
    end = 0
    while part := _PART.match(text, end):
        end = part.end()
    return end == len(text)


_TEN = re.compile(r"(?<=\d)×10(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")  # as reports write it
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_NUMBER = re.compile(
    r"[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?"
)
_BYTE_FRACTION = re.compile("(?<![A-Za-z])[mµ\u03bcunp](B|bit)(?![A-Za-z])")  # for MB and Mbit
_LONGEST_UNIT = 60  # characters
_ROUNDING = 1e-9  # of powers that roots gave
_LONGEST_TEXT = 500  # characters of a number with a unit
KNOWN_UNITS = (
    "known are B, bit, s, cycle, Hz, m, J, W, LUT, LUT4, ALM, element, call, stream…, "
    "with prefixes such as k, M, n, Ki"
)
"""The list of units for an error message."""


class UnitError(ValueError):
    """A text is not a number with a unit that fits; the message names a unit that does."""


def is_unit(unit: str) -> bool:
    """Return whether a text names a known unit; ``"1"`` is a unit.

    >>> is_unit("cycle/B"), is_unit("furlong")
    (True, False)
    """
    try:
        _dimension(unit)
    except UnitError:
        return False
    return True


@functools.cache
def load_vocabulary() -> tuple[dict[str, float], dict[str, tuple[float, dict[str, int]]]]:
    """Return the prefixes with their factors, and the units as `resolve_unit` returns them.

    >>> prefixes, units = load_vocabulary()
    >>> prefixes["Ki"], units["B"], units["%"]
    (1024.0, (1.0, {'[information]': 1}), (0.01, {}))
    """
    prefixes = {name: resolve_unit(f"{name}byte")[0] for names in _names(True) for name in names}
    return prefixes, {name: resolve_unit(name) for names in _names(False) for name in names}


def list_known_units() -> list[str]:
    """Return the symbols that a text may have as its unit, with their prefixes."""
    prefixes, units = load_vocabulary()
    names = (prefix + unit for unit in units if unit != "%" for prefix in ("", *prefixes))
    return [name for name in names if not _BYTE_FRACTION.search(name)] + ["%"]


def resolve_unit(unit: str) -> tuple[float, dict[str, int]]:
    """Return how many basic units a unit is, and the powers of its dimensions.

    UnitError if the unit is unknown.

    >>> resolve_unit("KiB/s"), resolve_unit("stream")
    ((1024.0, {'[information]': 1, '[time]': -1}), (1.0, {'[stream]': 1}))
    """
    return _dimension(unit)


def conversion_factor(given: str, wanted: str) -> tuple[float, int]:
    """Return the factor from one unit to another, and the power of the clock that goes with it.

    A value in `given` times the factor times ``clock ** power`` (clock in Hz) is in `wanted`.

    UnitError if no factor relates them.

    >>> conversion_factor("KiB", "B")
    (1024.0, 0)
    >>> conversion_factor("ns", "cycle"), conversion_factor("MHz", "cycle/s")
    ((1e-09, 1), (1000000.0, 0))
    """
    if given == wanted:
        return 1.0, 0
    from_scale, from_dimension = _dimension(given)
    to_scale, to_dimension = _dimension(wanted)
    if from_dimension in _FREQUENCIES and to_dimension in _FREQUENCIES:
        return divide_scales(from_scale, to_scale), 0  # 1 MHz is a million cycles per second
    power = clock_power(from_dimension, to_dimension)
    if power is None:
        raise UnitError(_misfit(given, from_dimension, wanted, to_dimension))
    return divide_scales(from_scale, to_scale), int(power)


def clock_power(given: Mapping[str, float], wanted: Mapping[str, float]) -> float | None:
    """Return the power of the clock that relates two dimensions; None if none does.

    >>> clock_power({"[time]": 1}, {"[cycle]": 1}), clock_power({"[time]": 1}, {"[length]": 1})
    (1, None)
    """
    power = wanted.get("[cycle]", 0) - given.get("[cycle]", 0)
    left = {name: wanted.get(name, 0) - given.get(name, 0) for name in {*given, *wanted}}
    for name, change in (("[cycle]", -power), ("[time]", power)):
        left[name] = left.get(name, 0) + change
    return None if any(abs(value) > _ROUNDING for value in left.values()) else power


def divide_scales(given: float, wanted: float) -> float:
    """Return the quotient of two scales, without the rounding of the division."""
    ratio = given / wanted
    return float(f"{ratio:.15g}") if math.isfinite(ratio) else ratio


def scale_number(written: str, scale: float) -> float:
    """Return a number times a scale, computed in decimals.

    >>> scale_number("0.3", 1e-6)
    3e-07
    """
    with decimal.localcontext(decimal.Context(prec=40, traps=[])):
        return float(decimal.Decimal(written) * decimal.Decimal(repr(scale)))


_FREQUENCIES = ({"[time]": -1}, {"[cycle]": 1, "[time]": -1})
_KINDS = {
    frozenset({("[information]", 1)}): "information",
    frozenset({("[time]", 1)}): "time",
    frozenset({("[time]", -1)}): "frequency",
    frozenset({("[length]", 1)}): "length",
}


_COUNTED = {"[element]": "elements", "[call]": "calls", "[stream]": "streams"}
_AREAS = {"[lut]": "LUT", "[lut4]": "LUT4", "[alm]": "ALM"}


def _misfit(given: str, dimension: Mapping[str, int], wanted: str, other: Mapping[str, int]) -> str:
    """Return in words why a unit does not fit."""
    if (areas := _swapped(dimension, other, _AREAS)) is not None:
        return (
            f"{given!r} is in {areas[0]}, not {areas[1]}; "
            "docs/reference/catalogs.md shows how they convert"
        )
    needed = "a plain number" if wanted == "1" else f"a number in {wanted!r}"
    if (counted := _swapped(dimension, other, _COUNTED)) is not None:
        return f"{given!r} counts {counted[0]}, not {counted[1]}; {needed} is needed"
    kind = _KINDS.get(frozenset(dimension.items()))
    named = [word for key, word in _COUNTED.items() if dimension.get(key)]
    is_one = f"is a unit of {kind}" if kind else "is a unit of another kind"
    if named:
        is_one = f"counts {' and '.join(named)}"
    return f"{given!r} {is_one}; {needed} is needed"


def _swapped(
    one: Mapping[str, int], other: Mapping[str, int], names: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return the swapped parts of two units, if they differ only in their order."""
    differ = {k for k in {*one, *other} if one.get(k, 0) != other.get(k, 0)}
    mine, theirs = [k for k in differ if one.get(k)], [k for k in differ if other.get(k)]
    if len(mine) != 1 or len(theirs) != 1 or not differ <= names.keys():
        return None
    return names[mine[0]], names[theirs[0]]


def read_value(text: str, unit: str, clock: float | None = None) -> float:
    """Read a number with a unit, such as ``"1.16 GHz"``, into the base unit.

    `text`: the number; without a unit, it is already in `unit`. `clock`: clock rate [Hz] that
    relates cycles and seconds.

    UnitError if the text is not a number, or its unit is unknown or does not fit.

    >>> read_value("1 KiB", "B"), read_value("10 ns", "cycle", clock=1e9)
    (1024.0, 10.0)
    """
    number, written, rest = split_value(text)
    if math.isinf(number) and written[-1:].isdigit():
        raise UnitError(f"{text!r} is too large a number")
    if not rest:
        return number
    scale, power = conversion_factor(rest, unit)
    if power and clock is None:
        raise UnitError(
            f"{text!r} is {_clocked(rest)}, but {unit!r} is needed, and no clock relates them: "
            "give 'clock' in [inputs], such as clock = \"1 GHz\""
        )
    # Decimal arithmetic makes "0.3 us" the number 3e-7, and not its neighbour.
    with decimal.localcontext(decimal.Context(prec=40, traps=[])):
        value = decimal.Decimal(written) * decimal.Decimal(repr(scale))
        if power:
            value *= decimal.Decimal(repr(float(clock or 1.0))) ** power
        return float(value)


def _clocked(unit: str) -> str:
    """Return in words whether a unit counts seconds or cycles.

    >>> _clocked("us"), _clocked("GB/s"), _clocked("cycle/B")
    ('in seconds', 'per second', 'in cycles')
    """
    powers = resolve_unit(unit)[1]
    name, power = next((n, p) for n in ("time", "cycle") if (p := powers.get(f"[{n}]", 0)))
    word = "second" if name == "time" else name
    return f"in {word}s" if power > 0 else f"per {word}"


def split_value(text: str) -> tuple[float, str, str]:
    """Split a text into its number, the number as written, and its unit (empty if it has none).

    The number is the longest one at the beginning of the text; nothing is converted.

    UnitError if the text does not begin with a number.

    >>> split_value("1.16 GHz"), split_value("5×10⁷ LUT")
    ((1.16, '1.16', 'GHz'), (50000000.0, '5e7', 'LUT'))
    """
    if len(text) > _LONGEST_TEXT:
        start = f"{text[:_LONGEST_UNIT]!r}…"
        raise UnitError(f"{start} has {len(text):,} characters: a number with a unit has fewer")
    stripped = _TEN.sub(lambda found: f"e{found[1].translate(_RAISED)}", text.strip())
    if stripped.lower() in ("inf", "infinity"):
        return math.inf, stripped, ""
    found = _NUMBER.match(stripped)
    if found is None:
        raise UnitError(f'{text!r} is not a number with a unit, such as "1.5 KiB"')
    head, rest = found[0], stripped[found.end() :].strip()
    if rest.startswith(","):
        raise UnitError(f"{text!r} has a comma: write 29000 or 29_000, and 0.5 for a half")
    return float(head), head, rest


@functools.lru_cache(maxsize=512)
def _dimension(unit: str) -> tuple[float, dict[str, int]]:
    """Return the scale to the basic units and the powers of the dimensions.

    >>> _dimension("kB/s"), _dimension("m**2")
    ((1000.0, {'[information]': 1, '[time]': -1}), (1.0, {'[length]': 2}))
    """
    text = unit.strip()
    if part := _BYTE_FRACTION.search(text):
        raise UnitError(
            f"{part[0]!r} is a fraction of a byte or a bit; known are bit, B, kB, MB, KiB"
        )
    not_a_unit = UnitError(f"{unit[:_LONGEST_UNIT]!r} is not a unit, such as B/cycle or m**2")
    if len(text) > _LONGEST_UNIT or not _has_known_parts(text):
        raise not_a_unit
    if (product := _multiply(text)) is not None:
        return product
    import pint

    registry = _registry()
    try:
        quantity = registry.Quantity(1.0, registry.parse_units(text)).to_base_units()
    except pint.UndefinedUnitError:
        raise UnitError(f"unknown unit {unit!r}; {KNOWN_UNITS}") from None
    except Exception as error:  # the errors of pint's parser and of its tokenizer have many types
        raise not_a_unit from error
    scale = float(quantity.magnitude)
    if not 0.0 < scale < math.inf:
        raise not_a_unit
    return scale, {name: int(cast(float, power)) for name, power in quantity.dimensionality.items()}


@functools.cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry(DEFINITIONS, autoconvert_to_preferred=False)


# Corrections of texts that are no numbers with a unit, or have a unit that does not fit.

_SYMBOL = re.compile(r"[A-Za-zµ%]+\d?")
_MIN_SIMILARITY = 0.75  # of difflib, chosen such that one wrong letter in four is a slip of the pen


def nearest_unit(text: str) -> str | None:
    """Return the unit that a text most probably means; None if it is a unit, or near to none.

    >>> nearest_unit("LUTz"), nearest_unit("B/cyle"), nearest_unit("KB"), nearest_unit("shared")
    ('LUT', 'B/cycle', 'kB', None)
    """
    prefixes, units = load_vocabulary()
    scaled = (p + s for p in prefixes for s in ("B", "s", "Hz", "LUT", "W", "J", "bit", "cycle"))
    known = [*units, *scaled]
    folded = {each.casefold(): each for each in reversed(known)}

    def meant(found: re.Match[str]) -> str:
        word = found[0]
        if is_unit(word):
            return word
        return folded.get(word.casefold()) or closest(word, known, _MIN_SIMILARITY) or word

    near = _SYMBOL.sub(meant, text)
    return near if near != text and is_unit(near) else None


_HABITS = {"usec": "us", "msec": "ms", "nsec": "ns", "sec": "s", "kb": "kB", "KB": "kB", "x": "1"}
"""Usual texts that are no unit, or are too far from it to be found."""


def suggest_value(text: str, unit: str) -> str | None:
    """Correct the unit of a text; return None if no unit that fits is near.

    A rate that is given for a time is answered with its inverse.

    >>> suggest_value("1.16 Ghz", "Hz"), suggest_value("1.3 usec", "cycle")
    ('1.16 GHz', '1.3 us')
    >>> suggest_value("24 GB/s", "cycle/B"), suggest_value("3 furlong", "B")
    ('41.67 ps/B', None)
    """
    try:
        number, written, rest = split_value(text)
    except UnitError:
        return None
    near = rest if is_unit(rest) else _HABITS.get(rest) or nearest_unit(rest)
    if near is None:
        return None
    try:
        conversion_factor(near, unit)
    except UnitError:
        return _invert(number, near, unit)
    if near == rest:
        return None  # the unit is not the fault
    return written if near == "1" else f"{written} {near}"


def _invert(number: float, rate: str, unit: str) -> str | None:
    """Return the time per byte of a number of bytes per second; None if it is another unit."""
    scale, dimension = resolve_unit(rate)
    wants = resolve_unit(unit)[1]
    if dimension != {"[information]": 1, "[time]": -1} or wants.get("[information]") != -1:
        return None
    seconds = 1 / (number * scale) if number * scale else math.inf
    prefix, size = next(
        (p, s) for p, s in (("ns", 1e-9), ("ps", 1e-12)) if seconds >= s or p == "ps"
    )
    return f"{seconds / size:.4g} {prefix}/B" if math.isfinite(seconds) else None
