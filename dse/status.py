"""The command `dse status`; what it needs is imported when it runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dse.options import option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@option("--json", "as_json", is_flag=True, help="Print data for scripts.")
def status(run: Path, as_json: bool) -> None:
    """Say how far RUN is: a run folder, or a study file whose runs share a storage.

    What is done and what is open, who works on it since when, at what rate, and when it is expected
    to end. A study file without such a storage stands for its own folder, runs/NAME.
    """
    from dataclasses import asdict

    from dse.model.values import as_data
    from dse.problems import printable
    from dse.result.folder import default_folder
    from dse.result.status import of_folder
    from dse.study.study import read_study
    from dse.study.urls import is_server
    from dse.terminal.status import lines

    if run.is_dir() or (not run.exists() and run.suffix != ".toml"):
        found = of_folder(run)
    else:
        study = read_study(run)
        if is_server(study.file.run.storage or ""):
            from dse.result.shared_status import of_storage

            found = of_storage(study)
        else:
            found = of_folder(default_folder(study.name))
    if as_json:
        click.echo(json.dumps(as_data(asdict(found)), indent=2))
        return
    for line in lines(found):
        click.echo(printable(line))
