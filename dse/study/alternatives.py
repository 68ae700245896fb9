"""Alternatives: catalog entries that a study leaves out and that could replace its own."""

from __future__ import annotations

from collections.abc import Mapping

from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.space import Choice
from dse.model.units import UnitError, read_value, split_value
from dse.problems import InputError
from dse.study.catalog import KERNEL, Catalog, Row, find_catalog, load_catalog
from dse.study.catalog_filter import filter_catalog
from dse.study.resolve.scope import list_declarations
from dse.study.schema import CatalogTable, InputValue
from dse.study.study import ResolvedStudy


def list_alternatives(study: ResolvedStudy) -> dict[str, dict[str, dict[str, float]]]:
    """Return for each variable that chooses a catalog's row the rows that the study leaves out.

    An alternative sets all values that the variable's own entries set, in the domain of every model
    that takes them. It also computes the same as one of these entries, if their fact `KERNEL` names
    only one computation. If no model takes a quantity that is 0 for all of these entries, it is 0
    for the alternative too: else the effect of the alternative would leave out a cost.

    Returns
    -------
    dict
        By variable and row, the quantities in their base units.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    tables = getattr(study.file, "space", {})
    for name, variable in study.evaluator.space.variables.items():
        table = tables.get(name)
        if not isinstance(variable, Choice) or not isinstance(table, CatalogTable):
            continue
        try:
            folder = study.path.parent if study.path is not None else None
            catalog = load_catalog(find_catalog(table.catalog, folder))
            if table.where is not None:
                catalog = filter_catalog(catalog, table.where)
        except InputError:  # it was there when the study was read
            continue
        rows = _others(catalog, variable, table.rename, study.evaluator.model_graph)
        if rows:
            found[name] = rows
    return found


def _others(
    catalog: Catalog, variable: Choice, rename: Mapping[str, str], model_graph: ModelGraph
) -> dict[str, dict[str, float]]:
    own = {catalog.rows[n].text.get(KERNEL) for n in variable.names if n in catalog.rows}
    wanted = next(iter(variable.rows.values()))
    known = [catalog.rows[n].values for n in variable.names if n in catalog.rows]
    absent = [
        quantity
        for quantity in (known[0] if known else ())
        if rename.get(quantity, quantity) not in model_graph.quantities
        and all(quantity in values and _is_zero(values[quantity]) for values in known)
    ]
    found = {}
    for name, row in catalog.rows.items():
        if any(key in row.values and not _is_zero(row.values[key]) for key in absent):
            continue
        if name not in variable.rows and row.text.get(KERNEL) in own:
            values = _values(row, rename, wanted, model_graph)
            if len(values) == len(wanted):
                found[name] = values
    return found


def _is_zero(value: InputValue) -> bool:
    number, _, _ = split_value(value.text)
    return float(number) == 0


def _values(
    row: Row, rename: Mapping[str, str], wanted: Mapping[str, float], model_graph: ModelGraph
) -> dict[str, float]:
    """Return the wanted values of a row that models can take."""
    clock = model_graph.constants.get("clock")
    found = {}
    for key, value in row.values.items():
        name = rename.get(key, key)
        if name not in wanted:
            continue
        try:
            number = read_value(value.text, model_graph.quantities[name].unit, clock)
        except UnitError:
            continue
        if all(q.contains_all(number * scale) for q, scale in list_declarations(model_graph, name)):
            found[name] = number
    return found
