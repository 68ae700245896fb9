"""The library: installed models with their quantities, and catalogs with their entries."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

from dse.model.contract import Model
from dse.problems import closest
from dse.study.catalog import Catalog, load_catalog, shipped_catalogs
from dse.study.loading import shipped_models


@dataclass(frozen=True)
class Listed:
    """A model and what its docstring says first."""

    model: Model
    about: str


def models(name: str | None = None) -> list[Listed]:
    """Return the installed models, or those whose name or quantities hold `name`."""
    found = []
    for model in shipped_models():
        names = [model.name, *model.inputs, *model.outputs]
        if name is None or any(name in n for n in names):
            found.append(Listed(model, first_sentence(inspect.getdoc(model.function) or "")))
    return found


def first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring, without its markup.

    >>> first_sentence("Return what :func:`~a.b.f` gives, as ``x``; see `a.g`. And more.")
    'What f gives, as x; see g'
    """
    text = " ".join(doc.partition("\n\n")[0].split()).removeprefix("Return ")
    text = re.sub(r"(?::\w+:)?`+~?(?:\w+\.)*([^`]*)`+", r"\1", text)
    sentence = re.match(r".*?(?=\.(?:\s|$)|$)", text)
    words = sentence[0] if sentence else ""
    return words[:1].upper() + words[1:]


def catalogs(name: str | None = None) -> list[Catalog]:
    """Return the installed catalogs, or those whose name, rows or quantities hold `name`."""
    found = []
    for path in shipped_catalogs():
        catalog = load_catalog(path)
        names = [
            catalog.name,
            *catalog.rows,
            *(f for r in catalog.rows.values() for f in r.values),
        ]
        if name is None or any(name in n for n in names):
            found.append(catalog)
    return found


def near(name: str) -> str | None:
    """Return the nearest name of a model, a quantity, a catalog or a row; None if none is near."""
    known: set[str] = set()
    for listed in models():
        names = {*listed.model.inputs, *listed.model.outputs}
        known |= names | {listed.model.name, listed.model.name.rpartition(":")[2]}
    for catalog in catalogs():
        known |= {catalog.name, *catalog.rows}
        known |= {name for row in catalog.rows.values() for name in row.values}
    return closest(name, known)
