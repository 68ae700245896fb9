"""Signatures: the inputs that an annotated function declares, with flat records, and its outputs.

A *record* is a NamedTuple or a dataclass whose fields are quantities. A function may take one as a
parameter; callers, studies and the engine see each of its fields as a parameter.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_type_hints

from dse.model.quantity import Quantity, Resource
from dse.problems import InputError, Problem

_EMPTY = inspect.Parameter.empty


class Record(NamedTuple):
    """A parameter that is a record: how to build it."""

    kind: type[Any]
    fields: tuple[str, ...]


class Layout(NamedTuple):
    """The parameters of a function, with each record replaced by its fields."""

    flat: inspect.Signature
    """Parameters are positional up to the first one without a default that follows a default."""
    records: Mapping[str, Record]
    """The records, by the parameter of the function."""
    plain: tuple[str, ...]
    """Parameters that are not records."""


def list_fields(kind: Any) -> dict[str, Any] | None:
    """Return the fields of a NamedTuple or a dataclass with their defaults; None of another type.

    >>> class Pair(NamedTuple):
    ...     first: float
    ...     second: float = 1.0
    >>> list_fields(Pair)["second"], list_fields(float)
    (1.0, None)
    """
    if not isinstance(kind, type):
        return None
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        defaults = getattr(kind, "_field_defaults", {})
        return {name: defaults.get(name, _EMPTY) for name in kind._fields}
    if dataclasses.is_dataclass(kind):
        return {
            each.name: _EMPTY if each.default is dataclasses.MISSING else each.default
            for each in dataclasses.fields(kind)
            if each.init
        }
    return None


def record_values(record: Any) -> dict[str, Any]:
    """Return the values of a record by field."""
    return {name: getattr(record, name) for name in list_fields(type(record)) or ()}


_read_hints = functools.lru_cache(maxsize=4_096)(get_type_hints)  # several readers per function


@functools.lru_cache(maxsize=4_096)
def read_layout(function: Callable[..., Any]) -> Layout:
    """Return a function's parameters with flat records and evaluated annotations.

    InputError if two parameters, or fields of records, have one name.
    """
    hints = _read_hints(function, include_extras=True)
    flat: list[inspect.Parameter] = []
    records: dict[str, Record] = {}
    plain: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, parameter.annotation)
        fields = list_fields(hint) or {}
        own = _read_hints(hint, include_extras=True) if fields else {}
        if not any(find_declaration(own[field]) for field in fields):
            flat.append(parameter.replace(annotation=hint))
            plain.append(name)
            continue
        for field, default in fields.items():
            if parameter.default is not _EMPTY:
                default = getattr(parameter.default, field)
            kind = parameter.kind
            flat.append(inspect.Parameter(field, kind, default=default, annotation=own[field]))
        records[name] = Record(hint, tuple(fields))
    names = [each.name for each in flat]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        where = getattr(function, "__qualname__", str(function))
        problems = [Problem(n, "is a parameter twice", "leave it out of one record") for n in twice]
        raise InputError(where, problems)
    result = hints.get("return", inspect.Signature.empty)
    signature = inspect.Signature(_in_order(flat), return_annotation=result)
    return Layout(signature, records, tuple(plain))


def _in_order(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Make parameters keyword-only if they follow a default, because they have no default."""
    optional = late = False
    ordered = []
    for each in parameters:
        if each.kind is each.POSITIONAL_OR_KEYWORD:
            late = late or (optional and each.default is _EMPTY)
            optional = optional or each.default is not _EMPTY
            each = each.replace(kind=each.KEYWORD_ONLY) if late else each
        ordered.append(each)
    return ordered


def find_declaration(hint: Any) -> Quantity | Resource | None:
    """Return the declaration in an annotation; None if there is none."""
    notes = getattr(hint, "__metadata__", ())
    return next((note for note in notes if isinstance(note, Quantity | Resource)), None)


def list_declarations(function: Callable[..., Any]) -> dict[str, Quantity | Resource]:
    """Return the declarations of a function's or a record's inputs, by name, in order.

    The fields of a record take its place. Parameters without a declaration are left out.
    """
    if list_fields(function) is not None:
        hints = _read_hints(function, include_extras=True)
    else:
        parameters = read_layout(function).flat.parameters.values()
        hints = {each.name: each.annotation for each in parameters}
    found = {name: find_declaration(hint) for name, hint in hints.items()}
    return {name: note for name, note in found.items() if note is not None}
