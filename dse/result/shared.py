"""Shared runs: processes on one PostgreSQL database claim parts of a search, and hand them in.

Beside Optuna's tables there are three: who takes part and was seen when, by the server's clock; the
parts, with who has claimed them; and what was handed in, as arrays with a digest. A claim holds as
long as its process is seen. Nothing rests on that but the speed: a part that two have done is taken
once, and both give the same.
"""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, func, insert, or_, select, update

from dse.problems import DseError
from dse.result.checkpoint import DamagedError, packed, unpacked
from dse.result.connection import told
from dse.search.parts import Part, Standing

GONE = 10.0
"""Seconds after which the claims of a process that was not seen are open again."""
_BEAT = 2.0  # seconds between two signs of life
_ROWS = 1_000  # inserted together

_META = sqlalchemy.MetaData()
_STUDIES = sqlalchemy.Table(
    "studies", _META, sqlalchemy.Column("study_id", sqlalchemy.Integer, primary_key=True)
)  # Optuna's own


def _study() -> sqlalchemy.Column[int]:
    owner = sqlalchemy.ForeignKey(_STUDIES.c.study_id, ondelete="CASCADE")
    return sqlalchemy.Column("study_id", sqlalchemy.Integer, owner, nullable=False, index=True)


_TIME = sqlalchemy.DateTime(timezone=True)
MEMBERS = sqlalchemy.Table(
    "dse_members",
    _META,
    sqlalchemy.Column("member", sqlalchemy.Integer, primary_key=True),
    _study(),
    sqlalchemy.Column("host", sqlalchemy.String(255), nullable=False),
    sqlalchemy.Column("pid", sqlalchemy.Integer, nullable=False),
    sqlalchemy.Column("joined", _TIME, nullable=False, server_default=func.now()),
    sqlalchemy.Column("seen", _TIME, nullable=False, server_default=func.now()),
    sqlalchemy.Column("has_left", sqlalchemy.Boolean, nullable=False, default=False),
)
RESULTS = sqlalchemy.Table(
    "dse_results",
    _META,
    sqlalchemy.Column("result", sqlalchemy.Integer, primary_key=True),
    _study(),
    sqlalchemy.Column("member", sqlalchemy.Integer, nullable=False),
    sqlalchemy.Column("designs", sqlalchemy.BigInteger, nullable=False),
    sqlalchemy.Column("made", _TIME, nullable=False, server_default=func.now()),
    sqlalchemy.Column("content", sqlalchemy.LargeBinary, nullable=False),
)
PARTS = sqlalchemy.Table(
    "dse_parts",
    _META,
    sqlalchemy.Column("number", sqlalchemy.Integer, nullable=False),
    _study(),
    sqlalchemy.Column("low", sqlalchemy.BigInteger, nullable=False),
    sqlalchemy.Column("high", sqlalchemy.BigInteger, nullable=False),
    sqlalchemy.Column("member", sqlalchemy.Integer),
    sqlalchemy.Column("result", sqlalchemy.Integer),
    sqlalchemy.PrimaryKeyConstraint("study_id", "number"),
)
_OWN = [MEMBERS, RESULTS, PARTS]


class Shared:
    """The parts of one study's search; see `dse.search.parts.Parts`.

    Parameters
    ----------
    engine : Engine
        The database.
    url : str
        Its URL, for messages, which show it without its credentials.
    study_id : int
        Optuna's number of the study.
    digest : str
        The study's digest, which what is handed in names.
    """

    def __init__(self, engine: sqlalchemy.Engine, url: str, study_id: int, digest: str) -> None:
        self._engine, self._url, self._study_id, self._digest = engine, url, study_id, digest
        self._member: int | None = None
        self._left, self._beats = threading.Event(), threading.Thread()
        self.divided = False
        """Whether the search divides its work."""

    def join(self, cuts: Sequence[tuple[int, int]]) -> None:
        """Take part; see `Parts`."""
        with self._begin() as connection:
            # others wait here, so that parts are made once
            mine = select(_STUDIES).where(_STUDIES.c.study_id == self._study_id)
            connection.execute(mine.with_for_update())
            if not connection.scalar(select(func.count()).where(self._of(PARTS))):
                rows = [
                    {"study_id": self._study_id, "number": n, "low": low, "high": high}
                    for n, (low, high) in enumerate(cuts)
                ]
                for low in range(0, len(rows), _ROWS):
                    connection.execute(insert(PARTS), rows[low : low + _ROWS])
            row = {"study_id": self._study_id, "host": socket.gethostname(), "pid": os.getpid()}
            joined = insert(MEMBERS).values(row).returning(MEMBERS.c.member)
            self._member = connection.execute(joined).scalar_one()
        self.divided = True
        self._beats = threading.Thread(target=self._live, args=(self._member,), daemon=True)
        self._beats.start()

    def claim(self, most: int) -> list[Part]:
        """Return parts to do; a process claims no more than its share of half of what is left."""
        with self._begin() as connection:
            members = _working(connection, self._study_id)
            is_open = and_(
                self._of(PARTS),
                PARTS.c.result.is_(None),
                or_(PARTS.c.member.is_(None), PARTS.c.member.not_in(members)),
            )
            left = connection.scalar(select(func.count()).where(is_open)) or 0
            share = max(1, min(most, left // (2 * max(1, len(members)))))
            wanted = select(PARTS.c.number, PARTS.c.low, PARTS.c.high).where(is_open)
            wanted = wanted.order_by(PARTS.c.number).limit(share)
            found = connection.execute(wanted.with_for_update(skip_locked=True)).all()
            claimed = [Part(*row) for row in found]
            mine = {"member": self._member}
            connection.execute(self._update(claimed).values(mine))
        return claimed

    def done(
        self,
        parts: Sequence[Part],
        content: Callable[[Collection[int]], Mapping[str, NDArray[Any]]],
    ) -> None:
        """Hand in parts; see `Parts`."""
        self.handed_in(parts, lambda _, numbers: content(numbers))

    def handed_in(
        self,
        parts: Sequence[Part],
        content: Callable[[Connection, Collection[int]], Mapping[str, NDArray[Any]]],
    ) -> None:
        """Hand in parts, and what `content` writes beside them, all of it or nothing."""
        with self._begin() as connection:
            rows = select(PARTS.c.number, PARTS.c.low, PARTS.c.high).where(
                self._of(PARTS),
                PARTS.c.number.in_([part.number for part in parts]),
                PARTS.c.result.is_(None),
            )
            found = connection.execute(rows.order_by(PARTS.c.number).with_for_update()).all()
            there = {row.number: row.high for row in found}
            taken = [part for part in parts if part.number in there and part.high > part.low]
            if not taken:
                return
            for part in taken:
                if part.high < there[part.number]:
                    self._cut(connection, part, there[part.number])
            row = {
                "study_id": self._study_id,
                "member": self._member,
                "designs": sum(part.high - part.low for part in taken),
                "content": packed(content(connection, {p.number for p in taken}), self._digest),
            }
            added = insert(RESULTS).values(row).returning(RESULTS.c.result)
            result = connection.execute(added).scalar_one()
            said = {"member": self._member, "result": result}
            connection.execute(self._update(taken).values(said))

    def _cut(self, connection: Connection, part: Part, high: int) -> None:
        """Leave what is above a part's `high` to others, as a part of its own."""
        study = select(_STUDIES).where(_STUDIES.c.study_id == self._study_id)
        connection.execute(study.with_for_update())  # so that no number is given twice
        last = connection.scalar(select(func.max(PARTS.c.number)).where(self._of(PARTS))) or 0
        connection.execute(self._update([part]).values(high=part.high))
        rest = {"number": last + 1, "low": part.high, "high": high, "study_id": self._study_id}
        connection.execute(insert(PARTS).values(rest))

    def results(
        self, known: Collection[int]
    ) -> Iterator[tuple[int, dict[str, NDArray[Any]] | None]]:
        """Yield what was handed in; see `Parts`."""
        with self._begin() as connection:
            every = select(RESULTS.c.result).where(self._of(RESULTS)).order_by(RESULTS.c.result)
            numbers = connection.execute(every).scalars().all()
        for number in numbers:
            if number in known:
                continue
            with self._begin() as connection:
                one = select(RESULTS.c.content).where(RESULTS.c.result == number)
                content = connection.scalar(one)
            try:
                yield number, unpacked(io.BytesIO(content or b""), self._digest)
            except DamagedError:
                yield number, None

    def drop(self, number: int) -> None:
        """Forget what was handed in; see `Parts`."""
        with self._begin() as connection:
            mine = and_(self._of(PARTS), PARTS.c.result == number)
            connection.execute(update(PARTS).where(mine).values(result=None, member=None))
            connection.execute(sqlalchemy.delete(RESULTS).where(RESULTS.c.result == number))

    def standing(self) -> Standing:
        """Return how far all are; see `Parts`."""
        with self._begin() as connection:
            return standing_of(connection, self._study_id)

    def leave(self) -> None:
        """Take part no longer; a server that is gone forgets it by itself."""
        if self._member is None or self._left.is_set():
            return
        self._left.set()
        self._beats.join(_BEAT)  # a server that does not answer is not waited for
        with suppress(DseError), self._begin() as connection:
            mine = update(MEMBERS).where(MEMBERS.c.member == self._member)
            connection.execute(mine.values(has_left=True, seen=func.now()))

    def _live(self, member: int) -> None:
        """Give signs of life; what goes wrong here is told by the next claim."""
        mine = update(MEMBERS).where(MEMBERS.c.member == member).values(seen=func.now())
        while not self._left.wait(_BEAT):
            with suppress(Exception), self._engine.begin() as connection:
                connection.execute(mine)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with told(self._url), self._engine.begin() as connection:
            yield connection

    def _of(self, table: sqlalchemy.Table) -> sqlalchemy.ColumnElement[bool]:
        return table.c.study_id == self._study_id

    def _update(self, parts: Sequence[Part]) -> sqlalchemy.Update:
        numbers = [part.number for part in parts]
        return update(PARTS).where(self._of(PARTS), PARTS.c.number.in_(numbers))


def make_tables(engine: sqlalchemy.Engine) -> None:
    """Make the tables, unless they are there."""
    _META.create_all(engine, tables=_OWN)


def standing_of(connection: Connection, study_id: int) -> Standing:
    """Return how far all processes are with a study."""
    size = PARTS.c.high - PARTS.c.low
    done = func.sum(size).filter(PARTS.c.result.is_not(None))
    row = connection.execute(select(done, func.sum(size)).where(PARTS.c.study_id == study_id)).one()
    return Standing(int(row[0] or 0), int(row[1] or 0))


def now_of(connection: Connection) -> datetime:
    """Return the server's time."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    return now


def are_here(now: datetime) -> sqlalchemy.ColumnElement[bool]:
    """Return the condition that members were seen a moment before a time, and have not left."""
    return and_(~MEMBERS.c.has_left, MEMBERS.c.seen >= now - timedelta(seconds=GONE))


def _working(connection: Connection, study_id: int) -> list[int]:
    """Return the members that were seen a moment ago."""
    here = and_(MEMBERS.c.study_id == study_id, are_here(now_of(connection)))
    return list(connection.execute(select(MEMBERS.c.member).where(here)).scalars())
