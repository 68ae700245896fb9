"""Quantities: the meaning, unit and domain of a number, and the direction that is better.

A model's inputs and outputs are annotated with a :class:`Quantity`. The declaration is at once the
glossary (``dse list``), the validation, the documentation and the source of test data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""The outputs of a model: one element per design."""
Floats: TypeAlias = float | NDArray[np.float64]
"""The inputs of a model: a number, or an array that broadcasts with the other inputs."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The declaration of one input or output of a model.

    Parameters
    ----------
    unit : str
        Base unit of the number in arrays: ``"B"``, ``"cycle"``, ``"s"``, ``"cycle/B"``, ``"1"``…
        An empty one is ``"1"``.
    about : str
        The meaning in a few words, without the unit.
    symbol : str
        The field's symbol (``"g"``); if it is empty, the name serves as the symbol.
    low, high : float
        Closed bounds of the domain.
    above, below : float
        Open bounds of the domain, for a domain such as "greater than 0".
    integer : bool
        Whether only whole numbers are in the domain.
    exponent : bool
        Whether other inputs are raised to it, so that half and double of it are no plausible range.
    better : {"lower", "higher", None}
        The direction in which an input *improves*, for the bottleneck analysis. For an output, the
        side of a curve that is marked as its best. Towards an open bound, an improvement divides
        the distance to it (0.75 of [0, 1) becomes 0.975), and it never leaves the domain.
    typical : tuple of float, optional
        A range of everyday values, which tests sample.
    part_of : str
        For an output: the output of the same model of which it is an additive part.
    over : str
        The quantity whose parts explain an output: of a ratio the denominator, such as the time
        with the accelerator of a speedup; of a time in seconds the same time in cycles.
    reference : tuple of str
        For an output that compares with the host: the inputs or outputs of the same model that
        describe the host, such as its work per byte. If they differ between the designs of a study,
        each design is compared with another host.
    without : str
        The output or input of the model with its value without the accelerator: the host's time for
        a time.
    label : str
        The name for people, such as ``"call response time"``; see `label_of`.
    worth : float, optional
        The value without the accelerator: 1 for a speedup, 0 for an area. A maximized objective is
        beneficial above it.
    """

    unit: str
    about: str
    symbol: str = ""
    low: float = -np.inf
    high: float = np.inf
    above: float = -np.inf
    below: float = np.inf
    integer: bool = False
    better: Literal["lower", "higher"] | None = None
    typical: tuple[float, float] | None = None
    part_of: str = ""
    over: str = ""
    reference: tuple[str, ...] = ()
    without: str = ""
    worth: float | None = None
    label: str = ""
    exponent: bool = False

    def label_of(self, name: str) -> str:
        """Return the words for a name of the quantity: the label, or the words of the name.

        >>> Quantity("s", "time until a call returns", label="call response time").label_of("t_1")
        'call response time'
        >>> Quantity("s", "time of a call").label_of("call_time")
        'call time'
        """
        return self.label or name.replace("_", " ")

    def __post_init__(self) -> None:
        if not self.unit:  # an empty unit marks columns of texts
            object.__setattr__(self, "unit", "1")
        if self.better not in (None, "lower", "higher"):
            raise ValueError(f'better = {self.better!r} is not "lower", "higher" or None')
        if max(self.low, self.above) > min(self.high, self.below):
            raise ValueError(f"the domain {self.domain()} of {self.about!r} is empty")

    def domain(self) -> str:
        """Return the domain as an interval, such as ``(0, inf)``.

        >>> Quantity("B", "data", low=1).domain()
        '[1, inf)'
        """
        left = f"({self.above:.10g}" if self.above >= self.low else f"[{self.low:.10g}"
        right = f"{self.below:.10g})" if self.below <= self.high else f"{self.high:.10g}]"
        return ("whole numbers in " if self.integer else "") + f"{left}, {right}"

    def contains(self, values: Floats) -> NDArray[np.bool_]:
        """Return for each element whether it is in the domain; NaN never is."""
        x = np.asarray(values, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        if self.above > -np.inf:
            inside &= x > self.above
        if self.below < np.inf:
            inside &= x < self.below
        if self.integer:
            inside &= (x == np.floor(x)) | np.isinf(x)
        return inside

    def contains_all(self, values: Floats) -> bool:
        """Return whether every element is in the domain, without temporaries."""
        if isinstance(values, (float, int)):  # a tenth of the time that an array takes
            return self._holds(float(values))
        x = np.asarray(values)
        if x.size == 0:
            return True
        if self.integer and not np.issubdtype(x.dtype, np.integer):
            return bool(np.all(self.contains(x)))
        least = np.minimum.reduce(x, axis=None)  # NaN propagates and fails each comparison
        if not least >= self.low or (self.above > -np.inf and not least > self.above):
            return False
        if self.high == self.below == np.inf:
            return True  # most quantities end here: one pass is enough
        most = np.maximum.reduce(x, axis=None)
        return bool(most <= self.high and (self.below == np.inf or most < self.below))

    def _holds(self, x: float) -> bool:
        return (
            self.low <= x <= self.high
            and (x > self.above or self.above == -np.inf)
            and (x < self.below or self.below == np.inf)
            and (not self.integer or x.is_integer() or math.isinf(x))
        )

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Sample `count` values in the domain, from `typical` if declared.

        Wide ranges of positive values are sampled evenly in the logarithm. If a range starts at 0,
        half of the values are spread like that over six decades.
        """
        low, high = self.typical or (max(self.low, self.above), min(self.high, self.below))
        if not np.isfinite(low):
            low = min(-1e3, high - 1e3) if np.isfinite(high) else -1e3
        if not np.isfinite(high):
            high = max(low * 1e3, low + 1e3)
        if low > 0 and high / 100 > low:
            values = np.exp(rng.uniform(np.log(low), np.log(high), count))
        else:
            values = rng.uniform(low, high, count)
            if low == 0:
                values[::2] = high * 10.0 ** rng.uniform(-6, 0, len(values[::2]))
        if self.integer:
            values = np.clip(np.round(values), np.ceil(low), np.floor(high))
        return self.clip(np.clip(values, low, high))

    def clip(self, values: Floats) -> Array:
        """Return the nearest values within the bounds; the nearest float inside an open bound.

        >>> Quantity("1", "lanes", above=0, high=8, integer=True).clip(np.array([0.0, 3.0, 9.0]))
        array([1., 3., 8.])
        """
        low, high = self.low, self.high
        if self.integer:
            low, high = np.ceil(low), np.floor(high)
        if self.above >= low and self.above > -np.inf:
            low = np.floor(self.above) + 1 if self.integer else np.nextafter(self.above, np.inf)
        if self.below <= high and self.below < np.inf:
            high = np.ceil(self.below) - 1 if self.integer else np.nextafter(self.below, -np.inf)
        return np.asarray(np.clip(values, low, high))


@dataclass(frozen=True, slots=True)
class Resource:
    """The declaration of an input that is not an array: an object from a file, constant in a study.

    Parameters
    ----------
    load : callable
        Takes the path and returns the object; raises ``ValueError`` or ``OSError`` with a message.
    about : str
        The meaning in a few words.
    greatest : callable or None
        Takes the object. Returns for each quantity that selects something in it the maximum value,
        and the objects to select from, in words.
    parts : callable or None
        Takes the object. Returns the names of the parts k for each quantity that is the sum of 2^k
        over the selected parts.
    without : callable or None
        Takes the object and names. Returns the object without these parts to select from; raises
        ``InputError`` for unknown names.
    including : callable or None
        The same for parts that may be selected although a reason speaks against them.
    kept : callable or None
        Takes the object. Returns the names of its elements that are no parts, each with the reason
        and a remedy.
    unknown : callable or None
        Takes the object. Returns in sentences the data that it lacks and that results depend on:
        the answer of a study begins with them.
    names : callable or None
        Takes the object. Returns the names from which a quantity selects one by its place.
    """

    load: Callable[[str], Any]
    about: str
    greatest: Callable[[Any], Mapping[str, tuple[float, str]]] | None = None
    parts: Callable[[Any], Mapping[str, Sequence[str]]] | None = None
    without: Callable[[Any, Sequence[str]], Any] | None = None
    including: Callable[[Any, Sequence[str]], Any] | None = None
    kept: Callable[[Any], Mapping[str, tuple[str, str]]] | None = None
    unknown: Callable[[Any], Sequence[str]] | None = None
    names: Callable[[Any], Mapping[str, Sequence[str]]] | None = None
