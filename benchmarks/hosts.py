"""Write spaces/hosts.csv: the time of functions on processor cores.

Run with ``python -m benchmarks.hosts``. A series of times over sizes, of ``host_series.csv``, is
fitted as ``fixed + per byte``. A rate that its source prints for long inputs, of
``host_rates.csv``, is converted. The tables are in benchmarks/measured, each with its source.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measured_accuracy import BY, MEASURED, ROOT
from dse.fit.measurement_fit import fit
from dse.fit.series import Series, read_series
from dse.model.units import read_value

CATALOG = ROOT / "spaces" / "hosts.csv"
HEAD = '''\
# about = "Functions on processor cores: time per byte and per call, with and without instructions"
# provenance = "measured"
# note = """Written by python -m benchmarks.hosts from the tables in benchmarks/measured. A core
# that has instructions for a function is a separate entry. A rate in bulk has no cost per call,
# and its fixed work is assumed to be 0."""
'''
FACTS = ("kernel", "variant", "device", "part", "instructions")
UNITS = {"clock": "GHz", "computational_index": "ns/B", "complexity": "1", "host_fixed_work": "B"}
FITTED = {"complexity": 1.0}


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table with comment lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def series_of(row: dict[str, str], known: dict[str, dict[str, Series]]) -> Series:
    """Return the times of a row of ``host_series.csv`` as times of a host."""
    if row["file"] not in known:
        by = BY.get(row["file"], ["series"])
        table = read_series(MEASURED / f"{row['file']}.csv", by)[0]
        known[row["file"]] = {each.name: each for each in table}
    found = known[row["file"]][row["series"]]
    times = found.accelerated if row["column"] == "accelerated_s" else found.host
    absent = np.full_like(times, np.nan)
    return replace(found, host=times, accelerated=absent, cpu=absent)


def fitted(row: dict[str, str], known: dict[str, dict[str, Series]]) -> dict[str, str]:
    """Return the values of an entry whose times are fitted, with the errors of the fit."""
    result = fit(series_of(row, known), FITTED)
    index = result.parameters["computational_index"]
    low, high = (1e9 * end for end in result.intervals["computational_index"])
    errors = f"{result.left_out['median']:.1%} median, {result.left_out['worst']:.0%} worst"
    interval = f"95 %: {low:.4g} to {high:.4g} ns/B; error at sizes left out {errors}"
    return {
        "computational_index": f"{1e9 * index:.4g} (fitted)",
        "complexity": "1 (assumed)",
        "host_fixed_work": f"{result.parameters['host_fixed_time'] / index:.4g} (fitted)",
        "note": "; ".join(filter(None, (interval, row["note"]))),
    }


def converted(row: dict[str, str]) -> dict[str, str]:
    """Return the values of an entry whose rate is printed; cycles stay cycles."""
    rate = f"{row['rate']} {row['unit']}"
    per_byte = rate if row["unit"] == "cycle/B" else f"{1e9 / read_value(rate, 'B/s'):.4g}"
    note = "; ".join(filter(None, ("in bulk", row["note"])))
    assumed = {"complexity": "1 (assumed)", "host_fixed_work": "0 (assumed)"}
    return {"computational_index": per_byte, **assumed, "note": note}


def catalog() -> str:
    """Return the text of the catalog."""
    known: dict[str, dict[str, Series]] = {}
    series = [(row, fitted(row, known)) for row in rows(MEASURED / "host_series.csv")]
    rates = [(row, converted(row)) for row in rows(MEASURED / "host_rates.csv")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = [f"{name} [{unit}]" for name, unit in UNITS.items()]
    writer.writerow(["entry", *FACTS, *heads, "source", "note"])
    for row, values in sorted(series + rates, key=lambda pair: pair[0]["kernel"]):
        facts = [row[fact] for fact in FACTS]
        cells = [{"clock": row["clock_GHz"], **values}[name] for name in UNITS]
        writer.writerow([row["entry"], *facts, *cells, row["source"], values["note"]])
    return HEAD + text.getvalue()


if __name__ == "__main__":
    CATALOG.write_text(catalog(), encoding="utf-8")
