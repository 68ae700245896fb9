"""Options of the command line: single values, and names of files."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource


class SingleOption(click.Option):
    """An option that takes one value by default; click takes the last of several."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Make the parser keep every value."""
        multiple, self.multiple = self.multiple, self.multiple or not self.is_flag
        super().add_to_parser(parser, ctx)
        self.multiple = multiple

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the one value.

        Raises
        ------
        click.BadParameter
            If several different values are given.
        """
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.COMMANDLINE or self.multiple or self.is_flag:
            return value, source
        if len(values := list(dict.fromkeys(value))) > 1:
            given = " and ".join(f"'{each}'" for each in values)
            raise click.BadParameter(f"takes one value, but {given} are given", ctx, self)
        return values[0], source


option = functools.partial(click.option, cls=SingleOption)
"""`click.option` with the class `SingleOption`."""


class FileName(click.Path):
    """The name of a file or a folder, in UTF-8: `dse` writes names into files.

    For one to write, ``-``, which is often standard output, is refused.
    """

    def __init__(self, written: bool = False) -> None:
        super().__init__(path_type=Path)
        self._written = written

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path."""
        if self._written and value == "-":
            self.fail("'-' is not a file: give a name; results are not written to standard output")
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail("the name is not UTF-8: rename the file or the folder")
        return super().convert(value, param, ctx)


Written = functools.partial(FileName, written=True)
"""A file or a folder to write."""
