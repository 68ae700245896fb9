"""The lease of a run folder: one run at a time, under a lock that moves with the folder.

The lock is on ``run.json``, which is the first file, is never replaced, and is removed last. A run
takes the lock before it reads anything. Its decisions about the folder thus stay valid.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Literal, NamedTuple

from dse.problems import InputError, Problem
from dse.result.database import StorageError, has_trials
from dse.result.files import remove_leftovers
from dse.result.folder import (
    CHECKPOINT,
    DESIGNS,
    FINISHED,
    FORMAT,
    FRONT,
    MARKER,
    PROGRESS,
    REPORT,
    STORAGE,
    STUDY,
    SUMMARY,
    TIMEOUT,
    read_json,
    verify_tables,
)

State = Literal["new", "resume", "finished"]
_ATTEMPTS = 100
_OTHER = "give another folder with --out DIR"


class Lease(NamedTuple):
    """The state of a folder for a run."""

    state: State
    """Whether it holds an unfinished or a finished run of the same study."""
    made: bool = False
    """Whether the folder was made for this run."""
    aside: Path | None = None
    """The new place of an earlier run."""


@contextmanager
def lease_folder(
    folder: Path,
    digest: str,
    name: str,
    fresh: bool = False,
    copies: Collection[str] = (),
    seconds: float = 0.0,
) -> Iterator[Lease]:
    """Lock a folder for a run, and keep other runs out of it.

    The run of another study moves aside, to ``folder.1``; with `fresh`, every run does. If the
    block raises before it leaves anything to resume or to read, its files are removed, and the
    earlier run moves back. If the storage fails, the state of the search stays. The run writes
    `copies` below `STUDY`. A run that ended at a shorter time limit than `seconds` continues.

    Raises
    ------
    InputError
        If the path is a file, a folder with other files or with the tables of another study, or
        in use by another run.
    """
    with ExitStack() as locks:
        made = not folder.exists()
        file = locks.enter_context(_locked(folder))
        state = _state(folder, digest, fresh, seconds)
        aside = None
        if state is None:
            aside = _move_aside(folder)  # the lock stays
            file = locks.enter_context(_locked(folder))
            state = "new"
        lease = Lease(state, made, aside)
        try:
            if state == "new":
                _write_marker(file, {"format": FORMAT, "name": name, "digest": digest})
            _sweep(folder, state)
            yield lease
        except StorageError:
            raise
        except BaseException:  # Ctrl-C too
            if state == "new" and not _is_worth_keeping(folder):
                _discard(folder, lease, copies)
            raise


def is_finished_run_of(folder: Path, digest: str, seconds: float = 0.0) -> bool:
    """Return whether a folder has a finished run of a study that more time would not continue."""
    return _is_marked(folder) and _is_of(folder, digest) and _is_finished(folder, seconds)


def _refusal(folder: Path, message: str, remedy: str = _OTHER) -> InputError:
    return InputError(str(folder), [Problem("", message, remedy)])


@contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    for _ in range(_ATTEMPTS):  # another run may move or remove the folder meanwhile
        try:
            file = _open_marker(folder)
        except FileNotFoundError as error:
            reason = error.strerror
            continue
        except OSError as error:
            raise _refusal(folder, f"cannot be written: {error.strerror or error}") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                break
            except OSError as error:
                message = f"cannot be locked: {error.strerror or error}"
                raise _refusal(folder, message, "give an --out with locks") from None
            if _is_same(file, folder / MARKER):
                yield file
                return
            reason = ""
    else:
        if reason:
            raise _refusal(folder, f"cannot be written: {reason}")
    raise _refusal(folder, "is in use by another run", "wait for it, or give another --out")


def _open_marker(folder: Path) -> IO[bytes]:
    """Open the marker, in a folder that is empty or already a run folder."""
    if folder.exists() and not folder.is_dir():
        raise _refusal(folder, "is a file, not a run folder", "give --out DIR")
    folder.mkdir(parents=True, exist_ok=True)
    names = os.listdir(folder)
    if names and MARKER not in names:
        raise _refusal(folder, "holds files that are not a run")
    marker = folder / MARKER
    try:
        return os.fdopen(os.open(marker, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
    except OSError:
        if not marker.is_file():
            raise
        return marker.open("rb")  # a finished run may be in a read-only folder


def _is_same(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _state(folder: Path, digest: str, fresh: bool, seconds: float) -> State | None:
    """Return the state of a locked folder for this study; None if its run must move aside."""
    if os.listdir(folder) == [MARKER] and not _is_marked(folder):
        return "new"  # new, or left by a run that was killed at once
    if fresh or not _is_of(folder, digest):
        return None
    return "finished" if _is_finished(folder, seconds) else "resume"


def _is_marked(folder: Path) -> bool:
    with suppress(InputError):
        return bool(read_json(folder / MARKER))
    return False


def _is_of(folder: Path, digest: str) -> bool:
    """Return whether a folder belongs to a study, in today's format."""
    marker = read_json(folder / MARKER)
    return marker.get("digest") == digest and marker.get("format") == FORMAT


def _is_finished(folder: Path, seconds: float) -> bool:
    if not all((folder / name).is_file() for name in (SUMMARY, FRONT, DESIGNS)):
        return False
    summary = read_json(folder / SUMMARY)
    try:
        provenance, stopped = summary["provenance"], summary["certificate"]["stopped"]
        digest, limit = provenance["digest"], provenance.get("timeout", seconds)
        short = stopped == TIMEOUT and limit < seconds
    except (LookupError, TypeError, AttributeError):
        digest = None
    if digest != read_json(folder / MARKER).get("digest"):
        message = f"its tables are of another study than its {MARKER}"
        raise _refusal(folder, message, "start with --fresh, or give another --out")
    if stopped not in FINISHED:
        return False
    verify_tables(folder)
    return not short


def _write_marker(file: IO[bytes], content: dict[str, object]) -> None:
    """Write the marker in place: a new file would not be locked."""
    file.seek(0)
    file.truncate()
    file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    file.flush()
    os.fsync(file.fileno())


def _sweep(folder: Path, state: State) -> None:
    """Remove half-written files of a killed run, and files that it should have removed."""
    for name in (CHECKPOINT, PROGRESS, SUMMARY, FRONT, DESIGNS, REPORT, STORAGE):
        remove_leftovers(folder, name)
    names = []
    if state == "finished":
        names = [CHECKPOINT, PROGRESS]
        if read_json(folder / SUMMARY)["certificate"]["stopped"] == TIMEOUT:
            names = [PROGRESS]  # more time continues from the checkpoint
    elif state == "resume" and all((folder / name).is_file() for name in (CHECKPOINT, SUMMARY)):
        names = [STORAGE]  # the front so far, of a search whose state is elsewhere
    for name in names:
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def _is_worth_keeping(folder: Path) -> bool:
    """Return whether a folder holds something to read or to resume."""
    tables = any((folder / name).is_file() for name in (SUMMARY, CHECKPOINT))
    return tables or has_trials(folder / STORAGE)


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
        raise _refusal(folder, message) from None


def _discard(folder: Path, lease: Lease, copies: Collection[str]) -> None:
    """Remove the files of this run, the marker last, and move the earlier run back.

    The folder stays a run folder if another program has put files into it.
    """
    _sweep(folder, lease.state)
    for name in (REPORT, FRONT, DESIGNS, STORAGE, f"{STORAGE}-journal", PROGRESS):
        (folder / name).unlink(missing_ok=True)
    for name in copies:
        remove_leftovers((folder / STUDY / name).parent, Path(name).name)
        (folder / STUDY / name).unlink(missing_ok=True)
    below = {parent for name in copies for parent in Path(STUDY, name).parents} - {Path()}
    for path in sorted(below, key=lambda p: len(p.parts), reverse=True):
        shutil.rmtree(folder / path / "__pycache__", ignore_errors=True)
        with suppress(OSError):
            (folder / path).rmdir()
    if os.listdir(folder) != [MARKER]:
        return
    (folder / MARKER).unlink()
    with suppress(OSError):  # another run may have taken it
        if lease.aside is not None or lease.made:
            folder.rmdir()
        if lease.aside is not None:
            lease.aside.rename(folder)
        elif lease.made and folder.parent.name == "runs":  # `dse` made it only for this run
            folder.parent.rmdir()
