"""A run that is cut anywhere on the disk: the next one ends with the undisturbed front.

``benchmarks/crashes.py`` cuts at each operation; here it is a few of them, in two searches.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crashing import crashed, written
from tests.needs import needs


@pytest.mark.parametrize("search", ["exhaustive", "NSGAIISampler"])
def test_runs_that_are_cut_on_the_disk_end_with_the_same_front(search: str, tmp_path: Path) -> None:
    needs("cc")
    rows = crashed([written(tmp_path, search)], tmp_path, stride=97)
    assert {row["state"] for row in rows} == {"new", "resumed", "finished"}
    assert {row["mode"] for row in rows} == {"once", "full", "kill"}
    assert all(row["tried"] >= 1 for row in rows)
    assert [wrong for row in rows for wrong in row["wrong"]] == []
