"""Energy of a call: closed forms, 50-digit roots, and properties."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from objectives import energy as models
from objectives.logca import times
from tests.energy_examples import AES, UNITS, everything, row

quick = settings(derandomize=True, deadline=None)
NO_POWER = dict.fromkeys(models.Powers._fields, 0.0)


# --- closed forms ---------------------------------------------------------------------------------


def test_the_energy_of_a_call_part_by_part() -> None:
    called = {"overhead_time": 3e6, "latency_time": 2e6, "compute_time": 5e6}
    powers = dict(zip(models.Powers._fields, (10, 4, 2, 0.5, 1e-9, 3e-9), strict=True))
    found = models.call_energy(granularity=2.0**20, **called, clock=1e9, **powers, lanes=3)
    assert {name: float(value) for name, value in vars(found).items()} == pytest.approx(
        {
            "setup_energy": 30e-3,
            "waiting_energy": 28e-3,  # 4 W in 7 ms
            "engine_energy": 30e-3 + 2**20 * 1e-9,  # 3 lanes of 2 W in 5 ms, and the data
            "engine_idle_energy": 15e-3,  # 3 lanes of 0.5 W in 10 ms
            "interface_energy": 2**20 * 3e-9,
            "call_energy": 103e-3 + 2**20 * 4e-9,
        },
        rel=1e-14,
    )


def test_merits_in_closed_form() -> None:
    powers = NO_POWER | {"host_active_power": 10.0, "host_idle_power": 5.0}
    found = everything(1000.0, AES | {"complexity": 1.0}, clock=1e9, **powers)
    host, setup, waiting = 90_000 * 10e-9, 29_000 * 10e-9, (1500 + 90_000 / 19) * 5e-9
    assert float(found["host_energy"]) == pytest.approx(host, rel=1e-14)
    assert float(found["greenup"]) == pytest.approx(host / (setup + waiting), rel=1e-14)
    time = (29_000 + 1500 + 90_000 / 19) * 1e-9
    assert float(found["energy_delay_product"]) == pytest.approx(
        (setup + waiting) * time, rel=1e-14
    )
    per_joule = 90e-6 / time / (setup + waiting)
    assert float(found["speedup_per_joule"]) == pytest.approx(per_joule, rel=1e-14)
    # 10 W of 90 g (1 − 1/38) cycles pay for 29,000 cycles at 10 W and 1,500 at 5 W
    root = (29_000 + 750) / (90 * (1 - 1 / 38))
    assert float(found["energy_break_even"]) == pytest.approx(root, rel=1e-14)
    assert float(found["energy_break_even_end"]) == math.inf


def test_a_sub_linear_kernel_saves_energy_between_two_granularities() -> None:
    # At 1 W and 1 Hz, who waits draws 5 √g less than who works; set-up takes 4 and data g joules.
    kernel = {"computational_index": 10, "complexity": 0.5, "acceleration": 2}
    powers = dict(zip(models.Powers._fields, (1, 1, 0, 0, 0.5, 0.5), strict=True))
    found = models.energy_break_even(overhead=4, latency_per_byte=0.0, **kernel, clock=1, **powers)
    ends = [float(found.energy_break_even), float(found.energy_break_even_end)]
    assert ends == pytest.approx([1, 16], rel=1e-13)


def test_a_saturated_engine_takes_energy_without_end_and_nothing_is_not_a_number() -> None:
    powers = NO_POWER | {"host_active_power": 1.0}
    called = {"overhead_time": 1.0, "latency_time": math.inf, "compute_time": 1.0, "clock": 1.0}
    free = models.call_energy(granularity=1.0, **called, **powers)  # who waits draws nothing
    assert float(free.call_energy) == 1.0
    dear = models.call_energy(granularity=1.0, **called, **(powers | {"host_idle_power": 1.0}))
    assert float(dear.call_energy) == math.inf
    assert float(models.greenup(host_energy=1.0, call_energy=dear.call_energy).greenup) == 0.0
    never = models.energy_break_even(
        **(AES | {"latency": math.inf}), clock=1e9, **row("ultrasparc-t2")
    )
    assert float(never.energy_break_even) == math.inf


# --- properties -----------------------------------------------------------------------------------

DESIGNS = st.fixed_dictionaries(
    {
        "overhead": st.floats(1, 1e8),
        "latency": st.floats(0, 1e5),
        "latency_per_byte": st.floats(0, 10),
        "computational_index": st.floats(1, 1e4),
        "complexity": st.sampled_from([0.5, 0.97, 1.0, 1.2, 2.0]),
        "acceleration": st.floats(0.5, 100),
    }
)
RANGES = ((0.01, 100), (0.001, 100), (0.001, 100), (0.001, 10), (1e-13, 1e-9), (1e-13, 1e-8))
POWERS = st.fixed_dictionaries(
    {name: st.floats(*ends) for name, ends in zip(models.Powers._fields, RANGES, strict=True)}
)


@given(design=DESIGNS, g=st.floats(1, 1e8), power=st.floats(0.01, 100))
@quick
def test_a_host_that_never_rests_and_an_engine_for_nothing_give_the_speedup(
    design: dict[str, float], g: float, power: float
) -> None:
    powers = NO_POWER | {"host_active_power": power, "host_idle_power": power}
    found = everything(g, design, clock=1.16e9, **powers)
    assert math.isclose(found["greenup"], found["speedup"], rel_tol=1e-12)
    assert found["energy_break_even"] == found["break_even"]  # to the last bit
    assert found["energy_break_even_end"] == found["break_even_end"]


@given(design=DESIGNS, powers=POWERS, lanes=st.integers(1, 8))
@quick
def test_energies_are_equal_at_the_energy_break_even(
    design: dict[str, float], powers: dict[str, float], lanes: int
) -> None:
    priced: dict[str, Any] = {"clock": 2e9, **powers, "lanes": float(lanes)}
    ends = vars(models.energy_break_even(**design, **priced)).values()
    for end in (float(end) for end in ends):
        if 1e-6 < end < 1e30:
            assert math.isclose(everything(end, design, **priced)["greenup"], 1, rel_tol=1e-9)


@given(design=DESIGNS, powers=POWERS, g=st.floats(1, 1e8), name=st.sampled_from([*UNITS]))
@quick
def test_energies_rise_with_powers(
    design: dict[str, float], powers: dict[str, float], g: float, name: str
) -> None:
    more = powers | {name: 2 * powers[name]}
    before = everything(g, design, clock=2e9, **powers)
    after = everything(g, design, clock=2e9, **more)
    # Not strictly: a small part may be lost in the rounding of the sum.
    assert after["call_energy"] >= before["call_energy"]
    assert after["speedup_per_joule"] <= before["speedup_per_joule"]
    assert after["energy_delay_product"] >= before["energy_delay_product"]
    # A host that draws more makes the work on it dearer than the set-up of a call.
    sign = -1 if name == "host_active_power" else 1
    assert sign * after["greenup"] <= sign * before["greenup"] * (1 + sign * 1e-12)
    first, then = float(before["energy_break_even"]), float(after["energy_break_even"])
    assert then >= first * (1 - 1e-9) if sign > 0 else then <= first * (1 + 1e-9)


# --- studies ------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]

STUDY = """
[study]
name = "energy"
models = ["objectives.logca:offload", "objectives.energy:energy"]
[inputs]
clock = "1.16 GHz"
computational_index = 90
complexity = 1.01
latency_per_byte = 0
[space]
platform = { catalog = "powers", options = ["ultrasparc-t2", "small-core-cache"] }
acceleration = { integer = [2, 40] }
[space.interface]
catalog = "interfaces"
options = ["privileged-dma", "user-port"]
rename = { interface_overhead = "overhead", interface_latency = "latency" }
"""
OBJECTIVES = """
[[objective]]
maximize = "greenup"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "energy_delay_product"
at = { granularity = "64 KiB" }
[[objective]]
maximize = "speedup_per_joule"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "acceleration"
[[constraint]]
quantity = "energy_break_even"
at_most = "200 B"
"""


def study(folder: Path, text: str) -> dse.Study:
    (folder / "energy.toml").write_text(text, encoding="utf-8")
    return dse.load(folder / "energy.toml")


def test_a_study_of_energy_from_file_to_front(tmp_path: Path) -> None:
    # latency_per_byte is of the interfaces' rows
    result = study(tmp_path, STUDY.replace("latency_per_byte = 0\n", "") + OBJECTIVES).run()
    assert result.certificate.complete
    front = result.front.designs
    assert len(front) > 1 and (front["energy_break_even"] <= 200).all()
    assert set(front["interface"]) == {"user-port"}  # 29,000 cycles of set-up take 340 B
    named = ("greenup", "energy_delay_product", "speedup_per_joule")
    names = [str(name) for name in front.columns if str(name).startswith(named)]
    for one in front.to_dict("records"):
        design = AES | {"overhead": 435.0, "latency": 500.0, "acceleration": one["acceleration"]}
        powers: dict[str, Any] = {"clock": 1.16e9, **row(str(one["platform"]))}
        small, large = (everything(g, design, **powers) for g in (1024.0, 65_536.0))
        values = small["greenup"], large["energy_delay_product"], small["speedup_per_joule"]
        expected = sorted(map(float, values))
        assert sorted(one[name] for name in names) == pytest.approx(expected, rel=1e-12)


def test_lanes_of_the_engine_draw_their_power(tmp_path: Path) -> None:
    text = """
[study]
name = "lanes"
models = ["objectives.logca:offload", "objectives.machine:lanes_for", "objectives.energy:energy"]
[inputs]
clock = "1.16 GHz"
computational_index = 90
overhead = 435
granularity = "1 KiB"
clock_period = "90 cycle"         # 64 blocks in 4 passes: a quarter of the host's time
element_bytes = 16
passes = 4
powers = { catalog = "powers", row = "ultrasparc-t2" }
[space]
acceleration = { values = [4, 8, 16] }
[[objective]]
minimize = "engine_idle_energy"
[[objective]]
maximize = "lanes"
"""
    found = study(tmp_path, text).evaluate(pd.DataFrame({"acceleration": [4, 8, 16]}))
    (name,) = (each for each in map(str, found) if each.startswith("engine_idle_energy"))
    a = np.array([4.0, 8.0, 16.0])
    called = times(granularity=1024, overhead=435, computational_index=90, acceleration=a)
    spent = called.accelerated_time * (a / 4) * 12.5e-3 / 1.16e9
    assert found["lanes"].tolist() == [1, 2, 4]
    assert found[name].to_numpy() == pytest.approx(spent, rel=1e-12)
