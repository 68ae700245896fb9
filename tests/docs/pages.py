"""Read the documents: their tables, the numbers in a cell, and the examples."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
_NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def read_page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def load_script(path: str) -> ModuleType:
    """Import a script of the repository that is in no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def read_table(name: str, after: str) -> list[list[str]]:
    """Return the rows of the first table after a text, without its head."""
    text = read_page(name)
    table = re.search(r"(?:^\|.*\|\n)+", text[text.index(after) :], re.MULTILINE)
    assert table, after
    lines = table[0].splitlines()[2:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


def first_number(cell: str) -> float:
    """Return the first number in a cell."""
    found = _NUMBER.search(cell)
    assert found, cell
    return float(found[0].replace(",", "").replace("−", "-"))


def is_rounded(cell: str, value: Any, digits: int | None = None) -> bool:
    """Return whether the first number in a cell is a value, rounded as the cell shows it.

    Parameters
    ----------
    digits : int, optional
        Significant digits, where the table rounds to these.
    """
    found = _NUMBER.search(cell)
    assert found, cell
    value = float(value)
    if digits is not None:
        value = float(f"{value:.{digits}g}")
    decimals = len(found[0].partition(".")[2])
    tolerance = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-12 * abs(value)
    return bool(abs(first_number(cell) - value) <= tolerance)


def code_blocks(name: str, language: str) -> list[str]:
    """Return the fenced examples of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", read_page(name), re.MULTILINE | re.DOTALL)


def indented_blocks(name: str) -> list[str]:
    """Return the indented examples of a page."""
    return re.findall(r"(?:^    .*\n|^\n(?=    ))+", read_page(name), re.MULTILINE)
