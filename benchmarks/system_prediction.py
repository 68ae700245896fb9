"""One measured system, predicted from parts that are known separately.

The system is ovpanait/zynq-aes: AES-128-ECB on a Zynq-7020 (benchmarks/measured/zynq_aes.csv, run
ecb-128-2020). None of its times is in the prediction: the host's rate and the fixed cost of a call
are from other machines with the same or a similar core, in cycles of their hosts, and the engine's
rate is from its own source code. `section` is the part of docs/validation/accuracy.md.
"""

from __future__ import annotations

import functools

import numpy as np

from benchmarks.measured_accuracy import BY, MEASURED, measured_crossings
from dse.fit.measurement_fit import Fit, fit
from dse.fit.series import measured_times, read_series
from dse.model.quantity import Array
from dse.model.values import show, show_number
from objectives.logca import Offload, offload

CLOCK = 650e6
"""Of the Zynq's Cortex-A9, bd/zynq_aes_bd.tcl: PCW_ACT_APU_PERIPHERAL_FREQMHZ."""
SIBLINGS = {  # other kernel crypto engines: the clock of the host (its data sheet), and the series
    "Armada 385": (1.866e9, ("cesa_aes", ("pr11182", "afalg_readme", "openwrt2821"))),
    "AM62x": (1.4e9, ("ti_crypto", ("AM62X aes-128-ecb plain",))),
    "AM64x": (1.0e9, ("ti_crypto", ("AM64X aes-128-ecb plain",))),
}
HOST = ("cesa_aes", "pr11182"), 10 / 14
"""AES-256-CBC on another Cortex-A9, and the rounds of AES-128 over those of AES-256."""
ENGINE_CLOCK, BLOCK_CLOCKS, BLOCK_BYTES = 142.857e6, 16, 16
"""bd/zynq_aes_bd.tcl (PCW_ACT_FPGA1_PERIPHERAL_FREQMHZ), and hdl at commit 27fb008: a clock to
take a block, one to start, two to read a round key, 11 round keys, and one to end."""
SYSTEM = ("zynq_aes", "ecb-128-2020")
_STEP = 3  # the page shows every third size


@functools.cache
def fit_of(table: str, series: str) -> Fit:
    """Return the fit of a measured series."""
    path = MEASURED / f"{table}.csv"
    return next(fit(one) for one in read_series(path, BY[table])[0] if one.name == series)


def fixed_cost() -> tuple[float, float, float]:
    """Return the fixed cost of a call [cycle]: the least, the mean and the most of the siblings.

    A machine with several series counts by their median; the mean of machines is geometric.
    """
    costs = [
        clock
        * float(np.median([fit_of(table, n).parameters["overhead_and_latency"] for n in names]))
        for clock, (table, names) in SIBLINGS.values()
    ]
    return min(costs), float(np.exp(np.mean(np.log(costs)))), max(costs)


def predict(size: Array) -> Offload:
    """Return the system's times and break-even, in cycles of its host and bytes."""
    series, rounds = HOST
    index = fit_of(*series).parameters["computational_index"] * SIBLINGS["Armada 385"][0] * rounds
    engine = CLOCK * BLOCK_CLOCKS / ENGINE_CLOCK / BLOCK_BYTES
    return offload(
        size,
        overhead=fixed_cost()[1],
        latency=0.0,
        latency_per_byte=0.0,
        computational_index=index,
        complexity=1.0,
        acceleration=index / engine,
    )


def table() -> tuple[Array, Array, Array]:
    """Return the measured sizes, and the relative deviations of host and accelerated times."""
    size, host, accelerated = measured_times(fit_of(*SYSTEM).series)
    found = predict(size)
    return (
        size,
        found.host_time / CLOCK / host - 1.0,
        found.accelerated_time / CLOCK / accelerated - 1.0,
    )


def section() -> str:
    """Return the section of docs/validation/accuracy.md."""
    size, host, accelerated = table()
    found = predict(size)
    low, middle, high = (show(float(f"{cost / CLOCK:.3g}"), "s") for cost in fixed_cost())
    series = fit_of(*SYSTEM).series
    own = measured_crossings(series)[0]
    even = float(np.asarray(found.break_even).flat[0])
    other = fit_of(SYSTEM[0], "ecb-256-2020").series.accelerated
    block = (other[-1] - series.accelerated[-1]) / (size[-1] / BLOCK_BYTES) * 1e9
    lines = [
        f"| {show(g, 'B')} | {_time(t0)} | {_percent(d0)} | {_time(t1)} | {_percent(d1)} |"
        for g, t0, d0, t1, d1 in zip(
            size.tolist(),
            (found.host_time / CLOCK).tolist(),
            host.tolist(),
            (found.accelerated_time / CLOCK).tolist(),
            accelerated.tolist(),
            strict=True,
        )
    ][::_STEP]
    return TEXT.format(
        low=low,
        middle=middle,
        high=high,
        even=show(float(f"{even:.3g}"), "B"),
        own=show(float(f"{own:.3g}"), "B"),
        miss=_percent(even / own - 1.0),
        rows="\n".join(lines),
        block=show_number(block, 3),
        clocks=show_number(block * ENGINE_CLOCK / 1e9, 3),
    )


def _time(seconds: float) -> str:
    return show(float(f"{seconds:.3g}"), "s")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.0f} %".replace("-", "−")


TEXT = """
## One system predicted from its parts

The system is AES-128-ECB on a Zynq-7020: an engine in the FPGA behind an AXI DMA.
Its times are the run ecb-128-2020 of `zynq_aes.csv`.
The prediction (`python -m benchmarks.system_prediction`) uses none of them.

* **Host**: a Cortex-A9 at 650 MHz.
  Cycles per byte are from another Cortex-A9, at 1.866 GHz (`cesa_aes.csv`, run pr11182).
  They are multiplied by 10/14, for the rounds of the shorter key.
* **Engine**: 16 clocks per block of 16 B at 142.857 MHz, counted in its source code.
* **Interface**: the fixed cost is from three other machines with kernel crypto engines.
  It is their geometric mean in cycles of their hosts: {middle} here.
  The three give {low} to {high}.
  Assumption: data move while the engine works, and cost no extra time.

| size | host, predicted | against measured | accelerated, predicted | against measured |
|---|--:|--:|--:|--:|
{rows}

Predicted break-even: {even}; measured: {own} ({miss}).
The fixed cost is up to 15 % too low, and the cost per byte is much too low.
A key of 256 bits has four more rounds, and takes {block} ns more per block, or {clocks} clocks.
So the missing time is not in the rounds.
Probably the transfers do not overlap with the engine, or the host cleans its caches for them.
"""

if __name__ == "__main__":
    print(section())
