"""Curves along an input: their numbers, and what a bad one is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.api import Study
from dse.cli import main
from dse.explain.curves import Best, Curve, draw_curves, find_best_point
from dse.explain.explanation import explain
from objectives.sharing import round_robin, simulate

STUDY = Path(__file__).parents[2] / "studies" / "shared_pipeline.toml"


def bests(curve: Curve) -> list[Best]:
    return [find_best_point(curve, line) for line in curve.lines]


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
    marked = {found.quantity: found for found in bests(curve)}
    assert marked["latency"].at == 4
    assert marked["latency"].value == pytest.approx(211.19e-9, rel=1e-4)
    assert marked["latency"].here == marked["latency"].value
    assert marked["latency_printed"].at == 5


def test_the_value_at_a_design_that_the_axis_would_skip() -> None:
    study = dse.load(STUDY)
    (curve,) = explain(study, study.run(), [154])[0].curves  # a period of 27
    skipped = np.unique(np.round(np.geomspace(1, 128, 121)))
    assert 27 not in skipped
    np.testing.assert_array_equal(curve.grid, np.sort([*skipped, 27]))
    direct = round_robin(8, 4, 4, 27, 6e6, 10e-9)
    told = {found.quantity: found.here for found in bests(curve)}
    assert told["latency"] == pytest.approx(float(direct.latency), rel=1e-12)
    assert told["latency_printed"] == pytest.approx(float(direct.latency_printed), rel=1e-12)


def test_a_bound_input_and_a_design_off_the_axis(tmp_path: Path) -> None:
    table = """[[curve]]
name = "loads"
axis = "arrival_rate"
values = ["3 Melement/s", "1 Melement/s", "30 Melement/s"]
quantities = ["latency"]
at = { schedule_period = 16, clock_period = "20 ns" }
"""
    (curve,) = draw_curves(_study(tmp_path, table), {"arrival_rate": 5e7, "schedule_period": 4.0})
    np.testing.assert_array_equal(curve.grid, [1e6, 3e6, 30e6])
    direct = round_robin(8, 4, 4, 16, curve.grid, 20e-9).latency
    np.testing.assert_allclose(curve.lines[0].values, direct, rtol=1e-12)
    assert np.isposinf(
        curve.lines[0].values[-1]
    )  # 30 million a second are more than the engine serves
    (found,) = bests(curve)
    assert (found.at, found.edge) == (1e6, True)
    assert np.isnan(found.here)


AXIS, RANGE = 'axis = "schedule_period"', "integer = [1, 128]"
ONE = "exactly one of values, integer, real"
BAD: dict[str, tuple[str, str, list[str]]] = {  # what is changed, into what, what is told
    "unknown axis": (
        AXIS,
        'axis = "schedule_perid"',
        ["curve[1].axis", "did you mean 'schedule_period'"],
    ),
    "output as axis": (AXIS, 'axis = "latency"', ["curve[1].axis", "is an output"]),
    "no range": (f"{RANGE}\n", "", ["curve[1]: ", ONE]),
    "two ranges": (RANGE, f"{RANGE}\nvalues = [1, 2]", ["curve[1]: ", ONE]),
    "falling range": (RANGE, "integer = [9, 3]", ["curve[1].integer", "span no range"]),
    "one value": (RANGE, "values = [4, 4]", ["curve[1].values", "span no range"]),
    "no whole number": (RANGE, "real = [1.5, 9]", ["curve[1].real", "whole numbers"]),
    "beyond the domain": (RANGE, "integer = [1, 1000000]", ["curve[1].integer", "65536"]),
    "unknown quantity": ('"latency"', '"latncy"', ["curve[1].quantities", "'latency'"]),
    "unknown binding": (AXIS, AXIS + "\nat = { streems = 4 }", ["curve[1].at", "'streams'"]),
    "bound axis": (AXIS, AXIS + "\nat = { schedule_period = 4 }", ["curve[1].at", "is the axis"]),
}


@pytest.mark.parametrize(("old", "new", "words"), BAD.values(), ids=BAD)
def test_a_bad_curve_is_told(
    old: str,
    new: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = STUDY.read_text()
    head, _, tail = text.partition("[[curve]]")
    assert old in tail
    path = tmp_path / "study.toml"
    path.write_text(head + "[[curve]]" + tail.replace(old, new))
    with pytest.raises(dse.InputError) as caught:
        dse.load(path)
    for word in words:
        assert word in str(caught.value)
    monkeypatch.setattr("sys.argv", ["dse", "check", str(path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert str(caught.value) in capsys.readouterr().err


def test_what_only_a_curve_needs_is_missing(tmp_path: Path) -> None:
    table = """[[curve]]
name = "speedup"
axis = "acceleration"
integer = [2, 8]
quantities = ["speedup"]
"""
    with pytest.raises(dse.InputError) as caught:
        _study(tmp_path, table, '"objectives.logca:offload", ')
    places = {problem.where for problem in caught.value.problems}
    assert places == {"curve[1]"}
    for name in ("overhead", "granularity", "computational_index"):
        assert f"needs '{name}'" in str(caught.value)
    assert "in [inputs] or under at" in str(caught.value)


def _study(folder: Path, table: str, more: str = "") -> Study:
    """Load the study of Figure 2 with another curve, and perhaps one model more."""
    text = STUDY.read_text().partition("[[curve]]")[0]
    path = folder / "study.toml"
    path.write_text(text.replace("models = [", f"models = [{more}") + table)
    return dse.load(path)
