"""Results as a run would leave them, made from closed forms, for the tests of the report."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from dse.api import StudyResult
from dse.evaluate.criteria import Objective
from dse.evaluate.front import is_nondominated
from dse.explain.breakdown import Part
from dse.explain.changes import Change, Effect, Setting
from dse.explain.curves import Region, Regions, Span
from dse.explain.explanation import Explanation
from dse.explain.sensitivity import Sensitivity
from dse.model import Array, Floats
from dse.model.values import show
from dse.result.record import Certificate, Column

COMPUTE = 90.0  # cycle/B on the host
CLOCK = 1.16e9  # Hz
ROWS = {  # overhead [cycle], latency [cycle], area [LUT]
    "pci-card": (50_000.0, 3_500.0, 600.0),
    "privileged-dma": (9_000.0, 800.0, 1_700.0),
    "user-port": (600.0, 150.0, 5_200.0),
    "instruction": (4.0, 20.0, 14_000.0),
}
STUDY_TEXT = '[study]\nname = "crypto"\nmodels = ["objectives.logca:offload"]\n'
STUDY = """# Which interface, how fast an engine.
[study]
name = "crypto"  # as in the report
models = ["objectives.logca:offload"]

[space]
acceleration = { integer = [1, 64] }
interface = { catalog = "interfaces", options = ["pci-card", "user-port"] }
schedule_period = { values = [1, 2, 4, 8, 16, 32, 64, 128] }
overhead_scale = { real = [0.1, 1.0], log = true, steps = 64 }

[[objective]]
maximize = "speedup"
at = { granularity = "1 KiB" }  # [space] in a comment stays
"""
"""A study with the variables of the example."""
NASTY = "<script>window.broken = 1</script>"
OPTION = '<img src=x onerror="window.broken = 2">, "port"'
"""Names that are markup."""
Visit: TypeAlias = Callable[..., StudyResult]
"""Writes the report of a result and opens it."""

_ABOUT = "host time over accelerated time"
OBJECTIVES = (
    Objective("speedup", "speedup", "maximize", "1", "S", _ABOUT, "at granularity = 1 KiB"),
    Objective("break_even", "break_even", "minimize", "B", "g1", "data at which offloading pays"),
    Objective("offload_latency", "offload_latency", "minimize", "s", "", "time of one offload"),
    Objective("area", "area", "minimize", "LUT", "", "area of engine and interface"),
    Objective("energy", "energy", "minimize", "J", "E", "energy of one offload"),
    Objective("throughput", "throughput", "maximize", "B/s", "", "data offloaded per second"),
)
COLUMNS = {
    "acceleration": Column("acceleration", "1", "how much faster than the host", "variable"),
    "interface": Column("interface", "1", "how the engine is attached", "variable"),
    "schedule_period": Column("schedule_period", "1", "slots a stream holds", "variable"),
    "overhead_scale": Column("overhead_scale", "1", "share of the overhead that stays", "variable"),
    "overhead": Column("overhead", "cycle", "set-up of one offload", "input"),
    "latency": Column("latency", "cycle", "time on the way", "input"),
    "utilization": Column("utilization", "1", "share of slots in use", "constraint"),
}


def time_of(granularity: Floats, overhead: Floats, latency: Floats, acceleration: Floats) -> Array:
    """Return the accelerated time [cycle]: overhead, latency, computation."""
    return np.asarray(overhead + latency + COMPUTE * granularity / acceleration)


def speedup_of(granularity: Floats, now: tuple[float, float, float]) -> Array:
    """Return host time over accelerated time."""
    return np.asarray(COMPUTE * granularity / time_of(granularity, *now))


def break_even_of(overhead: float, latency: float, acceleration: float) -> float:
    """Return the data at which host and accelerator take equally long [B]; never is inf."""
    if acceleration <= 1:
        return float("inf")
    return (overhead + latency) / (COMPUTE * (1 - 1 / acceleration))


def _designs(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    interface = np.array(list(ROWS))[rng.integers(0, len(ROWS), count)]
    interface[0] = "pci-card"
    overhead, latency, base = np.array([ROWS[name] for name in interface]).T
    scale = np.geomspace(0.1, 1.0, 64)[rng.integers(0, 64, count)]
    scale[0] = 1.0
    acceleration = rng.integers(1, 65, count).astype(float)
    period = rng.integers(1, 129, count)
    acceleration[0], period[0] = 1, 1  # no faster than the host: cheap, and it never breaks even
    overhead = overhead * scale
    accelerated = time_of(1024.0, overhead, latency, acceleration)
    area = base + 310.0 * acceleration + 8.0 * period + 4000.0 * (1 - scale)
    break_even = [
        break_even_of(*each) for each in zip(overhead, latency, acceleration, strict=True)
    ]
    return pd.DataFrame(
        {
            "acceleration": acceleration.astype(int),
            "interface": interface,
            "schedule_period": period,
            "overhead_scale": scale,
            "overhead": overhead,
            "latency": latency,
            "speedup": COMPUTE * 1024.0 / accelerated,
            "break_even": break_even,
            "offload_latency": (accelerated + 3.0 * period) / CLOCK,
            "area": area,
            "energy": area * accelerated * 1e-12,
            "throughput": 1024.0 / (accelerated / CLOCK + period * 1e-9),
            "utilization": rng.permutation(np.linspace(0.1, 0.9, count)),
        },
        index=pd.Index(np.arange(count) * 7 + 3, name="design"),
    )


def result(
    objectives: int = 4,
    count: int = 4_000,
    *,
    name: str = "crypto",
    sampled: bool = False,
    option: str = "user-port",
) -> StudyResult:
    """Return a result with its front; `option` renames the interface ``user-port``."""
    chosen = OBJECTIVES[:objectives] if objectives != 2 else (OBJECTIVES[0], OBJECTIVES[3])
    designs = _designs(count)
    designs["interface"] = designs["interface"].replace({"user-port": option})
    designs = designs[[*COLUMNS, *(one.name for one in chosen)]].copy()
    feasible = (designs["utilization"] <= 0.85).to_numpy()
    signs = np.array([1.0 if one.direction == "minimize" else -1.0 for one in chosen])
    points = designs[[one.name for one in chosen]].to_numpy() * signs
    on_front = np.zeros(count, dtype=bool)
    on_front[feasible] = is_nondominated(points[feasible])
    designs["feasible"], designs["on_front"] = feasible, on_front
    front = int(on_front.sum())
    steps = np.linspace(100, count, 40)
    convergence = pd.DataFrame(
        {
            "evaluations": steps,
            "front": np.round(front * (1 - np.exp(-3 * steps / count)) / (1 - np.exp(-3))),
            "hypervolume": 1 - 0.6 * np.exp(-8 * steps / count),
        }
    )
    return StudyResult(
        name=name,
        about="AES on a host of the UltraSPARC T2 class: which interface, how fast an engine.",
        objectives=chosen,
        columns=COLUMNS | {g.name: Column(g.name, g.unit, g.about, "objective") for g in chosen},
        designs=designs,
        certificate=_certificate(sampled, count, int(feasible.sum()), front),
        convergence=convergence if sampled else convergence.iloc[:0],
        notes=("variable 'lanes' changes no objective",),
        provenance={
            "seconds": 3.21,
            "seed": 1,
            "digest": "9f2c" * 16,
            "versions": {"python": "3.11.2", "numpy": "2.4.6"},
            "code": ["objectives/logca.py", "spaces/interfaces.toml"],
        },
        constants={"computational_index": (COMPUTE, "cycle/B"), "clock": (CLOCK, "Hz")},
    )


def _certificate(sampled: bool, count: int, feasible: int, front: int) -> Certificate:
    counts = (count, feasible, front)
    if sampled:
        said = f"{count:,} designs of a continuous space were evaluated; {front:,} stand."
        return Certificate(False, "NSGAIISampler", None, *counts, said, "evaluations")
    said = f"All {count:,} designs were evaluated: these {front:,} are the whole Pareto front."
    return Certificate(True, "exhaustive", count, *counts, said, "complete")


def explanations(found: StudyResult, count: int) -> list[Explanation]:
    """Return explanations of the Nash design and of every so many designs of the front."""
    numbers = found.front.designs.index
    some = numbers[:: max(1, len(numbers) // count)].tolist()
    named = [found.nash().name] if len(numbers) else []
    return [explanation(found, int(number)) for number in sorted({*some, *named})]


def explanation(found: StudyResult, design: int) -> Explanation:
    """Return an explanation in the manner of LogCA for the two first objectives."""
    row = found.designs.loc[design].to_dict()
    now = (float(row["overhead"]), float(row["latency"]), float(row["acceleration"]))
    times = {"overhead_time": now[0], "transfer_time": now[1]}
    times["compute_time"] = COMPUTE * 1024.0 / now[2]
    total = sum(times.values())
    engine = 310.0 * now[2]
    parts = [
        Part("speedup", "accelerated_time", name, "cycle", value, value / total)
        for name, value in times.items()
    ]
    parts += [
        Part("", "area", "engine_area", "LUT", engine, engine / (engine + 1_500.0)),
        Part("", "area", "interface_area", "LUT", 1_500.0, 1_500.0 / (engine + 1_500.0)),
    ]
    values = {name: row[name] for name in found.columns}
    chosen = {one.name for one in found.objectives}
    limits = tuple(item for item in _sensitivities(now) if item.objective in chosen)
    effect = Effect(found.objectives[0].name, "1", 1.0, 2.0, 2.0)
    change = Change((Setting("interface", "slow", "quick"),), design + 1, (effect,))
    regions = (regions_of(now),)
    return Explanation(design, values, tuple(parts), limits, regions, advice=(change,))


def _improvements(now: tuple[float, float, float]) -> dict[str, tuple[Any, ...]]:
    """Return by input: symbol, unit, value, improved value, and all three with it improved."""
    overhead, latency, acceleration = now
    return {
        "overhead": ("o", "cycle", overhead, overhead / 10, (overhead / 10, *now[1:])),
        "latency": ("L", "cycle", latency, latency / 10, (overhead, latency / 10, acceleration)),
        "acceleration": ("A", "1", acceleration, acceleration * 10, (*now[:2], acceleration * 10)),
    }


def _sensitivities(now: tuple[float, float, float]) -> tuple[Sensitivity, ...]:
    items = []
    for name, (symbol, unit, value, improved, better) in _improvements(now).items():
        shown = (show(value, unit), show(improved, unit))
        speedup = float(speedup_of(1024.0, now)), float(speedup_of(1024.0, better))
        even = break_even_of(*now), break_even_of(*better)
        gains = speedup[1] / speedup[0], 1.0 if np.isinf(even[1]) else even[0] / even[1]
        for objective, pair, gain in (
            ("speedup", speedup, gains[0]),
            ("break_even", even, gains[1]),
        ):
            about = (objective, name, symbol, unit, value, improved)
            items.append(Sensitivity(*about, *pair, gain, gain >= 1.2, shown))
    return tuple(sorted(items, key=lambda item: -item.gain))


def regions_of(now: tuple[float, float, float]) -> Regions:
    """Return the optimization regions of speedup along granularity, cut at the grid's points."""
    grid = np.geomspace(16, 2.0**24, 241)
    base = speedup_of(grid, now)
    improvements = _improvements(now)
    symbols = {name: each[0] for name, each in improvements.items()}
    improved = {name: speedup_of(grid, each[4]) for name, each in improvements.items()}
    limits = {name: values >= 1.2 * base for name, values in improved.items()}
    cuts = {0, len(grid) - 1}
    for mask in limits.values():
        cuts |= set((np.flatnonzero(np.diff(mask)) + 1).tolist())
    regions = []
    for low, high in pairwise(sorted(cuts)):
        inputs = tuple(name for name, mask in limits.items() if mask[low])
        ends = float(grid[low]), float(grid[high])
        shown = show(ends[0], "B"), show(ends[1], "B")
        regions.append(Region(*ends, inputs, "".join(symbols[n] for n in inputs), shown))
    spans = tuple(
        Span(name, symbols[name], float(grid[mask][0]), float(grid[mask][-1]))
        for name, mask in limits.items()
        if mask.any()
    )
    about = ("speedup", "", "granularity", "B", "1", 10.0, 0.2)
    return Regions(*about, grid, base, spans, tuple(regions), 1.0)


def unpacked(values: Any) -> Any:
    """Return the numbers or texts of a packed column or series, as the page reads them."""
    if not isinstance(values, dict):
        return np.asarray(values)
    if "bdata" in values:
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    if "numbers" in values:
        return np.frombuffer(base64.b64decode(values["numbers"]), "<f8")
    codes = np.frombuffer(base64.b64decode(values["codes"]), f"<u{values['width']}")
    return np.asarray(unpacked(values["distinct"]))[codes]
