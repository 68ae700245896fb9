"""Models and catalogs: a line each, or all of what a name asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from dse.model.quantity import Quantity
from dse.model.values import number
from dse.study.catalog import Catalog
from dse.study.listing import Listed
from dse.terminal.shown import escape


def overview(models: Sequence[Listed], catalogs: Sequence[Catalog]) -> Iterator[RenderableType]:
    """Yield a line for each model and each catalog."""
    for title, lines in (
        ("models", [(each.model.name, each.about) for each in models]),
        ("catalogs", [(each.name, each.about) for each in catalogs]),
    ):
        yield f"[bold]{title}[/]"
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("", no_wrap=True)
        for name, about in lines:
            table.add_row(escape(name), escape(about))
        yield Padding(table, (0, 0, 0, 2), expand=False)
    yield "dse list NAME shows the quantities of a model and the rows of a catalog."


def of_model(listed: Listed) -> Iterator[RenderableType]:
    """Yield a model with its quantities and demands."""
    yield f"[bold]{escape(listed.model.name)}[/]  {escape(listed.about)}"
    table = Table(box=None, pad_edge=False, show_header=False)
    for column in range(6):  # nothing is cut, and a name can be copied whole
        table.add_column(overflow="fold", no_wrap=column == 1)
    for kind, quantities in (("in", listed.model.inputs), ("out", listed.model.outputs)):
        for quantity, declared in quantities.items():
            if isinstance(declared, Quantity):
                default = listed.model.defaults.get(quantity)
                after = f" (default {number(default)})" if default is not None else ""
                domain = declared.domain() if kind == "in" else ""
                unit = f"\\[{escape(declared.unit)}]"
                about = escape(declared.about + after)
                table.add_row(f"  {kind}", quantity, declared.symbol, unit, domain, about)
            else:
                table.add_row(f"  {kind}", quantity, "", "", "", escape(declared.about))
    yield table
    for demand in listed.model.demands:
        yield from hanging("demands", f"{demand.relation.text}: {demand.about}")


def of_catalog(catalog: Catalog) -> Iterator[RenderableType]:
    """Yield a catalog with its rows and their figures."""
    yield f"[bold]catalog {escape(catalog.name)}[/]  {escape(catalog.about)}"
    for row in catalog.rows.values():
        figures = ", ".join(f"{n} = {f.text}" for n, f in row.figures.items())
        text = f"{escape(row.name)}: {escape(row.about)} [dim]{escape(figures)}[/]"
        yield Padding(text, (0, 0, 0, 2), expand=False)


def hanging(kind: str, text: str, width: int = 11, indent: int = 2) -> Iterator[RenderableType]:
    """Yield a word and a text whose further lines begin below its first."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=width)
    table.add_column(overflow="fold")
    table.add_row(kind, escape(text))
    yield Padding(table, (0, 0, 0, indent), expand=False)
