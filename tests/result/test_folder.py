"""A run folder: what is in it is what its run wrote, and nobody loses what they put there."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.problems import InputError
from dse.result import files
from dse.result.database import has_trials
from dse.result.folder import FORMAT, load_copied_study
from dse.result.tables import protect_cell, read_designs, write_designs
from dse.run import StoppedError, run
from dse.search.base import Progress
from tests.toy import SMALL, written

KEPT = Path(__file__).parents[1] / "folders"
SAMPLER = (
    '[search]\nmethod = "NSGAIISampler"\nevaluations = 60\n[search.options]\npopulation_size = 20\n'
)


def _study(folder: Path, added: str = "") -> dse.Study:
    return dse.load(written(folder, added, SMALL))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run(_study(folder), folder / "out", 1)
    return folder


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("front.csv", "a digit"),
        ("designs.csv", "a row more"),
        ("designs.csv", "empty"),
        ("front.csv", "gone"),
    ],
)
def test_a_damaged_table_is_reported(
    finished: Path, tmp_path: Path, name: str, damage: str
) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    table = tmp_path / "out" / name
    whole = table.read_bytes()
    damaged = {
        "a digit": whole[:-4] + b"7" + whole[-3:],
        "a row more": whole + whole.splitlines(keepends=True)[-1],
        "empty": b"",
        "gone": b"",
    }[damage]
    table.write_bytes(damaged)
    if damage == "gone":
        table.unlink()
    words = "is missing" if damage == "gone" else "is not as its run wrote it"
    with pytest.raises(InputError, match=f"{name}: {words}\n +run the study again with --fresh"):
        dse.load_result(tmp_path / "out")
    if damage != "gone":  # what is gone is made again
        with pytest.raises(InputError, match=words):
            run(dse.load(finished / "study.toml"), tmp_path / "out")


def test_code_that_was_edited_in_a_run_folder_is_not_run(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    sign = tmp_path / "it-ran"
    copy = tmp_path / "out" / "study" / "toy_model.py"
    copy.write_text(f"open({str(sign)!r}, 'w').close()\n{copy.read_text()}")
    assert len(dse.load_result(tmp_path / "out").front) > 0  # the tables are sound
    with pytest.raises(InputError, match=r"study/toy_model\.py: is not as its run wrote it"):
        load_copied_study(tmp_path / "out")
    assert not sign.exists()


def test_an_error_removes_what_the_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    study = _study(tmp_path)

    def fail(_: Progress) -> None:
        (tmp_path / "out" / "notes.txt").write_text("mine")
        (tmp_path / "out" / "study" / "notes.txt").write_text("mine")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        run(study, tmp_path / "out", 1, fail)
    left = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")}
    assert left == {"notes.txt", "run.json", "study", "study/notes.txt"}
    assert run(study, tmp_path / "out", 1).certificate.complete
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_an_error_keeps_the_trials_that_are_done(tmp_path: Path) -> None:
    study = _study(tmp_path, SAMPLER)
    whole = run(study, tmp_path / "whole", 1)

    def fail(state: Progress) -> None:
        if state.done >= 40:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        run(study, tmp_path / "out", 1, fail)
    assert has_trials(tmp_path / "out" / "study.db")
    resumed = run(study, tmp_path / "out", 1)
    assert any("went on from" in note for note in resumed.notes)
    pd.testing.assert_frame_equal(resumed.designs, whole.designs)


def test_a_full_disk_is_reported_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = _study(tmp_path, SAMPLER)
    whole = run(study, tmp_path / "whole", 1)
    to_disk = files._to_disk

    def full(path: Path) -> None:
        if "csv" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        to_disk(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_to_disk", full)
        with pytest.raises(StoppedError, match=r"No space left on device.*the next run goes on"):
            run(study, tmp_path / "out", 1)
    assert not list((tmp_path / "out").glob(".*"))
    pd.testing.assert_frame_equal(run(study, tmp_path / "out", 1).designs, whole.designs)


def test_files_and_their_folder_are_seen_to_the_disk_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    replace, to_disk = os.replace, files._to_disk

    def renamed(old: Path, new: Path) -> None:
        done.append("rename")
        replace(old, new)

    def settled(path: Path) -> None:
        done.append("folder" if path.is_dir() else "file")
        to_disk(path)

    monkeypatch.setattr(os, "replace", renamed)
    monkeypatch.setattr(files, "_to_disk", settled)
    files.write_text(tmp_path / "a.txt", "x")
    assert done == ["file", "rename", "folder"]


def test_what_a_run_that_was_killed_leaves_is_swept(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    names = [".report.html.1", ".study.db.1", ".study.db.1-journal", "study/.toy_model.py.1"]
    for name in [*names, "checkpoint.npz"]:
        (tmp_path / "out" / name).write_text("half")
    run(dse.load(finished / "study.toml"), tmp_path / "out")
    assert not [p for p in (tmp_path / "out").rglob("*") if p.name.startswith(".")]
    assert not (tmp_path / "out" / "checkpoint.npz").exists()


@pytest.mark.parametrize("folder", sorted(KEPT.iterdir()), ids=lambda f: f.name)
def test_folders_of_each_format_open(folder: Path) -> None:
    result = dse.load_result(folder)
    assert len(result.front) > 0
    design = int(str(result.front.nash().name))
    assert result.explain(design).design == design
    assert any(f.name == f"format-{FORMAT}" for f in KEPT.iterdir())


def test_a_folder_of_another_format_names_the_release_that_wrote_it(
    finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    summary = tmp_path / "out" / "summary.json"
    content = json.loads(summary.read_text(encoding="utf-8"))
    content["format"] = FORMAT + 1
    content["provenance"]["versions"]["dse-accelerators"] = "9.8"
    summary.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"(?s)written by dse 9\.8.*reads .*install dse 9\.8"):
        dse.load_result(tmp_path / "out")


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("objectives", "spead", "designs.csv has no column spead"),
        ("constants", 10**400, "int too large to convert to float"),
        ("certificate", [0.1], ".*gap.*valid number"),
    ],
)
def test_a_summary_that_does_not_fit_its_tables_is_reported(
    finished: Path, tmp_path: Path, part: str, value: object, words: str
) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    summary = tmp_path / "out" / "summary.json"
    content = json.loads(summary.read_text(encoding="utf-8"))
    if part == "objectives":
        content[part][0]["name"] = value
    elif part == "certificate":
        content[part]["gap"] = value
    else:
        content[part]["c"] = {"value": value, "unit": "1"}
    summary.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=f"(?s)cannot be read: {words}"):
        dse.load_result(tmp_path / "out")


def test_too_little_memory_for_the_report_keeps_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("dse.run.report", fail)
        with pytest.raises(StoppedError, match=r"not enough memory for the report.*result"):
            run(_study(tmp_path), tmp_path / "out", 1)
    assert dse.load_result(tmp_path / "out").certificate.complete


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_error_names_the_file_that_cannot_be_written(tmp_path: Path) -> None:
    def show(_: Progress) -> None:
        with Path("/dev/full").open("w") as output:
            output.write("progress")

    with pytest.raises(StoppedError, match=r"output of the command cannot be written.*No space"):
        run(_study(tmp_path), tmp_path / "out", 1, show)
    with pytest.raises(OSError, match="No space") as raised:
        files.write_whole(tmp_path / "a.txt", lambda _: show(Progress(1, 1, 1)))
    assert raised.value.filename == str(tmp_path / "a.txt")


def test_an_edited_or_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    state = {"done": np.array(7), "points": np.eye(3)}
    files.write_state(path, state, "digest")
    assert files.read_state(path, "digest").keys() == state.keys()
    with pytest.raises(InputError, match="is of another study"):
        files.read_state(path, "another")
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **(arrays | {"done": np.array(8)}))
    with pytest.raises(InputError, match="is not as its run wrote it"):
        files.read_state(path, "digest")
    whole = path.read_bytes()
    for damaged in (b"", b"PK", whole[:-30], whole.replace(b"(3, 3)", b"(9**9)")):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read|is not as"):
            files.read_state(path, "digest")
    np.savez_compressed(path, digest=np.array("d"), bomb=np.zeros(1_000_000))
    with pytest.raises(InputError, match="cannot be read: it is compressed"):
        files.read_state(path, "d")


# CSV files: what pandas writes, and no cell that a spreadsheet would run ----------------------


EDGES = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1e16, 1e-5, 123456789.0, 5e-324]
numbers = st.floats() | st.sampled_from(EDGES)
texts = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=5)
cells = texts.filter(bool) | st.sampled_from(["=1+1", "+x", "-x", "-5", "@SUM(A1)", "\tx", "'=1"])


@settings(max_examples=40)
@given(
    st.lists(st.tuples(numbers, cells, st.booleans(), st.booleans()), max_size=30),
    st.sampled_from(["option", "=option", "-option", "'option", "x, [s]"]),
)
def test_designs_come_back_once_per_point_and_no_cell_is_a_formula(
    content: list[tuple[float, str, bool, bool]], name: str
) -> None:
    table = pd.DataFrame(content, columns=["x", name, "feasible", "on_front"])
    table["feasible"] |= table["on_front"]
    table = table.astype({"x": np.float64, name: object, "feasible": bool, "on_front": bool})
    table.index = pd.Index(np.arange(len(table)) * 3, name="design")
    with TemporaryDirectory() as folder:
        front, whole = Path(folder) / "front.csv", Path(folder) / "designs.csv"
        write_designs(table, front, whole, ["x"])
        read = read_designs(front, whole, [name], ["x"])
        points: dict[tuple[object, ...], list[int]] = {}
        for row, (x, _, feasible, on_front) in enumerate(table.itertuples(index=False)):
            key = ("nan" if math.isnan(x) else x, feasible, on_front)
            points.setdefault(key, []).append(row)
        firsts = [rows[0] for rows in points.values()]
        kept = table.iloc[sorted({*firsts, *np.flatnonzero(table["on_front"])})]
        assert read.index.tolist() == kept.index.tolist()
        assert read[name].tolist() == kept[name].tolist()
        assert np.array_equal(read["x"].astype(float), kept["x"], equal_nan=True)
        ties = pd.read_csv(whole, index_col="design")["ties"]
        assert ties.tolist() == [len(rows) for rows in points.values()]
        short = table[table["on_front"]].drop(columns=["feasible", "on_front"])
        plain = name == protect_cell(name) and all(t == protect_cell(t) for t in table[name])
        assert not plain or front.read_text("utf-8") == short.to_csv(lineterminator="\n")
        for path in (front, whole):
            with path.open(newline="", encoding="utf-8") as file:
                for cell in (cell for row in csv.reader(file) for cell in row):
                    assert not cell.startswith(("=", "@", "\t"))
                    if cell.startswith(("+", "-")):
                        float(cell)
