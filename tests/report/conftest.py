"""The browser of the tests, and the pages that they open in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.remote.webelement import WebElement

import dse
from dse.api import StudyResult
from dse.explain.explanation import Explanation
from dse.model.section import Section
from dse.report.page import write_report
from dse.result.record import Cut
from tests.browser import browser, console, open_report, requests
from tests.report.examples import STUDY, STUDY_TEXT, Visit, explanations, result
from tests.toy import written


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the browser's downloads."""
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="session")
def chrome(downloads: Path) -> Iterator[Chrome]:
    """Open one browser for all tests."""
    with browser(downloads) as opened:
        yield opened


@pytest.fixture
def one(chrome: Chrome) -> Callable[[str], WebElement]:
    """Return the function that finds the first element of a selector."""
    return functools.partial(chrome.find_element, "css selector")


PREFERENCES = """
[recommend]
weights = { cost = 0.5 }
require = ["cost <= 15 kLUT"]
exclude = { lanes = [14, 15, 16] }
"""
_KEEP = "window.folds = [...document.querySelectorAll('details[id]')].map((each) => each.open);"
_RESET = """
if (!window.folds) return false;
document.querySelectorAll("details[id]").forEach((each, i) => { each.open = window.folds[i]; });
const change = (each) => each.dispatchEvent(new Event("change"));
for (const each of [$("set-by-options"), $("all-rows")]) {
  each.checked = each.defaultChecked;
  change(each);
}
const size = $("page-size");
size.selectedIndex = 0;
change(size);
history.pushState({ depth: 0 }, "", "#");
dispatchEvent(new PopStateEvent("popstate", { state: { depth: 0 } }));
return true;
"""


def _open(chrome: Chrome, path: Path) -> None:
    console(chrome)
    chrome.get("about:blank")
    requests(chrome)
    open_report(chrome, path)


def _is_silent(chrome: Chrome, path: Path) -> bool:
    """Return whether an open page has no error, loads nothing, and ran no script of a name."""
    asked = {url.split("#")[0] for url in requests(chrome)}
    own = {url for url in asked if not url.startswith(("data:", "blob:", "about:"))}
    broken = chrome.execute_script("return window.broken")
    return (console(chrome), own | {path.as_uri()}, broken) == ([], {path.as_uri()}, None)


@pytest.fixture
def visit(chrome: Chrome, tmp_path: Path) -> Iterator[Visit]:
    """Return the function that writes a report and opens it; the page must then be silent."""
    path = tmp_path / "report.html"

    def write(
        found: StudyResult,
        explained: Sequence[Explanation] | None = None,
        sections: Sequence[Section] = (),
    ) -> StudyResult:
        explained = explanations(found, 20) if explained is None else explained
        write_report(found, explained, path, STUDY_TEXT, sections)
        _open(chrome, path)
        return found

    yield write
    assert _is_silent(chrome, path)


@pytest.fixture
def any_width(chrome: Chrome) -> Iterator[None]:
    """Give the page its own width back."""
    yield
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="session")
def found() -> StudyResult:
    """Return the result of most tests; infeasible designs violate one of two constraints."""
    made = result(4, 600)
    broken = made.designs.index[~made.designs["feasible"]].tolist()
    cuts = (
        Cut("utilization <= 0.85", len(broken), len(broken) - 9, tuple(broken[:-5])),
        Cut("area <= 400 kLUT", 14, 5, tuple(broken[-5:])),
    )
    return replace(made, cuts=cuts)


@pytest.fixture(scope="session")
def page(downloads: Path, found: StudyResult) -> Path:
    """Return the report of the result of most tests."""
    path = downloads / "report.html"
    write_report(found, explanations(found, 20), path, STUDY)
    return path


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a study that runs, with all of its sections."""
    folder = tmp_path_factory.mktemp("run")
    dse.load(written(folder, PREFERENCES)).run(folder / "run")
    return folder / "run" / "report.html"


@pytest.fixture
def front(chrome: Chrome, page: Path, found: StudyResult) -> Iterator[pd.DataFrame]:
    """Open the report of most tests and return its front; the page must then be silent.

    An open page returns to its first state: to load it again takes a second of the processor.
    """
    is_open = chrome.current_url.split("#")[0] == page.as_uri()
    if not is_open or not chrome.execute_script(_RESET):
        _open(chrome, page)
        chrome.execute_script(_KEEP)
    yield found.front.designs
    assert _is_silent(chrome, page)
