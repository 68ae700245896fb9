"""The flagship of systems against a simulation of its calls, written from portfolio.md.

The simulation reads the catalogs itself, and the options by their names.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Hashable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.evaluate.space import sample_designs
from tests.oracles.portfolio import Kernel, System, simulate

ROOT = Path(__file__).parents[1]
CALLS = 60_000
SIZE = 8192
HOSTS = {
    "aes_cbc": ("aes-256-cbc-am62x", 3000),
    "aes_ctr": ("aes-128-ecb-am62x", 3000),
    "sha256": ("sha-256-am62x", 4000),
    "sha512": ("sha-512-am62x", 4000),
    "deflate": ("deflate-6-odroid-c2", 500),
    "inflate": ("inflate-6-odroid-c2", 1500),
}
"""By kernel: the entry of its time on a core, and its calls per second."""


@functools.cache
def catalog(name: str) -> dict[str, dict[str, str]]:
    """Return the entries of a catalog by name, as texts."""
    text = (ROOT / "spaces" / f"{name}.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {row["entry"]: row for row in csv.DictReader(lines)}


def read(text: str) -> float:
    """Return a number without the kind of its source."""
    return float(re.sub(r"\(.*\)", "", text) or 0)


def host_time(kernel: str) -> float:
    """Return the time of a call on a core in seconds."""
    row = catalog("hosts")[HOSTS[kernel][0]]
    size = SIZE + read(row["host_fixed_work [B]"])
    return size * read(row["computational_index [ns/B]"]) * 1e-9


def service_time(engine: str) -> float:
    """Return the time of a call at an engine in seconds."""
    row = catalog("engines")[engine]
    elements = -(-SIZE // read(row["element_bytes [B/element]"]))
    return elements * read(row["clocks_per_element [1]"]) / (read(row["engine_clock [MHz]"]) * 1e6)


def engines_of(design: Mapping[Hashable, object]) -> dict[str, tuple[str, str, int]]:
    """Return by kernel of a design: its engine's name, entry and number of copies."""
    built = {}
    for variable in ("aes", "sha256", "sha512", "deflate", "inflate"):
        for part in str(design[variable]).split("; "):
            if part == "not built":
                continue
            kernels, _, option = part.rpartition(": ")
            entry, _, copies = option.partition(", engines ")
            for kernel in (kernels or variable).replace("aes ", "aes_").split(" + "):
                built[kernel] = (part, entry, int(copies))
    return built


def observe(design: Mapping[Hashable, object]) -> tuple[float, float, float, float]:
    """Return mix time, its standard error, and utilizations of the link and the busiest engine."""
    built = engines_of(design)
    names = list(dict.fromkeys(part for part, _, _ in built.values()))
    copies = {part: count for part, _, count in built.values()}
    kernels = []
    for kernel, (_, rate) in HOSTS.items():
        if kernel in built:
            part, entry, _ = built[kernel]
            times = (host_time(kernel), 12e-6, SIZE * 0.625e-9, 1e-6, service_time(entry))
            kernels.append(Kernel(rate, *times, names.index(part)))
        else:
            kernels.append(Kernel(rate, host_time(kernel)))
    seen = simulate(System(tuple(kernels), 4, tuple(copies[n] for n in names)), CALLS)
    busiest = float(seen.engine_utilization.max(initial=0.0))
    return seen.mix_time, seen.standard_error, seen.link_utilization, busiest


@functools.cache
def result() -> dse.Result:
    return dse.load(ROOT / "studies" / "soc.toml").run()


def chosen() -> pd.DataFrame:
    """Return 15 designs of the front, and 15 random feasible ones."""
    study = dse.load(ROOT / "studies" / "soc.toml")
    front = result().front.designs
    rows = np.unique(np.linspace(0, len(front) - 1, 15).astype(int))
    space = study.evaluator.space
    points = sample_designs(space, 400)
    evaluated = study.evaluator.evaluate(points)
    feasible = np.flatnonzero(evaluated.feasible)[:15]
    table = pd.DataFrame({n: v[feasible] for n, v in space.labels(points).items()})
    table["mix_time"] = evaluated.objectives[feasible, 1]
    names = [c.quantity for c in study.evaluator.constraints]
    table["link_utilization"] = evaluated.constrained[feasible, names.index("link_utilization")]
    return pd.DataFrame(pd.concat([front.iloc[rows], table]))


def test_designs_are_within_five_percent_of_the_simulation() -> None:
    designs = chosen()
    assert len(designs) >= 28
    for design in designs.to_dict("records"):
        time, error, link, engine = observe(design)
        assert design["mix_time"] == pytest.approx(time, rel=0.05, abs=3 * error), design
        assert design["link_utilization"] == pytest.approx(link, rel=0.05)
        assert engine <= 0.7 * 1.05


def test_answer_names_each_kernel_and_the_baseline() -> None:
    fields = result().explain(result().nash()).values
    assert {"aes", "sha256", "sha512", "deflate", "inflate"} <= fields.keys()
    assert "not built" in set(result().designs["sha512"])


@pytest.mark.parametrize(
    ("extension", "size", "set_up", "built"),
    [
        (False, "8 KiB", "12 us", {"aes", "sha256", "sha512", "deflate", "inflate"}),
        (False, "1 KiB", "43 us", {"deflate"}),
        (True, "8 KiB", "12 us", {"sha512", "deflate", "inflate"}),
    ],
)
def test_code_of_the_cores_and_the_driver_decide_what_is_built(
    tmp_path: Path, extension: bool, size: str, set_up: str, built: set[str]
) -> None:
    text = (ROOT / "studies" / "soc.toml").read_text(encoding="utf-8")
    text = text.replace('value = "12 us"', f'value = "{set_up}"').replace('"8 KiB"', f'"{size}"')
    if extension:
        text = re.sub(r'row = "((?:aes|sha-256)[\w-]*am62x)"', r'row = "\1-armv8"', text)
    (tmp_path / "soc.toml").write_text(text, encoding="utf-8")
    design = dse.load(tmp_path / "soc.toml").run().nash()
    kernels = {"aes", "sha256", "sha512", "deflate", "inflate"}
    assert {kernel for kernel in kernels if design[kernel] != "not built"} == built
