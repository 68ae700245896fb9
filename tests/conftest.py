"""Fixtures of all tests. The examples are the same each time, and CI skips nothing."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

collect_ignore = ["folders"]  # what runs wrote, models included

settings.register_profile("dse", derandomize=True, deadline=None)  # however slow
settings.load_profile("dse")


@pytest.fixture(scope="session")
def crypto_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of studies/crypto.toml, made once for all processes."""
    import dse

    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with (root / "crypto.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        dse.load(Path(__file__).parents[1] / "studies" / "crypto.toml").run(root / "crypto")
    return root / "crypto"


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs write no report: that takes most of the time of a small run."""
    monkeypatch.setattr("dse.run.report", lambda *_: {})


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Generator[None]:
    """Let no file wait for the disk: tests end processes, but no test turns off the power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass by what stays to the end: modules and the tests.

    It would go through all of it again and again; simulations take half as long without that.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a skipped test fail if nothing is to be skipped."""
    report = yield
    if report.skipped and os.environ.get("DSE_TESTS_SKIP_NOTHING"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"{item.nodeid} was skipped: {reason}"
        report.outcome = "failed"
    return report
