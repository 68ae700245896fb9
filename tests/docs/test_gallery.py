"""The gallery: a card for each shipped study, with a picture that is as new as the study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.pages import load_script

GALLERY = load_script("docs/gallery.py")
DIGESTS = json.loads((GALLERY.FOLDER / "studies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", GALLERY.STUDIES, ids=lambda path: path.stem)
def test_a_picture_is_as_new_as_its_study(path: Path) -> None:
    stale = f"the picture is older than {path.name}: run python docs/gallery.py"
    assert DIGESTS.get(path.stem) == GALLERY.digest_study(path), stale
    assert "<svg" in (GALLERY.FOLDER / f"{path.stem}.svg").read_text(encoding="utf-8")


def test_the_page_is_written_by_its_program() -> None:
    assert (GALLERY.FOLDER / "index.md").read_text(encoding="utf-8") == GALLERY.page()
