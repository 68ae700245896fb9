"""Programs to partition, made at random: nested loops, values and data that blocks share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectives.partition.graph import COSTED, Controls, Crossings, Graph, Registers
from objectives.partition.quantities import Architecture

ORGANISATIONS = {"SL1": (1, 0), "SL2+": (2, 1), "SL2-": (2, 0), "SMM+": (3, 1), "SMM-": (3, 0)}


def organisation(name: str, penalty: float = 0.0) -> Architecture:
    level, cache = ORGANISATIONS[name]
    return Architecture(shared_level=level, accelerator_cache=cache, shared_penalty=penalty)


def some_architecture(rng: np.random.Generator) -> Architecture:
    level, cache = list(ORGANISATIONS.values())[rng.integers(5)]
    return Architecture(
        shared_level=level,
        accelerator_cache=cache,
        shared_penalty=float(rng.choice([0.0, 1.0, 2.5])),
        accelerator_instruction_time=float(rng.uniform(0.1, 1.0)),
        interface_latency_factor=float(2.0 ** rng.uniform(-3, 3)),
        register_push_latency=float(rng.uniform(0, 4)),
        register_pull_latency=float(rng.uniform(0, 4)),
        **{f"{core}_{kind}_cost": _cost(rng) for core in ("cpu", "accelerator") for kind in COSTED},
    )


def _cost(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 1.0, rng.uniform(0.2, 30)]))


def random_program(blocks: int, seed: int) -> Graph:
    """Make functions of nested loops, each a run of consecutive blocks."""
    rng = np.random.default_rng(seed)
    runs = np.zeros(blocks)
    edges: list[tuple[float, ...]] = []
    values: list[tuple[float, ...]] = []
    start = 0
    while start < blocks:
        stop = min(blocks, start + int(rng.integers(6, 60)))
        _nest(rng, runs, edges, start, stop, float(2 ** rng.integers(0, 12)), 0)
        for one in rng.integers(start, stop, stop - start):
            two = min(int(one) + int(rng.geometric(0.25)), stop - 1)
            values.append((int(one), two, 1.0, runs[one], runs[two]))
        if start:
            caller = int(rng.integers(0, start))
            calls = min(runs[start], runs[caller])
            edges += [(caller, start, calls), (stop - 1, caller, calls)]
            values.append((caller, start, float(rng.integers(1, 5)), calls, calls))
        start = stop
    accesses = (rng.geometric(0.45, blocks) - 1) * runs
    missed = np.floor(accesses * rng.beta(0.5, 20, blocks))
    operations, casts = rng.geometric(0.2, blocks), rng.binomial(1, 0.3, blocks)
    shares = [0.6, 0.15, 0.1, 0.03, 0.1, 0.02]
    classes = np.random.default_rng([seed, 1]).multinomial(operations, shares)
    classes = np.column_stack([classes, casts])
    return Graph(
        program="random",
        block=np.arange(blocks),
        function=("f",) * blocks,
        name=tuple(f"b{i}" for i in range(blocks)),
        line=np.arange(blocks),
        executions=runs,
        operations=classes * runs[:, None],
        hits=np.stack([accesses - missed, missed - missed // 8, missed // 8], axis=1),
        area=operations + casts + rng.integers(0, 4, blocks),
        movable=rng.random(blocks) > 0.05,
        controls=Controls(*_columns(edges, 3)),
        registers=Registers(*_columns(values, 5)),
        crossings=_shared(rng, runs),
    )


def _nest(
    rng: np.random.Generator,
    runs: NDArray[np.float64],
    edges: list[tuple[float, ...]],
    start: int,
    stop: int,
    count: float,
    depth: int,
) -> None:
    """Fill blocks with a body that runs `count` times: plain blocks, branches and loops."""
    before, block = -1, start
    while block < stop:
        entered, last, times = block, block, count
        if stop - block >= 3 and depth < 6 and rng.random() < 0.35:
            last = block + int(rng.integers(2, max(3, (stop - start) // 2) + 1)) - 1
            last = min(last, stop - 1)
            times = max(
                1.0, count * 2.0 ** rng.integers(1, 6) if rng.random() < 0.7 else count // 2
            )
            _nest(rng, runs, edges, block, last + 1, times, depth + 1)
            if times > count:
                edges.append((last, block, times - count))
        else:
            runs[block] = count
        if before >= 0:
            edges.append((before, entered, min(count, times)))
        before, block = last, last + 1


def _shared(rng: np.random.Generator, runs: NDArray[np.float64]) -> Crossings:
    """Lines of each block, touched by the next or by some others, near and far."""
    rows: list[tuple[float, ...]] = []
    row: list[int] = []
    reader: list[int] = []
    for one in range(len(runs)):
        for level in (1, 2):
            near = [min(one + 1, len(runs) - 1)] if rng.random() < 0.8 else []
            far = rng.integers(0, len(runs), int(rng.choice([0, 0, 1, 3, 6]))).tolist()
            others = sorted({*near, *far} - {one})
            if others:
                most = min(runs[one], runs[others].min()) // 8 + 1
                times = rng.integers(0, most + 1, 2).astype(float).tolist()
                row += [len(rows)] * len(others)
                reader += others
                rows.append((level, one, *times))
    level_, source, dirty, clean = np.array(rows, float).reshape(-1, 4).T
    ends = (level_.astype(np.int64), source.astype(np.int64))
    return Crossings(*ends, dirty, clean, np.array(row, np.int64), np.array(reader, np.int64))


def _columns(rows: Iterable[tuple[float, ...]], width: int) -> list[Any]:
    table = np.array([row for row in rows if row[0] != row[1]], float).reshape(-1, width)
    return [*table[:, :2].astype(np.int64).T, *table[:, 2:].T]
