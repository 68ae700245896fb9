"""Studies of a table: read, searched, explained, reported and certified, against brute force."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.robustness import rank_table_variables
from dse.problems import InputError
from dse.study.input_files import hash_file
from tests.commands import called
from tests.pages import read_page

STUDY = """
[study]
name = "simulated"
table = "designs.csv"
[[objective]]
minimize = "latency"
[[objective]]
minimize = "area"
"""


def _study(folder: Path, table: str, text: str = STUDY) -> Path:
    (folder / "designs.csv").write_text(table, encoding="utf-8")
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _load(folder: Path, table: str, text: str = STUDY) -> dse.Study:
    return dse.load(_study(folder, table, text))


def _random(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return a table with variables, two objectives, another column and missing values."""
    rng = np.random.default_rng(seed)
    lanes, depth = 2.0 ** rng.integers(0, 7, rows), rng.integers(1, 33, rows)
    mode = rng.choice(["burst", "None", "single"], rows)
    slow = np.select([mode == "burst", mode == "None"], [1.0, 1.5], 4.0)
    table = pd.DataFrame({"lanes": lanes.astype(int), "depth": depth, "mode": mode})
    table["latency"] = 1e4 * slow / lanes * np.exp(0.05 * rng.standard_normal(rows))
    table["area"] = np.round(3 * lanes + depth + rng.random(rows), 1)
    table["power"] = rng.random(rows)
    table.loc[rng.random(rows) < 0.02, "latency"] = np.nan
    return table


def _front(points: np.ndarray, feasible: np.ndarray) -> set[int]:
    """Return the rows that no feasible row dominates, by comparing each with all."""
    rows = np.flatnonzero(feasible)
    front = set()
    for row in rows:
        others = points[rows]
        no_worse = (others <= points[row]).all(axis=1)
        if not (no_worse & (others < points[row]).any(axis=1)).any():
            front.add(int(row))
    return front


@pytest.mark.parametrize("seed", range(4))
def test_front_is_that_of_brute_force(tmp_path: Path, seed: int) -> None:
    table = _random(1500, seed)
    more = """
[[constraint]]
quantity = "power"
at_most = 0.8
[[constraint]]
relation = "lanes * depth <= 800"
"""
    path = _study(tmp_path, table.to_csv(index=False), STUDY + more)
    result = dse.load(path).run(workers=1)
    points = table[["latency", "area"]].to_numpy()
    feasible = ~np.isnan(points).any(axis=1)
    feasible &= (table["power"] <= 0.8) & (table["lanes"] * table["depth"] <= 800)
    assert set(result.front.designs.index) == _front(points, feasible.to_numpy())
    rows = result.front.designs
    assert np.array_equal(rows["latency"], table["latency"][rows.index])
    assert np.array_equal(rows["mode"], table["mode"][rows.index])
    certificate = result.certificate
    assert (certificate.complete, certificate.designs, certificate.gap) == (True, 1500, 0.0)
    assert certificate.feasible == feasible.sum()
    assert "not in the table" in certificate.statement


def test_a_run_is_kept_explained_certified_and_reported(tmp_path: Path) -> None:
    table = _random(400)
    _study(tmp_path, table.to_csv(index=False))
    assert called("run", "study.toml", "--out", "run", "--quiet", cwd=tmp_path).returncode == 0
    kept = dse.load_result(tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["certificate"]["complete"] is True
    assert summary["certificate"]["evaluated"] == 400
    missing = int(table["latency"].isna().sum())
    assert any(f"latency has no value (NaN) for {missing} of 400" in n for n in kept.notes)
    assert kept.columns["power"].role == "variable"
    (tmp_path / "designs.csv").unlink()  # the run has its own copy
    certified = called("certify", "run", cwd=tmp_path)
    assert certified.returncode == 0
    assert "of 400 designs" in certified.stdout
    number = int(table["latency"].isna().to_numpy().argmax())
    lacking = called("explain", "run", "--design", str(number), cwd=tmp_path)
    assert "latency has no value" in lacking.stdout
    (told,) = json.loads(called("explain", "run", "--json", cwd=tmp_path).stdout)["designs"]
    assert told["sensitivities"] == []
    assert told["parts"] == []
    assert list(told["ranking"]) == ["latency", "area"]
    page = read_page(tmp_path / "run" / "report.html")
    assert "Variables that decide the objectives" in page
    assert called("report", "run", cwd=tmp_path).returncode == 0


def test_a_wrong_front_is_refuted(tmp_path: Path) -> None:
    _study(tmp_path, _random(300).to_csv(index=False))
    called("run", "study.toml", "--out", "run", "--quiet", cwd=tmp_path)
    designs = pd.read_csv(tmp_path / "run" / "designs.csv", index_col="design")
    best = designs["latency"].idxmin()
    designs.loc[best, "on_front"] = False
    designs.to_csv(tmp_path / "run" / "designs.csv")
    damaged = called("certify", "run", cwd=tmp_path)
    assert damaged.returncode == 2
    assert "designs.csv: is not as its run wrote it" in damaged.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    front = pd.read_csv(tmp_path / "run" / "front.csv", index_col="design")
    front.drop(index=best).to_csv(tmp_path / "run" / "front.csv")
    for name in ("designs.csv", "front.csv"):
        summary["sha256"][name] = hash_file(tmp_path / "run" / name)
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    found = called("certify", "run", cwd=tmp_path)
    assert found.returncode == 1
    assert "REFUTED" in found.stdout


def test_filters_and_the_nash_design_work_on_a_table(tmp_path: Path) -> None:
    result = _load(tmp_path, _random(500).to_csv(index=False)).run(workers=1)
    some = result.where("power < 0.5")
    assert len(some) == (result.front.designs["power"] < 0.5).sum() > 0
    assert result.nash().name in result.front.designs.index
    assert list(result.summary()["design"]) == [result.best(n).name for n in ("latency", "area")]


def test_comments_units_and_what_is_missing(tmp_path: Path) -> None:
    table = """\ufeff# a simulator's output
lanes, mode ,latency [us],energy_pJ,area,,design
1,None,10,NA,5,,a

# the fast ones
2,"a, b",FAIL,7,4,,b
4,None,,8,3,,c
8,x,4,9,-,,d
"""
    text = STUDY.replace('"designs.csv"', '"designs.csv"\nmissing = ["fail"]')
    study = _load(tmp_path, table, text + '[columns]\narea = "mm"\n')
    assert [o.unit for o in study.evaluator.objectives] == ["us", "mm"]
    assert study.evaluator.model_graph.quantities["energy_pJ"].unit == "pJ"
    assert list(study.evaluator.space.variables) == ["lanes", "energy_pJ", "mode", "table_design"]
    result = study.run(workers=1)
    assert result.designs["feasible"].tolist() == [True, False, False, False]
    assert result.designs["mode"].tolist() == ["None", "a, b", "None", "x"]
    assert result.certificate.feasible == 1


def test_a_bound_with_a_unit_is_in_the_columns_unit(tmp_path: Path) -> None:
    table = "lanes,latency_us,area\n1,900,1\n2,1100,0\n"
    more = '[[constraint]]\nquantity = "latency_us"\nat_most = "1 ms"\n'
    text = STUDY.replace('"latency"', '"latency_us"') + more
    result = _load(tmp_path, table, text).run(workers=1)
    assert result.designs["feasible"].tolist() == [True, False]


def test_equal_rows_all_stay(tmp_path: Path) -> None:
    table = "lanes,latency,area\n1,5,5\n1,5,5\n2,9,9\n1,4,6\n"
    study = _load(tmp_path, table)
    assert any("the variables of an earlier one" in note for note in study.notes)
    assert list(study.run(workers=1).front.designs.index) == [0, 1, 3]


def test_a_table_of_objectives_alone_has_a_front(tmp_path: Path) -> None:
    result = _load(tmp_path, "latency,area\n1,5\n2,3\n3,4\n").run(tmp_path / "run")
    assert list(result.front.designs.index) == [0, 1]


ONE, TWO = "latency,area\n1,2\n", "latency,area,lanes\n1,2,3\n2,1,4\n"
COLUMNS = '[columns]\nlatenci = "s"\narea = "acre"\n[space]\ncolumns = ["lane", "area"]\n'
LOGCA = "objectives.logca:offload"
SPACE = '[space]\ncolumns = ["b"]\n'
REFUSED: list[tuple[str, str, str]] = [
    # the table; what the study has more, or has instead; words of each problem
    ("a,b\n1,2\n", "", "has no column 'latency' | has no column 'area'"),
    ("latncy,area\n1,2\n", "", "did you mean 'latncy'?"),
    ("latency,area\n1,2,3\n1,2\n4\n", "", "line 2 has 3 fields | line 4 has 1 fields"),
    (f"{ONE}failed,3\n", "", "'failed' in line 3"),
    ("latency,area\nNA,3\nNA,4\n", "", "column 'latency' has no value in any row"),
    ("latency,area,area\n1,2,3\n", "", "has 2 columns 'area'"),
    ("latency,area [LUTz]\n1,2\n", "", "column 'area [LUTz]' has the unit"),
    ("latency,area [KB]\n1,2\n", "", "did you mean 'kB'?"),
    ("latency,area (B/cyle)\n1,2\n", "", "did you mean 'B/cycle'?"),
    (f"latency,{'x' * 300}\n1,2\n2,3\n", "", "column name of 300 characters"),
    ("1,2\n3,4\n", "", "has no row of names"),
    ("latency,area\n", "", "has no designs"),
    (ONE, 'table = "desings.csv"', "'designs.csv'?"),
    (ONE, 'table = "../designs.csv"', "outside"),
    (ONE, 'tabel = "x"', "did you mean 'table'? | study.models: is missing | space: is missing"),
    (ONE, "at = { lanes = 1 }\n", "objective[2].at: takes models"),
    (ONE, '[search]\nmethod = "bound"\n', "bound takes models"),
    (ONE, '[search]\nmethod = "TPE"\n', "varies columns"),
    (ONE, '[regions]\naxis = "area"\nlow = 1\nhigh = 2\n', "regions: takes models"),
    (ONE, f'table = "designs.csv"\nmodels = ["{LOGCA}"]', "a study of a table runs no models"),
    (
        TWO,
        COLUMNS,
        "did you mean 'latency'? | unknown unit 'acre' | 'lanes'? | 'area' is an objective",
    ),
    (f"{ONE}1,2\n".replace("a\n", "a,b\n").replace("2\n", "2,3\n"), SPACE, "equal values"),
    (TWO, "[space]\ncolumns = 3\n", "space.columns: is not a list of names"),
    (TWO, "[space]\nlanes = { integer = [1, 4] }\n", "space.lanes: a table has the designs"),
]


@pytest.mark.parametrize(("table", "change", "words"), REFUSED)
def test_what_is_wrong_is_reported(tmp_path: Path, table: str, change: str, words: str) -> None:
    text = STUDY + change
    if change.startswith("tab"):
        text = STUDY.replace('table = "designs.csv"', change)
    with pytest.raises(InputError) as error:
        _load(tmp_path, table, text)
    wanted = words.split(" | ")
    assert len(error.value.problems) == len(wanted)
    assert all(word in str(error.value) for word in wanted), error.value


def test_the_ranking_of_variables_is_their_fraction_of_the_variance(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    size, depth = 2.0 ** rng.integers(3, 13, 4000), rng.integers(1, 9, 4000)
    kind = rng.choice(["fast", "mid", "slow"], 4000)
    factor = np.select([kind == "fast", kind == "mid"], [1.0, 2.0], 3.0)
    table = pd.DataFrame({"size": size, "depth": depth, "kind": kind, "idle": rng.random(4000)})
    table["latency"] = 7.0 * size**0.5 * factor
    table["area"] = 100.0 + 4.0 * depth + 9.0 * rng.standard_normal(4000)
    table.loc[:50, "size"] = np.nan
    study = _load(tmp_path, table.to_csv(index=False))
    latency, area = (rank_table_variables(study.evaluator)[n] for n in ("latency", "area"))
    # latency spans decades: of its logarithm, sizes and kinds are independent terms
    terms = {"size": np.var(np.log(size) / 2), "kind": np.var(np.log(factor))}
    assert list(latency)[:2] == ["size", "kind"]
    for name, variance in terms.items():
        assert latency[name] == pytest.approx(variance / sum(terms.values()), abs=0.03)
    assert latency["idle"] < 0.01 and latency["depth"] < 0.01
    explained = np.var(4.0 * depth) / (np.var(4.0 * depth) + 81.0)
    assert area["depth"] == pytest.approx(explained, abs=0.03)


@pytest.mark.parametrize("method", ["evolution", "guided", "NSGAIISampler"])
def test_samplers_draw_rows_of_the_table(tmp_path: Path, method: str) -> None:
    table = _random(2000).dropna().reset_index(drop=True)
    more = f'[search]\nmethod = "{method}"\nevaluations = 150\nseed = 2\n'
    result = _load(tmp_path, table.to_csv(index=False), STUDY + more).run(tmp_path / "r")
    assert not result.certificate.complete
    assert result.designs.index.is_unique
    for name in ("lanes", "mode", "latency", "area", "power"):
        assert np.array_equal(result.designs[name], table[name][result.designs.index])
    points = result.designs[["latency", "area"]].to_numpy()
    front = _front(points, np.ones(len(points), dtype=bool))
    assert result.designs["on_front"].to_numpy().nonzero()[0].tolist() == sorted(front)


def test_evolution_reaches_every_row_of_a_table(tmp_path: Path) -> None:
    table = _random(300).dropna()
    more = '[search]\nmethod = "evolution"\nevaluations = 10000\n'
    whole = _load(tmp_path, table.to_csv(index=False)).run(workers=1)
    path = _study(tmp_path, table.to_csv(index=False), STUDY + more)
    result = dse.load(path).run(workers=1)
    assert result.certificate.complete
    assert list(result.front.designs.index) == list(whole.front.designs.index)


@pytest.mark.parametrize("name", ["L2 (shared)", "bank [0]", "area [LUT]", "rate (p99)"])
def test_other_texts_in_brackets_are_no_misspelt_units(tmp_path: Path, name: str) -> None:
    table = f"lanes,latency,area,{name}\n1,2,3,4\n2,1,4,5\n" if "area" not in name else ""
    _load(tmp_path, table or f"lanes,latency,{name}\n1,2,3\n2,1,4\n")


@pytest.mark.parametrize("repeated", [False, True])
def test_a_sampler_ends_once_it_has_drawn_each_row(tmp_path: Path, repeated: bool) -> None:
    rows = [f"{i % 4},{i // 4},{9 - i},{i}" for i in range(8)]
    rows += [rows[0]] if repeated else []
    search = '[search]\nmethod = "RandomSampler"\nevaluations = 5000\ngeneration = 8\n'
    text = "\n".join(["lanes,depth,latency,area", *rows])
    certificate = _load(tmp_path, text, STUDY + search).run(workers=1).certificate
    assert certificate.evaluated == 8
    if repeated:
        assert certificate.stopped == "stalled"
        assert "each row that a sample can give was sampled" in certificate.statement
    else:
        assert certificate.stopped == "complete"
