"""The report for everyone: axe-core's rules of level A and AA, the keyboard, and print."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser import console, open_report, open_tab, requests
from tests.report.test_page_browser import check_layout, check_policy, set_width

RULES = """
const done = arguments[1], tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
axe.run(arguments[0], { runOnly: { type: "tag", values: tags } }).then(({ violations }) => done(
  violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target}`))));
"""
RECORD = """
window.reached = [];
document.addEventListener("focusin", ({ target }) => {
  window.reached.push(target.id || target.textContent.trim().slice(0, 40) || target.tagName);
});
"""
INKS = """
const ground = getComputedStyle(document.body).backgroundColor;
return [ground, document.getElementById("plane").layout.font.color];
"""
COLORS = {
    "light": ["rgb(245, 246, 248)", "#1d2530"],
    "dark": ["rgb(20, 24, 30)", "#e4e8ee"],
}
UNNAMED = """
return [...document.querySelectorAll(".js-plotly-plot, #diagram svg, .meter, .bar, #parallel")]
  .filter((each) => !each.getAttribute("aria-label")).map((each) => each.id || each.className);
"""


def axe() -> str:
    """Return the text of axe-core."""
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


def violations(chrome: Chrome, part: WebElement) -> list[str]:
    """Return the violations of levels A and AA that axe-core finds in a part of the open page."""
    # the page's policy admits no script but its own; the debugger may add one
    chrome.execute_cdp_cmd("Runtime.evaluate", {"expression": axe()})
    return list(chrome.execute_async_script(RULES, part))


def media(chrome: Chrome, **features: str) -> None:
    listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})


@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_for_every_reader(
    chrome: Chrome, page: Path, run: Path, scheme: str, one: Callable[[str], WebElement]
) -> None:
    """The example is read in light colours, the report of a study that runs in dark ones."""
    path = page if scheme == "light" else run
    media(chrome, prefers_color_scheme=scheme)
    console(chrome)
    requests(chrome)
    set_width(chrome, 700)
    open_report(chrome, path)
    own = {url for url in requests(chrome) if not url.startswith(("data:", "blob:", "about:"))}
    assert (own, console(chrome)) == ({path.as_uri()}, [])
    assert chrome.execute_script(INKS) == COLORS[scheme]
    check_layout(chrome, one)
    if scheme == "light":
        check_keyboard(chrome)
    check_sheets(chrome)
    open_tab(chrome, "parallel" if scheme == "dark" else "plane")
    chrome.execute_script(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )
    assert chrome.execute_script(UNNAMED) == []
    assert violations(chrome, one("html")) == []
    assert console(chrome) == []
    if scheme == "dark":
        chrome.execute_script("document.body.append(document.createElement('img'))")
        found = violations(chrome, one("body > img"))
        assert [each.split(":")[0] for each in found] == ["image-alt"]  # rules run
    check_policy(chrome)
    media(chrome)


def check_keyboard(chrome: Chrome) -> None:
    """Reach each control by the Tab key."""
    chrome.execute_script(RECORD)
    ActionChains(chrome).send_keys(Keys.TAB * 80).perform()
    reached = chrome.execute_script("return window.reached")
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
    chrome.find_element(By.ID, "tab-plane").send_keys(Keys.ARROW_RIGHT)
    assert chrome.execute_script("return window.reached.at(-1)") == "tab-parallel"


def check_sheets(chrome: Chrome) -> None:
    """Print the open report: it needs two sheets at most."""
    printed: Any = chrome.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
    )
    sheets = re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(printed["data"]))
    assert len(sheets) <= 2
