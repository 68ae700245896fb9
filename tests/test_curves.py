"""Curves along an input: their numbers, their marks, and what a bad one is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.curve_plot import curve_plot, least
from dse.explain import explain
from dse.plot import curve_figure
from objectives.sharing import round_robin, simulate

STUDY = Path(__file__).parents[1] / "studies" / "shared_pipeline.toml"


def test_the_curve_of_figure_2() -> None:
    study = dse.load(STUDY)
    result = study.run()
    (explanation,) = explain(study, result, [131])  # 6e6 arrivals a second, a period of 4
    (curve,) = explanation.curves
    np.testing.assert_array_equal(curve.grid, np.unique(np.round(np.geomspace(1, 128, 121))))
    direct = round_robin(8, 4, 4, curve.grid, 6e6, 10e-9)
    lines = {line.quantity: line for line in curve.lines}
    np.testing.assert_allclose(lines["latency"].values, direct.latency, rtol=1e-12)
    np.testing.assert_allclose(lines["latency_printed"].values, direct.latency_printed, rtol=1e-12)
    simulated = lines["latency_simulated"]
    assert simulated.low is not None
    assert simulated.high is not None
    one = simulate(8, 4, 4, 4, 6e6, 10e-9, elements=200_000, seed=1)
    row = int(np.flatnonzero(curve.grid == 4)[0])
    assert (simulated.low[row], simulated.values[row], simulated.high[row]) == (
        one.low,
        one.latency,
        one.high,
    )
    inside = (simulated.low <= direct.latency) & (direct.latency <= simulated.high)
    assert inside.mean() > 0.9  # 99 % intervals; the first period is near saturation
    marked = {found.quantity: found for found in least(curve)}
    assert marked["latency"].at == 4
    assert marked["latency"].value == pytest.approx(211.19e-9, rel=1e-4)
    assert marked["latency"].here == marked["latency"].value
    assert marked["latency_printed"].at == 5


def test_the_plot_marks_the_least_and_shades_saturation() -> None:
    study = dse.load(STUDY)
    curve = explain(study, study.run(), [131])[0].curves[0]
    plot = curve_plot(curve)
    texts = [series["text"] for series in plot["data"] if "text" in series]
    assert texts == [["186.9 ns at 5"], ["211.2 ns at 4"]]
    assert [shape["type"] for shape in plot["layout"]["shapes"]] == ["line"]
    assert len(curve_figure(curve).data) == len(plot["data"])
    line = curve.lines[1]
    values = np.where(curve.grid < 3, np.inf, line.values)
    cut = type(curve)(**{**vars(curve), "lines": (type(line)(**{**vars(line), "values": values}),)})
    shapes = curve_plot(cut)["layout"]["shapes"]
    assert (shapes[0]["x0"], shapes[0]["x1"]) == (1, 2)


CURVE = """integer = [1, 128]
log = true
quantities = ["latency_printed", "latency", "latency_simulated"]"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'axis = "schedule_period"',
            'axis = "schedule_perid"',
            ["curve[1].axis", "schedule_period"],
        ),
        ('axis = "schedule_period"', 'axis = "latency"', ["curve[1].axis", "is an output"]),
        (
            CURVE,
            CURVE.replace("integer = [1, 128]\n", ""),
            ["exactly one of values, integer, real"],
        ),
        (CURVE, "values = [1, 2]\n" + CURVE, ["exactly one of values, integer, real"]),
        (CURVE, CURVE.replace("1, 128", "9, 3"), ["curve[1].integer", "span no range"]),
        (CURVE, CURVE.replace("1, 128", "1, 1000000"), ["65536"]),
        (CURVE, CURVE.replace('"latency"', '"latncy"'), ["curve[1].quantities", "'latency'"]),
    ],
)
def test_a_bad_curve_is_told(old: str, new: str, words: list[str], tmp_path: Path) -> None:
    text = STUDY.read_text()
    assert old in text
    head, _, tail = text.partition("[[curve]]")
    path = tmp_path / "study.toml"
    path.write_text(head + "[[curve]]" + tail.replace(old, new))
    with pytest.raises(dse.InputError) as caught:
        dse.load(path)
    for word in words:
        assert word in str(caught.value)
