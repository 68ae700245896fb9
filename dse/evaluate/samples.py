"""Uncertain inputs: their distributions, and samples as scenarios that are equal for all designs.

A sample is one number for each uncertain input. Conditions that hold `SAMPLE` ask for the samples,
which are one more axis of scenarios; without it each uncertain input is its middle. So a model that
no uncertain input affects is run once, whatever the number of samples.
"""

from __future__ import annotations

import functools
import math
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

# Distributions ------------------------------------------------------------------------------------


Kind = Literal["between", "uniform", "normal", "lognormal", "triangular"]
_INSIDE = 2.0**-40  # from 0 and 1, where a normal distribution has no quantile


@dataclass(frozen=True)
class Distribution:
    """The distribution of a number; the part outside the domain of its quantity is cut off."""

    kind: Kind
    """``"between"`` is an interval: only its bounds are known. Its samples are uniform."""
    numbers: tuple[float, ...]
    """In the quantity's unit: both bounds; mean and standard deviation of ``"normal"``; median and
    the factor of one standard deviation of ``"lognormal"``; minimum, mode and maximum of
    ``"triangular"``."""
    domain: tuple[float, float] = (-math.inf, math.inf)
    """The minimum and the maximum of the quantity."""

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
        low, high = (self._probability_below(end) for end in self.domain)
        return 1.0 - (high - low)

    def __call__(self, share: Array) -> Array:
        """Return the quantiles at these probabilities, from 0 to 1."""
        low, high = (self._probability_below(end) for end in self.domain)
        inside = low + np.clip(share, _INSIDE, 1.0 - _INSIDE) * (high - low)
        return np.clip(self._quantile(inside), *self.domain)

    def _probability_below(self, value: float) -> float:
        from scipy.special import ndtr

        match self.kind:
            case "normal":
                mean, deviation = self.numbers
                return float(ndtr((value - mean) / deviation))
            case "lognormal":
                median, factor = self.numbers
                return (
                    float(ndtr((math.log(value) - math.log(median)) / math.log(factor)))
                    if value > 0
                    else 0.0
                )
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
                low, mode, high = self.numbers
                rising = low + np.sqrt(share * (high - low) * (mode - low))
                falling = high - np.sqrt((1.0 - share) * (high - low) * (high - mode))
                turn = (mode - low) / (high - low) if high > low else 0.0
                return np.where(share < turn, rising, falling)
            case _:
                low, high = self.numbers
                return np.asarray(low + share * (high - low))


# Sobol points -------------------------------------------------------------------------------------


def sobol_points(dimensions: int, count: int, rng: np.random.Generator) -> Array:
    """Return scrambled Sobol points (count, dimensions): the cube evenly covered.

    They are the first points of the next power of two. Owen, Scrambling Sobol' and
    Niederreiter-Xing points, Journal of Complexity 1998.

    """
    from scipy.stats import qmc  # slow to import

    load_direction_numbers()
    sobol = qmc.Sobol(dimensions, rng=rng)
    return np.asarray(sobol.random_base2((count - 1).bit_length())[:count])


@functools.lru_cache(maxsize=1)
def load_direction_numbers() -> None:
    """Load scipy's table of Sobol points, once.

    scipy swallows an exception while it loads the table, and all points are equal from then on. A
    signal handler may raise such an exception. Signals thus wait here.

    Raises
    ------
    RuntimeError
        If the table is damaged: something else began to load it and was interrupted.
    """
    from scipy.stats import qmc

    with _hold_signals():
        points = qmc.Sobol(2, scramble=False).random_base2(2)
    if len(np.unique(points, axis=0)) < len(points):
        raise RuntimeError("scipy.stats.qmc.Sobol was not loaded whole: start Python again")


@contextmanager
def _hold_signals() -> Iterator[None]:
    """Keep SIGINT and SIGTERM until the end; handlers run in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        caught.append(number)

    handlers = {int(n): signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for number in caught:
            signal.raise_signal(number)


# Samples ------------------------------------------------------------------------------------------


SAMPLE = "sample of the uncertain inputs"
"""The condition that numbers the samples, from 0; no quantity has such a name."""
_MAX_CORNERS = 6  # intervals whose corners are all sampled: 64 samples


class Sampled(tuple[float, ...]):
    """One number per scenario, the first sample first; of `SAMPLE` the numbers of the samples.

    Its hash is computed once, because it is in the key of each run of a model.
    """

    uncertain: Uncertain | None = None
    """The number that was sampled; None for `SAMPLE`."""
    samples: int = 1
    """How many there are."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The numbers as indices."""
        return np.array(self, dtype=np.int64)


def option_column(variable: str) -> str:
    """Return the column with the option of a design, for a variable with uncertain entries."""
    return f"option of {variable}"


@dataclass(frozen=True, eq=False)
class Spread:
    """The values of an uncertain quantity in each sample."""

    middle: Array
    """The value without samples, by the option of a variable; one if no variable sets it. Shape
    (options,)."""
    values: Array
    """The value in each sample. Shape (samples, options)."""
    variable: str = ""
    """The variable that selects the option; empty for an input."""

    def __call__(self, samples: Any, columns: Mapping[str, Any], given: Any) -> Any:
        """Return the quantity of some designs in some samples, of shape (samples, designs or 1).

        If a design has another value than the middle, it is scaled by the same factor. For a single
        sample the first axis is left out. Columns have what the space sets; `given` is the quantity
        without samples.
        """
        option: Any = np.zeros(1, dtype=np.int64)
        if self.variable:
            if option_column(self.variable) not in columns:
                return given  # the entry is not in the study, and has no samples
            option = np.asarray(columns[option_column(self.variable)], dtype=np.int64)
        sampled = isinstance(samples, Sampled)
        rows = samples.places if sampled else np.asarray(samples, dtype=np.int64)
        values, middle = self.values[rows][..., option], self.middle[option]
        if np.all(given == middle):
            return values
        with np.errstate(all="ignore"):
            moved = np.where(middle != 0, values * (given / middle), values + given)
        return np.where(given == middle, values, moved)


@dataclass(frozen=True)
class Source:
    """An uncertain input of a study: one number, or several that are sampled together."""

    where: str
    labels: tuple[str, ...]
    """The names of its numbers, for people, such as ``"latency of pci-card"``."""
    units: tuple[str, ...]
    """Of each number."""
    law: Distribution | JointDistribution
    text: str
    """The same for people, such as ``"between 0.8 us and 1.2 us"``."""

    @property
    def is_interval(self) -> bool:
        """Whether only its bounds are known."""
        return isinstance(self.law, Distribution) and self.law.is_interval

    def __call__(self, shares: Array) -> Array:
        """Return numbers (samples, numbers) at points (samples, numbers) of the unit cube."""
        if isinstance(self.law, Distribution):
            return self.law(shares[:, 0])[:, None]
        return self.law(shares)

    @property
    def middles(self) -> Array:
        """The middle of each number."""
        return np.atleast_1d(np.asarray(self.law.middle, dtype=np.float64))


@dataclass(frozen=True)
class Uncertain:
    """An uncertain number: its middle, its source, and its position among the source's numbers."""

    middle: float
    source: Source
    number: int = 0


@dataclass(frozen=True)
class JointDistribution:
    """Numbers that were fitted together: normal, themselves or their logarithms, and correlated."""

    middle: tuple[float, ...]
    """As fitted, in the quantities' units."""
    logs: tuple[bool, ...]
    """Whether the logarithm of each is normal."""
    covariance: tuple[tuple[float, ...], ...]
    """Of the numbers, or of their logarithms."""
    domains: tuple[tuple[float, float], ...]
    """The minimum and maximum of each: a value outside becomes the nearer one."""

    def __call__(self, shares: Array) -> Array:
        """Return numbers (samples, numbers) at points of the unit cube."""
        from scipy.special import ndtri

        values, axes = np.linalg.eigh(np.array(self.covariance))
        root = axes * np.sqrt(np.maximum(values, 0.0))
        moved = ndtri(np.clip(shares, 2.0**-40, 1.0 - 2.0**-40)) @ root.T
        middle, logs = np.array(self.middle), np.array(self.logs)
        found = np.where(logs, middle * np.exp(np.where(logs, moved, 0.0)), middle + moved)
        low, high = np.array(self.domains).T
        return np.clip(found, low, high)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The samples of all uncertain inputs of a study."""

    sources: tuple[Source, ...] = ()
    values: Mapping[str, Array] = field(default_factory=dict)
    """By the place of each source; the corners of the intervals come first. Shape (samples,
    numbers)."""
    corners: int = 0
    """The number of samples that are corners: they count only in the worst case."""

    @property
    def samples(self) -> int:
        """How many samples there are, corners included."""
        return max((len(v) for v in self.values.values()), default=0)

    @property
    def intervals(self) -> bool:
        """Whether all sources are intervals: then no sample is likelier than another."""
        return bool(self.sources) and all(s.is_interval for s in self.sources)

    @property
    def inputs(self) -> dict[str, tuple[str, Array]]:
        """Return each uncertain number by its label: unit, and values (samples,)."""
        return {
            label: (unit, self.values[s.where][:, k])
            for s in self.sources
            for k, (label, unit) in enumerate(zip(s.labels, s.units, strict=True))
        }


def draw_samples(sources: Sequence[Source], count: int, seed: int) -> Uncertainty:
    """Return samples of some uncertain inputs, the same for the same seed.

    The points are a scrambled Sobol sequence (Owen 1998, by scipy). Its means are far more exact
    than the means of as many random numbers. The corners of up to six intervals come first, with
    all other inputs at their middles: if a value is monotonic in each input, its worst case is at a
    corner.
    """
    if not sources:
        return Uncertainty()
    widths = [len(s.labels) for s in sources]
    points = sobol_points(sum(widths), max(count, 1), np.random.default_rng(seed))[:count]
    parts = np.split(points, np.cumsum(widths)[:-1], axis=1)
    intervals = [s for s in sources if s.is_interval]
    corners = 2 ** len(intervals) if 0 < len(intervals) <= _MAX_CORNERS else 0
    bits = np.arange(corners)
    values = {}
    for source, part in zip(sources, parts, strict=True):
        first = np.tile(source.middles, (corners, 1))
        if source.is_interval and isinstance(source.law, Distribution) and corners:
            first[:, 0] = np.array(source.law.numbers)[bits >> intervals.index(source) & 1]
        values[source.where] = np.concatenate([first, source(part)])
    return Uncertainty(tuple(sources), values, corners)


def sample_conditions(conditions: Mapping[str, Any], uncertainty: Uncertainty) -> dict[str, Any]:
    """Return conditions with samples: every scenario in each sample, one sample after the other."""
    samples = uncertainty.samples
    each = max((len(v) for v in conditions.values() if isinstance(v, tuple)), default=1)
    found: dict[str, Any] = {}
    for name, bound in conditions.items():
        if isinstance(bound, Uncertain):
            values = uncertainty.values[bound.source.where][:, bound.number]
            found[name] = Sampled(np.repeat(values, each).tolist())
            found[name].uncertain = bound
        else:
            found[name] = bound * samples if isinstance(bound, tuple) else bound
    found[SAMPLE] = Sampled(np.repeat(np.arange(samples, dtype=np.float64), each).tolist())
    found[SAMPLE].samples = samples
    return found


def count_samples(conditions: Mapping[str, Any]) -> int:
    """Return how many samples conditions ask for; 1 if they ask for none."""
    asked = conditions.get(SAMPLE)
    return asked.samples if isinstance(asked, Sampled) else 1


def drop_samples(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions without samples: each uncertain input is its middle."""
    if SAMPLE not in conditions:
        return dict(conditions)
    each = len(conditions[SAMPLE]) // conditions[SAMPLE].samples
    found: dict[str, Any] = {}
    for name, bound in conditions.items():
        if isinstance(bound, Sampled):
            found[name] = bound.uncertain.middle if bound.uncertain else np.nan
        else:
            found[name] = bound[:each] if isinstance(bound, tuple) else bound
    del found[SAMPLE]
    return found
