"""Curves along an input, and optimization regions.

The regions are those of the LogCA paper (ISCA 2017, Figures 6, 10, 11), closed forms, and direct
calls. The paper draws cut-offs at powers of two; ours are exact. Values in comments are the
paper's.
"""

from __future__ import annotations

import math
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.api import StudyResult
from dse.explain.curves import (
    BestPoint,
    Better,
    Curve,
    Line,
    Regions,
    draw_curves,
    find_best_point,
    find_regions,
)
from dse.explain.explanation import explain
from objectives.logca import offload
from objectives.sharing import round_robin, simulate
from tests.explain.examples import MODELS, TINY, call, calls
from tests.explain.test_sensitivity import ACCELERATION, INDEX, OVERHEAD, logca, one

STUDIES = Path(__file__).parents[2] / "benchmarks" / "studies"
STUDY = STUDIES / "shared_pipeline.toml"


def bests(curve: Curve) -> list[BestPoint]:
    return [find_best_point(curve, line) for line in curve.lines]


def test_the_curve_of_figure_2() -> None:
    study = dse.load(STUDY)
    # 6e6 arrivals a second; a period of 4, and one of 27
    (curve,), (skipping,) = (e.curves for e in explain(study, study.run(), [131, 154]))
    every = np.unique(np.round(np.geomspace(1, 128, 121)))
    np.testing.assert_array_equal(curve.grid, every)
    direct = round_robin(8, 4, 4, curve.grid, 6e6, 10e-9)
    lines = {line.quantity: line for line in curve.lines}
    np.testing.assert_allclose(lines["latency"].values, direct.latency, rtol=1e-12)
    np.testing.assert_allclose(lines["latency_printed"].values, direct.latency_printed, rtol=1e-12)
    simulated = lines["latency_simulated"]
    assert simulated.low is not None
    assert simulated.high is not None
    one = simulate(8, 4, 4, 4, 6e6, 10e-9, elements=200_000, seed=1)
    row = int(np.flatnonzero(curve.grid == 4)[0])
    assert (simulated.low[row], simulated.values[row], simulated.high[row]) == (
        one.low,
        one.latency,
        one.high,
    )
    inside = (simulated.low <= direct.latency) & (direct.latency <= simulated.high)
    assert inside.mean() > 0.9  # 99 % intervals; the first period is near saturation
    marked = {line.quantity: find_best_point(curve, line) for line in curve.lines}
    assert marked["latency"].at == 4
    assert marked["latency"].value == pytest.approx(211.19e-9, rel=1e-4)
    assert marked["latency"].here == marked["latency"].value
    assert marked["latency_printed"].at == 5
    # The axis of another design would skip the place of this one.
    assert 27 not in every
    np.testing.assert_array_equal(skipping.grid, np.sort([*every, 27]))
    direct = round_robin(8, 4, 4, 27, 6e6, 10e-9)
    told = {line.quantity: find_best_point(skipping, line).here for line in skipping.lines}
    assert told["latency"] == pytest.approx(float(direct.latency), rel=1e-12)
    assert told["latency_printed"] == pytest.approx(float(direct.latency_printed), rel=1e-12)


def test_a_bound_input_and_a_design_off_the_axis() -> None:
    content = tomllib.loads(STUDY.read_text())
    content["curve"] = [
        {
            "name": "loads",
            "axis": "arrival_rate",
            "values": ["3 Melement/s", "1 Melement/s", "30 Melement/s"],
            "quantities": ["latency"],
            "at": {"schedule_period": 16, "clock_period": "20 ns"},
        }
    ]
    one = {"arrival_rate": 5e7, "schedule_period": 4.0}
    (curve,) = draw_curves(dse.from_mapping(content), one)
    np.testing.assert_array_equal(curve.grid, [1e6, 3e6, 30e6])
    direct = round_robin(8, 4, 4, 16, curve.grid, 20e-9).latency
    np.testing.assert_allclose(curve.lines[0].values, direct, rtol=1e-12)
    assert np.isposinf(
        curve.lines[0].values[-1]
    )  # 30 million a second are more than the engine serves
    (found,) = bests(curve)
    assert (found.at, found.edge) == (1e6, True)
    assert np.isnan(found.here)


GRID = np.array([1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize(
    ("better", "word", "at"), [("lower", "least", 2.0), ("higher", "greatest", 4.0), (None, "", 0)]
)
def test_a_curve_marks_the_best_and_not_the_least(better: Better, word: str, at: float) -> None:
    line = Line("q", "1", "a quantity", np.array([3.0, 1.0, 9.0, 5.0]), None, None, better)
    best = find_best_point(Curve("c", "x", "1", "", 1.0, GRID, True, (line,)), line)
    assert best.word == word
    assert best.here == 3.0
    assert best.at == at or (not word and math.isnan(best.at))


def test_which_way_is_better_is_the_objectives_or_declared() -> None:
    content = TINY | {
        "objective": [{"maximize": "speed"}, {"minimize": "load"}],
        "curve": [
            {
                "name": "along lanes",
                "axis": "lanes",
                "integer": [1, 16],
                "quantities": ["speed", "time", "load", "overlap"],
            }
        ],
    }
    drawn = dse.from_mapping(content, MODELS)
    (curve,) = draw_curves(drawn, {"lanes": 2.0})
    assert [line.better for line in curve.lines] == ["higher", None, "lower", "higher"]
    best = find_best_point(curve, curve.lines[0])
    assert (best.word, best.at) == ("greatest", 16.0)


# Regions of the paper ------------------------------------------------------------------------


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


def test_regions_of_an_output_are_those_of_an_objective() -> None:
    made = dse.load(STUDIES.parents[1] / "studies" / "sparc_evolution.toml")
    assert "speedup" not in {objective.name for objective in made.evaluator.objectives}
    (explained,) = explain(made, made.run(), [1])
    _, regions = _swept("sparc_evolution")
    ours = [(r.label, r.low, r.high) for r in explained.regions[0].regions]
    assert ours == [(r.label, r.low, r.high) for r in regions["aes-ultrasparc-t2"].regions]


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


# Regions of closed forms ---------------------------------------------------------------------


def ends(regions: Regions, name: str) -> tuple[float, float]:
    (span,) = [s for s in regions.spans if s.input == name]
    return span.low, span.high


@pytest.mark.parametrize(("factor", "threshold"), [(10.0, 0.2), (2.0, 0.1), (100.0, 1.5)])
def test_cut_offs_of_linear_kernels_in_closed_form(factor: float, threshold: float) -> None:
    # S = C g / (o + C g / A); a k-fold better input helps by 1 + t where, with x = C g / A,
    # o: o + x = (1 + t) (o / k + x);  C: k (o + x) = (1 + t) (o + k x);
    # A: o + x = (1 + t) (o + x / k)
    study = logca({"factor": factor, "threshold": threshold})
    k, t = factor, 1 + threshold
    regions = one(study, 2).regions[0]  # acceleration 20, overhead 1000
    scale = OVERHEAD * ACCELERATION / INDEX
    falling = (1 - t / k) / (t - 1) * scale
    rising = (t - 1) / (1 - t / k) * scale
    assert list(ends(regions, "overhead")) == pytest.approx([1.0, falling], rel=1e-12)
    assert list(ends(regions, "computational_index")) == pytest.approx([1.0, falling], rel=1e-12)
    assert list(ends(regions, "acceleration")) == pytest.approx([rising, 2.0**30], rel=1e-12)
    assert (regions.factor, regions.threshold) == (factor, threshold)


def test_regions_partition_the_axis_and_agree_with_direct_calls() -> None:
    study = logca(latency=30.0, latency_per_byte=0.05)
    regions = one(study, 2).regions[0]
    assert regions.regions[0].low == 1.0
    assert regions.regions[-1].high == 2.0**30
    for left, right in zip(regions.regions, regions.regions[1:], strict=False):
        assert left.high == right.low
        assert left.inputs != right.inputs
    inputs = {
        "overhead": OVERHEAD,
        "latency": 30.0,
        "latency_per_byte": 0.05,
        "computational_index": INDEX,
        "acceleration": ACCELERATION,
    }
    better = {
        name: value * 10 if name in ("computational_index", "acceleration") else value / 10
        for name, value in inputs.items()
    }
    for region in regions.regions:
        for share in (0.01, 0.5, 0.99):
            g = region.low ** (1 - share) * region.high**share
            before = offload(granularity=g, complexity=1.0, **inputs).speedup
            helps = {
                name
                for name in inputs
                if offload(granularity=g, complexity=1.0, **{**inputs, name: better[name]}).speedup
                >= 1.2 * before
            }
            assert set(region.inputs) == helps


def test_a_cut_off_is_exact_to_the_last_bit() -> None:
    study = logca()
    regions = one(study, 2).regions[0]
    high = ends(regions, "overhead")[1]

    def ratio(g: float) -> float:
        before = offload(g, OVERHEAD, 0.0, 0.0, INDEX, 1.0, ACCELERATION).speedup
        return float(offload(g, OVERHEAD / 10, 0.0, 0.0, INDEX, 1.0, ACCELERATION).speedup / before)

    assert ratio(high) >= 1.2
    assert ratio(math.nextafter(high, math.inf)) < 1.2


def test_many_designs_at_once_are_swept_as_each_alone() -> None:
    study = logca()
    evaluator = study.evaluator
    columns = evaluator.space.columns(evaluator.space.from_index(np.arange(4)))
    assert study.regions is not None
    together = find_regions(evaluator, study.regions, study.rule, columns)
    for row in range(4):
        single = {n: v[row : row + 1] for n, v in columns.items()}
        (alone,) = find_regions(evaluator, study.regions, study.rule, single)
        assert alone.spans == together[row].spans
        assert alone.regions == together[row].regions
        assert np.array_equal(alone.base, together[row].base)


def test_regions_are_of_the_reduced_objective() -> None:
    swept = calls(
        space={"lanes": {"integer": [1, 16]}, "overlap": {"values": [0.0, 0.5]}},
        inputs={},
        regions={"axis": "lanes", "low": 1, "high": 16},
    )
    result = swept.run()
    (found,) = swept.explain(result, 0)
    (regions,) = found.regions
    assert regions.condition == "mean over size"
    overlap = float(found.values["overlap"])
    assert (regions.grid == np.round(regions.grid)).all()  # only whole numbers are lanes
    mean = np.mean([call(s, overlap, regions.grid).time for s in (64.0, 1024.0)], axis=0)
    np.testing.assert_allclose(regions.base, mean, rtol=1e-12)


def test_the_axis_of_regions_takes_the_place_of_its_own_scenarios() -> None:
    swept = calls(regions={"axis": "size", "low": "1 B", "high": "1 MiB"})
    (regions,) = swept.explain(swept.run(), 3)[0].regions
    assert regions.condition == ""
    np.testing.assert_allclose(regions.base, call(regions.grid, 0.75, 4.0).time, rtol=1e-12)


def test_regions_along_whole_numbers_end_at_whole_numbers() -> None:
    swept = calls(
        space={"lanes": {"integer": [1, 64]}},
        inputs={"overlap": 0.0},
        regions={"axis": "lanes", "low": 1, "high": 1000},
    )
    (regions,) = swept.explain(swept.run(), 0)[0].regions
    (span,) = [s for s in regions.spans if s.input == "overlap"]

    def helps(lanes: float) -> bool:
        before, after = (
            np.mean([call(size, overlap, lanes).time for size in (64.0, 1024.0)])
            for overlap in (0.0, 0.9)
        )
        return bool(before / after >= 1.2)

    every = [lanes for lanes in range(1, 1001) if helps(float(lanes))]
    assert (span.low, span.high) == (every[0], every[-1])
    for left, right in zip(regions.regions, regions.regions[1:], strict=False):
        assert left.high + 1 == right.low
