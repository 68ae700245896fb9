"""Run folders: the files of a run on the disk, each written as a whole, and never pickled."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from dse.boundary import reader
from dse.evaluate.criteria import Objective, Reduction
from dse.model.values import join_words
from dse.problems import InputError, Problem, check_regular
from dse.result.files import remove_leftovers, write_bytes, write_json
from dse.result.record import Certificate, Column, Cut, Result, TargetAnswer
from dse.result.tables import read_designs, write_designs
from dse.study.input_files import MARKER as MARKER
from dse.study.input_files import OutsideInput, hash_file, read_toml
from dse.study.study import ResolvedStudy, make_study, read_study

FORMAT = 4
"""Version of the folder's layout."""
SUMMARY, FRONT, DESIGNS = "summary.json", "front.csv", "designs.csv"
REPORT, STORAGE, CHECKPOINT, STUDY = "report.html", "study.db", "checkpoint.npz", "study"
PROGRESS = "progress.json"  # the progress of a run; removed at its end
FINISHED = ("complete", "evaluations", "stalled", "timeout")
"""Reasons to stop after which there is nothing to resume."""
TIMEOUT = "timeout"
"""The one of these after which a run with more time continues."""
_POINT = ("objective", "constraint", "column")  # the roles of columns that make a point
_LARGEST_SUMMARY = 1 << 30  # bytes: the curves of convergence may be long
_SCRIPT = "study.json"  # the copy of a study that a script made
_AGAIN = "run the study again with --fresh"


def default_folder(name: str) -> Path:
    """Return the folder of a study's run: ``runs/name``, with letters that all file systems take.

    A name that loses more than spaces gets digits of a hash. Two names then never have the same
    folder.

    >>> default_folder("fast AES").as_posix(), default_folder("grün").as_posix()
    ('runs/fast-AES', 'runs/gr-n-fe2630')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "study"
    if plain == name.replace(" ", "-"):
        return Path("runs") / plain
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return Path("runs") / f"{plain}-{digits}"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of a run folder.

    Raises
    ------
    InputError
        If the file is missing or is no JSON.
    """
    try:
        check_regular(path, _LARGEST_SUMMARY)
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not an object")
    except NotADirectoryError:
        source, message = path.parent, "is a file, not a run folder"
        remedy = f"name the folder of a run, such as {default_folder(source.stem)}"
    except FileNotFoundError:
        source = path.parent
        message = f"is not a run folder: it has no {path.name}"
        remedy = "make one with: dse run STUDY"
        if path.name == SUMMARY and (path.parent / MARKER).is_file():
            message, remedy = (
                "its run has not finished",
                f"go on with: dse run STUDY --out {source}",
            )
    except (OSError, ValueError, RecursionError) as error:
        what = "cannot be read" if isinstance(error, OSError) else "is not JSON"
        source, message, remedy = path, f"{what}: {error}", _AGAIN
    else:
        return content
    raise InputError(str(source), [Problem("", message, remedy)])


@contextmanager
def report_damage(source: Path) -> Iterator[None]:
    """Report content of a run folder that no run writes.

    Raises
    ------
    InputError
        In place of an error of Python.
    """
    try:
        yield
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        problem = Problem("", f"cannot be read: {error}", _AGAIN)
        raise InputError(str(source), [problem]) from None


# The study of a run


def list_copies(study: ResolvedStudy) -> dict[str, bytes]:
    """Return the files of a study that a run keeps, by place below the study's folder.

    A run folder can then explain its designs without the original files.

    Raises
    ------
    InputError
        If a file has changed since it was read.
    """
    copies = {study.path.name if study.path else _SCRIPT: study.text.encode()}
    if study.path is None or study.folder is None:
        return copies
    problems = []
    own = study.folder.resolve()
    for path, digest in study.code.items():
        target = path.resolve()
        if not target.is_relative_to(own) or target == (own / study.path.name).resolve():
            continue
        place = _place(path, study.folder)
        try:
            copies[place] = path.read_bytes()
        except OSError as error:
            problems.append(Problem(place, f"cannot be read: {error.strerror or error}"))
            continue
        if hashlib.sha256(copies[place]).hexdigest() != digest:
            message = "has changed since the study was read"
            problems.append(Problem(place, message, "load the study again"))
    if problems:
        raise InputError(str(study.path), problems)
    return copies


def _place(path: Path, folder: Path) -> str:
    """Return the place of a file in a folder: its own name if that is inside, else its target."""
    inside = path.is_relative_to(folder) and ".." not in path.relative_to(folder).parts
    place = path.relative_to(folder) if inside else path.resolve().relative_to(folder.resolve())
    return place.as_posix()


def copy_study(copies: Mapping[str, bytes], out: Path) -> None:
    """Write the copies of a study into a run folder, unless they are there."""
    for name, content in copies.items():
        target = out / STUDY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent, target.name)
        if not target.is_file() or target.read_bytes() != content:
            write_bytes(target, content)


def read_copied_content(folder: Path) -> Mapping[str, Any]:
    """Return the content of the copy of a run's study; nothing if there is no copy."""
    name = read_json(folder / SUMMARY)["provenance"]["study"]
    path = folder / STUDY / (name or _SCRIPT)
    if not path.is_file():
        return {}
    return read_toml(path)[1] if name else read_json(path)


@reader
def load_copied_study(folder: Path) -> ResolvedStudy:
    """Load the study of a run from the copy in its folder.

    Raises
    ------
    InputError
        If there is no copy, or an input of it is missing: functions of a script are not copied.
    """
    summary = read_json(folder / SUMMARY)
    verify_tables(folder, copies=True)  # before any code of the copies runs
    with report_damage(folder / SUMMARY):
        name, answer = summary["provenance"]["study"], summary["target"]
        target = {key: answer[key] for key in ("reach", "least") if answer[key]} if answer else None
        outside = {
            key: OutsideInput(entry["name"], Path(entry["path"]), dict(entry["sha256"]))
            for key, entry in summary.get("outside", {}).items()
        }
        copy = folder / STUDY / (name or _SCRIPT)
    if not copy.is_file():
        raise InputError(str(folder), [Problem("", "holds no copy of its study", _AGAIN)])
    _check_outside(folder, outside)
    elsewhere = {key: entry.path for key, entry in outside.items()}
    if name:
        return read_study(copy, target, elsewhere=elsewhere)
    content = read_json(copy)
    entries = content.get("study", {}).get("models", [])
    names = [entry.get("use", "") if isinstance(entry, Mapping) else entry for entry in entries]
    functions = [name for name in names if ":" not in name]
    if functions:
        message = f"its script gave the functions {', '.join(functions)} as models"
        remedy = "explain it in the script: study.explain(result, 17), study.report(result, path)"
        raise InputError(str(copy), [Problem("study.models", message, remedy)])
    return make_study(content, elsewhere=elsewhere)


def _check_outside(folder: Path, outside: Mapping[str, OutsideInput]) -> None:
    """See that the inputs that a run did not copy are there, and are as the run read them."""
    problems = []
    remedy = "put back what it was, or run the study again"
    for key, entry in outside.items():
        where = f"inputs.{key}"
        try:
            changed = entry.changed()
        except FileNotFoundError:
            message = f"'{entry.name}' is no longer at {entry.path}"
            problems.append(Problem(where, message, remedy))
        except OSError as error:
            message = f"{entry.path} cannot be read: {error.strerror or error}"
            problems.append(Problem(where, message, remedy))
        except InputError as error:
            problems += [problem.inside(f"{where}: {entry.path}") for problem in error.problems]
        else:
            if changed:
                which = "" if entry.path.is_file() else f": {join_words(changed)}"
                message = f"'{entry.name}' has changed since the run{which} ({entry.path})"
                problems.append(Problem(where, message, remedy))
    if problems:
        raise InputError(str(folder), problems)


def _outside_data(outside: Mapping[str, OutsideInput]) -> dict[str, Any]:
    """Return the inputs that are not copied, in the form of a summary."""
    return {k: {**o._asdict(), "path": str(o.path)} for k, o in sorted(outside.items())}


# The result of a run


def save_result(
    result: Result,
    folder: Path,
    copies: Iterable[str] = (),
    outside: Mapping[str, OutsideInput] | None = None,
) -> None:
    """Write a result's tables and summary into a folder, with the SHA-256 of each file.

    Copies of the study there are named by their places below `STUDY`; inputs `outside` are not
    copied.
    """
    folder.mkdir(parents=True, exist_ok=True)
    point = [n for n, column in result.columns.items() if column.role in _POINT]
    write_designs(result.designs, folder / FRONT, folder / DESIGNS, point)
    files = sorted([FRONT, DESIGNS, *(f"{STUDY}/{name}" for name in copies)])
    content = {
        "format": FORMAT,
        "name": result.name,
        "about": result.about,
        "certificate": asdict(result.certificate),
        "objectives": [asdict(o) for o in result.objectives],
        "best": result.summary().to_dict(orient="index"),
        "target": asdict(result.target) if result.target is not None else None,
        "nash": result.nash().name if len(result.front) else None,
        "columns": [asdict(c) for c in result.columns.values()],
        "constants": {n: {"value": v, "unit": u} for n, (v, u) in result.constants.items()},
        "cuts": [asdict(cut) for cut in result.cuts],
        "notes": list(result.notes),
        "provenance": result.provenance,
        "convergence": result.convergence.to_dict(orient="list"),
        "kept": len(result.designs),
        "sha256": {name: hash_file(folder / name) for name in files},
        "outside": _outside_data(outside or {}),
    }
    write_json(folder / SUMMARY, content)


def load_result(folder: str | Path) -> Result:
    """Read the result of a run from its folder.

    Raises
    ------
    InputError
        If the folder contains no result, or another version of the layout.
    """
    folder = Path(folder)
    content = read_json(folder / SUMMARY)
    if content.get("format") != FORMAT:
        with report_damage(folder / SUMMARY):
            release = content.get("provenance", {}).get("versions", {}).get("dse-accelerators")
        writer = f"dse {release}" if release else "an unknown release"
        message = f"is {content.get('format')!r}, written by {writer}; this release reads {FORMAT}"
        remedy = "run the study again" + (f", or install dse {release}" if release else "")
        problem = Problem("format", message, remedy)
        raise InputError(str(folder / SUMMARY), [problem])
    verify_tables(folder)
    with report_damage(folder):
        if not all(isinstance(o["unit"], str) for o in content["objectives"]):
            raise TypeError("a unit is not a text")
        columns = {c.name: c for c in _typed(list[Column], content["columns"], "columns")}
        texts = [name for name, column in columns.items() if column.unit == ""]
        designs = read_designs(
            folder / FRONT, folder / DESIGNS, texts, [n for n in columns if n not in texts]
        )
        needed = {*columns, *(str(o["name"]) for o in content["objectives"]), "feasible"}
        if missing := sorted(needed - {*designs.columns}):
            raise ValueError(f"{DESIGNS} has no column {', '.join(missing)}")
        certificate = content["certificate"]
        return Result(
            name=content["name"],
            about=content["about"],
            objectives=tuple(_objective(o) for o in content["objectives"]),
            columns=columns,
            designs=designs,
            certificate=_typed(
                Certificate,
                certificate | {"rests_on": tuple(certificate["rests_on"])},
                "certificate",
            ),
            convergence=pd.DataFrame(content["convergence"]),
            notes=tuple(content["notes"]),
            provenance=content["provenance"],
            target=TargetAnswer.of(content["target"]) if content["target"] else None,
            constants={n: (float(c["value"]), c["unit"]) for n, c in content["constants"].items()},
            cuts=_typed(tuple[Cut, ...], content["cuts"], "cuts"),
        )


def _typed(kind: Any, content: Any, place: str) -> Any:
    """Return records from JSON whose values have the declared types.

    Raises
    ------
    ValueError
        With the place of the first value that has not: somebody edited the summary.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (place, *first["loc"])))
        raise ValueError(f"{where}: {first['msg']}") from None


def _objective(content: Mapping[str, Any]) -> Objective:
    """Return an objective from JSON, where a tuple is a list and an object a mapping."""
    conditions = {
        n: tuple(v) if isinstance(v, list) else v for n, v in content["conditions"].items()
    }
    reduction = content["reduction"]
    if reduction is not None:
        reduction = Reduction(**{**reduction, "weights": tuple(reduction["weights"])})
    return Objective(**{**content, "conditions": conditions, "reduction": reduction})


def verify_tables(folder: Path, copies: bool = False) -> None:
    """Check that the tables of a run folder, or the copies of its study, are as its run wrote them.

    Raises
    ------
    InputError
        If a file is missing, or its digest differs from the summary.
    """
    digests = read_json(folder / SUMMARY).get("sha256")
    if not isinstance(digests, dict) or not {FRONT, DESIGNS} <= digests.keys():
        problem = Problem("sha256", "does not list the tables", _AGAIN)
        raise InputError(str(folder / SUMMARY), [problem])
    problems = []
    for name in sorted(n for n in digests if n.startswith(f"{STUDY}/") == copies):
        path = folder / name
        if not os.path.isfile(path):  # False for a name that is too long, too
            problems.append(Problem(name, "is missing", _AGAIN))
        elif hash_file(path) != digests[name]:
            problems.append(Problem(name, "is not as its run wrote it", _AGAIN))
    if problems:
        raise InputError(str(folder), problems)


def is_of_study(
    folder: Path, copies: Mapping[str, bytes], outside: Mapping[str, OutsideInput]
) -> bool:
    """Return whether the summary is of a run with exactly these copies and uncopied inputs."""
    summary = read_json(folder / SUMMARY)
    kept = {n: digest for n, digest in summary["sha256"].items() if n.startswith(f"{STUDY}/")}
    own = {f"{STUDY}/{name}": hashlib.sha256(text).hexdigest() for name, text in copies.items()}
    return kept == own and summary.get("outside", {}) == _outside_data(outside)


def write_answer(folder: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer of a run into its summary; see `dse.explain.recommendation`."""
    write_json(folder / SUMMARY, read_json(folder / SUMMARY) | {"answer": answer})


def read_answer(folder: Path) -> dict[str, Any]:
    """Return the answer of a run from its summary; empty if there is none."""
    if not (folder / SUMMARY).is_file():
        return {}
    answer: dict[str, Any] = read_json(folder / SUMMARY).get("answer", {})
    return answer
