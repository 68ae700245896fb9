"""LogCA's speedup and break-even in designs a second, beside a fused loop and the memory floor.

    python benchmarks/model_throughput.py [designs]

β = 1, both latencies, six columns read and two written, two threads. Ours are the public functions,
domain checks included, on chunks (a study's `run.chunk`), as the engine passes them. The runs of
all contestants are interleaved; the figures are medians, with the fastest and the slowest run
beside them, and the times in multiples of the fused loop's and of ours.
"""

from __future__ import annotations

import inspect
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from dse.model import Array
from objectives.logca import HostWork, InterfaceCosts, break_even, speedup

THREADS = 2
CHUNK = 65_536
RUNS = 7
FEW = 5_000  # designs of the loops that call a function for each

Columns = Mapping[str, Array]
Out = tuple[Array, Array]
SHARED = ("overhead", "latency", "latency_per_byte", "computational_index", "acceleration")


def draw(count: int) -> dict[str, Array]:
    rng = np.random.default_rng(1)
    ranges = {
        "granularity": (16.0, 2.0**25),
        "overhead": (10.0, 1e6),
        "latency": (1.0, 5e3),
        "latency_per_byte": (0.01, 1.0),
        "computational_index": (2.0, 1e4),
        "acceleration": (2.0, 64.0),
    }
    return {
        name: np.exp(rng.uniform(np.log(low), np.log(high), count))
        for name, (low, high) in ranges.items()
    }


def ours(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    def chunk(part: slice) -> None:
        shared = {name: columns[name][part] for name in SHARED}
        out[0][part] = speedup(granularity=columns["granularity"][part], **shared).speedup
        out[1][part] = break_even(**shared).break_even

    _in_slabs(chunk, out[0].size, pool)


def unchecked(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Leave out the domain checks, as a caller may who knows the bounds of every column."""
    first, second = inspect.unwrap(speedup), inspect.unwrap(break_even)

    def chunk(part: slice) -> None:
        g, o, fixed, per_byte, c, a = (columns[name][part] for name in ("granularity", *SHARED))
        interface, work = InterfaceCosts(o, fixed, per_byte), HostWork(c)
        out[0][part] = first(g, interface, work, a).speedup
        out[1][part] = second(interface, work, a).break_even

    _in_slabs(chunk, out[0].size, pool)


def _in_slabs(chunk: Callable[[slice], None], count: int, pool: ThreadPoolExecutor) -> None:
    """Give each thread one run of designs, cut into chunks, as the engine does."""
    starts = range(0, count, CHUNK)
    share = -(-len(starts) // THREADS)

    def slab(first: int) -> None:
        for start in starts[first : first + share]:
            chunk(slice(start, min(start + CHUNK, count)))

    list(pool.map(slab, range(0, len(starts), share)))


def passes(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Do the 14 operations of both formulas alone, into buffers: the least that NumPy can do."""
    arrays = [columns[name] for name in ("granularity", *SHARED)]

    def chunk(part: slice) -> None:
        g, o, fixed, per_byte, c, a = (array[part] for array in arrays)
        host, total, s, g1 = np.empty_like(g), np.empty_like(g), out[0][part], out[1][part]
        np.multiply(c, g, out=host)
        np.divide(host, a, out=total)
        np.add(total, o, out=total)
        np.add(total, fixed, out=total)
        np.multiply(per_byte, g, out=s)
        np.add(total, s, out=total)
        np.divide(host, total, out=s)
        np.subtract(a, 1.0, out=total)
        np.divide(total, a, out=total)
        np.multiply(total, c, out=total)
        np.subtract(total, per_byte, out=total)
        np.maximum(total, 0.0, out=total)
        np.add(o, fixed, out=host)
        with np.errstate(divide="ignore"):
            np.divide(host, total, out=g1)

    _in_slabs(chunk, out[0].size, pool)


def whole(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Write NumPy as it comes first: whole columns, a temporary for each operation."""
    del pool
    g, (o, fixed, per_byte, c, a) = columns["granularity"], (columns[name] for name in SHARED)
    out[0][:] = c * g / (o + fixed + per_byte * g + c * g / a)
    margin = c * (1.0 - 1.0 / a) - per_byte
    out[1][:] = np.where(margin > 0.0, (o + fixed) / margin, np.inf)


def _loop(
    g: Array, o: Array, fixed: Array, per_byte: Array, c: Array, a: Array, s: Array, g1: Array
) -> None:
    for i in numba.prange(g.size):
        cost = o[i] + fixed[i]
        host = c[i] * g[i]
        s[i] = host / (cost + per_byte[i] * g[i] + host / a[i])
        margin = c[i] * (a[i] - 1.0) / a[i] - per_byte[i]
        g1[i] = cost / margin if margin > 0.0 else np.inf


_fused: Any = numba.njit(parallel=True)(_loop)


def fused(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    del pool
    _fused(columns["granularity"], *(columns[name] for name in SHARED), *out)


def floor(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Move the same bytes and nothing else: six columns read, two written, on two threads."""
    arrays = list(columns.values())

    def chunk(part: slice) -> None:
        np.copyto(out[0][part], arrays[0][part])
        np.copyto(out[1][part], arrays[1][part])
        for array in arrays[2:]:
            array[part].max()

    _in_slabs(chunk, out[0].size, pool)


def per_design(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Call the public functions for one design at a time."""
    del pool
    for i in range(FEW):
        shared = {name: float(columns[name][i]) for name in SHARED}
        out[0][i] = speedup(granularity=float(columns["granularity"][i]), **shared).speedup
        out[1][i] = break_even(**shared).break_even


def plain_python(columns: Columns, out: Out, pool: ThreadPoolExecutor) -> None:
    """Evaluate both formulas in floats, design by design: the least that such a loop can cost."""
    del pool
    lists = [columns[name][:FEW].tolist() for name in ("granularity", *SHARED)]

    def one(
        g: float, o: float, fixed: float, per_byte: float, c: float, a: float
    ) -> tuple[float, float]:
        cost, host = o + fixed, c * g
        margin = c * (a - 1.0) / a - per_byte
        return host / (cost + per_byte * g + host / a), cost / margin if margin > 0 else np.inf

    for i, row in enumerate(zip(*lists, strict=True)):
        out[0][i], out[1][i] = one(*row)


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    numba.set_num_threads(THREADS)
    columns = draw(count)
    contestants: dict[str, Callable[[Columns, Out, ThreadPoolExecutor], None]] = {
        "ours, in chunks": ours,
        "ours, domains known": unchecked,
        "numpy, 14 passes alone": passes,
        "numba, fused loop": fused,
        "memory, floor": floor,
        "numpy, whole columns": whole,
        "ours, design by design": per_design,
        "plain Python, by design": plain_python,
    }
    out = {name: (np.zeros(count), np.zeros(count)) for name in contestants}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    with ThreadPoolExecutor(THREADS) as pool:
        for run in range(RUNS + 1):  # the first compiles and touches the memory
            for name, contestant in contestants.items():
                start = time.perf_counter()
                contestant(columns, out[name], pool)
                if run:
                    seconds[name].append(time.perf_counter() - start)
    for name in ("numba, fused loop", "numpy, 14 passes alone", "numpy, whole columns"):
        for mine, other in zip(out["ours, in chunks"], out[name], strict=True):
            assert np.allclose(mine, other, rtol=1e-9, atol=0.0), name
    print(f"{count:,} designs, {THREADS} threads, chunks of {CHUNK:,}, medians of {RUNS} runs")
    ns = {
        name: [t / (FEW if "design" in name.split(",")[1] else count) * 1e9 for t in values]
        for name, values in seconds.items()
    }
    middle = {name: statistics.median(figures) for name, figures in ns.items()}
    heads = ("ns/design", "range", "M designs/s", "fused loop", "ours")
    print(" " * 26 + "{:>12} {:>19} {:>12} {:>11} {:>11}".format(*heads))
    for name, figures in ns.items():
        of_fused = middle[name] / middle["numba, fused loop"]
        of_ours = middle[name] / middle["ours, in chunks"]
        span = f"{min(figures):.2f}–{max(figures):.2f}"
        print(
            f"{name:26}{middle[name]:12.2f} {span:>19} {1e3 / middle[name]:12.3f} "
            f"{of_fused:10.2f}x {of_ours:10.2f}x"
        )


if __name__ == "__main__":
    main()
