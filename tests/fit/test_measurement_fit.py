"""Fits of times made from known laws: exact recovery, intervals that hold, crossings, errors."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

from dse.fit.command import as_row, as_text
from dse.fit.cpu_use import bound_busy_time
from dse.fit.intervals import Analysis
from dse.fit.law import (
    EXPONENT,
    FIXED,
    GAIN,
    INDEX,
    SETUP,
    Points,
    Shape,
    candidate_laws,
    choose_law,
    crossings,
)
from dse.fit.measurement_fit import Fit, describe_fit, fit
from dse.fit.page import page
from dse.fit.series import Series
from dse.model.quantity import Array
from dse.problems import InputError
from objectives.logca import break_even

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
    return Series("made", sizes, host(law, sizes), device(law, sizes), none, none)


@functools.cache
def fit_law(name: str) -> Fit:
    """Fit the exact times of a law."""
    return fit(made(LAWS[name]))


def inside(fitted: Fit, name: str, value: float) -> bool:
    low, high = fitted.intervals[name]
    return low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_exact_times_give_the_law_back(name: str) -> None:
    law = LAWS[name]
    found = fit_law(name)
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
    if name == "two crossings":
        end = brentq(partial(ahead, law), 12.0, 30.0, xtol=1e-13)
        assert found.analysis.end == pytest.approx(np.exp(end), rel=1e-6)


def test_crossings_stand_where_speedup_is_reached() -> None:
    rng = np.random.default_rng(3)
    grid = np.geomspace(1.0, 2.0**60, 4001)
    for _ in range(40):
        law = (*10 ** rng.uniform(-9, -6, 2), rng.uniform(0.3, 1.7), *10 ** rng.uniform(-8, -4, 1))
        law = (*law, 10 ** rng.uniform(-12, -9), rng.uniform(0.5, 40.0))
        coordinates = np.log([*law[:5], 1e-300, law[5], 1e-300])
        coordinates[EXPONENT] = law[2]
        low, high = crossings(coordinates)
        pays = device(law, grid) <= host(law, grid)
        reached = (grid >= low) & (grid <= high) if np.isfinite(low) else np.zeros_like(pays)
        assert (pays != reached).mean() < 1e-3


def test_intervals_of_a_given_value_split_a_sum() -> None:
    law = LAWS["linear"]
    series = made((*law[:4], 2e-10, law[5]))
    plain = fit_law("linear")
    assert "acceleration" not in plain.parameters
    assert any("one slope" in note and "--given" in note for note in plain.notes)
    assert any("o + L is" in note for note in plain.notes)
    split = fit(series, {"latency_per_byte": 2e-10, "overhead": 4e-6})
    assert split.parameters["acceleration"] == pytest.approx(5.0, rel=1e-6)
    assert split.parameters["latency"] == pytest.approx(9e-6, rel=1e-6)
    other = fit(series, {"acceleration": 5.0})
    assert other.parameters["latency_per_byte"] == pytest.approx(2e-10, rel=1e-6)


def test_bytes_returned_cost_the_host_as_well() -> None:
    """A decompression: nearly all of the host's time is for the bytes that it writes."""
    ratio = np.tile([2.0, 16.0, 4.0], 4)[: len(SIZES)]
    out = SIZES * ratio
    host_time, device_time = 2e-7 + 1e-9 * SIZES + 3e-9 * out, 1.5e-5 + 2e-10 * SIZES + 8e-10 * out
    found = fit(Series("inflate", SIZES, host_time, device_time, out, NAN))
    wanted = {"host_time_per_byte_out": 3e-9, "latency_per_byte_out": 8e-10}
    wanted |= {"computational_index": 1e-9, "host_fixed_time": 2e-7}
    assert {k: found.parameters[k] for k in wanted} == pytest.approx(wanted, rel=1e-5)
    middle = float(np.median(ratio))
    size = (1.5e-5 - 2e-7) / (8e-10 + middle * 2.2e-9)
    assert found.analysis.break_even == pytest.approx(size, rel=1e-5)
    assert f"for calls that return {middle:g} B per byte" in found.notes[0]
    row = tomllib.loads(as_row(found, "inflate"))["inflate"]
    own = {name: row[name]["value"] for name in list(row)[1:-1]}
    assert break_even(**own).break_even == pytest.approx(size, rel=1e-5)


# ------------------------------------------------------ what is said of a law, without fitting it


def analysis_of(law: tuple[float, ...]) -> Analysis:
    """Return what a fit of exact times of a linear law says."""
    fitted = fit_law("linear").analysis
    h, c, b, setup, _, gain = law
    coordinates = fitted.fit.copy()
    coordinates[[FIXED, INDEX, EXPONENT, SETUP, GAIN]] = *np.log([h, c]), b, *np.log([setup, gain])
    parameters = dict(fitted.parameters) | {"speedup_limit": gain}
    always = crossings(coordinates)[0] == 0.0
    return replace(fitted, fit=coordinates, parameters=parameters, always=always)


def sentence(law: tuple[float, ...], series: Series) -> str:
    """Return what is said of break-even."""
    linear = fit_law("linear")
    return next(
        describe_fit(series, linear.points, analysis_of(law), linear.shape, {}, linear.ratio)
    )


def test_break_even_by_the_rows_and_by_the_law() -> None:
    law, within = LAWS["linear"], "the measured sizes, 16 B to 16 MiB. By the law it is"
    assert sentence(law, made(law)).startswith("offloading is beneficial from 5,396 B")
    small, large = made(law, SIZES[SIZES < 4000.0]), made(law, SIZES[SIZES > 6e4])
    assert (
        "not beneficial within the measured sizes, 16 B to 1,024 B. By the law it is from 5,396 B "
        "(an extrapolation)" in sentence(law, small)
    )
    assert (
        "at all of the measured sizes, 64 KiB to 16 MiB. By the law it is from 5,396 B "
        "(an extrapolation)" in sentence(law, large)
    )
    for gain, more in ((0.5, ""), (0.02, ": large calls take at least 50 times as long as on")):
        slow = (*law[:5], gain)
        told = f"not beneficial within {within} at no size (an extrapolation){more}"
        assert told in sentence(slow, made(slow))
        assert bool(more) == ("Is the unit in the name" in sentence(slow, made(slow)))
    near = (*law[:3], 1e-8, *law[4:])
    told = f"beneficial at all of {within} at every size (an extrapolation)"
    assert told in sentence(near, made(near))
    # times that no law follows: no sentence contradicts a row
    slower = made(law).host * np.where(np.abs(np.arange(len(SIZES)) - 5) < 1, 0.5, 3.0)
    told = sentence(law, Series("made", SIZES, made(law).host, slower, NAN, NAN))
    assert "By the rows, offloading is beneficial at 16 KiB. The law differs at" in told


def busy_bounds(use: Array) -> tuple[Mapping[str, tuple[float, float]], str]:
    """Return the bounds by the CPU use of a linear law, and the sentence on them."""
    return bound_busy_time(replace(made(LAWS["linear"]), cpu=use), fit_law("linear").analysis)


def test_the_cpu_use_bounds_the_overhead() -> None:
    truth = {"overhead": 4e-6, "busy_per_byte": 2e-10}
    busy = truth["overhead"] + truth["busy_per_byte"] * SIZES
    use = busy / device(LAWS["linear"], SIZES)
    # the mean use of a run that spends equal time at each size
    of_run, told = busy_bounds(np.full(len(SIZES), use.mean()))
    assert "Assumptions: no polling, equal time at each size" in told
    noise = np.exp(0.02 * np.random.default_rng(3).standard_normal(len(SIZES)))
    of_sizes, _ = busy_bounds(use * noise)
    for name, value in truth.items():
        assert of_run[name][0] < value < of_run[name][1]
        low, high = of_sizes[name]
        assert 0.9 * value < low < value < high < 1.1 * value
    total = fit_law("linear").parameters["overhead_and_latency"]
    assert of_run["overhead"][1] < total
    bounded = replace(fit_law("linear"), bounds=of_run)
    assert "overhead by CPU use" in as_text(bounded)
    assert bounded.record()["bounds"].keys() == truth.keys()
    assert "; o is " in as_row(bounded, "busy")
    none, told = busy_bounds(np.full(len(SIZES), 0.94))
    assert not none and "as if the driver polls" in told


def test_one_column_alone_is_fitted() -> None:
    law = LAWS["super-linear"]
    alone = fit(Series("host", SIZES, host(law, SIZES), NAN, NAN, NAN))
    assert alone.parameters["complexity"] == pytest.approx(1.3, rel=1e-6)
    assert alone.analysis.break_even is None
    line = fit(Series("device", SIZES, NAN, 1e-5 + 2e-9 * SIZES, NAN, NAN))
    assert line.parameters["accelerated_time_per_byte"] == pytest.approx(2e-9, rel=1e-6)
    assert line.parameters["overhead_and_latency"] == pytest.approx(1e-5, rel=1e-6)


def test_a_wild_point_is_named_and_does_not_carry_the_fit_away() -> None:
    law = LAWS["linear"]
    rng = np.random.default_rng(11)
    noisy = host(law, SIZES) * np.exp(0.01 * rng.standard_normal(len(SIZES)))
    noisy[4] *= 1.8
    found = fit(Series("made", SIZES, noisy, NAN, NAN, NAN))
    assert found.parameters["computational_index"] == pytest.approx(3e-9, rel=0.03)
    assert any("outlier" in note and "4,096 B" in note for note in found.notes)


def test_a_kink_is_named_between_its_sizes() -> None:
    law = LAWS["linear"]
    sizes: Array = np.exp2(np.arange(4.0, 26.0))
    none: Array = np.full(len(sizes), np.nan)
    rng = np.random.default_rng(4)
    stepped = host(law, sizes) * np.where(sizes >= 2**17, 1.6, 1.0)
    stepped = stepped * np.exp(0.01 * rng.standard_normal(len(sizes)))
    found = fit(Series("made", sizes, stepped, none, none, none))
    assert any("kink between 64 KiB and 128 KiB" in note for note in found.notes)
    smooth = host(law, sizes) * np.exp(0.05 * rng.standard_normal(len(sizes)))
    quiet = fit(Series("made", sizes, smooth, none, none, none))
    assert not any("kink" in note for note in quiet.notes)


def test_times_that_hardly_grow_are_refused() -> None:
    flat: Array = 1e-6 * (1.0 + 0.01 * np.tile([0.0, 1.0, 2.0], 4)[: len(SIZES)])
    with pytest.raises(InputError, match="hardly grow"):
        fit(Series("flat", SIZES, flat, NAN, NAN, NAN))


def test_the_linear_law_stays_simple_unless_the_times_speak_against_it() -> None:
    assert candidate_laws(Shape(True, True, False, {}))[0].terms == 3
    shape, none = Shape(True, False, False, {}), np.zeros(len(SIZES))
    rng = np.random.default_rng(9)
    curved = 0
    for _ in range(20):
        noisy = host(LAWS["linear"], SIZES) * np.exp(0.05 * rng.standard_normal(len(SIZES)))
        points = Points(SIZES, none, noisy, none > 0)
        curved += choose_law(points, shape).law.free[EXPONENT]
    assert curved <= 4


def test_work_of_an_exponent_is_reported_per_byte_to_that_power() -> None:
    steep, line = (
        fit(Series("host", SIZES, host(LAWS[law], SIZES), NAN, NAN, NAN))
        for law in ("super-linear", "linear")
    )
    for told in (as_text(steep), page([steep], "times.csv")):
        (row,) = re.findall(r"computational_index\W.*?complexity", told, re.DOTALL)
        assert row.count("s/B^1.3") == row.count("s/B") == 3
    assert "s/B^1.3" in as_row(steep, "steep")
    assert "s/B^" not in as_text(line)
