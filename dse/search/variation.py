"""Variation: children of a population, by crossover and mutation in the unit cube.

Simulated binary crossover and polynomial mutation for numbers (Deb and Agrawal, Complex Systems
1995), uniform crossover for choices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.space import Choice, Space, Values
from dse.model.quantity import Array

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents


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
    child = np.where(named, _mixed(mother, father, rng), _crossed(mother, father, rng))
    return _mutated(child, named, rng)


def _mixed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(mother.shape) < 0.5, mother, father)


def _crossed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    """Cross by simulated binary crossover, on each coordinate with probability one half."""
    u = rng.random(mother.shape)
    spread = np.where(
        u <= 0.5,
        (2.0 * u) ** (1.0 / (_CROSSOVER + 1.0)),
        (1.0 / np.maximum(2.0 * (1.0 - u), 1e-300)) ** (1.0 / (_CROSSOVER + 1.0)),
    )
    sign = np.where(rng.random(mother.shape) < 0.5, 1.0, -1.0)
    child = 0.5 * ((mother + father) + sign * spread * (mother - father))
    return np.where(rng.random(mother.shape) < 0.5, child, _mixed(mother, father, rng))


def _mutated(unit: Array, named: NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """Mutate: polynomially for numbers, a fresh draw for choices and now and then for numbers."""
    u = rng.random(unit.shape)
    step = np.where(
        u < 0.5,
        (2.0 * u) ** (1.0 / (_MUTATION + 1.0)) - 1.0,
        1.0 - (2.0 * (1.0 - u)) ** (1.0 / (_MUTATION + 1.0)),
    )
    drawn = rng.random(unit.shape)
    anew = named | (rng.random(unit.shape) < 0.1)
    mutant = np.where(anew, drawn, unit + step)
    return np.where(rng.random(unit.shape) < 1.0 / unit.shape[1], mutant, unit)
