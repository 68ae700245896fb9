"""docs/messages.txt lists the messages of the code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

WRITER = Path(__file__).parents[2] / "docs" / "messages.py"


def test_the_page_lists_the_messages_of_today() -> None:
    spec = importlib.util.spec_from_file_location("messages", WRITER)
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    written = writer.PAGE.read_text(encoding="utf-8")
    assert written == writer.write_page(), "run python docs/messages.py, and read what changed"
