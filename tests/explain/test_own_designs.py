"""Designs of one's own: every quantity on the way, and why a design is infeasible."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from dse.problems import InputError
from tests.toy import written


@pytest.fixture
def toy(tmp_path: Path) -> dse.Study:
    return dse.load(written(tmp_path))


class Size(NamedTuple):
    weight: Annotated[dse.Array, dse.Quantity("1", "weight", low=0)]
    corners: Annotated[dse.Array, dse.Quantity("1", "corners", low=0, integer=True)]


class Price(NamedTuple):
    price: Annotated[dse.Array, dse.Quantity("1", "price", low=0)]


Lanes = Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1, integer=True)]
Load = Annotated[dse.Floats, dse.Quantity("1", "load", low=0)]


def size(lanes: Lanes, load: Load) -> Size:
    return Size(np.asarray(lanes * load), np.asarray(4.0 * lanes))


def price(weight: Annotated[dse.Floats, dse.Quantity("1", "weight", low=0)]) -> Price:
    return Price(np.asarray(weight) ** 2)


def _study(*objectives: dict[str, Any], **more: Any) -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": "own", "models": ["size", "price"]},
            "space": {"lanes": {"integer": [1, 4]}},
            "objective": list(objectives),
            **more,
        },
        models={"size": size, "price": price},
    )


def test_every_quantity_on_the_way_is_there() -> None:
    study = _study({"minimize": "price"}, inputs={"load": 3})
    found = study.evaluate({"lanes": [1, 2]})
    assert found["weight"].tolist() == [3, 6]
    assert found["corners"].tolist() == [4, 8]
    assert found["corners"].dtype == np.int64
    assert found["price"].tolist() == [9, 36]
    assert found.columns[0] == "price"
    assert list(found.columns[-2:]) == ["feasible", "violations"]
    assert found["violations"].tolist() == ["", ""]


def test_quantities_under_conditions_have_them_in_their_names() -> None:
    study = _study(
        {"minimize": "price", "at": {"load": 2}},
        {"maximize": "weight", "over": {"load": [1, 3]}, "reduce": "mean", "name": "heft"},
        inputs={"load": 5},
        constraint=[{"quantity": "weight", "at_most": 100}],
    )
    found = study.evaluate({"lanes": 2}).iloc[0]
    assert found["price"] == 16  # the objective: at a load of 2
    assert found["weight at load = 2"] == 4
    assert (found["weight at load = 1"], found["weight at load = 3"]) == (2, 6)
    assert found["heft"] == 4
    assert found["weight"] == 10
    assert "price at load = 2" not in found
    study = _study(
        {"minimize": "price", "at": {"load": 2}},
        inputs={"load": 5},
        constraint=[{"quantity": "price", "at_most": 1000}],
    )
    found = study.evaluate({"lanes": 2}).iloc[0]
    assert (found["price"], found["price as given"]) == (16, 100)


def test_why_a_design_is_infeasible(toy: dse.Study) -> None:
    found = toy.evaluate(
        pd.DataFrame(
            {"lanes": [1, 64, 64], "clock": [1e9, 2e9, np.nan], "size": 1024}, index=["a", "b", "c"]
        )
    )
    assert found["feasible"].tolist() == [True, False, False]
    assert found.loc["a", "violations"] == ""
    # 64^1.5 * 100 * (1 + 2^2) LUT against 20 kLUT; 64 lanes at 2 GHz against 40e9
    over = 64**1.5 * 100 * 5 - 20_000
    told = str(found.loc["b", "violations"])
    assert f"cost <= 20 kLUT is violated by {over:,.0f} LUT" in told
    assert "; lanes * clock <= 40e9 is violated by 88 billion" in told
    assert "speed has no value: it is not a number" in str(found.loc["c", "violations"])
    # the same words as of the explanation of such a design
    number = int(toy.evaluator.space.size or 0) - 3
    explained = toy.run(workers=1).explain(number)
    row = toy.evaluate({n: explained.values[n] for n in ("lanes", "clock", "size")})
    assert row["violations"].iloc[0] == "; ".join(map(str, explained.violations))


def test_one_design_a_table_a_row_or_a_mapping_and_texts_with_units(toy: dse.Study) -> None:
    result = toy.run(workers=1)
    design = result.nash()
    by_row = toy.evaluate(design)
    assert list(by_row.index) == [design.name]
    assert by_row["speed"].iloc[0] == design["speed"]
    table = toy.evaluate(result.front.designs)
    assert table["feasible"].all()
    assert table["speed"].equals(result.front.designs["speed"])
    texts = toy.evaluate({"lanes": [1, 2], "clock": "1 GHz", "size": ["1 KiB", 1024]})
    numbers = toy.evaluate(pd.DataFrame({"lanes": [1, 2], "clock": 1e9, "size": 1024}))
    pd.testing.assert_frame_equal(texts, numbers)


@pytest.mark.parametrize(
    ("designs", "words"),
    [
        ({"lanse": 1, "clock": 1e9, "size": 1}, "lanse: is not a variable"),
        ({"lanes": "x", "clock": 1e9, "size": 1}, "lanes: "),
        ({"lanes": 1, "clock": "1 GB", "size": 1}, "clock: 'GB' is a unit of information"),
        ({"lanes": 1, "clock": None, "size": 1}, "clock: None is not a number\n.*in Hz"),
        ({"lanes": [1, 2], "clock": [1, 2, 3], "size": 1}, "same length"),
        ([1, 2], "are a list, not a table"),
    ],
)
def test_what_cannot_be_is_reported(toy: dse.Study, designs: Any, words: str) -> None:
    with pytest.raises(dse.InputError, match=words):
        toy.evaluate(designs)


def test_all_problems_are_reported_at_once(toy: dse.Study) -> None:
    with pytest.raises(dse.InputError) as caught:
        toy.evaluate({"lanes": "many", "clock": "fast"})
    assert len(caught.value.problems) == 3


def test_quantities_of_a_shipped_study_are_those_of_its_run() -> None:
    study = dse.load("studies/crypto.toml").with_inputs(lanes=1, streams=64, calls_in_flight=1)
    result = study.run(workers=2)
    some = result.designs.iloc[:: max(1, len(result.designs) // 50)]
    found = study.evaluate(some)
    for name in ("speedup", "area", "break_even", "call_time", "link_utilization", "passes"):
        assert found[name].equals(some[name]), name
        assert found[name].dtype == some[name].dtype
    assert found["feasible"].equals(some["feasible"])
    assert (found["feasible"] == (found["violations"] == "")).all()
    parts = [n for n in found if str(n).startswith("area_")]
    np.testing.assert_allclose(found[parts].sum(axis=1), found["area"], rtol=1e-12)


def test_a_row_of_a_result_with_one_change_is_a_design() -> None:
    study = _study({"minimize": "price"}, {"maximize": "weight"}, inputs={"load": 3})
    row = dict(study.run().front.designs.iloc[0])
    assert study.evaluate({**row, "lanes": 3})["price"].tolist() == [81]
    with pytest.raises(InputError, match="lnaes: is not a variable"):
        study.evaluate({**row, "lnaes": 3})
    with pytest.raises(InputError, match="load: is an input of the study"):
        study.evaluate({**row, "load": 3})
