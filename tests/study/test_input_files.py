"""Runs explain themselves with the inputs that they read, wherever these lie, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dse
from tests.commands import called

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "studies" / "profiles"
JPEG = (ROOT / "studies" / "jpeg.toml").read_text()
TEXT = """
[study]
name = "shares"
models = ["model.py:share"]
[inputs]
words = NAME
[space]
lanes = { values = [1, 2, 4] }
[[objective]]
maximize = "gain"
"""
MODEL = """
from pathlib import Path
from typing import Annotated, NamedTuple
from dse.model import Array, Floats, Quantity, Resource

def numbers(path):
    path = Path(path)
    assert path.is_dir() or path.suffix  # a link is read under its own name
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    return sum(float(file.read_text()) for file in files)

class Gain(NamedTuple):
    gain: Annotated[Array, Quantity("1", "gain")]

def share(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1)],
    words: Annotated[float, Resource(numbers, "words")],
) -> Gain:
    return Gain(lanes * words)
"""


def made(folder: Path, name: str, files: dict[str, str] | None = None) -> Path:
    """Write a study that reads an input of this name, and files next to the study's folder.

    A text that begins with ``->`` makes a link.
    """
    (folder / "own").mkdir(exist_ok=True, parents=True)
    (folder / "own" / "model.py").write_text(MODEL)
    (folder / "own" / "study.toml").write_text(TEXT.replace("NAME", json.dumps(name)))
    for place, text in (files or {}).items():
        path = folder / place
        path.parent.mkdir(exist_ok=True, parents=True)
        if text.startswith("->"):
            path.symlink_to(text.removeprefix("->"))
        else:
            path.write_text(text)
    return folder / "own" / "study.toml"


def gain(run: Path) -> float:
    """Return what the last design of a run gains, as its study tells it anew."""
    return float(dse.load_result(run).explain(2).values["gain"])


def wrong(run: Path) -> str:
    """Return why a run cannot be explained."""
    with pytest.raises(dse.InputError) as told:
        dse.load_result(run).explain(2)
    return " ".join(str(told.value).split())


def test_a_run_that_was_cut_short_explains_itself(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.front:
            raise KeyboardInterrupt

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "study.toml").write_text(JPEG.replace('"profiles/', '"../measured/'))
    (tmp_path / "measured").mkdir()
    profile = tmp_path / "measured" / "jpeg.json"
    measured = (PROFILES / "jpeg.json").read_bytes()
    profile.write_bytes(measured)
    study, folder = dse.load(tmp_path / "own" / "study.toml"), tmp_path / "run"
    assert study.run(folder, workers=1, progress=stop).certificate.stopped == "interrupted"
    code, out, err = called("explain", str(folder), cwd=tmp_path / "own", columns=200)
    assert (code, err) == (0, "")
    assert "speedup" in out
    assert called("report", str(folder), cwd=tmp_path / "own", columns=200)[0] == 0
    profile.write_bytes(measured + b"\n")
    code, out, err = called("explain", str(folder), cwd=tmp_path / "own", columns=200)
    assert code == 2
    assert "'../measured/jpeg.json' has changed since the run" in " ".join(err.split())
    profile.unlink()
    code, out, err = called("explain", str(folder), cwd=tmp_path / "own", columns=200)
    assert code == 2
    assert "'../measured/jpeg.json' is no longer at" in " ".join(err.split())


@pytest.mark.parametrize(
    "name", ["../one.txt", "ABSOLUTE", "link.txt", "../own/one.txt", "sub/../one.txt"]
)
def test_a_name_that_its_copy_does_not_have(name: str, tmp_path: Path) -> None:
    name = str(tmp_path / "own" / "one.txt") if name == "ABSOLUTE" else name
    files = dict.fromkeys(("one.txt", "own/one.txt", "own/blob", "own/sub/x"), "2")
    files["own/link.txt"] = "->blob"
    study, run = made(tmp_path, name, files), tmp_path / "run"
    dse.load(study).run(run)
    assert [p.name for p in run.iterdir() if p.is_dir()] == ["study"]
    assert gain(run) == 8
    made(tmp_path, name, dict.fromkeys(("one.txt", "own/one.txt", "own/blob"), "3"))
    assert f"inputs.words: '{name}' has changed" in wrong(run)
    dse.load(study).run(run)
    assert gain(run) == 12


@pytest.mark.parametrize(
    ("name", "files", "linked"),
    [
        ("./all", {"own/all/one.txt": "1", "own/all/below/two.txt": "1"}, False),
        ("one.txt", {"own/one.txt": "2"}, True),
    ],
)
def test_what_lies_in_the_study_s_folder_is_copied(
    name: str, files: dict[str, str], linked: bool, tmp_path: Path
) -> None:
    study = made(tmp_path, name, files)
    if linked:
        (tmp_path / "linked").symlink_to("own")
        study = tmp_path / "linked" / "study.toml"
    dse.load(study).run(tmp_path / "run")
    shutil.rmtree(tmp_path / "own")
    assert gain(tmp_path / "run") == 8
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["outside"] == {}


@pytest.mark.parametrize(
    ("name", "files", "changed", "said"),
    [
        (
            "../all",
            {"all/one.txt": "1", "all/below/two.txt": "1"},
            "all/below/two.txt",
            "'../all' has changed since the run: below/two.txt",
        ),
        (
            "all",
            {"own/all/one.txt": "1", "far.txt": "1", "own/all/two.txt": "->../../far.txt"},
            "far.txt",
            "'all' has changed since the run: two.txt",
        ),
    ],
)
def test_every_file_of_a_folder_counts(
    name: str, files: dict[str, str], changed: str, said: str, tmp_path: Path
) -> None:
    study = made(tmp_path, name, files)
    first = dse.load(study)
    first.run(tmp_path / "run")
    assert gain(tmp_path / "run") == 8
    (tmp_path / changed).write_text("2")
    assert dse.load(study).digest != first.digest
    assert said in wrong(tmp_path / "run")
    (tmp_path / changed).unlink()
    assert "has changed since the run: " in wrong(tmp_path / "run")


def test_what_changed_after_it_was_read_is_reported(tmp_path: Path) -> None:
    study = dse.load(made(tmp_path, "../one.txt", {"one.txt": "2"}))
    (tmp_path / "one.txt").write_text("3")
    result = study.run(tmp_path / "run")
    assert result.explain(2).values["gain"] == 8  # as it was read
    assert "has changed since the run" in wrong(tmp_path / "run")
    (tmp_path / "own" / "model.py").write_text(MODEL + "# another one")
    with pytest.raises(dse.InputError, match=r"model.py: has changed since the study was read"):
        study.run(tmp_path / "other")
    (tmp_path / "own" / "model.py").unlink()
    with pytest.raises(dse.InputError, match=r"model.py: cannot be read"):
        study.run(tmp_path / "other")
    assert study.run().front.designs["gain"].tolist() == [8]
    assert not (tmp_path / "other").exists()


def test_a_script_s_run_explains_itself_wherever_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tomllib.loads(JPEG)
    content.pop("report", None)
    content["space"]["accelerated"]["of"] = ["idct", "convert_row"]
    monkeypatch.chdir(ROOT / "studies")
    study = dse.from_mapping(content)
    result = study.run(tmp_path / "run", workers=1)
    monkeypatch.chdir(tmp_path)
    number = int(result.front.designs.index[0])
    assert dse.load_result(tmp_path / "run").explain(number).design == number
    assert study.with_inputs(clock="1 GHz").evaluator.space.size == study.evaluator.space.size
    name = content["inputs"]["dataflow"]
    with pytest.raises(dse.InputError, match="there is no file"):  # here, where it is asked for
        study.with_inputs(dataflow=name["file"] if isinstance(name, dict) else name)


def test_what_a_run_cannot_read_again_is_named(tmp_path: Path) -> None:
    run = tmp_path / "run"
    dse.load(made(tmp_path, "../one.txt", {"one.txt": "2"})).run(run)
    (tmp_path / "one.txt").unlink()
    os.mkfifo(tmp_path / "one.txt")
    assert "is not a regular file" in wrong(run)
    summary = run / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"outside": "text"}))
    assert "summary.json" in wrong(run)


def test_the_same_contents_under_other_names_are_another_study(tmp_path: Path) -> None:
    study = made(tmp_path, "../all", {"all/a/one.txt": "1", "all/b/one.txt": "2"})
    digests = [dse.load(study).digest]
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):  # the two change their names
        (tmp_path / "all" / old).rename(tmp_path / "all" / new)
    digests.append(dse.load(study).digest)
    shutil.copytree(tmp_path / "all" / "a", tmp_path / "all" / "c")
    digests.append(dse.load(study).digest)
    assert len({*digests}) == 3


def test_what_lies_deep_in_a_folder_counts_and_runs_do_not(tmp_path: Path) -> None:
    deep = "own/x/y/z"
    study = made(tmp_path, ".", {f"{deep}/one.txt": "2", f"{deep}/loop": "->../../.."})
    first = dse.load(study)
    first.run(tmp_path / "run")
    assert gain(tmp_path / "run") == 8
    assert dse.load(study).digest == first.digest
    first.run(tmp_path / "own" / "runs" / "mine")
    (tmp_path / deep / "__pycache__").mkdir()  # Python writes it when it imports a script there
    (tmp_path / deep / "__pycache__" / "one.pyc").write_bytes(b"1")
    assert dse.load(study).digest == first.digest
    (tmp_path / deep / "one.txt").write_text("3")
    assert dse.load(study).digest != first.digest


@pytest.mark.parametrize("name", ["all", "../all"])
def test_a_folder_without_a_file_that_counts(name: str, tmp_path: Path) -> None:
    files = {"all/.hidden.txt": "1", "own/all/.hidden.txt": "1"}
    dse.load(made(tmp_path, name, files)).run(tmp_path / "run")
    assert gain(tmp_path / "run") == 4


def test_where_paths_begin_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = MODEL.replace("lanes * words", "lanes * 100")
    made(tmp_path, "one.txt", {"own/one.txt": "2", "other/one.txt": "3", "other/model.py": other})
    monkeypatch.chdir(tmp_path / "own")
    study = dse.load("study.toml")
    monkeypatch.chdir(tmp_path / "other")
    study.run(tmp_path / "run")
    assert gain(tmp_path / "run") == 8
    assert study.with_inputs(lanes=2).run().front.designs["gain"].tolist() == [4]


def test_a_name_that_is_not_text_is_a_problem(tmp_path: Path) -> None:
    study = made(tmp_path, "../all", {"all/one.txt": "2"})
    Path(os.fsdecode(os.fsencode(tmp_path / "all") + b"/\xff.dat")).write_text("")
    with pytest.raises(dse.InputError, match=r"'../all' cannot be read: .*is not UTF-8 text"):
        dse.load(study)
