"""Write docs/reference/catalog-engines.md, catalog-hosts.md and catalog-interfaces.md, and draw the engines.

Run with ``python docs/catalog_pages.py``; the picture needs matplotlib (the ``bench`` group).
"""

from collections import defaultdict
from pathlib import Path

import numpy as np

from dse.model.units import UnitError, read_value
from dse.model.values import show_number
from dse.study.catalog import Row, open_catalog

HERE = Path(__file__).parent / "reference"
ENGINES, HOSTS, INTERFACES = map(open_catalog, ("engines", "hosts", "interface_costs"))
AREAS = {"lane_area": "LUT", "area_alm": "ALM", "area_lut4": "LUT4", "logic_elements": "1",
         "slices": "slice", "area_gates": "GE", "area_silicon": "mm^2"}  # fmt: skip
SHOWN = ("AES", "AES-GCM", "SHA-256", "SHA-512", "SHA-3", "ChaCha20", "deflate", "inflate", "FFT")


def value(row: Row, name: str, unit: str) -> float:
    """Return a value of an entry, NaN if the entry lacks it in that kind of unit."""
    try:
        return read_value(row.values[name].text, unit) if name in row.values else np.nan
    except UnitError:
        return np.nan


def data_rate(row: Row) -> float:
    """Return the data that an engine takes [MB/s]."""
    clock, size = value(row, "engine_clock", "MHz"), value(row, "element_bytes", "B/element")
    return clock * size / value(row, "clocks_per_element", "1")


def is_complete(row: Row) -> bool:
    """Return whether an entry has an area, a clock and clocks per element."""
    return bool(np.isfinite(data_rate(row))) and bool(AREAS.keys() & row.values.keys())


def span(values: list[float]) -> str:
    """Return the least and the greatest of some numbers."""
    ends = sorted({show_number(v, 3) for v in (min(values), max(values))}) if values else []
    return " to ".join(sorted(ends, key=lambda end: float(end.replace(",", ""))))


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def engine_rows() -> list[list[str]]:
    """Return a line per function with a complete entry: its entries, areas and rates."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in ENGINES.rows.values():
        groups[row.text["kernel"]].append(row)
    lines = []
    for kernel, rows in groups.items():
        areas = [area for row in rows if np.isfinite(area := value(row, "lane_area", "LUT"))]
        rates = [rate for row in rows if np.isfinite(rate := data_rate(row))]
        if complete := sum(map(is_complete, rows)):
            lines.append([kernel, str(len(rows)), str(complete), span(areas), span(rates)])
    return lines


def host_rows() -> list[list[str]]:
    """Return a line per function and kind of instructions: entries, cores and times per byte."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in HOSTS.rows.values():
        groups[row.text["kernel"], row.text.get("instructions", "")].append(row)
    lines = []
    for (kernel, instructions), rows in groups.items():
        names = ", ".join(dict.fromkeys(row.text["device"] for row in rows))
        index = "computational_index"
        rates = [
            [rate for row in rows if np.isfinite(rate := value(row, index, unit))]
            for unit in ("ns/B", "cycle/B")
        ]
        lines.append([kernel, instructions, str(len(rows)), *map(span, rates), names])
    return lines


def interface_rows() -> list[list[str]]:
    """Return a line per kind of interface: entries, bounds and provenance of the costs."""
    costs = (
        ("interface_overhead", ("us", "cycle")),
        ("interface_latency", ("us",)),
        ("interface_latency_per_byte", ("ns/B",)),
    )
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in INTERFACES.rows.values():
        groups[row.text["kind"]].append(row)
    lines = []
    for kind, rows in groups.items():
        cells = []
        for name, units in costs:
            spans = {
                unit: span([v for row in rows if np.isfinite(v := value(row, name, unit))])
                for unit in units
            }
            cells.append("; ".join(f"{text} {unit}" for unit, text in spans.items() if text))
        kinds = dict.fromkeys(row.values[name].provenance for name, _ in costs for row in rows)
        lines.append([kind, str(len(rows)), *cells, ", ".join(kinds)])
    return lines


def draw_engines() -> None:
    """Draw area against throughput of the complete engines in 6-input LUTs."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "engines", "font.size": 9}
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    rows = [r for r in ENGINES.rows.values() if is_complete(r) and "lane_area" in r.values]
    for i, kernel in enumerate([*SHOWN, "other"]):
        own = [r for r in rows if (r.text["kernel"] if r.text["kernel"] in SHOWN else "other") == kernel]
        for bulk, face in ((False, f"C{i}"), (True, "none")):
            part = [r for r in own if ("in bulk" in r.note) == bulk]
            x, y = ([value(r, "lane_area", "LUT") for r in part], [data_rate(r) for r in part])
            label = kernel if part and (not bulk or len(part) == len(own)) else None
            axis.scatter(x, y, s=26, facecolors=face, edgecolors=f"C{i}", label=label)
    axis.set(xscale="log", yscale="log", xlabel="area [LUT]", ylabel="data rate [MB/s]")
    axis.grid(alpha=0.3)
    axis.legend(ncols=2, fontsize=8)
    figure.savefig(HERE / "catalog_engines.svg", metadata={"Date": None, "Creator": None})


def write_pages() -> None:
    """Fill the tables of the pages, between the marks that each page has."""
    engines = ["function", "entries", "complete", "area [LUT]", "data rate [MB/s]"]
    hosts = ["function", "instructions", "entries", "[ns/B]", "[cycle/B]", "cores"]
    interfaces = ["kind", "entries", "set-up o", "latency L", "latency per byte l", "provenance"]
    for name, heads, rows in (
        ("engines", engines, engine_rows()),
        ("hosts", hosts, host_rows()),
        ("interfaces", interfaces, interface_rows()),
    ):
        page = HERE / f"catalog-{name}.md"
        before, mark, _ = page.read_text(encoding="utf-8").partition("<!-- written -->\n")
        page.write_text(before + mark + "\n" + table(heads, rows), encoding="utf-8")


if __name__ == "__main__":
    write_pages()
    draw_engines()
