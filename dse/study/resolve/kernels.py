"""The kernels of a system: each is a study of its own, searched in the totals of the system.

A kernel's options are "not built" and the Pareto front of its designs, where the coordinates are
the totals. Any other design is at least as bad in each total, so no system needs it. A total that
some objective wants low and another high is kept as two coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.audit import audit
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table_space import ROW, TableSpace
from dse.evaluate.totals import BUILT, NOT_BUILT, find_system, part_name, total_model
from dse.model.contract import Model
from dse.model.quantity import Array, Quantity
from dse.model.values import plural, show
from dse.problems import InputError, Problem, nearest
from dse.search.base import SearchSettings, Start, method_of
from dse.search.bound.monotonicity import find_best_ends, find_missing_declarations
from dse.search.bound.ranges import Ranges
from dse.search.reproduction import reproduce
from dse.study.findings import Findings, Place
from dse.study.input_files import own_file, read_toml
from dse.study.resolve.scope import Scope
from dse.study.schema import (
    ConstraintTable,
    KernelStudyFile,
    KernelTable,
    ObjectiveTable,
    StudyFile,
    StudyTable,
    SystemStudyFile,
    TableStudyFile,
    TableStudyTable,
)
from dse.study.schema_errors import parse_file

_DESIGNS = "designs.csv"
_MAX_DESIGNS = 20_000_000  # designs of a kernel, which are all evaluated


@dataclass(frozen=True)
class Kernels:
    """The kernels of a system.

    Parameters
    ----------
    evaluators : mapping of str to Evaluator
        By kernel: its models and designs, with the totals that it has as objectives.
    not_built : mapping of str to mapping of str to float
        By kernel: its totals on the host; kernels without an entry are always built.
    quantities : mapping of str to Quantity
        The totals.
    files : tuple of Path
        The files that decide the kernels' designs.
    """

    evaluators: Mapping[str, Evaluator]
    not_built: Mapping[str, Mapping[str, float]]
    quantities: Mapping[str, Quantity]
    files: tuple[Path, ...]

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that add up each total."""
        names = tuple(self.evaluators)
        return tuple(total_model(name, q, names) for name, q in self.quantities.items())

    def space(
        self, options: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None
    ) -> Space:
        """Return the kernels as variables, with these totals by option; with none, two options."""
        if options is None:
            both = {NOT_BUILT: dict.fromkeys(self.quantities, 0.0)}
            both["built"] = dict.fromkeys(self.quantities, 1.0)
            options = dict.fromkeys(self.evaluators, both)
        return Space(
            {
                kernel: Choice(
                    {
                        o: {part_name(kernel, t): v for t, v in row.items()}
                        for o, row in rows.items()
                    },
                    "built as",
                )
                for kernel, rows in options.items()
            }
        )

    def search(self, evaluator: Evaluator, findings: Findings) -> Evaluator:
        """Return the evaluator of the system with the options of the kernels, which are searched.

        Raises
        ------
        InputError
            If a kernel has no option, or its models break their contract.
        """
        signs = _find_signs(evaluator, findings)
        options: dict[str, dict[str, dict[str, float]]] = {}
        for kernel, own in self.evaluators.items():
            place = Place("kernel") / kernel
            rows: dict[str, dict[str, float]] = {}
            if kernel in self.not_built:
                rows[NOT_BUILT] = {t: self.not_built[kernel].get(t, 0.0) for t in self.quantities}
            try:
                rows |= _search_kernel(own, signs, self.quantities)
            except InputError as error:
                findings.adopt(place, error)
                continue
            if not rows:
                findings.add(place, "has no feasible design", "loosen its constraints")
            elif NOT_BUILT in rows and len(rows) == 1:
                findings.notes.append(f"{place} has no feasible design: it stays on the host")
            options[kernel] = rows
        findings.finish_stage()
        return replace(evaluator, space=self.space(options))


def resolve_kernels(
    file: SystemStudyFile,
    folder: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
    findings: Findings,
) -> Kernels:
    """Resolve the kernels of a system, each as a study; this runs no search."""
    from dse.study.resolve import Resolved, resolve

    evaluators: dict[str, Evaluator] = {}
    not_built: dict[str, dict[str, float]] = {}
    quantities: dict[str, Quantity] = {}
    files: list[Path] = []
    for kernel, table in file.kernel.items():
        place, own = Place("kernel") / kernel, Findings(findings.source)
        try:
            study, path = _study_of(kernel, file, table, folder, own)
            resolved: Resolved = resolve(study, path, functions, elsewhere, own)
            evaluators[kernel] = resolved.evaluator
            if (known := _not_built(table, resolved.evaluator, study, own)) is not None:
                not_built[kernel] = known
            own.finish_stage()
        except InputError as error:
            findings.adopt(place, error)
            continue
        files += resolved.files
        for objective in resolved.evaluator.objectives:
            declared = resolved.evaluator.model_graph.quantities[objective.quantity]
            quantities.setdefault(objective.quantity, declared)
            if declared.unit != quantities[objective.quantity].unit:
                message = f"{objective.quantity} is in {declared.unit}, and other kernels have it"
                findings.add(place, f"{message} in {quantities[objective.quantity].unit}")
    for name in file.kernels.totals:
        if name not in quantities and not findings.problems:
            given = {n for e in evaluators.values() for n in e.model_graph.producers}
            message = f"no kernel gives '{name}'"
            findings.add(Place("kernels") / "totals", message, nearest(name, given))
    findings.finish_stage()
    return Kernels(evaluators, not_built, quantities, tuple(dict.fromkeys(files)))


# A kernel as a study


def _study_of(
    kernel: str, file: SystemStudyFile, table: KernelTable, folder: Path | None, findings: Findings
) -> tuple[StudyFile, Path | None]:
    """Return a kernel as a study, and the folder where its files are."""
    sources = {k: getattr(table, k) for k in ("study", "run", "table") if getattr(table, k)}
    if len(sources) > 1:
        findings.add(Place(), f"has {' and '.join(sources)}", "give one of them")
        findings.finish_stage()
    totals, shared = file.kernels.totals, file.kernels
    if "run" in sources or "table" in sources:
        name = sources.get("table") or f"{sources['run']}/{_DESIGNS}"
        for key in ("models", "inputs", "space"):
            if getattr(table, key):
                message = "does not go with a run or a table: its designs are evaluated"
                findings.add(Place(key), message, "leave it out")
        findings.finish_stage()
        return _study_of_table(kernel, name, table, totals, folder, "run" in sources), folder
    models = table.models or shared.models
    inputs, space = {**shared.inputs, **table.inputs}, {**shared.space, **table.space}
    constraints = [*shared.constraint, *table.constraint]
    if table.study:
        path = own_file(folder, table.study, "study", "*.toml")
        other = parse_file(read_toml(path)[1], Findings(table.study))
        models, folder = list(other.study.models), path.parent
        inputs = {**other.inputs, **table.inputs}
        space = {**other.space, **table.space}
        constraints = [*other.constraint, *table.constraint]
    if not models:
        remedy = "give models in [kernels], or a study, a run or a table of the kernel"
        findings.add(Place("models"), "the kernel has no models", remedy)
    if not space:
        remedy = "give its variables: engines of a catalog, for example"
        findings.add(Place("space"), "the kernel has no designs", remedy)
    findings.finish_stage()
    study = KernelStudyFile.model_construct(
        study=StudyTable.model_construct(name=kernel, models=models),
        inputs=inputs,
        space=space,
        objective=[ObjectiveTable.model_construct(minimize=total, name=total) for total in totals],
        constraint=constraints,
    )
    return study, folder


def _study_of_table(
    kernel: str,
    name: str,
    table: KernelTable,
    totals: Sequence[str],
    folder: Path | None,
    of_run: bool,
) -> TableStudyFile:
    """Return a table of designs as a study of the totals that it has columns of."""
    from dse.study.design_table import read_table

    columns = read_table(name, folder)[0]
    constraints = list(table.constraint)
    if of_run and "table_feasible" in columns.names:
        constraints.append(ConstraintTable.model_construct(quantity="table_feasible", at_least=1.0))
    return TableStudyFile.model_construct(
        study=TableStudyTable.model_construct(name=kernel, table=name),
        objective=[
            ObjectiveTable.model_construct(minimize=total, name=total)
            for total in totals
            if total in columns.names
        ],
        constraint=constraints,
    )


def _not_built(
    table: KernelTable, evaluator: Evaluator, study: StudyFile, findings: Findings
) -> dict[str, float] | None:
    """Return the totals of a kernel that stays on the host; None if it is always built.

    Models that take `BUILT` are evaluated with 0. Else a model declares the quantity or the number
    that an output has without the accelerator (`Quantity.without`, `Quantity.worth`).
    """
    graph, place = evaluator.model_graph, Place("not_built")
    scope, known = Scope(graph, findings), dict[str, float]()
    totals = [objective.quantity for objective in evaluator.objectives]
    for name, given in table.not_built.items():
        if name not in totals:
            findings.add(place / name, f"'{name}' is not a total", nearest(name, totals))
            continue
        value = scope.number(place / name, name, given, scope.unit(name))
        known[name] = value or 0.0
    if isinstance(study, TableStudyFile):
        return known or None
    columns = evaluator.space.columns(evaluator.space.from_unit(_spread(evaluator.space)))
    has_flag = BUILT in graph.quantities
    for total in (total for total in totals if total not in known):
        quantity, conditions = graph.quantities[total], {BUILT: 0.0} if has_flag else {}
        name = total if has_flag else quantity.without
        if not name and quantity.worth is not None:
            known[total] = quantity.worth
        elif not name:
            message = f"no model takes '{BUILT}' or declares {total} without an accelerator"
            findings.add(place, message, f"give not_built = {{ {total} = … }}")
        else:
            values = np.unique(graph.evaluate([(name, conditions)], columns)[0])
            known[total] = float(values[0])
            if not np.allclose(values, values[0], rtol=1e-12, atol=0.0):
                message = (
                    f"{total} on the host differs between designs: {values[0]:g}, {values[-1]:g}"
                )
                findings.add(place, message, f"give not_built = {{ {total} = … }}")
    return known


def _spread(space: Space) -> Array:
    """Return points of the unit cube that cover each variable (points, variables)."""
    count = max(2, min(64, max((v.count or 64) for v in space.variables.values())))
    even = np.linspace(0.0, 1.0, count)
    return np.column_stack([np.roll(even, 7 * i) for i in range(len(space.variables))])


# The search of a kernel


def _find_signs(evaluator: Evaluator, findings: Findings) -> dict[str, tuple[int, ...]]:
    """Return for each total that matters the directions that are better: -1 less, 1 more."""
    system = find_system(evaluator)
    if system is None:
        raise AssertionError("the study is not a system")
    ranges = Ranges(system.inner)
    ends = find_best_ends(ranges)
    signs: dict[str, tuple[int, ...]] = {
        t: (ends[i],) if i in ends else (-1, 1) for i, t in enumerate(system.totals)
    }
    if any(len(both) > 1 for both in signs.values()):
        mixed = ", ".join(t for t, both in signs.items() if len(both) > 1)
        missing = find_missing_declarations(ranges)
        why = missing[0] if missing else "objectives disagree about it"
        findings.notes.append(f"kernels keep more options, for each value of {mixed}: {why}")
    return signs


def _search_kernel(
    evaluator: Evaluator, signs: Mapping[str, tuple[int, ...]], totals: Mapping[str, Quantity]
) -> dict[str, dict[str, float]]:
    """Return the front of a kernel's designs in the totals, by option.

    Raises
    ------
    InputError
        If the designs are too many, or a model breaks its contract.
    """
    size = evaluator.space.size
    if size is None or size > _MAX_DESIGNS:
        has = "a continuous variable" if size is None else plural(size, "design")
        remedy = f"give real variables steps, or fewer values: at most {_MAX_DESIGNS:,} designs"
        raise InputError("", [Problem("space", f"has {has}, and all are evaluated", remedy)])
    all_totals = evaluator.objectives
    wanted = [
        replace(o, name=f"{o.name} {sign}", direction="minimize" if sign < 0 else "maximize")
        for o in all_totals
        for sign in signs.get(o.quantity, ())
    ]
    searched = replace(evaluator, objectives=tuple(wanted))
    try:
        if evaluator.model_graph.models and (problems := audit(searched).problems):
            raise InputError("", problems)
        settings = SearchSettings(method="exhaustive")
        settings = method_of("exhaustive").plan(settings, searched.space, len(wanted), [])
        search = method_of("exhaustive").start(Start(searched, settings))
        for _ in search.steps():
            pass
        outcome = search.outcome()
        if evaluator.model_graph.models:
            reproduce(searched, outcome)
    except DesignError as error:
        raise InputError("", [Problem("", str(error))]) from error
    rows = np.flatnonzero(outcome.on_front)
    _, first = np.unique(outcome.evaluated.objectives[rows], axis=0, return_index=True)
    rows = rows[np.sort(first)]
    points = {name: values[rows] for name, values in outcome.points.items()}
    values = replace(evaluator, constraints=()).evaluate(points).objectives
    names = [objective.quantity for objective in all_totals]
    return {
        option: {t: float(row[names.index(t)]) if t in names else 0.0 for t in totals}
        for option, row in zip(_option_names(evaluator, points), values, strict=True)
    }


def _option_names(evaluator: Evaluator, points: Points) -> list[str]:
    """Return a short unique name of each design: its entries, and its numbers with their names."""
    space = evaluator.space
    labels: dict[str, NDArray[Any]] = space.labels(points)
    numbers = points[ROW] if isinstance(space, TableSpace) else space.to_index(points)
    names = []
    for row, number in enumerate(numbers.tolist()):
        parts = []
        for name, variable in space.variables.items():
            if variable.count == 1:
                continue
            text = labels[name][row]
            if isinstance(text, str):
                parts.append(text)
            else:
                unit = evaluator.model_graph.quantities[name].unit
                parts.append(f"{name.replace('_', ' ')} {show(float(text), unit)}")
        names.append(", ".join(parts) or f"design {number}")
    twice = {name for name in names if names.count(name) > 1} | {NOT_BUILT}
    return [
        f"{name} (design {number})" if name in twice else name
        for name, number in zip(names, numbers.tolist(), strict=True)
    ]
