"""From a study's tables to an evaluator, in stages: each reports all its problems at once.

`models`
    Code: models and sections of the report.
`scope`
    The declarations of the quantities of a study, and numbers in their base units.
`inputs`
    The table ``[inputs]``: entries of catalogs and their overrides, fixed inputs, clock and files.
`variables`
    The table ``[space]``: variables, and the numbers and ranges of their values.
`agreement`
    Facts of selected entries that must agree.
`objectives`
    Objectives with their conditions, scenarios and weights.
`constraints`
    Constraints, relations, free quantities and the target.
`preferences`
    Weights, bounds and excluded options of the recommendation.
`uncertainty`
    An input value in the unit of its quantity, its range and distribution, joint fits of a row, and
    the samples of a study.
`plots`
    Optimization regions and curves.
`table`
    A study of a table, which has columns in the place of models.
`kernels`
    The tables ``[[kernel]]``: the kernels of a system, each resolved as a study of its own.
`kernel_options`
    The options of one kernel and their combination: totals on the host, shared engines and chains.
`dependencies`
    Checks of the whole study: missing and repeated inputs, inputs and variables without effect, and
    the input values that results depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import ModelGraph, find_conflicts, required_constraints
from dse.evaluate.preferences import Preferences
from dse.evaluate.samples import Uncertainty
from dse.evaluate.space import Space
from dse.evaluate.target import Target
from dse.model.section import Writer
from dse.study.findings import Findings
from dse.study.resolve.agreement import check_agreement
from dse.study.resolve.constraints import free_quantities, resolve_constraints, resolve_target
from dse.study.resolve.dependencies import (
    StudyInput,
    check_effects,
    check_given_twice,
    check_missing,
    list_inputs,
)
from dse.study.resolve.inputs import load_entries, resolve_inputs
from dse.study.resolve.models import check_sections, load_code
from dse.study.resolve.objectives import BoundValues, resolve_objectives
from dse.study.resolve.plots import (
    CurvePlan,
    RegionsPlan,
    check_curves,
    resolve_curves,
    resolve_regions,
)
from dse.study.resolve.preferences import resolve_preferences
from dse.study.resolve.scope import Scope
from dse.study.resolve.uncertainty import Sampling, sample_study
from dse.study.resolve.variables import resolve_variables
from dse.study.schema import StudyFile, SystemStudyFile, TableStudyFile

if TYPE_CHECKING:
    from dse.study.resolve.kernels import Kernels


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The parts of a resolved study.

    Parameters
    ----------
    regions : RegionsPlan or None
        Along what bottlenecks are looked for.
    sections : sequence of (str, callable)
        Names and functions that write sections of the report; see `dse.model.section`.
    unchecked : sequence of str
        Requirements of models that the study does not check, with the inputs that they need.
    files, section_files : sequence of Path
        The files that decide its result, and the files of sections of the report.
    fingerprints : sequence of str
        Of functions that a script gave.
    noted_files : mapping of str to (str, Path, list of Path)
        The files of inputs that a run does not copy: the text's name, the place and the files.
    """

    evaluator: Evaluator
    target: Target | None = None
    preferences: Preferences = field(default_factory=Preferences)
    regions: RegionsPlan | None = None
    curves: Sequence[CurvePlan] = ()
    sections: Sequence[tuple[str, Writer]] = ()
    unchecked: Sequence[str] = ()
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    inputs: tuple[StudyInput, ...] = ()
    files: Sequence[Path] = ()
    section_files: Sequence[Path] = ()
    fingerprints: Sequence[str] = ()
    kernels: Kernels | None = None
    noted_files: Mapping[str, tuple[str, Path, list[Path]]] = field(default_factory=dict)


def resolve(
    file: StudyFile,
    folder: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
    findings: Findings,
) -> Resolved:
    """Resolve a study.

    `elsewhere`: the places of inputs that are not at the text's place.

    InputError with every problem of the first stage that has one.
    """
    # Stage 1: every name in the study refers to code that exists.
    code = load_code(file, folder, functions, findings)
    if isinstance(file, TableStudyFile):
        from dse.study.resolve.table import resolve_table

        evaluator, target, path = resolve_table(file, folder, findings)
        clock = evaluator.model_graph.constants.get("clock")
        preferences = resolve_preferences(
            file, evaluator.objectives, evaluator.space, clock, findings
        )
        findings.finish_stage()
        return Resolved(
            evaluator=evaluator,
            target=target,
            preferences=preferences,
            sections=code.sections,
            files=[path],
            section_files=code.section_files,
        )
    entries = load_entries(file, folder, findings)
    findings.finish_stage()
    kernels = None
    if isinstance(file, SystemStudyFile):
        from dse.study.resolve.kernels import resolve_kernels

        kernels = resolve_kernels(file, folder, functions, elsewhere, findings)

    # Stage 2: each name is known, and each number is in its quantity's domain.
    models = [*code.models, *(kernels.models if kernels else ())]
    model_graph = ModelGraph(tuple(models), {}, frozenset())
    findings.problems += find_conflicts(model_graph)
    model_graph = replace(model_graph, free=free_quantities(file, model_graph, entries))
    inputs = resolve_inputs(file, model_graph, entries, folder, elsewhere, findings)
    model_graph = replace(model_graph, constants=inputs.constants)
    scope = Scope(model_graph, findings, inputs.limits)
    variables = resolve_variables(file, scope, entries, inputs)
    space = kernels.space() if kernels else Space(variables.space)
    model_graph = replace(model_graph, varied=frozenset(space.quantities()))
    sampling = Sampling(inputs.values, variables.rows)
    if not findings.problems:
        model_graph, space = sampling.prepare(model_graph, space)
    scope = replace(scope, model_graph=model_graph)
    bound: BoundValues = {}
    objectives = resolve_objectives(file, scope, bound)
    constraints = resolve_constraints(file, scope, bound)
    target, of_target = resolve_target(file, scope, objectives)
    constraints += of_target
    regions = resolve_regions(file, scope, objectives)
    curves = resolve_curves(file, scope)
    check_given_twice(findings, model_graph, space)
    check_agreement(entries, model_graph.quantities, scope.clock, findings)
    findings.finish_stage()

    # Stage 3: the whole is consistent.
    model_graph, objectives, constraints, uncertainty = sample_study(
        file, findings, sampling, model_graph, objectives, constraints
    )
    if regions is not None:
        sampled = {o.name: o for o in objectives}.get(regions.objective.name, regions.objective)
        regions = replace(regions, objective=sampled)
    evaluator = Evaluator(
        model_graph, space, tuple(objectives), tuple(constraints), file.run.on_error
    )
    required, unchecked = required_constraints(model_graph, evaluator.requests())
    evaluator = replace(evaluator, constraints=(*constraints, *required))
    if kernels:
        kernels.check_names(evaluator, findings)
    check_missing(findings, evaluator)
    shown = {name for _, write in code.sections for name in getattr(write, "needs", ())}
    check_effects(file, findings, evaluator, shown)
    check_sections(code, model_graph, file.inputs, findings)
    check_curves(scope, curves)
    findings.finish_stage()
    if kernels:  # Stage 4: the designs of each kernel that a system may need.
        evaluator = kernels.search(evaluator, findings)
    preferences = resolve_preferences(
        file, evaluator.objectives, evaluator.space, scope.clock, findings
    )
    findings.finish_stage()
    return Resolved(
        evaluator=evaluator,
        target=target,
        preferences=preferences,
        regions=regions,
        curves=curves,
        sections=code.sections,
        unchecked=unchecked,
        uncertainty=uncertainty,
        inputs=(
            *list_inputs(evaluator, inputs, variables, bound),
            *(kernels.inputs if kernels else ()),
        ),
        kernels=kernels,
        files=[
            *code.model_files,
            *(taken.path for taken in entries.values()),
            *inputs.files,
            *(kernels.files if kernels else ()),
        ],
        section_files=code.section_files,
        fingerprints=code.fingerprints,
        noted_files=inputs.outside,
    )
