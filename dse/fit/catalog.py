"""A fit as text for the terminal, and as a catalog that a study names."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from dse.fit.measurement_fit import Fit
from dse.fit.values import UNITS, show_value
from dse.model.values import show

_ALIGNED = 28

_PROVENANCES = {"given": 'provenance = "assumed", ', "derived": 'provenance = "derived", '}
"""Of figures that are not fitted, by how their notes begin."""


def as_text(fit: Fit) -> str:
    """Return a fit for people: values with intervals, then what to know of them."""
    lines = [fit.series.name]
    beta = fit.parameters.get("complexity", 1.0)
    for name, value in fit.parameters.items():
        ends = " to ".join(show_value(name, end, beta) for end in fit.intervals[name])
        told = f"{show_value(name, value, beta)}  ({ends})"
        lines.append(f"  {name:{_ALIGNED}}{told}")
    found = fit.analysis
    if found.break_even is not None:
        low, high = found.break_even_interval or (0.0, math.inf)
        told = f"{show(found.break_even, 'B')}  ({show(low, 'B')} to {show_value('', high)})"
        lines.append(f"  {'break_even':{_ALIGNED}}{told}")
    out = fit.left_out
    told = f"{out['median']:.2%} median, {out['worst']:.1%} worst"
    lines.append(f"  {'leave-one-out error':{_ALIGNED}}{told}")
    return "\n".join([*lines, *(f"  - {note}" for note in fit.notes)])


def as_catalog(fits: Sequence[Fit], table: str) -> str:
    """Return a catalog with a row for each series, in LogCA's quantities.

    Parameters
    ----------
    fits : sequence of Fit
    table : str
        What the times are from.
    """
    head = [
        f"about = {_quoted(f'LogCA parameters fitted to the times in {table}')}",
        f"source = {_quoted(f'fitted by dse fit to {table}')}",
        'provenance = "fitted"',
        'note = "In seconds: a study that takes them gives a clock, which relates them to cycles."',
    ]
    taken: dict[str, int] = {}
    rows = [as_row(fit, _unique(row_name(fit.series.name), taken)) for fit in fits]
    return "\n".join([*head, "", *rows])


def row_name(series: str) -> str:
    """Return a series as the name of a catalog's row.

    >>> row_name("v7.0-rc2 1ch"), row_name("µ")
    ('v7-0-rc2-1ch', 'series')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", series).strip("-") or "series"


def _unique(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else _unique(f"{name}-{taken[name]}", taken)


def as_row(fit: Fit, name: str, about: str = "", source: str = "") -> str:
    """Return a row of a catalog in LogCA's quantities.

    Parameters
    ----------
    fit : Fit
    name : str
        Of the row.
    about : str
        What it is; the series' name if it is not given.
    source : str
        Of the row's figures; the catalog's if it is not given.
    """
    out = fit.left_out
    about = f"{about or fit.series.name}: leave-one-out error {out['median']:.1%} median"
    lines = [f"[{name}]", f"about = {_quoted(about)}"]
    lines += [f"source = {_quoted(source)}"] if source else []
    fixed = fit.parameters.get("host_fixed_time", 0.0)
    if fixed > 0.0:
        note = (
            f"The host's fixed cost of {show(fixed, 's')} a call is not in LogCA, nor in this row."
        )
        lines.append(f"note = {_quoted(note)}")
    for quantity, value, note in _figures(fit):
        unit = UNITS[quantity]
        provenance = _PROVENANCES.get(note.partition(":")[0], "")
        figure = f'{{ value = {value!r}, unit = "{unit}", {provenance}note = {_quoted(note)} }}'
        lines.append(f"{quantity} = {figure}")
    return "\n".join([*lines, *_together(fit), ""])


def _together(fit: Fit) -> Iterator[str]:
    """Yield how the figures of a row vary together."""
    own = ("computational_index", "complexity", "overhead", "latency", "latency_per_byte")
    names = {name: name for name in (*own, "acceleration") if name in fit.parameters}
    if "computational_index" not in names:
        names.pop("complexity", None)
    if "overhead_and_latency" in fit.parameters:
        names["overhead_and_latency"] = "overhead"
    if "speedup_limit" in fit.parameters:
        names["speedup_limit"] = "acceleration"
    found = fit.covariance.renamed(names)
    if found.names:
        rows = ", ".join(str(row) for row in found.matrix.tolist())
        plain = [name for name in found.names if name == "complexity"]
        of = json.dumps(list(found.names))
        normal = f", normal = {json.dumps(plain)}" if plain else ""
        yield f"together = {{ of = {of}{normal}, covariance = [{rows}] }}"


def _figures(fit: Fit) -> Iterator[tuple[str, float, str]]:
    """Yield quantities of LogCA with value and note; a sum is one of its terms, and says so."""
    values = fit.parameters

    def spanned(name: str) -> str:
        ends = fit.intervals[name]
        if ends[0] == ends[1]:
            return "given"
        low, high = (show_value(name, end, values.get("complexity", 1.0)) for end in ends)
        return f"fitted; 95 %: {low} to {high}"

    own = ("computational_index", "complexity", "overhead", "latency", "latency_per_byte")
    for name in (*own, "acceleration"):
        if name in values and (name != "complexity" or "computational_index" in values):
            yield name, values[name], spanned(name)
    if "overhead_and_latency" in values:
        note = f"o + L, {spanned('overhead_and_latency')}; all of it taken as o"
        yield "overhead", values["overhead_and_latency"], note
        yield "latency", 0.0, "derived: its share is in the overhead"
    if "speedup_limit" in values:
        yield "latency_per_byte", 0.0, "derived: its share is in the acceleration"
        note = f"1 / (l/C + 1/A), {spanned('speedup_limit')}; taken as A with l = 0"
        yield "acceleration", values["speedup_limit"], note


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
