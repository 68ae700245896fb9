"""A test that lacks a program is skipped and named at the end, or fails if nothing may lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINE = "2 tests skipped: needs valgrind: apt-get install valgrind libc6-dbg"


@pytest.mark.parametrize(
    ("options", "setting", "said", "status"),
    [
        (["-n", "1"], {}, LINE, 0),
        ([], {"DSE_TESTS_SKIP_NOTHING": "1"}, LINE.partition(": ")[2], 1),
    ],
)
def test_without_valgrind(
    options: list[str], setting: dict[str, str], said: str, status: int, tmp_path: Path
) -> None:
    here = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DSE_"))}
    command = [sys.executable, "-m", "pytest", "-k", "[queens] or [fft]", *options]
    done = subprocess.run(
        [*command, "tests/profile/test_instruction_counts.py"],
        cwd=ROOT,
        env=here | {"PATH": str(tmp_path)} | setting,
        capture_output=True,
        text=True,
    )
    assert said in done.stdout
    assert done.returncode == status
