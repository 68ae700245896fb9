"""A few files of each kind, damaged at random: ``python -m benchmarks.fuzz`` reads thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzzing import KINDS, finding


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_damaged_is_used_or_reported(kind: str, tmp_path: Path) -> None:
    found = [finding(kind, number, tmp_path / str(number)) for number in range(40)]
    assert [each for each in found if each] == []
