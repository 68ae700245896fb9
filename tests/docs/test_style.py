"""Plain language: discouraged phrases may only become fewer, and the README is easy to read."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

from tests.docs.pages import ROOT, read_page
from tests.docs.prose import BASELINE, totals


def readability() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readability", ROOT / "docs" / "readability.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_discouraged_phrases_only_become_fewer() -> None:
    allowed = json.loads(BASELINE.read_text(encoding="utf-8"))
    above = {k: f"{n}, at most {allowed[k]}" for k, n in totals().items() if n > allowed[k]}
    assert not above, "python -m tests.docs.prose prints the counts, and with a RULE the places"


def test_the_readme_is_short_and_easy_to_read() -> None:
    page = readability().measure(read_page("README.md"))
    assert page.words <= 700
    assert page.reading_ease >= 55
    assert len(page.longest_sentence.split()) <= 30
