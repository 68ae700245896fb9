"""Explaining designs: which inputs to improve, where the time and the area go, the regions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.bottleneck import Explanation, Part, Region, Regions, Sensitivity, Span
from dse.evaluate import Evaluator, Goal
from dse.problems import InputError, Problem
from dse.quantity import Array, Floats, Quantity
from dse.result import StudyResult
from dse.space import Points
from dse.study import Study
from dse.study_file import BottleneckTable
from dse.units import read
from dse.wiring import Binding, Wiring

_GRID = 241  # points along the axis between which a cut-off is looked for


def explain(
    study: Study, result: StudyResult, numbers: Sequence[int], *, regions: bool = True
) -> list[Explanation]:
    """Explain designs.

    Parameters
    ----------
    study : Study
        The study.
    result : StudyResult
        Its result.
    numbers : sequence of int
        Design numbers: kept ones, or any of an enumerated space.
    regions : bool
        Whether to sweep the study's ``[regions]`` axis as well.

    Raises
    ------
    InputError
        Where there is no such design.
    """
    points = _points(study, result, numbers)
    evaluator = study.evaluator
    columns = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    before = evaluator.objectives(columns, len(numbers))
    tried = _improved(evaluator, study.file.bottlenecks, columns, len(numbers))
    found = []
    for row, number in enumerate(numbers):
        one = {name: float(values[row]) for name, values in columns.items()}
        values: dict[str, Any] = {n: v[row] for n, v in labels.items()}
        values |= {n: v for n, v in one.items() if n not in values}
        values |= {n: v for n, (v, _) in result.constants.items()}
        values |= {g.info.name: float(before[row, i]) for i, g in enumerate(evaluator.goals)}
        found.append(
            Explanation(
                design=int(number),
                values=values,
                parts=_parts(evaluator, one),
                sensitivities=_sensitivities(study, one, before[row], tried, row),
                regions=tuple(_regions(study, one)) if regions else (),
            )
        )
    return found


def _points(study: Study, result: StudyResult, numbers: Sequence[int]) -> Points:
    space = study.evaluator.space
    size = space.size
    if result.certificate.method == "exhaustive" and size is not None:
        bad = [n for n in numbers if not 0 <= n < size]
        allowed = f"designs are numbered 0 to {size - 1:,}"
        if not bad:
            return space.from_index(np.asarray(numbers, dtype=np.int64))
    else:
        bad = [n for n in numbers if n not in result.designs.index]
        allowed = f"{len(result.designs):,} designs are kept; see designs.csv"
        if not bad:
            rows = result.designs.loc[list(numbers)]
            return space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    raise InputError(result.name, [Problem("--design", f"there is no design {bad[0]}", allowed)])


def levers(evaluator: Evaluator) -> dict[str, Quantity]:
    """Return the inputs that objectives depend on and that declare which way is better."""
    wiring = evaluator.wiring
    used: set[str] = set()
    for goal in evaluator.goals:
        used |= set(wiring.needs([goal.info.quantity], goal.scenarios[0]).names)
    return {
        name: quantity
        for name, quantity in wiring.quantities.items()
        if name in used and name not in wiring.producers and quantity.better is not None
    }


def improve(quantity: Quantity, values: Any, factor: float) -> Array:
    """Return values improved by a factor, as far as the domain goes."""
    x = np.asarray(values, dtype=np.float64)
    better = x / factor if quantity.better == "lower" else x * factor
    if quantity.integer:
        better = np.round(better)
    better = np.clip(better, quantity.low, quantity.high)
    return np.where(quantity.contains(better), better, x)


def gain(goal: Goal, before: Floats, after: Floats) -> Array:
    """Return the factor by which an objective got better; 1 where it did not change."""
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    with np.errstate(all="ignore"):
        ratio = b / a if goal.info.direction == "minimize" else a / b
        share = 1.0 + (b - a) * goal.sign / np.abs(b)
        factor = np.where((a > 0) & (b > 0), ratio, share)
    return np.where(a == b, 1.0, factor)


def _improved(
    evaluator: Evaluator, rule: BottleneckTable, columns: Mapping[str, Array], count: int
) -> dict[str, Array]:
    """Return the objectives with each lever improved, for all designs at once."""
    found = {}
    for name, quantity in levers(evaluator).items():
        value = columns.get(name, evaluator.wiring.constants.get(name))
        if value is not None:
            better = np.broadcast_to(improve(quantity, value, float(rule.factor)), (count,))
            found[name] = evaluator.objectives({**columns, name: better}, count)
    return found


def _sensitivities(
    study: Study, one: Mapping[str, float], before: Array, tried: Mapping[str, Array], row: int
) -> tuple[Sensitivity, ...]:
    evaluator, rule = study.evaluator, study.file.bottlenecks
    found = []
    for name, quantity in levers(evaluator).items():
        if name not in tried:
            continue
        value = one[name] if name in one else evaluator.wiring.constants[name]
        for i, goal in enumerate(evaluator.goals):
            after = float(tried[name][row, i])
            factor = float(gain(goal, before[i], np.float64(after)))
            found.append(
                Sensitivity(
                    objective=goal.info.name,
                    input=name,
                    symbol=quantity.symbol or name,
                    unit=quantity.unit,
                    value=float(value),
                    improved=float(improve(quantity, value, float(rule.factor))),
                    before=float(before[i]),
                    after=after,
                    gain=factor,
                    bottleneck=factor >= 1.0 + float(rule.threshold),
                )
            )
    return tuple(sorted(found, key=lambda s: -s.gain if not np.isnan(s.gain) else 0.0))


def _parts(evaluator: Evaluator, one: Mapping[str, float]) -> tuple[Part, ...]:
    wiring = evaluator.wiring
    columns = {name: np.asarray(value) for name, value in one.items()}
    found: dict[tuple[str, str, float], Part] = {}
    for goal in evaluator.goals:
        binding = goal.scenarios[0]
        visited = wiring.needs([goal.info.quantity], binding).names
        for model in dict.fromkeys(
            wiring.producers[n] for n in visited if n in wiring.producers and n not in binding
        ):
            for name, quantity in model.outputs.items():
                if not quantity.part_of:
                    continue
                total = next(n for n, f in model.fields.items() if f == quantity.part_of)
                part, whole = wiring.evaluate([(name, binding), (total, binding)], columns)
                key = (total, name, float(whole))
                if key not in found and np.isfinite(whole) and whole != 0:
                    found[key] = Part(
                        goal.info.name, total, name, quantity.unit, float(part), float(part / whole)
                    )
    return tuple(found.values())


def _regions(study: Study, one: Mapping[str, float]) -> list[Regions]:
    table = study.file.regions
    if table is None:
        return []
    evaluator = study.evaluator
    wiring = evaluator.wiring
    goals = [g for g in evaluator.goals if g.info.name == table.objective] or [
        g
        for g in evaluator.goals
        if table.axis in wiring.needs([g.info.quantity], g.scenarios[0]).names
    ][:1]
    unit = wiring.quantities[table.axis].unit
    clock = wiring.constants.get("clock")
    low, high = (
        read(v, unit, clock) if isinstance(v, str) else float(v) for v in (table.low, table.high)
    )
    return [sweep(evaluator, g, one, table.axis, low, high, study.file.bottlenecks) for g in goals]


def sweep(
    evaluator: Evaluator,
    goal: Goal,
    one: Mapping[str, float],
    axis: str,
    low: float,
    high: float,
    rule: BottleneckTable,
) -> Regions:
    """Return the optimization regions of a design along an axis, with exact cut-offs.

    A cut-off is where the gain of an improved input crosses the threshold: bracketed on an even
    logarithmic grid, then bisected to the last bit.
    """
    wiring = evaluator.wiring
    binding = {n: v for n, v in goal.scenarios[0].items() if n != axis}
    tools = {n: q for n, q in levers(evaluator).items() if n not in binding and n != axis}
    grid = np.geomspace(low, high, _GRID)
    grid[0], grid[-1] = low, high
    wanted = 1.0 + float(rule.threshold)

    def along(x: Array, lever: str | None = None) -> Array:
        columns = {n: np.float64(v) for n, v in one.items()} | {axis: x}
        if lever is not None:
            value = one.get(lever, wiring.constants.get(lever))
            columns[lever] = improve(tools[lever], value, float(rule.factor))
        return _value(wiring, goal, binding, columns, x)

    base = along(grid)
    improved, spans = {}, []
    for name, quantity in tools.items():
        if name not in one and name not in wiring.constants:
            continue
        improved[name] = along(grid, name)

        def helps(x: Array, name: str = name) -> NDArray[np.bool_]:
            return np.asarray(gain(goal, along(x), along(x, name)) >= wanted)

        spans += _spans(name, quantity.symbol or name, grid, helps(grid), helps)
    return Regions(
        objective=goal.info.name,
        axis=axis,
        axis_unit=wiring.quantities[axis].unit,
        unit=goal.info.unit,
        factor=float(rule.factor),
        threshold=float(rule.threshold),
        grid=grid,
        base=base,
        improved=improved,
        spans=tuple(spans),
        regions=_cut(low, high, spans),
    )


def _value(
    wiring: Wiring, goal: Goal, binding: Binding, columns: Mapping[str, Any], x: Array
) -> Array:
    (value,) = wiring.evaluate([(goal.info.quantity, binding)], columns)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), x.shape)


def _spans(
    name: str,
    symbol: str,
    grid: Array,
    inside: NDArray[np.bool_],
    helps: Callable[[Array], NDArray[np.bool_]],
) -> list[Span]:
    """Return the intervals where an input helps, their ends bisected."""
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    left, right = grid[edges].copy(), grid[edges + 1].copy()
    rising = inside[edges + 1]
    for _ in range(200):
        middle = np.sqrt(left * right)
        if len(edges) == 0 or not ((middle > left) & (middle < right)).any():
            break
        above = helps(middle) == rising  # the crossing lies to the left of the middle
        right = np.where(above, middle, right)
        left = np.where(above, left, middle)
    starts = [(float(r), True) for r, up in zip(right, rising, strict=True) if up]
    ends = [(float(at), True) for at, up in zip(left, rising, strict=True) if not up]
    if inside[0]:
        starts.insert(0, (float(grid[0]), False))
    if inside[-1]:
        ends.append((float(grid[-1]), False))
    return [
        Span(name, symbol, low, high, low_exact, high_exact)
        for (low, low_exact), (high, high_exact) in zip(starts, ends, strict=True)
    ]


def _cut(low: float, high: float, spans: Sequence[Span]) -> tuple[Region, ...]:
    """Cut the axis where an input starts or stops to help."""
    edges = sorted({low, high, *(s.low for s in spans), *(s.high for s in spans)})
    regions: list[Region] = []
    for a, b in itertools.pairwise(edges):
        middle = float(np.sqrt(a * b))
        active = [s for s in spans if s.low <= middle <= s.high]
        names = tuple(s.input for s in active)
        if regions and regions[-1].inputs == names:
            regions[-1] = Region(regions[-1].low, b, names, regions[-1].label)
        else:
            regions.append(Region(a, b, names, "".join(s.symbol for s in active)))
    return tuple(regions)
