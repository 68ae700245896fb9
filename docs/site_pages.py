"""Pages that the site makes from the code: models, catalogs, messages, the notebook, the project.

A hook of MkDocs (``mkdocs.yml``). No study is run, and nothing is written into the repository.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

from mkdocs.structure.files import File, Files

from dse.model.quantity import Quantity, Resource
from dse.model.values import show_number
from dse.study.catalog import Catalog, list_catalogs, list_models

ROOT = Path(__file__).parents[1]
MOST_ROWS = 60  # a page of a catalog with more entries lists them with `dse list`
PROJECT = {
    "ARCHITECTURE.md": "contributing/architecture.md",
    "CONTRIBUTING.md": "contributing/contributing.md",
    "CHANGELOG.md": "contributing/changelog.md",
}


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    pages = {"Models": sorted(model_pages()), "Catalogs": sorted(catalog_pages())}
    for section in config.nav:
        for entry in section.get("Reference", []):
            for name, added in pages.items():
                if isinstance(entry, dict) and name in entry:
                    entry[name] += added
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to the site."""
    pages = {
        **model_pages(),
        **catalog_pages(),
        **project_pages(),
        "reference/messages.md": messages_page(),
        "tutorials/notebook.md": notebook_page(ROOT / "docs" / "tutorials" / "notebook.ipynb"),
    }
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files of the project's folder lead to their pages."""
    for name, place in PROJECT.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}\)", f"]({up}{place})", markdown)
    return markdown


# Models


def model_pages() -> dict[str, str]:
    """Return a page for each package of models, by its place."""
    packages = defaultdict(list)
    for listed in list_models(None):
        packages[listed.model.name.partition(":")[0]].append(listed.model)
    return {
        f"reference/models/{module.rpartition('.')[2]}.md": "\n".join(
            [f"# `{module}`\n"]
            + [line for model in found for line in _model(model)]
        )
        for module, found in packages.items()
    }


def _model(model: Any) -> Iterator[str]:
    """Yield the lines of a model: its text, and the tables of its inputs and outputs."""
    yield f"## `{model.name.partition(':')[2]}`\n"
    text = re.split(r"\n(?:Parameters|Returns|Examples)\n-+\n", _docstring(model.function))[0]
    yield f"{_plain(text)}\n"
    yield f'```toml\nmodels = ["{model.name}"]\n```\n'
    for head, quantities in (("input", model.inputs), ("output", model.outputs)):
        yield f"| {head} | symbol | unit | domain | meaning |"
        yield "|---|---|---|---|---|"
        for name, quantity in quantities.items():
            yield _quantity(name, quantity, model.defaults)
        yield ""
    if model.requirements:
        yield "Validity conditions:\n"
        yield from (f"* `{each.relation.text}`: {_plain(each.about)}" for each in model.requirements)
        yield ""


def _docstring(function: Any) -> str:
    return inspect.getdoc(function) or ""


def _quantity(name: str, quantity: Quantity | Resource, defaults: Any) -> str:
    if isinstance(quantity, Resource):
        return f"| `{name}` | | file | | {_cell(quantity.about)} |"
    about = quantity.about + (f" (default {show_number(defaults[name])})" if name in defaults else "")
    cells = (quantity.symbol, quantity.unit, quantity.domain(), about)
    return f"| `{name}` | " + " | ".join(_cell(cell) for cell in cells) + " |"


# Catalogs


def catalog_pages() -> dict[str, str]:
    """Return a page for each shipped catalog, by its place."""
    return {f"reference/catalogs/{c.name}.md": _catalog(c) for c in list_catalogs(None)}


def _catalog(catalog: Catalog) -> str:
    """Return the page of a catalog: the values of each entry with their sources."""
    lines = [f"# Catalog `{catalog.name}`\n", f"{_plain(catalog.about)}.\n"]
    if len(catalog.rows) > MOST_ROWS:
        lines += [
            f"The catalog has {len(catalog.rows)} entries.",
            f"`dse list {catalog.name}` shows them, and `dse list ENTRY` the sources.\n",
            "| entry | about |\n|---|---|",
            *(f"| `{row.name}` | {_cell(row.about)} |" for row in catalog.rows.values()),
        ]
        return "\n".join(lines)
    for row in catalog.rows.values():
        lines += [f"## `{row.name}`\n", f"{_plain(row.about)}\n"]
        lines += ["| value | | provenance | source |\n|---|---|---|---|"]
        for name, value in row.values.items():
            written = value.value if isinstance(value.value, str) else show_number(value.value)
            source = "; ".join(filter(None, (value.source, value.note)))
            cells = (f"{written} {value.unit}", value.provenance, source)
            lines.append(f"| `{name}` | " + " | ".join(_cell(str(c)) for c in cells) + " |")
        lines.append("")
    return "\n".join(lines)


# Messages, the notebook, and the project


def messages_page() -> str:
    """Return the page of all messages."""
    text = (ROOT / "docs" / "messages.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n\n(?=\S)", text.rstrip("\n"))[1:]
    lines = [
        "# Messages\n",
        "Each message states a problem with its value, the reason and a fix.",
        "Braces hold an expression of the code in place of a value.\n",
    ]
    for block in blocks:
        module, _, entries = block.strip("\n").partition("\n")
        lines += [f"## `{module}`\n", f"```text\n{entries}\n```\n"]
    return "\n".join(lines)


def notebook_page(path: Path) -> str:
    """Return the page of a notebook: its cells with the outputs that are texts."""
    lines = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines.append(f"{source}\n")
            continue
        lines.append(f"```python\n{source}\n```\n")
        for output in cell["outputs"]:
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            if text and "Figure(" not in "".join(text):
                lines.append("```text\n" + "".join(text).rstrip() + "\n```\n")
    lines.append("The [notebook](notebook.ipynb) shows tables and plots as well.")
    return "\n".join(lines)


def project_pages() -> dict[str, str]:
    """Return the pages of the project's folder, with links that fit the site."""
    pages = {}
    for name, place in PROJECT.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](../")
        for other, target in PROJECT.items():
            text = text.replace(f"]({other})", f"](../{target})")
        pages[place] = text
    return pages


def _plain(text: str) -> str:
    """Return text of the code for a page: markup of docstrings becomes code."""
    text = re.sub(r"(?ms)^>>>.*?(?=^\s*$|\Z)", lambda m: indent(m[0], "    "), text)
    text = re.sub(r":\w+:`[~.]?([^`]+)`", r"`\1`", text).replace("``", "`")
    parts = re.split(r"(`[^`]*`|^    .*$)", text, flags=re.MULTILINE)
    return "".join(p if p.startswith(("`", "    ")) else escape(p, quote=False).replace("**", r"\*\*") for p in parts)


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")
