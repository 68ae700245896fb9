"""Limits of a study that decide its answer, and their price: the gain of loosening one of them.

A limit is a constraint that compares the result of a model with a number. It is nearly active if a
design has less than 10 % of it left. Its price is the best value of each objective, and the
recommended design, if only this limit were 1, 5 or 10 % looser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Points
from dse.evaluate.table_space import TableSpace
from dse.explain.changes import Effect, compare_objectives, find_neighbours, find_numbers
from dse.explain.switch_points import LATER, Select, describe_slowness
from dse.model.grammar import names_in
from dse.model.quantity import Array
from dse.model.relation import evaluate
from dse.model.section import Table
from dse.model.values import percent
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_NEAR = 0.1  # slack of a nearly active limit, as a fraction of it
_MORE = (0.01, 0.05, 0.1)  # by which a limit is loosened
_SMALL, _ENUMERATED = 1 << 12, 1 << 21  # designs that a run and an explanation evaluate again
_NEIGHBOURS = 50_000  # designs that are evaluated next to the front of a larger space
_BATCH = 1 << 16


@dataclass(frozen=True)
class Price:
    """The gain of a looser limit.

    Parameters
    ----------
    more : float
        By which fraction it is looser.
    best : mapping of str to Effect
        The best value of each objective that improves.
    recommended : int or None
        The design that is recommended then, if it is another one; -1 if it has no number.
    effects : tuple of Effect
        Its objectives, compared with the recommended design.
    """

    more: float
    best: Mapping[str, Effect]
    recommended: int | None = None
    effects: tuple[Effect, ...] = ()

    def __str__(self) -> str:
        best = ", ".join(f"best {effect}" for effect in self.best.values())
        return "; ".join(filter(None, (best, self.change))) or "no change"

    @property
    def change(self) -> str:
        """The design that is recommended then, in words; empty if it is the same."""
        if self.recommended is None:
            return ""
        effects = ", ".join(str(e) for e in self.effects if e.before != e.after)
        return f"recommended design {self.recommended}: {effects}"


@dataclass(frozen=True)
class Limit:
    """A limit that is active or nearly so.

    Parameters
    ----------
    name : str
        The constraint.
    slack : mapping of str to float
        The fraction of it that is left, by the role of a design.
    prices : tuple of Price
        Empty if no design was evaluated again.
    """

    name: str
    slack: Mapping[str, float]
    prices: tuple[Price, ...] = ()

    @property
    def slack_text(self) -> str:
        """The slack of each design in words."""
        return ", ".join(f"{percent(max(s, 0.0), 2)} ({role})" for role, s in self.slack.items())


@dataclass(frozen=True)
class Limits:
    """The limits that are active or nearly so, and the designs that their prices are based on."""

    limits: tuple[Limit, ...]
    searched: str

    @property
    def fields(self) -> dict[str, str]:
        """The names of the limits, for an answer."""
        names = "; ".join(limit.name for limit in self.limits)
        return {"near limits": names} if names else {}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The limits with their prices, as labels and texts."""
        lines = []
        for limit in self.limits:
            lines.append(("limit", f"{limit.name}: slack {limit.slack_text}"))
            lines += [(f"  {percent(p.more)} looser", str(p)) for p in limit.prices]
        return [*lines, ("prices", self.searched)] if lines else []


def find_limits(
    study: ResolvedStudy, result: Result, recommended: int, select: Select, thorough: bool
) -> Limits | None:
    """Return the limits near the recommended design and near the best of each objective.

    Parameters
    ----------
    thorough : bool
        Whether designs of a large space are evaluated again, for the prices.
    """
    evaluator, front = ignore_errors(study.evaluator), result.front
    if isinstance(evaluator.space, TableSpace):
        return None
    roles = {"recommended": recommended}
    roles |= {f"best {o.name}": int(str(front.best(o.name).name)) for o in result.objectives}
    rows = result.designs.loc[[*roles.values()]]
    judged = evaluator.evaluate(_points(evaluator, rows))
    fixed = evaluator.prefilter().constraints
    sizes = np.array([np.nan if c in fixed else _limit_size(c) for c in evaluator.constraints])
    with np.errstate(all="ignore"):
        slack = -evaluator.violations(judged.constrained) / sizes
    near = [int(k) for k in np.flatnonzero((slack < _NEAR).any(axis=0))]
    found = [
        Limit(
            evaluator.constraints[k].name,
            {r: s for r, s in zip(roles, slack[:, k].tolist(), strict=True) if s < _NEAR},
        )
        for k in near
    ]
    size = evaluator.space.size
    most = (_ENUMERATED if thorough else _SMALL) // evaluator.scenarios
    small = size is not None and size <= most
    why = describe_slowness(result) or ("" if small or thorough else LATER)
    if not found or why:
        return Limits(tuple(found), why)
    allowed = np.zeros(len(sizes))
    allowed[near] = _MORE[-1] * sizes[near]
    points, values, amounts = _gather(
        evaluator, allowed, _enumerate(evaluator, size) if small else _known(evaluator, result)
    )
    numbers = find_numbers(evaluator.space, result, points)

    def choose(k: int, more: float) -> tuple[Array, int | None]:
        limits = np.zeros(len(sizes))
        limits[k] = more * sizes[k]
        kept = np.flatnonzero((amounts <= limits).all(axis=1))
        signed = values[kept] * evaluator.signs
        row = select(signed) if len(kept) else None
        best = (
            signed.min(axis=0) * evaluator.signs if len(kept) else np.full(signed.shape[1], np.nan)
        )
        return best, None if row is None else int(kept[row])

    def price(k: int, more: float) -> Price:
        (before, own), (after, other) = choose(k, 0.0), choose(k, more)
        effects = compare_objectives(result.objectives, before, after)
        best = {e.objective: e for e in effects if e.gain > 1}
        if own is None or other is None or (values[own] == values[other]).all():
            return Price(more, best)
        changes = compare_objectives(result.objectives, values[own], values[other])
        return Price(more, best, int(numbers[other]), changes)

    priced = (
        replace(limit, prices=tuple(price(k, more) for more in _MORE))
        for k, limit in zip(near, found, strict=True)
    )
    where = (
        f"all {size:,} designs of the space" if small else f"the {len(values):,} designs evaluated"
    )
    return Limits(tuple(priced), f"among {where}")


def _limit_size(constraint: Constraint) -> float:
    """Return the size of the number that a constraint compares with; NaN if there is none."""
    size = abs(constraint.bound)
    if constraint.relation is not None:
        sides = constraint.relation.sides
        numbers = [evaluate(s, {}) for s in (sides.left, sides.right) if not any(names_in(s))]
        size = abs(float(numbers[0])) if numbers and sides.sign != "==" else 0.0
    return size if size and not constraint.required_by else np.nan


def _points(evaluator: Evaluator, rows: pd.DataFrame) -> Points:
    return evaluator.space.from_labels({n: rows[n].to_numpy() for n in evaluator.space.variables})


def _enumerate(evaluator: Evaluator, size: int | None) -> Iterator[Points]:
    """Yield all designs of a space."""
    for low in range(0, size or 0, _BATCH):
        yield evaluator.space.from_index(np.arange(low, min(low + _BATCH, size or 0)))


def _known(evaluator: Evaluator, result: Result) -> Iterator[Points]:
    """Yield the designs of a result, and those that differ in one variable from its front."""
    front = result.front.designs
    yield _points(evaluator, result.designs[~result.designs["on_front"].to_numpy(dtype=bool)])
    around = sum(v.count or _BATCH for v in evaluator.space.variables.values())
    few = np.unique(np.linspace(0, len(front) - 1, max(1, _NEIGHBOURS // around)).astype(int))
    near = find_neighbours(evaluator.space, _points(evaluator, front.iloc[few])).points
    whole = {n: np.concatenate([v, near[n]]) for n, v in _points(evaluator, front).items()}
    first = ~pd.DataFrame(whole).duplicated().to_numpy()
    yield {n: v[first] for n, v in whole.items()}


def _gather(
    evaluator: Evaluator, allowed: Array, batches: Iterator[Points]
) -> tuple[Points, Array, Array]:
    """Return the designs that violate no constraint by more than is allowed.

    With their objectives and the amounts by which they violate constraints. Constraints on
    variables come first, because models need not run for them.
    """
    first = evaluator.prefilter()
    points: list[Points] = []
    values: list[Array] = []
    amounts: list[Array] = []
    for batch in batches:
        exists = first.evaluate(batch).feasible
        some = {n: v[exists] for n, v in batch.items()}
        if not exists.any():
            continue
        judged = evaluator.evaluate(some)
        violated = evaluator.violations(judged.constrained)
        kept = (violated <= allowed).all(axis=1) & ~np.isnan(judged.objectives).any(axis=1)
        points.append({n: v[kept] for n, v in some.items()})
        values.append(judged.objectives[kept])
        amounts.append(violated[kept])
    whole = {n: np.concatenate([part[n] for part in points]) for n in evaluator.space.variables}
    return whole, np.concatenate(values), np.concatenate(amounts)


def limits_tables(limits: Limits) -> list[Table]:
    """Return the limits and their prices as a table of the report; none if no limit is near."""
    rows = [
        {"limit": limit.name, "slack": limit.slack_text, "looser by": percent(price.more)}
        | {f"best {name}": str(effect) for name, effect in price.best.items()}
        | {"recommended": price.change or "unchanged"}
        for limit in limits.limits
        for price in limit.prices
    ] or [{"limit": limit.name, "slack": limit.slack_text} for limit in limits.limits]
    table = pd.DataFrame(rows).fillna("unchanged")
    return [Table("Limits with less than 10 % left", table, limits.searched)] if rows else []
