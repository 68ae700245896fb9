"""Measure this machine, fit what was measured, and run a study on it: ``python -m examples.here``.

Writes ``times.csv``, ``fit.json``, ``fitted.toml`` (a catalog), ``fit.html``, ``here.toml`` (a
study) and the study's run into a folder, ``runs/here`` if none is given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import dse
from dse.fit.command import as_catalog, as_text
from dse.fit.measurement_fit import Fit
from dse.fit.overview import fit_table
from dse.fit.page import page
from dse.result.files import write_json, write_text
from examples.here import measure

PUBLISHED = 0.037
"""The largest error of three speedups that Accelerometer predicted (Sriraman and Dhanotia,
Accelerometer, ASPLOS 2020): the best published validation of such models."""
STUDY = """\
# SHA-256 on this machine: from which size of a call on does each way of doing it pay, and how much?

[study]
name = "here"
about = "SHA-256 with the processor's instructions, or shipped to another process"
models = ["objectives.logca:offload"]

[inputs]
clock = "1 GHz" # relates the seconds of the fits to LogCA's cycles; any will do

[space]
way = {{ catalog = "fitted.toml", options = [{ways}] }}

[[objective]]
maximize = "speedup"
at = {{ granularity = "64 KiB" }}

[[objective]]
minimize = "break_even"

[[curve]]
name = "Speedup against the size of a call"
axis = "granularity"
real = ["16 B", "1 MiB"]
log = true
quantities = ["speedup"]
"""
WAYS = ("sha256", "process-memory", "process-socket")


def speedup_errors(found: Fit) -> np.ndarray:
    """Return the errors of the speedup at each size, relative, by fits that have not seen it."""
    device = found.points.accelerated
    host, accelerated = found.errors.left_out[~device], found.errors.left_out[device]
    return np.asarray(np.abs((1 + host) / (1 + accelerated) - 1))


def concluded(folder: Path, table: Path) -> list[str]:
    """Fit a table of times, run the study on the fits, and return what both say.

    Raises
    ------
    InputError
        If the times cannot be fitted.
    """
    fits, hints = fit_table(table, ["run"], {})
    write_json(folder / "fit.json", {found.series.name: found.record() for found in fits})
    write_text(folder / "fitted.toml", as_catalog(fits, table.name))
    write_text(folder / "fit.html", page(fits, table.name, [], []))
    said = [*hints, *map(as_text, fits)]
    said.append("errors of speedups at sizes that a fit has not seen, median and worst:")
    for found in fits:
        errors = speedup_errors(found)
        said.append(f"  {found.series.name:<16} {np.median(errors):6.1%} {errors.max():6.1%}")
    said.append(f"  beside {PUBLISHED:.1%} at most in three cases: Accelerometer, ASPLOS 2020")
    study, out = folder / "here.toml", folder / "run"
    ways = ", ".join(f'"{way}"' for way in WAYS)
    study.write_text(STUDY.format(ways=ways), encoding="utf-8")
    result = dse.load(study).run(out)
    return [*said, str(result.answer()), f"report: {out / 'report.html'}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs/here"))
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement (default 1)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=measure.SIZES, help="bytes of calls"
    )
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "times.csv"
    print("measuring: two minutes or so")
    try:
        measure.write(table, list(measure.measured(tuple(given.sizes), given.seconds)))
        print("\n".join(concluded(folder, table)))
    except (measure.MissingError, dse.InputError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
