"""Write docs/validation/accuracy.md: every measured set of benchmarks/measured, fitted or refused.

Run with ``python -m benchmarks.measured_accuracy``. Nothing in it is chosen by hand but the column
that names the series. It writes spaces/measured.toml as well: of each series in `ROWS` that has
both times and is met within 5 %, the fit as a row of a catalog.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dse.fit.command import as_row
from dse.fit.measurement_fit import Fit, fit, show_parameter
from dse.fit.queue import LoadFit, fit_load, read_loads
from dse.fit.rule import LEFT_OUT, make_rule
from dse.fit.series import Series, measured_times, read_series
from dse.model.values import show, show_percent
from dse.problems import InputError

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured"
PAGE = ROOT / "docs" / "validation" / "accuracy.md"
CATALOG = ROOT / "spaces" / "measured.toml"
BY = {
    "cesa_aes": ["run"],
    "aesni_onoff": ["cipher"],
    "page_migration_dma": ["run"],
    "gdrcopy_mapped_copy": ["direction"],
    "lognic_nvme_load": ["device", "workload", "granularity_B"],
    "lognic_switch_load": ["app"],
    "lognic_leed_load": ["operation", "granularity_B"],
    "zynq_aes": ["run"],
    "ti_crypto": ["device", "algorithm", "baseline"],
}
ABOUT = """# How accurate the fits are

LogCA fits most published measurements of encryption and copies within 5 %.
It misses times with a second code path, and queues with other rules.
`python -m benchmarks.measured_accuracy` writes this page from the tables in `benchmarks/measured`.
Others measured and published these times; the head of each file has the source and its cautions.
[fit.md](../how-to/fit.md) explains the fits, and `dse fit FILE` prints them.

## Times against sizes

An *error* is relative, at a size that the fit has not seen, of host and accelerated times.
The column *error* has the minimum and the maximum of the medians of the series.
*Worst* is the largest error.
The *measured* break-even is the crossing of straight lines between neighbouring sizes.
*Break-even off* has the deviations of the predicted break-even, in the series whose times cross.

| file | series | error | worst | that cross | break-even off |
|---|--:|--:|--:|--:|--:|
"""
MISSED = """
These series miss: the median error is above 5 %, or the break-even is more than 10 % off.
Intervals are 95 %.
*Never*: offloading is beneficial at no size; *always*: at every size.

| file | series | error, median / worst | predicted break-even | measured |
|---|---|--:|--:|--:|
"""
LOADS = """
## Latency against load

A queue with exponential service times is fitted to each series.
The error is the median at a load that the fit has not seen.

| file | series | error, best series | error, worst series |
|---|--:|--:|--:|
"""


POOR, FAR = 0.05, 0.1
WHY = """
## Where the model fails

* Caches, thresholds and second code paths change the slope of the times.
  One power law has no such change.
  Examples are FFT, AES-CTR without instructions, and pages that move in batches.
  Fit the sizes on each side separately.
* A queue with exponential service times is a rough model of a drive.
  A drive serves many requests at once.
  It is no model of a switch in which one flow fills the path before another comes.
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


def measured_crossings(series: Series) -> list[float]:
    """Return the sizes at which the measured times cross: straight lines between neighbours.

    Repeats count by their median.
    """
    common = np.unique(series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)])
    host, accelerated = (
        np.array([np.nanmedian(column[series.size == size]) for size in common])
        for column in (series.host, series.accelerated)
    )
    ahead = accelerated - host
    crossings = []
    for i in np.flatnonzero(np.sign(ahead[1:]) != np.sign(ahead[:-1])):
        fraction = ahead[i] / (ahead[i] - ahead[i + 1])
        crossings.append(float(common[i] + fraction * (common[i + 1] - common[i])))
    return crossings


def row(each: Fit) -> tuple[str, ...]:
    """Return the cells of a series."""
    out = each.left_out
    found = each.analysis
    predicted = "–"
    if found.break_even is not None:
        predicted = f"{show(found.break_even, 'B')} ({span(found.break_even_interval)})"
    elif np.isfinite(each.series.host).any() and np.isfinite(each.series.accelerated).any():
        predicted = "always" if found.always else "never"
    measured = ", ".join(show(size, "B") for size in measured_crossings(each.series)) or "–"
    return (
        each.series.name,
        f"{100 * out['median']:.2f} % / {100 * out['worst']:.1f} %",
        predicted,
        measured,
    )


def span(ends: tuple[float, float] | None) -> str:
    low, high = ends or (0.0, math.inf)
    return f"{show(low, 'B')} to {show_parameter('', high)}"


@functools.cache
def load_fits(path: Path) -> tuple[LoadFit, ...]:
    """Return the fit of each series of latency against load; none if the file has others."""
    series, _ = read_loads(path, BY.get(path.stem, [])) or ((), ())
    return tuple(map(fit_load, series))


def break_even_error(each: Fit) -> float | None:
    """Return how far the predicted break-even is off; None if the measured times do not cross."""
    crossings, own = measured_crossings(each.series), each.analysis.break_even
    if not crossings:
        return None
    return math.inf if own is None else abs(own / crossings[0] - 1.0)


def table_row(path: Path) -> str:
    """Return the row of a file in the table of times; nothing if none of its series is fitted."""
    fitted = [each for each in fits(path) if isinstance(each, Fit)]
    if not fitted:
        return ""
    medians = [each.left_out["median"] for each in fitted]
    worst = max(each.left_out["worst"] for each in fitted)
    errors = [e for each in fitted if (e := break_even_error(each)) is not None]
    predicted = [e for e in errors if math.isfinite(e)]
    off = _percents(predicted) if predicted else "–"
    if missing := len(errors) - len(predicted):
        off += f"; {missing} not predicted"
    cells = (path.name, len(fitted), _percents(medians), f"{100 * worst:.1f} %", len(errors), off)
    return f"| {' | '.join(map(str, cells))} |\n"


def _percents(fractions: list[float]) -> str:
    """Return the minimum and the maximum of some fractions."""
    low, high = (f"{100 * bound:.1f}" for bound in (min(fractions), max(fractions)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def missed_rows(path: Path) -> str:
    """Return the rows of the series of a file that miss."""
    fitted = [each for each in fits(path) if isinstance(each, Fit) and is_missed(each)]
    return "".join(f"| {' | '.join((path.name, *row(each)))} |\n" for each in fitted)


def load_row(path: Path) -> str:
    """Return the row of a file in the table of loads."""
    errors = sorted(each.left_out["median"] for each in load_fits(path))
    return f"| {path.name} | {len(errors)} | {100 * errors[0]:.1f} % | {100 * errors[-1]:.1f} % |\n"


def refusals(path: Path) -> list[str]:
    """Return the refusals of a file; tables of another kind have none."""
    refused = [each for each in fits(path) if isinstance(each, str)]
    return [
        f"* {path.name} is refused: {each}." for each in refused if "column of sizes" not in each
    ]


RULES = """
## Break-even and dispatch rules

{count} series have both times.
The measured times of {crossing} of them cross.
For these, the predicted break-even is {median} off in the median; {missing} have none.
Its 95 % interval overlaps the range between the two measured sizes in {overlap} of {crossing}.

`dse fit --emit` makes a dispatch rule for each ([fit.md](../how-to/fit.md)).
Its regret is the mean loss of time against the better choice.
The sizes are spread evenly in the logarithm.
The rule has not seen the two sizes around the crossing.
In {laws} series, with a leave-one-out error of at most 5 %, the law decides.
There, this regret is {laws_most} at most.
In the median of the {laws_crossing} that cross, it is {laws_median}.
In the other series, the measured sizes decide, and it is {sizes_most} at most.
"""


def rule_section() -> str:
    """Return the section on break-even and rules."""
    both = [
        (path, each)
        for path in files()
        for each in fits(path)
        if isinstance(each, Fit) and len(measured_times(each.series)[0]) >= 4
    ]
    errors, overlaps = [], []
    for _, each in both:
        if own := measured_crossings(each.series):
            sizes = measured_times(each.series)[0]
            k = int(np.searchsorted(sizes, own[0]))
            low, high = each.analysis.break_even_interval or (math.inf, math.inf)
            overlaps.append(low <= sizes[k] and high >= sizes[k - 1])
            errors.append(abs((each.analysis.break_even or math.inf) / own[0] - 1.0))
    rules = [(path, each, make_rule(each)) for path, each in both]
    left = [
        (r.regret[LEFT_OUT], bool(measured_crossings(each.series)))
        for _, each, r in rules
        if not r.reason
    ]
    crossing = [regret for regret, crosses in left if crosses]
    others = [r.regret[LEFT_OUT] for _, _, r in rules if r.reason]
    words = {
        "count": len(both),
        "crossing": len(errors),
        "median": show_percent(float(np.median(errors)), 2),
        "missing": sum(map(math.isinf, errors)),
        "overlap": sum(overlaps),
        "laws": len(left),
        "laws_crossing": len(crossing),
        "laws_median": f"{100 * np.median(crossing):.2f} %",
        "laws_most": f"{100 * max(left)[0]:.2f} %",
        "sizes_most": f"{100 * max(others):.2f} %",
    }
    return RULES.format(**words)


def is_missed(each: Fit) -> bool:
    """Return whether the results of a fit are far from the measured ones."""
    return each.left_out["median"] > POOR or (break_even_error(each) or 0.0) > FAR


def page() -> str:
    """Return the page."""
    loads = [path for path in files() if load_fits(path)]
    times = "".join(table_row(path) for path in files())
    missed = MISSED + "".join(missed_rows(path) for path in files())
    found = "".join(f"{note}\n" for path in files() for note in refusals(path))
    from benchmarks.system_prediction import section

    loads_table = LOADS + "".join(load_row(path) for path in loads)
    return ABOUT + times + missed + rule_section() + loads_table + section() + WHY + found


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
    ("ti_crypto", "AM62X aes-128-cbc plain"): ("aes-cbc-am62x", "AES-CBC on TI's AM62x", "AES"),
    ("ti_crypto", "AM64X aes-128-cbc plain"): ("aes-cbc-am64x", "AES-CBC on TI's AM64x", "AES"),
}
HEAD = """about = "Accelerators as others measured them: LogCA's parameters, fitted"
source = "fitted by python -m benchmarks.measured_accuracy to the tables in benchmarks/measured"
provenance = "fitted"
note = \"\"\"Written by python -m benchmarks.measured_accuracy. In seconds: a study that takes rows
gives a clock. Accuracy: docs/validation/accuracy.md. With uncertain = true the values
are sampled as the times determine them.\"\"\"
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
            own = path.stem, each.series.name
            if both and own in ROWS and each.left_out["median"] <= POOR:
                name, about, kernel = ROWS[own]
                row = as_row(each, name, about, source_of(path, each.series.name)).rstrip()
                rows.append(f'{row}\ntext.kernel = "{kernel}"\n')
    return "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    CATALOG.write_text(catalog(), encoding="utf-8")
