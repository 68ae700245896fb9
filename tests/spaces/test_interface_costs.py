"""Interfaces with measured costs: next to the fits of the kept tables and to printed values."""

import numpy as np
import pytest

from benchmarks.measured_accuracy import BY, MEASURED
from dse.fit.measurement_fit import Fit, fit
from dse.fit.series import read_series
from dse.model.units import read_value
from dse.study.catalog import open_catalog

ROWS = open_catalog("interface_costs").rows
FITTED = {
    "driver-am62x": ("ti_crypto", "AM62X aes-128-cbc plain"),
    "driver-am64x": ("ti_crypto", "AM64X aes-128-cbc plain"),
    "driver-polling-am62x": ("ti_crypto", "AM62X sha2-256 plain"),
    "driver-polling-am64x": ("ti_crypto", "AM64X sha2-256 plain"),
    "driver-wrt3200acm": ("cesa_aes", "pr11182"),
    "driver-cesa-cortex-a9": ("cesa_aes", "openwrt1547"),
    "driver-devcrypto-wrt32x": ("cesa_aes", "openwrt2821"),
}


def value(entry: str, quantity: str, unit: str) -> float:
    return read_value(ROWS[entry].values[quantity].text, unit)


def fit_of(entry: str) -> Fit:
    file, name = FITTED[entry]
    (series,) = [s for s in read_series(MEASURED / f"{file}.csv", BY[file])[0] if s.name == name]
    return fit(series)


@pytest.mark.parametrize("entry", FITTED)
def test_set_up_and_latency_are_the_fixed_cost_of_the_fit(entry: str) -> None:
    result = fit_of(entry)
    fixed = result.parameters["overhead_and_latency"]
    parts = [value(entry, name, "s") for name in ("interface_overhead", "interface_latency")]
    assert sum(parts) == pytest.approx(fixed, rel=0.005)
    slope = ROWS[entry].values["interface_latency_per_byte"].range[1]
    assert float(slope) == pytest.approx(
        1e9 * result.parameters["accelerated_time_per_byte"], rel=0.005
    )
    if "overhead" in result.bounds:  # by CPU use
        low, high = (1e6 * bound for bound in result.bounds["overhead"])
        bounds = ROWS[entry].values["interface_overhead"].range
        assert [float(b) for b in bounds] == pytest.approx([low, high], rel=0.005)
        assert parts[0] * 1e6 == pytest.approx((low + high) / 2, rel=0.005)


def test_two_printed_times_give_latency_and_slope() -> None:
    slope = (213e-6 - 4.2e-6) / (524_288 - 4_096)
    assert value("capi-2", "interface_latency_per_byte", "s/B") == pytest.approx(slope, rel=1e-3)
    latency = 4.2e-6 - 4_096 * slope
    assert value("capi-2", "interface_latency", "s") == pytest.approx(latency, rel=2e-3)
    blocks = {8: 8 / 0.147e6, 4096: 4096 / 68.5e6}
    slope = (blocks[4096] - blocks[8]) / 4088
    entry = "driver-xdma-nitefury"
    assert value(entry, "interface_latency_per_byte", "s/B") == pytest.approx(slope, rel=0.01)
    fixed = sum(value(entry, name, "s") for name in ("interface_overhead", "interface_latency"))
    assert fixed == pytest.approx(blocks[8], rel=0.005)


def test_printed_rates_of_packets_give_the_fixed_cost_of_a_dma_without_a_driver() -> None:
    blocks, rates = np.array([1, 20, 100]), np.array([104e6, 408e6, 466e6])
    slope, fixed = np.polyfit(blocks * 16, blocks * 128 / rates, 1)
    parts = [value("dma-cc13x2", name, "s") for name in ("interface_overhead", "interface_latency")]
    assert sum(parts) == pytest.approx(fixed, rel=0.01)
    bound = ROWS["dma-cc13x2"].values["interface_latency_per_byte"].range[1]
    assert float(bound) == pytest.approx(1e9 * slope, rel=0.01)


KINDS = (
    *("kernel driver", "polling", "user-level queue", "coherent link", "PCIe 3", "PCIe 4"),
    *("PCIe 5", "CXL", "AXI with cache", "AXI without cache", "instructions in the core"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_interface_is_there(kind: str) -> None:
    assert any(kind in f"{row.text['kind']} {row.text['completion']}" for row in ROWS.values())


def test_assumed_costs_have_a_range_with_a_source_or_are_zero() -> None:
    for row in ROWS.values():
        assert row.note, row.name
        for name in ("interface_overhead", "interface_latency"):
            cost = row.values[name]
            known = cost.range and cost.range_source
            assert known or cost.provenance != "assumed" or row.name == "capi-1", row.name
