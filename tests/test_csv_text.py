"""CSV text: to the byte what pandas writes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.result import csv_text

EDGES = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1e16, 1e-5, 123456789.0, 5e-324]
numbers = st.floats() | st.sampled_from(EDGES)
texts = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=5)


@given(st.lists(st.tuples(st.integers(0, 2**62), numbers, texts, st.booleans()), max_size=30))
def test_the_text_is_what_pandas_writes(content: list[tuple[int, float, str, bool]]) -> None:
    table = pd.DataFrame(content, columns=["n", "x, [s]", "option", "ok"])
    table = table.astype({"n": np.int64, "x, [s]": np.float64, "option": object, "ok": bool})
    table.index = pd.Index(np.arange(len(table)) * 3, name="design")
    ours = "".join(f"{line}\n" for line in [csv_text.header(table), *csv_text.rows(table)])
    assert ours == table.to_csv(lineterminator="\n")


def test_long_tables_are_cut_into_blocks_without_a_seam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_text, "_BLOCK", 7)
    grid = np.array([0.1, math.inf, math.nan, 2.5])
    table = pd.DataFrame({"x": grid[np.arange(100) % 4], "y": np.arange(100) / 7})
    table.index.name = "design"
    csv_text.write(tmp_path / "t.csv", [csv_text.header(table), *csv_text.rows(table)])
    assert (tmp_path / "t.csv").read_bytes() == table.to_csv(lineterminator="\n").encode()
