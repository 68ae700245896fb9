"""From a study's tables to an evaluator: every problem of every section at once.

`models`, `rows`
    What the study names: code, and rows of catalogs.
`inputs`, `variables`, `free`
    What sets quantities: constants, the space, and quantities that only relations name.
`objectives`, `constraints`, `target`
    What is asked of designs.
`conditions`, `weights`
    Under which conditions, and how much each counts.
`uncertain`, `drawing`
    What is not known exactly, and its samples.
`figures`
    All figures that are given, with where they are from.
`regions`, `curves`, `sections`
    What the report draws and writes beside the front.
`table`
    All of it for a study of a table, which has columns in the place of models.
`checks`, `contradictions`
    What the whole must satisfy.
`context`
    What all of these share: the problems, and what could not be read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dse.evaluate.conflicts import conflicts
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.requirements import required_constraints
from dse.evaluate.samples import Uncertainty
from dse.evaluate.space import Space
from dse.evaluate.target import Target
from dse.evaluate.wiring import Wiring
from dse.model.section import Writer
from dse.study.resolve.checks import (
    check_dead,
    check_given_twice,
    check_missing,
    check_overrides,
    note_reach,
)
from dse.study.resolve.constraints import resolve_constraints
from dse.study.resolve.context import Context
from dse.study.resolve.contradictions import check_contradictions
from dse.study.resolve.curves import CurvePlan, resolve_curves
from dse.study.resolve.drawing import spreads, with_samples
from dse.study.resolve.figures import Stated, stated
from dse.study.resolve.free import free_quantities
from dse.study.resolve.inputs import resolve_constants
from dse.study.resolve.models import resolve_models
from dse.study.resolve.objectives import resolve_objectives
from dse.study.resolve.regions import RegionsPlan, resolve_regions
from dse.study.resolve.sections import check_sections, resolve_sections
from dse.study.resolve.table import resolve_table
from dse.study.resolve.target import resolve_target
from dse.study.resolve.variables import resolve_variables
from dse.study.schema import TableStudyFile


class Resolved(NamedTuple):
    """What a study file comes to."""

    evaluator: Evaluator
    regions: RegionsPlan | None
    curves: tuple[CurvePlan, ...]
    sections: tuple[tuple[str, Writer], ...]
    unchecked: tuple[str, ...]
    target: Target | None
    uncertainty: Uncertainty
    figures: tuple[Stated, ...]


def resolve(ctx: Context) -> Resolved:
    """Resolve everything; if `ctx.problems` says what is wrong, then as far as it can be."""
    if isinstance(ctx.file, TableStudyFile):
        evaluator, target = resolve_table(ctx, ctx.file)
        none = Uncertainty()
        return Resolved(evaluator, None, (), resolve_sections(ctx), (), target, none, ())
    return _of_models(ctx)


def _of_models(ctx: Context) -> Resolved:
    wiring = _wiring(ctx)
    sections = resolve_sections(ctx)
    wrong = conflicts(wiring)
    ctx.problems += wrong
    wiring = replace(wiring, free=free_quantities(ctx, wiring))
    wiring = replace(wiring, constants=resolve_constants(ctx, wiring))
    space = Space(resolve_variables(ctx, wiring))
    wiring, space = spreads(ctx, replace(wiring, varied=frozenset(space.quantities())), space)
    check_given_twice(ctx, wiring, space)
    check_overrides(ctx, wiring)
    before = len(ctx.problems)
    objectives = resolve_objectives(ctx, wiring)
    constraints = resolve_constraints(ctx, wiring)
    target, searched = resolve_target(ctx, wiring, objectives)
    constraints += searched
    check_contradictions(ctx, constraints)
    drawn = with_samples(ctx, wiring, space, objectives, constraints)
    wiring, objectives, constraints, uncertainty = drawn
    judged = tuple(objectives), tuple(constraints)
    evaluator = Evaluator(wiring, space, *judged, ctx.file.run.on_error)
    unchecked: tuple[str, ...] = ()
    if not wrong and not ctx.incomplete:
        also, unchecked = required_constraints(wiring, evaluator.requests())
        constraints += also
        evaluator = replace(evaluator, constraints=tuple(constraints))
    dropped = {entry.partition(".")[0] for entry in ctx.reading.dropped}
    dropped |= {table.partition("[")[0] for table in ctx.reading.lost}
    every_target = len(ctx.problems) == before and not dropped & {"objective", "constraint"}
    if not wrong and not ctx.incomplete:
        check_missing(ctx, wiring, objectives, constraints)
        if (
            every_target
            and "space" not in dropped
            and space.variables.keys() == ctx.file.space.keys()
        ):
            check_dead(ctx, wiring, space, objectives, constraints)
    check_sections(ctx, wiring, sections)
    regions = resolve_regions(ctx, wiring, objectives)
    curves = resolve_curves(ctx, wiring)
    figures: tuple[Stated, ...] = ()
    if not ctx.problems:
        note_reach(ctx, evaluator)
        figures = stated(ctx, evaluator)
    return Resolved(
        evaluator, regions, tuple(curves), sections, unchecked, target, uncertainty, figures
    )


def _wiring(ctx: Context) -> Wiring:
    """Return the models, and keep in mind what of the study could not be read at all."""
    models = Wiring(resolve_models(ctx), {}, frozenset())
    dropped = ctx.reading.dropped
    ctx.unseen |= "study.models" in dropped
    for entry in dropped:
        section, _, name = entry.partition(".")
        if section in ("inputs", "space"):
            ctx.doubtful.add(name)
            ctx.unread |= name not in models.known and name != "clock"
    return models
