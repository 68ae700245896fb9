"""Sections of the report: the functions that write them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dse.evaluate.wiring import Wiring
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
        ctx.report_files += paths
        writers.append((reference, function))
    return tuple(writers)


def check_sections(ctx: Context, wiring: Wiring, sections: tuple[tuple[str, Writer], ...]) -> None:
    """Require that the study gives what the writers need; see `dse.model.section.needs`."""
    given = {*wiring.constants, *wiring.varied, *ctx.file.inputs, *ctx.doubtful}
    places = {name: where for where, name in ctx.numbered("report.sections")}
    for reference, write in sections:
        for name in getattr(write, "needs", ()):
            if name in given or ctx.incomplete:
                continue
            known = wiring.resources.get(name) or wiring.quantities.get(name)
            about = f" ({known.about})" if known else ""
            ctx.add(
                places[reference],
                f"{reference} needs the input '{name}'{about}, which this study does not give",
                "it is written for another kind of study: leave the section out",
            )
