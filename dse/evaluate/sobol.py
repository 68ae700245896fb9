"""Sobol points, whose table of direction numbers scipy loads at the first use."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np

from dse.model.quantity import Array


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
    """Load scipy's table, once.

    scipy swallows an exception while it loads the table, and all points are equal from then on. A
    signal handler may raise such an exception. Signals thus wait here.

    Raises
    ------
    RuntimeError
        If the table is damaged: something else began to load it and was interrupted.
    """
    from scipy.stats import qmc

    with _signals_held():
        points = qmc.Sobol(2, scramble=False).random_base2(2)
    if len(np.unique(points, axis=0)) < len(points):
        raise RuntimeError("the direction numbers of scipy.stats.qmc.Sobol are not loaded whole")


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep SIGINT and SIGTERM until the end; handlers run in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        caught.append(number)

    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {n: signal.getsignal(n) for n in numbers}
    for number in numbers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for held in caught:
            signal.raise_signal(held)
