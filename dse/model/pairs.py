"""Pairs of inputs that differ in one input: they try to refute the declarations of a model.

Random values rarely find the input at which a declaration fails. Pairs thus mix typical values,
values with one digit, values of the whole domain, and its bounds. The second input of a pair is
far away, close by, the next float, or a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.contract import Model
from dse.model.declarations import contradicts, describe_contradiction
from dse.model.quantity import Array, Quantity

_CHUNK = 1 << 14  # pairs per call, which fit into the cache
_FIRST_PAIRS = 256  # in the first call that looks for a sign: few pairs contradict most signs
_MIN_MAGNITUDE = 1e-280  # of values other than 0; products of smaller ones underflow
_DECADES = 12.0  # beyond typical values, in a domain without bound


def refute_declarations(model: Model, fixed: Mapping[str, Any], pairs: int, seed: int) -> None:
    """Try to refute every declared sign and lower bound of a model and of its parts.

    `fixed`: inputs that are not sampled: numbers, or arrays to sample from.

    AssertionError if a pair refutes a declaration; it names model, output, input, both points and
    both values.
    """
    if model.parts and model.monotonic:
        raise AssertionError(f"{model.name}: has parts, so only what they declare counts")
    for number, leaf in enumerate(model.leaves):
        floors = [floor for each in leaf.lower_bounds.values() for floor in each]
        for every in (leaf, *floors):
            rng = np.random.default_rng((seed, number))
            for first in range(0, pairs if every.monotonic or every.lower_bounds else 0, _CHUNK):
                _refute(every, fixed, min(_CHUNK, pairs - first), rng)


def _inputs(
    model: Model, fixed: Mapping[str, Any], count: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Return random inputs of a model."""
    one: dict[str, Any] = {}
    for name, declared in model.inputs.items():
        if name in fixed:
            held = fixed[name]
            one[name] = rng.choice(held, count) if isinstance(held, np.ndarray) else held
        elif isinstance(declared, Quantity):
            one[name] = sample_values(declared, rng, count)
    return one


def _refute(model: Model, fixed: Mapping[str, Any], count: int, rng: np.random.Generator) -> None:
    one = _inputs(model, fixed, count, rng)
    before = model(one)
    _stand(model, one, before)
    moved = dict.fromkeys(name for given in model.monotonic.values() for name in given)
    for name in moved:
        quantity = model.inputs[name]
        if name not in fixed and isinstance(quantity, Quantity):
            other = {**one, name: _beside(quantity, one[name], rng)}
            problem = find_contradiction(model, name, (one, other), (before, model(other)))
            if problem is not None:
                raise AssertionError(f"{model.name}: {problem[1]}")


def propose_declarations(
    model: Model, fixed: Mapping[str, Any], pairs: int, seed: int
) -> list[str]:
    """Name the inputs that declarations leave out, each with the sign that pairs support.

    Only outputs with a declaration count: without one, the author makes no statement. An input with
    which an output both rises and falls needs no declaration.
    """
    proposals = []
    for number, leaf in enumerate(model.leaves):
        for output, declared in leaf.monotonic.items():
            signs = {
                name: _supported_sign(leaf, output, name, fixed, pairs, (seed, number))
                for name, quantity in leaf.inputs.items()
                if isinstance(quantity, Quantity) and name not in declared and name not in fixed
            }
            text = " ".join(f"{sign}{name}" for name, sign in signs.items() if sign)
            if text:
                names = ", ".join(f"'{name}'" for name, sign in signs.items() if sign)
                proposals.append(
                    f"{leaf.name}: the declaration of '{output}' leaves out {names}. Bounds of it "
                    f'do not close. {pairs:,} pairs support "{text}".'
                )
    return proposals


def _supported_sign(
    model: Model,
    output: str,
    name: str,
    fixed: Mapping[str, Any],
    pairs: int,
    seed: tuple[int, int],
) -> str:
    """Return the sign that no pair contradicts, the strongest first; empty if there is none."""
    rng, left = np.random.default_rng(seed), {"=": 0, "+": 1, "-": -1}
    quantity, done = model.quantities[name], 0
    while done < pairs:  # a few pairs contradict most signs: doubling spares the others
        one = _inputs(model, fixed, min(_CHUNK, done + _FIRST_PAIRS, pairs - done), rng)
        other = _beside(quantity, one[name], rng)
        values = [
            np.broadcast_to(model({**one, name: column})[output], other.shape)
            for column in (one[name], other)
        ]
        rises = one[name] <= other
        low, high = np.where(rises, *values), np.where(rises, *values[::-1])
        left = {text: sign for text, sign in left.items() if not contradicts(sign, low, high).any()}
        if not left:
            return ""
        done += len(other)
    return next(iter(left))


def _stand(model: Model, one: Mapping[str, Any], before: Mapping[str, Array]) -> None:
    """Check outputs against the lower bounds that are declared for them."""
    for output, floors in model.lower_bounds.items():
        for floor in floors:
            least = floor({n: v for n, v in one.items() if n in floor.inputs})[output]
            value, least = np.broadcast_arrays(before[output], least)
            for row in np.flatnonzero(contradicts(1, np.ravel(least), np.ravel(value)))[:1]:
                inputs = ", ".join(f"{n} = {_at(v, row)!r}" for n, v in one.items())
                text = describe_below_bound(
                    floor, output, float(np.ravel(value)[row]), float(np.ravel(least)[row])
                )
                raise AssertionError(f"{model.name}: {text} (inputs: {inputs})")


def describe_below_bound(floor: Model, output: str, value: float, least: float) -> str:
    """Return in words that an output is below its lower bound."""
    name = getattr(floor.function, "__name__", "a floor")
    return f"'{output}' is {value:.10g}, and never less than {least:.10g} by '{name}'"


def find_contradiction(
    model: Model,
    moved: str,
    points: tuple[Mapping[str, Any], Mapping[str, Any]],
    values: tuple[Mapping[str, Array], Mapping[str, Array]],
) -> tuple[str, str] | None:
    """Return an output that contradicts its declaration, and how, in words; None if none does.

    `moved`: the input in which two rows of points differ, and in nothing else.
    """
    one, other = points[0][moved], points[1][moved]
    for output, given in model.monotonic.items():
        if moved not in given:
            continue
        first, second = (np.broadcast_to(each[output], one.shape) for each in values)
        low, high = np.where(one <= other, first, second), np.where(one <= other, second, first)
        for row in np.flatnonzero(contradicts(given[moved], low, high) & (one != other))[:1]:
            order = (0, 1) if one[row] <= other[row] else (1, 0)
            ends = [
                {n: _at(v, row) for n, v in points[i].items() if n in model.quantities}
                for i in order
            ]
            text = describe_contradiction(
                output, moved, given[moved], ends, (float(low[row]), float(high[row]))
            )
            return output, text
    return None


def _at(value: Any, row: int) -> float:
    return float(value[row] if isinstance(value, np.ndarray) and value.ndim else value)


def sample_values(quantity: Quantity, rng: np.random.Generator, count: int) -> Array:
    """Sample values of every kind: typical, round, anywhere in the domain, and its bounds.

    The rows have the same kind for all inputs of a call: typical for the first half, anywhere for a
    quarter, any kind for the last quarter.
    """
    typical, anywhere = quantity.draw(rng, count), _anywhere(quantity, rng, count)
    kinds = (typical, _round(quantity, typical), anywhere, _ends(quantity, rng, count))
    kind = rng.choice(4, count, p=(0.4, 0.3, 0.1, 0.2))
    half, most = count // 2, count * 3 // 4
    kind[:half] = rng.choice(2, half)
    kind[half:most] = 2
    return _in_range(quantity, np.choose(kind, kinds))


def _in_range(quantity: Quantity, values: Array) -> Array:
    """Return values without very small ones, whose products leave the range of floats."""
    small = (values != 0) & (np.abs(values) < _MIN_MAGNITUDE)
    return np.where(small, quantity.clip(np.copysign(_MIN_MAGNITUDE, values)), values)


def _beside(quantity: Quantity, values: Array, rng: np.random.Generator) -> Array:
    """Return other values: far away, close by, the next float, or a bound."""
    count = len(values)
    with np.errstate(all="ignore"):
        close = values + np.maximum(np.abs(values), 1e-300) * 10.0 ** rng.uniform(-14, -1, count)
        if quantity.integer:
            close = values + np.maximum(np.round(close - values), 1.0)
        kinds = (
            rng.permutation(quantity.draw(rng, count)),
            sample_values(quantity, rng, count),
            quantity.clip(close),
            quantity.clip(values + 1.0 if quantity.integer else np.nextafter(values, np.inf)),
            _ends(quantity, rng, count),
        )
    kind = rng.choice(5, count, p=(0.2, 0.2, 0.35, 0.1, 0.15))
    return _in_range(quantity, np.choose(kind, kinds))


def _round(quantity: Quantity, values: Array) -> Array:
    """Return values of one digit, whose ratios are sometimes whole numbers."""
    with np.errstate(all="ignore"):
        unit = 10.0 ** np.floor(np.log10(np.abs(values)))
        found = np.where(unit > 0, np.round(values / unit) * unit, values)
    if quantity.integer:
        found = np.round(found)
    return quantity.clip(found)


def _anywhere(quantity: Quantity, rng: np.random.Generator, count: int) -> Array:
    """Sample the whole domain: evenly, or over many decades from a bound or around zero."""
    low, high = max(quantity.low, quantity.above), min(quantity.high, quantity.below)
    scale = max(map(abs, quantity.typical)) if quantity.typical else 1.0
    decades = 10.0 ** rng.uniform(-_DECADES, _DECADES, count) * (scale or 1.0)
    even = rng.random(count)
    if np.isfinite(low) and np.isfinite(high):
        near = (high - low) * 10.0 ** rng.uniform(-_DECADES, 0, count)
        kinds = (low + even * (high - low), low + near, high - near)
        values = np.choose(rng.choice(3, count, p=(0.4, 0.4, 0.2)), kinds)
    elif np.isfinite(low):
        values = low + decades
    elif np.isfinite(high):
        values = high - decades
    else:
        values = np.where(even < 0.5, -decades, decades)
    return quantity.clip(np.round(values) if quantity.integer else values)


def _ends(quantity: Quantity, rng: np.random.Generator, count: int) -> Array:
    """Sample the bounds, or the float next to an open bound; 0 and 1 if the domain has them."""
    ends = quantity.clip(np.array([-np.inf, np.inf, 0.0, 1.0, *(quantity.typical or ())]))
    if quantity.integer:
        ends = ends[ends == np.floor(ends)]
    found: NDArray[np.float64] = np.unique(ends[quantity.contains(ends)])
    return rng.choice(found, count)
