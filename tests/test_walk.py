"""The way from a C program to a decision, as README and docs tell it, with nothing but commands."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.commands import called
from tests.profile.examples import needs_compiler

ROOT = Path(__file__).parents[1]
PROGRAM = """
#include <stdio.h>

#define SIDE 48
static int picture[SIDE][SIDE], smooth[SIDE][SIDE];

static void draw(void) {
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      picture[y][x] = (x * x + y * y) % 251;
}

static int mean(int y, int x) {
  return (picture[y - 1][x - 1] + 2 * picture[y - 1][x] + picture[y - 1][x + 1] +
          2 * picture[y][x - 1] + 4 * picture[y][x] + 2 * picture[y][x + 1] +
          picture[y + 1][x - 1] + 2 * picture[y + 1][x] + picture[y + 1][x + 1]) / 16;
}

static void blur(void) {
  for (int y = 1; y < SIDE - 1; y++)
    for (int x = 1; x < SIDE - 1; x++)
      smooth[y][x] = mean(y, x);
}

int main(void) {
  int sum = 0;
  draw();
  for (int i = 0; i < 4; i++)
    blur();
  for (int x = 0; x < SIDE; x++)
    sum += smooth[SIDE / 2][x];
  printf("%d\\n", sum);
  return 0;
}
"""


def _dse(*arguments: str, cwd: Path) -> str:
    done = called(*arguments, cwd=cwd, columns=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "blur.c").write_text(PROGRAM)
    _dse("profile", "blur.c", "--quiet", cwd=folder)
    return folder


@needs_compiler
def test_from_a_program_to_the_functions_to_build(folder: Path) -> None:
    told = _dse("new", "blur.toml", "--from", "blur.profile.json", cwd=folder)
    assert "dse check blur.toml" in told
    study = (folder / "blur.toml").read_text()
    assert "blur.c:19;" in study  # where the function begins
    assert tomllib.loads(study)["space"]["accelerated"]["of"][0] == "blur"
    assert "no problems" in _dse("check", "blur.toml", cwd=folder)
    assert "blur" in _dse("run", "blur.toml", cwd=folder)
    said = _dse("explain", "runs/blur", cwd=folder)
    assert re.search(r"^accelerated +blur", said, re.MULTILINE)
    assert "selection" not in said  # a number made of bits says nothing to a person
    columns = json.loads((folder / "runs/blur/summary.json").read_text())["columns"]
    roles = {column["name"]: column["role"] for column in columns}
    assert (roles["accelerated"], roles["selection"]) == ("variable", "code")
    report = (folder / "runs/blur/report.html").read_text()
    assert "Which functions to accelerate" in report


@needs_compiler
def test_from_a_program_to_the_blocks_that_move(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dse.explain.recommendation.check_assumptions", lambda *_: ()
    )  # it takes seconds
    given = ("--from", "blur.profile.json", "--question", "partition")
    _dse("new", "blocks.toml", *given, cwd=folder)
    assert "no problems" in _dse("check", "blocks.toml", cwd=folder)
    _dse("run", "blocks.toml", cwd=folder)
    assert "accelerator_size" in _dse("explain", "runs/blocks", cwd=folder)
    report = (folder / "runs/blocks/report.html").read_text()
    assert "What moves" in report
    assert "mean:14" in report  # the line of the loop that takes most
    assert "what design" in report


@needs_compiler
def test_the_commands_of_the_document_work(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "profile.md").read_text()
    section = page.partition("## From a program")[2].partition("\n## ")[0]
    commands = re.findall(r"^    dse (.*?)(?: *#.*)?$", section, re.MULTILINE)
    assert [c.split()[0] for c in commands] == [
        "profile", "profile", "new", "check", "run", "explain",
    ]  # fmt: skip
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    for command in commands:
        said = _dse(*shlex.split(command), cwd=tmp_path)
    assert "transform" in said  # the function of fft.c to build
    assert (tmp_path / "fft.html").exists()
    assert (tmp_path / "runs/fft/report.html").exists()
