"""The command `dse status`; it imports other modules when it runs, to start quickly."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dse.options import Readable, option


@click.command()
@click.argument("run", type=Readable())
@option("--json", "as_json", is_flag=True, help="Print data for scripts.")
def status(run: Path, as_json: bool) -> None:
    """Show the progress of RUN, a run folder or a study file (its folder is runs/NAME)."""
    from dataclasses import asdict

    from dse.model.values import as_data
    from dse.problems import printable
    from dse.result.folder import default_folder
    from dse.result.status import of_folder
    from dse.study.study import read_study
    from dse.terminal.status import lines

    is_folder = run.is_dir() or (not run.exists() and run.suffix != ".toml")
    found = of_folder(run if is_folder else default_folder(read_study(run).name))
    if as_json:
        click.echo(json.dumps(as_data(asdict(found)), indent=2))
        return
    for line in lines(found):
        click.echo(printable(line))
