"""Sections of the report: the functions that write them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dse.model.section import Writer
from dse.model.signature import declared
from dse.problems import InputError
from dse.study.loading import load_function
from dse.study.resolve.context import Context


def _is_model(function: Callable[..., Any]) -> bool:
    """Tell whether parameters are declared as quantities."""
    try:
        return bool(declared(function))
    except (NameError, TypeError):  # types imported for the checker alone, as sections may
        return False


def resolve_sections(ctx: Context) -> tuple[tuple[str, Writer], ...]:
    """Load the writers of sections, with the names that the study gives them."""
    writers = []
    for where, reference in ctx.numbered("report.sections"):
        try:
            function, paths = load_function(reference, ctx.folder, "section")
        except InputError as error:
            ctx.adopt(where, error)
            continue
        if _is_model(function):
            message = f"{reference} does not write a section: its parameters are quantities"
            ctx.add(where, message, "a model belongs in study.models")
            continue
        try:
            inspect.signature(function).bind("study", "result")
        except TypeError:
            parameters = inspect.signature(function)
            ctx.add(
                where,
                f"{reference} does not write a section: its parameters are {parameters}",
                "a section is written by a function of the study and its result",
            )
            continue
        ctx.files += paths
        writers.append((reference, function))
    return tuple(writers)
