"""Limits of a study that decide its answer, and their price: the gain of loosening one of them.

A limit is a constraint that compares the result of a model with a number. It is nearly active if a
design has less than 10 % of it left. Its price is the best value of each objective, and the
recommended design, if only this limit were 1, 5 or 10 % looser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Points
from dse.evaluate.table_space import TableSpace
from dse.explain.changes import Effect, compare_objectives, find_numbers
from dse.explain.switch_points import LATER, SLOW, Select
from dse.model.grammar import list_names
from dse.model.quantity import Array
from dse.model.relation import evaluate_expression
from dse.model.section import Table
from dse.model.values import show_percent
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_NEAR = 0.1  # slack of a nearly active limit, as a fraction of it
_MORE = (0.01, 0.05, 0.1)  # by which a limit is loosened
_SMALL, _ENUMERATED = 1 << 12, 1 << 21  # designs that a run and an explanation evaluate again
_BATCH = 1 << 16


@dataclass(frozen=True)
class Price:
    """The gain of a limit that is looser by the fraction `more`.

    `best` has the objectives whose best value improves. If another design is recommended then, it
    is `recommended`, and `effects` compares it with the design that is recommended now.
    """

    more: float
    best: tuple[Effect, ...]
    recommended: int | None = None
    effects: tuple[Effect, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """The best values, and the recommendation, in words; empty if they do not change."""
        effects = ", ".join(str(e) for e in self.effects if e.before != e.after)
        other = "" if self.recommended is None else f"design {self.recommended}: {effects}"
        return ", ".join(f"best {effect}" for effect in self.best), other


@dataclass(frozen=True)
class Limit:
    """A limit that is nearly active: its slack as a fraction by the role of a design; prices."""

    name: str
    slack: dict[str, float]
    prices: tuple[Price, ...] = ()

    @property
    def slack_text(self) -> str:
        """The slack of each design in words."""
        return ", ".join(
            f"{show_percent(max(s, 0.0), 2)} ({role})" for role, s in self.slack.items()
        )


@dataclass(frozen=True)
class Limits:
    """The limits that are nearly active; `searched` names the designs behind their prices."""

    key: ClassVar = "study_limits"
    limits: tuple[Limit, ...]
    searched: str

    @property
    def fields(self) -> dict[str, str]:
        """The names of the limits, for an answer."""
        return {"near limits": "; ".join(limit.name for limit in self.limits)}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The limits with their prices, as labels and texts."""
        lines = []
        for limit in self.limits:
            lines.append(("limit", f"{limit.name}: slack {limit.slack_text}"))
            for price in limit.prices:
                text = "; recommended ".join(filter(None, price.texts)) or "no change"
                lines.append((f"  {show_percent(price.more)} looser", text))
        return [*lines, ("prices", self.searched)]

    @property
    def table(self) -> Table:
        """The limits and their prices as a table of the report."""
        names = ["limit", "slack", "looser by", "best values", "recommended"]
        rows = [
            (limit.name, limit.slack_text, show_percent(price.more), *price.texts)
            for limit in self.limits
            for price in limit.prices or (Price(0.0, ()),)
        ]
        table = pd.DataFrame(rows, columns=names)
        return Table("Limits with less than 10 % left", table, self.searched)


def find_limits(
    study: ResolvedStudy, result: Result, recommended: int, select: Select, thorough: bool = True
) -> Limits | None:
    """Return the limits near the recommended design and near the best of each objective.

    If it is `thorough`, designs of a large space are evaluated again, for the prices.
    """
    evaluator, front = ignore_errors(study.evaluator), result.front
    space, constraints = evaluator.space, evaluator.constraints
    if isinstance(space, TableSpace) or not constraints:
        return None
    roles = {"recommended": recommended}
    roles |= {f"best {o.name}": int(str(front.best(o.name).name)) for o in result.objectives}
    named = evaluator.evaluate(_points(evaluator, result.designs.loc[[*roles.values()]]))
    rules = evaluator.prefilter().constraints
    sizes = np.array([np.nan if c in rules else _limit_size(c) for c in constraints])
    slack = -evaluator.violations(named.constrained) / sizes
    near = [int(k) for k in np.flatnonzero((slack < _NEAR).any(axis=0))]
    limits = [
        Limit(
            constraints[k].name,
            {r: s for r, s in zip(roles, slack[:, k].tolist(), strict=True) if s < _NEAR},
        )
        for k in near
    ]
    size = space.size or 0
    small = 0 < size <= (_ENUMERATED if thorough else _SMALL) // evaluator.scenarios
    why = SLOW if result.is_guided else "" if small or thorough else LATER
    if why or not limits:
        return Limits(tuple(limits), why) if limits else None
    numbers = (np.arange(k, min(k + _BATCH, size)) for k in range(0, size, _BATCH))
    batches = map(space.from_index, numbers) if small else [_points(evaluator, result.designs)]
    loosest = np.where(np.isin(np.arange(len(sizes)), near), _MORE[-1] * sizes, 0.0)
    points, values, amounts = _gather(evaluator, loosest, batches)
    permitted = study.preferences.allow(space.labels(points), len(values))

    def search(k: int, more: float) -> tuple[Array, int | None]:
        """Return the best value of each objective, and the row that is recommended."""
        allowed = np.zeros(len(sizes))
        allowed[k] = more * sizes[k]
        rows = np.flatnonzero((amounts <= allowed).all(axis=1))
        signed = values[rows] * evaluator.signs
        row = select(signed, permitted[rows]) if len(rows) else None
        best = signed.min(axis=0, initial=np.inf) * evaluator.signs
        return best, None if row is None else int(rows[row])

    def price(k: int, more: float) -> Price:
        (before, own), (after, other) = search(k, 0.0), search(k, more)
        best = compare_objectives(result.objectives, before, after)
        found = Price(more, tuple(effect for effect in best if effect.gain > 1))
        if own is None or other is None or (values[own] == values[other]).all():
            return found
        number = find_numbers(space, result, {n: v[[other]] for n, v in points.items()})[0]
        effects = compare_objectives(result.objectives, values[own], values[other])
        return replace(found, recommended=int(number), effects=effects)

    priced = (
        replace(limit, prices=tuple(price(k, more) for more in _MORE))
        for k, limit in zip(near, limits, strict=True)
    )
    where = f"all {size:,} designs of the space" if small else f"{len(values):,} designs evaluated"
    return Limits(tuple(priced), f"among {where}")


def _limit_size(constraint: Constraint) -> float:
    """Return the size of the number that a constraint compares with; NaN if there is none."""
    size = abs(constraint.bound)
    if constraint.relation is not None:
        sides = constraint.relation.sides
        numbers = [
            evaluate_expression(s, {}) for s in (sides.left, sides.right) if not any(list_names(s))
        ]
        size = abs(float(numbers[0])) if numbers and sides.sign != "==" else 0.0
    return size if size and not constraint.required_by else np.nan


def _points(evaluator: Evaluator, rows: pd.DataFrame) -> Points:
    return evaluator.space.from_labels({n: rows[n].to_numpy() for n in evaluator.space.variables})


def _gather(
    evaluator: Evaluator, allowed: Array, batches: Iterable[Points]
) -> tuple[Points, Array, Array]:
    """Return the designs that violate no constraint by more than is allowed.

    With their objectives and the amounts by which they violate constraints. Constraints on
    variables come first, because models need not run for them.
    """
    rules, found = evaluator.prefilter(), []
    for batch in batches:
        exists = rules.evaluate(batch).feasible
        some = {n: v[exists] for n, v in batch.items()}
        if exists.any():
            judged = evaluator.evaluate(some)
            amounts = evaluator.violations(judged.constrained)
            kept = (amounts <= allowed).all(axis=1) & ~np.isnan(judged.objectives).any(axis=1)
            found.append((some, judged.objectives, amounts, kept))
    points = {n: np.concatenate([p[n][kept] for p, *_, kept in found]) for n in found[0][0]}
    values = np.concatenate([v[kept] for _, v, _, kept in found])
    return points, values, np.concatenate([a[kept] for *_, a, kept in found])
