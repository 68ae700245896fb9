"""Explaining designs: which inputs to improve, where the time and the area go, the regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective, scenario
from dse.evaluate.space import Points
from dse.evaluate.wiring import Wiring
from dse.explain.curves import curves_of
from dse.explain.explanation import Explanation, Part, Regions, Sensitivity
from dse.explain.gains import gain, improvable, improve
from dse.explain.regions import sweep
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.units import read
from dse.problems import InputError, Problem
from dse.result.record import Result
from dse.study.schema import BottleneckTable
from dse.study.study import ResolvedStudy

_DRAWN = 8  # designs whose curves are drawn: a curve may be a simulation


def explain(
    study: ResolvedStudy, result: Result, numbers: Sequence[int], *, regions: bool = True
) -> list[Explanation]:
    """Explain designs.

    Parameters
    ----------
    study : ResolvedStudy
        The study.
    result : Result
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
    before = evaluator.objective_values(columns, len(numbers))
    tried = _improved(evaluator, study.file.bottlenecks, columns, len(numbers))
    parts = _parts(evaluator, columns, len(numbers))
    swept = _regions(study, columns) if regions else [()] * len(numbers)
    found = []
    for row, number in enumerate(numbers):
        one = {name: float(values[row]) for name, values in columns.items()}
        values: dict[str, Any] = {n: v[row] for n, v in labels.items()}
        values |= {n: v for n, v in one.items() if n not in values}
        values |= {n: v for n, (v, _) in result.constants.items()}
        values |= {o.name: float(before[row, i]) for i, o in enumerate(evaluator.objectives)}
        found.append(
            Explanation(
                design=int(number),
                values=values,
                parts=parts[row],
                sensitivities=_sensitivities(study, one, before[row], tried, row),
                regions=swept[row],
                curves=curves_of(study, one) if row < _DRAWN and regions else (),
            )
        )
    return found


def _points(study: ResolvedStudy, result: Result, numbers: Sequence[int]) -> Points:
    space = study.evaluator.space
    size = space.size
    if result.certificate.numbered and size is not None:
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


def _improved(
    evaluator: Evaluator, rule: BottleneckTable, columns: Mapping[str, Array], count: int
) -> dict[str, Array]:
    """Return the objectives with each lever improved, for all designs at once."""
    found = {}
    for name, quantity in improvable(evaluator).items():
        value = columns.get(name, evaluator.wiring.constants.get(name))
        if value is not None:
            better = np.broadcast_to(improve(quantity, value, float(rule.factor)), (count,))
            found[name] = evaluator.objective_values({**columns, name: better}, count)
    return found


def _sensitivities(
    study: ResolvedStudy,
    one: Mapping[str, float],
    before: Array,
    tried: Mapping[str, Array],
    row: int,
) -> tuple[Sensitivity, ...]:
    evaluator, rule = study.evaluator, study.file.bottlenecks
    found = []
    for name, quantity in improvable(evaluator).items():
        if name not in tried:
            continue
        value = one[name] if name in one else evaluator.wiring.constants[name]
        for i, objective in enumerate(evaluator.objectives):
            after = float(tried[name][row, i])
            factor = float(gain(objective, before[i], np.float64(after)))
            found.append(
                Sensitivity(
                    objective=objective.name,
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


class _Share(NamedTuple):
    """A part of a total, for all designs."""

    total: str
    name: str
    unit: str
    part: Array
    whole: Array


def _parts(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> list[tuple[Part, ...]]:
    """Return the declared parts of every total that an objective's conditions determine.

    One tuple a design, though all designs are evaluated at once.
    """
    wiring = evaluator.wiring
    visited = [
        (objective, set(wiring.needs([objective.quantity], objective.conditions).names))
        for objective in evaluator.objectives
    ]
    upstream = wiring.upstream
    with_parts = [(model, totals) for model in wiring.models if (totals := _totals(model))]
    shares: list[tuple[str, list[_Share]]] = []
    # totals that an objective needs first, then those that its conditions bear on
    for asked in (True, False):
        for objective, names in visited:
            for model, totals in with_parts:
                matters = not upstream[model.name].isdisjoint(objective.conditions)
                if not names.isdisjoint(totals) if asked else matters:
                    shares.append(
                        (objective.name, _shares(wiring, model, objective, columns, count))
                    )
    return [_of_design(shares, row) for row in range(count)]


def _of_design(shares: Sequence[tuple[str, list[_Share]]], row: int) -> tuple[Part, ...]:
    """Return the parts of one design; of equal totals, those that came first."""
    found: dict[tuple[str, float], list[Part]] = {}
    for objective, breakdown in shares:
        mine: dict[tuple[str, float], list[Part]] = {}
        for share in breakdown:
            part, whole = float(share.part[row]), float(share.whole[row])
            if np.isfinite(whole) and whole != 0:
                shown = Part(objective, share.total, share.name, share.unit, part, part / whole)
                mine.setdefault((share.total, whole), []).append(shown)
        for key, parts in mine.items():
            found.setdefault(key, parts)
    return tuple(part for parts in found.values() for part in parts)


def _totals(model: Model) -> set[str]:
    """Return the outputs of a model of which others are parts."""
    own = {field: name for name, field in model.fields.items()}
    return {own[q.part_of] for q in model.outputs.values() if q.part_of}


def _shares(
    wiring: Wiring, model: Model, objective: Objective, columns: Mapping[str, Array], count: int
) -> list[_Share]:
    """Return the parts of each total of a model, under the objective's first conditions."""
    binding = scenario(objective.conditions, 0)
    own = {field: name for name, field in model.fields.items()}
    named = [
        (own[q.part_of], name, q.unit)
        for name, q in model.outputs.items()
        if q.part_of and not wiring.needs([name, own[q.part_of]], binding).missing
    ]
    asked = [(each, binding) for total, name, _ in named for each in (name, total)]
    values = [np.broadcast_to(v, (count,)) for v in wiring.evaluate(asked, columns)]
    return [
        _Share(*which, part, whole)
        for which, part, whole in zip(named, values[::2], values[1::2], strict=True)
    ]


def _regions(study: ResolvedStudy, columns: Mapping[str, Array]) -> list[tuple[Regions, ...]]:
    """Return the regions of designs given as columns, along the study's axis."""
    table = study.file.regions
    count = len(next(iter(columns.values())))
    if table is None:
        return [()] * count
    evaluator = study.evaluator
    wiring = evaluator.wiring
    objectives = [o for o in evaluator.objectives if o.name == table.objective] or [
        o
        for o in evaluator.objectives
        if table.axis in wiring.needs([o.quantity], o.conditions).names
    ][:1]
    unit = wiring.quantities[table.axis].unit
    clock = wiring.constants.get("clock")
    low, high = (
        read(v, unit, clock) if isinstance(v, str) else float(v) for v in (table.low, table.high)
    )
    rule = study.file.bottlenecks
    swept = [sweep(evaluator, o, columns, table.axis, low, high, rule) for o in objectives]
    return list(zip(*swept, strict=True)) if swept else [()] * count
