"""The report for everyone: axe-core's rules of level A and AA, the keyboard, and print."""

from __future__ import annotations

import base64
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

import dse
from tests.browser import console, open_report, open_tab, requests
from tests.toy import written

RULES = """
const done = arguments[0], tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
axe.run(document, { runOnly: { type: "tag", values: tags } }).then(({ violations }) => done(
  violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target}`))));
"""
FOCUSED = """
const at = document.activeElement;
return at === document.body ? "" : at.id || at.textContent.trim().slice(0, 40) || at.tagName;
"""


def axe() -> str:
    """Return the text of axe-core."""
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


def violations(chrome: Chrome) -> list[str]:
    """Return what axe-core finds against levels A and AA in the open page."""
    # the page's policy admits no script but its own; the debugger may add one
    chrome.execute_cdp_cmd("Runtime.evaluate", {"expression": axe()})
    return list(chrome.execute_async_script(RULES))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a study that runs, with all of its sections."""
    folder = tmp_path_factory.mktemp("run")
    dse.load(written(folder)).run(folder / "run")
    return folder / "run" / "report.html"


def media(chrome: Chrome, **features: str) -> None:
    listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})


def test_no_rule_of_level_a_or_aa_is_broken(chrome: Chrome, page: Path, run: Path) -> None:
    unfold = "for (const each of document.querySelectorAll('details')) each.open = true"
    for path, scheme in ((page, "light"), (run, "dark")):
        media(chrome, prefers_color_scheme=scheme)
        open_report(chrome, path)
        open_tab(chrome, "plane" if scheme == "light" else "parallel")
        chrome.execute_script(unfold)
        assert violations(chrome) == [], scheme
    chrome.execute_script("document.body.append(document.createElement('img'))")
    assert [each.split(":")[0] for each in violations(chrome)] == ["image-alt"]  # the rules run
    media(chrome)


def test_the_page_asks_nothing_of_another_place(chrome: Chrome, run: Path) -> None:
    requests(chrome)
    open_report(chrome, run)
    own = {url for url in requests(chrome) if not url.startswith(("data:", "blob:", "about:"))}
    assert own == {run.as_uri()}
    assert console(chrome) == []


def test_the_keyboard_reaches_each_control(chrome: Chrome, page: Path) -> None:
    open_report(chrome, page)
    reached = []
    for _ in range(80):
        chrome.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(chrome.execute_script(FOCUSED))
    for name in (
        "Skip to the answer",
        "copy-link",
        "download",
        "print",
        "all-rows",
        "axis-x",
        "filter",
        "pin",
    ):
        assert name in reached, name
    tab = chrome.find_element(By.ID, "tab-plane")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert chrome.execute_script(FOCUSED) == "tab-parallel"


def test_each_plot_has_a_text_alternative(chrome: Chrome, page: Path) -> None:
    open_report(chrome, page)
    open_tab(chrome, "parallel")
    script = """
    return [...document.querySelectorAll(".js-plotly-plot, #diagram svg, .meter, .bar, #parallel")]
      .filter((each) => !each.getAttribute("aria-label")).map((each) => each.id || each.className);
    """
    assert chrome.execute_script(script) == []


def test_the_report_prints_on_two_sheets(chrome: Chrome, page: Path, run: Path) -> None:
    for path in (page, run):
        open_report(chrome, path)
        printed: Any = chrome.execute_cdp_cmd(
            "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
        )
        sheets = re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(printed["data"]))
        assert len(sheets) <= 2, path
