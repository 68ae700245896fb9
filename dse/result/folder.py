"""Run folders: the files of a run on the disk, each written as a whole, and never pickled."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from dse.boundary import reader
from dse.evaluate.criteria import Objective, Reduction
from dse.problems import InputError, Problem, check_regular
from dse.result.copies import noted_of, places_outside
from dse.result.csv_files import read_designs, write_designs
from dse.result.record import Certificate, Column, Cut, Result
from dse.result.target import TargetAnswer
from dse.result.writing import write_json
from dse.study.input_files import MARKER as MARKER
from dse.study.input_files import Outside, sha256_of
from dse.study.study import ResolvedStudy, read_study, study_of_mapping
from dse.study.toml_files import read_toml

FORMAT = 4
"""Version of the folder's layout."""
SUMMARY, FRONT, DESIGNS = "summary.json", "front.csv", "designs.csv"
REPORT, STORAGE, CHECKPOINT, STUDY = "report.html", "study.db", "checkpoint.npz", "study"
PROGRESS = "progress.json"  # the progress of a run; removed at its end
_LARGEST_SUMMARY = 1 << 30  # bytes: the curves of convergence may be long
FINISHED = ("complete", "evaluations", "stalled", "timeout")
"""Reasons to stop after which there is nothing to resume."""
TIMEOUT = "timeout"
"""The one of these after which a run with more time continues."""


def default_folder(name: str) -> Path:
    """Return the folder of a study's run: ``runs/name``, with letters that all file systems take.

    A name that loses more than spaces gets digits of a hash. Two names then never have the same
    folder.

    >>> default_folder("fast AES").as_posix(), default_folder("grün").as_posix()
    ('runs/fast-AES', 'runs/gr-n-fe2630')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "study"
    digits = "" if plain == name.replace(" ", "-") else f"-{_own_digits(name)}"
    return Path("runs") / f"{plain}{digits}"


def _own_digits(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def read_json(path: Path) -> dict[str, Any]:
    """Read JSON.

    Raises
    ------
    InputError
        If the file is missing or is no JSON.
    """
    try:
        check_regular(path, _LARGEST_SUMMARY)
        content = json.loads(path.read_text(encoding="utf-8"))
    except NotADirectoryError:
        raise InputError(
            str(path.parent),
            [Problem("", "is a file, not a run folder", "name a folder: runs/NAME")],
        ) from None
    except FileNotFoundError:
        if path.name == SUMMARY and (path.parent / MARKER).is_file():
            remedy = f"go on with: dse run STUDY --out {path.parent}"
            raise InputError(
                str(path.parent), [Problem("", "its run has not finished", remedy)]
            ) from None
        message = f"is not a run folder: it has no {path.name}"
        problem = Problem("", message, "make one with: dse run STUDY")
        raise InputError(str(path.parent), [problem]) from None
    except (OSError, ValueError, RecursionError) as error:
        remedy = "run the study again with --fresh"
        what = "cannot be read" if isinstance(error, OSError) else "is not JSON"
        raise InputError(str(path), [Problem("", f"{what}: {error}", remedy)]) from None
    if not isinstance(content, dict):
        raise InputError(str(path), [Problem("", "is not a JSON object")])
    return content


def _study_name(folder: Path) -> str:
    """Return the name of the copy of a run's study; empty if the study was not a file."""
    provenance = read_json(folder / SUMMARY).get("provenance", {})
    name = provenance.get("study") if isinstance(provenance, dict) else 0
    if not isinstance(name, str | None):
        problem = Problem("provenance", "does not name a study", "run the study again with --fresh")
        raise InputError(str(folder / SUMMARY), [problem])
    return name or ""


def content_of(folder: Path) -> Mapping[str, Any]:
    """Return the content of the copy of a run's study; nothing if there is no copy."""
    name = _study_name(folder)
    path = folder / STUDY / (name or "study.json")
    if not path.is_file():
        return {}
    return read_toml(path)[1] if name else read_json(path)


@reader
def study_of(folder: Path) -> ResolvedStudy:
    """Load the study of a run from the copy in its folder.

    Raises
    ------
    InputError
        If there is no copy, or an input of it is missing: functions of a script are not copied.
    """
    summary = read_json(folder / SUMMARY)
    named, answer = _study_name(folder), summary.get("target")
    target = {key: answer[key] for key in ("reach", "least") if answer[key]} if answer else None
    verify(folder, copies=True)  # before any code of the copies runs
    outside = places_outside(folder / SUMMARY, summary)
    if named and (folder / STUDY / named).is_file():
        return read_study(folder / STUDY / named, target, elsewhere=outside)
    copy = folder / STUDY / "study.json"
    if named or not copy.is_file():
        remedy = "run the study again with --fresh"
        raise InputError(str(folder), [Problem("", "holds no copy of its study", remedy)])
    content = read_json(copy)
    entries = content.get("study", {}).get("models", [])
    names = [entry.get("use", "") if isinstance(entry, Mapping) else entry for entry in entries]
    functions = [name for name in names if ":" not in name]
    if functions:
        message = f"its script gave the functions {', '.join(functions)} as models"
        remedy = "explain it in the script: study.explain(result, 17), study.report(result, path)"
        raise InputError(str(copy), [Problem("study.models", message, remedy)])
    return study_of_mapping(content, elsewhere=outside)


def save(
    result: Result,
    folder: Path,
    copies: Iterable[str] = (),
    outside: Mapping[str, Outside] | None = None,
) -> None:
    """Write a result's tables and summary into a folder, with the SHA-256 of each file.

    Parameters
    ----------
    copies : iterable of str
        The copies of the study there: places below `STUDY`.
    outside : mapping of str to Outside, optional
        The inputs of the study that are not copied.
    """
    folder.mkdir(parents=True, exist_ok=True)
    front = result.front.designs
    write_designs(result.designs, folder / FRONT, folder / DESIGNS)
    best = result.summary().to_dict(orient="index")
    content = {
        "format": FORMAT,
        "name": result.name,
        "about": result.about,
        "certificate": asdict(result.certificate),
        "objectives": [asdict(o) for o in result.objectives],
        "best": best,
        "target": asdict(result.target) if result.target is not None else None,
        "compromise": result.compromise().name if len(front) else None,
        "columns": [asdict(c) for c in result.columns.values()],
        "constants": {n: {"value": v, "unit": u} for n, (v, u) in result.constants.items()},
        "cuts": [asdict(cut) for cut in result.cuts],
        "notes": list(result.notes),
        "provenance": result.provenance,
        "convergence": result.convergence.to_dict(orient="list"),
        "kept": len(result.designs),
        "sha256": sums(folder, [FRONT, DESIGNS, *(f"{STUDY}/{name}" for name in copies)]),
        "outside": noted_of(outside or {}),
    }
    write_json(folder / SUMMARY, content)


def sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of files of a folder, by place below it."""
    return {name: sha256_of(folder / name) for name in sorted(names)}


def holds(folder: Path, copies: Mapping[str, bytes], outside: Mapping[str, Outside]) -> bool:
    """Return whether the summary is of a run with exactly these copies and uncopied inputs."""
    summary = read_json(folder / SUMMARY)
    noted = summary["sha256"]
    theirs = {n: digest for n, digest in noted.items() if n.startswith(f"{STUDY}/")}
    return theirs == {
        f"{STUDY}/{name}": hashlib.sha256(content).hexdigest() for name, content in copies.items()
    } and summary.get("outside", {}) == noted_of(outside)


def verify(folder: Path, copies: bool = False) -> None:
    """Check that the tables of a run folder are the tables of its run.

    Parameters
    ----------
    copies : bool
        Whether to check the copies of its study instead.

    Raises
    ------
    InputError
        If a file is missing, or its digest differs from the summary.
    """
    problems = []
    noted = read_json(folder / SUMMARY).get("sha256")
    remedy = "run the study again with --fresh"
    if not isinstance(noted, dict) or not {FRONT, DESIGNS} <= noted.keys():
        problem = Problem("sha256", "does not list the tables", remedy)
        raise InputError(str(folder / SUMMARY), [problem])
    for name in sorted(n for n in noted if n.startswith(f"{STUDY}/") == copies):
        path = folder / name
        if not path.is_file():
            problems.append(Problem(name, "is missing", remedy))
        elif sha256_of(path) != noted[name]:
            problems.append(Problem(name, "is not as its run wrote it", remedy))
    if problems:
        raise InputError(str(folder), problems)


def _certificate(content: Mapping[str, Any]) -> Certificate:
    """Return a certificate from JSON, which has only lists."""
    return Certificate(**{**content, "rests_on": tuple(content.get("rests_on", ()))})


def write_answer(folder: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer of a run into its summary; see `dse.explain.recommendation`."""
    write_json(folder / SUMMARY, read_json(folder / SUMMARY) | {"answer": answer})


def read_answer(folder: Path) -> dict[str, Any]:
    """Return the answer of a run from its summary; empty if there is none."""
    if not (folder / SUMMARY).is_file():
        return {}
    answer: dict[str, Any] = read_json(folder / SUMMARY).get("answer", {})
    return answer


def _objective(content: Mapping[str, Any]) -> Objective:
    """Return an objective from JSON, where a tuple is a list and an object a mapping."""
    given = content["conditions"].items()
    conditions = {n: tuple(v) if isinstance(v, list) else v for n, v in given}
    reduction = content["reduction"]
    if reduction is not None:
        reduction = Reduction(**{**reduction, "weights": tuple(reduction["weights"])})
    return Objective(**{**content, "conditions": conditions, "reduction": reduction})


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
        raise InputError(
            str(folder / SUMMARY),
            [
                Problem(
                    "format", f"is {content.get('format')!r}, not {FORMAT}", "run the study again"
                )
            ],
        )
    try:
        verify(folder)
        if not all(
            isinstance(e["unit"], str) for e in (*content["columns"], *content["objectives"])
        ):
            raise TypeError("a unit is not a text")
        columns = {
            c["name"]: Column(**c | {"options": tuple(c["options"])}) for c in content["columns"]
        }
        texts = [name for name, column in columns.items() if column.unit == ""]
        designs = read_designs(folder / DESIGNS, texts, [n for n in columns if n not in texts])
        held = {*columns, *(str(o["name"]) for o in content["objectives"]), "feasible"}
        if missing := sorted(held - {*designs.columns}):
            raise ValueError(f"{DESIGNS} has no column {', '.join(missing)}")
        return Result(
            name=content["name"],
            about=content["about"],
            objectives=tuple(_objective(o) for o in content["objectives"]),
            columns=columns,
            designs=designs,
            certificate=_certificate(content["certificate"]),
            convergence=pd.DataFrame(content["convergence"]),
            notes=tuple(content["notes"]),
            provenance=content["provenance"],
            target=TargetAnswer.of(content["target"]) if content["target"] else None,
            constants={n: (float(c["value"]), c["unit"]) for n, c in content["constants"].items()},
            cuts=tuple(Cut(**c | {"first": tuple(c["first"])}) for c in content["cuts"]),
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            str(folder),
            [Problem("", f"cannot be read: {error}", "run the study again with --fresh")],
        ) from None
