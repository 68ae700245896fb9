"""Designs that each sampler needs to cover the front of a table, beside drawing rows at random.

    python benchmarks/table_samplers.py study.toml --evaluations 5000

The study names a table; its front is known, as all rows are looked at. Each sampler draws from the
variables and gets the nearest row. Printed are the designs, each counted once, after which a share
of the front's points was found: medians over the seeds, and "-" if most seeds do not get there.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dse
from dse.evaluate.table_space import ROW, TableSpace
from dse.search.base import SearchSettings, Start
from dse.search.evolution import Evolution
from dse.search.method_choice import choose_method
from dse.search.optuna_adapter import Sampling

METHODS = ("random rows", "RandomSampler", "QMCSampler", "evolution", "NSGAIISampler", "TPESampler")
SHARES = (0.5, 0.9, 1.0)


def main() -> None:
    """Print a line for each sampler."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("--evaluations", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    given = parser.parse_args()
    study = dse.load(given.study)
    space = study.evaluator.space
    if not isinstance(space, TableSpace):
        parser.error(f"{given.study} is not a study of a table")
    front = study.run(workers=1).front
    names = [objective.name for objective in front.objectives]
    points = front.designs[names].to_numpy(dtype=np.float64)
    print(f"{study.name}: {space.size:,} designs, {len(np.unique(points, axis=0)):,} points on the")
    print(f"front; {given.evaluations:,} draws, {given.seeds} seeds")
    print(f"{'':16}" + "".join(f"{share:>9.0%}" for share in SHARES) + f"{'found':>9}")
    for method in given.methods:
        runs = [_needed(study, points, method, given.evaluations, s) for s in range(given.seeds)]
        needed = np.median([found for found, _ in runs], axis=0)
        shown = "".join(f"{n:>9,.0f}" if math.isfinite(n) else f"{'-':>9}" for n in needed)
        print(f"{method:16}{shown}{np.median([share for _, share in runs]):>9.0%}", flush=True)


def _needed(
    study: dse.Study, front: NDArray[np.float64], method: str, draws: int, seed: int
) -> tuple[list[float], float]:
    """Return the designs needed for each share of the front's points, and the share found."""
    evaluator = study.evaluator
    rows = _drawn(study, method, draws, seed)
    _, first = np.unique(rows, return_index=True)
    rows = rows[np.sort(first)]  # each design once, in order
    values = evaluator.evaluate(evaluator.space.from_index(rows)).objectives
    wanted = {tuple(point): None for point in front.tolist()}
    at = np.array([i for i, value in _new(values) if value in wanted]) + 1
    counts = [math.ceil(share * len(wanted)) for share in SHARES]
    found = [float(at[count - 1]) if count <= len(at) else math.inf for count in counts]
    return found, len(at) / len(wanted)


def _new(values: NDArray[np.float64]) -> list[tuple[int, tuple[float, ...]]]:
    """Return the points that are not among earlier ones, with their places."""
    first: dict[tuple[float, ...], int] = {}
    for i, value in enumerate(map(tuple, values.tolist())):
        first.setdefault(value, i)
    return [(i, value) for value, i in first.items()]


def _drawn(study: dse.Study, method: str, draws: int, seed: int) -> NDArray[np.int64]:
    """Return the rows that a method draws, in order, repeats included."""
    evaluator, space = study.evaluator, study.evaluator.space
    if method == "random rows":
        return np.random.default_rng(seed).permutation(space.size or 0)[:draws]
    settings = SearchSettings(method=method, evaluations=draws, seed=seed)
    chosen = choose_method(settings, evaluator, [])
    assert chosen is not None
    if method == "evolution":
        chosen = replace(chosen, generation=min(chosen.generation, 100))
        evolution = Evolution(Start(evaluator, chosen))
        deque(evolution.steps(), maxlen=0)
        return np.asarray(space.from_unit(evolution.population.unit)[ROW])
    sampling = Sampling(Start(evaluator, chosen))
    deque(sampling.steps(), maxlen=0)
    return np.concatenate([points[ROW] for points, _ in sampling.samples.batches])


if __name__ == "__main__":
    main()
