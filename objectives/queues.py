"""Waiting for servers that take a constant time, under Poisson arrivals: M/D/1 and M/D/q.

The queue of M/D/q is the queue of q servers which all start at each tick of one service. Its
generating function has q − 1 unknowns, fixed by the zeros of ``z^q = exp(qρ(z − 1))`` in the unit
disc (C. D. Crommelin, Delay probability formulae when the holding times are constant, Post Office
Electrical Engineers' Journal 25, 1932). :mod:`objectives.sharing.latency` needs the same zeros.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats

Complex: TypeAlias = NDArray[np.complexfloating[Any, Any]]


def constant_service_wait(load: Floats, servers: Floats = 1.0) -> Array:
    """Return the mean wait of M/D/q over the service time; inf from a load of 1 on.

    Parameters
    ----------
    load : array_like
        Arrivals in one service time over `servers`.
    servers : array_like
        q, whole numbers of at least 1.

    Returns
    -------
    ndarray
        ``E[L] / (qρ)`` with ``E[L] = ((qρ)² − q(q − 1)) / (2q(1 − ρ)) + Σ 1/(1 − z_k)`` over the
        q − 1 zeros other than 1; for one server ``ρ / (2(1 − ρ))``.

    >>> constant_service_wait(np.array([0.5, 1.0]))
    array([0.5, inf])
    >>> float(constant_service_wait(0.5, 2))
    0.1767
    """
    load, servers = np.broadcast_arrays(
        np.asarray(load, dtype=np.float64), np.asarray(servers, dtype=np.float64)
    )
    with np.errstate(all="ignore"):
        wait = np.where(load < 1, load / (2 * (1 - load)), np.where(np.isnan(load), load, np.inf))
    shared = (servers > 1) & (load > 0) & (load < 1)
    wait[shared] = _shared_wait(load[shared], servers[shared])
    return wait[()]


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
