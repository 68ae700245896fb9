"""Programs that some tests need beside Python, and what happens where they are not installed.

Such a test is skipped, and its reason is the line that installs what it needs. If the environment
variable ``DSE_TESTS_SKIP_NOTHING`` is set, a skipped test fails instead (tests/conftest.py).
"""

from __future__ import annotations

import shutil

import pytest

INSTALLED_BY = {
    "cc": "apt-get install gcc",
    "gcc": "apt-get install gcc",
    "as": "apt-get install binutils",
    "c++": "apt-get install g++",
    "rustc": "apt-get install rustc",
    "chromium": "apt-get install chromium chromium-driver",
    "chromedriver": "apt-get install chromium chromium-driver",
    "valgrind": "apt-get install valgrind libc6-dbg",
    "callgrind_annotate": "apt-get install valgrind libc6-dbg",
    "openssl": "apt-get install openssl",
    "make": "apt-get install make",
    "cmake": "apt-get install cmake make",
    "ar": "apt-get install binutils",
}


def needs(*programs: str) -> tuple[str, ...]:
    """Return where the programs are; skip the test where one is not installed."""
    found = {name: shutil.which(name) for name in programs}
    missing = next((name for name, path in found.items() if path is None), None)
    if missing is not None:
        pytest.skip(f"needs {missing}: {INSTALLED_BY[missing]}")
    return tuple(path for path in found.values() if path is not None)
