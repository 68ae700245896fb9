"""Latency against load: the queue held to closed forms, fits to known queues, and refusals."""

from __future__ import annotations

import json
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.fit.command import run
from dse.fit.queue import Load, fit_load, latency, read_loads
from dse.model.quantity import Array
from dse.problems import InputError

DEPTHS: Array = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
RATES: Array = np.linspace(10.0, 95.0, 9, dtype=np.float64)
CLOSED = np.array([70e-6, 2.5e-6])  # overhead and service time
OPEN = np.array([2e-6, 0.5e-6, 100.0])  # and capacity
MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"
SUM = "overhead_and_service_time"


def fitted(folder: Path, head: str, rows: str) -> tuple[str, dict[str, Any]]:
    """Return the text and the record of a table's fit."""
    (folder / "table.csv").write_text(f"{head}\n{rows}")
    (text,) = run(folder / "table.csv", record=folder / "fit.json")
    record: dict[str, Any] = json.loads((folder / "fit.json").read_text())["table"]
    assert record["break_even"] is None
    assert record["parameters"].keys() == record["intervals"].keys()
    return text, record


def lines(loads: Array, times: Array) -> str:
    return "\n".join(f"{n},{t!r}" for n, t in zip(loads.tolist(), times.tolist(), strict=True))


def test_requests_in_flight_wait_as_those_of_a_repairman() -> None:
    """The machine repairman's problem: throughput is (1 - P0)/s, by the probabilities' sum."""
    overhead, service = CLOSED
    for n in (1, 2, 7, 40):
        terms = [factorial(n) / factorial(n - k) * (service / overhead) ** k for k in range(n + 1)]
        throughput = (1.0 - 1.0 / sum(terms)) / service
        assert latency(np.array([float(n)]), CLOSED)[0] == pytest.approx(n / throughput, rel=1e-12)


def test_exact_latencies_give_the_queue_back(tmp_path: Path) -> None:
    text, record = fitted(tmp_path, "queue_depth,latency_s", lines(DEPTHS, latency(DEPTHS, CLOSED)))
    wanted = {"overhead": CLOSED[0], "service_time": CLOSED[1], "knee": 29.0}
    assert record["parameters"] == pytest.approx(wanted, rel=1e-6)
    assert record["leave_one_out"]["worst"] < 1e-6
    assert "29 in flight" in text
    found = fit_load(Load("path", RATES, latency(RATES, OPEN), "Gbps"))
    values = [found.parameters[name] for name in ("overhead", "service_time", "capacity")]
    assert values == pytest.approx(OPEN, rel=1e-5)
    at_knee = latency(np.array([found.parameters["knee"]]), OPEN)[0]
    assert at_knee == pytest.approx(2 * (OPEN[0] + OPEN[1]), rel=1e-5)
    assert SUM not in found.parameters


def test_intervals_have_the_truth() -> None:
    rng, held = np.random.default_rng(5), 0
    truth = {"overhead": CLOSED[0], "service_time": CLOSED[1], "knee": 29.0}
    for _ in range(6):
        noise = np.exp(0.05 * rng.standard_normal(len(DEPTHS)))
        found = fit_load(Load("drive", DEPTHS, latency(DEPTHS, CLOSED) * noise))
        held += sum(found.intervals[n][0] <= v <= found.intervals[n][1] for n, v in truth.items())
    assert 16 <= held <= 18


def test_a_full_queue_is_left_out(tmp_path: Path) -> None:
    rates = np.array([10.0, 30, 50, 70, 90, 110])
    times = np.append(latency(rates[:-1], OPEN), 1e-3)
    text, record = fitted(tmp_path, "offered_Gbps,latency_s", lines(rates, times))
    assert "from a load of 110 on the queue is full: left out" in text
    capacity, knee = (
        next(line for line in text.splitlines() if line.split()[:1] == [name])
        for name in ("capacity", "knee")
    )
    assert "100 Gbps " in capacity
    assert " Gbps  (" in knee
    assert record["load_unit"] == "Gbps"
    assert record["parameters"]["capacity"] == pytest.approx(100.0, rel=1e-3)


def test_intervals_end_where_a_value_cannot_be(tmp_path: Path) -> None:
    """A knee is at one request in flight at least; a capacity, at the loads that were carried."""
    _, record = fitted(tmp_path, "queue_depth,latency_s", "1,5\n2,1\n4,7\n8,2\n16,9\n32,1\n")
    low, high = map(float, record["intervals"]["knee"])
    assert 1.0 <= low <= high
    noisy = [1.04e-7, 1.36e-7, 1.99e-7, 4.1e-7, 8e-7, 1.35e-6, 2.76e-6, 3.46e-6, 4.73e-6]
    rates = np.array([51.0, 55, 60, 65, 70, 75, 80, 85, 90])
    ends = fit_load(Load("switch", rates, np.array(noisy), "Gbps")).intervals
    assert ends["capacity"][0] >= 90.0
    assert ends["knee"][0] == pytest.approx(45.0, rel=2e-3)


FLAT = "1,10\n2,10.1\n3,10\n4,10.05\n5,10\n6,10.02\n"
FALLING = "1,10\n2,9.9\n4,9.8\n8,9.7\n16,9.6\n32,9.5\n"
STEEP = "1,100\n2,40\n4,15\n8,7\n16,3\n32,1\n"


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("queue_depth", FALLING),
        ("offered_Gbps", FLAT),
        ("offered_Gbps", STEEP),
    ],
)
def test_latencies_that_do_not_rise_have_no_knee(head: str, rows: str, tmp_path: Path) -> None:
    """Nothing distinguishes the service time from the overhead: their sum is given."""
    text, record = fitted(tmp_path, f"{head},latency_us", rows)
    rated = {"capacity"} if head == "offered_Gbps" else set()
    assert record["parameters"].keys() == {SUM, "knee"} | rated
    assert record["parameters"]["knee"] == record["intervals"]["knee"][1] == "inf"
    assert any("cannot be distinguished" in note for note in record["notes"])
    measure = "loads up to the capacity" if rated else "more requests in flight"
    assert f"Measure {measure}" in text
    assert ("is unreliable" in text) == (rows == STEEP)
    if rows == FLAT:
        low, high = record["intervals"][SUM]
        assert low < record["parameters"][SUM] < high
        assert 9.8e-6 < low < 10.03e-6 < high < 10.2e-6
        assert "10.03 µs" in text
        assert not rated or record["intervals"]["capacity"][0] >= 6


@pytest.mark.parametrize(
    ("loads", "values", "unit"),
    [
        (DEPTHS[:6], np.array([200e-6, 0.1e-6]), ""),
        (np.linspace(1.0, 8.0, 8), np.array([2e-6, 0.5e-6, 1000.0]), "Gbps"),
    ],
)
def test_a_sum_has_its_truth_in_its_interval(loads: Array, values: Array, unit: str) -> None:
    rng = np.random.default_rng(4)
    noise = np.exp(0.02 * rng.standard_normal(len(loads)))
    found = fit_load(Load("drive", loads, latency(loads, values) * noise, unit))
    low, high = found.intervals[SUM]
    assert low <= values[:2].sum() <= high
    assert unit != "" or 10 < found.intervals["knee"][0] < 2001


FOUR = "1,1\n2,1\n4,1\n8,1\n"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "queue_depth,latency_s\n1,1\n2,1\n4,1\n",
            "queue_depth has 3 values: a fit needs at least 4",
        ),
        ("queue_depth,latency_s\n1,1\n2,-1\n4,1\n8,1\n", "is negative in line 3"),
        ("queue_depth,latency_s\n1,1\n2.5,1\n4,1\n8,1\n", "that are not whole"),
        ("in_flight,latency_s\n1,1\n2,1\n4,1\n1e9,1\n", "at most 4,096 are followed"),
        ("in_flight,latency_s\n1,9 us\n2,9 us\n4,9 us\n8,9 us\n", "has '9 us' in line 2"),
        (f"in_flight,latency_mean\n{FOUR}", "has no unit in its name"),
        (f"queue_depth,latency_B\n{FOUR}", "column 'latency_B'"),
        (f"offered_us,latency_us\n{FOUR}", "is not a rate"),
        (f"offered_load,latency_us\n{FOUR}", "is not a rate"),
        *(
            (f"{head}\n1,1,1\n2,1,2\n4,1,4\n8,1,8\n", f"{both} are each the")
            for head, both in (
                ("offered_Gbps,latency_us,latency_mean_us", "'latency_us' and 'latency_mean_us'"),
                ("in_flight,latency_us,queue_depth", "'queue_depth' and 'in_flight'"),
                ("offered_Gbps,latency_us,in_flight", "'in_flight' and 'offered_Gbps'"),
                (
                    "offered_Gbps,latency_us,offered_total_Gbps",
                    "'offered_total_Gbps' and 'offered_Gbps'",
                ),
            )
        ),
    ],
)
def test_a_bad_table_has_one_problem(table: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(table)
    with pytest.raises(InputError) as refused:
        run(tmp_path / "bad.csv")
    (problem,) = refused.value.problems
    assert message in problem.message


def test_a_series_of_few_loads_leaves_the_others(tmp_path: Path) -> None:
    rows = [f"{row},drive" for row in FOUR.split()] + ["1,1,few", "2,1,few", "4,1,few"]
    (tmp_path / "load.csv").write_text("\n".join(["queue_depth,latency_s,run", *rows]))
    loads, hints = read_loads(tmp_path / "load.csv", ["run"]) or ([], [])
    assert hints[0].startswith("left out: few: queue_depth has 3 values: a fit needs at least 4")
    assert [load.name for load in loads] == ["drive"]


@pytest.mark.parametrize("option", ["given", "catalog", "html"])
def test_options_of_times_are_refused_for_loads(option: str, tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text(f"queue_depth,latency_s\n{FOUR}")
    values: dict[str, Any] = {
        "given": ["overhead=1us"],
        "catalog": tmp_path / "c.toml",
        "html": tmp_path / "c.html",
    }
    with pytest.raises(InputError, match="not for latency against load"):
        run(tmp_path / "load.csv", **{option: values[option]})


def test_noise_that_leads_fits_astray_gives_intervals() -> None:
    """Fits from other starts end elsewhere; an end is sought only where the sign is remembered."""
    rates = np.array([2.0, 17, 39, 42, 50, 56, 57])
    times = np.array(
        [
            1.199407261188307e-06,
            1.016317660405478e-06,
            3.333864854194998e-06,
            1.2080231574967556e-06,
            2.0236905356219825e-06,
            2.2603968158265483e-06,
            7.833940600825802e-06,
        ]
    )
    found = fit_load(Load("path", rates, times, "Gbps"))
    for name, value in found.parameters.items():
        low, high = found.intervals[name]
        assert low <= value <= high
    assert found.intervals["knee"][1] == pytest.approx(found.intervals["capacity"][1] / 2, rel=0.01)
