"""Drawing designs to evaluate: each once, and none that a relation between variables forbids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.model.quantity import Array
from dse.search.codes import Codes

_AGAIN, _MORE = 2, 2  # rounds of further proposals, and proposals per missing design in each
_ROUNDS = 4  # of random designs before those left are counted
_REPAIRS = 4  # each takes about half of what still differs from an allowed parent
_WIDEST = 65_536  # designs of a round, if few are allowed
_LISTED = 100_000  # a space of so many designs is listed for what is left,
_LEFT = 20  # and one of at most this many times the designs seen


class Drawing:
    """The designs that were sampled so far, and the designs that are left.

    Parameters
    ----------
    evaluator : Evaluator
        Its space, and its constraints that no model feeds.
    unit : ndarray, shape (designs, variables)
        Points of the unit cube drawn earlier.

    Attributes
    ----------
    exhausted : bool
        Whether every allowed design of a finite space was sampled: the rest was listed.
    """

    def __init__(self, evaluator: Evaluator, unit: Array) -> None:
        self._space = evaluator.space
        self._rules = evaluator.prefilter()
        self.exhausted = False
        self._seen = Codes()
        self._seen.add(np.unique(self._space.settled(unit)[1]))

    def fresh(
        self,
        unit: Array,
        count: int,
        rng: np.random.Generator,
        parents: Array,
        again: Callable[[int], Array] | None = None,
    ) -> Array:
        """Return up to `count` designs that are new, and record them as sampled.

        A design that a relation forbids is repaired towards a parent. If it cannot be repaired, or
        is not new, others replace it: first from `again`, then random ones. If no allowed design is
        known, the search gets the designs with the smallest violations.

        Parameters
        ----------
        unit : ndarray, shape (designs, variables)
            The proposed designs as points of the unit cube; they may be outside it.
        count : int
            How many designs at most.
        rng : Generator
            Draws the replacements.
        parents : ndarray, shape (parents, variables)
            Designs that were evaluated.
        again : callable, optional
            Returns more proposals, as many as its argument.
        """
        around = parents[self._allowed(parents)] if len(parents) else parents
        found = [self._new(self._repaired(unit, around, rng), count)]
        missing, width = count - len(found[0]), 2
        for _ in range(_AGAIN if again else 0):
            if missing and again:
                more = self._repaired(again(_MORE * missing), around, rng)
                found.append(self._new(more, missing))
                missing -= len(found[-1])
        for _ in range(_ROUNDS):
            if not missing:
                break
            drawn = rng.random((min(missing * width, _WIDEST), unit.shape[1]))
            found.append(self._new(self._repaired(drawn, around, rng), missing))
            missing -= len(found[-1])
            width *= 8 if self._rules.constraints else 1
        if missing:
            found.append(self._new(self._left(missing, rng), missing))
        chosen = np.concatenate(found)
        if len(chosen) == 0 and len(around) == 0 and self._rules.constraints:
            return self._least(np.concatenate([unit, rng.random(unit.shape)]), count)
        return chosen

    def new(self, unit: Array) -> Array:
        """Return the allowed designs among some that were not drawn, each once; not drawn now."""
        settled, codes = self._space.settled(unit)
        _, rows = np.unique(codes, return_index=True)
        rows = np.sort(rows[~self._seen.holds(codes[rows])])
        return settled[rows][self._allowed(settled[rows])]

    def _allowed(self, unit: Array) -> NDArray[np.bool_]:
        if not self._rules.constraints:
            return np.ones(len(unit), dtype=bool)
        return self._rules.evaluate(self._space.from_unit(self._space.settled(unit)[0])).feasible

    def _repaired(self, unit: Array, around: Array, rng: np.random.Generator) -> Array:
        """Return the allowed ones, and the others if they become so on the way to a parent."""
        if not self._rules.constraints:
            return unit
        unit = unit.copy()
        wrong = np.flatnonzero(~self._allowed(unit))
        for _ in range(_REPAIRS if len(around) else 0):
            nearer = around[rng.integers(0, len(around), len(wrong))]
            kept = rng.random((len(wrong), unit.shape[1])) < 0.5
            unit[wrong] = np.where(kept, unit[wrong], nearer)
            wrong = wrong[~self._allowed(unit[wrong])]
        return np.delete(unit, wrong, axis=0)

    def _new(self, unit: Array, most: int) -> Array:
        """Return the first designs that were not seen, at most so many; they are seen now."""
        settled, codes = self._space.settled(unit)
        _, rows = np.unique(codes, return_index=True)
        rows = np.sort(rows[~self._seen.holds(codes[rows])])[:most]
        self._seen.add(codes[rows])
        return settled if len(rows) == len(settled) else settled[rows]

    def _left(self, count: int, rng: np.random.Generator) -> Array:
        """Draw allowed designs of a finite space not seen yet, if listing them is not too much."""
        size = self._space.size
        if size is None or size > max(_LISTED, _LEFT * len(self._seen)):
            return np.zeros((0, len(self._space.variables)))
        left = np.ones(size, dtype=bool)
        left[self._seen.every().astype(np.int64)] = False
        numbers = np.flatnonzero(left)
        if self._rules.constraints:
            numbers = numbers[self._rules.evaluate(self._space.from_index(numbers)).feasible]
        self.exhausted = len(numbers) <= count
        return self._space.to_unit(self._space.from_index(rng.permutation(numbers)[:count]))

    def _least(self, unit: Array, count: int) -> Array:
        points = self._space.from_unit(self._space.settled(unit)[0])
        violation = self._rules.violations(self._rules.evaluate(points).constrained)
        worst = np.where(np.isfinite(violation), np.maximum(violation, 0.0), np.inf)
        scale = np.where(np.isfinite(worst), worst, 0.0).max(axis=0)
        total = (worst / np.where(scale > 0, scale, 1.0)).sum(axis=1)
        return self._new(unit[np.argsort(total, kind="stable")], count)
