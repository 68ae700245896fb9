"""Every figure that the papers print is in a catalog; the literals are typed from the papers."""

import pytest

from dse.model.units import read_value
from dse.study.catalog import Catalog, find_catalog, load_catalog

UNITS = {
    **dict.fromkeys(["latency", "overhead", "interface_latency", "interface_overhead"], "cycle"),
    **dict.fromkeys(["latency_per_byte", "interface_latency_per_byte"], "cycle/B"),
    **dict.fromkeys(["clock", "device_clock"], "Hz"),
    **dict.fromkeys(["host_active_power", "engine_power"], "W"),
    **dict.fromkeys(["engine_energy_per_byte", "interface_energy_per_byte"], "J/B"),
    "computational_index": "cycle/B",
    "peak_performance": "1/s",
}


def catalog(name: str) -> Catalog:
    return load_catalog(find_catalog(name))


def figure(of: Catalog, row: str, quantity: str) -> float:
    return read_value(of.rows[row].values[quantity].text, UNITS.get(quantity, "1"))


def figures(of: Catalog, row: str, *quantities: str) -> tuple[float, ...]:
    return tuple(figure(of, row, quantity) for quantity in quantities)


def test_every_derived_figure_of_an_interface_says_how() -> None:
    for row in catalog("interfaces").rows.values():
        for name, entry in row.values.items():
            assert entry.note or not entry.source.startswith("derived"), f"{row.name}.{name}"
        assert "assumption" in row.values["interface_area"].note


SAME_QUANTITIES = [
    "interfaces",
    "accelerators",
    "measured",
    "kernels",
    "pipelined_engines",
    "powers",
]


@pytest.mark.parametrize("name", [*SAME_QUANTITIES, "memory_organisations"])
def test_every_row_can_stand_in_for_every_other(name: str) -> None:
    rows = list(catalog(name).rows.values())
    assert len(rows) > 1
    assert len({frozenset(row.values) for row in rows}) == 1


# Altaf and Wood, ISCA 2017, Table 2
TABLE_2 = {
    "pci-crypto": ("AMD A8-3850", 2.9e9, "0.98o", "Ubuntu 3.13.0-55"),
    "ultrasparc-t2": ("S2", 1.16e9, "0.98o", "Oracle Solaris 11"),
    "sparc-t3": ("S2", 1.65e9, "0.98o", "Oracle Solaris 11"),
    "sparc-t4": ("S3", 3e9, "1.02, 1.0.1k", "Oracle Solaris 11.2"),
    "sandy-bridge": ("Intel Core i7-2600", 3.4e9, "0.98o", "Linux2.6.32-504"),
}
# Table 3: name, architecture, host; cores, compute units, clock, peak FLOPS, host's clock
TABLE_3 = {
    "discrete-gpu": (
        ("Tesla C2070", "Fermi", "Intel Xeon E5520"), (16, 448, 1.5e9, 1e12, 2.27e9)
    ),
    "integrated-gpu": (
        ("Radeon HD 6550", "Beaver Creek", "AMD A8-3850"), (5, 400, 600e6, 480e9, 2.9e9)
    ),
    "shared-memory-gpu": (
        ("Radeon R7", "Kaveri", "AMD A10-7850K"), (8, 512, 720e6, 856e9, 1.7e9)
    ),
}  # fmt: skip


def test_platforms_of_table_2() -> None:
    platforms = catalog("platforms")
    for name, printed in TABLE_2.items():
        text = platforms.rows[name].text
        clock = figure(platforms, name, "clock")
        assert (text["processor"], clock, text["openssl_version"], text["kernel"]) == printed


def test_platforms_of_table_3() -> None:
    platforms = catalog("platforms")
    numbers = ("cores", "compute_units", "device_clock", "peak_performance", "clock")
    for name, (words, printed) in TABLE_3.items():
        text = platforms.rows[name].text
        assert (text["name"], text["architecture"], text["processor"]) == words
        assert figures(platforms, name, *numbers) == printed
    assert set(platforms.rows) == set(TABLE_2) | set(TABLE_3)


# Table 4: complexity in elements, exponent of granularity
TABLE_4 = {
    "aes": ("O(n)", 1.01),
    "sha": ("O(n)", 0.97),
    "gemm": ("O(n^3)", 1.7),
    "fft": ("O(n log n)", 1.2),
    "radix-sort": ("O(k n)", 0.94),
    "binary-search": ("O(log n)", 0.14),
}
# Table 5: the C of each kernel on a GPU's host; the L, o and A of each GPU
GPU_INDEX = {"aes": 174, "radix-sort": 290, "gemm": 2, "fft": 290, "binary-search": 116}
GPUS = {"discrete-gpu": ("3e3 cycles", 2e8, 30), "integrated-gpu": ("15 cycles", 4e8, 7)}
# L, o, C and A of the AES rows
ON_CHIP_AES = {
    "ultrasparc-t2": (1500, 2.9e4, 90, 19),
    "sparc-t3": (1500, 2.7e4, 90, 12),
    "sparc-t4": (500, 435, 32, 12),
    "sparc-t4-instructions": (4, 111, 32, 12),
    "sandy-bridge": (3, 10, 35, 6),
}
# the two figures that the SHA rows print, read as o and C
ON_CHIP_SHA = {
    "ultrasparc-t2": (10.5e3, 72),
    "sparc-t3": (10.5e3, 72),
    "sparc-t4": (16e3, 32),
    "sparc-t4-instructions": (1638, 32),
}


def kernel_of(row: str) -> str:
    return next(kernel for kernel in TABLE_4 if row.startswith(f"{kernel}-"))


def test_complexities_of_table_4() -> None:
    for name in ("kernels", "accelerators"):
        of = catalog(name)
        assert {kernel_of(row) for row in of.rows} == set(TABLE_4)
        for row in of.rows:
            assert figure(of, row, "complexity") == TABLE_4[kernel_of(row)][1]
    for row, entry in catalog("kernels").rows.items():
        assert entry.text["complexity_in_elements"] == TABLE_4[kernel_of(row)][0]


def test_gpu_rows_of_table_5() -> None:
    accelerators, kernels, interfaces = map(catalog, ("accelerators", "kernels", "interfaces"))
    for device, (printed, overhead, acceleration) in GPUS.items():
        assert interfaces.rows[device].text["printed_latency"] == printed
        assert figure(interfaces, device, "interface_overhead") == overhead
        for kernel, index in GPU_INDEX.items():
            row = f"{kernel}-{device}"
            assert accelerators.rows[row].text["printed_latency"] == printed
            got = figures(accelerators, row, "overhead", "computational_index", "acceleration")
            assert got == (overhead, index, acceleration)
            assert figure(kernels, f"{kernel}-gpu-host", "computational_index") == index
            per_byte = figure(interfaces, device, "interface_latency_per_byte")
            assert figure(accelerators, row, "latency_per_byte") == per_byte
    assert figure(interfaces, "integrated-gpu", "interface_latency_per_byte") == 15


def test_on_chip_rows_of_table_5() -> None:
    accelerators = catalog("accelerators")
    quantities = ("latency", "overhead", "computational_index", "acceleration")
    for device, printed in ON_CHIP_AES.items():
        row = f"aes-{device}"
        assert figures(accelerators, row, *quantities) == printed
        assert figure(accelerators, row, "latency_per_byte") == 0
    for device, (overhead, index) in ON_CHIP_SHA.items():
        latency, _, _, acceleration = ON_CHIP_AES[device]
        row = f"sha-{device}"
        got = figures(accelerators, row, *quantities)
        assert got == (latency, overhead, index, acceleration)
        assert "read as overhead" in accelerators.rows[row].note


def test_interfaces_and_kernels_agree_with_table_5() -> None:
    interfaces, kernels = catalog("interfaces"), catalog("kernels")
    names = {
        "privileged-dma": "ultrasparc-t2",
        "privileged-dma-t3": "sparc-t3",
        "user-port": "sparc-t4",
        "instruction": "sparc-t4-instructions",
        "instruction-aesni": "sandy-bridge",
    }
    for row, device in names.items():
        latency, overhead, index, _ = ON_CHIP_AES[device]
        taken = ("interface_latency", "interface_overhead", "interface_latency_per_byte")
        assert figures(interfaces, row, *taken) == (latency, overhead, 0)
        host = device.removesuffix("-instructions")
        assert figure(kernels, f"aes-{host}", "computational_index") == index
        if device in ON_CHIP_SHA:
            assert figure(kernels, f"sha-{host}", "computational_index") == ON_CHIP_SHA[device][1]


# Derived figures. A 10x better overhead gives 20 % where T1 / (T1 - 0.9 o) = 1.2, which is where
# the rest of T1 is 4.4 o; a 10x better acceleration where the rest is 4.4 times the compute time.
CUT_OFF = 0.9 * 1.2 / 0.2 - 1


def test_overhead_of_the_pci_card_follows_from_its_cut_off() -> None:
    interfaces = catalog("interfaces")
    per_byte = figure(interfaces, "pci-card", "interface_latency_per_byte")
    assert per_byte == pytest.approx(2 * 2.9e9 / (4 * 100e6 / 3), rel=1e-3)
    overhead = figure(interfaces, "pci-card", "interface_overhead")
    assert overhead == pytest.approx(per_byte * 256 * 1024 / CUT_OFF, rel=1e-3)
    assert per_byte > figure(catalog("kernels"), "aes-sandy-bridge", "computational_index")


def test_latency_of_the_discrete_gpu_is_one_over_the_bandwidth() -> None:
    per_byte = figure(catalog("interfaces"), "discrete-gpu", "interface_latency_per_byte")
    link = 16 * 5e9 * 8 / 10 / 8  # lanes, transfers a second, 8b/10b, bits of a byte
    assert per_byte == pytest.approx(2.27e9 / link, rel=2e-3)


def test_overhead_of_the_shared_memory_gpu_follows_from_its_cut_offs() -> None:
    accelerators, row = catalog("accelerators"), "gemm-shared-memory-gpu"
    gpu = 512 * 2 * 720e6
    acceleration = figure(accelerators, row, "acceleration")
    assert acceleration == pytest.approx(gpu / (856e9 - gpu), rel=1e-3)
    names = ("overhead", "latency", "computational_index", "complexity")
    overhead, latency, index, exponent = figures(accelerators, row, *names)
    compute = index * 8192**exponent / acceleration
    assert overhead == pytest.approx(compute / CUT_OFF, rel=1e-3)
    # acceleration starts to matter where compute is o / 4.4: next power of two is the printed 2 KB
    start = (overhead / CUT_OFF * acceleration / index) ** (1 / exponent)
    assert 1024 < start < 2048
    # latency in no region, whatever the granularity
    assert CUT_OFF * latency < overhead
    costs = ("interface_overhead", "interface_latency")
    got = figures(catalog("interfaces"), "shared-memory-gpu", *costs)
    assert got == (overhead, latency)


# Kenter, Platzner, Plessl and Kauschke, 2010, Table I
TABLE_I: dict[str, dict[str, float]] = {
    "cycle/instruction": {"cpu_instruction_time": 1.0, "accelerator_instruction_time": 0.5},
    "cycle": {
        **{"control_latency": 2, "register_push_latency": 1, "register_pull_latency": 3},
        **{"level1_latency": 3, "level2_latency": 15, "memory_latency": 200},
    },
    "B": {"level1_size": 32 * 1024, "level2_size": 4 * 1024**2},
    "instruction": {"accelerator_size": 128},
}


def test_memory_hierarchy_of_table_i() -> None:
    row = catalog("memory_hierarchies").rows["private-level1-shared-level2"]
    for unit, printed in TABLE_I.items():
        assert {name: read_value(row.values[name].text, unit) for name in printed} == printed
    assert set(row.values) == {name for printed in TABLE_I.values() for name in printed}


def test_memory_organisations_are_the_five_of_kenter() -> None:
    organisations = catalog("memory_organisations")
    names = ("shared_level", "accelerator_cache")
    found = {row: figures(organisations, row, *names) for row in organisations.rows}
    assert found == {"SL1": (1, 0), "SL2+": (2, 1), "SL2-": (2, 0), "SMM+": (3, 1), "SMM-": (3, 0)}


# Nawathe et al., 2008: the chip; Horowitz, ISSCC 2014: an instruction, 64 bits of caches of 8 KB
# and 1 MB and of DRAM; Mathew et al., 2011: an AES unit; HILP: a core, a GPU, a bit of memory.
AES_UNIT = 125e-3 / (53e9 / 8)
POWERS = {
    "ultrasparc-t2": (84 / 8, 0, AES_UNIT, 2 * 100e-12 / 8),
    "small-core-cache": (70e-12 * 1e9, 0, AES_UNIT, 2 * 10e-12 / 8),
    "small-core-memory": (70e-12 * 1e9, 0, AES_UNIT, 2 * (1.3e-9 + 2.6e-9) / 2 / 8),
    "gpu-64-multiprocessors": (7, 94.4629, 0, 2 * 7e-12 * 8),
}


def test_powers_follow_from_their_sources() -> None:
    powers = catalog("powers")
    sourced = ("host_active_power", "engine_power", "engine_energy_per_byte")
    for name, derived in POWERS.items():
        got = figures(powers, name, *sourced, "interface_energy_per_byte")
        assert got == pytest.approx(derived, rel=2e-3), name
    assert set(powers.rows) == set(POWERS)


def test_every_power_without_a_source_is_an_assumption_and_says_what() -> None:
    for row in catalog("powers").rows.values():
        for name in ("host_idle_power", "engine_idle_power"):
            assert row.values[name].source == "assumption"
        for name, entry in row.values.items():
            said = entry.note.startswith(("assumption", "priced by"))
            assert said or entry.source != "assumption", f"{row.name}.{name}"
