"""CSV files: what pandas writes, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dse.result.folder import protect_cell, read_designs, write_designs

EDGES = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1e16, 1e-5, 123456789.0, 5e-324]
numbers = st.floats() | st.sampled_from(EDGES)
texts = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=5)
cells = texts.filter(bool) | st.sampled_from(["=1+1", "+x", "-x", "-5", "@SUM(A1)", "\tx", "'=1"])


@given(
    st.lists(st.tuples(numbers, cells, st.booleans(), st.booleans()), max_size=30),
    st.sampled_from(["option", "=option", "-option", "'option", "x, [s]"]),
)
def test_designs_come_back_and_no_cell_is_a_formula(
    content: list[tuple[float, str, bool, bool]], name: str
) -> None:
    table = pd.DataFrame(content, columns=["x", name, "feasible", "on_front"])
    table = table.astype({"x": np.float64, name: object, "feasible": bool, "on_front": bool})
    table.index = pd.Index(np.arange(len(table)) * 3, name="design")
    with TemporaryDirectory() as folder:
        front, whole = Path(folder) / "front.csv", Path(folder) / "designs.csv"
        write_designs(table, front, whole)
        read = read_designs(whole, [name], ["x"])
        assert read[name].tolist() == table[name].tolist()
        assert np.array_equal(read["x"].astype(float), table["x"], equal_nan=True)
        short = table[table["on_front"]].drop(columns=["feasible", "on_front"])
        plain = name == protect_cell(name) and all(t == protect_cell(t) for t in table[name])
        assert not plain or front.read_text("utf-8") == short.to_csv(lineterminator="\n")
        for path in (front, whole):
            with path.open(newline="", encoding="utf-8") as file:
                for cell in (cell for row in csv.reader(file) for cell in row):
                    assert not cell.startswith(("=", "@", "\t"))
                    if cell.startswith(("+", "-")):
                        float(cell)
