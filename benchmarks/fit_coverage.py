"""Whether 95 % intervals hold: the share of tables made from a known law whose intervals have it.

Run with ``python -m benchmarks.fit_coverage [TABLES] [CASE …]``; cases are sub-linear, linear,
super-linear and two-crossings. Each table has eleven sizes from 16 B to 16 MiB, a time on the host
and one with the accelerator, and log-normal noise. Of 100 tables, chance leaves the share within
4.3 % of 95 % in 19 cases of 20.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from dse.fit.intervals import Analysis, analyse
from dse.fit.law import EXPONENT, GAIN, INDEX, Points, Shape, crossings, times
from dse.model.quantity import Array

SIZES = 2.0 ** np.arange(4, 25, 2)
CASES = {  # h, C, β, c, l, m, A, k
    "sub-linear": (5e-7, 3e-8, 0.7, 1.3e-5, 0.0, 0.0, 8.0, 0.0),
    "linear": (5e-8, 3e-9, 1.0, 1.3e-5, 0.0, 0.0, 5.0, 0.0),
    "super-linear": (5e-8, 3e-9, 1.3, 1.3e-5, 2e-10, 0.0, 20.0, 0.0),
    "two-crossings": (1e-7, 1e-7, 0.6, 2e-6, 2e-10, 0.0, 10.0, 0.0),
}
NOISES = (0.01, 0.05, 0.2)


@np.errstate(divide="ignore")
def law(case: str) -> Array:
    """Return the coordinates of a case."""
    values = np.array(CASES[case])
    return np.where(np.arange(len(values)) == EXPONENT, values, np.log(values))


def tables(case: str, noise: float, count: int, seed: int = 7) -> list[Points]:
    """Return tables that a law and noise make."""
    size = np.tile(SIZES, 2)
    which = np.repeat([False, True], len(SIZES))
    exact = times(law(case), size, 0.0 * size, which)[0]
    errors = np.random.default_rng(seed).standard_normal((count, len(size)))
    return [Points(size, 0.0 * size, exact * np.exp(noise * row), which) for row in errors]


def truth(case: str) -> dict[str, float]:
    """Return the values that the times determine."""
    fixed, index, exponent, setup, line, _, gain, _ = CASES[case]
    coordinates = law(case)
    known = {
        "host_fixed_time": fixed,
        "computational_index": index,
        "complexity": exponent,
        "overhead_and_latency": setup,
        "break_even": crossings(coordinates)[0],
    }
    if exponent == 1.0:
        per_byte = float(np.exp(coordinates[INDEX] - coordinates[GAIN]))
        return known | {"speedup_limit": gain, "accelerated_time_per_byte": per_byte}
    return known | {"latency_per_byte": line, "acceleration": gain}


def shares(found: list[Analysis], known: dict[str, float]) -> dict[str, float]:
    """Return the share of tables whose interval has the true value, of those that tell it."""
    held: dict[str, list[bool]] = {name: [] for name in known}
    for each in found:
        spans = dict(each.intervals)
        if each.break_even_interval is not None:
            spans["break_even"] = each.break_even_interval
        for name in known.keys() & spans.keys():
            low, high = spans[name]
            held[name].append(low <= known[name] <= high)
    return {name: float(np.mean(each)) for name, each in held.items() if each}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for case in sys.argv[2:] or CASES:
        for noise in NOISES:
            begun = time.perf_counter()
            shape = Shape(True, True, False, {})
            found = [analyse(table, shape) for table in tables(case, noise, count)]
            seconds = time.perf_counter() - begun
            told = "  ".join(f"{n} {s:.1%}" for n, s in shares(found, truth(case)).items())
            print(
                f"{case}, noise {noise:.0%}, {count:,} tables, {seconds:.0f} s: {told}", flush=True
            )


if __name__ == "__main__":
    main()
