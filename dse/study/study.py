"""A study: read from a file or a mapping, and resolved."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dse.evaluate.criteria import Conditions, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import Uncertainty, certain
from dse.evaluate.space import Choice, Values
from dse.evaluate.target import Target
from dse.model.section import Writer
from dse.model.units import UnitError, read
from dse.problems import InputError, Problem, nearest
from dse.search.base import Plan, Settings
from dse.search.outcome import Tolerance
from dse.search.plan import plan
from dse.study.credentials import deciding_content, safe_text, shown_url, url_problem
from dse.study.findings import Findings, Place
from dse.study.input_files import Outside, places, sha256_of
from dse.study.resolve import Resolved, resolve
from dse.study.resolve.plots import CurvePlan, RegionsPlan, Rule
from dse.study.resolve.scope import Scope
from dse.study.resolve.study_inputs import StudyInput
from dse.study.schema import SearchTable, StudyFile
from dse.study.schema_errors import parse_file
from dse.study.toml_files import as_content, check_content, read_toml, to_toml

T = TypeVar("T")


@dataclass(frozen=True)
class ResolvedStudy:
    """A study, resolved: everything that the engine needs to evaluate, search and report.

    Parameters
    ----------
    file : StudyFile
        The tables of the file.
    text : str
        The file's text, as it may be kept and shown: without the storage's credentials.
    content : mapping
        The content of the text, as it was given.
    functions : mapping of str to callable
        The models that a script gave, by the names that the content has for them.
    path : Path or None
        The file; None for a study made in a script.
    evaluator : Evaluator
        Models, space, objectives and constraints.
    plan : Plan
        How the space is searched.
    rule : Rule
        When an input is a bottleneck.
    regions : RegionsPlan or None
        Along what bottlenecks are looked for.
    curves : tuple of CurvePlan
        The curves of the designs that matter most.
    sections : tuple of (str, callable)
        Names and functions that write sections of the report; see `dse.model.section`.
    notes : tuple of str
        Facts that a reader should know.
    folder : Path or None
        Where the file lies, from the root: scripts may change where paths begin.
    code : mapping of Path to str
        The files that models, catalogs, profiles and sections came from: the SHA-256 of each as it
        was read.
    outside : mapping of str to Outside
        The inputs that a run does not copy, by key.
    target : Target or None
        The target, if the study has one.
    unchecked : tuple of str
        Requirements of models that the study does not check, with the inputs that they need.
    uncertainty : Uncertainty
        The uncertain inputs, with their samples.
    inputs : tuple of StudyInput
        The input values that its results depend on, with their provenance.
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
    evaluator: Evaluator
    plan: Plan
    rule: Rule
    regions: RegionsPlan | None
    curves: tuple[CurvePlan, ...]
    sections: tuple[tuple[str, Writer], ...]
    notes: tuple[str, ...]
    folder: Path | None
    code: Mapping[Path, str]
    outside: Mapping[str, Outside]
    target: Target | None
    unchecked: tuple[str, ...]
    uncertainty: Uncertainty
    inputs: tuple[StudyInput, ...]
    digest: str

    @property
    def name(self) -> str:
        """The study's name."""
        return self.file.study.name

    @property
    def shown_storage(self) -> str:
        """The storage URL without its password; the run folder's own if there is none."""
        url = self.file.run.storage
        return "sqlite:///study.db" if url is None else shown_url(url)

    @property
    def constants(self) -> Mapping[str, Any]:
        """Inputs that are the same for all designs: numbers in base units, and resources."""
        return self.evaluator.wiring.constants

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
        return [certain(objective.conditions) for objective in self.evaluator.objectives]


def read_study(
    path: str | Path,
    target: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> ResolvedStudy:
    """Read a study file.

    Parameters
    ----------
    target : mapping, optional
        A ``[target]`` that takes the place of the file's own.
    seconds : float, optional
        A time-out that takes the place of the file's own; it is added as a last line of the text.
    elsewhere : mapping of str to Path, optional
        By key: the paths of inputs that are not where the text points; the study is a copy.

    Raises
    ------
    InputError
        With every problem of the file.
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


def study_of_mapping(
    content: Mapping[str, Any],
    models: Mapping[str, Callable[..., Any]] | None = None,
    elsewhere: Mapping[str, Path] | None = None,
) -> ResolvedStudy:
    """Make a study of the content of a file; see `dse.from_mapping` and `read_study`."""
    problems = _not_mappings(content, models)
    if problems:
        raise InputError("study", problems)
    raw = as_content(content, "", problems)
    if problems or (problems := check_content(raw)):
        raise InputError("study", problems)
    return _study(raw, json.dumps(raw, indent=1), None, models or {}, elsewhere or {})


def rewritten(
    study: ResolvedStudy, content: Mapping[str, Any], moved: Collection[str] = ()
) -> ResolvedStudy:
    """Return a study of the same place and functions with another content.

    Parameters
    ----------
    moved : collection of str
        Inputs whose files are looked for again; the others lie where they did.

    Raises
    ------
    InputError
        With every problem of the content.
    """
    text = to_toml(content) if study.path else json.dumps(content, indent=1)
    elsewhere = {key: o.path for key, o in study.outside.items() if key not in moved}
    path = study.path
    if path is not None and study.folder is not None and path.parent.absolute() != study.folder:
        path = study.folder / path.name
    return _study(dict(content), text, path, study.functions, elsewhere)


def _not_mappings(content: Any, models: Any) -> list[Problem]:
    """Return the problems of arguments that are not mappings."""
    problems = []
    if not isinstance(content, Mapping):
        remedy = "give its tables; a file is read by dse.load"
        problems.append(Problem("", "the study is not a mapping", remedy))
    if models is not None and not isinstance(models, Mapping):
        given = models[0] if isinstance(models, list | tuple) and models else models
        name = getattr(given, "__name__", "name")
        remedy = f'give models={{"{name}": {name}}}'
        problems.append(Problem("models", "is not a mapping from names to functions", remedy))
    for name, function in models.items() if isinstance(models, Mapping) else ():
        if not isinstance(name, str) or not callable(function):
            message = "is not the name of a function"
            problems.append(Problem("models", f"{name!r} {message}", 'give models={"name": f}'))
    return problems


def _settings(table: SearchTable, objectives: Sequence[Objective], scope: Scope) -> Settings:
    """Return what the study asks of its search, texts with units read."""
    units = {objective.name: objective.unit for objective in objectives}
    place = Place("search")
    tolerance, apart, floor = Tolerance(), {}, {}
    if isinstance(table.tolerance, dict):
        for name, given in _by_objective(scope, place / "tolerance", table.tolerance, units):
            where = place / "tolerance" / name
            apart[name] = _tolerance(scope, where, name, given, units[name])
    else:
        tolerance = _tolerance(scope, place / "tolerance", "tolerance", table.tolerance, "1")
    for name, given in _by_objective(scope, place / "floor", table.floor, units):
        floor[name] = _amount(scope, place / "floor" / name, name, given, units[name])
    own = {"tolerance": tolerance.share, "apart": apart, "floor": floor}
    return Settings(**{**dict(table), **own})


def _by_objective(
    scope: Scope, place: Place, given: Mapping[str, T], units: Mapping[str, str]
) -> Iterator[tuple[str, T]]:
    """Yield the name of each objective that has a value, and the value."""
    for name, value in given.items():
        if name in units:
            yield name, value
        else:
            scope.add(place / name, f"'{name}' is not an objective", nearest(name, units))


def _tolerance(scope: Scope, place: Place, name: str, given: float | str, unit: str) -> Tolerance:
    """Read a tolerance: a fraction, or an amount if it has the unit of the objective."""
    if isinstance(given, str) and unit != "1" and not _is_fraction(given):
        return Tolerance(0.0, _amount(scope, place, name, given, unit))
    fraction = scope.number(place, name, given, "1")
    if fraction is not None and not 0 <= fraction <= 10:
        scope.add(place, f"is {fraction:g}", "allowed: 0 to 10")
    return Tolerance(0.01 if fraction is None else fraction)


def _is_fraction(given: str) -> bool:
    try:
        read(given, "1")
    except UnitError:
        return False
    return True


def _amount(scope: Scope, place: Place, name: str, given: float | str, unit: str) -> float:
    value = scope.number(place, name, given, unit)
    if value is not None and value < 0:
        scope.add(place, f"is {given}", "give 0 or more")
    return value or 0.0


def _study(
    raw: dict[str, Any],
    text: str,
    path: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
) -> ResolvedStudy:
    """Return the study of a content, in stages; each reports all its problems at once."""
    findings = Findings(str(path) if path else "study", raw)
    file = parse_file(raw, findings)
    folder = path.parent.absolute() if path else None  # a model may change where paths begin
    resolved = resolve(file, folder, functions, elsewhere, findings)
    chosen = _plan(file, resolved, findings)
    files = sorted({*resolved.files, *resolved.section_files})
    try:
        code = {path: sha256_of(path) for path in files}
    except OSError as error:
        message = f"{error.filename} cannot be read: {error.strerror or error}"
        raise InputError(findings.source, [Problem("", message)]) from None
    outside = {key: Outside.of(*noted, code) for key, noted in resolved.outside.items()}
    searched = resolved.target.searched if resolved.target else ()
    digest = _digest(
        deciding_content(raw),
        {path: code[path] for path in resolved.files},
        folder,
        [*resolved.fingerprints, *searched, *places(outside)],
    )
    return ResolvedStudy(
        file=file,
        text=safe_text(text, raw, toml=path is not None),
        content=raw,
        functions=functions,
        path=path,
        evaluator=resolved.evaluator,
        plan=chosen,
        rule=Rule(float(file.bottlenecks.factor), float(file.bottlenecks.threshold)),
        regions=resolved.regions,
        curves=resolved.curves,
        sections=resolved.sections,
        target=resolved.target,
        unchecked=resolved.unchecked,
        uncertainty=resolved.uncertainty,
        inputs=resolved.inputs,
        notes=tuple(findings.notes),
        code=code,
        folder=folder,
        outside=outside,
        digest=digest,
    )


def _plan(file: StudyFile, resolved: Resolved, findings: Findings) -> Plan:
    """Return how the space is searched; the last stage of reading a study."""
    evaluator = resolved.evaluator
    scope = Scope(evaluator.wiring, findings)
    settings = _settings(file.search, evaluator.objectives, scope)
    problems: list[Problem] = []
    chosen = plan(settings, evaluator, problems)
    if file.run.storage is not None and (wrong := url_problem(file.run.storage)):
        problems.append(wrong)
    for problem in problems:
        section, *keys = problem.where.split(".")
        findings.add(Place(section, tuple(keys)), problem.message, problem.remedy)
    findings.finish_stage()
    if chosen is None:
        raise AssertionError("a plan is missing without a problem")
    return chosen


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
