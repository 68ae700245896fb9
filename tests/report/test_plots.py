"""Plots as plotly.js takes them: curves, regions, convergence, and the parts of sections."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dse.explain.curves import Better, Curve, Line
from dse.model.section import Heatmap, Lines, Tree
from dse.report.panels import of_run
from dse.report.plots import (
    curve_plot,
    heatmap_cells,
    region_colors,
    regions_plot,
    section_plot,
    tree_blocks,
)
from dse.report.scales import PALETTE
from tests.report.examples import regions_of, result, unpacked

GRID = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
BOWL = np.array([9e-7, 3e-7, 2e-7, 4e-7, 8e-7])
LOWER = BOWL * 0.8


def line(
    name: str,
    values: Any,
    unit: str = "s",
    width: float | None = None,
    better: Better = "lower",
) -> Line:
    """Return a line, with an interval of a relative half-width if one is given."""
    values = np.asarray(values, dtype=np.float64)
    low, high = (None, None) if width is None else (values * (1 - width), values * (1 + width))
    return Line(name, unit, f"what {name} is", values, low, high, better)


def curve(*lines: Line, here: float = 8.0, log: bool = True, unit: str = "1") -> Curve:
    return Curve("a curve", "period", unit, "turns", here, GRID, log, lines)


def drawn(plot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the series that the legend names."""
    return {s["name"]: s for s in plot["data"] if s.get("showlegend", True)}


# Curves ---------------------------------------------------------------------------------------


def test_lines_in_a_prefixed_unit_and_a_colour_each() -> None:
    plot = curve_plot(curve(line("latency", BOWL), line("latency_printed", LOWER)))
    series = drawn(plot)
    np.testing.assert_allclose(unpacked(series["latency"]["y"]), BOWL * 1e9, rtol=1e-6)
    assert [s["line"]["color"] for s in series.values()] == list(PALETTE[:2])
    assert plot["layout"]["yaxis"]["title"]["text"] == "latency [ns]"
    assert series["latency"]["meta"] == "what latency is"
    assert series["latency"]["hovertemplate"].startswith("latency %{y")
    assert plot["layout"]["legend"]["traceorder"] == "normal"  # a band would turn it round


def test_an_interval_is_a_band_under_points() -> None:
    plot = curve_plot(curve(line("latency_simulated", BOWL, width=0.1)))
    upper, lower, points = plot["data"][:3]
    assert (points["mode"], lower["fill"]) == ("markers", "tonexty")
    np.testing.assert_allclose(unpacked(upper["y"]), BOWL * 1.1e9, rtol=1e-6)
    np.testing.assert_allclose(unpacked(lower["y"]), BOWL * 0.9e9, rtol=1e-6)
    rows, columns = (int(n) for n in points["customdata"]["shape"].split(","))
    interval = unpacked(points["customdata"]).reshape(rows, columns)
    np.testing.assert_allclose(interval, np.outer(BOWL, [0.9e9, 1.1e9]), rtol=1e-6)


def test_the_least_of_each_line_is_marked_and_labelled() -> None:
    early = line("latency_printed", [1e-7, 2e-7, 3e-7, 4e-7, 5e-7])
    plot = curve_plot(curve(line("latency", BOWL), early))
    marks = {s["name"]: s for s in plot["data"] if s["name"].startswith("least ")}
    assert marks["least latency"]["x"] == [4.0]
    assert marks["least latency"]["y"] == pytest.approx([200])
    assert marks["least latency_printed"]["x"] == [1.0]
    labels = {note["text"]: note for note in plot["layout"]["annotations"]}
    assert set(labels) == {"200 ns at 4", "100 ns at 1", "this design"}
    label = labels["200 ns at 4"]  # an annotation of a logarithmic axis is placed by its power
    assert (label["x"], label["y"]) == pytest.approx((np.log10(4), np.log10(200)))


def test_labels_of_one_place_stand_over_each_other() -> None:
    lines = (line("a", BOWL), line("b", BOWL * 1.001), line("c", BOWL * 0.999))
    notes = {n["text"]: n for n in curve_plot(curve(*lines))["layout"]["annotations"]}
    heights = [notes[text]["ay"] for text in ("199.8 ns at 4", "200 ns at 4", "200.2 ns at 4")]
    assert heights[0] > 0  # the lowest under its mark, by the screen's count
    assert heights[1] - heights[2] >= 15
    assert heights[1] < 0


def test_the_place_of_the_design() -> None:
    shapes = curve_plot(curve(line("latency", BOWL)))["layout"]["shapes"]
    assert [(s["type"], s["x0"], s["x1"]) for s in shapes] == [("line", 8.0, 8.0)]
    for nowhere in (np.nan, 17.0):
        plot = curve_plot(curve(line("latency", BOWL), here=nowhere))
        assert plot["layout"]["shapes"] == []


def test_infinite_values_leave_a_gap_on_a_named_ground() -> None:
    values = [np.inf, np.inf, 2e-7, 3e-7, np.inf]
    plot = curve_plot(curve(line("latency", values), line("latency_printed", BOWL)))
    np.testing.assert_array_equal(
        np.isnan(unpacked(drawn(plot)["latency"]["y"])), [True, True, False, False, True]
    )
    ground = [s for s in plot["layout"]["shapes"] if s["type"] == "rect"]
    ends = [(s["x0"], s["x1"]) for s in ground]
    assert ends == [(1.0, pytest.approx(8**0.5)), (pytest.approx(128**0.5), 16.0)]
    words = [n for n in plot["layout"]["annotations"] if n["text"] == "saturated"]
    assert [n["hovertext"] for n in words] == ["latency", "latency"]


@pytest.mark.parametrize("values", [np.full(5, np.inf), np.full(5, np.nan)])
def test_nothing_finite_is_nothing_marked(values: Any) -> None:
    plot = curve_plot(curve(line("latency", values)))
    assert [s["name"] for s in plot["data"]] == ["latency"]
    json.dumps(plot, allow_nan=False)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1e-7, 4.9e-7, 2e-7, 2e-7, np.inf], "linear"),
        ([1e-7, 5.1e-7, 2e-7, 2e-7, np.inf], "log"),
        ([0.0, 5.1e-7, 2e-7, 2e-7, 1.0], "linear"),
    ],
)
def test_the_vertical_axis_is_logarithmic_by_its_finite_values(values: Any, kind: str) -> None:
    assert curve_plot(curve(line("latency", values)))["layout"]["yaxis"]["type"] == kind


def test_each_unit_has_a_panel_and_a_scale_of_its_own() -> None:
    share = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    plot = curve_plot(curve(line("latency", BOWL), line("utilization", share, "1")))
    layout, series = plot["layout"], drawn(plot)
    np.testing.assert_allclose(unpacked(series["utilization"]["y"]), share, rtol=1e-6)
    assert [series[n]["yaxis"] for n in ("latency", "utilization")] == ["y", "y2"]
    assert layout["yaxis2"]["title"]["text"] == "utilization"
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
    assert layout["xaxis"]["anchor"] == "y2"


def test_the_horizontal_axis() -> None:
    seconds = replace(curve(line("a", BOWL), unit="s", log=False), grid=GRID * 1e-6, here=2e-6)
    layout = curve_plot(seconds)["layout"]
    assert layout["xaxis"]["title"]["text"] == "period [µs]"
    assert (layout["xaxis"]["type"], layout["shapes"][0]["x0"]) == ("linear", pytest.approx(2))
    ticks = curve_plot(replace(curve(line("a", BOWL), unit="B"), grid=GRID * 512))["layout"]
    assert ticks["xaxis"]["ticktext"] == ["512 B", "1 KiB", "2 KiB", "4 KiB", "8 KiB"]
    assert curve_plot(curve(line("a", BOWL)))["layout"]["xaxis"]["tickvals"] == [1, 2, 5, 10]


# Regions and convergence ----------------------------------------------------------------------


def test_regions_are_a_strip_over_one_curve_with_the_break_even_size() -> None:
    regions = regions_of((50_000.0, 3_500.0, 20.0))
    plot = regions_plot(regions)
    *strip, mark = plot["layout"]["shapes"]
    edges = [(shape["x0"], shape["x1"]) for shape in strip]
    assert edges[0][0] == regions.grid[0]
    assert edges[-1][1] == regions.grid[-1]
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    title, *labels, place = plot["layout"]["annotations"]
    assert title["text"] == "limited by"
    assert {", ".join(region.inputs) for region in regions.regions} >= {n["text"] for n in labels}
    last, label = regions.regions[-1], labels[-1]
    assert label["x"] == pytest.approx(np.log10(last.low * last.high) / 2)
    below, above = (np.interp(mark["x0"] * k, regions.grid, regions.base) for k in (0.99, 1.01))
    assert below < 1 < above
    assert place["text"].startswith("break-even at ")
    assert len(region_colors(regions)) == len({r.inputs for r in regions.regions if r.inputs})
    assert len(plot["data"]) == 1
    np.testing.assert_allclose(unpacked(plot["data"][0]["y"]), regions.base, rtol=1e-6)


def test_convergence_shows_front_size_and_hypervolume() -> None:
    found = result(2, sampled=True)
    (panel,) = of_run(found)
    for series, name in zip(panel["plot"]["data"], ("hypervolume", "front"), strict=True):
        np.testing.assert_allclose(unpacked(series["y"]), found.convergence[name], rtol=1e-6)
    assert of_run(result(2)) == []


# Sections -------------------------------------------------------------------------------------


def test_plots_of_sections_are_json_and_keep_the_numbers() -> None:
    lines = section_plot(Lines("l", "x", "y", [("a", [1, 2], [np.inf, 3])], log_x=True))
    assert lines["data"][0]["y"] == [None, 3.0]
    assert lines["layout"]["xaxis"]["type"] == "log"
    heat = heatmap_cells(
        Heatmap("h", ["r"], ["a", "b", "c"], [[2048.0, 0.0, 8192.0]], "B", log=True)
    )
    ((name, cells),) = heat["rows"]
    assert (name, heat["unit"], heat["ends"]) == ("r", "KiB", ["2", "8"])
    assert cells == [("2", 0.0, "r → a: 2,048 B"), None, ("8", 1.0, "r → c: 8,192 B")]
    for value, cell in ((8.0, ("8", 0.0, "r → a: 8 B")), (0.0, None)):  # one value, and none
        alike = heatmap_cells(Heatmap("h", ["r"], ["a", "b"], [[value, value]], "B", log=True))
        assert alike["rows"][0][1][0] == cell
    tree = tree_blocks(Tree("t", ["a", "b", "c"], [-1, 0, 1], [4.0, 3.0, 1.0]))
    assert [(name, parent, value) for name, parent, value, *_ in tree] == [
        *(("a", -1, 4.0), ("b", 0, 3.0), ("c", 1, 1.0))
    ]
    for part in (lines, heat, tree):
        json.dumps(part, allow_nan=False)
