"""Trade-offs: effects of a change on the objectives, dominating designs, and the next step up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.front import scaled
from dse.explain.sensitivity import gain_factor
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import change, listed, percent, worded
from dse.result.record import Front, Result

SHARE = 0.1
"""The fraction by which a step makes an objective better."""
_LITTLE = 1e-3  # a smaller fraction is not shown in digits
_NAMED = 3  # dominating designs that are shown


@dataclass(frozen=True)
class Effect:
    """The effect of a change on one objective.

    Parameters
    ----------
    objective, unit : str
        Its name and unit.
    before, after : float
        Its value [unit].
    gain : float
        The factor by which it gets better; less than 1 if it gets worse.
    """

    objective: str
    unit: str
    before: float
    after: float
    gain: float

    def __str__(self) -> str:
        return f"{worded(self.objective)} {change(*self.words)}"

    @property
    def words(self) -> tuple[str, str]:
        """Both values for people."""
        return amount(self.before, self.unit), amount(self.after, self.unit)

    @property
    def better(self) -> bool:
        """Whether it gets better, to be seen in the digits that people are shown."""
        return self.gain > 1 and self.words[0] != self.words[1]

    @property
    def worse(self) -> bool:
        """Whether it gets worse, to be seen in the digits that people are shown."""
        return self.gain < 1 and self.words[0] != self.words[1]

    @property
    def price(self) -> str:
        """The direction of a price, without its values."""
        return f"{'more' if self.after > self.before else 'less'} {worded(self.objective)}"

    @property
    def share(self) -> float:
        """The size of the change as a fraction of the value before."""
        with np.errstate(all="ignore"):
            return float(abs(np.float64(self.after) - self.before) / abs(np.float64(self.before)))

    @property
    def percent(self) -> str:
        """The value before and after with the change in percent, if that is below 100 %."""
        sign = "+" if self.after > self.before else "-"
        return f"{self} ({sign}{percent(self.share)})" if 0 < self.share < 1 else str(self)

    @property
    def little(self) -> str:
        """The change as a fraction, if the digits of the values do not show it."""
        more = "more" if self.after > self.before else "less"
        shown = "less than 0.1 %" if self.share < _LITTLE else f"{100 * self.share:.1g} %"
        return f"{shown} {more} {worded(self.objective)}"


def compare_objectives(
    objectives: Sequence[Objective], before: Array, after: Array
) -> tuple[Effect, ...]:
    """Return the effect of a change on every objective, signs as they are."""
    return tuple(
        Effect(o.name, o.unit, float(b), float(a), float(gain_factor(o, b, a)))
        for o, b, a in zip(objectives, before, after, strict=True)
    )


def effect_words(effects: Sequence[Effect], first: str = "", known: Collection[str] = ()) -> str:
    """Return what a change does: what gets better, and at which price.

    A price that the digits do not show is a fraction, and shown only without other prices.

    Parameters
    ----------
    effects : sequence of Effect
        On every objective.
    first : str
        The objective that comes first.
    known : collection of str
        Objectives that the text names elsewhere: their values are left out.
    """
    told = [e for e in effects if e.objective not in known]
    better = sorted((e for e in told if e.better), key=lambda e: e.objective != first)
    gains = f": {listed(map(str, better))}" if better else ""
    if any(e.worse for e in effects):  # it may be the change itself that costs
        worse = listed(e.price if e.objective in known else str(e) for e in effects if e.worse)
        return f"{gains}, at the price of {worse}"
    little = listed(e.little for e in told if e.gain < 1)
    return f"{gains}, at {little}" if little else f"{gains}, at no cost in other objectives"


@dataclass(frozen=True)
class Dominator:
    """A design of the front that is at least as good in everything, and better in something.

    Parameters
    ----------
    design : int
        Its number.
    effects : tuple of Effect
        What every objective is here, and there.
    """

    design: int
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        better = listed(str(e) for e in self.effects if e.better)
        return f"design {self.design}: {better}"


@dataclass(frozen=True)
class Standing:
    """The place of a design among the designs of the front.

    Parameters
    ----------
    on_front : bool
        Whether it is one of them.
    dominated : int
        By how many of them it is dominated.
    by : tuple of Dominator
        The nearest of these, three at most.
    """

    on_front: bool
    dominated: int
    by: tuple[Dominator, ...]


def compare_with_front(result: Result, number: int, values: Array) -> Standing:
    """Return where a feasible design stands.

    Parameters
    ----------
    number : int
        Of the design.
    values : ndarray, shape (objectives,)
        Its objectives.
    """
    front = result.front
    on_front = number in front.designs.index
    if on_front or not len(front):
        return Standing(on_front, 0, ())
    signs = np.array([o.sign for o in result.objectives])
    mine = values * signs
    points = front.points
    rows = np.flatnonzero((points <= mine).all(axis=1) & (points < mine).any(axis=1))
    unit, _ = scaled(np.vstack([points[rows], mine]), signs)
    near = rows[np.argsort(((unit[:-1] - unit[-1]) ** 2).sum(axis=1), kind="stable")]
    return Standing(
        False,
        len(rows),
        tuple(
            Dominator(
                int(front.designs.index[row]),
                compare_objectives(result.objectives, values, points[row] * signs),
            )
            for row in near[:_NAMED]
        ),
    )


@dataclass(frozen=True)
class Step:
    """From one design of the front to the cheapest that has so much more of an objective.

    Parameters
    ----------
    asked : float
        The fraction of its value by which the objective is to be better.
    better : bool
        Whether more of it is better; else less.
    design : int or None
        The design that has it; None if none on the front does.
    gain : Effect
        The objective; the best that there is if no design has so much more.
    costs : tuple of Effect
        The other objectives that are worse then.
    """

    asked: float
    better: bool
    design: int | None
    gain: Effect
    costs: tuple[Effect, ...]

    @property
    def asks(self) -> str:
        """The wanted change, such as ``"10 % more speedup"``."""
        more = "more" if self.better else "less"
        return f"{percent(self.asked)} {more} {worded(self.gain.objective)}"

    @property
    def gives(self) -> str:
        """The gain of the design and its price; without a design, the best value.

        A price that the digits do not show is a fraction, and shown only without other prices.
        """
        if self.design is None:
            word = "most" if self.better else "least"
            return f"no design on the front has it, the {word} is {self.gain.words[1]}"
        seen = [each.percent for each in self.costs if each.words[0] != each.words[1]]
        costs = seen or [each.little for each in self.costs]
        return f"{self.gain.percent}{f', for {listed(costs)}' if costs else ''}"

    def __str__(self) -> str:
        number = f"design {self.design}, " if self.design is not None else ""
        return f"{self.asks}: {number}{self.gives}"


def find_steps(
    result: Result,
    design: int | None = None,
    wanted: float = SHARE,
    among: NDArray[np.bool_] | None = None,
) -> tuple[Step, ...]:
    """Return for each objective the cheapest design of the front that is better by a share.

    The cheapest is that with the least sum of the shares by which the other objectives get worse;
    an objective that is 0 or infinite has no share, and is left out as one to improve.

    Parameters
    ----------
    result : Result
        Whose front is looked through.
    design : int, optional
        Where to start, on the front; the compromise design by default.
    wanted : float
        The fraction by which the objective is to be better, above 0.
    among : ndarray of bool, shape (designs of the front,), optional
        Which designs count; all by default.
    """
    front = result.front
    if not len(front):
        return ()
    start = front.compromise_row
    if design is not None:
        start = int(np.flatnonzero(front.designs.index == design)[0])
    values = front.points
    if among is not None:  # a design that is worse than all is never the answer
        values = np.where(among[:, None], values, np.inf)
    here = values[start]
    named = [i for i in range(len(result.objectives)) if np.isfinite(here[i]) and here[i] != 0.0]
    return tuple(_step(front, values, start, i, wanted) for i in named)


def _step(front: Front, values: Array, start: int, i: int, wanted: float) -> Step:
    """Return the step to the cheapest design that is better in the objective at a position."""
    objective, here = front.objectives[i], values[start, i]
    rows = np.flatnonzero(values[:, i] <= here - wanted * abs(here))
    if not len(rows):
        best = _effects(front, values[start], values[int(np.argmin(values[:, i]))])[i]
        return Step(wanted, objective.sign < 0, None, best, ())
    worse = _worse(values, values[start])
    gains = (here - values[:, i]) / abs(here)
    price = np.delete(worse[rows], i, axis=1)
    row = int(rows[np.lexsort((-gains[rows], price.sum(axis=1)))[0]])
    effects = _effects(front, values[start], values[row])
    costs = tuple(each for each, price in zip(effects, worse[row], strict=True) if price > 0)
    design = int(front.designs.index[row])
    return Step(wanted, objective.sign < 0, design, effects[i], costs)


def _effects(front: Front, start: Array, end: Array) -> tuple[Effect, ...]:
    signs = np.array([o.sign for o in front.objectives])
    return compare_objectives(front.objectives, start * signs, end * signs)


def _worse(values: Array, start: Array) -> Array:
    """Return the fraction of the start's values by which others are worse; at least 0."""
    with np.errstate(all="ignore"):
        shares = (values - start) / np.abs(start)
    shares[values <= start] = 0.0
    shares[np.isnan(shares)] = np.inf
    return np.asarray(shares)
