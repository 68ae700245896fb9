"""Reports that tests write and open in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pandas as pd
from selenium.webdriver import Chrome

from dse.api import StudyResult
from dse.report import write_report
from tests.browser import console, open_report, requests
from tests.report.examples import STUDY_TEXT, explanations

Visit: TypeAlias = Callable[..., StudyResult]


@contextmanager
def visiting(chrome: Chrome, path: Path) -> Iterator[Visit]:
    """Write a report and open it; afterwards hold it to silence on console and network."""

    def visit(found: StudyResult, explained: int = 20) -> StudyResult:
        write_report(found, explanations(found, explained), path, STUDY_TEXT)
        console(chrome)
        requests(chrome)
        open_report(chrome, path)
        return found

    yield visit
    assert console(chrome) == []
    asked = [url for url in requests(chrome) if not url.startswith(("data:", "blob:"))]
    assert asked == [path.as_uri()]
    assert chrome.execute_script("return window.broken") is None


def front_of(found: StudyResult) -> pd.DataFrame:
    return found.designs[found.designs["on_front"]]
