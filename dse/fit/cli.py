"""The command `dse fit`, which imports its modules when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from dse.options import FileName, Written, option

_FILE = Written()


@click.command()
@click.argument("table", type=FileName())
@option("--by", multiple=True, metavar="COLUMN", help="Fit each value of this column by itself.")
@option(
    "--given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Take this value as known, such as overhead=5us. May be given several times.",
)
@option("--json", "record", type=_FILE, help="Write data for scripts.")
@option("-o", "--out", "catalog", type=_FILE, help="Write a catalog for studies.")
@option("--html", type=_FILE, help="Write a page with plots.")
@option("--emit", type=_FILE, help="Write a dispatch rule: C, C++, Python or Rust by the ending.")
@option("--thresholds", type=_FILE, help="Compare a CSV file of device and bytes with the fits.")
@option("--force", is_flag=True, help="Replace files that exist.")
def fit(
    table: Path,
    by: tuple[str, ...],
    given: tuple[str, ...],
    record: Path | None,
    catalog: Path | None,
    html: Path | None,
    emit: Path | None,
    thresholds: Path | None,
    force: bool,
) -> None:
    """Fit LogCA to measured times: TABLE has granularity_B, host_s, accelerated_s.

    If TABLE is a folder, all its *.csv are fitted, and the answer is an overview.

    Or a queue to latency against load: TABLE has queue_depth or offered_Gbps, and latency_s.

    The result has each parameter with its 95 % interval, the size from which offloading is
    beneficial, the errors at points that the fit has not seen, and the limits of the table.
    See docs/how-to/fit.md.
    """
    from dse.fit.command import run

    files = record, catalog, html, emit, thresholds
    click.echo("\n\n".join(run(table, by, given, *files, force=force)))
