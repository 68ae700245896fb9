"""The shipped study of AES on an UltraSPARC T2 class host: front and values by other means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import lambertw

import dse
from dse.run import run

ROOT = Path(__file__).parents[1]
OPTIONS = ("pci-card", "privileged-dma", "user-port", "instruction")
OBJECTIVES = ["speedup", "break_even", "offload_latency", "area"]


def _figure(entry: Any) -> float:
    """Read a catalog's figure in SI units, cycles, bytes and LUTs."""
    value, unit = (
        (entry["value"], entry.get("unit", "")) if isinstance(entry, dict) else (entry, "")
    )
    return float(value) * {"ns": 1e-9}.get(unit, 1.0)


def _row(catalog: str, row: str) -> dict[str, float]:
    content = tomllib.loads((ROOT / "spaces" / f"{catalog}.toml").read_text())[row]
    return {
        name: _figure(entry)
        for name, entry in content.items()
        if name not in ("about", "note", "source", "text")
    }


@pytest.fixture(scope="module")
def designs() -> pd.DataFrame:
    """Return every design of the study, in the order of their numbers."""
    axes = {
        "acceleration": np.arange(2, 33),
        "pipeline_depth": np.array([1, 2, 4, 8]),
        "overlap": np.linspace(0.0, 0.75, 64),
        "streams": np.array([8, 16, 32, 64]),
        "schedule_period": np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32]),
        "interface": np.array(OPTIONS, dtype=object),
    }
    grid = np.meshgrid(*axes.values(), indexing="ij")
    return pd.DataFrame({name: axis.ravel() for name, axis in zip(axes, grid, strict=True)})


def _latency(depth: int, streams: int, switch: int, turns: int, load: float) -> float:
    """Compute the mean latency in clocks of a schedule, by the roots of its generating function.

    Parameters
    ----------
    load : float
        Arrivals of one stream in a clock.
    """
    swap = switch * streams // depth if streams > depth else 0
    round_ = turns * streams + swap
    a = load * round_
    if a >= turns:
        return float("inf")
    gaps = [float(depth)] * (turns - 1) + [float(round_ - (turns - 1) * depth)]
    k = np.arange(1, turns)
    z = -turns / a * lambertw(-a / turns * np.exp(-a / turns) * np.exp(2j * np.pi * k / turns))
    y = z * np.exp(-load * depth * (z - 1))
    queue = a + (1 - load * depth) * float(np.sum(1 / (1 - y)).real)
    queue -= (turns * (turns - 1) - a**2) / (2 * (turns - a))
    polynomial = np.array([turns - a], dtype=complex)
    for root in y:
        polynomial = np.convolve(polynomial, np.array([-root, 1.0]) / (1 - root))
    waiting = 0.0
    for empty, gap in zip(polynomial.real, gaps, strict=True):
        queue -= 1 - empty  # one is taken, where one waits
        waiting += (queue + load * gap / 2) * gap
        queue += load * gap
    return waiting / round_ / load + depth


def _objectives(designs: pd.DataFrame) -> pd.DataFrame:
    """Compute the objectives from the papers' formulas, written out once more."""
    kernel, engine = _row("kernels", "aes-ultrasparc-t2"), _row("engines", "aes-4-rounds")
    links = pd.DataFrame({o: _row("interfaces", o) for o in OPTIONS}).T
    link = links.loc[designs["interface"]].reset_index(drop=True)
    a = designs["acceleration"].to_numpy(float)
    depth = designs["pipeline_depth"].to_numpy(float)
    overlap = designs["overlap"].to_numpy(float)
    streams = designs["streams"].to_numpy(float)

    def period(c: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = engine["logic_steps"]
        parts = np.ceil(steps / np.maximum(c - engine["unsplit_stages"], 1)) / steps
        return (
            engine["logic_delay"] * parts + engine["register_delay"] + engine["routing_delay"] * c
        )

    clock = period(depth)
    lanes = np.ceil(np.round(a / (period(np.ones(1)) / clock), 9))
    cases = pd.DataFrame(
        {
            "depth": depth.astype(int),
            "streams": streams.astype(int),
            "turns": designs["schedule_period"].to_numpy(),
            "load": np.ceil(720720 / lanes) * 1e6 / 720720 * clock,
        }
    )
    distinct = cases.drop_duplicates()
    answers = [_latency(int(d), int(n), 4, int(r), float(x)) for d, n, r, x in distinct.to_numpy()]
    latency = cases.merge(distinct.assign(latency=answers), how="left")["latency"].to_numpy()
    swap = np.where(streams > depth, 4 * streams / depth, 0)
    turns = cases["turns"].to_numpy()
    utilization = cases["load"].to_numpy() * (turns * streams + swap) / turns

    keep = 1 - overlap
    o = keep * link["overhead"].to_numpy()
    fixed = keep * (link["latency"].to_numpy() + latency * clock * 1.16e9)
    per_byte = link["latency_per_byte"].to_numpy()
    c, beta = kernel["computational_index"], kernel["complexity"]

    def accelerated(g: NDArray[np.float64] | float) -> NDArray[np.float64]:
        return np.asarray(o + fixed + per_byte * g + c * g**beta / a)

    low, high = np.full(len(a), 1e-6), np.full(len(a), 1e15)
    for _ in range(46):  # one crossing: β > 1
        middle = np.sqrt(low * high)
        pays = c * middle**beta >= accelerated(middle)
        low, high = np.where(pays, low, middle), np.where(pays, middle, high)
    engines = np.ceil(64 / streams)
    contexts = lanes * np.maximum(streams - depth, 0) * 256
    area = engines * (
        lanes * engine["lane_area"]
        + lanes * engine["stage_area"] * (depth - 1)
        + (contexts + 2 * 8 * overlap * 65536) / 16
        + link["interface_area"].to_numpy()
    )
    feasible = (area <= 400_000) & (utilization <= 0.9)
    feasible &= streams * link["engines_per_core"].to_numpy() <= 8
    return pd.DataFrame(
        {
            "speedup": c * 1024**beta / accelerated(1024.0),
            "break_even": np.where(np.isinf(latency), np.inf, high),
            "offload_latency": accelerated(64.0),
            "area": area,
            "feasible": feasible,
        }
    )


def _front(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the non-dominated rows by repeated sweeps: no library, no archive."""
    left = np.arange(len(points))
    found: list[int] = []
    while len(left):
        here = points[left]
        best = left[np.argmin(here.sum(axis=1))]  # nothing dominates a point of least sum
        found.append(int(best))
        point = points[best]
        equal = (here == point).all(axis=1)
        found += [int(i) for i in left[equal] if i != best]
        left = left[~((here >= point).all(axis=1))]
    return np.array(sorted(found))


def test_front_and_values_by_other_means(designs: pd.DataFrame, tmp_path: Path) -> None:
    study = dse.load(ROOT / "studies" / "crypto.toml")
    result = run(study, tmp_path / "crypto")
    assert result.certificate.complete
    assert result.certificate.evaluated == len(designs) == 1_269_760
    values = study.evaluate(designs)
    expected = _objectives(designs)
    feasible = np.flatnonzero(expected["feasible"].to_numpy())
    np.testing.assert_array_equal(np.flatnonzero(values["feasible"].to_numpy()), feasible)
    assert result.certificate.feasible == len(feasible)
    for name in OBJECTIVES:
        np.testing.assert_allclose(values[name], expected[name], rtol=1e-9, err_msg=name)
    signs = np.array([-1.0, 1.0, 1.0, 1.0])
    # scaled so that the sum that picks the next point is not ruled by the area
    points = values[OBJECTIVES].to_numpy()[feasible] * signs / np.array([1.0, 1e3, 1e4, 1e5])
    front = feasible[_front(points)]
    written = pd.read_csv(tmp_path / "crypto" / "front.csv", index_col="design")
    np.testing.assert_array_equal(written.index, front)
    for name in OBJECTIVES:
        np.testing.assert_array_equal(written[name], values[name].to_numpy()[front])


def test_the_latency_of_the_test_is_that_of_the_paper_s_setting() -> None:
    # Figure 2's setting: C = 4, N = 8, S = 4, 10 ns; simulated with 4e6 elements elsewhere
    for load, turns, exact in ((0.48, 4, 211.19), (0.48, 64, 965.68), (0.16, 2, 141.08)):
        assert 10 * _latency(4, 8, 4, turns, load / 8) == pytest.approx(exact, abs=0.02)


def test_sampled_search_finds_much_of_the_front(tmp_path: Path) -> None:
    text = (ROOT / "studies" / "crypto.toml").read_text()
    path = tmp_path / "crypto.toml"
    path.write_text(text + '\n[search]\nmethod = "evolution"\nevaluations = 20000\nseed = 1\n')
    found = dse.load(path).run()
    whole = dse.load(ROOT / "studies" / "crypto.toml").run()
    worst = {o.name: float(whole.front.designs[o.name].max()) * 1.1 for o in whole.objectives}
    worst["speedup"] = 0.0
    share = found.hypervolume(worst) / whole.hypervolume(worst)
    assert 0.97 < share <= 1.0
