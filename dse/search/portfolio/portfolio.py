"""Kernels with options, of which one each is chosen: the problem that `merging` solves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

Evaluate = Callable[[Array], tuple[Array, NDArray[np.bool_]]]

_ROUNDING = 1e-12  # of the largest sum: allowed above a limit
_MAX_OPTIONS = np.iinfo(np.uint16).max


@dataclass(frozen=True, eq=False)
class Portfolio:
    """A choice of one option per kernel: sums over the kernels, limits, objectives of the sums.

    Raises
    ------
    ValueError
        If a kernel has no option or too many, or a number is NaN.
    """

    options: tuple[Array, ...]
    """For each kernel, the amounts that its options add to the sums. A row with an infinite amount
    cannot be chosen. Shape (options, coordinates)."""
    limits: Array
    """No sum may exceed its limit, but for rounding: 1e-12 of the largest sum. Infinity for none. A
    sum that has a lower limit enters with the opposite sign. Shape (coordinates,)."""
    evaluate: Evaluate
    """From sums, shape (n, coordinates), to objectives, shape (n, objectives), less being better,
    and to the rows that no constraint excludes, shape (n,). An objective may be infinite. A row
    with an objective of NaN is infeasible, too, but of NaN nothing follows for higher sums. Else a
    higher sum never gives a lower objective, nor a feasible row for an infeasible one. It is also
    called with lower bounds of sums, and from several threads at once."""

    def __post_init__(self) -> None:
        for kernel, options in enumerate(self.options):
            if len(options) > _MAX_OPTIONS:
                raise ValueError(f"options[{kernel}] has more than {_MAX_OPTIONS:,} rows")
            if not np.isfinite(options).all(axis=1).any():
                raise ValueError(f"options[{kernel}] needs a row of finite amounts")
        if any(np.isnan(values).any() for values in (self.limits, *self.options)):
            raise ValueError("options and limits must not be NaN")

    @cached_property
    def scale(self) -> Array:
        """The largest magnitude that the sum of each coordinate can have, shape (coordinates,)."""
        finite = (options[np.isfinite(options).all(axis=1)] for options in self.options)
        return np.asarray(sum(np.abs(options).max(axis=0) for options in finite))

    @cached_property
    def ceiling(self) -> Array:
        """The limits with the allowance for rounding, shape (coordinates,)."""
        return np.asarray(self.limits + _ROUNDING * self.scale)

    def sums(self, choices: NDArray[Any]) -> Array:
        """Return the sums of combinations, shape (n, kernels), added in the order of kernels."""
        total = self.options[0][choices[:, 0]]
        for kernel, options in enumerate(self.options[1:], start=1):
            total = total + options[choices[:, kernel]]
        return np.asarray(total)

    def judge(self, sums: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the objectives of sums, and the rows that nothing excludes within the limits.

        Rows with an objective of NaN are among these.
        """
        objectives, feasible = self.evaluate(sums)
        return objectives, feasible & (sums <= self.ceiling).all(axis=1)
