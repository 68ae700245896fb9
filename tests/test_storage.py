"""The storage of a run: closed when it ends, and what of a front it holds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

import dse
from dse.result import storage
from dse.result.folder import load_result
from dse.run import run
from dse.search.base import Progress
from tests.core_examples import objective
from tests.toy import MODEL, STUDY


def study(folder: Path, search: str, *changes: tuple[str, str]) -> dse.Study:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(f"{text}[search]\n{search}\n")
    return dse.load(folder / "study.toml")


def _open_files() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(entry))
        except OSError:  # it was the one of the listing
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="lists open files through /proc")
@pytest.mark.parametrize("method", ["exhaustive", "RandomSampler"])
def test_the_storage_is_closed_when_a_run_ends_or_fails(tmp_path: Path, method: str) -> None:
    chosen = study(tmp_path, f"method = '{method}'\nevaluations = 30000")
    database = str(tmp_path / "out" / "study.db")

    def fail(_: Progress) -> None:
        assert database in _open_files()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        run(chosen, tmp_path / "out", 1, fail)
    assert database not in _open_files()
    if method == "exhaustive":
        run(chosen, tmp_path / "out")
        assert database not in _open_files()


@pytest.mark.parametrize("method", ["exhaustive", "evolution"])
def test_of_a_very_large_front_the_storage_has_an_even_part_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(storage, "REGISTERED", 40)
    result = run(study(tmp_path, f"method = '{method}'"), tmp_path / "out")
    front = pd.read_csv(tmp_path / "out" / "front.csv", index_col="design")
    assert len(front) == len(result.front) > 80  # data stay whole
    kept = optuna.load_study(study_name="toy", storage=f"sqlite:///{tmp_path / 'out' / 'study.db'}")
    numbers = [trial.user_attrs["design"] for trial in kept.get_trials(deepcopy=False)]
    assert 36 <= len(numbers) <= 40
    assert set(numbers) <= set(front.index)
    special = {result.compromise().name, *(result.best(o.name).name for o in result.objectives)}
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


def test_a_small_front_is_stored_whole_and_without_a_note(tmp_path: Path) -> None:
    result = run(study(tmp_path, "method = 'exhaustive'"), tmp_path / "out")
    assert not [note for note in result.notes if "storage" in note]


def test_a_signal_while_a_connection_is_taken_back_is_told_once(
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
