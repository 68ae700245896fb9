"""How the report lies on a screen: nothing is cut, the plot fills its card, words and ticks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import dse
from dse.report import write_report
from tests.browser import browser, console, open_report
from tests.report_examples import STUDY_TEXT, explanations, result
from tests.toy import MODEL, STUDY

CUT = """
const tables = document.querySelectorAll(".scroll, .panels, .facts, .card");
const named = (element) => element.id || element.querySelector("[id]")?.id || element.className;
return {
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  cut: [...tables].filter((each) => each.offsetParent !== null
      && !each.querySelector("#front-table, #wiring, #parallel, #pins-table")
      && each.scrollWidth > each.clientWidth + 1).map(named),
};
"""


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with browser(tmp_path_factory.mktemp("layout")) as found:
        yield found


def at_width(chrome: Chrome, width: int) -> None:
    """Give the page itself so many pixels; a window has a frame."""
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def toy(folder: Path) -> Path:
    """Run a small study and return its report."""
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(STUDY)
    dse.load(folder / "study.toml").run(folder / "run")
    return folder / "run" / "report.html"


def example(folder: Path) -> Path:
    found, path = result(4, 1_500), folder / "report.html"
    write_report(found, explanations(found, 1_000), path, STUDY_TEXT)
    return path


@pytest.mark.parametrize("make", [toy, example])
def test_nothing_is_cut_and_the_plot_fills_its_card(
    chrome: Chrome, tmp_path: Path, make: Any
) -> None:
    path = make(tmp_path)
    console(chrome)
    for width in (1400, 1280, 700):
        at_width(chrome, width)
        open_report(chrome, path)
        assert chrome.execute_script(CUT) == {"page": 0, "cut": []}, width
        card, hint = (chrome.find_element(By.ID, name) for name in ("picture", "hint"))
        below = card.rect["y"] + card.rect["height"] - hint.rect["y"] - hint.rect["height"]
        assert below < 25, width
        drawn = chrome.find_element(By.CSS_SELECTOR, "#plane .main-svg").rect["height"]
        assert drawn >= chrome.find_element(By.ID, "view").rect["height"] - 2, width
    assert console(chrome) == []


def test_words_on_the_first_screen(chrome: Chrome, tmp_path: Path) -> None:
    path = example(tmp_path)
    at_width(chrome, 1280)
    open_report(chrome, path)

    def text(selector: str) -> str:
        return chrome.find_element(By.CSS_SELECTOR, selector).text

    side = text("#chosen")
    assert "speedup at 1 KiB" in side
    assert "host time over accelerated time" in side
    assert "Inputs set by options (2)" in side
    order = [each.get_attribute("id") for each in chrome.find_elements(By.TAG_NAME, "section")]
    assert order.index("answer") < order.index("front") < order.index("trust")
    assert not chrome.find_element(By.ID, "provenance").is_displayed()
    assert "of the designs" not in text("#files")
    assert "designs.csv" in text("#files")
    regions = text(".regions table")
    assert "limited by overhead" in regions
    assert "oC" not in regions.split()
    ticks = chrome.execute_script("return document.getElementById('plane').layout")
    assert ticks["xaxis"]["title"]["text"].startswith("area [LUT]")
    assert ticks["yaxis"]["title"]["text"].startswith("speedup at 1 KiB")


def test_colours_follow_the_system(chrome: Chrome, tmp_path: Path) -> None:
    path = example(tmp_path)
    inks = []
    for scheme in ("light", "dark"):
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        open_report(chrome, path)
        ground = "return getComputedStyle(document.body).backgroundColor"
        plot = "return document.getElementById('plane').layout.font.color"
        inks.append((chrome.execute_script(ground), chrome.execute_script(plot)))
    assert inks == [("rgb(245, 246, 248)", "#1d2530"), ("rgb(20, 24, 30)", "#e4e8ee")]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
