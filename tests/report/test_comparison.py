"""The page of two runs in a browser: both fronts, and one target for both."""

from __future__ import annotations

from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

import dse
from dse.api import compare
from dse.report.comparison import write_comparison
from tests.browser import console, fill, requests
from tests.toy import SMALL, written

SERIES = """
return document.getElementById("plane").data.map(({ name, x, y }) => [name, x, y]);
"""
NAME = "<b>after</b>"


def rows(chrome: Chrome, table: str) -> dict[str, list[str]]:
    lines = chrome.find_elements(By.CSS_SELECTOR, f"{table} tbody tr")
    cells = [
        [each.text for each in line.find_elements(By.CSS_SELECTOR, "th, td")] for line in lines
    ]
    return {label: values for label, *values in cells}


def test_both_fronts_and_one_target(chrome: Chrome, tmp_path: Path) -> None:
    study = dse.load(written(tmp_path, text=SMALL))
    results = study.run(), study.with_inputs(lanes=4, size="2 KiB").run()
    page = tmp_path / "comparison.html"
    comparison = compare(*results, "before", NAME)
    write_comparison(comparison, *results, page)
    requests(chrome)
    chrome.get(page.as_uri())
    WebDriverWait(chrome, 60).until(
        lambda _: chrome.execute_script("return !!document.getElementById('plane').data")
    )

    fronts = [result.front.designs for result in results]
    series = chrome.execute_script(SERIES)
    assert [name for name, _, _ in series] == [
        f"before ({len(fronts[0])})",
        f"&lt;b&gt;after&lt;/b&gt; ({len(fronts[1])})",
    ]
    for (_, x, y), front in zip(series, fronts, strict=True):
        shown = sorted(zip(y, x, strict=True))
        own = sorted(zip(front["speed"], front["cost"], strict=True))
        scale = own[0][1] / shown[0][1]  # costs are in LUT or kLUT
        assert [(s, round(c * scale, 6)) for s, c in shown] == [(s, round(c, 6)) for s, c in own]

    differences = rows(chrome, "#differences")
    assert differences["space.lanes.values"] == ["absent", "[4]"]
    sides = rows(chrome, "#sides")
    assert sides["designs on the front"] == [f"{len(front)}" for front in fronts]

    box = chrome.find_element(By.ID, "filter")
    fill(chrome, box, "speed >= 1 and cost < 2 kLUT")
    meeting = [front[(front["speed"] >= 1) & (front["cost"] < 2000)] for front in fronts]
    assert 0 < len(meeting[1]) < len(fronts[1])
    answers = rows(chrome, "#answers")
    assert answers["designs that meet it"] == [str(len(each)) for each in meeting]
    for text, each in zip(answers["best speed"], meeting, strict=True):
        assert abs(float(text) / each["speed"].max() - 1) < 1e-3
    assert len(chrome.execute_script(SERIES)) == 4  # the others are faint
    fill(chrome, box, " and color > 1")
    wrong = chrome.find_element(By.ID, "wrong")
    assert wrong.is_displayed() and "color" in wrong.text

    Select(chrome.find_element(By.ID, "axis-x")).select_by_value("lanes")
    assert set(chrome.execute_script(SERIES)[-1][1]) <= {4}
    assert console(chrome) == []
    assert not [each for each in requests(chrome) if each.startswith("http")]
