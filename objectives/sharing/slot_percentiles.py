"""Percentiles of the time of calls that have fixed slots.

Streams with fixed slots share only the link. A call ends as soon as its own steps and the calls
before it allow. So the system is linear in the algebra of maximum and sum (F. Baccelli, G. Cohen,
G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, 1992). For each k, suppose that a call
and the k calls before it were requested at once, at an idle system. The call ends at the maximum of
the times at which it would then end.

Seen backwards from a slot: a call and the k calls before it have left the pipeline by then if they
are requested u_k earlier. So a call takes t or less if, for each k, the k-th request before its own
came at least ``u_k − t`` earlier. Requests are Poisson. Let h_k(d) be the probability that they
meet this condition at all later k, if d more requests than so far would have been allowed at k::

    h_k(d) = Σ_n Poisson(n; Λ·(u_{k+1} − u_k)) · h_{k+1}(d + 1 − n)

A call ends at a random time between two slots, which adds the same time to all u_k.

All this is exact. The wait for calls of other streams on the link is an approximation: it has the
distribution of M/D/1, and the earlier calls of the window have its mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array

MOST_CALLS = 32
"""Most calls that a turn of the schedule has slots for."""
_WIDEST = 128
"""A wider window counts as one of this width."""
_SLOTS = 8
"""Slots of a round that are followed: each, or a sample of all but the last."""
_POINTS = 360
"""Points at which a distribution is evaluated, in geometric steps from the first one on."""
_FIRST_POINT = 3e-4
_FAR = 6.0
"""Calls are followed until one delays another with a chance of e⁻⁶ at most."""
_MOST_FOLLOWED = 512
_LONGEST_LINK_WAIT = 8.0
_ON_THE_SLOT = 1e-9
"""Clocks by which a call may end after its limit and still be in time, for rounding's sake."""
_CELLS = 1 << 22
"""Probabilities h_k(d) of the designs that are evaluated together: 32 MiB."""


class Slots(NamedTuple):
    """The slots of a stream; times in clocks."""

    length: Array
    away: Array
    apart: Array
    period: Array
    drain: Array
    """From a slot until its element has left the pipeline."""
    batch: Array
    """Slots of a call."""


class Requests(NamedTuple):
    """The requests of a stream, and the steps of their calls to the engine; times in clocks."""

    rate: Array
    window: Array
    set_up: Array
    travel: Array
    link_time: Array
    """Time that a call occupies the link."""
    link_load: Array
    """Load of the link by other streams."""


def find_slot_percentiles(
    slots: Slots, requests: Requests, levels: tuple[float, ...]
) -> tuple[Array, ...]:
    """Return the clocks from request to end that fractions `levels` of the calls do not exceed.

    Inf if the slots, the thread, the link or the window cannot carry the calls; NaN if a turn has
    slots for more than `MOST_CALLS` calls.
    """
    requests = requests._replace(window=np.minimum(requests.window, _WIDEST))
    parts = np.sum([*slots, *requests], axis=0)
    few = slots.period <= MOST_CALLS * slots.batch
    result = np.tile(np.where(few & np.isposinf(parts), np.inf, np.nan), (len(levels), 1))
    known = np.flatnonzero(few & np.isfinite(parts))
    calls, most, load = _count_calls(*_choose(known, slots, requests))
    result[:, known[~(load < 1)]] = np.inf
    for size in np.unique(np.stack([calls, most]), axis=1).T:
        followed, between = (int(x) for x in size)
        alike = known[(calls == followed) & (most == between) & (load < 1)]
        block = 1 + _CELLS // (followed * _allowed(between) * _SLOTS)
        for first in range(0, alike.size, block):
            rows = alike[first : first + block]
            chosen = _choose(rows, slots, requests)
            result[:, rows] = _find_block(*chosen, followed, between, levels)
    return tuple(result)


def _choose(rows: NDArray[np.intp], slots: Slots, requests: Requests) -> tuple[Slots, Requests]:
    return Slots(*(c[rows] for c in slots)), Requests(*(c[rows] for c in requests))


def _count_calls(
    slots: Slots, requests: Requests
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return how many calls to follow, most requests between two of them, and the stream's load.

    The chance that a call delays the k-th one after it falls as ``exp(−k (ρ − 1 − ln ρ))``. Both
    numbers are powers of √2. So many designs have the same ones.
    """
    cycle = np.maximum(requests.window, np.ceil(slots.period / slots.batch))
    cycle = 2 * cycle.astype(np.int64)
    times, arrivals = _follow(
        slots, requests, _sample_slots(slots)[0], 2 * int(cycle.max(initial=1))
    )
    design = np.arange(cycle.size)
    time = times[2 * cycle, design, 0] - times[cycle, design, 0]
    load = requests.rate * time / cycle
    with np.errstate(all="ignore"):
        far = 12 + _FAR / (load - 1 - np.log(load))
        own = np.arange(len(arrivals))[:, None] < 2 * cycle
        mean = np.where(own, arrivals.max(axis=2), 0.0).max(axis=0)
        mean = np.clip(np.nan_to_num(mean), 0.0, 2 * _WIDEST)  # of huge times, rounding
        most = mean + 8 * np.sqrt(mean) + 8
    far = np.clip(np.nan_to_num(far), 2 * cycle, _MOST_FOLLOWED)
    calls, most = (np.exp2(np.ceil(2 * np.log2(x)) / 2).astype(np.int64) for x in (far, most))
    return calls, most, load


def _sample_slots(slots: Slots) -> tuple[Array, Array]:
    """Return slots of the round, a row per design, and how many clocks of the round each is for."""
    period = slots.period[:, None]
    place = np.arange(_SLOTS - 1)
    count = np.minimum(period - 1, _SLOTS - 1)
    inside = place < count
    each = (period - 1) / np.maximum(count, 1)
    index = np.where(inside, np.floor((place + 0.5) * each), 0.0)
    clocks = np.where(inside, each * slots.apart[:, None], 0.0)
    last = (slots.apart + slots.away)[:, None]
    return np.hstack([index, period - 1]), np.hstack([clocks, last])


def _follow(slots: Slots, requests: Requests, index: Array, calls: int) -> tuple[Array, Array]:
    """Return u_k of the slots at `index`, a layer per k, and the requests in each of its steps."""
    length, _, apart, period, drain, batch = (c[:, None] for c in slots)
    rate, _, set_up, travel, link_time, link_load = (c[:, None] for c in requests)
    mean_wait = link_time * link_load / (2 * (1 - link_load))
    end = index * apart + drain
    begun = np.empty((calls + 1, *index.shape))
    last, sent = np.full(index.shape, np.inf), np.full(index.shape, np.inf)
    rows = np.arange(index.shape[0])
    for k in range(calls + 1):
        freed = k - requests.window.astype(np.int64)  # the call that begins when this one has ended
        limit = np.where(
            freed[:, None] < 0, end, begun[np.maximum(freed, 0), rows] - mean_wait if k else end
        )
        clock = limit - drain + _ON_THE_SLOT
        rounds = np.floor(clock / length)
        place = np.minimum(np.floor((clock - rounds * length) / apart), period - 1)
        last = np.minimum(rounds * period + place, last - batch)
        first = last - batch + 1
        rounds = np.floor(first / period)
        arrival = rounds * length + (first - rounds * period) * apart
        sent = np.minimum(arrival - travel, sent - link_time)
        begun[k] = np.minimum(sent, begun[k - 1] if k else np.inf) - set_up
    times = end - begun
    return times, np.diff(times, axis=0) * rate


def _allowed(most: int) -> int:
    """Return the number of further allowed requests from which on no crossing follows."""
    return 2 * most + 48


def _stay_below(arrivals: Array, most: int) -> Array:
    """Return h_k(d), with axes of k, d, designs and slots; the first k is not needed."""
    calls = len(arrivals)
    allowed = _allowed(most)
    staying = np.ones((calls + 1, allowed + 2, *arrivals.shape[1:]))
    for k in range(calls - 1, 0, -1):
        chance, total = np.exp(-arrivals[k]), np.zeros_like(staying[k, :-1])
        for n in range(most + 1):
            low = max(n - 1, 0)
            total[low:] += chance * staying[k + 1, low + 1 - n : allowed + 2 - n]
            chance = chance * arrivals[k] / (n + 1)
        staying[k, :-1] = np.minimum(total, 1.0)
    return staying


def _find_block(
    slots: Slots, requests: Requests, calls: int, most: int, levels: tuple[float, ...]
) -> Array:
    index, clocks = _sample_slots(slots)
    times, arrivals = _follow(slots, requests, index, calls)
    staying = _stay_below(arrivals, most)
    gap = np.broadcast_to(slots.apart[:, None], index.shape).copy()
    gap[:, -1] += slots.away
    result = np.empty((len(levels), slots.length.size))
    for i, (rate, load, link_time) in enumerate(
        zip(requests.rate, requests.link_load, requests.link_time, strict=True)
    ):
        some = clocks[i] > 0
        before, ended = _distribution(
            times[:, i, some], staying[:, :, i, some], rate, gap[i, some], clocks[i, some]
        )
        if load * link_time > 0:
            waits, chances = _link_waits(load)
            shifted = before - link_time * waits[:, None]
            ended = chances @ np.interp(shifted, before, ended, left=0.0)
        longer: Array = np.log(np.maximum(1 - ended, 1e-6))  # falls nearly as a line
        result[:, i] = np.interp(-np.log1p(-np.array(levels)), -longer, before)
    return result


def _distribution(
    times: Array, staying: Array, rate: float, gap: Array, clocks: Array
) -> tuple[Array, Array]:
    """Return times in clocks, and the fraction of the calls that end within them, but for the link.

    Of calls that end in the gap after a slot, at a random time of it.
    """
    from scipy.special import gammaln, xlogy  # slow to import, and few studies ask for percentiles

    span = float((times[-1] - times[0]).max())
    steps = np.concatenate([[0.0], np.geomspace(_FIRST_POINT, 1.0, _POINTS)])
    low = times[0].min()
    before = low + (times[0].max() - low + span + gap.max()) * steps
    ended = np.zeros_like(before)
    for slot, (times_here, width) in enumerate(zip(times.T, gap, strict=True)):
        x = times_here[0] + span * steps
        k = np.searchsorted(times_here, x, side="right")
        inside = np.minimum(k, len(times_here) - 1)
        mean = rate * np.maximum(times_here[inside] - x, 0.0)
        most = int(mean.max() + 8 * np.sqrt(mean.max()) + 8)
        count = np.arange(most + 1)
        chance = np.exp(xlogy(count, mean[:, None]) - mean[:, None] - gammaln(count + 1))
        left = inside[:, None] - 1 - count
        known = staying[inside[:, None], np.clip(left, 0, staying.shape[1] - 1), slot]
        on_time = np.where(left >= 0, chance * known, 0.0).sum(axis=1)
        area = np.concatenate([[0.0], np.cumsum(np.diff(x) * (on_time[1:] + on_time[:-1]) / 2)])

        beyond, since = (
            np.interp(t, x, area) + np.maximum(t - x[-1], 0.0) for t in (before, before - width)
        )
        ended += clocks[slot] * (beyond - since) / width
    return before, ended / clocks.sum()


def _link_waits(load: float) -> tuple[Array, Array]:
    """Return waits of M/D/1 over the service time, and the probability of each.

    By A. K. Erlang's formula, The theory of probabilities and telephone conversations, 1909, in
    cells of a quarter of a service.
    """
    from scipy.special import gammaln, xlogy  # slow to import, as above

    edges = np.arange(0.0, _LONGEST_LINK_WAIT + 0.25, 0.25)
    j = np.arange(int(_LONGEST_LINK_WAIT) + 1)
    late = load * np.minimum(j - edges[:, None], 0.0)
    terms = np.exp(xlogy(j, -late) - late - gammaln(j + 1)) * (-1.0) ** j
    below = (1 - load) * np.where(j <= edges[:, None], terms, 0.0).sum(axis=1)
    below[-1] = 1.0
    return np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2]), np.diff(below, prepend=0.0)
