"""The curves of a real study, as a reader of its report has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dse.cli import main
from tests.browser import browser, colored_pixels, console, open_report

STUDY = Path(__file__).parents[2] / "studies" / "shared_pipeline.toml"


def texts(chrome: Chrome, selector: str) -> list[str]:
    return [each.text for each in chrome.find_elements(By.CSS_SELECTOR, selector)]


def choose(chrome: Chrome, design: int) -> None:
    """Choose a design by its number, through the filter of the table."""
    chrome.find_element(By.ID, "filter").clear()
    chrome.find_element(By.ID, "filter").send_keys(f"design == {design}")
    row = chrome.find_element(By.CSS_SELECTOR, "#front-table tbody tr")
    chrome.execute_script("arguments[0].click()", row)


def test_the_report_of_the_shared_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    monkeypatch.setattr("sys.argv", ["dse", "run", str(STUDY), "--out", str(folder), "--quiet"])
    with browser(tmp_path) as chrome:
        main()
        open_report(chrome, folder / "report.html")
        WebDriverWait(chrome, 10).until(lambda _: texts(chrome, "#curve-0 .legendtext"))
        plot = chrome.find_element(By.ID, "curve-0")
        chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
        names = ["latency_printed", "latency", "latency_simulated"]
        assert texts(chrome, "#curve-0 .legendtext") == names
        told = chrome.find_elements(By.CSS_SELECTOR, "#curve-0 .legend .traces title")
        assert told[1].get_attribute("textContent") == (
            "latency: exact mean latency, from arrival to the end of the pipeline"
        )
        assert len(chrome.find_elements(By.CSS_SELECTOR, "#curve-0 .shapelayer path")) == 1
        assert colored_pixels(chrome, plot) > 1_000

        marked = set(texts(chrome, "#curve-0 .annotation-text"))
        rows = texts(chrome, ".curve tbody tr")
        assert "this design" in marked
        assert len(rows) == 3
        at_load = {"186.9 ns at 5", "211.2 ns at 4"}, {"112.3 ns at 2", "141.1 ns at 2"}
        assert any(marked >= least for least in at_load)  # whichever load the compromise is at
        for row, name in zip(rows, names, strict=True):
            assert row.startswith(name)

        choose(chrome, 250)  # far down the front: its explanation is held, or the way to it is told
        assert not chrome.find_elements(By.ID, "curve-0")
        assert console(chrome) == []
