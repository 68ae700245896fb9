"""A study: read from a file or a mapping, and resolved."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.evaluate.criteria import Conditions, Objective
from dse.evaluate.samples import drop_samples
from dse.evaluate.space import Choice, Values
from dse.problems import InputError, Problem, nearest
from dse.search.base import SearchSettings
from dse.search.method_choice import choose_method
from dse.search.outcome import Tolerance
from dse.study.credentials import deciding_content, mask_study_text, mask_url, url_problem
from dse.study.findings import Findings, Place
from dse.study.input_files import (
    OutsideInput,
    as_toml_content,
    check_content,
    hash_file,
    list_places,
    read_toml,
    to_toml,
)
from dse.study.resolve import Resolved, resolve
from dse.study.resolve.scope import Scope, is_unitless
from dse.study.schema import BottleneckTable, SearchTable, StudyFile
from dse.study.schema_errors import check_study_content


@dataclass(frozen=True, kw_only=True)
class ResolvedStudy(Resolved):
    """A study, resolved: everything that the engine needs to evaluate, search and report.

    Parameters
    ----------
    text : str
        The file's text, as it may be kept and shown: without the storage's credentials.
    content : mapping
        The content of the text, as it was given.
    functions : mapping of str to callable
        The models that a script gave, by the names that the content has for them.
    path : Path or None
        The file; None for a study made in a script.
    folder : Path or None
        Where the file lies, from the root: scripts may change where paths begin.
    warnings : tuple of str
        Values and entries that are probably wrong; the answer shows them.
    code : mapping of Path to str
        The files that models, catalogs, profiles and sections came from: the SHA-256 of each as it
        was read.
    outside : mapping of str to Outside
        The inputs that a run does not copy, by key.
    digest : str
        A digest of all that decides the result, as it was when the study was read: the text, the
        files of models, catalogs and profiles, the constraints of a target, and the engine.
        Comments, the time-out and sections of the report are not in it.
    """

    file: StudyFile
    text: str
    content: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    path: Path | None
    folder: Path | None
    plan: SearchSettings
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    code: Mapping[Path, str]
    outside: Mapping[str, OutsideInput]
    digest: str

    @property
    def name(self) -> str:
        """The study's name."""
        return self.file.study.name

    @property
    def rule(self) -> BottleneckTable:
        """When an input is a bottleneck."""
        return self.file.bottlenecks

    @property
    def shown_storage(self) -> str:
        """The storage URL without its password; the run folder's own if there is none."""
        url = self.file.run.storage
        return "sqlite:///study.db" if url is None else mask_url(url)

    @property
    def constants(self) -> Mapping[str, Any]:
        """Inputs that are the same for all designs: numbers in base units, and resources."""
        return self.evaluator.model_graph.constants

    @property
    def choices(self) -> dict[str, Mapping[str, Mapping[str, float]]]:
        """The rows of each variable that chooses one: by option, the quantities that it sets."""
        variables = self.evaluator.space.variables.items()
        return {name: v.rows for name, v in variables if isinstance(v, Choice)}

    @property
    def values(self) -> dict[str, tuple[float, ...]]:
        """The values of each variable that is a list of numbers."""
        variables = self.evaluator.space.variables.items()
        return {name: v.values for name, v in variables if isinstance(v, Values)}

    @property
    def conditions(self) -> list[Conditions]:
        """The inputs that each objective binds: a number, or one per scenario."""
        return [drop_samples(objective.conditions) for objective in self.evaluator.objectives]


def read_study(
    path: str | Path,
    target: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> ResolvedStudy:
    """Read a study file.

    `target`: a ``[target]`` that takes the place of the file's own. `seconds`: a time-out that
    takes the place of the file's own; it is added as a last line of the text. `elsewhere`: by key:
    the paths of inputs that are not where the text points; the study is a copy.

    InputError with every problem of the file.
    """
    path = Path(path)
    text, raw = read_toml(path)
    search = raw.get("search", {})
    if seconds is not None and isinstance(search, dict):
        raw = {**raw, "search": {**search, "timeout": seconds}}
        text = f"{text.rstrip()}\n# run with search.timeout = {seconds:g}\n"
    if target is not None:
        raw = {**raw, "target": target}
    return _study(raw, text, path, {}, elsewhere or {})


def make_study(
    content: Mapping[str, Any],
    models: Mapping[str, Callable[..., Any]] | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> ResolvedStudy:
    """Make a study of the content of a file; see `dse.from_mapping` and `read_study`."""
    problems = _check_arguments(content, models)
    if problems:
        raise InputError("study", problems)
    raw = as_toml_content(content, "", problems)
    if problems or (problems := check_content(raw)):
        raise InputError("study", problems)
    return _study(raw, json.dumps(raw, indent=1), None, models or {}, elsewhere or {})


def rewrite_study(
    study: ResolvedStudy, content: Mapping[str, Any], moved: Collection[str] = ()
) -> ResolvedStudy:
    """Make a study of another content, with the place and functions of this one.

    `moved`: inputs whose files are looked for again; the others lie where they did.

    InputError with every problem of the content.
    """
    text = to_toml(content) if study.path else json.dumps(content, indent=1)
    elsewhere = {key: o.path for key, o in study.outside.items() if key not in moved}
    path = study.path
    if path is not None and study.folder is not None and path.parent.absolute() != study.folder:
        path = study.folder / path.name
    return _study(dict(content), text, path, study.functions, elsewhere)


def _check_arguments(content: Any, models: Any) -> list[Problem]:
    """Return the problems of arguments that are not mappings."""
    problems = []
    if not isinstance(content, Mapping):
        remedy = "give its tables; a file is read by dse.load"
        problems.append(Problem("", "the study is not a mapping", remedy))
    named = models.items() if isinstance(models, Mapping) else [("", models)]
    for name, function in named if models is not None else ():
        if not isinstance(name, str) or not name or not callable(function):
            message = "is not a mapping from names to functions"
            problems.append(Problem("models", message, 'give models={"name": function}'))
    return problems


def _study(
    raw: dict[str, Any],
    text: str,
    path: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
) -> ResolvedStudy:
    """Return the study of a content, in stages; each reports all its problems at once."""
    findings = Findings(str(path) if path else "study")
    file = check_study_content(raw, findings)
    folder = path.parent.absolute() if path else None  # a model may change where paths begin
    resolved = resolve(file, folder, functions, elsewhere, findings)
    search = _plan(file, resolved, findings)
    try:
        code = {
            path: hash_file(path) for path in sorted({*resolved.files, *resolved.section_files})
        }
    except OSError as error:
        message = f"{error.filename} cannot be read: {error.strerror or error}"
        raise InputError(findings.source, [Problem("", message)]) from None
    outside = {key: OutsideInput.of(*noted, code) for key, noted in resolved.noted_files.items()}
    searched = resolved.target.searched if resolved.target else ()
    digest = _digest(
        deciding_content(raw),
        {path: code[path] for path in resolved.files},
        folder,
        [*resolved.fingerprints, *searched, *list_places(outside)],
    )
    return ResolvedStudy(
        **vars(resolved),
        file=file,
        text=mask_study_text(text, raw, toml=path is not None),
        content=raw,
        functions=functions,
        path=path,
        folder=folder,
        plan=search,
        warnings=tuple(findings.warnings),
        notes=tuple(findings.notes),
        code=code,
        outside=outside,
        digest=digest,
    )


def _plan(file: StudyFile, resolved: Resolved, findings: Findings) -> SearchSettings:
    """Return how the space is searched; the last stage of reading a study."""
    evaluator = resolved.evaluator
    scope = Scope(evaluator.model_graph, findings)
    settings = _settings(file.search, evaluator.objectives, scope)
    problems: list[Problem] = []
    search = choose_method(settings, evaluator, problems)
    if file.run.storage is not None and (wrong := url_problem(file.run.storage)):
        problems.append(wrong)
    findings.problems += problems
    findings.finish_stage()
    if search is None:
        raise AssertionError("a plan is missing without a problem")
    return search


def _settings(table: SearchTable, objectives: Sequence[Objective], scope: Scope) -> SearchSettings:
    """Return what the study asks of its search, texts with units read."""
    units = {objective.name: objective.unit for objective in objectives}
    place, given = Place("search"), table.tolerance
    by_objective = given if isinstance(given, dict) else {}
    for name in by_objective.keys() - units.keys():
        message = f"'{name}' is not an objective"
        scope.add(place / "tolerance" / name, message, nearest(name, units))
    tolerance = Tolerance()
    if not isinstance(given, dict):
        tolerance = _tolerance(scope, place / "tolerance", "tolerance", given, "1")
    tolerances = {
        name: _tolerance(scope, place / "tolerance" / name, name, value, units[name])
        for name, value in by_objective.items()
        if name in units
    }
    return SearchSettings(
        table.method,
        table.evaluations or 0,
        table.generation or 0,
        table.seed,
        table.timeout,
        table.options,
        tolerance.fraction,
        tolerances,
    )


def _tolerance(scope: Scope, place: Place, name: str, given: float | str, unit: str) -> Tolerance:
    """Read a tolerance: a fraction, or an amount if it has the unit of the objective."""
    if isinstance(given, str) and unit != "1" and not given.strip().endswith("%"):
        if not is_unitless(given):
            return Tolerance(0.0, _amount(scope, place, name, given, unit))
        given = float(given)
    fraction = scope.number(place, name, given, "1")
    if fraction is not None and not 0 <= fraction <= 10:
        scope.add(place, f"is {fraction:g}", "allowed: 0 to 10")
    return Tolerance(0.01 if fraction is None else fraction)


def _amount(scope: Scope, place: Place, name: str, given: float | str, unit: str) -> float:
    value = scope.number(place, name, given, unit)
    if value is not None and value < 0:
        scope.add(place, f"is {given}", "give 0 or more")
    return value or 0.0


def _digest(
    content: str, files: Mapping[Path, str], folder: Path | None, fingerprints: Sequence[str]
) -> str:
    state = hashlib.sha256("\0".join([_engine(), content, *fingerprints]).encode())
    parts = set()
    for path, sha256 in files.items():
        own = folder is not None and path.resolve().is_relative_to(folder.resolve())
        name = path.resolve().relative_to(folder.resolve()) if own and folder else path.name
        parts.add(f"{name}\0{sha256}")
    for part in sorted(parts):
        state.update(part.encode())
    return state.hexdigest()


@functools.cache
def _engine() -> str:
    """Return the version of what runs models, and a digest of its code."""
    state = hashlib.sha256(importlib.metadata.version("dse-accelerators").encode())
    root = Path(__file__).parents[1]
    for package in ("model", "evaluate", "search"):
        for path in sorted((root / package).glob("*.py")):
            state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()
