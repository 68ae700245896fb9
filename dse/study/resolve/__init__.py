"""From a study file to an evaluator: load, convert, join, and report every problem at once."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Space
from dse.evaluate.wiring import Wiring
from dse.model.section import Writer
from dse.study.resolve.checks import check_dead, check_given_twice, check_missing, check_regions
from dse.study.resolve.context import Context
from dse.study.resolve.curves import CurvePlan, resolve_curves
from dse.study.resolve.free import free_quantities
from dse.study.resolve.inputs import resolve_constants
from dse.study.resolve.models import resolve_models
from dse.study.resolve.objectives import resolve_constraints, resolve_objectives
from dse.study.resolve.sections import resolve_sections
from dse.study.resolve.variables import resolve_variables


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
    objectives = resolve_objectives(ctx, wiring)
    constraints = resolve_constraints(ctx, wiring)
    if not any(p.where.startswith("study.models") for p in ctx.problems):
        check_missing(ctx, wiring, objectives, constraints)
        check_dead(ctx, wiring, space, objectives, constraints)
    check_regions(ctx, wiring, objectives)
    curves = resolve_curves(ctx, wiring)
    return Resolved(
        Evaluator(wiring, space, tuple(objectives), tuple(constraints)), tuple(curves), sections
    )
