"""Write docs/accuracy.md: every measured set of benchmarks/measured, fitted or refused.

Run with ``python -m benchmarks.measured_accuracy``. Nothing in it is chosen by hand but the column
that names the series. It writes spaces/measured.toml as well: of each series that has both times
and is met within 5 %, the fit as a row of a catalog.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dse.fit.catalog import as_row
from dse.fit.diagnostics import measured_crossings
from dse.fit.measurement_fit import Fit, fit
from dse.fit.queue import LoadFit, fit_loads, left_out, read_loads
from dse.fit.series import read_series
from dse.fit.values import show_value
from dse.model.values import show
from dse.problems import InputError

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured"
PAGE = ROOT / "docs" / "accuracy.md"
CATALOG = ROOT / "spaces" / "measured.toml"
BY = {
    "cesa_aes": ["run"],
    "aesni_onoff": ["cipher"],
    "page_migration_dma": ["run"],
    "gdrcopy_mapped_copy": ["direction"],
    "lognic_nvme_load": ["device", "workload", "granularity_B"],
    "lognic_switch_load": ["app"],
}
ABOUT = """# How accurate the fits are

Written by `python -m benchmarks.measured_accuracy` from the tables in `benchmarks/measured`: times
that others measured and published; each file says where, on what, and how its columns came about.
Every set is here, also those that LogCA does not suit. [docs/fit.md](fit.md) says how a fit is
made.

*in-sample* is the error of the fitted law at its own points, relative to the measured time, *left
out* that at points whose size the law has not seen; both as median / worst over host and
accelerated times. The *measured* break-even is where straight lines between neighbouring sizes
cross. Intervals are 95 %.
"""


POOR, FAR = 0.05, 0.1
WHY = """Caches, thresholds and second code paths bend the times of FFT, of AES-CTR without
instructions and of pages moved in batches; one power law for all sizes has no such bend. Where a
table shows it beyond doubt the fit says so, and the sizes on each side should be fitted by
themselves. A queue of exponential service times is a coarse picture of a drive that serves many
requests at once, and none of a switch in which one flow fills the path before another comes.
"""


def files() -> list[Path]:
    return sorted(MEASURED.glob("*.csv"))


@functools.cache
def fits(path: Path) -> tuple[Fit | str, ...]:
    """Return the fit of each series, or why there is none; nothing for latency against load."""
    if load_fits(path):
        return ()
    return tuple(_fits(path))


def _fits(path: Path) -> Iterator[Fit | str]:
    try:
        series, _ = read_series(path, BY.get(path.stem, []))
    except InputError as error:
        yield "; ".join(f"{p.message} ({p.remedy})" for p in error.problems)
        return
    for each in series:
        try:
            yield fit(each)
        except InputError as error:
            yield "; ".join(f"{each.name}: {p.message}" for p in error.problems)


def row(each: Fit) -> str:
    """Return a series as a row of the table."""
    inside = np.abs(each.errors.inside)
    out = each.left_out
    found = each.analysis
    predicted = "–"
    if found.break_even is not None:
        predicted = f"{show(found.break_even, 'B')} ({span(found.break_even_interval)})"
    elif np.isfinite(each.series.host).any() and np.isfinite(each.series.accelerated).any():
        predicted = "always pays" if found.always else "never pays"
    measured = ", ".join(show(size, "B") for size in measured_crossings(each.series)) or "–"
    cells = (
        each.series.name,
        f"{np.median(inside):.2%} / {inside.max():.1%}",
        f"{out['median']:.2%} / {out['worst']:.1%}",
        predicted,
        measured,
    )
    return f"| {' | '.join(cells)} |"


def span(ends: tuple[float, float] | None) -> str:
    low, high = ends or (0.0, math.inf)
    return f"{show(low, 'B')} to {show_value('', high)}"


@functools.cache
def load_fits(path: Path) -> tuple[LoadFit, ...]:
    """Return the fit of each series of latency against load; none if the file has others."""
    return tuple(fit_loads(read_loads(path, BY.get(path.stem, [])) or ()))


def load_table(found: Sequence[LoadFit]) -> list[str]:
    """Return fits of latency against load as a table."""
    lines = ["| series | service time | overhead | knee | left out |", "|---|---|---|---|---|"]
    for each in found:
        out, cells = left_out(each), [each.series.name]
        for name, unit in (("service_time", "s"), ("overhead", "s"), ("knee", "1")):
            low, high = each.intervals[name]
            ends = f"{show(low, unit)} to {'∞' if np.isinf(high) else show(high, unit)}"
            cells.append(f"{show(each.parameters[name], unit)} ({ends})")
        worst = f"{out['worst']:.1%}" if np.isfinite(out["worst"]) else "∞"
        lines.append(f"| {' | '.join(cells)} | {out['median']:.2%} / {worst} |")
    return [*lines, ""]


def _told(fit: Fit, name: str) -> str:
    beta = fit.parameters.get("complexity", 1.0)
    value, *ends = (show_value(name, v, beta) for v in (fit.parameters[name], *fit.intervals[name]))
    return f"`{name}` {value} ({' to '.join(ends)})"


def section(path: Path) -> str:
    """Return what the page says of a file."""
    sources = [
        line.removeprefix("# ").strip()
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("# source", "# caution"))
    ]
    lines = [f"## {path.name}", "", *(f"* {line}" for line in sources), ""]
    if loads := load_fits(path):
        return "\n".join([*lines, *load_table(loads)]).rstrip() + "\n"
    found = fits(path)
    made = [each for each in found if isinstance(each, Fit)]
    lines += [f"Refused: {each}." for each in found if isinstance(each, str)]
    if made:
        lines += ["| series | in-sample | left out | predicted break-even | measured |"]
        lines += ["|---|---|---|---|---|", *(row(each) for each in made), ""]
    for each in made:
        values = "; ".join(_told(each, name) for name in each.parameters)
        lines += [f"**{each.series.name}**: {values}.", ""]
        told = [note for note in each.notes if note.startswith(("host:", "accelerated:", "an acc"))]
        lines += [*(f"* {note}" for note in told), *([""] if told else [])]
    return "\n".join(lines).rstrip() + "\n"


def failures() -> str:
    """Return where a law is far from what was measured."""
    lines = ["## Where the model fails", ""]
    for path in files():
        for each in (found for found in fits(path) if isinstance(found, Fit)):
            wrong = []
            if each.left_out["median"] > POOR:
                wrong.append(f"a size left out is {each.left_out['median']:.0%} off at the median")
            crossings, own = measured_crossings(each.series), each.analysis.break_even
            if crossings and own is None:
                wrong.append(f"break-even is missed: measured {show(crossings[0], 'B')}")
            elif crossings and own is not None and abs(own / crossings[0] - 1.0) > FAR:
                wrong.append(f"break-even is {own / crossings[0] - 1.0:+.0%} off")
            if wrong:
                lines.append(f"* {path.name}, {each.series.name}: {'; '.join(wrong)}.")
        poor = [each for each in load_fits(path) if left_out(each)["median"] > POOR]
        if poor:
            worst = max(left_out(each)["median"] for each in poor)
            count = f"{len(poor)} of {len(load_fits(path))} series"
            lines.append(f"* {path.name}, {count}: a load left out is up to {worst:.0%} off.")
    return "\n".join([*lines, "", WHY])


def page() -> str:
    """Return the page."""
    return "\n".join([ABOUT, failures(), *(section(path) for path in files())])


ROWS = {  # file and series: name of the row, what it is, kernel
    ("cesa_aes", "pr11182"): ("aes-cbc-cesa-wrt3200acm", "AES-CBC on a Marvell CESA engine", "AES"),
    ("cesa_aes", "afalg_readme"): ("aes-cbc-cesa-afalg", "AES-CBC on a Marvell CESA engine", "AES"),
    ("cesa_aes", "openwrt1547"): ("aes-cbc-cesa-cortex-a9", "AES-CBC on a CESA engine", "AES"),
    ("aesni_onoff", "aes-128-cbc"): ("aes-cbc-aes-ni", "AES-CBC by the AES-NI instructions", "AES"),
    ("ucx_rocm_d2h", "ucx_rocm_d2h"): (
        "copy-rocm-dma",
        "Messages from a GPU's memory: copies by the CPU, or DMA of ROCm",
        "copy",
    ),
}
HEAD = """about = "Accelerators as others measured them: LogCA's parameters, fitted"
source = "fitted by python -m benchmarks.measured_accuracy to the tables in benchmarks/measured"
provenance = "fitted"
note = \"\"\"Written by python -m benchmarks.measured_accuracy. In seconds: a study that takes rows
gives a clock. How accurate they are: docs/accuracy.md. With uncertain = true figures are drawn as
the times leave them open.\"\"\"
"""


def source_of(path: Path, series: str) -> str:
    """Return where a file says that a series is from."""
    lines = [line.removeprefix("# source") for line in path.read_text("utf-8").splitlines()]
    parts = [p.strip() for line in lines for p in line.replace("; source", "\n").split("\n")]
    own = [p.removeprefix(f"{series}:") for p in parts if p.startswith(f"{series}:")]
    whole = [p.removeprefix(":") for p in parts if p.startswith(":")]
    return f"fitted to {(own or whole)[0].strip()}"


def catalog() -> str:
    """Return the catalog of the fits that meet their times."""
    rows = [HEAD]
    for path in files():
        for each in (found for found in fits(path) if isinstance(found, Fit)):
            both = (
                np.isfinite(each.series.host).any() and np.isfinite(each.series.accelerated).any()
            )
            if both and each.left_out["median"] <= POOR:
                name, about, kernel = ROWS[path.stem, each.series.name]
                row = as_row(each, name, about, source_of(path, each.series.name)).rstrip()
                rows.append(f'{row}\ntext.kernel = "{kernel}"\n')
    return "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    CATALOG.write_text(catalog(), encoding="utf-8")
