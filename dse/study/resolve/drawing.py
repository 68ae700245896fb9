"""Drawing: what is uncertain in a study becomes samples that objectives and constraints ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dse.evaluate.conditions import Reduction, scenarios
from dse.evaluate.constraint import Constraint
from dse.evaluate.objective import Objective
from dse.evaluate.samples import (
    SAMPLE,
    Middle,
    Spread,
    Uncertainty,
    draw_samples,
    option_of,
    sample_conditions,
)
from dse.evaluate.space import Choice, Space
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Array
from dse.model.values import plural
from dse.study.resolve.context import Context
from dse.study.resolve.uncertain import asks_samples

_ROWS = 100_000  # scenarios of one objective
_Asked = TypeVar("_Asked", Objective, Constraint)


def spreads(ctx: Context, wiring: Wiring, space: Space) -> tuple[Wiring, Space]:
    """Return wiring and space that know what is uncertain, not yet drawn."""
    empty = Uncertainty(
        values={where: np.zeros((0, len(s.labels))) for where, s in ctx.uncertain.items()}
    )
    found = _spreads(wiring, space, empty)
    chosen = {s.variable for s in found.values()} - {""}
    variables = {
        n: replace(v, numbered=option_of(n)) if isinstance(v, Choice) and n in chosen else v
        for n, v in space.variables.items()
    }
    return replace(wiring, spread=found), Space(variables)


def _spreads(wiring: Wiring, space: Space, uncertainty: Uncertainty) -> dict[str, Spread]:
    found = {
        name: Spread(np.array([float(value)]), _column(value, uncertainty))
        for name, value in wiring.constants.items()
        if isinstance(value, Middle)
    }
    for variable, choice in space.variables.items():
        if not isinstance(choice, Choice):
            continue
        for name in next(iter(choice.rows.values())):
            figures = [row[name] for row in choice.rows.values()]
            if any(isinstance(figure, Middle) for figure in figures):
                columns = [_column(figure, uncertainty) for figure in figures]
                middle = np.array([float(figure) for figure in figures])
                found[name] = Spread(middle, np.concatenate(columns, axis=1), variable)
    return found


def _column(figure: float, uncertainty: Uncertainty) -> Array:
    """Return what a figure is in each sample, as a column."""
    if not isinstance(figure, Middle):
        return np.full((uncertainty.samples, 1), float(figure))
    values = uncertainty.values[figure.where]
    return values[:, [figure.number]]


def with_samples(
    ctx: Context,
    wiring: Wiring,
    space: Space,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
) -> tuple[Wiring, list[Objective], list[Constraint], Uncertainty]:
    """Draw what is uncertain, and let all that depends on it ask for the samples."""
    if not ctx.uncertain or ctx.problems:
        return wiring, list(objectives), list(constraints), Uncertainty()
    count = ctx.file.uncertainty.samples
    uncertainty = draw_samples(tuple(ctx.uncertain.values()), count, ctx.file.search.seed)
    wiring = replace(wiring, spread=_spreads(wiring, space, uncertainty))
    asked = [_asking(ctx, wiring, uncertainty, o, (o.quantity,)) for o in objectives]
    held = [_asking(ctx, wiring, uncertainty, c, c.names) for c in constraints]
    _note(ctx, uncertainty, asked, held)
    return wiring, asked, held, uncertainty


def _asking(
    ctx: Context, wiring: Wiring, uncertainty: Uncertainty, asked: _Asked, names: Sequence[str]
) -> _Asked:
    """Return an objective or a constraint that asks for the samples if it depends on them."""
    if not asks_samples(wiring, names, asked.conditions):
        return asked
    several: list[str] = [n for n, v in asked.conditions.items() if isinstance(v, tuple)]
    each = scenarios(asked.conditions)
    if each * uncertainty.samples > _ROWS:
        message = f"{each:,} scenarios in {uncertainty.samples:,} samples are more than {_ROWS:,}"
        ctx.add("uncertainty.samples", f"{asked.name}: {message}", "give fewer")
        return asked
    reduction = asked.reduction
    if reduction is None and isinstance(asked, Constraint):
        reduction = Reduction("max" if asked.upper else "min", told="worst")
    elif reduction is None:
        reduction = Reduction("mean")
    told = plural(uncertainty.samples - uncertainty.corners, "sample")
    of = f"over {', '.join(several)} and {told}" if several else f"of {told}"
    before = f"{asked.reduction} over {', '.join(several)}" if several else f"{asked.reduction}"
    condition = f"{reduction} {of} {asked.condition.removeprefix(before).strip()}".strip()
    reduction = replace(
        reduction,
        weights=reduction.weights * uncertainty.samples,
        skipped=uncertainty.corners * each,
    )
    if reduction.weights:
        reduction = replace(reduction, weights=reduction.weights[reduction.skipped :])
    conditions = sample_conditions(asked.conditions, uncertainty)
    return replace(asked, conditions=conditions, reduction=reduction, condition=condition)


def _note(
    ctx: Context,
    uncertainty: Uncertainty,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
) -> None:
    """Say what is uncertain, and what objectives and constraints make of it."""
    for source in uncertainty.sources:
        ctx.notes.append(f"{source.where} is uncertain: {source.told}")
    corners = ""
    if uncertainty.corners:
        corners = (
            f", and at {plural(uncertainty.corners, 'corner')} of the intervals for the worst case"
        )
    times = uncertainty.samples - uncertainty.corners
    ctx.notes.append(f"uncertain inputs have {plural(times, 'sample')}{corners}")
    told = [("objective", o.name, o.condition, o.conditions) for o in objectives]
    told += [("constraint", c.name, c.condition, c.conditions) for c in constraints]
    for what, name, condition, conditions in told:
        if SAMPLE in conditions:
            ctx.notes.append(f"{what} {name}: {condition}")
