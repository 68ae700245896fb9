"""Free quantities: those that only a relation names, and that no model takes or gives."""

from __future__ import annotations

from dse.evaluate.expression import ExpressionError, read_relation
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Quantity
from dse.model.units import is_unit
from dse.study.resolve.context import Context
from dse.study.resolve.rows import rows_of
from dse.study.schema import CatalogRow, CatalogTable, RowsTable

_ABOUT = "used in relations alone"


def free_quantities(ctx: Context, wiring: Wiring) -> dict[str, Quantity]:
    """Return the quantities of relations that an input or a row sets and no model declares.

    Their unit is the one they are written in, 1 for a plain number.
    """
    wanted: set[str] = set()
    for table in ctx.file.constraint:
        try:
            wanted |= read_relation(table.relation).names if table.relation else set()
        except ExpressionError:
            continue  # told where the constraint is read
    wanted -= wiring.known
    if not wanted:
        return {}
    found = {
        name: Quantity("1", _ABOUT)
        for name, entry in ctx.file.inputs.items()
        if name in wanted and not isinstance(entry, CatalogRow)
    }
    for key, variable in ctx.file.space.items():
        if isinstance(variable, RowsTable):
            names = {name for row in variable.rows.values() for name in row}
            found |= {name: Quantity("1", _ABOUT) for name in names & wanted}
        elif isinstance(variable, CatalogTable):
            found |= _of_rows(ctx, f"space.{key}", variable, wanted)
    for key, entry in ctx.file.inputs.items():
        if isinstance(entry, CatalogRow):
            found |= _of_rows(ctx, f"inputs.{key}", entry, wanted)
    return found


def _of_rows(
    ctx: Context, where: str, table: CatalogTable | CatalogRow, wanted: set[str]
) -> dict[str, Quantity]:
    return {
        name: Quantity(figure.unit if is_unit(figure.unit) else "1", _ABOUT)
        for figures in rows_of(ctx, where, table).values()
        for name, figure in figures.items()
        if name in wanted
    }
