"""The documents: written by their programs, in plain language, and the README easy to read."""

from __future__ import annotations

import json

import pytest

from tests.docs.pages import load_script, read_page
from tests.docs.prose import BASELINE, totals


@pytest.mark.parametrize("name", ["messages", "study_format"])
def test_a_page_is_what_its_program_writes(name: str) -> None:
    writer = load_script(f"docs/{name}.py")
    written = writer.PAGE.read_text(encoding="utf-8")
    assert written == writer.page(), f"run python docs/{name}.py, and read the changes"


def test_discouraged_phrases_only_become_fewer() -> None:
    allowed = json.loads(BASELINE.read_text(encoding="utf-8"))
    above = {k: f"{n}, at most {allowed[k]}" for k, n in totals().items() if n > allowed[k]}
    assert not above, "python -m tests.docs.prose prints the counts, and with a RULE the places"


def test_the_readme_is_short_and_easy_to_read() -> None:
    page = load_script("docs/readability.py").measure(read_page("README.md"))
    assert page.words <= 700
    assert page.reading_ease >= 55
    assert len(page.longest_sentence.split()) <= 30
