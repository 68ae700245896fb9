"""Explaining designs: which inputs to improve, where the time and the area go, the regions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.bottleneck import Explanation, Part, Region, Regions, Sensitivity, Span
from dse.curves import curves_of
from dse.evaluate import Evaluator, Goal
from dse.model import Model
from dse.problems import InputError, Problem
from dse.quantity import Array, Floats, Quantity
from dse.result import StudyResult
from dse.space import Points
from dse.study import Study
from dse.study_file import BottleneckTable
from dse.units import read
from dse.wiring import Binding, Wiring

_DRAWN = 8  # designs whose curves are drawn: a curve may be a simulation
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
        Whether to sweep the study's ``[regions]`` axis, and its curves for the first few, as well.

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
    swept = _regions(study, columns) if regions else [()] * len(numbers)
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
                regions=swept[row],
                curves=curves_of(study, one) if row < _DRAWN and regions else (),
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
    """Return the inputs that objectives depend on and that declare which way is better.

    Those whose symbols the objectives' own models take come first, in that order: o, L, C, A.
    """
    wiring = evaluator.wiring
    used: dict[str, None] = {}
    symbols: dict[str, None] = {}
    for goal in evaluator.goals:
        used |= dict.fromkeys(wiring.needs([goal.info.quantity], goal.scenarios[0]).names)
        if goal.info.quantity in wiring.producers:
            inputs = wiring.producers[goal.info.quantity].inputs.values()
            symbols |= dict.fromkeys(q.symbol for q in inputs if isinstance(q, Quantity))
    order = {symbol: i for i, symbol in enumerate(symbols) if symbol}
    found = {
        name: wiring.quantities[name]
        for name in used
        if name in wiring.quantities
        and name not in wiring.producers
        and wiring.quantities[name].better is not None
    }
    ranked = sorted(found, key=lambda name: order.get(found[name].symbol, len(order)))
    return {name: found[name] for name in ranked}


def improve(quantity: Quantity, values: Any, factor: float) -> Array:
    """Return values improved by a factor, as far as the domain goes."""
    x = np.asarray(values, dtype=np.float64)
    better = x / factor if quantity.better == "lower" else x * factor
    if quantity.integer:
        better = np.round(better)
    better = quantity.clip(better)
    return np.where(quantity.contains(better), better, x)


def gain(goal: Goal, before: Floats, after: Floats) -> Array:
    """Return the factor by which an objective got better; 1 where it did not change.

    The ratio of the values where neither is negative (inf for what becomes 0 or ceases to be inf);
    else 1 and the change as a share of the value before.
    """
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    with np.errstate(all="ignore"):
        ratio = b / a if goal.info.direction == "minimize" else a / b
        share = 1.0 + (b - a) * goal.sign / np.abs(b)
        factor = np.where((a >= 0) & (b >= 0), ratio, share)
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
    """Return the declared parts of every total that an objective's conditions determine."""
    wiring = evaluator.wiring
    columns = {name: np.asarray(value) for name, value in one.items()}
    visited = [
        (goal, set(wiring.needs([goal.info.quantity], goal.scenarios[0]).names))
        for goal in evaluator.goals
    ]
    upstream = wiring.upstream
    found: dict[tuple[str, float], list[Part]] = {}
    # totals of an objective's own models first, then those that its conditions bear on
    for asked in (True, False):
        for goal, names in visited:
            for model in wiring.models:
                matters = not upstream[model.name].isdisjoint(goal.scenarios[0])
                for key, parts in _breakdowns(wiring, model, goal, columns).items():
                    if key[0] in names if asked else matters:
                        found.setdefault(key, parts)
    return tuple(part for parts in found.values() for part in parts)


def _breakdowns(
    wiring: Wiring, model: Model, goal: Goal, columns: Mapping[str, Array]
) -> dict[tuple[str, float], list[Part]]:
    """Return the parts of each total of a model, by the total's name and value."""
    binding = goal.scenarios[0]
    own = {field: name for name, field in model.fields.items()}
    found: dict[tuple[str, float], list[Part]] = {}
    for name, quantity in model.outputs.items():
        if not quantity.part_of:
            continue
        total = own[quantity.part_of]
        if wiring.needs([name, total], binding).missing:
            continue
        part, whole = (
            float(v) for v in wiring.evaluate([(name, binding), (total, binding)], columns)
        )
        if np.isfinite(whole) and whole != 0:
            shown = Part(goal.info.name, total, name, quantity.unit, part, part / whole)
            found.setdefault((total, whole), []).append(shown)
    return found


def _regions(study: Study, columns: Mapping[str, Array]) -> list[tuple[Regions, ...]]:
    """Return the regions of designs given as columns, along the study's axis."""
    table = study.file.regions
    count = len(next(iter(columns.values())))
    if table is None:
        return [()] * count
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
    rule = study.file.bottlenecks
    swept = [sweep(evaluator, g, columns, table.axis, low, high, rule) for g in goals]
    return list(zip(*swept, strict=True)) if swept else [()] * count


def sweep(
    evaluator: Evaluator,
    goal: Goal,
    columns: Mapping[str, Array],
    axis: str,
    low: float,
    high: float,
    rule: BottleneckTable,
) -> list[Regions]:
    """Return the optimization regions of designs along an axis, with exact cut-offs.

    A cut-off is where the gain of an improved input crosses the threshold: bracketed on an even
    logarithmic grid, then bisected to the last bit, all designs at once.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (designs,)
        What the space sets.
    axis : str
        The swept input.
    low, high : float
        The range of the axis, in its unit.

    Returns
    -------
    list of Regions
        One a design.
    """
    wiring = evaluator.wiring
    binding = {n: v for n, v in goal.scenarios[0].items() if n != axis}
    tools = {
        n: q
        for n, q in levers(evaluator).items()
        if n not in binding and n != axis and (n in columns or n in wiring.constants)
    }
    count = len(next(iter(columns.values())))
    grid = np.geomspace(low, high, _GRID)
    grid[0], grid[-1] = low, high
    wanted = 1.0 + float(rule.threshold)

    def along(x: Array, rows: NDArray[np.int64], lever: str | None = None) -> Array:
        """Return the objective of these designs at these points of the axis."""
        here = {n: v[rows] for n, v in columns.items()} | {axis: x}
        if lever is not None:
            value = here.get(lever, wiring.constants.get(lever))
            here[lever] = improve(tools[lever], value, float(rule.factor))
        return _value(wiring, goal, binding, here, x)

    def helps(x: Array, rows: NDArray[np.int64], lever: str) -> NDArray[np.bool_]:
        return np.asarray(gain(goal, along(x, rows), along(x, rows, lever)) >= wanted)

    every = np.repeat(np.arange(count), _GRID)
    points = np.tile(grid, count)
    base = along(points, every).reshape(count, _GRID)
    improved: dict[str, Array] = {}
    spans: list[list[Span]] = [[] for _ in range(count)]
    for name, quantity in tools.items():
        improved[name] = along(points, every, name).reshape(count, _GRID)
        inside = gain(goal, base, improved[name]) >= wanted
        rows, left, right, rising = _bisected(grid, inside, name, helps)
        for row in range(count):
            here = rows == row
            spans[row] += _spans(
                name,
                quantity.symbol or name,
                grid,
                inside[row],
                left[here],
                right[here],
                rising[here],
            )
    return [
        Regions(
            objective=goal.info.name,
            axis=axis,
            axis_unit=wiring.quantities[axis].unit,
            unit=goal.info.unit,
            factor=float(rule.factor),
            threshold=float(rule.threshold),
            grid=grid,
            base=base[row],
            improved={name: values[row] for name, values in improved.items()},
            spans=tuple(spans[row]),
            regions=_cut(low, high, spans[row]),
        )
        for row in range(count)
    ]


def _value(
    wiring: Wiring, goal: Goal, binding: Binding, columns: Mapping[str, Any], x: Array
) -> Array:
    (value,) = wiring.evaluate([(goal.info.quantity, binding)], columns)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), x.shape)


def _bisected(
    grid: Array,
    inside: NDArray[np.bool_],
    lever: str,
    helps: Callable[[Array, NDArray[np.int64], str], NDArray[np.bool_]],
) -> tuple[NDArray[np.int64], Array, Array, NDArray[np.bool_]]:
    """Return for each crossing: its design, the points before and after it, whether it is up."""
    rows, edges = np.nonzero(inside[:, 1:] != inside[:, :-1])
    left, right = grid[edges].copy(), grid[edges + 1].copy()
    rising = inside[rows, edges + 1]
    for _ in range(200):
        middle = np.sqrt(left * right)
        if not ((middle > left) & (middle < right)).any():
            break
        after = helps(middle, rows, lever) == rising  # the crossing lies before the middle
        right = np.where(after, middle, right)
        left = np.where(after, left, middle)
    return rows, left, right, rising


def _spans(
    name: str,
    symbol: str,
    grid: Array,
    inside: NDArray[np.bool_],
    left: Array,
    right: Array,
    rising: NDArray[np.bool_],
) -> list[Span]:
    """Return the intervals where an input helps one design."""
    starts = [(float(x), True) for x, up in zip(right, rising, strict=True) if up]
    ends = [(float(x), True) for x, up in zip(left, rising, strict=True) if not up]
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
