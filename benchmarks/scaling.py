"""Searches of 10^6 to 10^9 designs: a table, and the plot docs/validation/scaling.svg.

    python -m benchmarks.scaling [--designs N] [space ...]

Each search runs in two fresh processes, with one worker and with two. The table has the processor
seconds of both, the elapsed seconds with two workers, and the peak memory with two. Elapsed seconds
are of use only on an idle machine. Enumerations of more than N designs (10^8 if absent) are left
out. The line of Optuna follows from the processor seconds of 1,000 random samples.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bound_problems import FINER, finer
from benchmarks.cores import logca_study
from dse.evaluate.evaluator import Evaluator
from dse.search.base import SearchSettings, Start, find_method
from dse.search.workers import Workers
from dse.study.study import read_study

ROOT = Path(__file__).parents[1]
PLOT = ROOT / "docs" / "validation" / "scaling.svg"
TOLERANCE = 0.01
"""The tolerance of a search by bounds."""
_SAMPLES = 1_000


def logca(designs: int) -> Evaluator:
    """Return LogCA with four variables."""
    return logca_study(designs).evaluator


def part(study: str, *names: str) -> Evaluator:
    """Return a shipped study in which some variables have more values."""
    return finer(study, {name: FINER[study][name] for name in names})


def system(computation: int, communication: int) -> Evaluator:
    """Return the functions of a program on one chip, with so many factors per function."""
    path = ROOT / "studies" / "compress_system.toml"
    text = path.read_text()
    for old, count in (("[2, 4, 8, 16]", computation), ("[2, 8, 32]", communication)):
        text = text.replace(old, str(np.geomspace(2, 32, count).round(3).tolist()), 1)
    text = text.replace('"profiles/', f'"{path.parent}/profiles/')
    with tempfile.TemporaryDirectory() as folder:
        finer_study = Path(folder, path.name)
        finer_study.write_text(text)
        return read_study(finer_study).evaluator


SPACES: Mapping[str, tuple[Callable[[], Evaluator], ...]] = {
    "LogCA": tuple(partial(logca, 10**n) for n in (6, 7, 8, 9)),
    "crypto": (
        partial(part, "crypto"),
        partial(part, "crypto", "schedule_period"),
        partial(finer, "crypto"),
    ),
    "compress": (
        partial(part, "compress", "computation_factor", "communication_factor"),
        partial(part, "compress", "computation_factor", "communication_factor", "streams"),
        partial(finer, "compress"),
    ),
    "compress_system": tuple(partial(system, 4 * n, 3 * n) for n in (4, 8, 12)),
}
METHODS: Mapping[str, str] = {
    "exhaustive": "enumeration",
    "bound": f"bounds, {TOLERANCE:.0%}",
    "merge": "merge, exact",
}


class Cost(NamedTuple):
    """Seconds of the processor, elapsed seconds, and the peak of memory in MB."""

    processor: float
    elapsed: float
    memory: float


def measure(make: Callable[[], Evaluator], method: str, workers: int) -> Cost:
    """Return the cost of a search, made in a fresh process."""
    evaluator = make()
    tolerance = TOLERANCE if method == "bound" else 0.0
    settings = SearchSettings(method, tolerance=tolerance)
    plan = find_method(method).plan(settings, evaluator.space, len(evaluator.objectives), [])
    began, worked = time.perf_counter(), time.process_time()
    search = find_method(method).start(Start(evaluator, plan, workers=Workers(workers)))
    for _ in search.steps():
        pass
    search.outcome()
    worked, elapsed = time.process_time() - worked, time.perf_counter() - began
    return Cost(worked, elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def sample(make: Callable[[], Evaluator]) -> float:
    """Return the processor seconds that Optuna takes per random sample."""
    evaluator = make()
    settings = SearchSettings("RandomSampler", _SAMPLES)
    plan = find_method("RandomSampler").plan(settings, evaluator.space, 2, [])
    search = find_method("RandomSampler").start(Start(evaluator, plan))
    began = time.process_time()
    for _ in search.steps():
        pass
    return (time.process_time() - began) / _SAMPLES


def _in_a_process(function: Callable[..., Any], *given: Any) -> Any:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given)


def _methods(name: str, designs: int, most: int) -> list[str]:
    shown = ["merge" if name.endswith("system") else "bound"]
    return ["exhaustive", *shown] if designs <= most else shown


def draw(curves: Mapping[tuple[str, str], list[tuple[int, Cost]]], per_sample: float) -> None:
    """Draw processor seconds and memory over the number of designs."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "scaling"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.8), layout="constrained")
    colors = dict(zip(SPACES, ("#1f5fa8", "#b3261e", "#2e7d32", "#8a5a00"), strict=True))
    for (name, method), points in curves.items():
        designs = [count for count, _ in points]
        style = "o-" if method == "exhaustive" else "s--"
        label = f"{name}, {METHODS[method]}"
        for axes, values in (
            (left, [cost.processor for _, cost in points]),
            (right, [cost.memory for _, cost in points]),
        ):
            axes.plot(designs, values, style, color=colors[name], label=label, ms=5)
    sizes = np.array([1e6, 1e9])
    left.plot(sizes, sizes * per_sample, ":", color="#555555", label="Optuna, one sample each")
    for axes, title in ((left, "processor time, one worker [s]"), (right, "peak memory [MB]")):
        axes.set_xscale("log")
        axes.set_xlabel("designs")
        axes.set_title(title, size=10)
        axes.grid(alpha=0.3)
    left.set_yscale("log")
    right.set_ylim(0)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    figure.savefig(PLOT, metadata={"Date": None, "Creator": None})
    PLOT.write_text("\n".join(line.rstrip() for line in PLOT.read_text().splitlines()) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spaces", nargs="*", metavar="space", help=", ".join(SPACES))
    parser.add_argument("--designs", type=float, default=1e8, help="of an enumeration, at most")
    given = parser.parse_args()
    print("| space | designs | search | one [s] | two [s] | two, elapsed [s] | MB |")
    print("|---" * 7 + "|", flush=True)
    curves: dict[tuple[str, str], list[tuple[int, Cost]]] = {}
    for name in given.spaces or SPACES:
        for make in SPACES[name]:
            designs = make().space.size or 0
            for method in _methods(name, designs, int(1.1 * given.designs)):
                one, two = (_in_a_process(measure, make, method, count) for count in (1, 2))
                curves.setdefault((name, method), []).append(
                    (designs, one._replace(memory=two.memory))
                )
                seconds = f"{one.processor:.3g} | {two.processor:.3g} | {two.elapsed:.3g}"
                cells = f"{name} | {designs:,} | {METHODS[method]} | {seconds} | {two.memory:.0f}"
                print(f"| {cells} |", flush=True)
    per_sample = _in_a_process(sample, SPACES["LogCA"][0])
    print(f"Optuna: {1e3 * per_sample:.2g} ms of the processor per random sample")
    if not given.spaces:
        draw(curves, per_sample)


if __name__ == "__main__":
    main()
