"""Free quantities: those that only a relation names, and that no model takes or gives."""

from __future__ import annotations

from dse.evaluate.wiring import Wiring
from dse.model.grammar import GrammarError, names_in, read_condition
from dse.model.quantity import Quantity
from dse.model.units import is_unit
from dse.problems import closest
from dse.study.resolve.context import ALIKE, Context
from dse.study.resolve.rows import rows_of
from dse.study.schema import CatalogRow, CatalogTable, RowsTable, SubsetsTable

_ABOUT = "used in relations alone"
_MEANT = 0.75  # of a name and an input that is lacking: two letters of four changed places


def free_quantities(ctx: Context, wiring: Wiring) -> dict[str, Quantity]:
    """Return the quantities of relations that an input or a row sets and no model declares.

    Their unit is the one they are written in, 1 for a plain number. A misspelt name in a relation
    stands for the nearest that is set: the relation is told, and not what it meant as well. A
    name near to that of an input that nothing gives is misspelt itself, and no quantity.
    """
    wanted: set[str] = set()
    unsure = any(entry.startswith("constraint") for entry in ctx.reading.dropped)
    for table in ctx.file.constraint:
        try:
            if table.relation:
                wanted |= {name.name for name in names_in(read_condition(table.relation))}
        except GrammarError:  # told where the constraint is read
            unsure = True
    wanted -= wiring.known
    if not wanted and not unsure:
        return {}
    every = _offered(ctx)
    lacking = _lacking(wiring, {*every, *ctx.file.space})
    offered = {
        n: q
        for n, q in every.items()
        if n not in wiring.known and closest(n, lacking, _MEANT) is None
    }
    names = {n if n in offered else closest(n, offered) for n in wanted}
    if unsure:  # a relation that cannot be read may name any of them
        names |= {n for n in offered if closest(n, wiring.known, ALIKE) is None}
    return {name: offered[name] for name in names if name is not None}


def _lacking(wiring: Wiring, given: set[str]) -> set[str]:
    """Return the inputs that neither the whole study nor a model or a default gives."""
    taken = {n for model in wiring.models for n in model.inputs if n not in model.defaults}
    return taken - given - set(wiring.producers)


def _offered(ctx: Context) -> dict[str, Quantity]:
    """Return every quantity that an input or a row sets."""
    found: dict[str, Quantity] = {}
    for key, variable in ctx.file.space.items():
        if isinstance(variable, RowsTable):
            found |= {n: Quantity("1", _ABOUT) for row in variable.rows.values() for n in row}
        elif isinstance(variable, SubsetsTable):
            found[variable.subsets] = Quantity("1", _ABOUT)
        elif isinstance(variable, CatalogTable):
            found |= _of_rows(ctx, f"space.{key}", variable)
    for key, entry in ctx.file.inputs.items():
        if isinstance(entry, CatalogRow):
            found |= _of_rows(ctx, f"inputs.{key}", entry)
        else:
            found[key] = Quantity("1", _ABOUT)
    return found


def _of_rows(ctx: Context, where: str, table: CatalogTable | CatalogRow) -> dict[str, Quantity]:
    return {
        name: Quantity(figure.unit if is_unit(figure.unit) else "1", _ABOUT)
        for figures in rows_of(ctx, where, table).values()
        for name, figure in figures.items()
    }
