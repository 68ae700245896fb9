"""The next step up: which design of the front has a tenth more of an objective, and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.objective import Objective
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import change, listed, worded
from dse.result.record import Front, Result
from dse.search.outcome import share as told_share

SHARE = 0.1
"""How much better is worth a step."""
_LITTLE = 1e-3  # a smaller share is not told in digits


@dataclass(frozen=True)
class Change:
    """An objective before and after a step; `share` is of the value before."""

    objective: str
    unit: str
    before: float
    after: float
    share: float

    @property
    def words(self) -> tuple[str, str]:
        """Both values for people."""
        return amount(self.before, self.unit), amount(self.after, self.unit)

    @property
    def little(self) -> str:
        """By how much it changes, for a change that the digits do not show."""
        shown = "less than 0.1 %" if self.share < _LITTLE else told_share(self.share)
        return f"{shown} {'more' if self.after > self.before else 'less'} {worded(self.objective)}"

    def __str__(self) -> str:
        sign = "+" if self.after > self.before else "-"
        percent = f" ({sign}{told_share(self.share)})" if 0 < self.share < 1 else ""
        return f"{worded(self.objective)} {change(*self.words)}{percent}"


@dataclass(frozen=True)
class Step:
    """From one design of the front to the cheapest that has so much more of an objective.

    Parameters
    ----------
    asked : float
        By which share of its value the objective is to be better.
    better : bool
        Whether more of it is better; else less.
    design : int or None
        The design that has it; None if none on the front does.
    gain : Change
        The objective; the best that there is if no design has so much more.
    costs : tuple of Change
        The other objectives that are worse then.
    """

    asked: float
    better: bool
    design: int | None
    gain: Change
    costs: tuple[Change, ...]

    @property
    def asks(self) -> str:
        """What is asked for, such as ``"10 % more speedup"``."""
        more = "more" if self.better else "less"
        return f"{told_share(self.asked)} {more} {worded(self.gain.objective)}"

    @property
    def gives(self) -> str:
        """What the design gives, and its price; without a design, what there is.

        A price that the digits do not show is told as a share, and only if no other is.
        """
        if self.design is None:
            word = "most" if self.better else "least"
            return f"no design on the front has it, the {word} is {self.gain.words[1]}"
        seen = [str(each) for each in self.costs if each.words[0] != each.words[1]]
        costs = seen or [each.little for each in self.costs]
        return f"{self.gain}{f', for {listed(costs)}' if costs else ''}"

    def __str__(self) -> str:
        number = f"design {self.design}, " if self.design is not None else ""
        return f"{self.asks}: {number}{self.gives}"


def more(
    result: Result,
    design: int | None = None,
    share: float = SHARE,
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
    share : float
        Above 0.
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
    return tuple(_step(front, values, start, i, share) for i in named)


def _step(front: Front, values: Array, start: int, i: int, share: float) -> Step:
    """Return the step to the cheapest design that is better in the objective at a position."""
    objective, here = front.objectives[i], values[start, i]
    rows = np.flatnonzero(values[:, i] <= here - share * abs(here))
    if not len(rows):
        best = _change(objective, here, values[int(np.argmin(values[:, i])), i])
        return Step(share, objective.sign < 0, None, best, ())
    worse = _worse(values, values[start])
    gains = (here - values[:, i]) / abs(here)
    price = np.delete(worse[rows], i, axis=1)
    row = int(rows[np.lexsort((-gains[rows], price.sum(axis=1)))[0]])
    return Step(
        share,
        objective.sign < 0,
        int(front.designs.index[row]),
        _change(objective, here, values[row, i]),
        _costs(front.objectives, values[start], values[row], worse[row]),
    )


def _worse(values: Array, start: Array) -> Array:
    """Return by which share of the start's values others are worse; 0 if they are not."""
    with np.errstate(all="ignore"):
        shares = (values - start) / np.abs(start)
    shares[values <= start] = 0.0
    shares[np.isnan(shares)] = np.inf
    return np.asarray(shares)


def _costs(
    objectives: Sequence[Objective], start: Array, end: Array, worse: NDArray[np.float64]
) -> tuple[Change, ...]:
    return tuple(
        _change(objective, before, after)
        for objective, before, after, price in zip(objectives, start, end, worse, strict=True)
        if price > 0
    )


def _change(objective: Objective, before: float, after: float) -> Change:
    with np.errstate(all="ignore"):
        share = abs(np.float64(after) - before) / abs(np.float64(before))
    one, other = float(before * objective.sign), float(after * objective.sign)
    return Change(objective.name, objective.unit, one, other, float(share))
