"""What a study of a table is told of its columns, and how samplers of a table end."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dse
from dse.model.units import nearest_unit
from dse.problems import InputError
from tests.study.resolve.test_table import STUDY


def study(folder: Path, table: str, text: str = STUDY) -> dse.Study:
    (folder / "designs.csv").write_text(table, encoding="utf-8")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("header", "near"),
    [("area [LUTz]", "LUT"), ("area [KB]", "kB"), ("area (B/cyle)", "B/cycle")],
)
def test_a_misspelt_unit_in_brackets_is_reported_with_the_nearest(
    tmp_path: Path, header: str, near: str
) -> None:
    with pytest.raises(InputError) as error:
        study(tmp_path, f"lanes,latency,{header}\n1,2,3\n2,1,4\n")
    assert f"column '{header}' has the unit" in str(error.value)
    assert f"did you mean '{near}'?" in str(error.value)


@pytest.mark.parametrize("name", ["L2 (shared)", "bank [0]", "area [LUT]", "rate (p99)"])
def test_other_texts_in_brackets_are_no_misspelt_units(tmp_path: Path, name: str) -> None:
    table = f"lanes,latency,area,{name}\n1,2,3,4\n2,1,4,5\n" if "area" not in name else ""
    study(tmp_path, table or f"lanes,latency,{name}\n1,2,3\n2,1,4\n")


def test_near_units() -> None:
    assert nearest_unit("US") == "us"
    assert nearest_unit("mhz/LUT") == "MHz/LUT"
    assert nearest_unit("B") is None
    assert nearest_unit("furlong") is None


@pytest.mark.parametrize("repeated", [False, True])
def test_a_sampler_ends_once_it_has_drawn_each_row(tmp_path: Path, repeated: bool) -> None:
    rows = [f"{i % 4},{i // 4},{9 - i},{i}" for i in range(8)]
    rows += [rows[0]] if repeated else []
    search = '[search]\nmethod = "RandomSampler"\nevaluations = 5000\ngeneration = 8\n'
    text = "\n".join(["lanes,depth,latency,area", *rows])
    certificate = study(tmp_path, text, STUDY + search).run(workers=1).certificate
    assert certificate.evaluated == 8
    if repeated:
        assert certificate.stopped == "stalled"
        assert "each row that a sample can give was sampled" in certificate.statement
    else:
        assert certificate.stopped == "complete"


def test_a_small_table_gets_few_draws_if_the_study_does_not_say(tmp_path: Path) -> None:
    text = "lanes,latency,area\n" + "\n".join(f"{i},{9 - i},{i}" for i in range(8))
    found = study(tmp_path, text, STUDY + '[search]\nmethod = "TPESampler"\n')
    assert found.plan.evaluations == 160


def benchmark() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "table_samplers.py"
    spec = importlib.util.spec_from_file_location("table_samplers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_comparison_of_samplers_counts_designs_until_the_front_is_found(tmp_path: Path) -> None:
    """On a table whose rows all are the front, the k-th point takes k different designs."""
    text = "lanes,latency,area\n" + "\n".join(f"{i},{40 - i},{i}" for i in range(40))
    of = study(tmp_path, text)
    front = of.run(workers=1).front.designs[["latency", "area"]].to_numpy(dtype=np.float64)
    module = benchmark()
    for method in ("random rows", "RandomSampler", "evolution"):
        needed, share = module._needed(of, front, method, 400, 0)
        assert needed == [20, 36, 40], method
        assert share == 1.0
        assert module._needed(of, front, method, 400, 0) == (needed, share)
    needed, share = module._needed(of, front, "random rows", 10, 0)
    assert needed == [np.inf] * 3
    assert share == 0.25
