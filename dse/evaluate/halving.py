"""Halving: a batch that raised is cut in two, again and again, until it is known what raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


@dataclass(frozen=True)
class Gave(Generic[T]):
    """What a part of a batch gave.

    Parameters
    ----------
    low, high : int
        Its rows.
    found : object
        What it gave.
    """

    low: int
    high: int
    found: T


@dataclass(frozen=True)
class Raised(Generic[E]):
    """What a part of a batch raised: one row, or rows of which neither half raises.

    Parameters
    ----------
    low, high : int
        Its rows.
    error : BaseException
        What it raised.
    """

    low: int
    high: int
    error: E

    @property
    def single(self) -> bool:
        """Whether it is one row; of several, each half has given something before."""
        return self.high - self.low == 1


def halved(
    run: Callable[[int, int], T],
    low: int,
    high: int,
    error: E,
    caught: type[E] | tuple[type[E], ...],
) -> Iterator[Gave[T] | Raised[E]]:
    """Yield what the parts of a batch give, in the order of its rows.

    Parameters
    ----------
    run : callable
        Returns what rows give, from the first up to the last one excluded.
    low, high : int
        The rows of the batch.
    error : BaseException
        What the batch raised.
    caught : type, or tuple of types
        What a part may raise.
    """
    middle, clean = (low + high) // 2, True
    for start, stop in ((low, middle), (middle, high)) if high - low > 1 else ():
        try:
            found = run(start, stop)
        except caught as inner:
            clean = False
            yield from halved(run, start, stop, inner, caught)
            continue
        yield Gave(start, stop, found)
    if clean:
        yield Raised(low, high, error)
