"""The progress of a run, seen from outside, while it works and after it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dse.problems import InputError, Problem
from dse.result.files import write_json
from dse.result.folder import FINISHED, MARKER, PROGRESS, SUMMARY, TIMEOUT, read_json, report_damage
from dse.search.base import UNLIMITED, Progress

_SILENT = 60.0  # seconds without a note after which a process on another machine has probably ended
_MIN_SECONDS = 5.0  # of work before a rate is reliable


@dataclass(frozen=True)
class Status:
    """The progress of a run."""

    name: str
    """The study."""
    state: str
    """The state: ``finished``, ``under way``, ``cut short``, or ``unknown`` if there is no note
    yet."""
    method: str = ""
    done: int | None = None
    """The number of designs or samples so far; None if it is not known."""
    total: int | None = None
    """The number of designs or samples in all; None if it is not known, or has no limit."""
    front: int | None = None
    """Non-dominated designs so far; None if it is not known."""
    rate: float | None = None
    """Designs per second in this session; None in the first seconds."""
    left: float | None = None
    """Seconds until the end at that rate."""
    host: str = ""
    """The machine that works, or worked last."""
    pid: int | None = None
    """The process that works, or worked last."""
    since: str = ""
    """The time of its start, in UTC."""
    seen: str = ""
    """The time of its last note, in UTC."""
    hint: str = ""


class ProgressNotes:
    """Notes of the progress of a run, in its folder; `earlier` is the progress at the start."""

    def __init__(self, folder: Path, method: str, earlier: Progress) -> None:
        self._path, self._method, self._before = folder / PROGRESS, method, earlier.done
        self._since = datetime.now(UTC)

    def write(self, progress: Progress) -> None:
        """Write the current progress."""
        content = {
            "method": self._method,
            "done": progress.done,
            "total": progress.total if progress.total < UNLIMITED else None,
            "front": progress.front,
            "own": max(progress.done - self._before, 0),
        }
        write_json(self._path, content | _session(self._since))


def note_resumption(folder: Path) -> None:
    """Note in the folder of an interrupted run that this process continues it."""
    try:
        if (folder / PROGRESS).is_file():
            note = read_json(folder / PROGRESS)
        else:
            summary = read_json(folder / SUMMARY)
            certificate = summary["certificate"]
            note = {
                "method": certificate["method"],
                "done": certificate["evaluated"],
                "total": summary["provenance"].get("total"),
                "front": certificate["non_dominated"],
            }
    except (InputError, KeyError, TypeError):  # there is nothing to note
        return
    write_json(folder / PROGRESS, note | {"own": 0} | _session(datetime.now(UTC)))


def _session(since: datetime) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": since.isoformat(timespec="seconds"),
        "seen": now.isoformat(timespec="seconds"),
        "seconds": (now - since).total_seconds(),
    }


def read_status(folder: Path) -> Status:
    """Return the status of the run in a folder.

    Raises
    ------
    InputError
        If the folder is no run folder.
    """
    if not folder.exists():
        remedy = "name a run folder, which dse run STUDY makes, or a study file"
        raise InputError(str(folder), [Problem("", "does not exist", remedy)])
    if folder.is_dir() and not (folder / MARKER).is_file():
        remedy = "name a run folder, such as runs/NAME, or a study file"
        raise InputError(str(folder), [Problem("", f"has no {MARKER}: it is not one", remedy)])
    name = str(read_json(folder / MARKER).get("name", folder.name))
    with report_damage(folder):
        if (folder / PROGRESS).is_file():
            return _unfinished(name, read_json(folder / PROGRESS))
        if (folder / SUMMARY).is_file():
            return _ended(name, read_json(folder / SUMMARY))
    return Status(name, "unknown", hint="its run has just begun, or was ended at once")


def _unfinished(name: str, note: Mapping[str, Any]) -> Status:
    done, total, own = int(note["done"]), note["total"], int(note["own"])
    age = (datetime.now(UTC) - datetime.fromisoformat(note["seen"])).total_seconds()
    host, pid, seconds = str(note["host"]), int(note["pid"]), float(note["seconds"])
    works = _is_alive(pid) if host == socket.gethostname() else age < _SILENT
    rate = own / seconds if seconds >= _MIN_SECONDS else None
    return Status(
        name,
        "under way" if works else "cut short",
        str(note["method"]),
        done,
        total,
        front=note["front"],
        rate=rate,
        left=max(total - done, 0) / rate if works and rate and total is not None else None,
        host=host,
        pid=pid,
        since=str(note["since"]),
        seen=str(note["seen"]),
    )


def _ended(name: str, summary: Mapping[str, Any]) -> Status:
    certificate, provenance = summary["certificate"], summary["provenance"]
    by_time = certificate["stopped"] == TIMEOUT
    finished = certificate["stopped"] in FINISHED and not by_time
    more = " With more --seconds it goes on." if by_time else ""
    return Status(
        name,
        "finished" if finished else "cut short",
        str(certificate["method"]),
        int(certificate["evaluated"]),
        None if finished else provenance.get("total"),
        front=int(certificate["non_dominated"]),
        rate=float(provenance["designs_per_second"]),
        hint=f"{certificate['statement']}{more}",
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        pass
    return True
