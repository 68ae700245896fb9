"""Optuna's migration scripts: read once in a process, and not for each database that is opened.

To read them takes longer than most of what tests do with a database.
"""

from __future__ import annotations

import functools


def read_once() -> None:
    """Let Optuna read them at the first database alone."""
    from optuna.storages._rdb.storage import _VersionManager

    create = _VersionManager._create_alembic_script
    manager = object.__new__(_VersionManager)
    manager.url = "sqlite://"
    script = functools.cache(lambda: create(manager))
    _VersionManager._create_alembic_script = lambda _: script()  # type: ignore
