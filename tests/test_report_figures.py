"""Figures for scripts, and what they are made of."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dse.explain.explanation import Part
from dse.report import figures as plot
from dse.report.axes import axis, default_axes, drawable, evenly, numeric, prefixed, spans_decades
from dse.report.static_plots import packed, region_colors, regions_plot
from tests.report_examples import explanation, regions_of, result


def drawn(values: Any) -> np.ndarray[Any, Any]:
    """Read the numbers of a trace, packed or not."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.asarray(values)


@pytest.mark.parametrize("objectives", [1, 2, 4, 6])
def test_the_front_is_drawn_with_every_column_on_hover(objectives: int) -> None:
    found = result(objectives)
    figure = plot.front_figure(found)
    front = found.designs[found.designs["on_front"]]
    trace = figure.data[1]
    x, y, _ = default_axes(found)
    assert len(trace.x) == len(front)
    scale = axis(found, y, found.designs[found.designs["feasible"]][y]).scale
    finite = np.isfinite(front[y].to_numpy())
    np.testing.assert_allclose(
        drawn(trace.y)[finite], front[y].to_numpy()[finite] / scale, rtol=1e-9
    )
    for name in found.columns:
        assert f"{name} = " in trace.hovertemplate
    row = dict(zip(["design", *found.columns], trace.customdata[0], strict=True))
    assert row["design"] == str(front.index[0])
    assert row["overhead"].endswith(" cycle")
    assert row["interface"] == front["interface"].iloc[0]
    assert x in found.columns


def test_a_figure_of_chosen_columns_and_of_an_unknown_one() -> None:
    found = result(4)
    figure = plot.front_figure(found, x="area", y="overhead_scale", color="interface")
    assert figure.layout.xaxis.title.text == "area [LUT]"
    with pytest.raises(ValueError, match=r"no column 'speed'; there are acceleration"):
        plot.front_figure(found, x="speed")


def test_never_lies_on_a_rail_beyond_the_others() -> None:
    shown, rail = drawable(np.array([1.0, 10_000.0, np.inf, np.nan, -np.inf]), log=True)
    assert rail is not None
    assert rail > 10_000.0
    np.testing.assert_array_equal(shown, [1.0, 10_000.0, rail, np.nan, np.nan])
    shown, rail = drawable(np.array([np.inf, np.inf]), log=False)
    assert (shown.tolist(), rail) == ([1.0, 1.0], 1.0)
    found = result(4)
    values = plot.front_figure(found, y="break_even").data[0].y
    assert np.isfinite(drawn(values)).all()


def test_markup_in_an_option_is_not_interpreted() -> None:
    found = result(3, option="<b>port</b>")
    figure = plot.front_figure(found, y="interface")
    shown = {text for trace in figure.data for text in np.unique(drawn(trace.y))}
    assert "&lt;b&gt;port&lt;/b&gt;" in shown
    assert not any("<" in text for text in shown)


@pytest.mark.parametrize("objectives", [1, 2, 6])
def test_front_in_space(objectives: int) -> None:
    found = result(objectives)
    figure = plot.front_3d_figure(found)
    assert [trace.type for trace in figure.data] == ["scatter3d", "scatter3d"]
    assert len(figure.data[1].z) == int(found.designs["on_front"].sum())


def test_parallel_coordinates_have_an_axis_for_each_variable_and_objective() -> None:
    found = result(4)
    dimensions = plot.parallel_figure(found).data[0].dimensions
    assert [d.label.split(" ")[0] for d in dimensions] == [
        "acceleration",
        "interface",
        "schedule_period",
        "overhead_scale",
        "speedup",
        "break_even",
        "offload_latency",
        "area",
    ]
    front = found.designs[found.designs["on_front"]]
    interfaces = dimensions[1]
    named = [interfaces.ticktext[int(code)] for code in drawn(interfaces["values"])]
    assert named == front["interface"].tolist()


def test_regions_are_bands_that_cover_the_axis() -> None:
    regions = regions_of((600.0, 150.0, 20.0))
    figure = plot.regions_figure(regions)
    edges = [(shape.x0, shape.x1) for shape in figure.layout.shapes]
    assert edges[0][0] == regions.grid[0]
    assert edges[-1][1] == regions.grid[-1]
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    assert set(region_colors(regions)) >= {note.text for note in figure.layout.annotations}
    assert figure.data[0].name == "as it is"
    np.testing.assert_allclose(drawn(figure.data[0].y), regions.base, rtol=1e-6)


def test_a_label_of_a_region_is_in_its_middle() -> None:
    whole = regions_of((600.0, 150.0, 20.0))
    label = regions_plot(whole)["layout"]["annotations"][-1]
    last = whole.regions[-1]
    assert label["x"] == pytest.approx(np.log10(last.low * last.high) / 2)


def test_breakdown_stacks_parts_to_their_total() -> None:
    found = result(4)
    parts = explanation(found, int(found.designs.index[0])).parts
    figure = plot.breakdown_figure(parts)
    shares: dict[str, float] = {}
    for trace in figure.data:
        for total, share in zip(trace.y, trace.x, strict=True):
            shares[total] = shares.get(total, 0.0) + share
    assert shares == {"accelerated_time (speedup)": pytest.approx(1), "area": pytest.approx(1)}
    assert plot.breakdown_figure([Part("", "t", "a<b", "s", 1.0, 1.0)]).data[0].name == "a&lt;b"


def test_convergence_shows_front_size_and_hypervolume() -> None:
    found = result(2, sampled=True)
    hypervolume, size = plot.convergence_figure(found).data
    np.testing.assert_allclose(drawn(hypervolume.y), found.convergence["hypervolume"], rtol=1e-6)
    np.testing.assert_allclose(drawn(size.y), found.convergence["front"])


def test_a_large_front_is_drawn_by_webgl_and_packed() -> None:
    figure = plot.front_figure(result(6, 20_000))
    assert {trace.type for trace in figure.data} == {"scattergl"}
    assert "bdata" in figure.to_json()


def test_logarithmic_only_over_two_decades_and_above_zero() -> None:
    assert spans_decades([1, 101])
    assert not spans_decades([1, 100])
    assert not spans_decades([-1, 1_000])
    assert not spans_decades([np.inf, np.nan])


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([1.5e-7, 2e-7, 3e-3], "s", (1e-9, "ns")),
        ([0.0, np.inf, np.nan], "s", (1.0, "s")),
        ([1e-15], "s", (1e-12, "ps")),
        ([2e9], "Hz", (1e9, "GHz")),
        ([100.0], "B", (1.0, "B")),
        ([3 * 2.0**20], "B", (2.0**20, "MiB")),
        ([1e-3], "B", (1.0, "B")),
        ([5e6], "LUT", (1.0, "LUT")),
    ],
)
def test_prefixes(values: list[float], unit: str, expected: tuple[float, str]) -> None:
    assert prefixed(values, unit) == expected


def test_samples_are_even_and_keep_the_ends() -> None:
    rows = np.arange(10_000)
    chosen = evenly(rows, 100)
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 9_999, 100)
    assert set(np.diff(chosen)) == {101}
    assert evenly(rows[:50], 100).tolist() == list(range(50))


def test_numbers_are_packed_in_single_precision() -> None:
    assert drawn(packed([1.0, np.inf])).tolist() == [1.0, np.inf]


def test_numeric_columns_start_with_the_objectives() -> None:
    assert numeric(result(2))[:2] == ["speedup", "area"]
    assert "interface" not in numeric(result(2))


def test_one_objective_is_drawn_against_the_first_variable() -> None:
    assert default_axes(result(1)) == ("acceleration", "speedup", "interface")
