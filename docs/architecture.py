"""Write the map in ARCHITECTURE.md from the first lines of the packages.

Run with ``python docs/architecture.py``. The map replaces the lines between the two markers.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
BETWEEN = re.compile(r"(<!-- map -->\n).*(<!-- end of map -->)", re.DOTALL)


def packages() -> list[Path]:
    """Return the `__init__` files of all packages, outer ones first."""
    found = (path for top in ("dse", "objectives", "spaces") for path in (ROOT / top).rglob("*"))
    return sorted(path for path in found if path.name == "__init__.py")


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def draw_map() -> str:
    """Return the map: one row per package, with its modules and the first line of its docstring."""
    rows = ["| package | modules | contents |", "|---|--:|---|"]
    for path in packages():
        count = sum(module.name != "__init__.py" for module in path.parent.glob("*.py"))
        name = ".".join(path.parent.relative_to(ROOT).parts)
        rows.append(f"| `{name}` | {count} | {first_line(path)} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """Return the page with its map drawn again."""
    return BETWEEN.sub(
        lambda found: found[1] + draw_map() + found[2], PAGE.read_text(encoding="utf-8")
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
