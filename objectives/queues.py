"""Waiting for servers under Poisson arrivals: M/D/q with a constant service time, M/G/1, M/G/c.

The queue of M/D/q is the queue of q servers which all start at each tick of one service. Its
generating function has q − 1 unknowns, fixed by the zeros of ``z^q = exp(qρ(z − 1))`` in the unit
disc (C. D. Crommelin, Delay probability formulae when the holding times are constant, Post Office
Electrical Engineers' Journal 25, 1932). :mod:`objectives.sharing.slot_latency`
needs the same zeros.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.power_law import to_arrays

Complex: TypeAlias = NDArray[np.complexfloating[Any, Any]]

ROUNDING = float(np.finfo(np.float64).eps)


def constant_service_wait(load: Floats, servers: Floats = 1.0) -> Array:
    """Return the mean wait of M/D/q over the service time; inf from a load of 1 on.

    The load ρ is the arrivals in one service time over the q `servers`. The wait is
    ``E[L] / (qρ)`` with ``E[L] = ((qρ)² − q(q − 1)) / (2q(1 − ρ)) + Σ 1/(1 − z_k)`` over the q − 1
    zeros other than 1; for one server ``ρ / (2(1 − ρ))``.

    >>> constant_service_wait(np.array([0.5, 1.0]))
    array([0.5, inf])
    >>> float(constant_service_wait(0.5, 2))
    0.1767
    """
    load, servers = np.broadcast_arrays(*to_arrays(load, servers))
    with np.errstate(all="ignore"):
        wait = np.where(load < 1, load / (2 * (1 - load)), np.where(np.isnan(load), load, np.inf))
    shared = (servers > 1) & (load > 0) & (load < 1)
    wait[shared] = _shared_wait(load[shared], servers[shared])
    return wait[()]


def mixed_service_wait(load: Floats, moment: Floats) -> Array:
    """Return the mean wait of M/G/1; inf from a load of 1 on.

    ``moment / 2(1 − load)`` [s] (Pollaczek and Khinchine), with load Σ rate · time and moment
    Σ rate · time² [s] over the kinds of calls.

    >>> float(mixed_service_wait(0.5, 0.25e-3))
    0.0003
    """
    load = np.asarray(load, dtype=np.float64)
    with np.errstate(all="ignore"):
        wait = np.where(load < 1, moment / (2 * (1 - load)), np.inf)
    return np.where(np.isnan(load), np.nan, wait)[()]


def pooled_wait(load: Floats, moment: Floats, servers: Floats) -> Array:
    """Return the mean wait of M/G/c, approximately; inf from a load of c on.

    ``C(c, a) / (c − a) · moment / 2a`` with Erlang's C; load a and moment are as for
    :func:`mixed_service_wait`, of all c servers together. This is the wait of M/M/c times
    (1 + v²) / 2, v the coefficient of variation (A. O. Allen, Probability, Statistics and Queueing
    Theory, 1990, section 5.3; Allen and Cunneen): exact for c = 1 and for exponential times.

    >>> float(pooled_wait(0.5, 0.5, 1)), float(pooled_wait(1.0, 2.0, 2))
    (0.5, 0.3333)
    """
    load, moment, servers = np.broadcast_arrays(*to_arrays(load, moment, servers))
    with np.errstate(all="ignore"):
        blocking = blocking_probability(load, servers)
        waiting = servers * blocking / (servers - load * (1 - blocking))
        wait = waiting / load * moment / (2 * (servers - load))
        wait = np.where(load == 0, np.where(servers > 1, 0.0, moment / 2), wait)
        return np.where(load >= servers, np.inf, wait)[()]


def blocking_probability(load: Array, servers: Array) -> Array:
    """Return Erlang's B: the Poisson probability of c over that of at most c."""
    from scipy.special import gammaincc, gammaln  # slow to import: a study of slots never does

    poisson = np.exp(servers * np.log(load) - load - gammaln(servers + 1))
    return np.asarray(poisson / gammaincc(servers + 1, load))


def _shared_wait(load: Array, servers: Array) -> Array:
    order = np.argsort(-servers, kind="stable")
    load, servers = load[order], servers[order]
    total = ((servers * load) ** 2 - servers * (servers - 1)) / (2 * servers * (1 - load))
    for k in range(1, int(servers.max(initial=0)) // 2 + 1):
        has = slice(np.searchsorted(-servers, -2 * k, side="right"))  # those with a zero k
        of, at = servers[has], load[has]
        moved = complex_expm1(log_zero(2 * np.pi * k / of, at))
        weight = np.where(of == 2 * k, 1.0, 2.0)  # zeros come in conjugate pairs
        total[has] -= weight * (1 / moved).real
    wait = np.empty_like(total)
    wait[order] = np.maximum(total, 0.0) / (servers * load)  # at light load only rounding is left
    return wait


def log_zero(angle: Array, load: Array) -> Complex:
    """Return ln v of the zero in the disc: ln v − ρ(v − 1) = iθ, by three steps of Halley.

    It is Lambert's W₀ in another dress, but exact near the branch point, where the argument of W
    rounds away what matters. The start is the root of the quadratic expansion about z = 1; three
    steps of third order end below rounding for all loads in [0, 1) and angles in [−π, π].
    """
    free = 1 - load
    zeta = 2j * angle / (free + np.sqrt(free * free - 2j * load * angle))
    for _ in range(3):
        moved = complex_expm1(zeta)
        curve = load * (1 + moved)
        slope = 1 - curve
        step = (zeta - load * moved - 1j * angle) / slope
        zeta -= step / (1 + 0.5 * step * curve / slope)
    return zeta


def complex_expm1(z: Complex) -> Complex:
    """Return exp(z) − 1 by real functions, which are several times faster than the complex one."""
    result = np.empty_like(z)
    grown, half = np.expm1(z.real), 0.5 * z.imag
    sine = np.sin(half)
    scaled = 2 * sine * (1 + grown)
    result.real = grown - sine * scaled
    result.imag = np.cos(half) * scaled
    return result


def turn_angle(turns: Floats, period: Floats) -> Array:
    """Return 2π·turns/period between −π and π; whole numbers of `turns` keep their digits."""
    left = np.mod(turns, period)
    left = np.where(2 * left > period, left - period, left)
    return np.asarray(2 * np.pi * left / period)


def find_zeros(angle: Array, load: Array) -> tuple[Complex, Array]:
    """Return v − 1 of the zero in the disc, ln v = ρ(v − 1) + iθ, and an estimate of its error."""
    zeta = log_zero(angle, load)
    moved = complex_expm1(zeta)
    slope = 1 - load * (1 + moved)
    residual = np.abs(zeta - load * moved - 1j * angle)
    return moved, (residual + ROUNDING * (np.abs(zeta) + np.abs(angle))) / np.abs(slope)
