"""Parts: what several processes on one storage divide among them, each done once.

A search that divides its work cuts it into parts, claims some, and hands in what they give. A part
whose process is not heard of any more is open again. Every process reads what all have handed in,
so that each ends with the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

WAIT = 0.3
"""Seconds between two looks at what others do, once nothing is left to claim."""


class Part(NamedTuple):
    """Consecutive designs of a space, or draws of a sampler: from `low` up to `high`.

    Attributes
    ----------
    number : int
        Of the part, from 0.
    """

    number: int
    low: int
    high: int


class Standing(NamedTuple):
    """How far all processes are together.

    Attributes
    ----------
    done, total : int
        Designs, or draws.
    """

    done: int
    total: int


class Parts(Protocol):
    """The parts of a search on a storage that several processes share.

    Each method raises a `DseError` if the storage cannot be used.
    """

    def join(self, cuts: Sequence[tuple[int, int]]) -> None:
        """Take part from now on; the first process makes the parts, of these designs or draws."""

    def claim(self, most: int) -> list[Part]:
        """Return parts, at most so many, that this process is to do: nobody else has them."""

    def done(
        self,
        parts: Sequence[Part],
        content: Callable[[Collection[int]], Mapping[str, NDArray[Any]]],
    ) -> None:
        """Hand in parts; what is above the `high` of one is open again.

        Parameters
        ----------
        content : callable
            Given the numbers of those that nobody else has handed in, what they give.
        """

    def results(
        self, known: Collection[int]
    ) -> Iterator[tuple[int, dict[str, NDArray[Any]] | None]]:
        """Yield what was handed in, each with its number, but for those that are known.

        What is damaged is None.
        """

    def drop(self, number: int) -> None:
        """Forget what was handed in: its parts are open again."""

    def standing(self) -> Standing:
        """Return how far all are."""

    def leave(self) -> None:
        """Take part no longer: what is claimed and not done is open again."""


def cuts(total: int, size: int) -> list[tuple[int, int]]:
    """Return consecutive parts of a size; the last may be smaller.

    >>> cuts(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(low, min(low + size, total)) for low in range(0, total, size)]
