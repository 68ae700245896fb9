"""What the plot of a curve shows, by hand-made curves."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.explain.curves import Best, Better, Curve, Line, find_best_point
from dse.explain.explanation import curve_fields
from dse.report.axes import PALETTE
from dse.report.curve_plots import curve_plot
from dse.report.payload import as_json, payload
from tests.report.examples import explanation, result

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


def bests(shown: Curve) -> list[Best]:
    return [find_best_point(shown, each) for each in shown.lines]


def numbers(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])


def drawn(plot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the series that the legend names."""
    return {s["name"]: s for s in plot["data"] if s.get("showlegend", True)}


def test_lines_in_a_prefixed_unit_and_a_colour_each() -> None:
    plot = curve_plot(curve(line("latency", BOWL), line("latency_printed", LOWER)))
    series = drawn(plot)
    np.testing.assert_allclose(numbers(series["latency"]["y"]), BOWL * 1e9, rtol=1e-6)
    assert [s["line"]["color"] for s in series.values()] == list(PALETTE[:2])
    assert plot["layout"]["yaxis"]["title"]["text"] == "latency [ns]"
    assert series["latency"]["meta"] == "what latency is"
    assert series["latency"]["hovertemplate"].startswith("latency %{y")
    assert plot["layout"]["legend"]["traceorder"] == "normal"  # a band would turn it round


def test_an_interval_is_a_band_under_points() -> None:
    plot = curve_plot(curve(line("latency_simulated", BOWL, width=0.1)))
    upper, lower, points = plot["data"][:3]
    assert (points["mode"], lower["fill"]) == ("markers", "tonexty")
    np.testing.assert_allclose(numbers(upper["y"]), BOWL * 1.1e9, rtol=1e-6)
    np.testing.assert_allclose(numbers(lower["y"]), BOWL * 0.9e9, rtol=1e-6)
    rows, columns = (int(n) for n in points["customdata"]["shape"].split(","))
    interval = numbers(points["customdata"]).reshape(rows, columns)
    np.testing.assert_allclose(interval, np.outer(BOWL, [0.9e9, 1.1e9]), rtol=1e-6)


def test_the_least_of_each_line_is_marked_and_labelled() -> None:
    early = line("latency_printed", [1e-7, 2e-7, 3e-7, 4e-7, 5e-7])
    shown = curve(line("latency", BOWL), early)
    plot = curve_plot(shown)
    marks = {s["name"]: s for s in plot["data"] if s["name"].startswith("least ")}
    assert marks["least latency"]["x"] == [4.0]
    assert marks["least latency"]["y"] == pytest.approx([200])
    assert marks["least latency_printed"]["x"] == [1.0]
    labels = {note["text"]: note for note in plot["layout"]["annotations"]}
    assert set(labels) == {"200 ns at 4", "100 ns at 1", "this design"}
    label = labels["200 ns at 4"]  # an annotation of a logarithmic axis is placed by its power
    assert (label["x"], label["y"]) == pytest.approx((np.log10(4), np.log10(200)))
    assert [found.edge for found in bests(shown)] == [False, True]
    assert [found.here for found in bests(shown)] == [4e-7, 4e-7]


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
    shown = curve(line("latency", values), line("latency_printed", BOWL))
    plot = curve_plot(shown)
    np.testing.assert_array_equal(
        np.isnan(numbers(drawn(plot)["latency"]["y"])), [True, True, False, False, True]
    )
    ground = [s for s in plot["layout"]["shapes"] if s["type"] == "rect"]
    ends = [(s["x0"], s["x1"]) for s in ground]
    assert ends == [(1.0, pytest.approx(8**0.5)), (pytest.approx(128**0.5), 16.0)]
    words = [n for n in plot["layout"]["annotations"] if n["text"] == "saturated"]
    assert [n["hovertext"] for n in words] == ["latency", "latency"]


@pytest.mark.parametrize("values", [np.full(5, np.inf), np.full(5, np.nan)])
def test_nothing_finite_is_nothing_marked(values: Any) -> None:
    shown = curve(line("latency", values))
    (found,) = bests(shown)
    assert np.isnan(found.value)
    plot = curve_plot(shown)
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
    np.testing.assert_allclose(numbers(series["utilization"]["y"]), share, rtol=1e-6)
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


def test_the_page_holds_the_curves_of_a_design_and_none_of_others() -> None:
    found = result(2, 100)
    plain = explanation(found, int(found.designs.index[0]))
    drawn_too = replace(plain, curves=(curve(line("latency", BOWL), here=np.nan),))
    (held,) = payload(found, [drawn_too], Path("run"))["explanations"].values()
    (panel,) = [p for p in held["panels"] if p["kind"] == "curve"]
    assert panel["table"]["columns"] == ["quantity", "least", "at period", "this design"]
    assert panel["table"]["rows"] == [(("latency", "what latency is"), "200 ns", "4", "–")]
    as_json(held)
    (held,) = payload(found, [plain], Path("run"))["explanations"].values()
    assert [p["kind"] for p in held["panels"]] == ["regions"]


def test_each_quantity_is_a_field() -> None:
    shown = curve(
        line("latency", BOWL),
        line("printed", [1e-7, 2e-7, 3e-7, np.inf, np.inf]),
        line("never", np.full(5, np.inf), "B"),
    )
    plain = explanation(result(2, 100), 3)
    assert curve_fields(replace(plain, curves=(shown,))) == [
        ("curve", "a curve"),
        ("latency", "least 200 ns at period 4; this design 400 ns"),
        ("printed", "least 100 ns at period 1; this design saturated"),
        ("never", "nowhere finite; this design never"),
    ]
    assert curve_fields(plain) == []
