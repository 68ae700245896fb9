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

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Conditions, Objective
from dse.evaluate.samples import Uncertainty, certain
from dse.evaluate.target import Target
from dse.evaluate.variables import Choice, Values
from dse.model.section import Writer
from dse.model.units import UnitError, read
from dse.problems import InputError, Problem, nearest
from dse.search.base import Plan, Settings
from dse.search.outcome import Tolerance
from dse.search.plan import plan
from dse.study.faults import in_order
from dse.study.kept import deciding, kept_text, to_toml
from dse.study.outside import Outside, places, sha256_of
from dse.study.plain import plain
from dse.study.reading import parse, read_toml, unfit
from dse.study.resolve import resolve
from dse.study.resolve.context import Context, is_unitless, without_unit
from dse.study.resolve.curves import CurvePlan
from dse.study.resolve.figures import Stated
from dse.study.resolve.regions import RegionsPlan, Rule
from dse.study.schema import SearchTable, StudyFile
from dse.study.urls import shown_url, url_problem

T = TypeVar("T")


@dataclass(frozen=True)
class ResolvedStudy:
    """A study, resolved: everything that the engine needs to evaluate, search and report.

    Parameters
    ----------
    file : StudyFile
        What was written.
    text : str
        The file's text, as it may be kept and shown: without the storage's credentials.
    content : mapping
        What the text holds, as it was given.
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
        What is drawn of the designs that matter most.
    sections : tuple of (str, callable)
        Names and functions that write sections of the report; see `dse.model.section`.
    notes : tuple of str
        What a reader should know.
    folder : Path or None
        Where the file lies, from the root: scripts may change where paths begin.
    code : mapping of Path to str
        The files that models, catalogs, profiles and sections came from: the SHA-256 of each as it
        was read.
    outside : mapping of str to Outside
        The inputs that a run does not copy, by key.
    target : Target or None
        What is to be reached.
    unchecked : tuple of str
        What the models require and the study cannot tell, with what is lacking.
    uncertainty : Uncertainty
        What is uncertain, and its samples.
    figures : tuple of Stated
        The figures that its results depend on, with where they are from.
    digest : str
        A digest of all that decides the result, as it was when the study was read: what the text
        says, the files that models, catalogs and profiles came from, what a target adds to the
        constraints, and the engine. Comments, the time-out and sections of the report are not in
        it.
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
    figures: tuple[Stated, ...]
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
        """What is bound for each objective alone: a number, or one a scenario."""
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
        A time-out that takes the place of the file's own; the text says so in a last line.
    elsewhere : mapping of str to Path, optional
        By key where inputs lie that are not where the text says: it is a copy.

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
    """Make a study of what a file would hold; see `dse.from_mapping` and `read_study`."""
    problems = _not_mappings(content, models)
    if problems:
        raise InputError("study", problems)
    problems += unfit(content)
    if problems:
        raise InputError("study", problems)
    raw = plain(content, "", problems)
    if problems:
        raise InputError("study", problems)
    return _study(raw, json.dumps(raw, indent=1), None, models or {}, elsewhere or {})


def rewritten(
    study: ResolvedStudy, content: Mapping[str, Any], anew: Collection[str] = ()
) -> ResolvedStudy:
    """Return a study of the same place and functions with another content.

    Parameters
    ----------
    anew : collection of str
        Inputs whose files are looked for again; the others lie where they did.

    Raises
    ------
    InputError
        With every problem of the content.
    """
    text = to_toml(content) if study.path else json.dumps(content, indent=1)
    elsewhere = {key: o.path for key, o in study.outside.items() if key not in anew}
    path = study.path
    if path is not None and study.folder is not None and path.parent.absolute() != study.folder:
        path = study.folder / path.name
    return _study(dict(content), text, path, study.functions, elsewhere)


def _not_mappings(content: Any, models: Any) -> list[Problem]:
    """Return what is wrong with the kinds of what a script gave."""
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


def _settings(
    table: SearchTable, objectives: Sequence[Objective], problems: list[Problem]
) -> Settings:
    """Return what the study asks of its search, texts with units read."""
    units = {objective.name: objective.unit for objective in objectives}
    tolerance, apart = 0.0, {}
    if isinstance(table.tolerance, dict):
        for name, where, given in _by_objective("tolerance", table.tolerance, units, problems):
            apart[name] = _tolerance(given, units[name], where, problems)
    else:
        tolerance = _tolerance(table.tolerance, "1", "search.tolerance", problems).share
    floor = {}
    for name, where, given in _by_objective("floor", table.floor, units, problems):
        floor[name] = _number(given, units[name], where, problems)
        if floor[name] < 0:
            problems.append(Problem(where, f"is {given}", "give 0 or more"))
    own = {"tolerance": tolerance, "apart": apart, "floor": floor}
    return Settings(**{**dict(table), **own})


def _by_objective(
    key: str, given: Mapping[str, T], units: Mapping[str, str], problems: list[Problem]
) -> Iterator[tuple[str, str, T]]:
    """Yield the name of each objective that has a value, where it stands, and the value."""
    for name, value in given.items():
        where = f"search.{key}.{name}"
        if name in units:
            yield name, where, value
        else:
            remedy = nearest(name, units)
            problems.append(Problem(where, f"'{name}' is not an objective", remedy))


def _tolerance(given: float | str, unit: str, where: str, problems: list[Problem]) -> Tolerance:
    """Read a tolerance: a share, or an amount if it has the unit of the objective."""
    if isinstance(given, str) and unit != "1" and not _is_share(given):
        amount = _number(given, unit, where, problems)
        if amount < 0:
            problems.append(Problem(where, f"is {given}", "give 0 or more"))
        return Tolerance(0.0, amount)
    before = len(problems)
    share = _number(given, "1", where, problems)
    if len(problems) > before:
        return Tolerance(0.01)  # any: it is told that what was given is none
    if not 0 <= share <= 10:
        problems.append(Problem(where, f"is {share:g}", "allowed: 0 to 10"))
    return Tolerance(share)


def _is_share(given: str) -> bool:
    try:
        read(given, "1")
    except UnitError:
        return False
    return True


def _number(given: float | str, unit: str, where: str, problems: list[Problem]) -> float:
    if not isinstance(given, str):
        return float(given)
    if unit != "1" and is_unitless(given):
        problems.append(Problem(where, *without_unit(given, unit)))
        return 0.0
    try:
        return read(given, unit)
    except UnitError as error:
        problems.append(Problem(where, str(error)))
        return 0.0


def _study(
    raw: dict[str, Any],
    text: str,
    path: Path | None,
    functions: Mapping[str, Callable[..., Any]],
    elsewhere: Mapping[str, Path],
) -> ResolvedStudy:
    source = str(path) if path else "study"
    problems: list[Problem] = []
    reading = parse(raw, problems)
    file = reading.file
    folder = path.parent.absolute() if path else None  # a model may change where paths begin
    context = Context(reading, folder, functions, problems, elsewhere=elsewhere)
    resolved = resolve(context)
    settings = _settings(file.search, resolved.evaluator.objectives, problems)
    chosen = plan(settings, resolved.evaluator, problems)
    if file.run.storage is not None and (wrong := url_problem(file.run.storage)):
        problems.append(wrong)
    if problems or chosen is None:
        raise InputError(source, in_order(problems, raw))
    try:
        code = {path: sha256_of(path) for path in sorted({*context.files, *context.report_files})}
    except OSError as error:
        message = f"{error.filename} cannot be read: {error.strerror or error}"
        raise InputError(source, [Problem("", message)]) from None
    outside = {key: Outside.of(*noted, code) for key, noted in context.outside.items()}
    text, target = kept_text(text, raw, toml=path is not None), resolved.target
    searched = target.searched if target else ()
    return ResolvedStudy(
        file=file,
        text=text,
        content=raw,
        functions=functions,
        path=path,
        evaluator=resolved.evaluator,
        plan=chosen,
        rule=Rule(float(file.bottlenecks.factor), float(file.bottlenecks.threshold)),
        regions=resolved.regions,
        curves=resolved.curves,
        sections=resolved.sections,
        target=target,
        unchecked=resolved.unchecked,
        uncertainty=resolved.uncertainty,
        figures=resolved.figures,
        notes=tuple(context.notes),
        code=code,
        folder=folder,
        outside=outside,
        digest=_digest(
            deciding(raw),
            {path: code[path] for path in context.files},
            folder,
            [*context.fingerprints, *searched, *places(outside)],
        ),
    )


def _digest(
    told: str, files: Mapping[Path, str], folder: Path | None, fingerprints: Sequence[str]
) -> str:
    state = hashlib.sha256("\0".join([_engine(), told, *fingerprints]).encode())
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
