"""Distributions of an uncertain number, within the domain of its quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dse.model.quantity import Array

Kind = Literal["between", "uniform", "normal", "lognormal", "triangular"]
_INSIDE = 2.0**-40  # from 0 and 1, where a normal distribution has no quantile


@dataclass(frozen=True)
class Distribution:
    """The distribution of a number; the part outside the domain of its quantity is cut off.

    Parameters
    ----------
    kind : str
        ``"between"`` is an interval: only its bounds are known. Its samples are uniform.
    numbers : tuple of float
        In the quantity's unit: both bounds; mean and standard deviation of ``"normal"``; median and
        the factor of one standard deviation of ``"lognormal"``; minimum, mode and maximum of
        ``"triangular"``.
    domain : tuple of float
        The minimum and the maximum of the quantity.
    """

    kind: Kind
    numbers: tuple[float, ...]
    domain: tuple[float, float] = (-math.inf, math.inf)

    @property
    def middle(self) -> float:
        """The number that represents the distribution: its mean, median or mode."""
        match self.kind:
            case "between" | "uniform":
                return self.numbers[0] / 2 + self.numbers[1] / 2
            case "triangular":
                return self.numbers[1]
            case _:
                return self.numbers[0]

    @property
    def is_interval(self) -> bool:
        """Whether only its limits are known."""
        return self.kind == "between"

    @property
    def cut_off(self) -> float:
        """The fraction of the distribution that is outside the domain."""
        low, high = (float(self._below(end)) for end in self.domain)
        return 1.0 - (high - low)

    def __call__(self, share: Array) -> Array:
        """Return the quantiles at these probabilities.

        Parameters
        ----------
        share : ndarray
            From 0 to 1.
        """
        low, high = (self._below(end) for end in self.domain)
        inside = low + np.clip(share, _INSIDE, 1.0 - _INSIDE) * (high - low)
        return np.clip(self._quantile(inside), *self.domain)

    def _below(self, value: float) -> float:
        """Return the probability below a number."""
        from scipy.special import ndtr

        match self.kind:
            case "normal":
                mean, deviation = self.numbers
                return float(ndtr((value - mean) / deviation))
            case "lognormal":
                if value <= 0:
                    return 0.0
                median, factor = self.numbers
                return float(ndtr((math.log(value) - math.log(median)) / math.log(factor)))
            case _:
                return 0.0 if value <= self.numbers[0] else 1.0  # its bounds are in the domain

    def _quantile(self, share: Array) -> Array:
        from scipy.special import ndtri

        match self.kind:
            case "normal":
                mean, deviation = self.numbers
                return np.asarray(mean + deviation * ndtri(share))
            case "lognormal":
                median, factor = self.numbers
                return np.asarray(median * np.exp(math.log(factor) * ndtri(share)))
            case "triangular":
                return _triangular(share, *self.numbers)
            case _:
                low, high = self.numbers
                return np.asarray(low + share * (high - low))


def _triangular(share: Array, low: float, mode: float, high: float) -> Array:
    rising = low + np.sqrt(share * (high - low) * (mode - low))
    falling = high - np.sqrt((1.0 - share) * (high - low) * (high - mode))
    turn = (mode - low) / (high - low) if high > low else 0.0
    return np.where(share < turn, rising, falling)
