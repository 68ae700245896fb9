"""Latency against load: the queue held to closed forms, fits to known queues, and refusals."""

from __future__ import annotations

import json
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from dse.fit.command import run
from dse.fit.queue import Load, fit_load, fit_loads, latency, read_loads
from dse.model.quantity import Array
from dse.problems import InputError

DEPTHS: Array = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
CLOSED = np.array([70e-6, 2.5e-6])
OPEN = np.array([2e-6, 0.5e-6, 100.0])
MEASURED = Path(__file__).parents[2] / "benchmarks" / "measured"


def test_requests_in_flight_wait_as_those_of_a_repairman() -> None:
    """The machine repairman's problem: throughput is (1 - P0)/s, by the probabilities' sum."""
    overhead, service = CLOSED
    for n in (1, 2, 7, 40):
        terms = [factorial(n) / factorial(n - k) * (service / overhead) ** k for k in range(n + 1)]
        throughput = (1.0 - 1.0 / sum(terms)) / service
        found = latency(np.array([float(n)]), True, CLOSED)[0]
        assert found == pytest.approx(n / throughput, rel=1e-12)


def test_exact_latencies_give_the_queue_back() -> None:
    found = fit_load(Load("drive", DEPTHS, latency(DEPTHS, True, CLOSED), True))
    assert found.parameters["overhead"] == pytest.approx(CLOSED[0], rel=1e-6)
    assert found.parameters["service_time"] == pytest.approx(CLOSED[1], rel=1e-6)
    assert found.parameters["knee"] == pytest.approx(29.0, rel=1e-6)
    assert np.abs(found.errors).max() < 1e-6
    rates: Array = np.linspace(10.0, 95.0, 9, dtype=np.float64)
    found = fit_load(Load("path", rates, latency(rates, False, OPEN), False))
    told = [found.parameters[name] for name in ("overhead", "service_time", "capacity")]
    assert told == pytest.approx(OPEN, rel=1e-5)
    at_knee = latency(np.array([found.parameters["knee"]]), False, OPEN)[0]
    assert at_knee == pytest.approx(2 * (OPEN[0] + OPEN[1]), rel=1e-5)


def test_intervals_have_the_truth() -> None:
    drawn, held = np.random.default_rng(5), 0
    truth = {"overhead": CLOSED[0], "service_time": CLOSED[1], "knee": 29.0}
    for _ in range(6):
        noise = np.exp(0.05 * drawn.standard_normal(len(DEPTHS)))
        found = fit_load(Load("drive", DEPTHS, latency(DEPTHS, True, CLOSED) * noise, True))
        held += sum(found.intervals[n][0] <= v <= found.intervals[n][1] for n, v in truth.items())
    assert 16 <= held <= 18


def test_a_full_queue_is_left_out_and_told(tmp_path: Path) -> None:
    rates = np.array([10.0, 30, 50, 70, 90, 110])
    times = np.append(latency(rates[:-1], False, OPEN), 1e-3)
    rows = [f"{r},{t!r}" for r, t in zip(rates.tolist(), times.tolist(), strict=True)]
    (tmp_path / "path.csv").write_text("\n".join(["offered_Gbps,latency_s", *rows]))
    told = run(tmp_path / "path.csv", record=tmp_path / "fit.json")
    assert "from a load of 110 on the queue is full: left out" in told[0]
    kept = json.loads((tmp_path / "fit.json").read_text())["path"]
    assert kept["parameters"]["capacity"] == pytest.approx(100.0, rel=1e-3)
    assert kept["break_even"] is None
    assert kept.keys() >= {"intervals", "leave_one_out", "notes", "break_even_interval"}


def test_a_switch_that_is_no_queue_is_told(tmp_path: Path) -> None:
    lines = (MEASURED / "lognic_switch_load.csv").read_text().splitlines()
    names = [line for line in lines if line.startswith(("#", "app", "LB"))]
    (tmp_path / "switch.csv").write_text("\n".join(names))
    told = run(tmp_path / "switch.csv", by=["app"])
    assert "hardly to be trusted" in told[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("queue_depth,latency_s\n1,1\n2,1\n4,1\n", "queue_depth has 3 values: at least 4"),
        ("queue_depth,latency_s\n1,1\n2,-1\n4,1\n8,1\n", "that are not above 0"),
        ("queue_depth,latency_s\n1,1\n2.5,1\n4,1\n8,1\n", "that are not whole"),
        ("in_flight,latency_s\n1,1\n2,1\n4,1\n1e9,1\n", "at most 4,096 are followed"),
        ("in_flight,latency_s\n1,9 us\n2,9 us\n4,9 us\n8,9 us\n", "'latency_s' has texts"),
        ("in_flight,latency_mean\n1,1\n2,1\n4,1\n8,1\n", "has no unit of time in its name"),
        ("queue_depth,latency_B\n1,1\n2,1\n4,1\n8,1\n", "column 'latency_B'"),
    ],
)
def test_bad_tables_are_told_once(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError) as raised:
        run(tmp_path / "bad.csv")
    assert told in str(raised.value)
    assert len(raised.value.problems) == 1
    with pytest.raises(InputError, match=r"not for latency against load|bad"):
        run(tmp_path / "bad.csv", catalog=tmp_path / "c.toml")


def test_intervals_end_where_a_value_cannot_be(tmp_path: Path) -> None:
    """Latencies without a law leave a knee open, but one request is in flight at least."""
    rows = "1,5\n2,1\n4,7\n8,2\n16,9\n32,1\n"
    for head in ("queue_depth,latency_s", "offered_Gbps,latency_s"):
        (tmp_path / "rubbish.csv").write_text(f"{head}\n{rows}")
        (found,) = fit_loads(read_loads(tmp_path / "rubbish.csv", []) or [])
        name, least = ("knee", 1.0) if found.series.in_flight else ("capacity", 16.0)
        low, high = found.intervals[name]
        assert least <= low <= high


FLAT = "1,10\n2,10.1\n3,10\n4,10.05\n5,10\n6,10.02\n"


def test_a_curve_without_a_knee_gives_the_sum_of_overhead_and_service(tmp_path: Path) -> None:
    """Where latency does not rise, nothing tells the time in the queue's server from the rest."""
    (tmp_path / "flat.csv").write_text(f"offered_Gbps,latency_us\n{FLAT}")
    told = run(tmp_path / "flat.csv", record=tmp_path / "fit.json")
    kept = json.loads((tmp_path / "fit.json").read_text())["flat"]
    assert not {"overhead", "service_time"} & kept["parameters"].keys()
    assert kept["parameters"].keys() == kept["intervals"].keys()
    whole = kept["parameters"]["overhead_and_service_time"]
    low, high = kept["intervals"]["overhead_and_service_time"]
    assert low < whole < high
    assert 9.8e-6 < low < 10.03e-6 < high < 10.2e-6
    assert kept["parameters"]["capacity"] == kept["parameters"]["knee"] == "inf"
    assert kept["intervals"]["capacity"][0] >= 6
    assert "overhead and service time are not told apart" in told[0]
    assert "10.03 µs" in told[0]
    assert any("not told apart" in note for note in kept["notes"])


FALLING = "1,10\n2,9.9\n4,9.8\n8,9.7\n16,9.6\n32,9.5\n"
STEEP = "1,100\n2,40\n4,15\n8,7\n16,3\n32,1\n"


@pytest.mark.parametrize("rows", [FLAT, FALLING, STEEP])
@pytest.mark.parametrize("head", ["queue_depth", "offered_Gbps"])
def test_latencies_that_do_not_rise_have_no_knee(head: str, rows: str, tmp_path: Path) -> None:
    """In flight they gave a service time of picoseconds, a knee of millions, and no note."""
    (tmp_path / "flat.csv").write_text(f"{head},latency_us\n{rows}")
    told = run(tmp_path / "flat.csv", record=tmp_path / "fit.json")
    kept = json.loads((tmp_path / "fit.json").read_text())["flat"]
    beside = {"capacity"} if head == "offered_Gbps" else set()
    assert kept["parameters"].keys() == {"overhead_and_service_time", "knee"} | beside
    assert kept["parameters"].keys() == kept["intervals"].keys()
    assert kept["parameters"]["knee"] == "inf"
    assert kept["intervals"]["knee"][1] == "inf"
    assert "overhead and service time are not told apart" in told[0]
    measure = "loads up to the capacity" if beside else "more requests in flight"
    assert f"Measure {measure}" in told[0]
    assert ("hardly to be trusted" in told[0]) == (rows == STEEP)


def test_a_knee_beyond_what_was_measured_has_a_lower_end() -> None:
    drawn, truth, flat, held = np.random.default_rng(4), np.array([200e-6, 0.1e-6]), 0, 0
    depths: Array = np.array([1.0, 2, 4, 8, 16, 32])
    for _ in range(6):
        noise = np.exp(0.02 * drawn.standard_normal(len(depths)))
        found = fit_load(Load("drive", depths, latency(depths, True, truth) * noise, True))
        if "overhead_and_service_time" in found.parameters:
            flat += 1
            low, high = found.intervals["overhead_and_service_time"]
            held += low <= 200.1e-6 <= high and 10 < found.intervals["knee"][0] < 2001
    assert flat >= 5
    assert flat - held <= 1


def test_the_sum_has_its_truth_in_its_interval() -> None:
    drawn, flat, held = np.random.default_rng(3), 0, 0
    rates: Array = np.linspace(1.0, 8.0, 8, dtype=np.float64)  # of a capacity of 1,000
    for _ in range(6):
        noise = np.exp(0.02 * drawn.standard_normal(len(rates)))
        times = latency(rates, False, np.array([2e-6, 0.5e-6, 1000.0])) * noise
        found = fit_load(Load("path", rates, times, False))
        if "overhead_and_service_time" in found.parameters:
            flat += 1
            low, high = found.intervals["overhead_and_service_time"]
            held += low <= 2.5e-6 <= high
    assert flat >= 5
    assert flat - held <= 1


def test_a_knee_tells_overhead_from_service() -> None:
    rates: Array = np.linspace(10.0, 95.0, 9, dtype=np.float64)
    found = fit_load(Load("path", rates, latency(rates, False, OPEN), False))
    assert "overhead_and_service_time" not in found.parameters


@pytest.mark.parametrize("unit", ["us", "GB", "ms", "B", "cycle", "load"])
def test_what_is_offered_is_a_rate(unit: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(f"offered_{unit},latency_us\n{FLAT}")
    with pytest.raises(InputError) as raised:
        run(tmp_path / "bad.csv")
    (problem,) = raised.value.problems
    assert f"column 'offered_{unit}' is not in a rate" in problem.message
    assert "offered_Gbps" in problem.remedy


@pytest.mark.parametrize("unit", ["Gbps", "MBps", "Mrps", "kHz", "iops"])
def test_capacity_and_knee_have_the_unit_of_the_load(unit: str, tmp_path: Path) -> None:
    rates = np.array([10.0, 30, 50, 70, 90])
    rows = zip(rates.tolist(), latency(rates, False, OPEN).tolist(), strict=True)
    text = "\n".join([f"offered_{unit},latency_s", *(f"{r},{t!r}" for r, t in rows)])
    (tmp_path / "path.csv").write_text(text)
    told = run(tmp_path / "path.csv", record=tmp_path / "fit.json")
    lines = told[0].splitlines()
    (capacity,) = [line for line in lines if "capacity" in line]
    (knee,) = [line for line in lines if line.split()[0] == "knee"]
    assert f"100 {unit} " in capacity
    assert f" {unit}  (" in knee
    kept = json.loads((tmp_path / "fit.json").read_text())["path"]
    assert kept["load_unit"] == unit


def test_a_knee_in_flight_counts_requests(tmp_path: Path) -> None:
    times = latency(DEPTHS, True, CLOSED).tolist()
    rows = [f"{n},{t!r}" for n, t in zip(DEPTHS.tolist(), times, strict=True)]
    (tmp_path / "drive.csv").write_text("\n".join(["queue_depth,latency_s", *rows]))
    assert "29 in flight" in run(tmp_path / "drive.csv")[0]


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("offered_Gbps,latency_us,latency_mean_us", "'latency_us' and 'latency_mean_us' are both"),
        ("offered_Gbps,latency_us,latency_ns", "'latency_us' and 'latency_ns' are both"),
        ("in_flight,latency_us,queue_depth", "'queue_depth' and 'in_flight' are both"),
        ("offered_Gbps,latency_us,in_flight", "'in_flight' and 'offered_Gbps' are both"),
        ("offered_Gbps,latency_us,offered_Mrps", "'offered_Gbps' and 'offered_Mrps' are both"),
        ("offered_Gbps,latency_us,offered_total_Gbps", "'offered_total_Gbps' and 'offered_Gbps'"),
    ],
)
def test_one_column_of_loads_and_one_of_latencies(head: str, told: str, tmp_path: Path) -> None:
    rows = "".join(f"{n},{5 + n},{n}\n" for n in (1, 2, 4, 8))
    (tmp_path / "two.csv").write_text(f"{head}\n{rows}")
    with pytest.raises(InputError) as raised:
        run(tmp_path / "two.csv")
    (problem,) = raised.value.problems
    assert told in problem.message
    assert "leave one" in problem.remedy
