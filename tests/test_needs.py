"""A test that lacks a program is skipped with what installs it, or fails if nothing may lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_without_valgrind(tmp_path: Path) -> None:
    here = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DSE_"))}
    tests = ["-k", "that_valgrind_lacks", "tests/profile/test_libraries.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", *tests],
        cwd=ROOT,
        env=here | {"PATH": str(tmp_path), "DSE_TESTS_SKIP_NOTHING": "1"},
        capture_output=True,
        text=True,
    )
    assert "needs valgrind: apt-get install valgrind libc6-dbg" in done.stdout
    assert done.returncode == 1
