"""The kernels of a system: each is resolved as a separate study, whose objectives are totals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Space
from dse.evaluate.table_space import TableSpace
from dse.evaluate.totals import BUILT, NOT_BUILT, Total, find_system, make_total_model
from dse.model.contract import Model
from dse.model.quantity import Quantity
from dse.model.values import word_name
from dse.problems import InputError, Problem, nearest
from dse.search.bound.monotonicity import find_best_ends, find_missing_declarations
from dse.search.bound.ranges import Ranges
from dse.study.findings import Findings, Place
from dse.study.input_files import find_own_file, hash_file, read_toml
from dse.study.resolve.dependencies import StudyInput
from dse.study.resolve.kernel_options import (
    KernelOptions,
    Options,
    Signs,
    chain_kernels,
    evaluate_on_host,
    share_engine,
)
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
from dse.study.schema_errors import check_study_content

_DESIGNS, _SUMMARY = "designs.csv", "summary.json"  # of a run folder


@dataclass(frozen=True)
class Kernels:
    """The kernels of a system.

    Parameters
    ----------
    file : SystemStudyFile
        The study: shared parts, and kernels that run at once.
    """

    file: SystemStudyFile
    kernels: Mapping[str, KernelOptions]
    quantities: Mapping[str, Quantity]
    files: tuple[Path, ...]
    inputs: tuple[StudyInput, ...] = ()

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that add up each total, for all kernels and for each phase."""
        groups = {"": tuple(self.kernels)}
        groups |= {f"{key}_": tuple(phase.kernels) for key, phase in self.file.phase.items()}
        return tuple(
            make_total_model(f"{prefix}{total}", total, quantity, names)
            for prefix, names in groups.items()
            for total, quantity in self.quantities.items()
        )

    def check_names(self, evaluator: Evaluator, findings: Findings) -> None:
        """Check that no kernel has the name of a quantity or of an objective."""
        taken = {*evaluator.model_graph.quantities, *(o.name for o in evaluator.objectives)}
        for key in self.members.values():
            if key in taken:
                message = f"'{key}' is the name of a quantity of this study, too"
                findings.add(Place("kernel") / key, message, "give the kernel another name")
        graphs = [kernel.evaluator.model_graph for kernel in self.kernels.values()]
        given = {name for graph in graphs for name in graph.producers}
        needs = evaluator.model_graph.needs([name for name, _ in evaluator.requests()])
        for name, by in needs.missing.items():
            if name in given:
                message = f"do not list '{name}', which {by or 'an objective'} needs"
                findings.add(Place("kernels") / "totals", message, f'add "{name}"')
        findings.finish_stage()

    def space(self, options: Mapping[str, Options] | None = None) -> Space:
        """Return the kernels as variables with these options; with none, two options of each."""
        if options is None:
            both = np.array([[0.0], [1.0]]) * np.ones(len(self.quantities))
            options = {k: Options((NOT_BUILT, "built"), {k: both}) for k in self.kernels}
        return Space(
            {
                key: Choice(each.rows(tuple(self.quantities)), "built as")
                for key, each in options.items()
            }
        )

    @property
    def members(self) -> dict[str, str]:
        """The variable of each kernel: itself, a shared engine or a chain."""
        variables = {name: name for name in self.kernels}
        for key, shared in self.file.shared_engine.items():
            variables |= dict.fromkeys(shared.kernels, key)
        for key, chain in self.file.chain.items():
            variables |= dict.fromkeys(chain.kernels, key)
        return variables

    def search(self, evaluator: Evaluator, findings: Findings) -> Evaluator:
        """Return the evaluator of the system with the options of the kernels, which are searched.

        InputError if a kernel has no option, or its models break their contract.
        """
        signs, options = _find_signs(evaluator, self.models, findings), dict[str, Options]()
        for key in dict.fromkeys(self.members.values()):
            section = "kernel" if key in self.kernels else "shared_engine"
            place = Place("chain" if key in self.file.chain else section) / key
            try:
                options[key] = self._find_options(key, signs)
            except InputError as error:
                findings.adopt(place, error)
                continue
            if not len(options[key].names):
                findings.add(place, "has no feasible design", "loosen its constraints")
            elif options[key].names == (NOT_BUILT,):
                findings.notes.append(f"{place} has no feasible design: it stays on the host")
        findings.finish_stage()
        return replace(evaluator, space=self.space(options))

    def _find_options(self, key: str, signs: Signs, checks: bool = True) -> Options:
        """Return the options of a variable."""
        totals = tuple(self.quantities)
        if key in self.file.chain:
            order = [self.kernels[name] for name in self.file.chain[key].kernels]
            return chain_kernels(self.file.chain[key], order, totals, signs, checks)
        if key in self.file.shared_engine:
            group = [kernel for name, kernel in self.kernels.items() if self.members[name] == key]
            return share_engine(self.file.shared_engine[key], group, totals, signs, checks)
        return self.kernels[key].options(totals, signs, checks)

    def vary(
        self, evaluator: Evaluator, kernels: Sequence[str], name: str, value: float
    ) -> Evaluator:
        """Return the evaluator of the system with another value of an input of some kernels.

        The options of these kernels are searched again; there may be others than before.
        """
        changed = {k: self.kernels[k].with_input(name, value) for k in kernels}
        other = replace(self, kernels={**self.kernels, **changed})
        signs = _find_signs(evaluator, self.models, Findings(""))
        options = {
            key: other._find_options(key, signs, checks=False)  # its own method
            for key in dict.fromkeys(self.members[k] for k in kernels)
        }
        variables = evaluator.space.variables
        fresh = self.space(options).variables
        return replace(evaluator, space=Space({k: fresh.get(k, v) for k, v in variables.items()}))


def resolve_kernels(
    file: SystemStudyFile,
    folder: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
    findings: Findings,
) -> Kernels:
    """Resolve the kernels of a system, each as a study; this runs no search."""
    from dse.study.resolve import Resolved, resolve

    kernels: dict[str, KernelOptions] = {}
    quantities: dict[str, Quantity] = {}
    files: list[Path] = []
    of_tables: dict[str, Quantity] = {}
    given: dict[str, tuple[StudyInput, ...]] = {}
    for kernel, table in file.kernel.items():
        place, own = Place("kernel") / kernel, Findings(findings.source)
        try:
            study, place_of, paths = _study_of(kernel, file, table, folder, own)
            resolved: Resolved = resolve(study, place_of, functions, elsewhere, own)
            on_host = _not_built(table, resolved.evaluator, study, own)
            kernels[kernel] = KernelOptions(
                kernel, resolved.evaluator, on_host, tuple(table.not_built)
            )
            given[kernel] = resolved.inputs
            own.finish_stage()
        except InputError as error:
            findings.adopt(place, error)
            continue
        files += [*paths, *resolved.files]
        findings.warnings += [_placed(place, text) for text in own.warnings]
        findings.notes += [_placed(place, note) for note in own.notes if _is_of_user(note)]
        for each in resolved.inputs:
            if each.uncertain is not None:
                message = f"{each.label} is uncertain, and kernels have no samples"
                remedy = "give a number, and a range: dse explain varies it"
                findings.add(place / "inputs" / each.name, message, remedy)
        for objective in resolved.evaluator.objectives:
            declared = resolved.evaluator.model_graph.quantities[objective.quantity]
            if isinstance(study, TableStudyFile):  # without a domain, perhaps without a unit
                of_tables.setdefault(objective.quantity, declared)
            else:
                quantities.setdefault(objective.quantity, declared)
    known = of_tables | quantities
    quantities = {total: known[total] for total in file.kernels.totals if total in known}
    for name in file.kernels.totals:
        if name not in quantities and not findings.problems:
            known_names = {n for k in kernels.values() for n in k.evaluator.model_graph.producers}
            message = f"no kernel gives '{name}'"
            findings.add(Place("kernels") / "totals", message, nearest(name, known_names))
    _check_members(file, findings)
    _check_values(kernels, quantities, findings)
    findings.finish_stage()
    inputs = tuple(_list_inputs(file, given))
    return Kernels(file, kernels, quantities, tuple(dict.fromkeys(files)), inputs)


def _check_values(
    kernels: Mapping[str, KernelOptions], quantities: Mapping[str, Quantity], findings: Findings
) -> None:
    """Check that totals of tables, and of kernels on the host, are in the domains of totals."""
    for name, kernel in kernels.items():
        for objective in kernel.evaluator.objectives:
            unit = quantities[objective.quantity].unit
            if objective.unit not in ("1", unit):
                message = f"{objective.quantity} is in {objective.unit}, not in {unit}"
                findings.add(Place("kernel") / name, message, "give all kernels the same unit")
        for total, quantity in quantities.items():
            space = kernel.evaluator.space
            given = space.numbers.get(total, ()) if isinstance(space, TableSpace) else ()
            values = np.array([*given, *((kernel.on_host or {}).get(total, 0.0),)])
            if not quantity.contains_all(values[~np.isnan(values)]):
                message = f"{total} is outside its domain"
                remedy = f"{quantity.about}: {quantity.domain()}"
                findings.add(Place("kernel") / name, message, remedy)


def _is_of_user(note: str) -> bool:
    """Return whether a note is on a value or an entry; others are on effects on single totals."""
    return not re.search(r" affects? | not used by ", note)


def _placed(place: Place, note: str) -> str:
    return note if note.startswith(str(place)) else f"{place}: {note}"


def _list_inputs(
    file: SystemStudyFile, given: Mapping[str, Sequence[StudyInput]]
) -> Iterator[StudyInput]:
    """Yield the inputs of the kernels; an input that all of them share appears once."""
    objectives = tuple(o.name or str(o.maximize or o.minimize) for o in file.objective)
    common: dict[tuple[str, float], list[str]] = {}
    for kernel, inputs in given.items():
        for each in inputs:
            if not each.variable and each.name not in file.kernel[kernel].inputs:
                common.setdefault((each.name, each.value), []).append(kernel)
    seen = set()
    for kernel, inputs in given.items():
        for each in inputs:
            kernels = common.get((each.name, each.value), []) if not each.variable else []
            shared = len(kernels) > 1 and kernel in kernels
            if shared and (each.name, each.value) in seen:
                continue
            seen.add((each.name, each.value))
            label = each.label if shared else f"{each.label} of {word_name(kernel)}"
            names = tuple(kernels) if shared else (kernel,)
            yield replace(each, label=label, objectives=objectives, kernels=names)


def _check_members(file: SystemStudyFile, findings: Findings) -> None:
    """Check that phases, shared engines and chains name kernels, and share none."""
    owner: dict[str, Place] = {}
    for section in ("phase", "shared_engine", "chain"):
        for key, table in getattr(file, section).items():
            place = Place(section) / key
            if key in file.kernel:
                findings.add(place, "is the name of a kernel", "give it a unique name")
            for name in table.kernels:
                if name not in file.kernel:
                    message = f"there is no kernel '{name}'"
                    findings.add(place / "kernels", message, nearest(name, file.kernel))
                elif table.kernels.count(name) > 1:
                    findings.add(place / "kernels", f"'{name}' is listed twice", "list it once")
                elif section != "phase" and owner.setdefault(name, place) != place:
                    message = f"'{name}' is already in {owner[name]}"
                    findings.add(place / "kernels", message, "a kernel is in one of them")


# A kernel as a study


def _study_of(
    kernel: str, file: SystemStudyFile, table: KernelTable, folder: Path | None, findings: Findings
) -> tuple[StudyFile, Path | None, list[Path]]:
    """Return a kernel as a study, the folder where its files are, and the files that it is from."""
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
        paths = [_check_run(kernel, sources["run"], folder, findings)] if "run" in sources else []
        rows = _study_of_table(kernel, name, table, totals, folder, "run" in sources)
        return rows, folder, paths
    models = table.models or shared.models
    inputs, space = {**shared.inputs, **table.inputs}, {**shared.space, **table.space}
    constraints, paths = [*shared.constraint, *table.constraint], list[Path]()
    if table.study:
        path = find_own_file(folder, table.study, "study", "*.toml")
        other = check_study_content(read_toml(path)[1], Findings(table.study))
        models, folder, paths = list(other.study.models), path.parent, [path]
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
    return study, folder, paths


def _check_run(kernel: str, run: str, folder: Path | None, findings: Findings) -> Path:
    """Check that a run wrote the designs in its folder; return its summary.

    InputError if the folder is not of a finished run, or its table has changed.
    """
    for name in (_SUMMARY, _DESIGNS):
        if not ((folder or Path()) / run / name).is_file():
            message = f"'{run}' is not the folder of a finished run: it has no {name}"
            raise InputError("", [Problem("run", message, f"dse run STUDY --out {run}")])
    path = find_own_file(folder, f"{run}/{_SUMMARY}", "run", f"*/{_SUMMARY}")
    summary = json.loads(path.read_text(encoding="utf-8"))
    written = summary.get("sha256", {}).get(_DESIGNS)
    if written != hash_file(path.with_name(_DESIGNS)):
        message = f"{run}/{_DESIGNS} is not as its run wrote it"
        raise InputError("", [Problem("run", message, "run its study again")])
    statement = summary.get("certificate", {}).get("statement", "")
    text = f"only the stored designs of {run} can be built. {statement}".strip()
    findings.notes.append(f"{Place('kernel') / kernel}: {text}")
    return path


def _study_of_table(
    kernel: str,
    name: str,
    table: KernelTable,
    totals: Sequence[str],
    folder: Path | None,
    of_run: bool,
) -> TableStudyFile:
    """Return a table of designs as a study of the totals."""
    from dse.study.design_table import read_table

    columns = read_table(name, folder)[0]
    known = columns.names
    problems = [
        Problem("", f"{name} has no column '{total}', which is a total", nearest(total, known))
        for total in totals
        if total not in known
    ]
    if problems:
        raise InputError("", problems)
    constraints = list(table.constraint)
    if of_run and "table_feasible" in columns.names:
        constraints.append(ConstraintTable.model_construct(quantity="table_feasible", at_least=1.0))
    return TableStudyFile.model_construct(
        study=TableStudyTable.model_construct(name=kernel, table=name),
        objective=[ObjectiveTable.model_construct(minimize=total, name=total) for total in totals],
        constraint=constraints,
    )


def _not_built(
    table: KernelTable, evaluator: Evaluator, study: StudyFile, findings: Findings
) -> dict[str, float] | None:
    """Return the totals of a kernel that stays on the host; None if it is always built."""
    place, known = Place("not_built"), dict[str, float]()
    scope = Scope(evaluator.model_graph, findings)
    totals = [objective.quantity for objective in evaluator.objectives]
    for name, given in table.not_built.items():
        if name not in totals:
            findings.add(place / name, f"'{name}' is not a total", nearest(name, totals))
            continue
        value = scope.number(place / name, name, given, scope.unit(name))
        known[name] = value or 0.0
    if isinstance(study, TableStudyFile):
        return known or None
    missing = [total for total in totals if total not in known]
    on_host = evaluate_on_host(evaluator, missing)
    for total in missing:
        values = on_host.get(total)
        remedy = f"give not_built = {{ {total} = … }}"
        if values is None:
            message = f"no model takes '{BUILT}' or declares {total} without an accelerator"
            findings.add(place, message, remedy)
            continue
        known[total] = float(values[0])
        if not np.allclose(values, values[0], rtol=1e-12, atol=0.0):
            low, high = f"{values[0]:g}", f"{values[-1]:g}"
            message = f"{total} on the host differs between designs: {low}, {high}"
            findings.add(place, message, remedy)
    return known


# The directions of totals


def _find_signs(
    evaluator: Evaluator, models: Sequence[Model], findings: Findings
) -> dict[str, tuple[int, ...]]:
    """Return for each total that matters the directions that are better: -1 less, 1 more."""
    system = find_system(evaluator)
    if system is None:
        raise AssertionError("the study is not a system")
    ranges = Ranges(system.inner)
    ends, signs = find_best_ends(ranges), dict[str, set[int]]()
    functions = [model.function for model in models if isinstance(model.function, Total)]
    totals = {part: function.total for function in functions for part in function.parts}
    totals |= {function.name: function.total for function in functions}
    for i, name in enumerate(system.totals):
        signs.setdefault(totals[name], set()).update((ends[i],) if i in ends else (-1, 1))
    if mixed := [total for total, both in signs.items() if len(both) > 1]:
        missing = find_missing_declarations(ranges)
        why = missing[0] if missing else "objectives want it high and low"
        text = f"kernels keep an option for each value of {', '.join(mixed)}: {why}"
        findings.notes.append(text)
    return {total: tuple(sorted(both)) for total, both in signs.items()}
