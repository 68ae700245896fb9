"""The status of a run that several processes divide, from their database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import sqlalchemy
from sqlalchemy import Connection, and_, func, select

from dse.problems import InputError, Problem
from dse.result.connection import check_password, engine_options, told
from dse.result.shared import MEMBERS, PARTS, RESULTS, are_here, now_of, standing_of
from dse.result.status import Status, Worker, left, pace
from dse.study.study import ResolvedStudy

_LATELY = 60.0  # seconds that the rate is of
_STUDIES = sqlalchemy.table(
    "studies", sqlalchemy.column("study_id"), sqlalchemy.column("study_name")
)
_NOTES = sqlalchemy.table(
    "study_user_attributes",
    sqlalchemy.column("study_id"),
    sqlalchemy.column("key"),
    sqlalchemy.column("value_json"),
)


def of_storage(study: ResolvedStudy) -> Status:
    """Return how far all processes are that run a study on its storage.

    Raises
    ------
    StorageError
        If the storage cannot be used.
    InputError
        If the study has not been run on it.
    """
    url = study.file.run.storage or ""
    check_password(url)
    with told(url):
        engine = sqlalchemy.create_engine(url, **engine_options(url))
        try:
            with engine.connect() as connection:
                number = _number(connection, study)
                if number is not None:
                    return _status(connection, study, number)
        finally:
            engine.dispose()
    message, remedy = f"{study.shown_storage} has no run of this study", "dse run STUDY"
    raise InputError(str(study.path or study.name), [Problem("run.storage", message, remedy)])


def _number(connection: Connection, study: ResolvedStudy) -> int | None:
    """Return Optuna's number of a study, which is found by name and digest."""
    there = sqlalchemy.inspect(connection)
    if not all(there.has_table(t.name) for t in (_STUDIES, _NOTES, PARTS, MEMBERS, RESULTS)):
        return None
    ours = and_(
        _NOTES.c.study_id == _STUDIES.c.study_id,
        _NOTES.c.key == "dse:digest",
        _NOTES.c.value_json == json.dumps(study.digest),
        _STUDIES.c.study_name.in_([study.name, f"{study.name}@{study.digest[:8]}"]),
    )
    found: int | None = connection.scalar(select(_STUDIES.c.study_id).where(ours))
    return found


def _status(connection: Connection, study: ResolvedStudy, number: int) -> Status:
    standing, now = standing_of(connection, number), now_of(connection)
    method = study.plan.method
    if not standing.total:
        words = f"{method} is not divided; each run folder has its own status: dse status RUN"
        return Status(study.name, "unknown", method, told=words)
    workers = _workers(connection, number, now)
    working = [worker for worker in workers if worker.working]
    recent = and_(RESULTS.c.study_id == number, RESULTS.c.made > now - timedelta(seconds=_LATELY))
    lately = int(connection.scalar(select(func.sum(RESULTS.c.designs)).where(recent)) or 0)
    first = min((datetime.fromisoformat(worker.since) for worker in working), default=now)
    seconds = min(_LATELY, (now - first).total_seconds())
    over = standing.done == standing.total
    rate = None if over or not working else pace(lately, seconds)
    return Status(
        study.name,
        "finished" if over else "under way" if working else "cut short",
        method,
        standing.done,
        standing.total,
        claimed=_claimed(connection, number, now),
        rate=rate,
        left=left(standing.done, standing.total, rate),
        workers=tuple(workers),
    )


def _claimed(connection: Connection, number: int, now: datetime) -> int:
    mine = and_(
        PARTS.c.study_id == number,
        PARTS.c.result.is_(None),
        PARTS.c.member == MEMBERS.c.member,
        are_here(now),
    )
    return int(connection.scalar(select(func.sum(PARTS.c.high - PARTS.c.low)).where(mine)) or 0)


def _workers(connection: Connection, number: int, now: datetime) -> list[Worker]:
    """Return who takes part, or has done something; those that came first, first."""
    designs = func.coalesce(func.sum(RESULTS.c.designs), 0)
    query = (
        select(MEMBERS, designs.label("designs"), are_here(now).label("working"))
        .outerjoin(RESULTS, RESULTS.c.member == MEMBERS.c.member)
        .where(MEMBERS.c.study_id == number)
        .group_by(MEMBERS.c.member)
        .order_by(MEMBERS.c.member)
    )
    found = []
    for row in connection.execute(query):
        seconds = ((now if row.working else row.seen) - row.joined).total_seconds()
        if row.working or row.designs:
            since, seen = (
                t.astimezone(UTC).isoformat(timespec="seconds") for t in (row.joined, row.seen)
            )
            rate = pace(int(row.designs), seconds)
            found.append(
                Worker(row.host, row.pid, row.working, since, seen, int(row.designs), rate)
            )
    return found
