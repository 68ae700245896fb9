"""The hosts: written from the kept tables, next to the times that were measured."""

import re

import numpy as np
import pytest

from benchmarks import hosts
from benchmarks.measured_accuracy import BY, MEASURED
from dse.model.units import read_value
from dse.study.catalog import find_catalog, load_catalog

ROWS = load_catalog(find_catalog("hosts")).rows


def test_the_catalog_is_as_the_tables_give_it() -> None:
    assert hosts.CATALOG.read_text(encoding="utf-8") == hosts.catalog()


def value(entry: str, quantity: str, unit: str) -> float:
    return read_value(ROWS[entry].values[quantity].text, unit)


@pytest.mark.parametrize("row", hosts.rows(MEASURED / "host_series.csv"), ids=lambda r: r["entry"])
def test_a_fit_is_within_its_error_of_the_measured_times(row: dict[str, str]) -> None:
    table = hosts.rows(MEASURED / f"{row['file']}.csv")
    names = BY.get(row["file"], ["series"])
    own = [r for r in table if " ".join(r[name] for name in names) == row["series"]]
    index = value(row["entry"], "computational_index", "s/B")
    fixed = value(row["entry"], "host_fixed_work", "B") * index
    worst = re.search(r"(\d+)% worst", ROWS[row["entry"]].note)
    assert worst is not None
    assert len(own) >= 5
    for point in own:
        size, time = float(point["granularity_B"]), float(point[row["column"]])
        assert fixed + index * size == pytest.approx(time, rel=0.005 + float(worst[1]) / 100)


# printed by the sources, in bytes per second or in cycles per byte
PRINTED = {
    "sha-256-ryzen-sha-ni": (2.05, "cycle/B"),
    "sha-512-cortex-a53": (10.0, "cycle/B"),
    "deflate-6-zen4": (1 / 25.3e6, "s/B"),
    "lz4-decompression-odroid-c2": (1 / 365.08e6, "s/B"),
    "sha-256-kirin-620-armv8": (1 / (599.463 * 2**20), "s/B"),
}


@pytest.mark.parametrize("entry", PRINTED)
def test_a_rate_is_as_printed(entry: str) -> None:
    printed, unit = PRINTED[entry]
    assert value(entry, "computational_index", unit) == pytest.approx(printed, rel=1e-3)
    assert ROWS[entry].values["host_fixed_work"].provenance == "assumed"


WANTED = {
    "AES": ("128 bit keys, CBC", "256 bit keys, CBC", "128 bit keys, CTR"),
    **dict.fromkeys(("AES-GCM", "SHA-256", "SHA-512", "deflate", "inflate"), ()),
    **dict.fromkeys(("zstd compression", "zstd decompression"), ()),
    **dict.fromkeys(("LZ4 compression", "LZ4 decompression"), ()),
}
ARM = {"Cortex-A53", "Cortex-A57", "Cortex-A72"}
RISC_V = {"U54", "SpacemiT X60"}


@pytest.mark.parametrize("kernel", WANTED)
def test_each_function_is_there_on_arm_and_on_x86(kernel: str) -> None:
    for variant in WANTED[kernel] or (None,):
        devices = {
            row.text["device"]
            for row in ROWS.values()
            if row.text["kernel"] == kernel and variant in (None, row.text.get("variant"))
        }
        assert devices & ARM
        assert devices - ARM - RISC_V - {"Armada 385"}


def test_instructions_for_a_function_are_an_entry_of_their_own() -> None:
    for kernel, instructions in (("AES", "ARMv8 crypto"), ("SHA-256", "SHA-NI")):
        own = [row for row in ROWS.values() if row.text["kernel"] == kernel]
        assert {"none", instructions} <= {row.text["instructions"] for row in own}
    with_, without = "aes-128-cbc-am62x-armv8", "aes-128-cbc-am62x"
    index = [value(entry, "computational_index", "ns/B") for entry in (with_, without)]
    assert np.argmin(index) == 0
