"""The house: no module of the engine needs itself, by whatever kind of import."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import networkx as nx

from tests.docs.pages import ROOT, load_script


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path) -> set[str]:
    """Return every imported name, of lazy and of type-checking imports too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
            found.add(str(node.module))
    return found


def test_no_import_goes_in_a_circle() -> None:
    known = modules("dse") | modules("objectives")
    graph = nx.DiGraph()
    for name, path in known.items():
        named = imports(path) & set(known)
        # a package is named by what is imported from it, as soon as that is a module
        packages = {n for n in named if any(m.startswith(f"{n}.") for m in named)}
        graph.add_edges_from((name, other) for other in named - packages if other != name)
    circles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert circles == []
    assert graph.number_of_edges() > 400


WRITER = load_script("docs/architecture.py")


def test_the_map_shows_the_packages() -> None:
    assert WRITER.page() == WRITER.PAGE.read_text(), "run python docs/architecture.py"


def test_each_package_lists_its_modules() -> None:
    missing = []
    for path in WRITER.packages():
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        for module in path.parent.glob("[!_]*.py"):
            if not re.search(rf"\b{module.stem}\b", text):
                missing.append(str(module.relative_to(ROOT)))
    assert not missing


def test_the_places_to_change_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## To change something")[2]
    places = re.findall(r"`((?:dse|objectives|spaces)/[\w./]*)`", text.partition("\n## ")[0])
    assert len(places) > 12
    for place in places:
        assert (ROOT / place).exists(), place
