"""Variation: the first designs, and children of a population, in the unit cube.

The first designs are scrambled Sobol points (Matousek, On the L2-discrepancy for anchored boxes,
Journal of Complexity 1998). Children come by simulated binary crossover and polynomial mutation for
numbers (Deb and Agrawal, Complex Systems 1995), uniform crossover and a fresh draw for choices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.samples import sobol_points
from dse.evaluate.space import Choice, Space, Values
from dse.model.quantity import Array

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents
_ANEW = 0.1  # of mutations of a number: a fresh draw
_WORDS = 1 << 16  # a decision takes 16 random bits
_QUANTILES = (np.arange(4_096) + 0.5) / 4_096  # at which distributions are tabulated


def _spreads() -> Array:
    """Return quantiles of the distance of children, as a fraction of their parents' distance.

    Either child of a pair is as likely. Half of the quantiles are thus negative.
    """
    near = np.minimum(2.0 * _QUANTILES, 2.0 - 2.0 * _QUANTILES) ** (1.0 / (_CROSSOVER + 1.0))
    spread = np.where(_QUANTILES < 0.5, near, 1.0 / near)
    return np.concatenate([spread, -spread])


def _steps() -> Array:
    """Return quantiles of the steps of a polynomial mutation."""
    size = np.minimum(2.0 * _QUANTILES, 2.0 - 2.0 * _QUANTILES) ** (1.0 / (_MUTATION + 1.0))
    return np.where(_QUANTILES < 0.5, size - 1.0, 1.0 - size)


_SPREADS, _STEPS = _spreads(), _steps()


def first(space: Space, count: int, rng: np.random.Generator) -> Array:
    """Return scrambled Sobol points (count, variables): the cube evenly covered.

    Of the power of two that holds `count` points, the first ones.
    """
    return sobol_points(len(space.variables), count, rng)


def children(space: Space, parents: Array, count: int, rng: np.random.Generator) -> Array:
    """Return children as points of the unit cube, not clipped to it.

    Parameters
    ----------
    space : Space
        The variables.
    parents : ndarray, shape (parents, variables)
        Points of the unit cube, best first.
    count : int
        How many children.
    rng : Generator
        Draws parents, by tournaments of two, and changes.
    """
    # the better of two: the lesser of two uniform numbers
    winners = ((1.0 - np.sqrt(1.0 - rng.random((2, count)))) * len(parents)).astype(np.int64)
    mother, father = parents.take(winners, axis=0)
    named = np.array([isinstance(v, Choice | Values) for v in space.variables.values()], dtype=bool)
    # each coordinate is the mother's, the father's, or for half of the numbers between the two
    what, mutated = rng.integers(0, _WORDS, (2, *mother.shape), dtype=np.uint16)
    child = np.where(what < _WORDS // 2, mother, father)
    between = np.flatnonzero((what - np.uint16(_WORDS // 4) < _WORDS // 2) & ~named)
    spread = _SPREADS.take(rng.integers(0, len(_SPREADS), len(between), dtype=np.uint16))
    one, other = mother.take(between), father.take(between)
    child.ravel()[between] = 0.5 * ((one + other) + spread * (one - other))
    _mutate(child, np.flatnonzero(mutated < _WORDS / mother.shape[1]), named, rng)
    return np.asarray(child)


def _mutate(
    unit: Array, where: NDArray[np.int64], named: NDArray[np.bool_], rng: np.random.Generator
) -> None:
    """Mutate coordinates, one of each child or so: polynomially, or by a fresh draw."""
    step, fresh = rng.integers(0, _WORDS, (2, len(where)), dtype=np.uint16)
    moved = unit.take(where) + _STEPS[step % len(_STEPS)]
    anew = np.flatnonzero(named.take(where % unit.shape[1]) | (fresh < _ANEW * _WORDS))
    moved[anew] = rng.random(len(anew))
    unit.ravel()[where] = moved  # a view: the quick way
