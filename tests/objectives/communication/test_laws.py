"""Laws in the size of a problem: found exactly, fitted where there is none, written readably."""

from __future__ import annotations

import importlib.util
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.profile import Profile, ProfileOptions
from dse.profile.command import build_program
from objectives.communication.laws import (
    TERMS,
    Law,
    Notation,
    Term,
    fit_law,
    write_law,
)

FOLDER = Path(__file__).parents[3] / "studies" / "profiles"
SIDES = (8, 16, 32, 64, 128, 256, 512)
SIZES = [side * side for side in SIDES]
NEVER_SEEN = 4096 * 4096


def count(pairs: dict[tuple[str, int], Fraction], n: int) -> Fraction:
    """Add the terms up in another way than the product does: from the side, in whole numbers."""
    side, log = math.isqrt(n), n.bit_length() - 1
    total = Fraction(0)
    for (power, logs), coefficient in pairs.items():
        total += coefficient * side ** int(2 * Fraction(power)) * log**logs
    return total


POWERS = [("0", 0), ("0", 1), ("1/2", 0), ("1/2", 1), ("1", 0), ("1", 1), ("3/2", 0), ("2", 0)]
COEFFICIENTS = st.one_of(
    st.integers(1, 1000).map(Fraction),
    st.fractions(min_value=Fraction(1, 8), max_value=100, max_denominator=8),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(POWERS), COEFFICIENTS, min_size=1, max_size=4), st.data())
def test_a_sum_of_up_to_four_terms_is_found_to_the_last_unit(
    pairs: dict[tuple[str, int], Fraction], data: st.DataObject
) -> None:
    whole = math.lcm(*(c.denominator for c in pairs.values()))
    counts = [count(pairs, n) for n in SIZES]
    if any(c.denominator != 1 for c in counts):
        pairs = {term: c * whole for term, c in pairs.items()}
        counts = [count(pairs, n) for n in SIZES]
    order = data.draw(st.permutations(range(7)))
    law = fit_law([SIZES[i] for i in order], [int(counts[i]) for i in order])
    found = {(str(t.power), t.log): c for t, c in zip(law.terms, law.coefficients, strict=True)}
    assert law.exact
    assert found == pairs
    assert law.at(NEVER_SEEN) == pytest.approx(float(count(pairs, NEVER_SEEN)), rel=1e-12)


def test_sizes_that_are_neither_squares_nor_powers_of_two_have_laws_in_whole_powers() -> None:
    sizes = [10, 20, 30, 50, 70, 110]
    law = fit_law(sizes, [n**3 - n * n + 5 for n in sizes])
    assert law.exact
    assert write_law(law, Notation(unit="")) == "n³ − n² + 5"


def test_one_unit_off_at_the_largest_size_is_no_exact_law() -> None:
    counts = [4 * n + 16 for n in SIZES]
    counts[-1] += 1
    law = fit_law(SIZES, counts)
    assert not law.exact
    assert 0 < law.residual < 1e-4


@pytest.mark.parametrize(("sizes", "most"), [(3, 1), (4, 1), (5, 2), (6, 3), (7, 4)])
def test_a_law_needs_sizes_left_to_verify_it(sizes: int, most: int) -> None:
    pairs = {("2", 0): Fraction(3), ("1", 1): Fraction(2), ("1/2", 0): Fraction(7)}
    pairs |= {("0", 0): Fraction(11)}
    for terms in range(1, 5):
        some = dict(list(pairs.items())[:terms])
        counts = [int(count(some, n)) for n in SIZES[:sizes]]
        assert fit_law(SIZES[:sizes], counts).exact == (terms <= most)


@pytest.mark.parametrize("power", ["1/2", "1", "3/2", "2"])
def test_the_leading_term_is_found_through_noise(power: str) -> None:
    noise = np.random.default_rng(7).normal(0, 0.01, 7)
    exact = np.array([1000.0 * n ** float(Fraction(power)) for n in SIZES])
    counts = [int(c) for c in exact * (1 + noise)]
    law = fit_law(SIZES, counts)
    assert not law.exact
    assert law.terms[-1] == Term(Fraction(power), 0)
    given = [
        float(sum(float(c) * t.at(n) for t, c in zip(law.terms, law.coefficients, strict=True)))
        for n in SIZES
    ]
    off = max(abs(g - c) / c for g, c in zip(given, counts, strict=True))
    assert law.residual == pytest.approx(off)
    assert law.residual < 0.03
    # the same terms without the largest size, by numpy's polynomial-free normal equations
    columns = np.stack([t.at(np.array(SIZES[:-1])) for t in law.terms], axis=1)
    weighted = columns / np.array(counts[:-1])[:, None]
    solved = np.linalg.solve(weighted.T @ weighted, weighted.T @ np.ones(6))
    guess = sum(c * t.at(SIZES[-1]) for c, t in zip(solved, law.terms, strict=True))
    assert law.held_out == pytest.approx(abs(float(guess) / counts[-1] - 1), rel=1e-4)


def test_no_law_falls_as_the_problem_grows() -> None:
    law = fit_law(SIZES, [900, 500, 300, 200, 100, 50, 10])
    assert law.coefficients[-1] > 0
    assert law.residual > 0.3  # and says so


def test_nothing_at_every_size_is_the_empty_law() -> None:
    law = fit_law(SIZES, [0] * 7)
    assert law == Law((), (), True, 0.0, 0.0)
    assert write_law(law) == "0 B"
    assert law.at(np.array([[64.0, 256.0]])).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("sizes", [[64, 256], [64, 64, 256], [0, 64, 256]])
def test_bad_sizes_are_reported(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="at least 3 positive whole numbers, each once"):
        fit_law(sizes, range(len(sizes)))


def law(**coefficients: str) -> Law:
    """Build a law: `n1l1` stands for n·log2 n, `n1_5` for n^1.5."""
    pairs = []
    for name, value in coefficients.items():
        power, _, log = name[1:].partition("l")
        pairs.append((Term(Fraction(power.replace("_", ".")), int(log or 0)), Fraction(value)))
    pairs.sort(key=lambda pair: TERMS.index(pair[0]))
    return Law(tuple(t for t, _ in pairs), tuple(c for _, c in pairs), True, 0, 0)


SIDE = Notation(root="side")
PLAIN = Notation(unit="instructions")


@pytest.mark.parametrize(
    ("given", "notation", "text"),
    [
        (law(n1="4", n0="16"), None, "n words + 16 B"),
        (law(n1="8", n0="-4"), None, "2·n words − 4 B"),
        (law(n1="3", n0="15"), None, "3·n + 15 B"),
        (law(n1="6", n0="3"), PLAIN, "6·n + 3 instructions"),
        (law(n1l1="2", n1="-4"), SIDE, "(log2(side) − 1)·n words"),
        (law(n1l1="2", n1="-4"), None, "2·(log2(n) − 2)·n B"),
        (law(n1l1="1/2", n1="17/4", n0_5="-5/2", n0="-2"), PLAIN._replace(root="side"),
         "(log2(side) + 17/4)·n − 5/2·side − 2 instructions"),
        (law(n1="-1", n2="1"), PLAIN, "n² − n instructions"),
        (law(n1_5="12"), SIDE, "3·n·side words"),
        (law(n1_5="12"), None, "3·n·√n words"),
        (law(n0l1="1", n0="7"), PLAIN, "log2(n) + 7 instructions"),
        (law(n0="20"), None, "20 B"),
        (law(n3="1/3"), PLAIN, "1/3·n³ instructions"),
    ],
)  # fmt: skip
def test_laws_read_as_one_would_write_them(
    given: Law, notation: Notation | None, text: str
) -> None:
    assert write_law(given, notation) == text


def test_a_fitted_law_says_how_far_it_is_off() -> None:
    fitted = Law((Term(Fraction(1), 0),), (Fraction(9.003),), False, 0.0002, 0.001)
    assert write_law(fitted, PLAIN) == "≈ 9.003·n instructions (within 0.0002 of the count)"


def profiles(way: str) -> list[Profile]:
    return [Profile.load(FOLDER / "rotate" / f"{way}-{side:03}.json") for side in SIDES]


def moved(way: str, source: str, to: str, field: str = "transfers") -> list[int]:
    return [
        sum(t.bytes for t in getattr(p, field) if (t.source, t.to) == (source, to))
        for p in profiles(way)
    ]


@pytest.mark.parametrize(
    ("way", "source", "to", "text"),
    [
        ("iterative", "load", "turn_rings", "n words + 16 B"),
        ("iterative", "turn_rings", "store", "n words"),
        ("iterative", "load", "store", "20 B"),
        ("recursive", "load", "turn_quarters", "2·n words − 4 B"),  # (n − 1)/3 calls read 12 B each
        ("recursive", "turn_quarters", "turn_quarters", "(log2(side) − 1)·n words"),
        ("recursive", "turn_quarters", "store", "n words"),
        ("recursive", "load", "store", "20 B"),
    ],
)
def test_the_rotation_follows_the_laws_derived_by_hand(
    way: str, source: str, to: str, text: str
) -> None:
    counts = moved(way, source, to)
    assert write_law(fit_law(SIZES, counts), SIDE) == text
    from_six = fit_law(SIZES[:-1], counts[:-1])
    assert from_six.exact
    assert from_six.at(SIZES[-1]) == counts[-1]  # a size that the law has not seen


def test_the_recursion_as_a_whole_reads_the_picture_once() -> None:
    counts = moved("recursive", "load", "turn_quarters", "transfers_into")
    assert write_law(fit_law(SIZES, counts), SIDE) == "n words + 12 B"


def computation(way: str, function: str) -> list[int]:
    return [next(f.computation for f in p.functions if f.name == function) for p in profiles(way)]


def test_computation_of_the_recursion_grows_by_the_logarithm_of_the_side() -> None:
    law = fit_law(SIZES, computation("recursive", "turn_quarters"))
    assert law.exact
    assert law.terms[-1] == Term(Fraction(1), 1)
    rings = fit_law(SIZES, computation("iterative", "turn_rings"))
    assert rings.exact
    assert rings.terms[-1] == Term(Fraction(1), 0)


def test_what_depends_on_the_digits_of_the_side_has_no_exact_law() -> None:
    law = fit_law(SIZES, computation("iterative", "digits"))
    assert not law.exact
    assert 0.01 < law.residual < 0.5


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("profiles_of_rotate", FOLDER / "rotate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_kept_profiles_are_those_of_the_program(maker: ModuleType) -> None:
    assert maker.SIDES == SIDES
    with tempfile.TemporaryDirectory() as name:
        built = build_program(ProfileOptions(maker.SOURCES, caches=()), Path(name))
        for way in ("iterative", "recursive"):
            fresh = maker.profile_at(built, way, 32, Path(name))
            kept = Profile.load(FOLDER / "rotate" / f"{way}-032.json")
            for field in ("functions", "transfers", "transfers_into", "transfers_out", "call_tree"):
                assert getattr(fresh, field) == getattr(kept, field)
            assert (fresh.program.digest, kept.run.complete) == (kept.program.digest, True)
        raster = np.frombuffer(maker.picture(32)[-32 * 32 * 3 :], np.uint8).reshape(32, 32, 3)
        turned = (Path(name) / "turned.ppm").read_bytes()
        assert turned == b"P6\n32 32\n255\n" + raster[::-1].swapaxes(0, 1).tobytes()
