"""What is read has an end: devices, pipes and giant files are told, not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dse
from dse.problems import InputError, check_regular
from dse.result.folder import read_json
from tests.toy import MODEL, STUDY

PROGRAM = """
[study]
name = "p"
models = ["objectives.partition:optimal"]
[inputs]
profiles = "FILE"
[space]
accelerator_area = { values = [64, 128] }
[[objective]]
maximize = "speedup"
"""


def _profile_of(folder: Path, file: str) -> None:
    (folder / "study.toml").write_text(PROGRAM.replace("FILE", file))
    dse.load(folder / "study.toml")


@pytest.mark.parametrize("file", ["/dev/zero", "pipe", "in"])
def test_an_input_that_never_ends_is_not_read(file: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.csv")
    words = r"inputs\.profiles: .*is not a regular file\n +give a file or a folder"
    with pytest.raises(InputError, match=words):
        _profile_of(tmp_path, file)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no space
    with pytest.raises(InputError, match="is 1,099,511,627,776 bytes long, more than"):
        _profile_of(tmp_path, "large")
    with pytest.raises(InputError, match="more than"):
        dse.load(tmp_path / "large")
    with pytest.raises(InputError, match="more than"):
        read_json(tmp_path / "large")


def test_a_study_is_a_regular_file(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        if path.name == "pipe":
            os.mkfifo(path)
        with pytest.raises(InputError, match="is not a regular file"):
            dse.load(path)
    check_regular(tmp_path / "nothing", 1)  # left to who reads it


def test_a_catalog_is_a_regular_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    text = STUDY.replace("size = {", 'kind = { catalog = "kinds.toml" }\nsize = {')
    (tmp_path / "study.toml").write_text(text)
    os.symlink("/dev/zero", tmp_path / "kinds.toml")
    with pytest.raises(InputError, match="is outside the study"):
        dse.load(tmp_path / "study.toml")
    (tmp_path / "kinds.toml").unlink()
    os.mkfifo(tmp_path / "kinds.toml")
    with pytest.raises(InputError, match="is not a regular file"):
        dse.load(tmp_path / "study.toml")
