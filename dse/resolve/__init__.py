"""From a study file to an evaluator: load, convert, join, and report every problem at once."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dse.evaluate import Evaluator
from dse.resolve.checks import check_dead, check_given_twice, check_missing, check_regions
from dse.resolve.context import Context
from dse.resolve.curves import CurvePlan, resolve_curves
from dse.resolve.free import free_quantities
from dse.resolve.goals import resolve_goals, resolve_limits
from dse.resolve.inputs import resolve_constants
from dse.resolve.models import resolve_models
from dse.resolve.sections import resolve_sections
from dse.resolve.variables import resolve_variables
from dse.section import Writer
from dse.space import Space
from dse.wiring import Wiring


class Resolved(NamedTuple):
    """What a study file comes to."""

    evaluator: Evaluator
    curves: tuple[CurvePlan, ...]
    sections: tuple[tuple[str, Writer], ...]


def resolve(ctx: Context) -> Resolved | None:
    """Resolve everything; None where that is impossible (`problems` says why)."""
    models = resolve_models(ctx)
    sections = resolve_sections(ctx)
    declared = Wiring(models, {}, frozenset())
    wrong = declared.problems()
    ctx.problems += wrong
    if wrong or not models:
        return None  # nothing can be converted or ordered among such models
    glossary = replace(declared, free=free_quantities(ctx, declared))
    constants = resolve_constants(ctx, glossary)
    variables = resolve_variables(ctx, glossary, constants)
    if not variables:
        return None
    space = Space(variables)
    wiring = replace(glossary, constants=constants, varied=frozenset(space.quantities()))
    check_given_twice(ctx, wiring, space)
    goals = resolve_goals(ctx, wiring)
    limits = resolve_limits(ctx, wiring)
    if not any(p.where.startswith("study.models") for p in ctx.problems):
        check_missing(ctx, wiring, goals, limits)
        check_dead(ctx, wiring, space, goals, limits)
    check_regions(ctx, wiring, goals)
    curves = resolve_curves(ctx, wiring)
    return Resolved(Evaluator(wiring, space, tuple(goals), tuple(limits)), tuple(curves), sections)
