"""The progress of a run, in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dse.model.values import plural
from dse.result.status import Status, Worker


def lines(status: Status, now: datetime | None = None) -> Iterator[str]:
    """Yield the status in lines, one per subject."""
    now = now or datetime.now(UTC)
    method = f", {status.method} search" if status.method else ""
    yield f"{status.name}: {status.state}{method}"
    if status.done is not None:
        yield f"  {_done(status)}"
    if status.rate:
        end = ""
        if status.left is not None:
            when = (now + timedelta(seconds=status.left)).astimezone()
            end = f"; expected end in {_span(status.left)}, at {when:%Y-%m-%d %H:%M:%S}"
        yield f"  {_rate(status.rate)} designs/s{end}"
    ended = status.state == "finished"
    for worker in status.workers:
        yield f"  {_worker(worker, now, ended)}"
    if status.told:
        yield f"  {status.told}"


def _done(status: Status) -> str:
    done, total = status.done or 0, status.total
    if total is None:
        shown = f"{plural(done, 'design')} done"
    else:
        share = f" ({done / total:.1%})" if total else ""
        shown = f"{done:,} of {plural(total, 'design')} done{share}"
    front = "" if status.front is None else f"; {status.front:,} on the front so far"
    return shown + (front.replace(" so far", "") if status.state == "finished" else front)


def _worker(worker: Worker, now: datetime, ended: bool) -> str:
    seen = (now - datetime.fromisoformat(worker.seen)).total_seconds()
    since = datetime.fromisoformat(worker.since).astimezone()
    gone = "ended" if ended else f"gone, last heard of {_span(seen)} ago"
    heard = "works" if worker.working else gone
    did = plural(worker.done, "design")
    if worker.rate is not None:
        did += f", {_rate(worker.rate)}/s"
    return f"process {worker.pid} on {worker.host}, since {since:%Y-%m-%d %H:%M:%S}: {did}; {heard}"


def _rate(rate: float) -> str:
    """Return a rate in words.

    >>> _rate(1979.4), _rate(0.1512)
    ('1,979', '0.151')
    """
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _span(seconds: float) -> str:
    """Return a time in words.

    >>> _span(7.2), _span(125), _span(7_300)
    ('7 s', '2 min 5 s', '2 h 2 min')
    """
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"
