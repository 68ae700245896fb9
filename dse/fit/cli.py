"""The command `dse fit`; what it needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from dse.options import Readable, Written, option

_FILE = Written()


@click.command()
@click.argument("table", type=Readable())
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
@option("--force", is_flag=True, help="Replace files that exist.")
def fit(
    table: Path,
    by: tuple[str, ...],
    given: tuple[str, ...],
    record: Path | None,
    catalog: Path | None,
    html: Path | None,
    force: bool,
) -> None:
    """Fit LogCA to measured times: TABLE has granularity_B, host_s, accelerated_s.

    Or a queue to latency against load: TABLE has queue_depth or offered_Gbps, and latency_s.

    The result has each parameter with its 95 % interval, the size from which offloading is
    beneficial, the errors at points that the fit has not seen, and the limits of the table.
    See docs/fit.md.
    """
    from dse.fit.command import run

    click.echo("\n\n".join(run(table, by, given, record, catalog, html, force=force)))
