"""What scripts rely on: names that are there, and imports that stay light."""

from __future__ import annotations

import subprocess
import sys

import dse


def test_every_public_name_is_there() -> None:
    for name in dse.__all__:
        assert getattr(dse, name) is not None
    assert dse.testing.check_model.__module__ == "dse.model.testing"
    assert set(dse.__all__) <= set(dir(dse))


def test_importing_loads_nothing_heavy() -> None:
    heavy = "{'pandas', 'optuna', 'sqlalchemy', 'plotly', 'pint', 'scipy', 'rich', 'moocore'}"
    for what in ("import dse", "import dse.cli"):
        code = f"import sys; {what}; print(sorted({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr
