"""Partitioning: time to the optimum beside networkx's cut, and a study of 1,000 designs.

Run with ``python benchmarks/partition.py [solvers|study]``. Graphs are made at random
(nested loops) with 100, 500 and 2,000 blocks; times are the processor's, medians of five runs,
subjects in turn; what takes more than ten seconds runs once. Every subject that finds the minimum
cut must find the same value. The study is 1,000 designs of the largest committed profile, on two
workers; how many are proven optimal is counted afterwards.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.flow import dinitz, preflow_push

import dse
from dse.study.catalog import find_catalog, load_catalog
from objectives.partition import (
    Workloads,
    best_partition,
    greedy_partition,
    make_problem,
    optimal,
)
from objectives.partition.cut import minimum_cut
from objectives.partition.milp import solve_program
from objectives.partition.problem import PartitionProblem

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' examples, from any folder

from tests.partition_examples import organisation, random_program

RUNS = 5
LONG = 10.0  # seconds
SIZE = 128
PROFILE = Path(__file__).parents[1] / "studies" / "profiles" / "jpeg.json"


def network(problem: PartitionProblem) -> tuple[nx.DiGraph, float]:
    graph, least = nx.DiGraph(), 0.0
    graph.add_nodes_from(["CPU", "ACC"])
    for node, cost in enumerate(problem.cost.tolist()):
        if cost > 0:
            graph.add_edge("CPU", node, capacity=cost)
        else:
            graph.add_edge(node, "ACC", capacity=-cost)
            least += cost
    for tie, (cost, gain) in enumerate(zip(problem.any_cost, problem.all_gain, strict=True)):
        graph.add_edge("CPU", ("any", tie), capacity=cost)
        graph.add_edge(("all", tie), "ACC", capacity=gain)
        least -= gain
    for tie, member in zip(problem.tie.tolist(), problem.node.tolist(), strict=True):
        graph.add_edge(("any", tie), member)  # without end
        graph.add_edge(member, ("all", tie))
    return graph, least


def subjects(problem: PartitionProblem) -> dict[str, Callable[[], float]]:
    def peer(algorithm: Any) -> Callable[[], float]:
        def cut() -> float:
            graph, least = network(problem)
            return float(least + nx.minimum_cut(graph, "CPU", "ACC", flow_func=algorithm)[0])

        return cut

    return {
        "cut": lambda: problem.value(minimum_cut(problem)),
        "cut, networkx preflow-push": peer(preflow_push),
        "cut, networkx Dinitz": peer(dinitz),
        "cut, HiGHS": lambda: problem.value(solve_program(problem, np.inf).chosen),
        f"greedy, area {SIZE}": lambda: greedy_partition(problem, SIZE).change,
        f"optimum, area {SIZE}": lambda: best_partition(problem, SIZE).change,
    }


def medians(work: dict[str, Callable[[], float]], runs: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in work}
    found: dict[str, float] = {}
    for _ in range(runs):
        for name, run in work.items():
            if seconds[name] and seconds[name][0] > LONG:
                continue
            began = time.process_time()
            found[name] = run()
            seconds[name].append(time.process_time() - began)
    for name, value in found.items():
        if name.startswith("cut"):
            assert np.isclose(value, found["cut"], rtol=1e-9), (name, value, found["cut"])
    return {name: statistics.median(each) for name, each in seconds.items()}


def solvers() -> None:
    for blocks in (100, 500, 2000):
        problem = make_problem(random_program(blocks, 1), organisation("SL2+"))
        print(f"{blocks} blocks: {len(problem)} movable, {len(problem.any_cost)} sets")
        times = medians(subjects(problem), RUNS)
        for name, seconds in times.items():
            print(f"  {name:28} {1e3 * seconds:9.1f} ms  {seconds / times['cut']:7.1f} x the cut")


def study(workers: int = 2) -> None:
    values: dict[str, list[float]] = {
        "accelerator_size": [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
        "accelerator_instruction_time": [0.1, 0.3, 0.5, 0.7, 0.9],
        "interface_latency_factor": [0.25, 1, 4, 16],
    }
    resolved = dse.from_mapping(
        {
            "study": {"name": "partition", "models": ["objectives.partition:optimal"]},
            "inputs": {"profiles": str(PROFILE), "workload": 0},
            "space": {name: {"values": each} for name, each in values.items()}
            | {"memory": {"catalog": "memory_organisations"}},
            "objective": [{"maximize": "speedup"}, {"minimize": "size_used"}],
        }
    )
    began, worked = time.perf_counter(), time.process_time()
    result = resolved.run(workers=workers)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    best = result.front.designs["speedup"].max()
    print(f"1,000 designs of {PROFILE.stem}, the best {best:.2f} times as fast as the CPU alone:")
    print(f"  {proven(values):,} of them proven optimal")
    print(f"  {seconds:.1f} s on {workers} workers, {work:.1f} s of work")
    print(f"  {os.getloadavg()[0]:.1f} processes at work on {os.cpu_count()} cores at the time")


def proven(values: dict[str, list[float]]) -> int:
    """Count the designs of the study whose optimum is proven; the study has solved them."""
    rows = load_catalog(find_catalog("memory_organisations")).rows.values()
    level, cache = (
        np.array([float(row.values[name].value) for row in rows])[:, None, None, None]
        for name in ("shared_level", "accelerator_cache")
    )
    axes = dict(zip(values, np.ix_(*values.values()), strict=True))
    found = optimal(Workloads.load(PROFILE), 0, level, cache, **axes)
    return int((found.optimality_gap == 0).sum())


if __name__ == "__main__":
    for name in sys.argv[1:] or ["solvers", "study"]:
        {"solvers": solvers, "study": study}[name]()
