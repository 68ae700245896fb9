"""Variation: the first designs, and children of a population, in the unit cube.

The first designs are scrambled Sobol points (Matousek, On the L2-discrepancy for anchored boxes,
Journal of Complexity 1998). Children come by simulated binary crossover and polynomial mutation for
numbers (Deb and Agrawal, Complex Systems 1995), uniform crossover and a fresh draw for choices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.space import Choice, Space, Values
from dse.model.quantity import Array

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents
_ANEW = 0.1  # of mutations of a number: a fresh draw


def first(space: Space, count: int, rng: np.random.Generator) -> Array:
    """Return scrambled Sobol points (count, variables): the cube evenly covered.

    Of the power of two that holds `count` points, the first ones.
    """
    from scipy.stats import qmc  # slow to import

    sobol = qmc.Sobol(len(space.variables), rng=rng)
    return np.asarray(sobol.random_base2((count - 1).bit_length())[:count])


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
    pairs = rng.integers(0, len(parents), (2, 2, count))
    winners = np.minimum(pairs[0], pairs[1])
    mother, father = parents[winners[0]], parents[winners[1]]
    named = np.array([isinstance(v, Choice | Values) for v in space.variables.values()], dtype=bool)
    # each coordinate is the mother's, the father's, or for half of the numbers between the two
    what = rng.random(mother.shape)
    child = np.where(what < 0.5, mother, father)
    between = np.flatnonzero((np.abs(what - 0.5) < 0.25) & ~named)
    child.flat[between] = _crossed(mother.take(between), father.take(between), rng)
    _mutate(child, named, rng)
    return np.asarray(child)


def _crossed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    """Cross coordinates by simulated binary crossover; either child of a pair is as likely."""
    u, side = 2.0 * rng.random((2, len(mother)))
    near = np.maximum(np.minimum(u, 2.0 - u), 1e-300) ** (1.0 / (_CROSSOVER + 1.0))
    spread = np.copysign(np.where(u <= 1.0, near, 1.0 / near), side - 1.0)
    return np.asarray(0.5 * ((mother + father) + spread * (mother - father)))


def _mutate(unit: Array, named: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Mutate a coordinate of each child or so: polynomially, or by a fresh draw."""
    width = unit.shape[1]
    where = np.flatnonzero(rng.random(unit.shape) < 1.0 / width)
    u, fresh, place = rng.random((3, len(where)))
    size = np.minimum(2.0 * u, 2.0 - 2.0 * u) ** (1.0 / (_MUTATION + 1.0))
    step = np.where(u < 0.5, size - 1.0, 1.0 - size)
    anew = named.take(where % width) | (fresh < _ANEW)
    unit.flat[where] = np.where(anew, place, unit.take(where) + step)
