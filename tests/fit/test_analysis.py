"""How the values of a fit vary together: against many tables, in catalogs, and drawn by a study."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.fit.analysis import Analysis, estimate_covariance
from dse.fit.command import run
from dse.fit.law import EXPONENT, GAIN, INDEX, SETUP
from dse.problems import InputError
from dse.study.catalog import load_catalog
from tests.fit.made_tables import SHAPE, select_fits

MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"
COVARIANCES = 20  # tables whose covariance is estimated, of those that show how values vary
NAMES = ["computational_index", "complexity", "overhead_and_latency", "acceleration"]


@pytest.mark.parametrize(("case", "off"), [("sub-linear", 0.25), ("two-crossings", 0.3)])
def test_the_covariance_is_that_of_many_tables(case: str, off: float) -> None:
    places = [INDEX, EXPONENT, SETUP, GAIN]
    many = select_fits(case, 0.05, 120)
    expected = []
    for points, law, fit, scale, kept in many[:COVARIANCES]:
        found = Analysis(law, fit, {}, {}, None, None, False, np.nan, scale, kept, {})
        values = dict(zip(NAMES, np.exp(fit[places]).tolist(), strict=True))
        held = estimate_covariance(points, found, values, (), SHAPE)
        order = [held.names.index(name) for name in NAMES]
        expected.append(held.matrix[np.ix_(order, order)])
    seen = np.cov(np.array([selected.fit[places] for selected in many]).T)
    mean = np.median(expected, axis=0)
    assert np.sqrt(np.diag(mean)) == pytest.approx(np.sqrt(np.diag(seen)), rel=off)
    assert mean[0, 1] / np.sqrt(mean[0, 0] * mean[1, 1]) == pytest.approx(
        seen[0, 1] / np.sqrt(seen[0, 0] * seen[1, 1]), abs=0.03
    )


def content(**entry: Any) -> dict[str, Any]:
    return {
        "study": {"name": "fitted", "models": ["objectives.logca:offload"]},
        "inputs": {
            "clock": "1 GHz",
            "kernel": {"catalog": "fitted.toml", "row": "pr11182", "uncertain": True, **entry},
        },
        "space": {"granularity": {"values": ["256 B", "1 KiB", "64 KiB"]}},
        "objective": [{"maximize": "speedup", "reduce": "95 %"}],
    }


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitted") / "fitted.toml"
    run(MEASURED / "cesa_aes.csv", ["run"], (), None, path, None)
    return path


@pytest.fixture
def folder(fitted: Path, tmp_path: Path) -> Path:
    shutil.copy(fitted, tmp_path)
    return tmp_path


def loaded(folder: Path, given: dict[str, Any]) -> dse.Study:
    from dse.study.toml_files import to_toml

    (folder / "study.toml").write_text(to_toml(given))
    return dse.load(folder / "study.toml")


def test_a_study_draws_a_row_as_it_was_fitted(folder: Path) -> None:
    row = load_catalog(folder / "fitted.toml").rows["pr11182"]
    assert row.together is not None
    study = loaded(folder, content() | {"uncertainty": {"samples": 4096}})
    drawn = {name: v for name, (_, v) in study.uncertainty.inputs.items()}
    assert list(drawn) == list(row.together.of)
    columns = [v if n in row.together.normal else np.log(v) for n, v in drawn.items()]
    wanted = np.array(row.together.covariance)
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    assert np.cov(np.array(columns)) / scale == pytest.approx(wanted / scale, abs=0.02)
    overhead = study.constants["overhead"]
    assert np.median(drawn["overhead"]) == pytest.approx(overhead, rel=0.01)
    answer = study.run().answer()
    assert answer.confidence["robust"]
    assert "front shift" in answer.confidence["check first"]


def test_what_the_study_overrides_does_not_vary(folder: Path) -> None:
    study = loaded(folder, content(override={"overhead": "9 us"}))
    assert "overhead" not in study.uncertainty.inputs
    assert "computational_index" in study.uncertainty.inputs
    own = {"overhead": {"between": ["8 us", "9 us"]}}
    assert "overhead" in loaded(folder, content(override=own)).uncertainty.inputs


def test_rows_of_a_variable_are_drawn_each_on_its_own(folder: Path) -> None:
    given = content()
    kernel = given["inputs"].pop("kernel")
    kernel["options"] = ["pr11182", "openwrt1547"]
    del kernel["row"]
    study = loaded(folder, {**given, "space": {**given["space"], "kernel": kernel}})
    labels = set(study.uncertainty.inputs)
    assert {"overhead of pr11182", "overhead of openwrt1547"} <= labels
    assert len(study.run().front) == 1


def test_a_row_that_does_not_say_is_told(folder: Path) -> None:
    text = (folder / "fitted.toml").read_text()
    kept = [line for line in text.splitlines() if not line.startswith("together")]
    (folder / "fitted.toml").write_text("\n".join(kept))
    with pytest.raises(InputError) as raised:
        loaded(folder, content())
    assert "no row says how its values vary together" in str(raised.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("1", "row.together: 1 is not a table"),
        ('{ of = ["x"], covariance = [[1.0]] }', "the row has no value 'x'"),
        ('{ of = ["latency"], covariance = [[1.0, 2.0]] }', "one row and one column a name"),
        ('{ of = ["latency"], covariance = [[-1.0]] }', "a variance is negative"),
    ],
)
def test_a_bad_covariance_is_told(tmp_path: Path, given: str, told: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        f'about = "a"\nsource = "s"\n[row]\nabout = "r"\nlatency = 1\ntogether = {given}\n'
    )
    with pytest.raises(InputError) as raised:
        load_catalog(path)
    assert told in str(raised.value)
    assert len(raised.value.problems) == 1
