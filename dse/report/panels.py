"""The report's own panels: of the run, and of one design. One more is a function here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dse.explain.curves import Curve, find_best_point
from dse.explain.explanation import Explanation
from dse.explain.regions import Regions
from dse.model.values import conditioned, number, tell, worded
from dse.report.axes import PALETTE, Plot, packed
from dse.report.curve_plot import curve_plot
from dse.report.panel import panel, table_of
from dse.report.regions_plot import region_colors, regions_plot
from dse.result.record import Result

Panel = dict[str, Any]
_END = "end of the axis"


def of_run(result: Result) -> list[Panel]:
    """Return the panels about the confidence in a run."""
    return [each for write in _RUN for each in write(result)]


def of_design(explanation: Explanation) -> list[Panel]:
    """Return the panels of a design."""
    return [each for write in _DESIGN for each in write(explanation)]


def _convergence(result: Result) -> list[Panel]:
    table = result.convergence
    if len(table) < 2:
        return []
    plot = convergence_plot(table["evaluations"], table["hypervolume"], table["front"])
    return [panel("convergence-0", "Convergence", plot=plot, height=300)]


def convergence_plot(evaluations: Any, hypervolume: Any, front: Any) -> Plot:
    """Return the plot of front size and hypervolume over the evaluated designs."""
    x = packed(evaluations)
    series = (
        ("hypervolume (share of the final)", hypervolume, PALETTE[0], "y"),
        ("designs on the front", front, PALETTE[1], "y2"),
    )
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": x,
            "y": packed(values),
            "yaxis": which,
            "line": {"color": color, "width": 2},
        }
        for name, values, color, which in series
    ]
    layout = {
        "xaxis": {"title": {"text": "designs evaluated"}},
        "yaxis": {"title": {"text": "hypervolume"}, "rangemode": "tozero"},
        "yaxis2": {
            "title": {"text": "designs on the front"},
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 60, "r": 60, "t": 30, "b": 45},
    }
    return {"data": data, "layout": layout}


def _scenarios(explanation: Explanation) -> list[Panel]:
    rows = [(s.objective, s.scenario, tell(s.value, s.unit)) for s in explanation.scenarios]
    if not rows:
        return []
    table = table_of(("objective", "scenario", "value"), (False, False, True), rows)
    return [panel("scenarios-0", "In each scenario", table=table)]


def _regions(explanation: Explanation) -> list[Panel]:
    return [_regions_panel(each, i) for i, each in enumerate(explanation.regions)]


def _regions_panel(regions: Regions, i: int) -> Panel:
    colors = region_colors(regions)
    ranges: dict[str, list[str]] = {}
    for region in regions.regions:
        ranges.setdefault(region.words, []).append(" to ".join(region.shown))
    rows = [(words, "; ".join(mine)) for words, mine in ranges.items()]
    label = {region.words: region.label for region in regions.regions}
    swatches = [colors.get(label[words]) for words in ranges]
    table = table_of(("region", worded(regions.axis)), (False, False), rows, swatches)
    what = conditioned(worded(regions.objective), regions.condition)
    note = (
        f"An input limits if {what} improves by at least {number(100 * regions.threshold)} % once "
        f"the input is {number(regions.factor)}× better."
    )
    title = f"What limits {what} along {worded(regions.axis)}"
    plot = regions_plot(regions)
    height = 346 + plot["layout"]["margin"]["t"]
    return panel(f"regions-{i}", title, note, plot=plot, height=height, table=table)


def _curves(explanation: Explanation) -> list[Panel]:
    return [_curve_panel(each, i) for i, each in enumerate(explanation.curves)]


def _curve_panel(curve: Curve, i: int) -> Panel:
    rows: list[tuple[str | tuple[str, str], ...]] = []
    words: dict[str, None] = {}
    for line in curve.lines:
        best = find_best_point(curve, line)
        here = "–" if np.isnan(best.here) else tell(best.here, line.unit)
        at: str | tuple[str, str] = "–"
        value = "–"
        if np.isfinite(best.value):
            words[best.word] = None
            value = tell(best.value, line.unit)
            at = tell(best.at, curve.axis_unit)
            at = (at, _END) if best.edge else at
        rows.append(((line.quantity, line.about), value, at, here))
    marked = " or ".join(words)
    heads = ("quantity", marked or "best", f"at {curve.axis}", "this design")
    note = f"Diamonds mark the {marked} of each quantity among the points drawn." if marked else ""
    if any(np.isposinf(line.values).any() for line in curve.lines):
        note += " No line is drawn where a quantity is infinite (shaded)."
    height = 130 + 250 * len({line.unit for line in curve.lines})
    table = table_of(heads, (False, True, True, True), rows)
    plot = curve_plot(curve)
    return panel(f"curve-{i}", curve.name, note.strip(), plot=plot, height=height, table=table)


_RUN: tuple[Callable[[Result], list[Panel]], ...] = (_convergence,)
_DESIGN: tuple[Callable[[Explanation], list[Panel]], ...] = (_scenarios, _regions, _curves)
