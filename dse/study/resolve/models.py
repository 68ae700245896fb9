"""Models and sections of the report: loaded, renamed, and models cut into their parts."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.evaluate.wiring import Wiring
from dse.model.contract import Model
from dse.model.section import Writer
from dse.model.signature import declared
from dse.model.units import KNOWN_UNITS, is_unit
from dse.problems import InputError, nearest
from dse.study.findings import Findings, Place
from dse.study.loading import load_function, load_model
from dse.study.schema import ModelUse, StudyFile
from dse.study.source_files import fingerprint


@dataclass(frozen=True)
class Code:
    """The code that a study names.

    Parameters
    ----------
    models : tuple of Model
        The leaves of its models, under the study's names.
    sections : tuple of (Place, str, callable)
        The writers of sections, with their places and the names that the study gives them.
    model_files, section_files : tuple of Path
        The files that the code came from.
    fingerprints : tuple of str
        Of functions that a script gave; see `dse.study.source_files.fingerprint`.
    """

    models: tuple[Model, ...]
    sections: tuple[tuple[Place, str, Writer], ...]
    model_files: tuple[Path, ...]
    section_files: tuple[Path, ...]
    fingerprints: tuple[str, ...]


def load_code(
    file: StudyFile,
    folder: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    findings: Findings,
) -> Code:
    """Load the models and the sections that a study names, with a problem for each that fails."""
    leaves: list[Model] = []
    files: list[Path] = []
    fingerprints: list[str] = []
    for position, entry in enumerate(file.study.models):
        place = Place("study") / "models" / position
        reference = entry.use if isinstance(entry, ModelUse) else entry
        try:
            if reference in functions:
                fingerprints.append(fingerprint(functions[reference]))
                model = Model.from_function(functions[reference], reference)
                relations = (r.relation.text for m in model.leaves for r in m.requirements)
                fingerprints += relations
            else:
                model, paths = load_model(reference, folder)
                files += paths
        except InputError as error:
            findings.adopt(place, error)
            continue
        renamed = entry.rename if isinstance(entry, ModelUse) else {}
        leaves += _check_model(findings, place, model, renamed)
    sections, section_files = _load_sections(file, folder, findings)
    models = _with_own_names(leaves)
    return Code(models, sections, tuple(files), section_files, tuple(fingerprints))


def _check_model(
    findings: Findings, place: Place, model: Model, renamed: Mapping[str, str]
) -> tuple[Model, ...]:
    """Return the leaves of a model under the study's names."""
    for name, quantity in model.quantities.items():
        if not is_unit(quantity.unit):
            findings.add(place, f"'{name}' has the unknown unit {quantity.unit!r}", KNOWN_UNITS)
    for misfit in model.misfits:
        findings.add(place, misfit, "a requirement is in the units that its model declares")
    own = {*model.inputs, *model.outputs}
    place /= "rename"
    for name in renamed.keys() - own:
        message = f"{model.name} has no quantity '{name}'"
        findings.add(place / name, message, nearest(name, own))
    try:
        return model.renamed({n: new for n, new in renamed.items() if n in own}).leaves
    except InputError as error:
        for problem in error.problems:
            message = f"{model.name} {problem.message}"
            findings.add(place, message, "give each a separate name")
    return ()


def _with_own_names(leaves: list[Model]) -> tuple[Model, ...]:
    """Add a number to the name of a model that is used twice, under different renames."""
    seen: Counter[str] = Counter()
    named = []
    for leaf in leaves:
        seen[leaf.name] += 1
        count = seen[leaf.name]
        named.append(replace(leaf, name=f"{leaf.name}#{count}") if count > 1 else leaf)
    return tuple(named)


def _load_sections(
    file: StudyFile, folder: Path | None, findings: Findings
) -> tuple[tuple[tuple[Place, str, Writer], ...], tuple[Path, ...]]:
    """Load the writers of sections, and the files that they come from."""
    sections: list[tuple[Place, str, Writer]] = []
    files: list[Path] = []
    for position, reference in enumerate(file.report.sections):
        place = Place("report") / "sections" / position
        try:
            function, paths = load_function(reference, folder, "section")
        except InputError as error:
            findings.adopt(place, error)
            continue
        if _is_model(function):
            message = f"{reference} does not write a section: its parameters are quantities"
            findings.add(place, message, "a model belongs in study.models")
            continue
        try:
            inspect.signature(function).bind("study", "result")
        except TypeError:
            parameters = inspect.signature(function)
            message = f"{reference} does not write a section: its parameters are {parameters}"
            findings.add(place, message, "a section has the parameters (study, result)")
            continue
        files += paths
        sections.append((place, reference, function))
    return tuple(sections), tuple(files)


def _is_model(function: Callable[..., Any]) -> bool:
    """Return whether parameters are declared as quantities."""
    try:
        return bool(declared(function))
    except (NameError, TypeError):  # types imported for the checker only, as sections may
        return False


def check_sections(
    code: Code, wiring: Wiring, inputs: Mapping[str, Any], findings: Findings
) -> None:
    """Check that the study gives the inputs of the writers; see `dse.model.section.needs`."""
    given = {*wiring.constants, *wiring.varied, *inputs}
    for place, reference, write in code.sections:
        for name in getattr(write, "needs", ()):
            if name not in given:
                known = wiring.resources.get(name) or wiring.quantities.get(name)
                about = f" ({known.about})" if known else ""
                findings.add(
                    place,
                    f"{reference} needs the input '{name}'{about}, which this study does not give",
                    "it is written for another kind of study: leave the section out",
                )
