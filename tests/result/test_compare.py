"""Two runs next to each other: counted against brute force; inputs, study, code and versions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.api import StudyResult
from dse.evaluate.criteria import Objective
from dse.problems import InputError
from dse.result.compare import Comparison, compare
from dse.result.record import Certificate
from tests.core_examples import brute_front
from tests.toy import MODEL, STUDY, written

pytestmark = pytest.mark.usefixtures("no_report")

Direction = Literal["minimize", "maximize"]


def run_of(
    points: list[tuple[float, ...]],
    directions: tuple[Direction, ...] = ("minimize", "maximize"),
    names: tuple[str, ...] = ("time", "speed"),
    name: str = "run",
) -> StudyResult:
    """Return a run with these designs; its front is found two by two."""
    objectives = tuple(
        Objective(n, n, d, "1", "", n) for n, d in zip(names, directions, strict=True)
    )
    table = pd.DataFrame(points, columns=list(names), dtype=np.float64)
    signs = np.array([g.sign for g in objectives])
    on_front = np.zeros(len(points), dtype=bool)
    if points:
        on_front[brute_front(table.to_numpy() * signs)] = True
    table["feasible"], table["on_front"] = True, on_front
    certificate = Certificate(True, "exhaustive", len(points), 0, 0, 0, "", "complete")
    return StudyResult(name, "", objectives, {}, table, certificate, pd.DataFrame())


FIRST = run_of([(1.0, 1.0), (2.0, 4.0), (4.0, 5.0)], name="first")
SECOND = run_of([(1.0, 2.0), (2.0, 4.0), (5.0, 5.0)], name="second")


def test_by_hand() -> None:
    both = compare(FIRST, SECOND)
    # (1, 1) falls to (1, 2); (5, 5) falls to (4, 5); (2, 4) stands on both
    assert (both.first.name, both.first.front, both.first.survive, both.first.dominated) == (
        "first", 3, 2, 1,
    )  # fmt: skip
    assert (both.second.front, both.second.survive, both.second.dominated) == (3, 2, 1)
    assert both.first.best == {"time": 1.0, "speed": 5.0}
    assert both.second.best == {"time": 1.0, "speed": 5.0}
    assert not both.equal
    # in the common cube: time over 1 to 5, speed over 1 to 5, both 0 at best, corner 1.1
    wanted = (1.1 - 0.0) * (1.1 - 1.0) + (1.1 - 0.25) * (1.0 - 0.25) + (1.1 - 0.75) * 0.25
    assert both.first.hypervolume == pytest.approx(wanted, rel=1e-12)


cells = st.integers(0, 6).map(float) | st.just(math.inf)
fronts = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=12)


@settings(max_examples=40)
@given(fronts, fronts)
def test_survivors_against_brute_force(
    one: list[tuple[float, ...]], other: list[tuple[float, ...]]
) -> None:
    three: tuple[Direction, ...] = ("minimize",) * 3
    names = ("a", "b", "c")
    first, second = run_of(one, three, names), run_of(other, three, names)
    both = compare(first, second, "x", "y")
    tables = [r.front.designs[list(names)].to_numpy() for r in (first, second)]
    whole = brute_front(np.concatenate(tables))
    cut = len(tables[0])
    assert both.first.survive == sum(row < cut for row in whole)
    assert both.second.survive == sum(row >= cut for row in whole)
    assert both.equal == ({*map(tuple, tables[0])} == {*map(tuple, tables[1])})
    back = compare(second, first, "y", "x")
    assert (back.first, back.second, back.equal) == (both.second, both.first, both.equal)
    if both.equal:
        assert both.first.hypervolume == pytest.approx(both.second.hypervolume, rel=1e-12)
        assert both.first.dominated == both.second.dominated == 0


def test_the_order_of_objectives_and_designs_does_not_matter() -> None:
    turned = run_of(
        [(5.0, 4.0), (4.0, 2.0), (1.0, 1.0)], ("maximize", "minimize"), ("speed", "time")
    )
    assert compare(FIRST, turned).equal


def test_runs_of_other_objectives_are_not_compared() -> None:
    other = run_of([(1.0, 1.0)], ("minimize", "minimize"), name="other")
    with pytest.raises(InputError) as caught:
        compare(FIRST, other)
    told = str(caught.value)
    assert told.startswith("first and other: 1 problem")
    assert "maximize speed, minimize time against minimize speed, minimize time" in told


def test_an_empty_front_is_named() -> None:
    with pytest.raises(InputError, match="nothing: 1 problem\n  has an empty front"):
        compare(FIRST, run_of([], name="nothing"))


def test_the_data_is_json_whatever_the_values() -> None:
    endless = run_of([(math.inf, 3.0)])
    data: dict[str, Any] = compare(endless, FIRST).data()
    assert json.loads(json.dumps(data, allow_nan=False))["runs"][0]["best"]["time"] == "inf"
    assert isinstance(compare(FIRST, SECOND), Comparison)


def _toy(folder: Path, text: str = STUDY, model: str = MODEL) -> dse.Study:
    return dse.load(written(folder, "", text, model))


def _told(comparison: Comparison) -> dict[str, tuple[str, str]]:
    return {d.what: (d.first, d.second) for d in comparison.differences}


def test_the_study_and_its_inputs(tmp_path: Path) -> None:
    content = STUDY.replace("size = { values", "# size = { values").replace(
        "[space]", '[inputs]\nsize = "1 KiB"\n[space]'
    )
    study = _toy(tmp_path / "a", content)
    other = _toy(
        tmp_path / "b", content.replace("[1, 64]", "[1, 32]").replace("20 kLUT", "10 kLUT")
    )
    both = dse.compare(study.run(workers=1), other.with_inputs(size="2 KiB").run(workers=1))
    assert _told(both) == {
        "size": ("1,024 B", "2,048 B"),
        "space.lanes.integer": ("[1, 64]", "[1, 32]"),
        "constraint[1].at_most": ("20 kLUT", "10 kLUT"),
    }
    assert "differs: size: 1,024 B against 2,048 B" in str(both)
    assert both.data()["differences"][0] == {
        "what": "size", "first": "1,024 B", "second": "2,048 B",
    }  # fmt: skip
    assert list(both.differing().index) == list(_told(both))


def test_code_and_versions_of_runs_in_folders(tmp_path: Path) -> None:
    one = _toy(tmp_path / "a")
    other = _toy(tmp_path / "b", model=MODEL.replace("* 100 *", "* 110 *"))
    one.run(tmp_path / "runs" / "a", workers=1)
    other.run(tmp_path / "runs" / "b", workers=1)
    first, second = (dse.load_result(tmp_path / "runs" / n) for n in ("a", "b"))
    versions = second.provenance["versions"]
    versions["numpy"] = "0.0.1"
    told = _told(dse.compare(first, second))
    assert set(told) == {"toy_model.py", "numpy"}
    assert told["numpy"] == (first.provenance["versions"]["numpy"], "0.0.1")
    assert all(text.startswith("text ") for text in told["toy_model.py"])


def test_an_override_is_reported() -> None:
    study = dse.load("studies/sparc_evolution.toml")
    other = study.with_row("accelerator", "aes-sparc-t3", overhead=1)
    told = _told(dse.compare(study.run(workers=1), other.run(workers=1)))
    assert told == {"space.accelerator.override.aes-sparc-t3.overhead": ("absent", "1")}
