"""A kernel of a system as a study: units, catalogs and the option to build nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse

STUDY = """
[study]
name = "aes"
models = [
    "objectives.portfolio:host_call",
    "objectives.portfolio:call_costs",
    "objectives.portfolio:engine_service",
    "objectives.portfolio:engine_queue",
    "objectives.portfolio:kernel_loads",
    "objectives.portfolio:kernel_area",
]
[inputs]
host = { catalog = "hosts", row = "aes-128-cbc-am62x" }
interface = { catalog = "interfaces", row = "axi-dma" }
clock = "1.4 GHz"
kernel_rate = "2 kcall/s"
granularity = "8 KiB"
[space]
engine = { catalog = "engines", options = ["aes-secworks-kintex-7-7k70t-1"] }
built = { values = [0, 1] }
[[objective]]
minimize = "host_load"
[[objective]]
minimize = "area"
[[objective]]
minimize = "call_time_load"
"""


def test_a_kernel_is_a_study_whose_designs_add_loads(tmp_path: Path) -> None:
    path = tmp_path / "aes.toml"
    path.write_text(STUDY)
    front = dse.load(path).run(out=None).front.designs
    host, engine = (front[front.built == built].iloc[0] for built in (0, 1))
    time = 22.72e-9 * (8192 + 6.699)  # C · (g + h/C) of the catalog's entry
    assert host.host_load == pytest.approx(2000 * time, rel=1e-3)
    assert host.area == 0
    assert host.call_time_load == host.host_load
    set_up, link, service = 200 / 1.4e9, 8192 * 0.8333e-9, 512 * 46 / 125e6
    wait = 2000 * service**2 / (2 * (1 - 2000 * service))
    wait -= 2000 * link**2 / (2 * (1 - 2000 * link))
    assert engine.host_load == pytest.approx(2000 * set_up)
    assert engine.area == 3020 + 3200
    call = set_up + link + 830e-9 + service + wait
    assert engine.call_time_load == pytest.approx(2000 * call, rel=1e-9)
