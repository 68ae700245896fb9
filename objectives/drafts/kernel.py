"""The draft from rows of catalogs: a kernel, and what could run it behind which interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from objectives.drafts.text import comment_list, fill_template, make_comment, quote_text

_GRANULARITY = 1024.0  # of a call, in the templates [B]
_THREADS = 64  # likewise
_LINK, _STREAM = 0.5, 0.6  # the maximum utilization of link and thread, likewise
_MARGIN = 0.8  # of that, for work that waits
_TERMS = ("overhead", "latency", "latency_per_byte")

Costs = Mapping[str, float]
"""`overhead` and `latency` [cycle], `latency_per_byte` [cycle/B]; `shared_link`: 1 if all share."""


def kernel(
    name: str,
    kernel: tuple[str, str],
    work: tuple[float, float],
    host: tuple[str, str],
    clock: tuple[str, float],
    engines: Sequence[tuple[str, str]],
    interfaces: Sequence[tuple[str, str]],
    costs: Mapping[str, Costs],
) -> str:
    """Return a study of a kernel behind interfaces.

    With engines it is a system of system.md: lanes, streams and a schedule, and areas. Without
    any, it is only LogCA, whose peak speedup represents the costs of an engine.

    `kernel`, `host`, `engines` and `interfaces` are catalog entries, each with its text in a
    comment; `work` is the host's for a byte [cycle/B], and its exponent; `clock` is the host's as
    it is written, and in Hz; `costs` are of each interface.
    """
    blanks = {
        "name": quote_text(name),
        "about": quote_text(f"{kernel[0]}: attached how, and how fast"),
        "kernel": quote_text(kernel[0]),
        "kernel_said": make_comment(kernel[1]),
        "clock": quote_text(clock[0]),
        "host_said": make_comment(f"{host[0]}: {host[1]}"),
    }
    if not engines:
        return fill_template("offload_of_kernel", **blanks, interfaces=_rows(interfaces, costs))
    alone = clock[1] * _GRANULARITY / _host_time(work)
    borne = max(_borne(costs[each], clock[1]) for each, _ in interfaces)
    return fill_template(
        "engine",
        **blanks,
        engines=comment_list(engines),
        interfaces=comment_list(interfaces),
        rate=quote_text(f"{min(alone / 3, borne) / 1e6:.2g} MB/s"),
        alone=f"{alone / 1e6:.2g}",
        least_speedup=_least_speedup(any(_pays(costs[each], work) for each, _ in interfaces)),
    )


def _host_time(work: tuple[float, float]) -> float:
    """Return the host's time for a call [cycle]."""
    return float(work[0] * _GRANULARITY ** work[1])


def _call_time(costs: Costs) -> float:
    """Return the time of a call behind an interface if the engine takes none [cycle]."""
    return costs["overhead"] + costs["latency"] + costs["latency_per_byte"] * _GRANULARITY


def _pays(costs: Costs, work: tuple[float, float]) -> bool:
    """Return whether a call behind an interface can be twice as fast as on the host."""
    return 2 * _call_time(costs) < _host_time(work)


def _borne(costs: Costs, clock: float) -> float:
    """Return the data that each thread may ask for behind an interface [B/s]."""
    of_thread = _STREAM * _GRANULARITY / _call_time(costs)
    link = costs["latency_per_byte"] * _THREADS
    of_link = _LINK / link if costs["shared_link"] and link else of_thread
    return _MARGIN * clock * min(of_thread, of_link)


def _least_speedup(reached: bool) -> str:
    """Return the constraint on the speedup; commented out if no interface allows for it."""
    lines = ["[[constraint]]", 'quantity = "speedup"', "at_least = 1"]
    if reached:
        return "\n".join(lines)
    why = [
        "Set-up and travel of a call take longer than its work on the host, or nearly so.",
        "With this constraint there might be no design. Larger calls help, or another interface.",
    ]
    return "\n".join(f"# {line}" for line in (*why, *lines))


def _rows(interfaces: Sequence[tuple[str, str]], costs: Mapping[str, Costs]) -> str:
    """Return rows of interfaces, each under a comment."""
    lines = []
    for name, said in interfaces:
        figures = ", ".join(f"{key} = {costs[name][key]:.6g}" for key in _TERMS)
        lines += [make_comment(said), f"{quote_text(name)} = {{ {figures} }}"]
    return "\n".join(lines)


def example(name: str) -> str:
    """Return a small annotated study.

    >>> "objectives.logca:offload" in example("aes")
    True
    """
    return fill_template("example", name=quote_text(name))
