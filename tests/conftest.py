"""What holds for every test: the same examples each time; what is skipped is said at the end."""

from __future__ import annotations

import fcntl
import gc
import os
from collections import Counter
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
    if report.skipped and not hasattr(report, "wasxfail") and _nothing_skipped():
        report.longrepr = f"{item.nodeid} was skipped: {_reason(report)}"
        report.outcome = "failed"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, a line for each reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        tests = "1 test" if count == 1 else f"{count} tests"
        terminalreporter.write_line(f"{tests} skipped: {reason}", yellow=True)


def _nothing_skipped() -> bool:
    return bool(os.environ.get("DSE_TESTS_SKIP_NOTHING"))


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
