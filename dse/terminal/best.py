"""The best design per objective and the Nash design, as a table or list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from dse.evaluate.space import SUBSET
from dse.model.values import aligned, prefixed, show_value, titled
from dse.result.record import Result
from dse.terminal.layout import escape, indented

_UNLIMITED_WIDTH = 10_000  # columns of a terminal on which any table fits


class _Column(NamedTuple):
    name: str
    head: str
    number: bool
    cells: list[str]


def best_designs(result: Result, console: Console) -> list[Table | Padding | str]:
    """Return the best designs for printing: one table if it fits, else a list per design.

    No name is ever broken, and the numbers of a column have aligned decimal points.
    """
    front = result.front
    rows = [(f"best {o.name}", front.best(o.name)) for o in result.objectives]
    if len(result.objectives) > 1:
        rows.append(("Nash design", front.nash()))
    names: dict[str, list[str]] = {}
    designs = {str(design.name): design for _, design in rows}
    for label, design in rows:
        names.setdefault(str(design.name), []).append(label)
    columns = []
    for o in result.objectives:
        values = np.array([float(design[o.name]) for design in designs.values()])
        scale, unit = prefixed(values, o.unit)
        texts = [
            text if np.isfinite(value) else show_value(value, o.unit)
            for value, text in zip(values.tolist(), aligned(values / scale), strict=True)
        ]
        columns.append(_Column(o.name, titled(o.name, unit).replace(" [", "\n["), True, texts))
    for column in result.columns.values():
        if column.about == SUBSET:
            chosen = [str(design[column.name]) for design in designs.values()]
            columns.append(_Column(column.name, column.name, False, chosen))
    table = _table(names, columns)
    least = console.measure(
        table, options=console.options.update(max_width=_UNLIMITED_WIDTH)
    ).minimum
    return [table] if least <= console.width else _list(names, columns)


def _table(names: dict[str, list[str]], columns: list[_Column]) -> Table:
    table = Table(box=None, pad_edge=False)
    longest = max(len(line) for labels in names.values() for line in _lines(labels))
    table.add_column("", no_wrap=True, min_width=longest)  # a name of two words is one
    table.add_column("design", justify="right", no_wrap=True)
    for column in columns:
        head = escape(column.head)
        table.add_column(head, justify="right" if column.number else "left", no_wrap=column.number)
    for i, (design, labels) in enumerate(names.items()):
        cells = [escape(column.cells[i]) for column in columns]
        table.add_row(escape("\n".join(_lines(labels))), design, *cells)
    return table


def _lines(labels: list[str]) -> list[str]:
    """Return the objectives in which a design is best, one per line."""
    return [*(f"{label}," for label in labels[:-1]), labels[-1]]


def _list(names: dict[str, list[str]], columns: list[_Column]) -> list[Table | Padding | str]:
    shown: list[Table | Padding | str] = []
    for i, (design, labels) in enumerate(names.items()):
        shown.append(escape(f"{', '.join(labels)}: design {design}"))
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("", no_wrap=True)
        for column in columns:
            unit = column.head.partition("\n[")[2].rstrip("]")
            finite = column.number and column.cells[i][-1:].isdigit()
            table.add_row(
                escape(column.name), escape(f"{column.cells[i]} {unit if finite else ''}")
            )
        shown.append(indented(table))
    return shown
