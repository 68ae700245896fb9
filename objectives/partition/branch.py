"""The optimum within an area where many blocks share their data: branch and bound by minimum cuts.

A price on area makes the bound on it a cost, and the best partition a minimum cut. The part of the
bound that this cut leaves is proven (Lagrange). The best price is between two sets: the first fits
and the second does not. The block that connects most of their difference is then tried on each
side: on the CPU it breaks a loop, on the accelerator it takes its area. Blocks without a gain leave
the problem each time. Few branches are therefore left of programs whose sets are large.
"""

from __future__ import annotations

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from objectives.partition.cut import IntegerProblem, reduce_problem
from objectives.partition.milp import PROVEN, Solution, solve_program
from objectives.partition.problem import PartitionProblem, greedy_choice

LARGE = 12_000
"""Members of sets above which branches are faster than one mixed-integer program."""
SMALL = 3_000  # members of a branch that is such a program

Selection = NDArray[np.bool_]


class _Priced(NamedTuple):
    bound: float
    """No set that fits changes the time to less."""
    rate: float
    """The price that proves it, in cycles an instruction."""
    low: Selection
    """A set that fits, best for its area."""
    high: Selection
    """A set that does not fit."""


class _Branch(NamedTuple):
    bound: float
    number: int
    problem: PartitionProblem
    size: float
    change: float
    """The area of blocks that are moved already."""
    moved: Selection
    """Which blocks of the graph that is."""
    sets: _Priced


class BranchSearch:
    """The best set of at most `size` instructions, and the branches that may hold a better one."""

    def __init__(self, problem: PartitionProblem, size: float) -> None:
        self.problem = problem
        self.rounding = PROVEN * problem.magnitude
        self.moved = problem.moved(np.zeros(len(problem), bool))
        self.change = 0.0
        self._lost = np.inf  # the least bound of what was left open
        self._branches: list[_Branch] = []
        self._number = itertools.count()
        self._open(problem, size, 0.0, self.moved, 0.0)

    def solve(self, nodes: int | None = None) -> Solution:
        """Return the best set, proven unless it took too many branches."""
        for _ in itertools.count() if nodes is None else range(nodes):
            if not self._branches:
                break
            branch = heapq.heappop(self._branches)
            if branch.bound >= self.change - self.rounding:
                self._branches.clear()
                break
            self._split(branch)
        left = min([self._lost, *(branch.bound for branch in self._branches)])
        bound = self.change if left >= self.change - self.rounding else left
        return Solution(self.problem.chosen(self.moved), bound)

    def _split(self, branch: _Branch) -> None:
        problem, size = branch.problem, branch.size
        weight = np.bincount(
            problem.node, (problem.any_cost + problem.all_gain)[problem.tie], len(problem)
        )
        apart = branch.sets.high & ~branch.sets.low
        one = np.arange(len(problem)) == int(np.where(apart, weight, -1.0).argmax())
        rate = branch.sets.rate
        self._open(problem.restricted(~one), size, branch.change, branch.moved, rate)
        left = size - float(problem.area[one].sum())
        if left >= 0:
            change = branch.change + problem.value(one)
            there = branch.moved | problem.moved(one)
            self._open(problem.beyond(one), left, change, there, rate)

    def _open(
        self, problem: PartitionProblem, size: float, change: float, moved: Selection, rate: float
    ) -> None:
        """Look at a branch; keep it if it may hold something better."""
        problem = reduce_problem(problem, size)
        everything = np.ones(len(problem), bool)
        if problem.area.sum() <= size:  # the rest is the minimum cut
            self._offer(problem, everything, change, moved)
            return
        sets = _priced(problem, size, rate, self.change - self.rounding - change)
        bound = change + sets.bound
        if bound >= self.change - self.rounding:
            return
        self._offer(problem, sets.low, change, moved)
        inside = problem.restricted(sets.high)
        self._offer(inside, greedy_choice(inside, size), change, moved)
        rest, left = problem.beyond(sets.low), size - float(problem.area[sets.low].sum())
        done, there = change + problem.value(sets.low), moved | problem.moved(sets.low)
        self._offer(rest, greedy_choice(rest, left), done, there)
        if len(problem.tie) <= SMALL:
            solved = solve_program(problem, size)
            self._offer(problem, solved.chosen, change, moved)
            self._lost = min(self._lost, change + solved.bound)
            return
        number = next(self._number)
        heapq.heappush(self._branches, _Branch(bound, number, problem, size, change, moved, sets))

    def _offer(
        self, problem: PartitionProblem, chosen: Selection, change: float, moved: Selection
    ) -> None:
        value = change + problem.value(chosen)
        if value < self.change:
            self.change, self.moved = value, moved | problem.moved(chosen)


def _priced(problem: PartitionProblem, size: float, rate: float, enough: float) -> _Priced:
    """Return what prices on area prove, of a problem of which all blocks pay together.

    The first price is `rate`; a bound of `enough` or more is the last.

    As the price rises, the moved blocks only become fewer: the sets are nested, since each block's
    cost rises with the price (Gallo, Grigoriadis, Tarjan, SIAM J. Computing 18(1), 1989). `low` is
    therefore a part of `high`.
    """
    whole, total = IntegerProblem(problem), float(problem.area.sum())
    low, high = np.zeros(len(problem), bool), np.ones(len(problem), bool)
    less, more = (0, 0), (int(total), whole.value(high))
    bound = -np.inf
    known = 0 < rate * total <= problem.magnitude
    while True:
        times, price = more[0] - less[0], less[1] - more[1]
        if known:
            times, price = int(total), round(math.ldexp(rate * total, whole.scale))
        found = whole.cut(times, price)
        point = (int(problem.area[found].sum()), whole.value(found))
        rate = math.ldexp(price / times, -whole.scale)
        bound = max(bound, problem.value(found) + rate * (point[0] - size))
        least = times * point[1] + price * point[0] >= times * less[1] + price * less[0]
        if bound >= enough or (least and not known):
            return _Priced(bound, rate, low, high)
        if less[0] < point[0] <= size:
            low, less = found, point
        elif size < point[0] < more[0]:
            high, more = found, point
        known = False
