"""The gallery: a card for each shipped study, with a picture that is as new as the study."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dse
from tests.commands import called
from tests.docs.pages import load_script

GALLERY = load_script("docs/gallery.py")
DIGESTS = json.loads((GALLERY.FOLDER / "studies.json").read_text(encoding="utf-8"))
ANSWERS = (GALLERY.FOLDER / "answers.md").read_text(encoding="utf-8")
LINES = {"check": 12, "run": 18, "explain": 30}


@pytest.mark.parametrize("path", GALLERY.STUDIES, ids=lambda path: path.stem)
def test_a_picture_is_as_new_as_its_study(path: Path) -> None:
    stale = f"the picture is older than {path.name}: run python docs/gallery.py"
    assert DIGESTS.get(path.stem) == GALLERY.digest_study(path), stale
    assert "<svg" in (GALLERY.FOLDER / f"{path.stem}.svg").read_text(encoding="utf-8")


def test_the_page_is_written_by_its_program() -> None:
    assert (GALLERY.FOLDER / "index.md").read_text(encoding="utf-8") == GALLERY.page()
    assert "<title>crypto" in (GALLERY.FOLDER / "crypto.html").read_text(encoding="utf-8")

def read_answers() -> dict[tuple[str, str], list[str]]:
    """Return the lines that each command printed, by study and command."""
    found = re.findall(r"```console\n\$ dse (\w+) \w+/([a-z_]+).*?\n(.*?)```", ANSWERS, re.DOTALL)
    return {(study, command): text.splitlines() for command, study, text in found}


def test_the_answers_of_all_studies_are_short_and_name_each_objective() -> None:
    kept = read_answers()
    of_whole = {(GALLERY.WHOLE, command) for command in LINES}
    assert kept.keys() == {(path.stem, "run") for path in GALLERY.STUDIES} | of_whole
    for (study, command), lines in kept.items():
        assert len(lines) <= LINES[command], (study, command)
        assert max(map(len, lines)) <= 80, (study, command)
    for path in GALLERY.STUDIES:
        words = " ".join(kept[path.stem, "run"]).split()
        names = (o.name for o in dse.load(path).evaluator.objectives)
        assert {word for name in names for word in name.split("_")} <= {*words}, path.stem


@pytest.mark.parametrize("name", ["gpu_memory", "shared_pipeline", "sparc_evolution"])
def test_a_study_answers_as_it_is_kept_and_no_word_is_broken(name: str, tmp_path: Path) -> None:
    kept, study = read_answers(), GALLERY.ROOT / "studies" / f"{name}.toml"
    lines = {
        "check": ("check", str(study)),
        "run": ("run", str(study), "--out", f"runs/{name}"),
        "explain": ("explain", f"runs/{name}"),
    }
    for command, line in lines.items():
        shown = called(*line, cwd=tmp_path).stdout
        assert shown.splitlines() == kept.get((name, command), shown.splitlines())
        if command == "run":  # a finished run says so first
            continue
        wide = called(*line, cwd=tmp_path, columns=1000).stdout.split()
        assert {*shown.split()} - {*wide} <= {"…", "then"}
