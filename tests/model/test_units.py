"""Units: what a text means, what relates cycles and seconds, what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.units import (
    UnitError,
    conversion_factor,
    is_unit,
    list_known_units,
    read_value,
    resolve_unit,
    split_value,
    suggest_value,
)
from dse.model.values import show

# the micro sign, and the Greek letter next to it
POWERS = {"k": 3, "M": 6, "G": 9, "T": 12, "m": -3, "µ": -6, "μ": -6, "u": -6, "n": -9, "p": -12}
PREFIXES = {name: Fraction(10) ** power for name, power in POWERS.items()}
PREFIXES |= {"Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}
decimals = st.decimals(-(10**9), 10**9, places=4, allow_nan=False)


@given(decimals, st.sampled_from(sorted(PREFIXES)), st.sampled_from(["J", "s", "Hz", "W"]))
def test_prefixes_are_exact(number: object, prefix: str, unit: str) -> None:
    wanted = Fraction(str(number)) * PREFIXES[prefix]
    assert read_value(f"{number} {prefix}{unit}", unit) == float(wanted)


@given(decimals, st.integers(1, 10**10))
def test_a_clock_relates_seconds_and_cycles_exactly(number: object, clock: int) -> None:
    exact = Fraction(str(number))
    assert read_value(f"{number} ns", "cycle", clock) == float(exact * clock / 10**9)
    assert read_value(f"{number} cycle", "s", clock) == pytest.approx(
        float(exact / clock), rel=1e-15
    )
    assert read_value(f"{number} B/s", "B/cycle", clock) == pytest.approx(
        float(exact / clock), rel=1e-15
    )
    assert read_value(f"{number} cycle/B", "ns/B", clock) == pytest.approx(
        float(exact / clock * 10**9), rel=1e-15
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_alone_is_read_to_the_last_bit(number: float) -> None:
    assert read_value(repr(number), "B") == number
    assert read_value(f"{number!r} B", "B") == number


TEXTS: dict[str, dict[str, float]] = {
    "B": {
        "64 bit": 8,
        "2 word": 8,
        "1_000 B": 1000,
        "-3e2 B": -300,
        ".5 KiB": 512,
        "inf": math.inf,
    },
    "B/s": {"1 Gbit/s": 1.25e8},
    "1": {"5 %": 0.05, "5%": 0.05},
    "s": {"1 min": 60, "1 h": 3600},
    "J": {"1 W*s": 1, "1 kWh": 3.6e6},
    "USD": {"3 kUSD": 3000, "2 dollars": 2},
    "J/B": {"2 nJ/B": 2e-9, "3 pJ/bit": 24e-12},
    "m**2": {"1 mm**2": 1e-6},
    "stream": {"4 streams": 4, "4": 4},
    "call/s": {"1 kcall/s": 1000},
    "element/s": {"2 Melement/s": 2e6},
    "LUT4": {"400 kLUT4": 4e5, "400 LUT4s": 400},
    "ALM": {"12.7 kALM": 12_700},
    "W/LUT": {"2 mW/kLUT": 2e-6},
}


def test_texts() -> None:
    for unit, texts in TEXTS.items():
        assert {text: read_value(text, unit) for text in texts} == texts
    with pytest.raises(UnitError, match="unknown unit"):
        read_value("10 cm", "m")


REFUSED = """
|B|nan|nan B|1 s|1 B/s|1 B**2|1 furlong|1 B; import os|1 __import__('os')|1 lambda|1 2 B|1 10|1e400
1e400 B|1e9999999999999999999999 KiB|1 B**9**9**9**9**9|1 B^9^9^9^9^9|1 B**1e9|1 B**0.5|1 B*|1 /B
1 [time]|0x10 B
"""


@pytest.mark.parametrize(
    "text",
    [
        *REFUSED.strip().replace("\n", "|").split("|"),
        "1 " + "(" * 3000,
        "1 " + "(" * 20 + "B" + ")" * 20 + "**2",
        "1 " + "B*" * 400 + "B",
    ],
)
def test_refused_with_one_message_and_at_once(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        read_value(text, "B", 1e9)
    assert len(str(caught.value)) < 200 + len(text)


@pytest.mark.parametrize("text", ["1 mB", "8 mbit", "1 µB/s", "2 ns/nB"])
def test_a_millibyte_is_refused(text: str) -> None:
    """It passed for the megabyte that was meant."""
    with pytest.raises(UnitError, match="is a fraction of a byte or a bit"):
        read_value(text, "B")
    assert suggest_value("1 mB", "B") == "1 MB"


def test_seconds_for_cycles_want_a_clock() -> None:
    with pytest.raises(UnitError, match="give 'clock'"):
        read_value("10 ns", "cycle")
    with pytest.raises(UnitError, match="is in cycles, but 's' is needed"):
        read_value("10 cycle", "s")
    # it was called a time in cycles
    with pytest.raises(UnitError, match="'1 call/s' is per second, but 'call/cycle' is needed"):
        read_value("1 call/s", "call/cycle")
    with pytest.raises(UnitError, match="'1 B/cycle' is per cycle, but 'B/s' is needed"):
        read_value("1 B/cycle", "B/s")


@pytest.mark.parametrize(
    ("given_unit", "wanted", "scale", "power"),
    [
        ("s", "cycle", 1.0, 1),
        ("cycle", "us", 1e6, -1),
        ("B/s", "KiB/cycle", 1 / 1024, -1),
        ("cycle/B", "ns/KiB", 1024e9, -1),
        ("s**2", "cycle**2", 1.0, 2),
        ("1", "%", 100.0, 0),
        ("MHz", "cycle/s", 1e6, 0),
        ("Mcycle/s", "Hz", 1e6, 0),
    ],
)
def test_factor(given_unit: str, wanted: str, scale: float, power: int) -> None:
    got = conversion_factor(given_unit, wanted)
    assert got[0] == pytest.approx(scale, rel=1e-14)
    assert got[1] == power


@pytest.mark.parametrize("pair", [("B", "s"), ("cycle", "Hz"), ("s**0.5", "1"), ("LUT", "gate")])
def test_no_factor(pair: tuple[str, str]) -> None:
    with pytest.raises(UnitError):
        conversion_factor(*pair)


def test_known_units() -> None:
    assert all(map(is_unit, ["1", "B", "cycle/B", "LUT", "GE", "m**2", "1/s", "B/(s*LUT)", "%"]))
    assert all(map(is_unit, ["element/s", "call/s", "stream", "LUT4/bit", "ALM", "LUT4**2"]))
    assert not any(map(is_unit, ["furlong", "B/", "5", "B 2", "s**0.5", "LUT6", "LUT44", "4LUT"]))


@pytest.mark.parametrize(
    "text",
    [
        *("KiB**9**9", "KiB^9^9", "KiB**99", "KiB squared squared", "KiB⁹⁹", "B**1e9", "9**9"),
        *("(" * 60, "((((((((((KiB**9)**9)**9)**9)**9)**9)**9)**9)**9)**9)"),
        "(((((KiB⁹)⁹)⁹)⁹)⁹)⁹",
    ],
)
def test_huge_powers_are_no_units(text: str) -> None:
    assert not is_unit(text)


def test_a_product_of_units_needs_no_pint() -> None:
    code = (
        "import sys; from dse.model.units import load_vocabulary, resolve_unit\n"
        "units = ('B', 's', '1', 'kLUT', 'KiB/s', 'B * s**2')\n"
        "load_vocabulary(), [resolve_unit(unit) for unit in units]\n"
        "print('pint' in sys.modules), resolve_unit('B/(s)'), print('pint' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert done.stderr == ""


def test_units_are_as_pint_reads_them() -> None:
    for unit in list_known_units():  # pint reads texts with parentheses
        for text in (unit, f"{unit}/s", f"1 / {unit}", f"GE**2*{unit}/kB", f"element * {unit}**3"):
            assert resolve_unit(text) == resolve_unit(f"({text})"), text


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (math.inf, "B", "inf B"),
        (math.inf, "cycle", "inf cycle"),
        (-math.inf, "1", "-inf"),
        (math.nan, "s", "nan s"),
        (0.0, "s", "0 s"),
        (10_239.0, "B", "10,239 B"),
        (10_240.0, "B", "10 KiB"),
        (-(2.0**31), "B", "-2 GiB"),
        (1.16e9, "Hz", "1.16 GHz"),
        (12_345.6, "cycle", "12,346 cycle"),
        (9_999.96, "cycle", "10,000 cycle"),
        (1_234_567.0, "LUT", "1,234,567 LUT"),
        (5e7, "LUT", "5×10⁷ LUT"),
        (0.1 + 0.2, "1", "0.3"),
        (1e-20, "s", "1×10⁻⁸ ps"),
    ],
)
def test_show(value: float, unit: str, words: str) -> None:
    assert show(value, unit) == words


@given(st.floats(1e-12, 1e12), st.sampled_from(["B", "s", "Hz", "cycle", "1"]))
def test_what_is_shown_reads_back(value: float, unit: str) -> None:
    words = show(value, unit).replace(",", "")
    assert read_value(words, unit) == pytest.approx(value, rel=6e-4)


def test_a_number_is_kept_as_written_and_has_no_commas() -> None:
    assert split_value(" 1.160 GHz ") == (1.16, "1.160", "GHz")
    assert (split_value("5%"), split_value("7")) == ((5.0, "5", "%"), (7.0, "7", ""))
    for text in ("29,000 cycle", "0,5"):
        with pytest.raises(UnitError, match="has a comma: write 29000"):
            read_value(text, "cycle")


@pytest.mark.parametrize(
    ("given", "wanted", "words"),
    [
        ("KiB", "1", "'KiB' is a unit of information; a plain number is needed"),
        ("ms", "B", "'ms' is a unit of time; a number in 'B' is needed"),
        ("LUT", "B", "'LUT' is a unit of another kind; a number in 'B' is needed"),
        ("element/s", "call/s", "'element/s' counts elements, not calls; a number in 'call/s' is"),
        ("call/B", "stream/B", "'call/B' counts calls, not streams; a number in 'stream/B' is"),
        ("1/s", "call/s", "'1/s' is a unit of frequency; a number in 'call/s' is needed"),
        ("call/s", "1/s", "'call/s' counts calls; a number in '1/s' is needed"),
        ("element", "1", "'element' counts elements; a plain number is needed"),
        ("kLUT4", "LUT", "'kLUT4' is in LUT4, not LUT; docs/reference/catalogs.md shows"),
        ("LUT", "ALM", "'LUT' is in LUT, not ALM; docs/reference/catalogs.md shows"),
        ("ALM/bit", "LUT/bit", "'ALM/bit' is in ALM, not LUT; docs/reference/catalogs.md shows"),
    ],
)
def test_a_unit_that_does_not_fit_is_reported_in_words(given: str, wanted: str, words: str) -> None:
    with pytest.raises(UnitError, match=words):
        conversion_factor(given, wanted)


@pytest.mark.parametrize(
    ("text", "unit", "near"),
    [
        ("1.16 Ghz", "Hz", "1.16 GHz"),
        ("1 KB", "B", "1 kB"),
        ("1 kb", "B", "1 kB"),
        ("1.3 usec", "cycle", "1.3 us"),
        ("10x", "1", "10"),
        ("24 GB/s", "cycle/B", "41.67 ps/B"),
        ("24 MB/s", "s/B", "41.67 ns/B"),
        ("24 GB/s", "B", None),
        ("1 parsec", "B", None),
        ("fast", "Hz", None),
        ("830 ns", "cycle", None),  # it lacks a clock
    ],
)
def test_usual_slips_have_a_suggestion(text: str, unit: str, near: str | None) -> None:
    assert suggest_value(text, unit) == near
