"""Copies of a study in its run folder, and the places of inputs that are not copied."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.model.values import listed
from dse.problems import InputError, Problem
from dse.result.writing import sweep, write_bytes
from dse.study.input_files import Outside
from dse.study.study import ResolvedStudy


def copies_of(study: ResolvedStudy) -> dict[str, bytes]:
    """Return the files of a study that a run keeps, by place below the study's folder.

    A run folder can then explain its designs without the original files.

    Raises
    ------
    InputError
        If a file has changed since it was read.
    """
    problems = []
    copies = {study.path.name if study.path else "study.json": study.text.encode()}
    if study.path is not None and study.folder is not None:
        own = study.folder.resolve()
        itself = own / study.path.name
        for path, digest in study.code.items():
            if not path.resolve().is_relative_to(own) or path.resolve() == itself.resolve():
                continue
            place = _place(path, study.folder)
            try:
                copies[place] = path.read_bytes()
            except OSError as error:
                problems.append(Problem(place, f"cannot be read: {error.strerror or error}"))
                continue
            if hashlib.sha256(copies[place]).hexdigest() != digest:
                remedy = "load the study again"
                problems.append(Problem(place, "has changed since the study was read", remedy))
        if problems:
            raise InputError(str(study.path), problems)
    return copies


def _place(path: Path, folder: Path) -> str:
    """Return the place of a file in a folder: its own name if that is inside, else its target."""
    inside = path.is_relative_to(folder) and ".." not in path.relative_to(folder).parts
    named = path.relative_to(folder) if inside else path.resolve().relative_to(folder.resolve())
    return named.as_posix()


def copy_study(copies: Mapping[str, bytes], folder: Path) -> None:
    """Write the copies of a study into a folder, unless they are there."""
    for name, content in copies.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent, target.name)
        if not target.is_file() or target.read_bytes() != content:
            write_bytes(target, content)


def places_outside(source: Path, summary: Mapping[str, Any]) -> dict[str, Path]:
    """Return by key the places of inputs that a run did not copy.

    Parameters
    ----------
    source : Path
        The summary's file, in the run's folder.
    summary : mapping
        The content of the summary.

    Raises
    ------
    InputError
        If one is missing, or has changed since the run.
    """
    noted = summary.get("outside", {})
    if not isinstance(noted, dict) or not all(_is_noted(each) for each in noted.values()):
        problem = Problem("outside", "is not as a run writes it", "run the study again")
        raise InputError(str(source), [problem])
    problems, found = [], {}
    for key, entry in noted.items():
        was = Outside(entry["name"], Path(entry["path"]), entry["sha256"])
        where, remedy = f"inputs.{key}", "put back what it was, or run the study again"
        try:
            differ = was.changed()
        except FileNotFoundError:
            problems.append(Problem(where, f"'{was.name}' is no longer at {was.path}", remedy))
        except OSError as error:
            message = f"{was.path} cannot be read: {error.strerror or error}"
            problems.append(Problem(where, message, remedy))
        except InputError as error:
            problems += [problem.inside(f"{where}: {was.path}") for problem in error.problems]
        else:
            if differ:
                which = "" if was.path.is_file() else f": {listed(differ)}"
                message = f"'{was.name}' has changed since the run{which}"
                problems.append(Problem(where, f"{message} ({was.path})", remedy))
            found[key] = was.path
    if problems:
        raise InputError(str(source.parent), problems)
    return found


def _is_noted(entry: Any) -> bool:
    """Return whether an entry of a summary describes an input that was not copied."""
    if not isinstance(entry, dict) or {*entry} != {*Outside._fields}:
        return False
    digests = entry["sha256"]
    if not isinstance(digests, dict):
        return False
    texts = [entry["name"], entry["path"], *digests.values()]
    return all(isinstance(text, str) for text in texts) and Path(entry["path"]).is_absolute()


def noted_of(outside: Mapping[str, Outside]) -> dict[str, Any]:
    """Return the inputs that are not copied, in the form of a summary."""
    return {k: {**o._asdict(), "path": str(o.path)} for k, o in sorted(outside.items())}
