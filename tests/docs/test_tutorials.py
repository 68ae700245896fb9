"""Tutorials and recipes run from top to bottom in an empty folder; tutorials read easily."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import called, leave_out_assumptions
from tests.docs.pages import ROOT, load_script

PAGES = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md"))
LESSONS = [f"tutorials/{name}" for name in PAGES if name not in {"index", "scripts"}]
_RECIPES = ("catalog", "compare", "export", "override", "report-section", "resume", "target")
RECIPES = [f"how-to/{name}" for name in _RECIPES]
WHOLE = ("tutorials/uncertain-inputs",)
"""Pages on how far an answer holds; the other pages run without this part."""
_BLOCK = re.compile(r'^```(\w+)(?: title="([\w.-]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


def _text(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*LESSONS, *RECIPES])
def test_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written, commands end with 0, and Python shows the lines of the page."""
    if name not in WHOLE:
        leave_out_assumptions(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, object] = {}
    commands = 0
    for language, title, block in _BLOCK.findall(_text(name)):
        if title:
            (tmp_path / title).write_text(block, encoding="utf-8")
        elif language == "sh":
            for line in block.splitlines():
                _run(line, tmp_path)
                commands += 1
        elif language == "pycon":
            _show(block, names)
    assert commands >= 1
    for module in [m for m, v in sys.modules.items() if _is_inside(v, tmp_path)]:
        del sys.modules[module]


def _run(line: str, folder: Path) -> None:
    if line.startswith("dse "):
        done = called(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    else:
        subprocess.run(["bash", "-euc", line], cwd=folder, check=True)


def _show(block: str, names: dict[str, object]) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(block, names, "page", None, 0)
    problems: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=problems.append, clear_globs=False)
    assert not problems, "".join(problems)
    names |= test.globs


def _is_inside(module: object, folder: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(folder))


@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_is_easy_to_read(name: str) -> None:
    page = load_script("docs/readability.py").measure(_text(f"tutorials/{name}"))
    assert page.reading_ease >= 55, round(page.reading_ease)
    assert len(page.longest_sentence.split()) <= 30, page.longest_sentence
