"""Models and catalogs: one line each, or all details of a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dse.model.quantity import Quantity, Resource
from dse.model.values import plural, show_number
from dse.problems import printable
from dse.study.catalog import Catalog, ListedModel, Row, entry_values
from dse.study.schema import InputValue
from dse.terminal.layout import escape, hang_text, indent_text

_TABLE_WIDTH = 80  # columns of a terminal
_MAX_COLUMNS = 4  # of values: the names of entries need the rest
_NAME_WIDTH = 27  # of quantities


def list_overview(
    models: Sequence[ListedModel], catalogs: Sequence[Catalog]
) -> Iterator[RenderableType]:
    """Yield one line for each model and each catalog."""
    yield from _lines("models", [(m.model.name, m.about) for m in models])
    yield from _lines("catalogs", [(c.name, c.about) for c in catalogs])
    yield (
        "dse list NAME shows the inputs and outputs of a model, the rows of a catalog, and who "
        "takes and gives a quantity."
    )


def list_details(
    models: Sequence[ListedModel], catalogs: Sequence[Catalog], name: str
) -> Iterator[RenderableType]:
    """Yield the details of a name, or else one line for each name that contains the text."""
    whole = [m for m in models if re.search(rf"(^|[.:]){re.escape(name)}$", m.model.name)]
    for model in whole:
        yield from _model(model)
    for catalog in catalogs:
        if name == catalog.name and catalog.path.suffix == ".csv":
            yield from entry_table(catalog)
        elif name == catalog.name:
            yield from _catalog(catalog, catalog.rows.values())
        elif name in catalog.rows:
            yield from _entry(catalog, catalog.rows[name])
    given = {m.model.name: m.model.outputs[name] for m in models if name in m.model.outputs}
    taken = {m.model.name: m.model.inputs[name] for m in models if name in m.model.inputs}
    if given or taken:
        yield f"[bold]quantity {escape(name)}[/]"
        yield from _lines("given by", [(m, _declared(q)) for m, q in given.items()])
        yield from _lines("taken by", [(m, _declared(q)) for m, q in taken.items()])
    rows = [(c, r) for c in catalogs for r in c.rows.values() if name in r.values]
    yield from _lines(
        "given by rows of catalogs",
        [(f"{c.name} {r.name}", _value(r.values[name])) for c, r in rows],
    )
    exact = whole or given or taken or any(name in (c.name, *c.rows) for c in catalogs)
    if not exact and not rows:
        yield from list_overview(models, catalogs)


def _declared(quantity: Quantity | Resource) -> str:
    if not isinstance(quantity, Quantity):
        return quantity.about
    label = f"{quantity.label}: " if quantity.label else ""
    return f"[{quantity.unit}]  {label}{quantity.about}"


def _lines(title: str, lines: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    """Yield a title and one line for each name; a narrow terminal cuts the lines."""
    if lines:
        yield f"[bold]{title}[/]"
    wide = max((len(name) for name, _ in lines), default=0)
    for name, about in lines:
        text = printable(f"{name:<{wide}}  {about}")
        yield indent_text(Text(text, overflow="ellipsis", no_wrap=True))


def _model(listed: ListedModel) -> Iterator[RenderableType]:
    yield f"[bold]{escape(listed.model.name)}[/]  {escape(listed.about)}"
    for title, quantities in (("inputs", listed.model.inputs), ("outputs", listed.model.outputs)):
        yield f"  {title}"
        for name, declared in quantities.items():
            about = declared.about
            if isinstance(declared, Quantity):
                domain = f" {declared.domain()}" if title == "inputs" else ""
                label = f"({declared.label}) " if declared.label else ""
                about = f"{label}{declared.symbol} [{declared.unit}]{domain}  {about}".strip()
            if (default := listed.model.defaults.get(name)) is not None:
                about += f" (default {show_number(default)})"
            yield indent_text(f"[bold]{escape(name)}[/] {escape(about)}", 4)
    for requirement in listed.model.requirements:
        yield from hang_text("requires", f"{requirement.relation.text}: {requirement.about}")


def _catalog(catalog: Catalog, rows: Iterable[Row]) -> Iterator[RenderableType]:
    yield f"[bold]catalog {escape(catalog.name)}[/]  {escape(catalog.about)}"
    for row in rows:
        yield indent_text(f"[bold]{escape(row.name)}[/]  {escape(row.about)}")
        values = ", ".join(f"{name} = {_value(value)}" for name, value in row.values.items())
        yield indent_text(f"[dim]{escape(values)}[/]", 4)


def _entry(catalog: Catalog, row: Row) -> Iterator[RenderableType]:
    yield f"[bold]catalog {escape(catalog.name)}[/]  {escape(catalog.about)}"
    yield indent_text(f"[bold]{escape(row.name)}[/]  {escape(row.about)}")
    for name, text in row.text.items():
        yield from hang_text(name, text, _NAME_WIDTH, 4)
    sources = {value.source for value in row.values.values()}
    for name, value in row.values.items():
        source = value.source if len(sources) > 1 else ""
        bounds = f" in {value.range[0]} to {value.range[1]}" if value.range else ""
        parts = f"{_value(value)}{bounds}  ({value.provenance})", source, value.note
        yield from hang_text(name, "; ".join(filter(None, parts)), _NAME_WIDTH, 4)
    if len(sources) == 1:
        yield from hang_text("source", min(sources), _NAME_WIDTH, 4)
    if row.note:
        yield from hang_text("note", row.note, _NAME_WIDTH, 4)


def entry_table(catalog: Catalog, condition: str = "") -> Iterator[RenderableType]:
    """Yield a table of entries at `_TABLE_WIDTH` columns, and the values that it leaves out.

    The values that the condition names come first, then the values that most entries have.
    """
    rows = list(catalog.rows.values())
    full = sorted(rows, key=lambda row: -len(row.values))  # their order is the order of the file
    counts = Counter(name for row in full for name in row.values)
    few = max(counts.values(), default=0) / 4
    named = sorted(counts, key=lambda n: (n not in re.findall(r"\w+", condition), counts[n] < few))
    shown, others = named[:_MAX_COLUMNS], named[_MAX_COLUMNS:]
    table = Table(box=None, pad_edge=False, width=_TABLE_WIDTH)
    table.add_column("entry", overflow="fold", ratio=1)
    columns = []
    for name in shown:
        unit, values = entry_values(rows, name)
        own = ["" if name not in row.values else _value(row.values[name]) for row in rows]
        shown_as = (show_number(value, 4) for value in values)
        columns.append(
            [o if np.isnan(v) else t for o, v, t in zip(own, values, shown_as, strict=True)]
        )
        head = name.replace("_", "_\n") + (f"\n[{unit}]" if unit != "1" else "")
        table.add_column(escape(head), justify="right", no_wrap=True)
    for row, *cells in zip(rows, *columns, strict=True):
        table.add_row(row.name, *cells)
    yield f"[bold]catalog {escape(catalog.name)}[/]  {plural(len(rows), 'entry', 'entries')}"
    if rows:
        yield table
    if others:
        yield Text(f"also: {', '.join(others)}; dse list ENTRY shows all values and sources")


def _value(entry: InputValue) -> str:
    """Return an input value as people write it."""
    if isinstance(entry.value, str):
        return entry.value
    return f"{show_number(entry.value, 6)} {'' if entry.unit == '1' else entry.unit}".rstrip()
