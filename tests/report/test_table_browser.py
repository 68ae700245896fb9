"""The table of designs in the report, in a real browser: what is sorted, filtered and chosen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser import click, column, designs, head
from tests.report.examples import result
from tests.report.visits import Visit, front_of

OPTION = '<img src=x onerror="window.broken = 2">, "port"'


def test_the_table_sorts_by_number_and_by_text(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    front = front_of(visit(result(4)))
    assert np.isinf(front["break_even"]).any()
    for name in ("area", "break_even", "acceleration"):
        for way in ("ascending", "descending"):
            click(chrome, head(chrome, name))
            ordered = front.reset_index().sort_values(
                [name, "design"], ascending=[way == "ascending", True]
            )
            assert designs(chrome) == ordered["design"].head(15).tolist()
            sorted_heads = chrome.find_elements(By.CSS_SELECTOR, "#front-table th[aria-sort]")
            assert [h.get_attribute("aria-sort") for h in sorted_heads] == [way]
    assert "never" not in column(chrome, "area")
    head(chrome, "interface").send_keys(Keys.ENTER)
    assert column(chrome, "interface") == sorted(front["interface"])[:15]
    assert chrome.switch_to.active_element.get_property("textContent") == "interface"


def test_never_is_a_word(chrome: Chrome, visit: Visit) -> None:
    front = front_of(visit(result(4)))
    click(chrome, head(chrome, "break_even"))
    click(chrome, head(chrome, "break_even"))
    count = min(15, int(np.isinf(front["break_even"]).sum()))
    assert column(chrome, "break_even")[:count] == ["never"] * count


def test_the_table_is_filtered_and_paged(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    front = front_of(visit(result(4)))
    first = designs(chrome)
    assert first == front.index[:15].tolist()
    click(chrome, one("#next"))
    assert designs(chrome) == front.index[15:30].tolist()
    one("#filter").send_keys('interface == "user-port" and speedup > 10 and area <= 20 kLUT')
    kept = front[
        (front["interface"] == "user-port") & (front["speedup"] > 10) & (front["area"] <= 20_000)
    ]
    assert 0 < len(kept) < len(front)
    assert one("#matches").text == f"{len(kept):,} of {len(front):,} designs"
    assert designs(chrome) == kept.index[:15].tolist()
    one("#filter").send_keys(" and sped > 1")
    assert one("#wrong").text == "character 67: no column 'sped' (did you mean 'speedup'?)"


def test_a_row_chooses_a_design_by_mouse_and_by_key(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = visit(result(4), explained=1)
    front = front_of(found)
    rows = chrome.find_elements(By.CSS_SELECTOR, "#front-table tbody tr")
    click(chrome, rows[0])
    assert one("#design-title").text.startswith(f"Design {front.index[0]:,}")
    assert one("#bottlenecks").is_displayed()
    rows[3].send_keys(Keys.ENTER)
    assert one("#design-title").text.startswith(f"Design {front.index[3]:,}")
    assert rows[3].get_attribute("aria-current") == "true"
    assert one("#design code").text.startswith("dse explain ")
    assert one("#design code").text.endswith(f" --design {front.index[3]}")


def test_the_download_holds_the_front(
    chrome: Chrome,
    visit: Visit,
    one: Callable[[str], WebElement],
    downloads: Path,
) -> None:
    front = front_of(visit(result(4, 800, option=OPTION)))
    click(chrome, one("#download"))
    path = downloads / "front.csv"
    end = time.monotonic() + 10
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    told = pd.read_csv(path, index_col="design")
    expected = front.drop(columns=["feasible", "on_front"])
    pd.testing.assert_frame_equal(told, expected, check_dtype=False, check_exact=True)
