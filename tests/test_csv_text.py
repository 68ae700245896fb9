"""CSV text: to the byte what pandas writes."""

from __future__ import annotations

import io
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.result import csv_text
from dse.result.folder import write_tables

EDGES = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1e16, 1e-5, 123456789.0, 5e-324]
numbers = st.floats() | st.sampled_from(EDGES)
texts = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=5)


def _text(table: pd.DataFrame) -> str:
    lines = itertools.chain.from_iterable(rows for _, rows in csv_text.blocks(table))
    return "".join(f"{line}\n" for line in [csv_text.header(table), *lines])


@given(st.lists(st.tuples(st.integers(0, 2**62), numbers, texts, st.booleans()), max_size=30))
def test_the_text_is_what_pandas_writes(content: list[tuple[int, float, str, bool]]) -> None:
    table = pd.DataFrame(content, columns=["n", "x, [s]", "option", "ok"])
    table = table.astype({"n": np.int64, "x, [s]": np.float64, "option": object, "ok": bool})
    table.index = pd.Index(np.arange(len(table)) * 3, name="design")
    assert _text(table) == table.to_csv(lineterminator="\n")


def test_long_tables_are_cut_into_blocks_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "_BLOCK", 7)
    grid = np.array([0.1, math.inf, math.nan, 2.5])
    table = pd.DataFrame({"x": grid[np.arange(100) % 4], "y": np.arange(100) / 7})
    table.index.name = "design"
    assert [len(rows) for _, rows in csv_text.blocks(table)] == [7] * 14 + [2]
    assert _text(table) == table.to_csv(lineterminator="\n")


def test_the_front_and_all_designs_are_written_block_by_block_each_row_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(csv_text, "_BLOCK", 7)
    made: list[int] = []
    words = csv_text._words

    def counted(values: Any) -> list[str]:
        made.append(len(values))
        return words(values)

    monkeypatch.setattr(csv_text, "_words", counted)
    table = pd.DataFrame({"x": np.arange(100) / 7, "feasible": np.arange(100) % 3 > 0})
    table["on_front"] = table["feasible"] & (np.arange(100) % 2 > 0)
    table.index.name = "design"
    front, whole = io.StringIO(), io.StringIO()
    write_tables(table, front, whole)
    assert sum(made) == 2 * len(table)  # the index and x
    assert whole.getvalue() == table.to_csv(lineterminator="\n")
    kept = table[table["on_front"]].drop(columns=["feasible", "on_front"])
    assert front.getvalue() == kept.to_csv(lineterminator="\n")
