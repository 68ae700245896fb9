"""The storage of a run: closed when it ends, and what of a front it holds."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import dse
from dse.result import database, storage
from dse.result.folder import load_result
from dse.run import run
from dse.search.base import Progress
from tests.core_examples import objective
from tests.toy import changed as study

pytestmark = pytest.mark.usefixtures("no_report")


def _open_files() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(entry))
        except OSError:  # it was the one of the listing
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="lists open files through /proc")
def test_a_sampler_closes_its_storage_when_the_run_fails(tmp_path: Path) -> None:
    sampled = study(tmp_path, "method = 'RandomSampler'\nevaluations = 3000")
    path = str(tmp_path / "out" / "study.db")

    def fail(_: Progress) -> None:
        assert path in _open_files()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        run(sampled, tmp_path / "out", 1, fail)
    assert path not in _open_files()


def test_of_a_very_large_front_the_storage_has_an_even_part_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "REGISTERED", 40)
    result = run(study(tmp_path, "method = 'evolution'"), tmp_path / "out")
    front = pd.read_csv(tmp_path / "out" / "front.csv", index_col="design")
    assert len(front) == len(result.front) > 80  # data stay whole
    kept = optuna.load_study(study_name="toy", storage=f"sqlite:///{tmp_path / 'out' / 'study.db'}")
    numbers = [trial.user_attrs["design"] for trial in kept.get_trials(deepcopy=False)]
    assert 36 <= len(numbers) <= 40
    assert set(numbers) <= set(front.index)
    special = {result.nash().name, *(result.best(o.name).name for o in result.objectives)}
    assert special <= set(numbers)
    positions = np.sort(front.index.get_indexer(pd.Index(numbers)))
    assert np.diff(positions).max() <= np.ceil(len(front) / 36)  # even
    (note,) = [note for note in result.notes if "storage" in note]
    assert f"at most 40 of the {len(front):,} designs on the front" in note
    assert kept.user_attrs["dse:registered"] == note
    assert note in load_result(tmp_path / "out").notes
    for trial in kept.get_trials(deepcopy=False)[:5]:
        row = front.loc[trial.user_attrs["design"]]
        assert trial.values == [row["speed"], row["cost"]]


def test_the_database_of_a_folder_is_as_optuna_writes_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/optuna.db"
    own = study(tmp_path, "method = 'exhaustive'", ("values = [", "values = [512, "))
    result = run(own, tmp_path / "own")
    assert not [note for note in result.notes if "storage" in note]
    text = own.text + f"[run]\nstorage = '{url}'\n"
    (tmp_path / "study.toml").write_text(text)
    run(dse.load(tmp_path / "study.toml"), tmp_path / "stored")
    assert not (tmp_path / "stored" / "study.db").exists()
    ours, theirs = (
        optuna.load_study(study_name="toy", storage=storage)
        for storage in (f"sqlite:///{tmp_path}/own/study.db", url)
    )
    assert ours.directions == theirs.directions
    assert ours.metric_names == theirs.metric_names
    assert len(ours.trials) == len(result.front)
    for one, other in zip(ours.trials, theirs.trials, strict=True):
        for part in ("number", "state", "params", "distributions", "values"):
            assert getattr(one, part) == getattr(other, part)
        assert one.user_attrs == other.user_attrs
        assert one.system_attrs == other.system_attrs
    schemas = [_schema(path) for path in (tmp_path / "own" / "study.db", tmp_path / "optuna.db")]
    assert schemas[0] == schemas[1]
    ours.enqueue_trial({"lanes": 3})  # a dashboard may write, too
    assert len(ours.trials) == len(theirs.trials) + 1


def _schema(path: Path) -> dict[str, Any]:
    """Return each table's columns, its unique indices, and the version."""
    with closing(sqlite3.connect(path)) as opened:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = [name for (name,) in opened.execute(query)]
        found: dict[str, Any] = {
            name: (
                opened.execute(f"PRAGMA table_info({name})").fetchall(),
                opened.execute(f"PRAGMA foreign_key_list({name})").fetchall(),
                sorted(
                    (unique, opened.execute(f"PRAGMA index_info('{index}')").fetchall())
                    for _, index, unique, *_ in opened.execute(f"PRAGMA index_list({name})")
                ),
            )
            for name in names
        }
        found["version"] = opened.execute("SELECT * FROM version_info").fetchall()
        found["migration"] = opened.execute("SELECT * FROM alembic_version").fetchall()
    return found


def test_a_finished_run_writes_its_trials_again(tmp_path: Path) -> None:
    """An error of the disk once left a database without trials for ever."""
    small = study(tmp_path, "method = 'exhaustive'", ("[1, 64]", "[1, 12]"))
    run(small, tmp_path / "out", 1)
    path = tmp_path / "out" / "study.db"
    for damage in (b"", b"no database", "no trials", "missing"):
        if damage == "no trials":
            with closing(sqlite3.connect(path)) as opened, opened:
                opened.execute("DELETE FROM trials")
        elif isinstance(damage, bytes):
            path.write_bytes(damage)
        else:
            path.unlink()
        result = run(small, tmp_path / "out", 1)
        kept = optuna.load_study(study_name="toy", storage=f"sqlite:///{path}")
        assert len(kept.trials) == len(result.front)


def test_processes_that_open_a_new_storage_together_wait_for_each_other(tmp_path: Path) -> None:
    def opened() -> None:
        url = f"sqlite:///{tmp_path}/new.db"
        storage.Store.open(url, "s", [objective("speed")], "0" * 64).close()

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=opened) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4


def test_a_signal_while_a_connection_is_taken_back_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The pool wrote a traceback for it, and then passed it on all the same."""
    store = storage.Store.open(
        f"sqlite:///{tmp_path}/study.db", "s", [objective("speed")], "0" * 64
    )
    engine = store.storage.engine

    def stopped(error: type[BaseException]) -> None:
        def raising(connection: object) -> None:
            raise error

        connection = engine.connect()
        with monkeypatch.context() as patch:
            patch.setattr(engine.dialect, "do_rollback", raising)
            connection.close()

    with pytest.raises(KeyboardInterrupt):
        stopped(KeyboardInterrupt)
    assert caplog.text == ""
    stopped(ValueError)
    assert "Exception during reset" in caplog.text
    store.close()


def test_a_shared_storage_keeps_studies_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    sampled = f'method = "RandomSampler"\nevaluations = 40\n[run]\nstorage = "{url}"'
    run(study(tmp_path, sampled), tmp_path / "a")
    second = run(study(tmp_path, sampled, ("[1, 64]", "[1, 8]")), tmp_path / "b")
    assert second.designs["lanes"].max() <= 8
    names = optuna.get_all_study_names(url)
    assert len(names) == 2
    assert all(name == "toy" or name.startswith("toy@") for name in names)
