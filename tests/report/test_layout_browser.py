"""How the report lies on a screen: nothing is cut, the plot fills its card, words and ticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import dse
from dse.model.section import Heatmap, Lines, Section, Table
from dse.report import write_report
from dse.result.record import Cut
from tests.browser import browser, click, console, open_report
from tests.report.examples import STUDY_TEXT, explanations, result
from tests.toy import MODEL, STUDY

HEADS = "#front-table thead th button"
CUT = """
const tables = document.querySelectorAll(".scroll, .panels, .facts, .card");
const named = (element) => element.id || element.querySelector("[id]")?.id || element.className;
return {
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  cut: [...tables].filter((each) => each.offsetParent !== null
      && !each.querySelector("#front-table, #model-graph, #parallel, #pins-table")
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


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a small study and return its report."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(STUDY)
    dse.load(folder / "study.toml").run(folder / "run")
    return folder / "run" / "report.html"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found, path = result(4, 1_500), tmp_path_factory.mktemp("example") / "report.html"
    write_report(found, explanations(found, 1_000), path, STUDY_TEXT)
    return path


@pytest.mark.parametrize("made", ["toy", "example"])
def test_nothing_is_cut_and_the_plot_fills_its_card(
    chrome: Chrome, made: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(made)
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


def test_long_tables_fold_and_long_words_wrap(chrome: Chrome, tmp_path: Path) -> None:
    requirement = (
        "the engine's slots of a stream carry the calls it is offered: utilization < 1, " * 2
    )
    found = replace(result(4, 500), cuts=(Cut(f"{requirement}required by a.b:c", 40, 7, ()),))
    functions = pd.DataFrame(
        {
            "function": [f"function_{i}" for i in range(40)],
            **{f"share of column {i}": [0.5, 1.25] * 20 for i in range(8)},
            "reason": ["its accelerator takes 12 times as long as it may, and that is long"] * 40,
        }
    )
    line = Lines("alone", "x", "y", [("a", [1.0, 900.0], [1.0, 2.0])], log_x=True)
    sections = [Section("Functions", "", [Table("t", functions), line])]
    write_report(found, explanations(found, 100), tmp_path / "report.html", STUDY_TEXT, sections)
    for width in (1400, 700):
        at_width(chrome, width)
        open_report(chrome, tmp_path / "report.html")
        cuts, card = (chrome.find_element(By.CSS_SELECTOR, s) for s in ("#cuts-table", "#cuts"))
        assert cuts.rect["width"] < card.rect["width"], width
        section = chrome.find_element(By.CSS_SELECTOR, "#sections .card")
        rows = [row for row in section.find_elements(By.CSS_SELECTOR, "tbody tr") if row.text]
        assert len(rows) == 12
        assert max(row.rect["height"] for row in rows) < 120, width  # four lines of words
        assert rows[0].text.split()[1:4] == ["0.50"] * 3  # one count of decimals a column
        plot = section.find_element(By.CSS_SELECTOR, ".plot")
        assert plot.rect["width"] > section.rect["width"] - 50, width
        click(chrome, section.find_element(By.CSS_SELECTOR, ".scroll > button"))
        rows = [row for row in section.find_elements(By.CSS_SELECTOR, "tbody tr") if row.text]
        assert len(rows) == 40
    title = "speedup, mean over programs of a workload at shared_penalty = 0 · <higher> is better"
    told = chrome.execute_script("return titleOf('y', arguments[0])", title).split("<br>")
    assert [len(line) < 60 for line in told] == [True] * 3
    assert told[-1] == "&lt;higher&gt; is better"
    ticks = section.find_elements(By.CSS_SELECTOR, ".xtick")
    assert {"1", "2", "5", "10", "500"} <= {tick.text for tick in ticks}  # each in full
    assert console(chrome) == []


def test_numbers_of_a_heat_map_stay_in_their_cells(chrome: Chrome, tmp_path: Path) -> None:
    values = [[3.0, 0.00781] * 10, [0.00783, 2.0] * 10]
    fitted = "#sections .heatmap-label text[style*=visibility]"
    map_ = Heatmap("m", ["a", "b"], [f"f{i}" for i in range(20)], values)
    found, path = result(4, 100), tmp_path / "report.html"
    sections = [Section("Functions", "", [map_])]
    write_report(found, explanations(found, 1), path, STUDY_TEXT, sections)
    for width in (700, 1400):
        at_width(chrome, width)
        open_report(chrome, path)
        WebDriverWait(chrome, 20).until(lambda _: chrome.find_elements(By.CSS_SELECTOR, fitted))
        labels = chrome.find_elements(By.CSS_SELECTOR, "#sections .heatmap-label text")
        shown = {label.text for label in labels if label.is_displayed()}
        assert shown == ({"2", "3"} if width == 700 else {"2", "3", "0.00781", "0.00783"})
        row = [each for each in labels[:20] if each.is_displayed()]
        ends = [(each.rect["x"], each.rect["x"] + each.rect["width"]) for each in row]
        assert all(left[1] < right[0] for left, right in pairwise(sorted(ends))), width
    assert console(chrome) == []


def test_columns_that_options_set_are_shown_if_asked_for(chrome: Chrome, example: Path) -> None:
    at_width(chrome, 1280)
    open_report(chrome, example)
    heads = [each.text.split(" [")[0] for each in chrome.find_elements(By.CSS_SELECTOR, HEADS)]
    assert "utilization" in heads
    assert "overhead" not in heads
    click(chrome, chrome.find_element(By.ID, "set-by-options"))
    more = [each.text.split(" [")[0] for each in chrome.find_elements(By.CSS_SELECTOR, HEADS)]
    assert set(more) - set(heads) == {"overhead", "latency"}


def test_words_on_the_first_screen(chrome: Chrome, example: Path) -> None:
    at_width(chrome, 1280)
    open_report(chrome, example)

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
    assert "overhead" in regions
    assert "oC" not in regions.split()
    ticks = chrome.execute_script("return document.getElementById('plane').layout")
    assert ticks["xaxis"]["title"]["text"].startswith("area [LUT]")
    assert ticks["yaxis"]["title"]["text"].startswith("speedup at 1 KiB")


def test_colours_follow_the_system(chrome: Chrome, example: Path) -> None:
    inks = []
    for scheme in ("light", "dark"):
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        open_report(chrome, example)
        ground = "return getComputedStyle(document.body).backgroundColor"
        plot = "return document.getElementById('plane').layout.font.color"
        inks.append((chrome.execute_script(ground), chrome.execute_script(plot)))
    assert inks == [("rgb(245, 246, 248)", "#1d2530"), ("rgb(20, 24, 30)", "#e4e8ee")]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
