"""Settings for every test: doctests print plain numbers, and each process works on one core."""

import os

import pytest

# There is a process for each core. If each had threads for linear algebra as well, they would wait
# for each other busily: guided searches then take ten times the processor.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - it reads them once

np.set_printoptions(legacy="1.25")

SLOW = (  # measured: each takes 10 to 40 s
    "tests/test_interruptions.py",
    "tests/profile/test_profile.py",
    "tests/test_crypto.py",
    "tests/report/test_page_browser.py",
    "tests/report/test_linked_browser.py",
    "tests/explain/test_advice.py",
    "tests/profile/test_runs.py",
    "tests/search/bound/test_search.py",
    "tests/fit/test_intervals.py",
    "tests/profile/test_compiler.py",
    "tests/profile/test_addresses.py",
    "tests/profile/test_threads.py",
    "tests/profile/test_command.py",
    "tests/search/test_cluster.py",
    "tests/test_compress.py",
    "tests/result/test_lease.py",
    "tests/study/test_draft.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Let processes take the files in the order of collection, not those of most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow files: one process would work on the last of them alone."""
    places = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(SLOW)))
