"""Models and sections of the report: loaded, renamed, and models cut into their parts."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dse.evaluate.model_graph import ModelGraph
from dse.model.contract import Model
from dse.model.section import Writer
from dse.model.units import KNOWN_UNITS, is_unit
from dse.problems import InputError, nearest
from dse.study.code_loading import fingerprint, load_function, load_model
from dse.study.findings import Findings, Place
from dse.study.schema import ModelUse, StudyFile


@dataclass(frozen=True)
class Code:
    """The code that a study names.

    Parameters
    ----------
    models : list of Model
        The leaves of its models, under the study's names.
    fingerprints : list of str
        Of functions that a script gave; see `dse.study.code_loading.fingerprint`.
    """

    models: list[Model] = field(default_factory=list)
    sections: list[tuple[str, Writer]] = field(default_factory=list)
    model_files: list[Path] = field(default_factory=list)
    section_files: list[Path] = field(default_factory=list)
    fingerprints: list[str] = field(default_factory=list)


def load_code(
    file: StudyFile,
    folder: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    findings: Findings,
) -> Code:
    """Load the models and the sections that a study names, with a problem for each that fails."""
    code = Code()
    uses: Counter[str] = Counter()
    for position, entry in enumerate(file.study.models):
        place = Place("study") / "models" / position
        use = entry if isinstance(entry, ModelUse) else ModelUse(use=entry)
        try:
            if use.use in functions:
                model = Model.from_function(functions[use.use], use.use)
                requirements = [r.relation.text for m in model.leaves for r in m.requirements]
                code.fingerprints.extend([fingerprint(functions[use.use]), *requirements])
            else:
                model, paths = load_model(use.use, folder)
                code.model_files.extend(paths)
        except InputError as error:
            findings.adopt(place, error)
            continue
        for leaf in _renamed_leaves(findings, place, model, use.rename):
            uses[leaf.name] += 1
            count = uses[leaf.name]  # a model that is used twice has a number in its name
            code.models.append(replace(leaf, name=f"{leaf.name}#{count}") if count > 1 else leaf)
    for position, reference in enumerate(file.report.sections):
        place = Place("report") / "sections" / position
        try:
            function, paths = load_function(reference, folder, "section")
            parameters = inspect.signature(function)
            parameters.bind("study", "result")
        except InputError as error:
            findings.adopt(place, error)
        except TypeError:
            message = f"{reference} does not write a section: its parameters are {parameters}"
            remedy = "a section has the parameters (study, result); a model belongs in study.models"
            findings.add(place, message, remedy)
        else:
            code.section_files.extend(paths)
            code.sections.append((reference, function))
    return code


def _renamed_leaves(
    findings: Findings, place: Place, model: Model, rename: Mapping[str, str]
) -> tuple[Model, ...]:
    """Return the leaves of a model under the study's names."""
    for name, quantity in model.quantities.items():
        if not is_unit(quantity.unit):
            findings.add(place, f"'{name}' has the unknown unit {quantity.unit!r}", KNOWN_UNITS)
    for misfit in model.misfits:
        findings.add(place, misfit, "a requirement is in the units that its model declares")
    own = {*model.inputs, *model.outputs}
    for name in rename.keys() - own:
        message = f"{model.name} has no quantity '{name}'"
        findings.add(place / "rename" / name, message, nearest(name, own))
    try:
        return model.renamed({n: new for n, new in rename.items() if n in own}).leaves
    except InputError as error:
        for problem in error.problems:
            message = f"{model.name} {problem.message}"
            findings.add(place / "rename", message, "give each a separate name")
    return ()


def check_sections(
    code: Code, model_graph: ModelGraph, inputs: Mapping[str, Any], findings: Findings
) -> None:
    """Check that the study gives the inputs of the writers; see `dse.model.section.needs`."""
    given = {*model_graph.constants, *model_graph.varied, *inputs}
    for position, (reference, write) in enumerate(code.sections):
        for name in getattr(write, "needs", ()):
            if name not in given:
                known = model_graph.resources.get(name) or model_graph.quantities.get(name)
                about = f" ({known.about})" if known else ""
                findings.add(
                    Place("report") / "sections" / position,
                    f"{reference} needs the input '{name}'{about}, which this study does not give",
                    "it is written for another kind of study: leave the section out",
                )
