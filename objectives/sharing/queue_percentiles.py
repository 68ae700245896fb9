"""Percentiles of the time of calls at a work-conserving engine.

Beyond its own steps, a call waits for the link, for calls of other streams at the engine, and for
earlier calls of its stream. Each wait has the exact distribution of a queue: M/D/1 for the link and
the thread, M/D/c for the contexts, E_q/G/1 for the window. Calls of a stream end in their order, so
a call waits for the q-th call before it, as at a server that gets only each q-th Poisson request.
M/D/c is the same, with c contexts (C. D. Crommelin, Delay probability formulae when the holding
times are constant, Post Office Electrical Engineers' Journal 25, 1932). S*(s) is the transform of a
service, Λ the rate, ρ the load, and z_k are the zeros of ``z^q = S*(Λ(1 − z))`` in the unit disc.
Then the transform of the wait is, with ``x = 1 − s/Λ``::

    W*(s) = (1 − ρ) · (q s/Λ) · Π_{k=1}^{q−1} (x − z_k)/(1 − z_k) / (S*(s) − x^q)

Three things are approximations. Different waits are independent, so their transforms are
multiplied. Thread, window and link reduce the mean wait for other streams
(:func:`objectives.sharing.work_conserving.find_response`); the distribution is of the load that has
this mean. And the waits for the thread, for contexts of own calls and for the window are joined
like their means there, by the cube root of the sum of the cubes: here, of the times that each adds
to a percentile. With one call in flight, calls wait for the window, but not less than if all came
to the engine as they are requested: no part of the system ends a call sooner than that.

The inversion is by Euler summation (J. Abate, W. Whitt, Numerical inversion of Laplace transforms
of probability distributions, ORSA Journal on Computing 7(1), 1995).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.queues import Complex, complex_expm1, log_zero
from objectives.sharing.work_conserving import Load, Response, Service, find_response, server_wait

Rows: TypeAlias = NDArray[np.intp]
Transform: TypeAlias = Callable[[Complex, Rows], Complex]

_MOST_SERVERS = 32
"""More contexts or calls in flight count as so many faster ones, with the same mean wait."""
_BLOCK = 2048
"""Designs evaluated together: their complex temporaries stay small."""
_DISCRETIZATION = 12.0
"""Exponent of the discretization error of the inversion: 6e-6, and half of rounding's growth."""
_TERMS, _AVERAGED = 20, 11
_HALVINGS = 40
_ZERO_STEPS = 12
"""Steps of the fixed-point iteration for a zero, from the zero of a constant service."""
_LEAST_LOAD = 1e-9
"""A lighter load differs from this one by less than the inversion resolves."""
_SHORTEST = 1e-6
"""A shorter wait, over the mean response time, is none."""


class _Zeros(NamedTuple):
    """Zeros of one angle: of the designs that have it, which of them are real ones."""

    rows: Rows
    zero: Complex
    real: NDArray[np.bool_]


def find_queue_percentiles(
    service: Service, calls: Load, levels: tuple[float, ...]
) -> tuple[Array, ...]:
    """Return the times from request to end that fractions `levels` of the calls do not exceed."""
    response = find_response(service, calls)
    result = np.tile(response.mean, (len(levels), 1))  # inf or NaN
    known = np.flatnonzero(np.isfinite(response.mean))
    for first in range(0, known.size, _BLOCK):
        rows = known[first : first + _BLOCK]
        block = _Block(*(_choose(table, rows) for table in (service, calls, response)))
        for i, level in enumerate(levels):
            result[i, rows] = block.find_percentile(level)
    return tuple(result)


def _choose(table: Any, rows: Rows) -> Any:
    """Return the rows of a tuple of columns, which may be nested."""
    if isinstance(table, tuple):
        return type(table)(*(_choose(column, rows) for column in table))
    return table[rows]


class _Block:
    """The waits of some designs."""

    def __init__(self, service: Service, calls: Load, response: Response) -> None:
        hold, drain, servers = service
        self.calls, self.response = calls, response
        waits = response.waits
        many = np.maximum(servers / _MOST_SERVERS, 1.0)
        self.hold, self.servers = hold / many, np.minimum(servers, _MOST_SERVERS)
        many = np.maximum(calls.calls_in_flight / _MOST_SERVERS, 1.0)
        self.window = np.minimum(calls.calls_in_flight, _MOST_SERVERS)
        self.rate = np.maximum(calls.call_rate / many, _LEAST_LOAD / waits.whole)
        self.busy = np.minimum(self.rate * waits.whole / self.window, 1.0)
        self.around = calls.set_up_time + calls.travel_time + hold + drain
        self.single = calls.calls_in_flight == 1
        load = calls.link_utilization
        with np.errstate(all="ignore"):
            occupied = 2 * (1 - load) * calls.link_wait_time / load
        waiting = calls.link_wait_time > 0
        self.link_time = np.where(waiting, occupied, 1.0)
        self.link_load = np.where(waiting, load, 0.0)
        self.others = self._contexts(waits.others)
        load = calls.streams * calls.call_rate * hold / servers
        self.all = self._contexts(hold * server_wait(load, servers))
        self.window_zeros = self._find_window()

    def _contexts(self, wait: Array) -> tuple[Array, list[_Zeros]]:
        """Return the load of M/D/c with this mean wait, and its zeros."""
        target = wait / self.hold
        low, high = np.zeros_like(wait), np.ones_like(wait)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            short = server_wait(middle, self.servers) < target
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        load = np.where(wait > 0, low, 0.0)
        return load, [
            _Zeros(rows, 1 + complex_expm1(log_zero(angle, load[rows])), real)
            for rows, angle, real in _angles(self.servers)
        ]

    def _find_window(self) -> list[_Zeros]:
        """Return the zeros of the window, all angles at a time."""
        angles = np.full((self.window.size, int(self.window.max(initial=0)) // 2), np.pi)
        for k, (rows, angle, _) in enumerate(_angles(self.window)):
            angles[rows, k] = angle
        zero = 1 + complex_expm1(log_zero(angles, self.busy[:, None]))
        everything = np.arange(self.window.size)
        for _ in range(_ZERO_STEPS):
            service = self._log_service(self.rate[:, None] * (1 - zero), everything)
            zero = np.exp(1j * angles + service / self.window[:, None])
        return [
            _Zeros(rows, zero[rows, k], real)
            for k, (rows, _, real) in enumerate(_angles(self.window))
        ]

    def find_percentile(self, level: float) -> Array:
        """Return the time that a fraction of the calls does not exceed."""
        response = self.response
        alone = self._add(level, self._passing, ~self.single, 0.0)
        thread = self._add(level, self._behind_set_up, response.thread > 0, alone)
        own = self._add(level, self._behind_own, self.single | (response.own > 0), alone)
        window = self._add(level, self._behind_window, self.single | (response.window > 0), alone)
        joined = np.cbrt(thread**3 + own**3 + window**3)
        return self.around + np.where(self.single, np.maximum(own, window), alone + joined)

    def _add(
        self, level: float, transform: Transform, some: NDArray[np.bool_], to: Floats
    ) -> Array:
        """Return how much longer than `to` the percentile of a wait is."""
        result = np.zeros_like(self.around)
        rows = np.flatnonzero(some)
        wait = _find_quantile(level, transform, rows, self.response.mean[rows])
        result[rows] = np.maximum(wait - np.broadcast_to(to, some.shape)[rows], 0.0)
        return result

    # each returns the transform of the waits of a call, at an s for each row and node

    def _passing(self, s: Complex, rows: Rows) -> Complex:
        return self._link(s, rows) * self._engine(s, rows, self.others)

    def _behind_own(self, s: Complex, rows: Rows) -> Complex:
        return self._link(s, rows) * self._engine(s, rows, self.all)

    def _behind_set_up(self, s: Complex, rows: Rows) -> Complex:
        set_up = self.calls.set_up_time[rows]
        load = np.minimum(self.calls.call_rate[rows] * set_up, 1.0)
        return self._passing(s, rows) * _constant_wait(s * set_up[:, None], load)

    def _behind_window(self, s: Complex, rows: Rows) -> Complex:
        passing, service = self._passing(s, rows), np.exp(self._log_service(s, rows))
        s = s / self.rate[rows, None]
        wait = _cyclic_wait(s, service, self.busy[rows], self.window[rows], self.window_zeros, rows)
        return passing * wait

    def _log_service(self, s: Complex, rows: Rows) -> Complex:
        link, engine = self._link(s, rows), self._engine(s, rows, self.others)
        result: Complex = np.log(link) + np.log(engine) - s * self.around[rows, None]
        return result

    def _link(self, s: Complex, rows: Rows) -> Complex:
        return _constant_wait(s * self.link_time[rows, None], self.link_load[rows])

    def _engine(self, s: Complex, rows: Rows, contexts: tuple[Array, list[_Zeros]]) -> Complex:
        load, zeros = contexts
        load, servers = np.maximum(load[rows], _LEAST_LOAD), self.servers[rows]
        s = s * self.hold[rows, None]
        return _cyclic_wait(s / (load * servers)[:, None], np.exp(-s), load, servers, zeros, rows)


def _angles(servers: Array) -> list[tuple[Rows, Array, NDArray[np.bool_]]]:
    """Return for each k the rows with a zero of angle 2πk/q: a real one, or one of a pair."""
    return [
        (rows, 2 * np.pi * k / servers[rows], servers[rows] == 2 * k)
        for k in range(1, int(servers.max(initial=0)) // 2 + 1)
        for rows in (np.flatnonzero(servers >= 2 * k),)
    ]


def _constant_wait(s: Complex, load: Array) -> Complex:
    """Return the transform of the wait of M/D/1; the unit of time is a service."""
    load = np.maximum(load, _LEAST_LOAD)
    return _cyclic_wait(s / load[:, None], np.exp(-s), load, np.ones_like(load), [], np.arange(0))


def _cyclic_wait(
    s: Complex, service: Complex, load: Array, servers: Array, zeros: list[_Zeros], rows: Rows
) -> Complex:
    """Return W* at s over the rate; x is divided by its size if it is large, for its powers."""
    x, q = 1 - s, servers[:, None]
    size = np.maximum(np.abs(x), 1.0)
    x, one = x / size, 1 / size
    product = (1 - load)[:, None] * q * s * one
    for row, zero, real in zeros:
        of = np.searchsorted(row, rows)
        has = np.flatnonzero(row[np.minimum(of, row.size - 1)] == rows)
        v, half = zero[of[has], None], real[of[has], None]
        here, unit = x[has], one[has]
        pair = (here - v * unit) * (here - v.conj() * unit) / np.abs(1 - v) ** 2
        product[has] *= np.where(half, (here - v.real * unit) / (1 - v.real), pair)
    with np.errstate(all="ignore"):
        return product / (service * one**q - x**q)


def _find_quantile(level: float, transform: Transform, rows: Rows, scale: Array) -> Array:
    """Return the quantile of a wait from its transform; `scale` is a time of its magnitude."""
    from scipy.optimize import elementwise  # slow to import, and few studies ask for percentiles

    steps = np.arange(_TERMS + _AVERAGED + 1)
    binomial = np.array([math.comb(_AVERAGED, j) for j in range(_AVERAGED + 1)]) / 2**_AVERAGED
    kept = np.append(np.ones(_TERMS), np.cumsum(binomial[::-1])[::-1])
    weights = kept * (-1.0) ** steps * np.exp(_DISCRETIZATION / 2)
    weights[0] /= 2

    def excess(time: Array, index: NDArray[Any]) -> Array:
        """Return the logarithm of how many more calls than wanted wait longer."""
        s = (_DISCRETIZATION + 2j * np.pi * steps) / (2 * time[:, None])
        terms = ((1 - transform(s, rows[index.astype(np.intp)])) / s).real * weights
        longer: Array = terms.sum(axis=1) / time
        return np.asarray(np.log(np.maximum(longer, 1e-12) / (1 - level)))

    index, wait = np.arange(rows.size), np.zeros(rows.size)
    index = index[excess(_SHORTEST * scale, index) > 0]
    low, high = _SHORTEST * scale[index], scale[index].copy()
    for _ in range(_HALVINGS):
        longer = np.flatnonzero(excess(high, index) > 0)
        if not longer.size:
            break
        low[longer] = high[longer]
        high[longer] *= 2
    if index.size:
        wait[index] = elementwise.find_root(
            excess, (low, high), args=(index.astype(np.float64),), tolerances={"xrtol": 1e-4}
        ).x
    digits, exponent = np.frexp(wait)  # all designs alike, whatever is rounded in a batch
    return np.ldexp(np.round(digits * 2**24) / 2**24, exponent)
