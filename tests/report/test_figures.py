"""Figures for scripts, and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from dse.evaluate.criteria import Objective
from dse.model.values import choose_prefix
from dse.problems import InputError
from dse.report import figures as plot
from dse.report.front_view import choose_designs, default_axes, describe_column
from dse.report.payload import payload
from dse.report.scales import choose_scale, place_values, spans_decades
from dse.result.record import Column, Result
from tests.report.examples import result, unpacked


@pytest.mark.parametrize("objectives", [1, 2, 4, 6])
def test_the_front_is_drawn_with_every_column_on_hover(objectives: int) -> None:
    found = result(objectives)
    figure = plot.front_figure(found)
    front = found.designs[found.designs["on_front"]]
    trace = figure.data[1]
    x, y, _ = default_axes(found)
    assert len(trace.x) == len(front)
    scale = describe_column(found, choose_designs(found), y).scale
    finite = np.isfinite(front[y].to_numpy())
    np.testing.assert_allclose(
        unpacked(trace.y)[finite], front[y].to_numpy()[finite] / scale, rtol=1e-9
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
    assert figure.layout.xaxis.title.text == "area [LUT] · lower is better"
    with pytest.raises(InputError, match="no column 'speed'"):
        plot.front_figure(found, x="speed")


def test_never_lies_on_a_rail_beyond_the_others() -> None:
    values = np.array([1.0, 10_000.0, np.inf, np.nan, -np.inf])
    rail = choose_scale(values, len(values), True, "never").rail
    assert rail is not None
    assert rail > 10_000.0
    np.testing.assert_array_equal(
        place_values(values, rail, True), [1.0, 10_000.0, rail, np.nan, np.nan]
    )
    assert choose_scale(np.array([np.inf, np.inf]), 2, False, "never").rail == 1.0
    found = result(4)
    figure = plot.front_figure(found, y="break_even")
    assert np.isfinite(unpacked(figure.data[1].y)).all()
    assert "never" in {note.text for note in figure.layout.annotations}


def test_markup_in_an_option_is_not_interpreted() -> None:
    found = result(3, option="<b>port</b>")
    figure = plot.front_figure(found, y="interface")
    shown = {text for trace in figure.data for text in np.unique(unpacked(trace.y))}
    assert "&lt;b&gt;port&lt;/b&gt;" in shown
    assert not any("<" in text for text in shown)


def test_a_large_front_is_drawn_by_webgl_and_packed() -> None:
    figure = plot.front_figure(result(6, 20_000))
    assert {trace.type for trace in figure.data} == {"scattergl"}
    assert "bdata" in figure.to_json()


@pytest.mark.parametrize("name", ["break_even", "offload_latency"])
def test_far_dominated_designs_do_not_crush_the_front(name: str) -> None:
    found = result(4, 600)
    far = found.designs.index[found.designs["feasible"] & ~found.designs["on_front"]][0]
    found.designs.loc[far, name] = 1e12
    column = describe_column(found, choose_designs(found), name)
    scale = column.scales[True]
    assert scale is not None
    drawn = np.log10(place_values(column.values / column.scale, scale.rail, True))
    high = scale.shown[1] if scale.shown else np.nanmax(drawn)
    front = found.front.designs[name][lambda values: np.isfinite(values)] / column.scale
    assert np.log10(front.max()) < high < np.log10(front.max()) + 1


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
def test_units_take_a_prefix(values: list[float], unit: str, expected: tuple[float, str]) -> None:
    assert choose_prefix(values, unit) == expected


def four_designs(
    objectives: Sequence[tuple[str, Literal["minimize", "maximize"], str]],
    values: Sequence[Sequence[float]],
) -> Result:
    """Return a result whose front is four designs: objectives by name, direction and unit."""
    found = result(2, 100)
    named = tuple(Objective(n, n, way, unit, "", "") for n, way, unit in objectives)
    front = pd.DataFrame(dict(zip([n for n, _, _ in objectives], values, strict=True)))
    front = front.assign(lanes=[1, 2, 4, 4], wide=7, feasible=True, on_front=True)
    columns = {n: Column(n, unit, "", "objective") for n, _, unit in objectives}
    columns |= {n: Column(n, "1", "", "variable") for n in ("wide", "lanes")}
    return replace(found, designs=front, objectives=named, columns=columns)


UP, DOWN = [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("objectives", "values", "expected"),
    [
        # what the ratio is traded for, and not what goes with it
        (
            (("time", "minimize", "s"), ("area", "minimize", "LUT"), ("speedup", "maximize", "1")),
            (DOWN, UP, UP),
            ("area", "speedup", "lanes"),
        ),
        # a ratio comes before another maximized objective
        (
            (("rate", "maximize", "B/s"), ("gain", "maximize", "1"), ("area", "minimize", "LUT")),
            (DOWN, UP, UP),
            ("area", "gain", "lanes"),
        ),
        # no minimized objective is traded for it
        (
            (("gain", "maximize", "1"), ("time", "minimize", "s"), ("rate", "maximize", "B/s")),
            (UP, DOWN, DOWN),
            ("rate", "gain", "lanes"),
        ),
        # all minimized
        (
            (("time", "minimize", "s"), ("bytes", "minimize", "B"), ("area", "minimize", "LUT")),
            (DOWN, [2, 1, 3, np.inf], UP),
            ("area", "time", "lanes"),
        ),
        # colour is a variable that varies: the first does not
        (
            (("gain", "maximize", "1"), ("area", "minimize", "LUT"), ("time", "minimize", "s")),
            (UP, UP, [5, 5, 5, 5]),
            ("area", "gain", "lanes"),
        ),
    ],
)
def test_the_benefit_is_drawn_against_what_it_costs(
    objectives: Any, values: Any, expected: tuple[str, str, str]
) -> None:
    assert default_axes(four_designs(objectives, values)) == expected


def test_colour_is_the_variable_that_explains_the_clusters() -> None:
    rng = np.random.default_rng(3)
    options, noise = np.repeat(["near", "far"], 100), rng.random((3, 200))
    base = np.where(options == "near", 1.0, 9.0)
    front = {"area": base + noise[0], "time": base[::-1] + noise[1], "bytes": noise[2]}
    way: Literal["minimize"] = "minimize"
    minimized = [(name, way, "1") for name in front]
    found = four_designs(minimized, [column[:4] for column in front.values()])
    designs = pd.DataFrame(front).assign(
        wide=rng.random(200), lanes=rng.integers(1, 9, 200), feasible=True, on_front=True
    )
    even = replace(found, designs=designs)
    assert default_axes(even)[2] not in ("wide", "lanes")  # neither explains anything
    found = replace(found, designs=designs.assign(lanes=options))
    assert default_axes(found)[2] == "lanes"
    wide = replace(found, designs=designs.assign(wide=base + 0.1 * rng.random(200)))
    assert default_axes(wide)[2] == "wide"


def test_one_objective_is_drawn_against_the_first_variable() -> None:
    assert default_axes(result(1)) == ("acceleration", "speedup", "interface")


def test_few_whole_numbers_are_the_ticks_of_their_axis() -> None:
    lanes = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    linear, log = (choose_scale(lanes, 5, log, "never") for log in (False, True))
    assert log.whole == lanes.tolist()
    assert linear.whole == lanes.tolist()
    assert [text for _, text in log.ticks or []] == ["1", "2", "4", "8", "16"]
    crowded = choose_scale(np.array([1.0, 2.0, 64.0]), 3, False, "never")
    assert crowded.whole == [1.0, 64.0]
    assert choose_scale(lanes / 3, 5, False, "never").whole is None
    assert choose_scale(np.arange(1.0, 100.0), 5, False, "never").whole is None


def test_the_page_and_the_figure_draw_the_same_axes_and_colours() -> None:
    found = result(4)
    x, y, color = default_axes(found)
    figure = plot.front_figure(found)
    data = payload(found, [], Path("run"))
    columns = {column["name"]: column for column in data["columns"]}
    for name, axis in ((x, figure.layout.xaxis), (y, figure.layout.yaxis)):
        column = columns[name]
        assert axis.title.text == column["axis"]
        assert axis.type == ("log" if column["log"] else "linear")
        shown_range = column["scales"][column["log"]]["shown"]
        assert axis.range == (None if shown_range is None else pytest.approx(shown_range))
    marker, column = figure.data[1].marker, columns[color]
    assert [list(step) for step in marker.colorscale] == data["colorscale"]
    ticks = column["scales"][column["color_log"]]["ticks"]
    assert list(zip(marker.colorbar.tickvals, marker.colorbar.ticktext, strict=True)) == ticks


def test_a_large_front_is_thinned_and_keeps_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(6, 12_000)
    monkeypatch.setattr("dse.report.front_view.MOST", 100)
    explained = int(found.front.designs.index[77])
    drawn_few = choose_designs(found, [explained])
    numbers = drawn_few.designs.index[: drawn_few.front].tolist()
    gaps = np.diff(np.searchsorted(found.front.designs.index, numbers))
    assert gaps.max() <= 2 * len(found.front) / 100  # the sample is even
    assert drawn_few.front == 100
    assert drawn_few.total == len(found.front)
    assert numbers == sorted(numbers)
    must = {
        explained,
        found.nash().name,
        *(found.best(o.name).name for o in found.objectives),
    }
    assert must <= set(numbers)
    assert drawn_few.nash is not None
    assert drawn_few.designs.index[drawn_few.nash] == found.nash().name
    assert f"front (100 of {len(found.front):,})" in {t.name for t in plot.front_figure(found).data}
