"""Regions of the LogCA paper (ISCA 2017, Figures 6, 10, 11) from the shipped catalogs.

The paper draws cut-offs at powers of two; ours are exact. Figures in comments are the paper's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import dse
from dse.api import StudyResult
from dse.explain.explanation import explain
from dse.explain.regions import Regions

STUDIES = Path(__file__).parents[2] / "studies"


@cache
def _swept(study: str) -> tuple[StudyResult, dict[str, Regions]]:
    loaded = dse.load(STUDIES / f"{study}.toml")
    result = loaded.run()
    rows = result.designs["accelerator"]
    found = explain(loaded, result, [int(n) for n in rows.index])
    return result, {rows.loc[e.design]: e.regions[0] for e in found}


def _ends(study: str, accelerator: str, symbol: str) -> tuple[float, float] | None:
    _, regions = _swept(study)
    spans = [s for s in regions[accelerator].spans if s.symbol == symbol]
    assert len(spans) <= 1
    return (spans[0].low, spans[0].high) if spans else None


CUT_OFFS = [  # accelerator, input, from, to; None: the end of the paper's axis
    ("aes-ultrasparc-t2", "o", None, 24_065),  # 32 KB: the next power of two
    ("aes-ultrasparc-t2", "C", None, 25_598),  # 32 KB
    ("aes-ultrasparc-t2", "A", 1_361.5, None),  # 2 KB
    ("aes-sparc-t4-instructions", "o", None, 172.5),  # 128 B: the last power of two
    ("aes-sparc-t4-instructions", "A", None, None),  # "greater than 16 B"
    ("aes-sparc-t4", "o", None, 498),  # 512 B
    ("aes-sparc-t4", "A", 76.3, None),  # 32 B: differs
    ("aes-sparc-t4", "L", None, 620.6),  # absent: differs
    ("aes-pci-card", "o", None, 240_100),  # 256 KB, from which the overhead was derived
]


@pytest.mark.parametrize(("accelerator", "symbol", "low", "high"), CUT_OFFS)
def test_cut_offs(accelerator: str, symbol: str, low: float | None, high: float | None) -> None:
    ends = _ends("sparc_evolution", accelerator, symbol)
    assert ends is not None
    assert ends[0] == pytest.approx(low if low is not None else 16, rel=1e-3)
    assert ends[1] == pytest.approx(high if high is not None else 2**25, rel=1e-3)


@pytest.mark.parametrize("accelerator", ["aes-ultrasparc-t2", "aes-sparc-t3"])
def test_latency_is_in_no_region_of_the_engines_beside_the_core(accelerator: str) -> None:
    assert _ends("sparc_evolution", accelerator, "L") is None
    assert _ends("sparc_evolution", accelerator, "l") is None


def test_the_regions_of_the_t2_are_those_of_figure_6() -> None:
    _, regions = _swept("sparc_evolution")
    labels = [r.label for r in regions["aes-ultrasparc-t2"].regions]
    assert labels == ["oC", "oCA", "CA", "A"]  # the paper draws o and C ending together
    edges = [r.high for r in regions["aes-ultrasparc-t2"].regions[:-1]]
    assert edges == sorted(edges)


def test_each_interface_shrinks_the_region_of_the_overhead() -> None:
    order = ["aes-pci-card", "aes-ultrasparc-t2", "aes-sparc-t3", "aes-sparc-t4",
             "aes-sparc-t4-instructions"]  # fmt: skip
    ends = [_ends("sparc_evolution", accelerator, "o") for accelerator in order]
    highs = [end[1] for end in ends if end is not None]
    assert len(highs) == 5
    assert highs == sorted(highs, reverse=True)


def test_latency_occupies_the_card_and_it_never_breaks_even() -> None:
    result, regions = _swept("sparc_evolution")
    card = result.designs[result.designs["accelerator"] == "aes-pci-card"].iloc[0]
    assert card["break_even"] > 2**25  # section 5.1: not within the paper's range
    labels = {r.label for r in regions["aes-pci-card"].regions}
    assert all("o" in label or "l" in label for label in labels)


def test_matrix_multiplication_on_three_gpus() -> None:
    result, _ = _swept("gpu_memory")
    # section 5.4: the cut-offs of overhead and acceleration fall from the first to the last
    names = ["gemm-discrete-gpu", "gemm-integrated-gpu", "gemm-shared-memory-gpu"]
    overhead = [_ends("gpu_memory", name, "o") for name in names]
    acceleration = [_ends("gpu_memory", name, "A") for name in names]
    highs = [end[1] for end in overhead if end]
    lows = [end[0] for end in acceleration if end]
    assert highs == sorted(highs, reverse=True)
    assert lows == sorted(lows, reverse=True)
    # Figure 11c: 8 KB and 2 KB
    assert highs[-1] == pytest.approx(8_191, rel=1e-3)
    assert lows[-1] == pytest.approx(1_434, rel=1e-3)
    assert _ends("gpu_memory", names[-1], "L") is None
    peaks = result.designs.set_index("accelerator")["peak_speedup"]
    assert peaks[names[0]] == pytest.approx(30)  # compute bound: β > 1
