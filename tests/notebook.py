"""The notebook of the documents, run in a kernel of its own.

``python -m tests.notebook`` runs it and keeps the outputs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "notebook.ipynb"
_QUIET = {"PLOTLY_RENDERER": "plotly_mimetype", "PYTHONPATH": str(NOTEBOOK.parents[2])}


def stored() -> Any:
    """Return the notebook as it is kept."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(notebook: Any) -> Any:
    """Return the notebook with the outputs of a fresh run."""
    for cell in notebook.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}
    )
    client.execute(env={**os.environ, **_QUIET})
    notebook.metadata.language_info = {"name": "python"}  # without the version of this one
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(stored()), NOTEBOOK)
