"""Objectives: what is maximized or minimized, under which conditions, called what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from dse.evaluate.conditions import Reduction
from dse.evaluate.objective import Direction, Objective
from dse.evaluate.wiring import Wiring
from dse.study.resolve.conditions import in_words, read_conditions, read_scenarios
from dse.study.resolve.context import Context
from dse.study.resolve.uncertain import asks_samples, reduction_of
from dse.study.resolve.weights import read_weights
from dse.study.schema import ObjectiveTable

_COLUMNS = frozenset({"design", "feasible", "on_front"})
_WEIGHTED = frozenset({"mean", "harmonic mean"})


def resolve_objectives(ctx: Context, wiring: Wiring) -> list[Objective]:
    """Read the objectives, each with a name of its own; one with a problem may be left out."""
    found: dict[str, tuple[ObjectiveTable, Objective]] = {}
    for where, table in ctx.numbered("objective"):
        objective = _objective(ctx, wiring, where, table)
        if objective is not None:
            found[where] = table, objective
    counts = Counter(objective.name for _, objective in found.values())
    named = {
        where: replace(o, name=f"{o.name} {o.condition}")
        if counts[o.name] > 1 and o.condition and table.name is None
        else o
        for where, (table, o) in found.items()
    }
    _check_names(ctx, named)
    return list(named.values())


def _check_names(ctx: Context, objectives: Mapping[str, Objective]) -> None:
    """Require that each objective is a column of its own."""
    first: dict[str, str] = {}
    for where, objective in objectives.items():
        name = objective.name
        if name in _COLUMNS or (name in ctx.file.space and name != objective.quantity):
            ctx.add(f"{where}.name", f"'{name}' is the name of another column")
        elif name in first:
            ctx.add(
                where,
                f"is called '{name}', as {first[name]} is",
                'give it a name = "…" of its own, or leave it out',
            )
        first.setdefault(name, where)


def _objective(ctx: Context, wiring: Wiring, where: str, table: ObjectiveTable) -> Objective | None:
    at = read_conditions(ctx, wiring, f"{where}.at", table.at)
    scenarios = read_scenarios(ctx, wiring, f"{where}.over", table.over)
    for name in table.over:
        if name in table.at:
            ctx.add(f"{where}.over.{name}", f"'{name}' is also bound by at", "leave one out")
    wanted = _wanted(ctx, wiring, where, table)
    several = {**at, **scenarios}
    drawn = wanted is None or asks_samples(wiring, [wanted[1]], several)
    reduction = _reduction(ctx, where, table, drawn)
    if table.weights and table.over and reduction is not None:
        scenarios, weights = read_weights(ctx, where, table, scenarios)
        reduction = replace(reduction, weights=weights)
    if wanted is None:
        return None
    direction, quantity = wanted
    declared = wiring.quantities[quantity]
    return Objective(
        name=table.name or quantity,
        quantity=quantity,
        direction=direction,
        unit=declared.unit,
        symbol=declared.symbol,
        about=declared.about,
        condition=_condition(table, reduction),
        conditions={**at, **scenarios},
        reduction=reduction,
    )


def _wanted(
    ctx: Context, wiring: Wiring, where: str, table: ObjectiveTable
) -> tuple[Direction, str] | None:
    """Return which way is better of which quantity; None, and a problem, if it is not said."""
    remedy = 'give exactly one of maximize = "quantity" or minimize = "quantity"'
    if table.maximize is not None and table.minimize is not None:
        ctx.add(where, "says of two quantities what is better", remedy)
        return None
    if table.maximize is None and table.minimize is None:
        ctx.absent(where, "does not say what is better", remedy)
        return None
    direction: Direction = "minimize" if table.maximize is None else "maximize"
    quantity = table.maximize or table.minimize or ""
    if not quantity.strip():
        ctx.add(f"{where}.{direction}", "is an empty text", "name a quantity that a model gives")
        return None
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, f"{where}.{direction}", quantity, "quantity")
        return None
    return direction, quantity


def _reduction(ctx: Context, where: str, table: ObjectiveTable, drawn: bool) -> Reduction | None:
    """Return how the scenarios become one number; None if there are none, or it is not said."""
    if table.over and table.reduce is None:
        ctx.add(
            f"{where}.reduce",
            "does not say how the scenarios become one number",
            'give reduce = "mean", "min", "max", "harmonic mean" or "quantile"',
        )
    if table.reduce and not table.over and not drawn:
        remedy = "give over = { input = [...] }, or an uncertain input"
        ctx.add(f"{where}.reduce", "has no scenarios to reduce", remedy)
    if (table.reduce == "quantile") != (table.quantile is not None):
        message = 'reduce = "quantile" and quantile = q go together'
        ctx.add(f"{where}.quantile", message, "q is in [0, 1]")
    if table.weights and table.reduce not in _WEIGHTED:
        message, remedy = "go with a mean", 'give reduce = "mean" or "harmonic mean"'
        ctx.add(f"{where}.weights", message, remedy)
    return reduction_of(ctx, where, table.reduce, table.maximize is None, table.quantile)


def _condition(table: ObjectiveTable, reduction: Reduction | None) -> str:
    """Return the conditions in words."""
    at = in_words(table.at)
    if reduction is None:
        return at
    if not table.over:
        return f"{reduction} {at}".strip()
    return f"{reduction} over {', '.join(table.over)} {at}".strip()
