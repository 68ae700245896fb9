"""The command ``dse profile``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    "profile",
    context_settings={"ignore_unknown_options": False},
    epilog="Building and running a program gives it all your rights: profile what you would run.",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE... [-- ARGUMENT...]")
def profile(sources: tuple[str, ...]) -> None:
    """Build a C or C++ program with instrumentation, run it, write what it did."""
