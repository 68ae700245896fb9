"""Sweeps: each value is a run of its own; tables, figures, and values without a design."""

from __future__ import annotations

import pytest

import dse
from tests.toy import written

SIZES = ["1 KiB", "2 KiB", "4 KiB"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dse.Study:
    return dse.load(written(tmp_path_factory.mktemp("toy")))


def test_each_value_is_a_run_of_its_own_and_a_point_of_the_figure(toy: dse.Study) -> None:
    sweep = toy.sweep("size", SIZES, workers=1)
    assert list(sweep.results) == SIZES
    for size in SIZES:
        alone = toy.with_inputs(size=size).run(workers=1)
        assert sweep.results[size].designs.equals(alone.designs)
        assert sweep.table.loc[size, "front"] == len(alone.front)
        assert sweep.table.loc[size, "best speed"] == alone.best("speed")["speed"]
        assert sweep.table.loc[size, "nash cost"] == alone.nash()["cost"]
        assert sweep.nash().loc[size, "design"] == alone.nash().name
        assert sweep.best("cost").loc[size, "lanes"] == alone.best("cost")["lanes"]
    assert sweep.table.index.name == "size"
    assert sweep.best("cost")["lanes"].dtype == int
    figure = sweep.plot()
    best = next(t for t in figure.data if t.name == "best" and t.yaxis == "y")
    assert list(best.x) == SIZES
    assert list(best.y) == pytest.approx(sweep.table["best speed"].tolist())
    assert figure.layout.yaxis2.title.text == "cost [LUT]"
    assert {t.name for t in figure.data} == {"best", "nash"}


def test_a_value_without_a_feasible_design_is_reported_and_kept(toy: dse.Study) -> None:
    sweep = toy.sweep("clock", ["1 GHz", "100 GHz"], workers=1)
    assert list(sweep.results) == ["1 GHz"]
    assert "no design is feasible" in sweep.infeasible["100 GHz"]
    assert sweep.table.loc["100 GHz", "front"] == 0
    assert sweep.table["best speed"].isna().tolist() == [False, True]
    assert repr(sweep) == "<Sweep of clock: 1 GHz, 100 GHz; no design is feasible at 100 GHz>"
    sweep.plot()
    nowhere = toy.sweep("clock", ["100 GHz"], workers=1)
    assert nowhere.table["front"].tolist() == [0]
    assert len(nowhere.nash()) == 0
    nowhere.plot()


def test_every_value_that_cannot_be_is_reported_before_anything_runs(
    toy: dse.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dse.Study, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(dse.InputError) as caught:
        toy.sweep("size", ["1 KiB", "2 s", "-1 B"])
    assert len(caught.value.problems) == 2
    with pytest.raises(dse.InputError, match="did you mean 'size'"):
        toy.sweep("sise", SIZES)
    with pytest.raises(dse.InputError, match="no value is given"):
        toy.sweep("size", [])
