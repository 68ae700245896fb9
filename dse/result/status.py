"""Status: the progress of a run, seen from outside, while it works and after it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dse.problems import InputError, Problem
from dse.result.folder import FINISHED, MARKER, PROGRESS, SUMMARY, TIMEOUT, read_json
from dse.result.writing import write_json
from dse.search.base import UNLIMITED, Progress
from dse.study.study import ResolvedStudy

_SILENT = 60.0  # seconds without a note after which a process on another machine has probably ended
_MIN_SECONDS = 5.0  # of work before a rate is reliable


@dataclass(frozen=True)
class Worker:
    """A process that takes part in a run, or took part.

    Parameters
    ----------
    host, pid : str, int
        The machine and the process.
    working : bool
        Whether it wrote a note recently, and has not left.
    since, seen : str
        The times of its start and its last note, in UTC.
    done : int
        The number of designs or samples that it evaluated.
    rate : float or None
        This number per second; None in the first seconds.
    """

    host: str
    pid: int
    working: bool
    since: str
    seen: str
    done: int
    rate: float | None


@dataclass(frozen=True)
class Status:
    """The progress of a run.

    Parameters
    ----------
    name, state : str
        The study and its state: ``finished``, ``under way``, ``cut short``, ``not begun``, or
        ``unknown`` if there is no note yet.
    method : str
        The search method.
    done, total : int or None
        The number of designs or samples; None if it is not known, or has no limit.
    front : int or None
        Non-dominated designs so far; None if it is not known.
    rate : float or None
        Designs per second, recently.
    left : float or None
        Seconds until the end at that rate.
    workers : tuple of Worker
        The processes that take part.
    told : str
        Further hints for the reader.
    """

    name: str
    state: str
    method: str = ""
    done: int | None = None
    total: int | None = None
    front: int | None = None
    rate: float | None = None
    left: float | None = None
    workers: tuple[Worker, ...] = ()
    told: str = ""


def pace(done: int, seconds: float) -> float | None:
    """Return the number of designs per second; None if it is too early for a rate."""
    return done / seconds if seconds >= _MIN_SECONDS else None


def left(done: int, total: int | None, rate: float | None) -> float | None:
    """Return the seconds until the end at a rate; None if that is not known."""
    return max(total - done, 0) / rate if rate and total is not None else None


def take_up(folder: Path) -> None:
    """Note in the folder of an interrupted run that this process continues it."""
    place = folder / PROGRESS
    try:
        noted = read_json(place) if place.is_file() else _noted(read_json(folder / SUMMARY))
    except (InputError, KeyError, TypeError):  # there is nothing to note
        return
    write_json(place, {**noted, "own": 0, **_session(datetime.now(UTC))})


def _session(since: datetime) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": since.isoformat(timespec="seconds"),
        "seen": now.isoformat(timespec="seconds"),
        "seconds": (now - since).total_seconds(),
    }


def _noted(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the progress of a run from its summary."""
    certificate, provenance = summary["certificate"], summary["provenance"]
    return {
        "method": certificate["method"],
        "done": certificate["evaluated"],
        "total": provenance.get("total"),
        "front": certificate["non_dominated"],
    }


class Noting:
    """Notes of the progress of a run, in its folder.

    Parameters
    ----------
    folder : Path
        The run folder.
    study : ResolvedStudy
        The study of the run.
    earlier : Progress
        The progress at the start of this session.
    """

    def __init__(self, folder: Path, study: ResolvedStudy, earlier: Progress) -> None:
        self._path, self._study, self._before = folder / PROGRESS, study, earlier.done
        self._since = datetime.now(UTC)

    def note(self, progress: Progress) -> None:
        """Write the current progress."""
        content = {
            "method": self._study.plan.method,
            "done": progress.done,
            "total": progress.total if progress.total < UNLIMITED else None,
            "front": progress.front,
            "own": max(progress.done - self._before, 0),
            **_session(self._since),
        }
        write_json(self._path, content)


def of_folder(folder: Path) -> Status:
    """Return the status of the run in a folder.

    Raises
    ------
    InputError
        If the folder is no run folder.
    """
    marker = folder / MARKER
    if not folder.exists():
        remedy = "name a run folder, which dse run STUDY makes, or a study file"
        raise InputError(str(folder), [Problem("", "does not exist", remedy)])
    if folder.is_dir() and not marker.is_file():
        remedy = "name a run folder, such as runs/NAME, or a study file"
        raise InputError(str(folder), [Problem("", f"has no {MARKER}: it is not one", remedy)])
    content = read_json(marker)
    name = str(content.get("name", folder.name))
    noted = read_json(folder / PROGRESS) if (folder / PROGRESS).is_file() else None
    summary = read_json(folder / SUMMARY) if (folder / SUMMARY).is_file() else None
    try:
        if noted is not None:
            return _under_way(name, noted)
        if summary is not None:
            return _ended(name, summary)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"cannot be read: {type(error).__name__} {error}"
        remedy = "run the study again with --fresh"
        raise InputError(str(folder), [Problem("", message, remedy)]) from None
    return Status(name, "unknown", told="its run has just begun, or was ended at once")


def _under_way(name: str, noted: Mapping[str, Any]) -> Status:
    done, total, own = int(noted["done"]), noted["total"], int(noted["own"])
    age = (datetime.now(UTC) - datetime.fromisoformat(noted["seen"])).total_seconds()
    host, pid = str(noted["host"]), int(noted["pid"])
    working = _is_there(pid) if host == socket.gethostname() else age < _SILENT
    rate, front = pace(own, float(noted["seconds"])), noted["front"]
    return Status(
        name,
        "under way" if working else "cut short",
        str(noted["method"]),
        done,
        total,
        front=None if front is None else int(front),
        rate=rate if working else None,
        left=left(done, total, rate) if working else None,
        workers=(Worker(host, pid, working, noted["since"], noted["seen"], own, rate),),
    )


def _ended(name: str, summary: Mapping[str, Any]) -> Status:
    certificate, provenance = summary["certificate"], summary["provenance"]
    by_time = certificate["stopped"] == TIMEOUT
    finished = certificate["stopped"] in FINISHED and not by_time
    total = provenance.get("total")
    more = " With more --seconds it goes on." if by_time else ""
    return Status(
        name,
        "finished" if finished else "cut short",
        str(certificate["method"]),
        int(certificate["evaluated"]),
        None if finished or total is None else int(total),
        front=int(certificate["non_dominated"]),
        rate=float(provenance["designs_per_second"]),
        told=f"{certificate['statement']}{more}",
    )


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
