"""Sections of the report: the functions that write them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dse.model.signature import declared
from dse.model.section import Writer
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
    for i, reference in enumerate(ctx.file.report.sections):
        where = f"report.sections[{i + 1}]"
        try:
            function, paths = load_function(reference, ctx.folder, "section")
        except InputError as error:
            for p in error.problems:
                ctx.add(where, f"{p.where}: {p.message}" if p.where else p.message, p.remedy)
            continue
        try:
            inspect.signature(function).bind("study", "result")
        except TypeError:
            ctx.add(
                where,
                f"{reference} writes no section: its parameters are {inspect.signature(function)}",
                "a section is written by a function of the study and its result",
            )
            continue
        if _is_model(function):
            message = f"{reference} writes no section: its parameters are quantities"
            ctx.add(where, message, "a model belongs into study.models")
            continue
        ctx.files += paths
        writers.append((reference, function))
    return tuple(writers)
