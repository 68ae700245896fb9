"""An interruption of a search loses nothing; `benchmarks/interruptions.py` makes 2,000 of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.interruptions import Case, Interruptions


@pytest.mark.parametrize("search", ["exhaustive", "bound", "evolution", "guided", "NSGAIISampler"])
def test_an_interrupted_search_ends_as_if_nothing_had_been(search: str, tmp_path: Path) -> None:
    with Interruptions(Case(search), tmp_path) as interruptions:
        for cut in interruptions.cuts(6):
            interruptions.cut(cut)
        interruptions.certify()
    assert not interruptions.wrong
