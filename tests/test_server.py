"""The study of a server: its answer, the values that change it, and a simulation of its calls."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import dse
from tests.oracles.portfolio import Kernel, System, simulate
from tests.test_soc import catalog, read

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies" / "server.toml"
CORES, CLOCK = 64, 3.1e9
KERNELS = {
    "aes_gcm": (1.5e6, 16384, "aes-256-gcm-xeon-8380-vaes"),
    "deflate": (200e3, 16384, "deflate-1-libdeflate-zen4"),
    "zstd": (50e3, 65536, "zstd-zen4"),
    "zstd_decompression": (100e3, 65536, "zstd-decompression-zen4"),
}
"""By kernel: calls per second, bytes of a call, and the entry of its time on a core."""
CLOCKS = {"aes-gcm-vitis-256-encryption": 1, "deflate-vitis-stream": 1.14}
"""Clocks per block or byte that the study assumes."""
ANSWER = {"deflate", "zstd"}
AES = "aes-256-gcm-xeon-8380-vaes"


def run(folder: Path, *edits: tuple[str, str]) -> dse.Result:
    """Return the result of the study after replacing texts of its file."""
    text = STUDY.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "server.toml").write_text(text, encoding="utf-8")
    return dse.load(folder / "server.toml").run()


def built(design: pd.Series) -> set[str]:
    return {kernel for kernel in KERNELS if design[kernel] != "not built"}


@functools.cache
def result() -> dse.Result:
    return dse.load(STUDY).run()


def test_compression_gets_engines_and_aes_stays_on_the_cores() -> None:
    design = result().nash()
    assert built(design) == ANSWER
    assert design["cores_saved"] == pytest.approx(23.6, abs=0.05)
    assert design["area"] == pytest.approx(369_100)


def with_time(row: str, time: str) -> tuple[str, str]:
    """Return the edit that gives a kernel another time per byte on a core."""
    old = f'row = "{row}"'
    return old, f'{old}, override = {{ computational_index = "{time} ns/B" }}'


def with_clocks(clocks: float) -> tuple[str, str]:
    return "{ clocks_per_element = 1 }", f"{{ clocks_per_element = {clocks} }}"


SWITCHES = {
    "AES on a core": (with_time(AES, "0.172"), with_time(AES, "0.176"), ANSWER | {"aes_gcm"}),
    "AES engine": (with_clocks(0.78), with_clocks(0.76), ANSWER | {"aes_gcm"}),
    "zstd on a core": (
        with_time("zstd-zen4", "1.41"),
        with_time("zstd-zen4", "1.37"),
        {"deflate"},
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_answer_changes_at_the_values_of_the_comment(name: str, tmp_path: Path) -> None:
    before, after, others = SWITCHES[name]
    assert built(run(tmp_path, before).nash()) == ANSWER
    assert built(run(tmp_path, after).nash()) == others


def observe(design: pd.Series) -> tuple[float, float]:
    """Return the mean response time of a design in the simulation, and its standard error."""
    interfaces = tomllib.loads((ROOT / "spaces" / "interfaces.toml").read_text(encoding="utf-8"))
    kernels: list[Kernel] = []
    copies: list[int] = []
    for name, (rate, size, host) in KERNELS.items():
        row = catalog("hosts")[host]
        work = size + read(row["host_fixed_work [B]"])
        host_time = work * read(row["computational_index [ns/B]"]) * 1e-9
        if design[name] == "not built":
            kernels.append(Kernel(rate, host_time))
            continue
        port, entry, count = re.split(r", (?:engines )?", design[name])
        costs, row = interfaces[port], catalog("engines")[entry]
        set_up, latency, link = (
            seconds(costs[f"interface_{part}"])
            for part in ("overhead", "latency", "latency_per_byte")
        )
        elements = -(-size // read(row["element_bytes [B/element]"]))
        clocks = CLOCKS.get(entry) or read(row["clocks_per_element [1]"])
        service = elements * clocks / (read(row["engine_clock [MHz]"]) * 1e6)
        kernels.append(Kernel(rate, host_time, set_up, link * size, latency, service, len(copies)))
        copies.append(int(count))
    seen = simulate(System(tuple(kernels), CORES, tuple(copies)), 60_000)
    return seen.mix_time, seen.standard_error


def seconds(value: dict[str, object]) -> float:
    number, unit = float(str(value["value"])), str(value["unit"]).removesuffix("/B")
    return number / CLOCK if unit == "cycle" else number * {"ns": 1e-9, "us": 1e-6}[unit]


def test_designs_are_within_five_percent_of_the_simulation() -> None:
    front = result().front.designs
    step = len(front) // 6
    designs = [result().nash(), *(front.iloc[row] for row in range(0, len(front), step))]
    assert len(designs) >= 7
    for design in designs:
        time, error = observe(design)
        assert design["mix_time"] == pytest.approx(time, rel=0.05, abs=3 * error), design
