"""One quantity under several conditions: each has its own column, in tables and explanations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dse.cli import main
from objectives.logca import offload

STUDY = """
[study]
name = "t"
models = ["objectives.logca:offload"]
[inputs]
overhead = 29000
latency = 1500
computational_index = 90
[space]
acceleration = { integer = [2, 64] }
[[objective]]
maximize = "speedup"
at = { granularity = "1 KiB" }
[[constraint]]
quantity = "speedup"
at_least = 1.5
at = { granularity = "4 KiB" }
[[constraint]]
quantity = "speedup"
at_most = 30
at = { granularity = "64 KiB" }
[[constraint]]
quantity = "speedup"
at_least = 1
at = { granularity = "1 KiB" }
"""


def _dse(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["dse", *arguments])
    main()


def test_each_condition_of_a_quantity_has_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "study.toml", tmp_path / "out"
    path.write_text(STUDY)
    _dse(monkeypatch, "run", str(path), "--out", str(out))
    designs = pd.read_csv(out / "designs.csv", index_col="design")
    acceleration = designs["acceleration"].to_numpy(dtype=np.float64)
    columns = {  # the third constraint is the objective's own column
        "speedup": 2.0**10,
        "speedup at granularity = 4 KiB": 2.0**12,
        "speedup at granularity = 64 KiB": 2.0**16,
    }
    assert {str(name) for name in designs if str(name).startswith("speedup")} == set(columns)
    for name, granularity in columns.items():
        truth = offload(granularity, 29000.0, 1500.0, 0.0, 90.0, 1.0, acceleration).speedup
        assert designs[name].to_numpy() == pytest.approx(truth, rel=1e-15)
    number = int(designs.index[0])
    capsys.readouterr()
    _dse(monkeypatch, "explain", str(out), "--design", str(number), "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["values"]["speedup"] == pytest.approx(designs["speedup"].iloc[0], rel=1e-15)
