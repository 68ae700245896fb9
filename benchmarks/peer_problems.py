"""The problems on which `benchmarks.peers` compares searches: six studies, small and large."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity
from dse.model import model, monotonic
from dse.study.study import ResolvedStudy, make_study, read_study
from objectives.logca import break_even, speedup

_PARTS = range(1, 5)  # accelerators of the large problem


class Cost(NamedTuple):
    cost: Annotated[Array, Quantity("1", "area, in arbitrary units", low=0)]


@model
@monotonic(cost="+acceleration +computational_index -overhead -latency -latency_per_byte")
def cost(
    acceleration: Annotated[Floats, Quantity("1", "acceleration", above=0)],
    computational_index: Annotated[Floats, Quantity("cycle/B", "work per byte", above=0)],
    overhead: Annotated[Floats, Quantity("cycle", "setup of a call", above=0)],
    latency: Annotated[Floats, Quantity("cycle", "latency of a call", above=0)],
    latency_per_byte: Annotated[Floats, Quantity("cycle/B", "transfer of a byte", above=0)],
) -> Cost:
    """Return a cost for which nothing is best at an end of its range."""
    logic = 200.0 * np.asarray(acceleration) + 300.0 * np.sqrt(computational_index)
    call = 3e5 / np.asarray(overhead) + 3e4 / np.asarray(latency)
    return Cost(logic + call + 2e3 / np.asarray(latency_per_byte))


class Chip(NamedTuple):
    whole_speedup: Annotated[Array, Quantity("1", "by Amdahl, of four equal parts", low=0)]
    mean_break_even: Annotated[Array, Quantity("B", "geometric mean of four", low=0)]
    whole_cost: Annotated[Array, Quantity("1", "area of four", low=0)]


def chip(**given: Floats) -> Chip:
    """Return four LogCA accelerators as one: what each input is called ends in its number."""
    times, evens, costs = [], [], []
    for k in _PARTS:
        a, c, o, per_byte, beta = (np.asarray(given[f"{name}{k}"]) for name in "acolb")
        once = {"overhead": o, "latency": 100.0, "latency_per_byte": per_byte}
        kernel = {"computational_index": c, "complexity": beta, "acceleration": a}
        times.append(0.25 / speedup(granularity=1024.0, **once, **kernel).speedup)
        evens.append(np.log(np.clip(break_even(**once, **kernel).break_even, 1e-9, 1e15)))
        costs.append(cost(a, c, o, 100.0, per_byte).cost)
    return Chip(
        np.asarray(1.0 / sum(times)), np.exp(sum(evens) / len(evens)), np.asarray(sum(costs))
    )


def _annotate(function: Any, inputs: dict[str, Any], outputs: type) -> None:
    """Give a function the signature of its inputs."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(n, keyword, annotation=kind) for n, kind in inputs.items()]
    function.__signature__ = inspect.Signature(parameters, return_annotation=outputs)
    function.__annotations__ = {**inputs, "return": outputs}


def _annotated() -> Any:
    """Give `chip` the signature of its twenty inputs."""
    units = {"a": "1", "c": "cycle/B", "o": "cycle", "l": "cycle/B", "b": "1"}
    inputs = {
        f"{name}{k}": Annotated[Floats, Quantity(unit, f"{name} of part {k}", above=0)]
        for k in _PARTS
        for name, unit in units.items()
    }
    _annotate(chip, inputs, Chip)
    return chip


def five(steps: int = 24) -> ResolvedStudy:
    """Return LogCA with five variables on a grid: 64 · 4 · steps^3 designs."""
    return make_study(
        {
            "study": {"name": "five", "models": ["objectives.logca:offload", "cost"]},
            "space": {
                "acceleration": {"integer": [1, 64], "log": True},
                "computational_index": {"real": [1, 1e4], "log": True, "steps": steps},
                "overhead": {"real": [100, 1e5], "log": True, "steps": steps},
                "latency_per_byte": {"real": [0.01, 10], "log": True, "steps": steps},
                "latency": {"values": [10, 100, 1000, 5000]},
            },
            "objective": [
                {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
                {"minimize": "break_even"},
                {"minimize": "cost"},
            ],
        },
        {"cost": cost},
    )


def twenty(*constraints: dict[str, Any]) -> ResolvedStudy:
    """Return four accelerators with five variables each: a space without a known front."""
    each: dict[str, Any] = {
        "a": {"integer": [1, 512], "log": True},
        "c": {"real": [1, 1e4], "log": True},
        "o": {"real": [100, 1e5], "log": True},
        "l": {"real": [0.01, 10], "log": True},
        "b": {"values": [0.9, 1.0, 1.01, 1.1]},
    }
    return make_study(
        {
            "study": {"name": "twenty", "models": ["chip"]},
            "space": {f"{n}{k}": dict(v) for k in _PARTS for n, v in each.items()},
            "objective": [
                {"maximize": "whole_speedup"},
                {"minimize": "mean_break_even"},
                {"minimize": "whole_cost"},
            ],
            "constraint": list(constraints),
        },
        {"chip": _annotated()},
    )


def rare() -> ResolvedStudy:
    """Return `twenty` with two constraints that one design of 10,000 satisfies."""
    return twenty(
        {"quantity": "whole_speedup", "at_least": 9.3},
        {"quantity": "whole_cost", "at_most": 68_000},
    )


class Assembly(NamedTuple):
    time: Annotated[Array, Quantity("1", "of all parts", low=0)]
    area: Annotated[Array, Quantity("1", "of all parts", low=0)]


_OPTIONS, _CATALOGS = 50, 8
_CATALOG_ROWS = np.random.default_rng(0).random((2, _CATALOGS, _OPTIONS))


def assemble(**given: Floats) -> Assembly:
    """Return parts from catalogs, whose entries are in no order."""
    numbers = [np.asarray(given[f"part{k}"]).astype(np.int64) for k in range(_CATALOGS)]
    area = [0.05 + a[n] for a, n in zip(_CATALOG_ROWS[0], numbers, strict=True)]
    times = [
        (0.02 + 0.2 * t[n]) / a for t, n, a in zip(_CATALOG_ROWS[1], numbers, area, strict=True)
    ]
    return Assembly(np.asarray(sum(times)), np.asarray(sum(area)))


def options() -> ResolvedStudy:
    """Return eight catalogs with fifty options each: 4e13 designs."""
    names = [f"part{k}" for k in range(_CATALOGS)]
    inputs = {n: Annotated[Floats, Quantity("1", "the number of an option", low=0)] for n in names}
    _annotate(assemble, inputs, Assembly)
    return make_study(
        {
            "study": {"name": "options", "models": ["assemble"]},
            "space": {name: {"values": list(range(_OPTIONS))} for name in names},
            "objective": [{"minimize": "time"}, {"minimize": "area"}],
        },
        {"assemble": assemble},
    )


def queue(most: int = 64) -> ResolvedStudy:
    """Return streams that share a pipeline in turns, at several rates."""
    return make_study(
        {
            "study": {"name": "queue", "models": ["objectives.sharing:round_robin"]},
            "inputs": {"context_switch": 4, "clock_period": "10 ns"},
            "space": {
                "streams": {"values": [8, 16, 32, 64]},
                "pipeline_depth": {"integer": [1, 8]},
                "schedule_period": {"integer": [1, most]},
                "arrival_rate": {"real": [1e5, 1e7], "log": True, "steps": 24},
            },
            "objective": [
                {"minimize": "latency"},
                {"maximize": "total_throughput"},
                {"minimize": "pipeline_depth"},
            ],
            "constraint": [{"quantity": "utilization", "at_most": 0.99}],
        }
    )


def crypto() -> ResolvedStudy:
    """Return the shipped study."""
    return read_study(Path(__file__).parents[1] / "studies" / "crypto.toml")


NAMES = ("crypto", "five", "twenty", "rare", "options", "queue")
