"""Claiming a run folder: one run at a time, decided under a lock that moves with the folder.

The lock is on ``run.json``, which is made first, never replaced and removed last. It is taken
before anything is read, so that what a run decides about a folder still holds when it acts on it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Literal, NamedTuple

from dse.problems import InputError, Problem
from dse.result.folder import (
    CHECKPOINT,
    DESIGNS,
    FINISHED,
    FORMAT,
    FRONT,
    MARKER,
    SUMMARY,
    read_json,
)

State = Literal["new", "resume", "finished"]
_ATTEMPTS = 100


class Claim(NamedTuple):
    """How a folder stands for a run.

    Parameters
    ----------
    state : {"new", "resume", "finished"}
        Whether it holds an unfinished or a finished run of the same study.
    made : bool
        Whether the folder was made for this run.
    aside : Path or None
        Where an earlier run was moved.
    """

    state: State
    made: bool = False
    aside: Path | None = None


@contextmanager
def claimed(folder: Path, digest: str, name: str, fresh: bool = False) -> Iterator[Claim]:
    """Hold a folder for a run, and keep other runs out of it.

    A run of another study is moved aside, to ``folder.1``, and so is every run if `fresh`. If the
    block raises before it leaves anything to resume or to read, the folder is as it was before.

    Raises
    ------
    InputError
        If the path is a file, a folder with something else in it or with the tables of another
        study, or in use by another run.
    """
    with ExitStack() as held:
        made = not folder.exists()
        file = held.enter_context(_locked(folder))
        state = _state(folder, digest, fresh)
        aside = None
        if state is None:
            aside = _move_aside(folder)  # its lock is held on
            file = held.enter_context(_locked(folder))
            state = "new"
        if state == "new":
            _mark(file, {"format": FORMAT, "name": name, "digest": digest})
        _sweep(folder)
        claim = Claim(state, made, aside)
        try:
            yield claim
        except BaseException:  # Ctrl-C too
            kept = (folder / SUMMARY).is_file() or (folder / CHECKPOINT).is_file()
            if state == "new" and not kept:
                _discard(folder, claim)
            raise


def is_finished_run_of(folder: Path, digest: str) -> bool:
    """Tell whether there is nothing left to do for the study with this digest."""
    if not _is_marked(folder):
        return False
    return read_json(folder / MARKER).get("digest") == digest and _is_finished(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    for attempt in range(_ATTEMPTS):  # another run may move or remove the folder meanwhile
        try:
            file = _opened(folder)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and attempt < _ATTEMPTS - 1:
                continue
            message = f"cannot be written: {error.strerror or error}"
            raise InputError(str(folder), [Problem("", message, "give another --out")]) from None
        with file:
            _lock(folder, file)
            if _is_same(file, folder / MARKER):
                yield file
                return
    raise InputError(str(folder), [_in_use()])


def _opened(folder: Path) -> IO[bytes]:
    """Open the marker, in a folder that is empty or holds a run already."""
    if folder.exists() and not folder.is_dir():
        problem = Problem("", "is a file, not a run folder", "give --out DIR")
        raise InputError(str(folder), [problem])
    folder.mkdir(parents=True, exist_ok=True)
    names = os.listdir(folder)
    if names and MARKER not in names:
        problem = Problem(
            "", "holds files that are not a run", "give another folder with --out DIR"
        )
        raise InputError(str(folder), [problem])
    marker = folder / MARKER
    try:
        return os.fdopen(os.open(marker, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
    except OSError:
        if not marker.is_file():
            raise
        return marker.open("rb")  # a finished run may be read in a folder that is read-only


def _lock(folder: Path, file: IO[bytes]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(str(folder), [_in_use()]) from None
    except OSError as error:
        message = f"cannot be locked: {error.strerror or error}"
        problem = Problem("", message, "give an --out on a file system that has locks")
        raise InputError(str(folder), [problem]) from None


def _in_use() -> Problem:
    return Problem("", "is in use by another run", "wait for it, or give another --out")


def _is_same(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _state(folder: Path, digest: str, fresh: bool) -> State | None:
    """Return what a locked folder holds for this study; None for what is to be moved aside."""
    if os.listdir(folder) == [MARKER] and not _is_marked(folder):
        return "new"  # made just now, or by a run that was killed at once
    if fresh or read_json(folder / MARKER).get("digest") != digest:
        return None
    return "finished" if _is_finished(folder) else "resume"


def _is_marked(folder: Path) -> bool:
    with suppress(InputError):
        return bool(read_json(folder / MARKER))
    return False


def _is_finished(folder: Path) -> bool:
    if not all((folder / name).is_file() for name in (SUMMARY, FRONT, DESIGNS)):
        return False
    summary = read_json(folder / SUMMARY)
    provenance, certificate = summary.get("provenance"), summary.get("certificate")
    theirs = provenance.get("digest") if isinstance(provenance, dict) else None
    if theirs != read_json(folder / MARKER).get("digest"):
        message = f"its tables are of another study than its {MARKER}"
        remedy = "start with --fresh, or give another --out"
        raise InputError(str(folder), [Problem("", message, remedy)])
    return isinstance(certificate, dict) and certificate.get("stopped") in FINISHED


def _mark(file: IO[bytes], content: dict[str, object]) -> None:
    """Write the marker in place: a new file would not be locked."""
    file.seek(0)
    file.truncate()
    file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    file.flush()


def _sweep(folder: Path) -> None:
    """Remove what a killed run left half-written."""
    for name in (CHECKPOINT, SUMMARY, FRONT, DESIGNS):
        for path in folder.glob(f".{name}.*"):
            with suppress(OSError):
                path.unlink()


def _move_aside(folder: Path) -> Path:
    """Rename a run folder to the first free ``folder.N``."""
    folder = Path(os.path.abspath(folder))  # "." cannot be renamed
    number = 1
    while (folder.parent / f"{folder.name}.{number}").exists():
        number += 1
    try:
        return folder.rename(folder.parent / f"{folder.name}.{number}")
    except OSError as error:
        message = f"holds another run, which cannot be moved aside: {error.strerror or error}"
        raise InputError(str(folder), [Problem("", message, "give another --out")]) from None


def _discard(folder: Path, claim: Claim) -> None:
    """Remove what this run wrote, the marker last, and put back what was moved aside."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != MARKER:
            path.unlink()
    (folder / MARKER).unlink()
    with suppress(OSError):  # another run may have it by now
        if claim.aside is not None or claim.made:
            folder.rmdir()
        if claim.aside is not None:
            claim.aside.rename(folder)
        elif claim.made and folder.parent.name == "runs":  # made for this run alone
            folder.parent.rmdir()
