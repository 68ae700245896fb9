"""Fits of times made from known laws: exact recovery, intervals that hold, crossings, errors."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

from dse.fit.command import as_row, as_text
from dse.fit.law import EXPONENT, Shape, candidate_laws, crossings
from dse.fit.measurement_fit import Fit, fit
from dse.fit.page import page
from dse.fit.series import Series
from dse.model.quantity import Array
from dse.problems import InputError

SIZES: Array = np.exp2(np.arange(4.0, 25.0, 2.0))
NAN: Array = np.full(len(SIZES), np.nan)
LAWS = {  # h, C, β, c, l, A
    "sub-linear": (5e-7, 3e-8, 0.7, 1.3e-5, 0.0, 8.0),
    "linear": (5e-8, 3e-9, 1.0, 1.3e-5, 0.0, 5.0),
    "super-linear": (5e-8, 3e-9, 1.3, 1.3e-5, 2e-10, 20.0),
    "two crossings": (1e-7, 1e-7, 0.6, 2e-6, 2e-10, 10.0),
}


def host(law: tuple[float, ...], g: Array) -> Array:
    h, c, b, *_ = law
    return h + c * g**b


def device(law: tuple[float, ...], g: Array) -> Array:
    _, c, b, setup, line, gain = law
    return setup + line * g + c * g**b / gain


def ahead(law: tuple[float, ...], log_size: float) -> float:
    """Return by how much the host is slower at a size."""
    size: Array = np.exp(np.array([log_size]))
    return float((host(law, size) - device(law, size))[0])


def made(law: tuple[float, ...], sizes: Array = SIZES) -> Series:
    none = np.full(len(sizes), np.nan)
    return Series("made", sizes, host(law, sizes), device(law, sizes), none)


def inside(fitted: Fit, name: str, value: float) -> bool:
    low, high = fitted.intervals[name]
    return low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_exact_times_give_the_law_back(name: str) -> None:
    law = LAWS[name]
    found = fit(made(law))
    h, c, b, setup, line, gain = law
    wanted = {"host_fixed_time": h, "computational_index": c, "complexity": b}
    wanted["overhead_and_latency"] = setup
    if b == 1.0:
        wanted |= {"accelerated_time_per_byte": line + c / gain, "speedup_limit": gain}
    else:
        wanted |= {"latency_per_byte": line, "acceleration": gain}
    assert {k: found.parameters[k] for k in wanted} == pytest.approx(wanted, rel=1e-6, abs=0.0)
    assert all(inside(found, k, v) for k, v in wanted.items())
    true = brentq(partial(ahead, law), 0.0, 12.0, xtol=1e-13)
    assert found.analysis.break_even == pytest.approx(np.exp(true), rel=1e-6)
    assert found.left_out["worst"] < 1e-6


def test_both_crossings_are_found() -> None:
    law = LAWS["two crossings"]
    found = fit(made(law)).analysis
    end = brentq(partial(ahead, law), 12.0, 30.0, xtol=1e-13)
    assert found.end == pytest.approx(np.exp(end), rel=1e-6)
    assert np.isfinite(found.end)


def test_crossings_stand_where_speedup_is_reached() -> None:
    rng = np.random.default_rng(3)
    grid = np.geomspace(1.0, 2.0**60, 4001)
    for _ in range(40):
        law = (*10 ** rng.uniform(-9, -6, 2), rng.uniform(0.3, 1.7), *10 ** rng.uniform(-8, -4, 1))
        law = (*law, 10 ** rng.uniform(-12, -9), rng.uniform(0.5, 40.0))
        coordinates = np.log(np.insert(np.array(law), 5, 1e-300))
        coordinates[EXPONENT] = law[2]
        low, high = crossings(coordinates)
        pays = device(law, grid) <= host(law, grid)
        reached = (grid >= low) & (grid <= high) if np.isfinite(low) else np.zeros_like(pays)
        assert (pays != reached).mean() < 1e-3


def test_intervals_of_a_given_value_split_a_sum() -> None:
    law = LAWS["linear"]
    series = made((*law[:4], 2e-10, law[5]))
    plain = fit(series)
    assert "acceleration" not in plain.parameters
    assert any("one slope" in note and "--given" in note for note in plain.notes)
    assert any("o + L is" in note for note in plain.notes)
    split = fit(series, {"latency_per_byte": 2e-10, "overhead": 4e-6})
    assert split.parameters["acceleration"] == pytest.approx(5.0, rel=1e-6)
    assert split.parameters["latency"] == pytest.approx(9e-6, rel=1e-6)
    other = fit(series, {"acceleration": 5.0})
    assert other.parameters["latency_per_byte"] == pytest.approx(2e-10, rel=1e-6)


def test_sizes_returned_split_what_a_byte_costs_on_the_way_back() -> None:
    law, back = LAWS["linear"], 4e-10
    rng = np.random.default_rng(2)
    out = SIZES * rng.choice([0.1, 1.0, 3.0], len(SIZES))
    series = Series("made", SIZES, host(law, SIZES), device(law, SIZES) + back * out, out)
    found = fit(series)
    assert found.parameters["latency_per_byte_out"] == pytest.approx(back, rel=1e-6)
    assert found.parameters["overhead_and_latency"] == pytest.approx(1.3e-5, rel=1e-6)


def test_one_column_alone_is_fitted() -> None:
    law = LAWS["super-linear"]
    alone = fit(Series("host", SIZES, host(law, SIZES), NAN, NAN))
    assert alone.parameters["complexity"] == pytest.approx(1.3, rel=1e-6)
    assert alone.analysis.break_even is None
    line = fit(Series("device", SIZES, NAN, 1e-5 + 2e-9 * SIZES, NAN))
    assert line.parameters["accelerated_time_per_byte"] == pytest.approx(2e-9, rel=1e-6)
    assert line.parameters["overhead_and_latency"] == pytest.approx(1e-5, rel=1e-6)


def test_a_wild_point_is_named_and_does_not_carry_the_fit_away() -> None:
    law = LAWS["linear"]
    rng = np.random.default_rng(11)
    series = made(law)
    noisy = series.host * np.exp(0.01 * rng.standard_normal(len(SIZES)))
    noisy[4] *= 1.8
    found = fit(Series("made", SIZES, noisy, series.accelerated, NAN))
    assert found.parameters["computational_index"] == pytest.approx(3e-9, rel=0.03)
    assert any("outlier" in note and "4,096 B" in note for note in found.notes)


def test_a_kink_is_named_between_its_sizes() -> None:
    law = LAWS["linear"]
    sizes: Array = np.exp2(np.arange(4.0, 26.0))
    none: Array = np.full(len(sizes), np.nan)
    rng = np.random.default_rng(4)
    stepped = host(law, sizes) * np.where(sizes >= 2**17, 1.6, 1.0)
    stepped = stepped * np.exp(0.01 * rng.standard_normal(len(sizes)))
    found = fit(Series("made", sizes, stepped, none, none))
    assert any("kink between 64 KiB and 128 KiB" in note for note in found.notes)
    smooth = host(law, sizes) * np.exp(0.05 * rng.standard_normal(len(sizes)))
    quiet = fit(Series("made", sizes, smooth, none, none))
    assert not any("kink" in note for note in quiet.notes)


def test_never_and_always() -> None:
    slow = (5e-8, 3e-9, 1.0, 1.3e-5, 0.0, 0.5)
    never = fit(made(slow))
    assert never.analysis.break_even is None
    assert not never.analysis.always
    assert "offloading is beneficial at no size" in never.notes
    near = (5e-8, 3e-9, 1.0, 1e-8, 0.0, 5.0)
    always = fit(made(near))
    assert always.analysis.break_even is None
    assert always.analysis.always
    assert "offloading is beneficial at every size" in always.notes


def test_times_that_hardly_grow_are_refused() -> None:
    flat: Array = 1e-6 * (1.0 + 0.01 * np.tile([0.0, 1.0, 2.0], 4)[: len(SIZES)])
    with pytest.raises(InputError, match="hardly grow"):
        fit(Series("flat", SIZES, flat, NAN, NAN))


def test_the_linear_law_stays_simple_unless_the_times_speak_against_it() -> None:
    choices = candidate_laws(Shape(True, True, False, {}))
    assert choices[0].terms == 3
    rng = np.random.default_rng(9)
    curved = 0
    for _ in range(20):
        series = made(LAWS["linear"])
        noisy = series.host * np.exp(0.05 * rng.standard_normal(len(SIZES)))
        curved += fit(Series("made", SIZES, noisy, NAN, NAN)).analysis.law.free[EXPONENT]
    assert curved <= 4


def test_work_of_an_exponent_is_reported_per_byte_to_that_power() -> None:
    steep, line = (
        fit(Series("host", SIZES, host(LAWS[law], SIZES), NAN, NAN))
        for law in ("super-linear", "linear")
    )
    for told in (as_text(steep), page([steep], "times.csv")):
        (row,) = re.findall(r"computational_index\W.*?complexity", told, re.DOTALL)
        assert row.count("s/B^1.3") == row.count("s/B") == 3
    assert "s/B^1.3" in as_row(steep, "steep")
    assert "s/B^" not in as_text(line)
