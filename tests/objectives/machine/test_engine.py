"""The C-slowed engine by hand, against measured FPGA designs, and as a trade-off."""

import functools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from dse.model import Quantity, list_declarations
from dse.model.units import read_value
from dse.study.catalog import find_catalog, load_catalog
from objectives.machine.area import total_area
from objectives.machine.engine import Elements, Engine, LanesFor, engine, lanes_for

# Hall, Olson and Chamberlain, Electronics 10(6):665, 2021, public-domain data set, C-slowed: C,
# clock period [ns], slices; 6-input LUTs of a slice (two 4-input ones are 1.25 of them); largest
# errors [%] of the fit to all points, of the clock and of the area, as engine.md states them.
# Some points of each engine, the worst ones among them.
MEASURED = {
    "aes-4-rounds": (
        "1 23.284 7329; 4 8.522 9131.5; 6 6.668 11706.5; 8 7.0295 13489; 16 7.104 24175; 24 "
        "7.6985 30281; 32 8.1725 37036.5; 36 8.676 42855.5",
        1.25, 9.8, 9.1,
    ),
    "aes-14-rounds": (
        "1 79.8655 23903; 4 22.3775 23361.5; 8 14.5275 27509.5; 16 8.611 32852.5; 24 7.294 "
        "41445; 32 7.285 45466",
        1.25, 12.6, 6.6,
    ),
    "sha256": (
        "2 262.781 22476; 5 64.356 20166; 9 32.574 20417; 17 17.022 19741; 33 9.187 21630; 57 "
        "7.879 21335; 65 5.901 19059",
        4, 15.6, 8.8,
    ),
    "sha512": (
        "2 390.779 53514; 5 94.128 48557; 9 48.116 46997; 17 24.938 47303; 33 14.174 52402; "
        "57 9.665 51719; 65 9.43 52884; 73 9.12 55236; 81 6.949 47068",
        4, 13.8, 9.9,
    ),
    "cosine-4-terms": (
        "1 31.766 189; 2 18.7615 290.5; 3 13.811 444; 4 11.563 514.5; 5 12.3485 525; 6 13.117 "
        "595.5; 7 7.594 712",
        1.25, 11.5, 15.2,
    ),
    "cosine-3-terms": (
        "1 23.304 176.5; 2 14.682 260; 3 10.4105 456; 4 9.2955 434; 5 7.269 567.5",
        1.25, 13.0, 18.3,
    ),
    "cosine-8-terms": ("4 19.8725 626.5; 7 14.6235 863", 1.25, 14.7, 18.2),
    "cosine-16-terms": ("16 16.4815 1723; 20 12.958 2757.5", 1.25, 19.0, 22.1),
    "cosine-20-terms": ("10 25.9545 1376; 24 12.7815 3346", 1.25, 15.2, 23.1),
    "cosine-12-terms": (
        "1 100.371 265.5; 4 27.4095 555; 8 19.9365 1008; 9 16.3015 1313; 12 15.6425 1664.5; "
        "16 12.6465 1559; 23 9.4415 2283",
        1.25, 14.8, 17.0,
    ),
    "cosine-24-terms": (
        "1 206.937 361; 4 54.7895 662; 8 37.158 987.5; 16 22.068 1838.5; 20 18.9025 2892; 24 "
        "16.9955 2234.5; 32 14.6285 3198; 36 14.9535 3419.5; 47 9.782 4384.5",
        1.25, 14.4, 25.5,
    ),
}  # fmt: skip


def points_of(row: str) -> NDArray[np.float64]:
    """Return the measured pipeline depths, clock periods in ns, and slices."""
    text = str(MEASURED[row][0])
    return np.array([point.split() for point in text.split(";")], dtype=float).T


@functools.cache
def coefficients(row: str) -> dict[str, float]:
    units = {n: q.unit for n, q in list_declarations(engine).items() if isinstance(q, Quantity)}
    figures = load_catalog(find_catalog("pipelined_engines")).rows[row].values
    return {name: read_value(figure.text, units[name]) for name, figure in figures.items()}


def measured_engine(row: str, **inputs: Any) -> Engine:
    return engine(**({"lanes": 1.0} | inputs), **coefficients(row))


def lanes_of(row: str, acceleration: Any, depth: Any, host: float) -> LanesFor:
    """Give lanes for calls of an element; `host` is its time on the host in seconds."""
    period = measured_engine(row, pipeline_depth=depth).clock_period
    element = {name: coefficients(row)[name] for name in Elements._fields}
    size = element["element_bytes"]
    return lanes_for(
        acceleration, size, host / size * 1e9, 1.0, clock_period=period * 1e9, **element
    )


@pytest.mark.parametrize("row", MEASURED)
def test_errors_at_measured_points_are_as_stated(row: str) -> None:
    _, luts, clock_error, area_error = MEASURED[row]
    depth, period, slices = points_of(row)
    got = measured_engine(row, pipeline_depth=depth)
    clock = np.abs(got.clock_period / (period * 1e-9) - 1) * 100
    area = np.abs((got.engine_area + got.register_area) / (slices * luts) - 1) * 100
    assert clock.max() == pytest.approx(clock_error, abs=0.051)
    assert area.max() == pytest.approx(area_error, abs=0.051)


def relative_fit(columns: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    solution: NDArray[np.float64] = nnls(columns / values[:, None], np.ones(len(values)))[0]
    return solution


def leave_one_out(columns: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    errors = []
    for left in range(len(values)):
        kept = np.arange(len(values)) != left
        errors.append(columns[left] @ relative_fit(columns[kept], values[kept]) / values[left] - 1)
    return float(np.sqrt(np.mean(np.square(errors))) * 100)


def test_coefficients_and_leave_one_out_errors_come_out_again() -> None:
    # an engine whose measurements are all here
    luts = MEASURED["cosine-4-terms"][1]
    depth, period, slices = points_of("cosine-4-terms")
    clock = np.stack([np.ceil(7 / depth) / 7, np.ones(7)], axis=1)
    area = np.stack([np.ones(7), depth - 1], axis=1)
    row = coefficients("cosine-4-terms")
    delays = [row["logic_delay"] * 1e9, row["register_delay"] * 1e9]
    assert relative_fit(clock, period) == pytest.approx(delays, rel=1e-3)
    areas = [row["lane_area"], row["stage_area"]]
    assert relative_fit(area, slices * luts) == pytest.approx(areas, rel=1e-3)
    assert leave_one_out(clock, period) == pytest.approx(9.1, abs=0.05)
    assert leave_one_out(area, slices * luts) == pytest.approx(12.8, abs=0.05)


def test_replicated_lanes_against_measured_copies() -> None:
    # the same data set, AES with 4 rounds, replicated: copies and slices
    copies, slices = np.array([(1, 6791), (2, 12998.5), (4, 25609), (8, 45852)], dtype=float).T
    got = measured_engine("aes-4-rounds", lanes=copies, pipeline_depth=1)
    error = got.engine_area / (1.25 * slices) - 1
    assert error == pytest.approx([0.015, 0.060, 0.076, 0.202], abs=1e-3)  # as engine.md says


@pytest.mark.parametrize("lanes", [1, 2, 3, 7, 10, 49, 1000])
@pytest.mark.parametrize("host", [1e-9, 3e-9, 1.1e-8, 1.24e-6])
def test_an_exact_multiple_of_a_lane_takes_no_further_lane(lanes: int, host: float) -> None:
    def run(acceleration: Any) -> LanesFor:
        return lanes_of("aes-14-rounds", acceleration, 7, host)

    lane = run(1e-9).lane_acceleration
    assert run(lanes * lane).lanes == lanes
    assert run(sum([lane] * lanes)).lanes == lanes
    assert run(1.0001 * lanes * lane).lanes == lanes + 1


def test_depth_is_a_true_trade_off() -> None:
    # for A = 200 on the host of an UltraSPARC T2 the smallest area is at a depth in the middle
    depth = np.arange(1, 33)
    lanes = lanes_of("aes-14-rounds", 200.0, depth, 90 * 16 / 1.16e9).lanes
    got = measured_engine("aes-14-rounds", lanes=lanes, pipeline_depth=depth)
    area = got.engine_area + got.register_area
    assert 1 < depth[area.argmin()] < 32
    assert area.min() < 0.25 * area[0]
    assert np.all(np.diff(got.response_time) > 0)
    assert np.all(np.diff(lanes) <= 0)
    assert np.all(np.diff(got.register_area / lanes) > 0)


# The area proxy: parts by hand, and what each input does to the whole -------------------------


def test_area_by_hand() -> None:
    got = total_area(
        engine_area=20_000.0,
        memory_area_per_bit=1 / 64,
        register_area=3_000.0,
        interface_area=208.0,
        pipeline_depth=4,
        lanes=2,
        streams=12,
        context_bits=256.0,
        buffer_bits=6_400.0,
        cache_size=64_000.0,
    )
    # contexts: 2 lanes * (12 - 4) streams * 256 bit / 64
    assert tuple(float(part) for part in got) == (24_372, 20_000, 3_000, 64, 100, 1_000, 208)


def test_streams_within_the_pipeline_need_no_secondary_memory() -> None:
    streams = np.array([0, 1, 4, 5, 8])
    got = total_area(1_000.0, 1.0, pipeline_depth=4, streams=streams, context_bits=10.0)
    assert got.area_contexts.tolist() == [0, 0, 0, 10, 40]


@pytest.mark.parametrize(("row", "bits"), [("lut-ram-6-input", 64)])
def test_memory_rows_are_the_bits_of_a_lut(row: str, bits: int) -> None:
    figure = load_catalog(find_catalog("memories")).rows[row].values["memory_area_per_bit"]
    assert read_value(figure.text, "LUT/bit") * bits == 1
