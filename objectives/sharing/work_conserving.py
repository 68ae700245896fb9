"""A work-conserving engine: it serves the calls of all its streams in the order of their arrival.

A chained kernel (AES-CBC) needs the result of an element for the next one. A call then takes one of
the ``lanes · C`` contexts of a C-slowed engine, for S clocks of switching and C clocks for each of
its m slots. The elements of an independent kernel (AES-CTR) are dealt over all lanes and fill the
pipeline: the engine serves one call at a time, and the next one may enter while the last elements
are still in the pipeline.

So the engine is a queue of M/D/c with c contexts, or of M/D/1. Calls do not arrive as a Poisson
process, because each stream has a thread, a window of q calls, and a link before the engine. The
corrections below are this module's own; ``system.md`` gives their errors against the
simulation. Waits of M/D/c: G. P. Cosmetatos, Some approximate equilibrium results for the
multi-server queue (M/G/r), Operational Research Quarterly 27(3), 1976.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.model import Array
from objectives.quantities import ROUNDING
from objectives.queues import blocking_probability, constant_service_wait

_HALVINGS = 8
"""Steps that find the time of a call among others of its window: to 0.5 %."""


class Service(NamedTuple):
    """The service of a call: an engine has `servers`, each of which a call takes for `hold`."""

    hold: Array
    drain: Array
    """Time after that until the last element has left the pipeline."""
    servers: Array


class Load(NamedTuple):
    """The calls of the streams that share an engine, and their way to it."""

    streams: Array
    call_rate: Array
    calls_in_flight: Array
    set_up_time: Array
    travel_time: Array
    link_wait_time: Array
    link_utilization: Array
    shared_link: Array


class Waits(NamedTuple):
    """The mean waits of a call, and how much its wait for other calls varies."""

    others: Array
    """Wait at the engine for calls of other streams."""
    spread: Array
    """Standard deviation of the waits at the engine and at the link."""
    whole: Array
    """Time of a call without waits for earlier calls of its stream."""


def find_service(
    pipeline_depth: Array,
    context_switch: Array,
    clock_period: Array,
    lane_elements: Array,
    lanes: Array,
    chained: Array,
) -> Service:
    """Return the service of calls that take `lane_elements` slots."""
    apart = np.where(chained == 1, pipeline_depth, 1.0)  # clocks from slot to slot of a call
    return Service(
        hold=(context_switch + lane_elements * apart) * clock_period,
        drain=(pipeline_depth - apart) * clock_period,
        servers=np.where(chained == 1, lanes * pipeline_depth, 1.0),
    )


def delay_probability(load: Array, servers: Array) -> Array:
    """Return the probability that a call waits for one of the servers: Erlang's C.

    >>> float(delay_probability(np.array(0.5), np.array(2.0)))
    0.3333
    """
    with np.errstate(all="ignore"):
        blocked = blocking_probability(load * servers, servers)
        delayed = blocked / (1 - load * (1 - blocked))
    delayed = np.where(servers == 1, load, delayed)
    return np.where(load > 0, np.minimum(np.nan_to_num(delayed), 1.0), 0.0)


def server_wait(load: Array, servers: Array) -> Array:
    """Return the mean wait of M/D/c over the service time, exactly for one server; inf from 1 on.

    Half of the wait of M/M/c times the correction of Cosmetatos, which light load would make too
    large: the ratio of the two waits is at most c/(c + 1).

    >>> server_wait(np.array([0.5, 0.5]), np.array([1.0, 2.0]))
    array([0.5   , 0.1757])
    """
    return _mean_wait(delay_probability(load, servers), load, servers)


def _mean_wait(delayed: Array, load: Array, servers: Array) -> Array:
    with np.errstate(all="ignore"):
        exponential = delayed / (servers * (1 - load))
        more = (1 - load) * (servers - 1) * (np.sqrt(4 + 5 * servers) - 2) / (16 * load * servers)
        ratio = np.minimum(0.5 * (1 + more), servers / (servers + 1))
        wait = np.where(load > 0, exponential * ratio, 0.0)
    return np.where(load < 1, wait, np.where(np.isnan(load), np.nan, np.inf))


def wait_variance(wait: Array, load: Array, delayed: Array) -> Array:
    """Return the variance of a wait from its mean: as of M/D/1, among the calls that wait."""
    with np.errstate(all="ignore"):
        square = (2 * load + 4 * (1 - load) / 3) * wait**2 / delayed
        variance = np.maximum(square - wait**2, 0.0)
    return np.where((wait > 0) & (delayed > 0), variance, 0.0)


def find_waits(service: Service, calls: Load) -> Waits:
    """Return the wait for other calls, which thread, window and link of a stream reduce.

    The other streams offer (N − 1)/N of the load. A stream whose thread or window is busy offers
    its calls evenly, which few streams notice and many do not. Calls that a link of the engine's
    own has spaced wait less: at one server by their wait for the link, else by its load.
    """
    hold, drain, servers = service
    load = calls.streams * calls.call_rate * hold / servers
    others = load * (calls.streams - 1) / calls.streams
    delayed = delay_probability(others, servers)
    alone = hold * _mean_wait(delayed, others, servers)
    few = np.where(
        calls.streams > 1, 1 / (1 + 4 * (1 - load) ** 2 * np.maximum(calls.streams - 2, 0)), 0.0
    )
    fixed = calls.set_up_time + calls.link_wait_time + calls.travel_time + hold + drain
    wait = alone
    for _ in range(2):  # the window depends on the wait: the second value is within 0.1 %
        busy = np.maximum(
            calls.call_rate * calls.set_up_time,
            calls.call_rate * (fixed + wait) / calls.calls_in_flight,
        )
        wait = alone * (1 - few * np.minimum(busy, 1.0) ** 2)
        spaced = np.where(
            servers == 1,
            np.maximum(wait - calls.link_wait_time, 0.0),
            wait * (1 - np.minimum(calls.link_utilization, 1.0) ** 2),
        )
        wait = np.where(calls.shared_link == 1, wait, spaced)
    varied = wait_variance(wait, others, delayed)
    varied = varied + wait_variance(
        calls.link_wait_time, calls.link_utilization, calls.link_utilization
    )
    return Waits(wait, np.sqrt(varied), fixed + wait)


def find_interval(
    service: Service, calls: Load, link_interval: Array, limit: Array | None = None
) -> Array:
    """Return the mean time from call to call of a stream that always has one waiting.

    The largest of set-up, of the times that the other streams leave at link and engine, and of the
    time of a call over the window. Where the last is close to another one, the random waits of a
    call cost more than the larger one: the mean of the maximum of two normal variables, one of
    which varies as the waits do (C. E. Clark, The greatest of a finite set of random variables,
    Operations Research 9(2), 1961).

    Where only the comparison with a limit matters, a limit saves most of the work: a time that is
    certainly larger, or certainly not, is then any time on its side.
    """
    hold, _, servers = service
    waits = find_waits(service, calls)
    others = (calls.streams - 1) * calls.call_rate * hold
    with np.errstate(all="ignore"):
        engine = np.where(servers > others, hold / (servers - others), np.inf)
    window = waits.whole
    by_halving = (servers > 1) & (calls.calls_in_flight > 1) & np.isfinite(engine)
    if limit is not None:
        # the mean maximum of two variables is at most 0.4 deviations above the larger mean
        others_time = np.maximum(np.maximum(engine, calls.set_up_time), link_interval)
        low = np.maximum(window / calls.calls_in_flight, others_time)
        high = np.maximum(low, 2 * engine) + 0.4 * waits.spread
        by_halving &= ~(low > limit * (1 + ROUNDING)) & ~(high <= limit * (1 - ROUNDING))
    many = np.flatnonzero(by_halving)
    if many.size:
        columns = (waits.whole, waits.others, hold, servers, others, calls.calls_in_flight, engine)
        window = window.copy()
        window[many] = _find_whole(*(column[many] for column in columns))
    window = window / calls.calls_in_flight
    pace = _mean_maximum(window, engine, waits.spread)
    pace = np.where(
        (servers == 1) & (calls.calls_in_flight == 1), _find_return(waits, hold, others), pace
    )
    behind_set_up = _mean_maximum(window, calls.set_up_time, waits.spread)
    behind_link = _mean_maximum(window, link_interval, waits.spread)
    behind = np.maximum(behind_set_up, behind_link)
    return np.maximum(pace, np.where(calls.calls_in_flight > 1, behind, window))


def _find_return(waits: Waits, hold: Array, load: Array) -> Array:
    """Return the time from call to call of a stream with one call at a time at one server.

    A call that comes back at once finds the calls of others that came during its own: work of
    ``load · hold / (1 − load)``. One that stays away long finds the mean wait. Between the two the
    work falls as an exponential of the time away; its time constant fits simulations at loads of
    0.2 to 0.8.
    """
    away = waits.whole - waits.others - hold
    with np.errstate(all="ignore"):
        busy = load / (1 - load)
        left = np.exp(-away / (hold * (0.95 + 0.48 * busy)))
        wait = waits.others + (hold * busy - waits.others) * left
    return np.where(load < 1, away + hold + wait, np.inf)


def _find_whole(
    whole: Array,
    wait: Array,
    hold: Array,
    servers: Array,
    others: Array,
    window: Array,
    engine: Array,
) -> Array:
    """Return the time of a call that finds contexts taken by the other calls of its window.

    Each has a context for ``hold / whole`` of the time, and keeps it from a new call for a part of
    that, which simulations fix: 0.6 with two contexts, 0.85 with many. The wait for the contexts
    left falls with the time of a call, so the time is found by halving an interval.
    """
    taken = 0.85 - 0.5 / servers
    fixed = whole - wait
    low, high = whole, np.maximum(whole, 2 * window * engine)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        free = servers - taken * (window - 1) * hold / middle
        with np.errstate(all="ignore"):
            time = fixed + hold * server_wait(others / free, np.maximum(free, 1.0))
        longer = ~(time <= middle) | (free < 1)
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    return 0.5 * (low + high)


def _mean_maximum(varying: Array, fixed: Array, spread: Array) -> Array:
    from scipy.special import ndtr

    with np.errstate(all="ignore"):
        z = (varying - fixed) / spread
        mean = (
            varying * ndtr(z) + fixed * ndtr(-z) + spread * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        )
    larger = np.maximum(varying, fixed)
    return np.where((spread > 0) & np.isfinite(larger), np.maximum(mean, larger), larger)


class Response(NamedTuple):
    """The mean response time of calls under load, and its delays."""

    mean: Array
    queue: Array
    """The three delays below, joined."""
    thread: Array
    own: Array
    window: Array
    waits: Waits


def find_response(service: Service, calls: Load) -> Response:
    """Return the time from the arrival of a request to the end of its call.

    Beyond the waits of a single call, a request waits for earlier calls of its stream: for the
    thread (M/D/1), for a context that one of them has, and for the window (M/D/q of a call's whole
    time, whose variance counts). A call that waits for one of them often waits for another too, so
    the three are joined as the cube root of the sum of their cubes. With one call in flight, only
    the window remains.
    """
    hold, drain, servers = service
    waits = find_waits(service, calls)
    load = calls.streams * calls.call_rate * hold / servers
    others = load * (calls.streams - 1) / calls.streams
    single = calls.calls_in_flight == 1
    with np.errstate(all="ignore"):
        thread = calls.set_up_time * constant_service_wait(calls.call_rate * calls.set_up_time)
        own = hold * (server_wait(load, servers) - server_wait(others, servers))
        busy = calls.call_rate * waits.whole / calls.calls_in_flight
        window = constant_service_wait(busy, calls.calls_in_flight) * waits.whole
        window = window * (1 + (waits.spread / waits.whole) ** 2)
        thread = np.where((calls.set_up_time == 0) | single, 0.0, thread)
        own = np.where(single, 0.0, own)
        queue = np.cbrt(thread**3 + own**3 + window**3)
        queue = np.where(np.isfinite(thread + own + window), queue, np.inf)
    around = calls.set_up_time + calls.travel_time + hold + drain
    mean = around + calls.link_wait_time + waits.others + queue
    return Response(mean, queue, thread, own, window, waits)
