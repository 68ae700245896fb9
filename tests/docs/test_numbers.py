"""One table of numbers per page, computed again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.measured_accuracy import MEASURED, missed_rows, table_row
from objectives.communication import load_dataflow
from objectives.communication.analysis import local_or_global
from objectives.logca import break_even, half_acceleration, offload
from objectives.partition.estimate import estimate
from objectives.partition.quantities import Architecture
from objectives.partition.quantities import Workloads
from objectives.sharing import round_robin
from tests.accelerometer_examples import ASYNC, SYNC, SYNC_OS, told
from tests.docs.pages import ROOT, first_number, is_rounded, read_page, read_table
from tests.energy_examples import AES, everything, row


def test_logca() -> None:
    exact, linear = AES, {**AES, "complexity": 1.0}
    sizes = [
        f"{float(found):,.0f}"
        for design in (exact, linear)
        for found in (
            break_even(**design).break_even,
            half_acceleration(**design).half_acceleration,
        )
    ]
    agreeing = "UltraSPARC T2 with AES, g1 {} B and g_{{A/2}} {} B ({} and {} with β = 1"
    assert agreeing.format(*sizes) in read_page("docs/explanation/logca.md")
    speedup = float(offload(granularity=1024, **exact).speedup)
    assert f"# {speedup:.2f}, {sizes[0]} B, {sizes[1]} B" in read_page("docs/explanation/logca.md")


def test_energy() -> None:
    rows = read_table("docs/explanation/energy.md", "## An example")
    for size, speedup, host, call, greenup, product in rows:
        found = everything(first_number(size), AES, clock=1.16e9, **row("ultrasparc-t2"))
        assert is_rounded(speedup, found["speedup"], 3)
        assert is_rounded(host, found["host_energy"] * 1e6, 3)
        assert is_rounded(call, found["call_energy"] * 1e6, 3)
        assert is_rounded(greenup, found["greenup"], 3)
        assert is_rounded(product, found["energy_delay_product"] * 1e9, 3)


def test_accelerometer() -> None:
    rows = read_table("docs/explanation/accelerometer.md", "| threading | cores |")
    modes = {"Sync": SYNC, "Sync-OS": SYNC_OS, "Async": ASYNC}
    for name, cores, speedup, utilization, wait, tail in rows:
        found = told(replace(modes[name], cores=int(cores)))
        assert is_rounded(speedup, found["speedup"])
        assert is_rounded(utilization, found["engine_utilization"])
        assert is_rounded(wait, found["engine_wait_time"])
        assert is_rounded(tail, found["offload_time_p99"])


def test_sharing() -> None:
    for load, period, printed, exact, *_ in read_table(
        "docs/validation/sharing_figures.md", "## Figure 2 of the paper"
    ):
        rate = float(load) / (8 * 10e-9)
        shared = round_robin(8, 4, 4, int(period), rate, 10e-9)
        assert is_rounded(printed, shared.latency_printed * 1e9)
        assert is_rounded(exact, shared.latency * 1e9)


@pytest.mark.parametrize(
    ("column", "way", "turn"), [(1, "iterative", "turn_rings"), (2, "recursive", "turn_quarters")]
)
def test_communication(column: int, way: str, turn: str) -> None:
    profile = ROOT / "studies" / "profiles" / "rotate" / f"{way}-128.json"
    program = load_dataflow(profile).including(["getchar", "putchar"])
    limits = local_or_global(program, ["load", turn, "store"], [np.inf]).iloc[0]
    names = ("computation", "local", "computation and local", "global")
    rows = read_table("docs/validation/communication_figures.md", "## Figures 5 and 6")
    for row, name in zip(rows, names, strict=True):
        assert is_rounded(row[column], float(limits[name])), name


def test_partition() -> None:
    programs, architecture = Workloads.load(ROOT / "studies" / "profiles"), Architecture()
    rows = {row[0]: row for row in read_table("docs/validation/partition_figures.md", "| program | work |")}
    assert list(rows) == list(programs.names)
    for name, graphs in zip(programs.names, programs.graphs, strict=True):
        graph = graphs[0]
        _, _, blocks, instructions, movable, memory = rows[name]
        alone = estimate(graph, np.zeros(len(graph), dtype=bool), architecture)
        assert is_rounded(blocks, len(graph))
        assert is_rounded(instructions, graph.area.sum())
        assert is_rounded(movable, graph.area[graph.movable].sum())
        assert is_rounded(memory, float(alone.memory_time) / float(alone.accelerated_time))


def test_accuracy() -> None:
    """The page of measured accuracy is written by its benchmark; one file is measured again."""
    page = read_page("docs/validation/accuracy.md")
    assert table_row(MEASURED / "cesa_aes.csv") in page
    missed = missed_rows(MEASURED / "fft_mkl_cufft.csv")
    assert missed
    assert missed in page
