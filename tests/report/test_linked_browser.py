"""Linked views of the report in a real browser: what selects, selects everywhere."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from dse.api import StudyResult
from tests.browser import click, column, designs, download, fill, head, open_tab
from tests.report.examples import STUDY

AXIS = '.axis[data-name="%s"]'
AXES = "return lines.axes.map(({ column }) => column.name)"


def by_id(chrome: Chrome, name: str) -> WebElement:
    return chrome.find_element(By.ID, name)


def drawn(chrome: Chrome) -> dict[str, list[int]]:
    """Return the design numbers of each trace in 2-D, by its name."""
    script = """
    return document.getElementById("plane").data.map(
        (trace) => [trace.name, trace.customdata.map((row) => designs[row])]);
    """
    return dict(chrome.execute_script(script))


def lines(chrome: Chrome) -> list[int]:
    return sorted(chrome.execute_script("return lines.drawn.map((row) => designs[row])"))


def shown(chrome: Chrome, kept: pd.DataFrame, of: int, more: str = "") -> None:
    """Hold the count and the table to the designs that should be selected."""
    assert by_id(chrome, "matches").text == f"{len(kept):,} of {of:,} designs{more}"
    assert designs(chrome) == kept.index[:15].tolist()


def drag(chrome: Chrome, name: str, low: float, high: float) -> None:
    """Drag along an axis of the lines, between two shares of its length."""
    handle = chrome.find_element(By.CSS_SELECTOR, f"{AXIS % name} .handle")
    at = chrome.execute_script("return [lines.top, lines.low]")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
    size = (at[1] - at[0]) / 2
    first, last = (int((1 - 2 * share) * size) for share in (low, high))
    chain = ActionChains(chrome, duration=20).move_to_element_with_offset(handle, 0, first)
    chain.click_and_hold().move_by_offset(0, last - first).release().perform()


def select_in_plane(chrome: Chrome, mode: str, corners: list[tuple[float, float]]) -> None:
    """Drag a box or a lasso in 2-D, through shares of the plot's size."""
    button = chrome.find_element(By.CSS_SELECTOR, f'#plane .modebar-btn[data-val="{mode}"]')
    chrome.execute_script("arguments[0].click()", button)
    area = chrome.find_element(By.CSS_SELECTOR, "#plane .nsewdrag")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", area)
    width, height = area.size["width"], area.size["height"]
    points = [(int((x - 0.5) * width), int((0.5 - y) * height)) for x, y in corners]
    chain = ActionChains(chrome, duration=20).move_to_element_with_offset(area, *points[0])
    chain.click_and_hold()
    for (x, y), (u, v) in pairwise(points):
        chain.move_by_offset(u - x, v - y)
    chain.release().perform()


def test_brushes_select_in_lines_table_and_plot_and_axes_move(
    chrome: Chrome, front: pd.DataFrame
) -> None:
    open_tab(chrome, "parallel")
    assert lines(chrome) == front.index.tolist()
    drag(chrome, "acceleration", 0.3, 0.8)
    low, high = chrome.execute_script("return ask.brushes.acceleration")
    assert 15 < low < 25 < 45 < high < 60
    kept = front[front["acceleration"].between(low, high)]
    assert 0 < len(kept) < len(front)
    shown(chrome, kept, len(front))
    assert lines(chrome) == kept.index.tolist()
    drag(chrome, "interface", 0.9, 1.0)  # the axis of options: those within, by name
    names = chrome.execute_script("return ask.brushes.interface")
    assert len(names) == 1
    both = kept[kept["interface"].isin(names)]
    assert 0 < len(both) < len(kept)
    shown(chrome, both, len(front))
    open_tab(chrome, "plane")
    traces = drawn(chrome)
    assert sorted(traces[f"front ({len(both)} of {len(front)})"]) == both.index.tolist()
    assert sorted(traces["not selected"]) == front.index.difference(both.index).tolist()
    fill(chrome, by_id(chrome, "filter"), "area <= 20 kLUT")  # and the filter with them
    shown(chrome, both[both["area"] <= 20_000], len(front))
    open_tab(chrome, "parallel")
    drag(chrome, "acceleration", 0.5, 0.5)  # a click drops the brush
    some = front[front["interface"].isin(names) & (front["area"] <= 20_000)]
    shown(chrome, some, len(front))
    click(chrome, by_id(chrome, "unbrush"))
    shown(chrome, front, len(front))
    drag(chrome, "break_even", 0.95, 1.0)  # the end of an axis: what never breaks even
    shown(chrome, front[np.isinf(front["break_even"])], len(front))
    click(chrome, by_id(chrome, "unbrush"))
    check_axes(chrome, front)


def check_axes(chrome: Chrome, front: pd.DataFrame) -> None:
    """Move an axis of the lines, invert one and hide one."""
    order = chrome.execute_script(AXES)

    def part(name: str, kind: str) -> WebElement:
        return chrome.find_element(By.CSS_SELECTOR, f"{AXIS % name} {kind}")

    part(order[0], ".name").send_keys(Keys.ARROW_RIGHT)
    assert chrome.execute_script(AXES) == [order[1], order[0], *order[2:]]
    step = int(chrome.execute_script("return lines.step"))
    name = part(order[0], ".name")
    ActionChains(chrome, duration=20).drag_and_drop_by_offset(name, -step, 0).perform()
    assert chrome.execute_script(AXES) == order
    part("acceleration", '[aria-label^="Invert"]').send_keys(Keys.ENTER)
    drag(chrome, "acceleration", 0.8, 1.0)  # the low end is at the top now
    low, high = chrome.execute_script("return ask.brushes.acceleration")
    assert low is None  # minus infinity has no place in JSON
    assert front["acceleration"].min() < high < 20
    shown(chrome, front[front["acceleration"] <= high], len(front))
    click(chrome, by_id(chrome, "unbrush"))
    part("area", '[aria-label^="Hide"]').send_keys(Keys.ENTER)
    assert "area" not in chrome.execute_script(AXES)
    click(chrome, chrome.find_element(By.CSS_SELECTOR, "#hidden-axes button"))
    assert sorted(chrome.execute_script(AXES)) == sorted(order)


def test_chips_select_options_and_small_multiples_choose_the_axes(
    chrome: Chrome, front: pd.DataFrame, found: StudyResult
) -> None:
    chips = {chip.text: chip for chip in chrome.find_elements(By.CSS_SELECTOR, "#chips button")}
    assert set(chips) == set(front["interface"])
    click(chrome, chips["user-port"])
    shown(chrome, front[front["interface"] == "user-port"], len(front))
    pressed = chrome.find_elements(By.CSS_SELECTOR, "#chips [aria-pressed=true]")
    assert [chip.text for chip in pressed] == ["user-port"]
    click(chrome, pressed[0])
    shown(chrome, front, len(front))
    pairs = chrome.find_elements(By.CSS_SELECTOR, "#multiples button")
    assert len(pairs) == 5  # of four objectives, without the pair of the large plot
    pair = next(each for each in pairs if each.text == "offload latency over break even")
    click(chrome, pair)
    axes = chrome.execute_script("return [axes.x.name, axes.y.name]")
    assert axes == ["break_even", "offload_latency"]
    check_cloud(chrome, found)


def check_cloud(chrome: Chrome, found: StudyResult) -> None:
    """Show infeasible designs as a cloud, by the constraint that each violates."""
    assert not any(name.startswith("violates") for name in drawn(chrome))
    click(chrome, by_id(chrome, "cloud"))
    traces = drawn(chrome)
    for cut in found.cuts:
        name = f"violates {cut.name.replace('<', '&lt;')}"
        assert sorted(traces[name]) == sorted(cut.first)
    click(chrome, chrome.find_element(By.CSS_SELECTOR, "#details > summary"))
    cells = [e.text for e in chrome.find_elements(By.CSS_SELECTOR, "#cuts-table tbody td")]
    n = found.cuts[0].violated
    assert cells[:2] == ["utilization <= 0.85", f"{n} ({100 * n / 600:.1f}\u2009%)"]
    assert cells[3:] == ["area <= 400 kLUT", "14 (2.3\u2009%)", "5 (0.8\u2009%)"]


def test_box_and_lasso_select_and_undo_takes_it_back(chrome: Chrome, front: pd.DataFrame) -> None:
    for axis, name in (("x", "speedup"), ("y", "break_even")):
        Select(by_id(chrome, f"axis-{axis}")).select_by_visible_text(name)
    assert not by_id(chrome, "log-x").is_selected()
    assert by_id(chrome, "log-y").is_selected()
    select_in_plane(chrome, "select", [(0.2, 0.05), (0.6, 0.6)])
    WebDriverWait(chrome, 10).until(lambda _: chrome.execute_script("return ask.outline"))
    points = np.array(chrome.execute_script("return ask.outline.points"))
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    y = np.log10(front["break_even"].replace(np.inf, 1e9))  # what never does is far from it
    inside = front["speedup"].between(x0, x1) & y.between(y0, y1)
    assert 0 < inside.sum() < len(front)
    shown(chrome, front[inside], len(front))
    assert sorted(drawn(chrome)["not selected"]) == front.index[~inside].tolist()
    click(chrome, by_id(chrome, "keep"))
    out = f"; {(~inside).sum():,} are out of sight"
    shown(chrome, front[inside], int(inside.sum()), out)
    assert "not selected" not in drawn(chrome)
    select_in_plane(chrome, "lasso", [(0.1, 0.1), (0.5, 0.1), (0.5, 0.9), (0.45, 0.2), (0.1, 0.2)])
    WebDriverWait(chrome, 10).until(lambda _: chrome.execute_script("return ask.outline"))
    from_page = chrome.execute_script("return rowsOf(selected).map((row) => designs[row])")
    points = np.array(chrome.execute_script("return ask.outline.points"))
    within = front[inside & _inside(points, front["speedup"].to_numpy(), y.to_numpy())]
    assert 0 < len(within) < inside.sum()
    assert from_page == within.index.tolist()
    click(chrome, by_id(chrome, "exclude"))
    left = front[inside].drop(within.index)
    shown(chrome, left, len(left), f"; {len(front) - len(left):,} are out of sight")
    click(chrome, by_id(chrome, "undo"))
    WebDriverWait(chrome, 10).until(
        lambda _: by_id(chrome, "matches").text.startswith(f"{len(within):,} of {inside.sum():,} ")
    )
    click(chrome, by_id(chrome, "restore"))
    assert f"{len(front):,} designs" in by_id(chrome, "matches").text
    assert "out of sight" not in by_id(chrome, "matches").text


def _inside(points: Any, x: Any, y: Any) -> Any:
    """Tell which points lie in a polygon, by winding number: another way than the page's."""
    turns = np.zeros(len(x), dtype=int)
    for (xi, yi), (xj, yj) in zip(points, np.roll(points, -1, axis=0), strict=True):
        left = (xj - xi) * (y - yi) - (x - xi) * (yj - yi)
        turns += (yi <= y) & (yj > y) & (left > 0)
        turns -= (yi > y) & (yj <= y) & (left < 0)
    return turns != 0


def test_the_address_opens_the_same_view(chrome: Chrome, front: pd.DataFrame, page: Path) -> None:
    open_tab(chrome, "parallel")
    drag(chrome, "acceleration", 0.2, 0.9)
    click(chrome, by_id(chrome, "keep"))
    drag(chrome, "interface", 0.9, 1.0)
    chrome.find_element(By.CSS_SELECTOR, f'{AXIS % "area"} [aria-label^="Hide"]').send_keys(
        Keys.ENTER
    )
    fill(chrome, by_id(chrome, "filter"), "speedup > 3")
    by_id(chrome, "filter").send_keys(Keys.TAB)
    chosen = front.index[[7, 3, 30]].tolist()
    for number in chosen:
        chrome.execute_script("select(designs.indexOf(arguments[0]))", number)
        click(chrome, by_id(chrome, "pin"))
    open_tab(chrome, "plane")
    Select(by_id(chrome, "axis-x")).select_by_visible_text("break_even")
    before = [by_id(chrome, n).text for n in ("matches", "alternatives-table", "design-title")]
    kept, shot = designs(chrome), chrome.execute_script("return snapshot()")
    address = chrome.current_url
    assert address.startswith(page.as_uri() + "#see=")
    chrome.get("about:blank")
    chrome.get(address)
    WebDriverWait(chrome, 60).until(lambda _: chrome.execute_script("return first !== null"))
    assert chrome.execute_script("return snapshot()") == shot
    assert "area" not in chrome.execute_script(AXES)
    after = [by_id(chrome, n).text for n in ("matches", "alternatives-table", "design-title")]
    assert (after, designs(chrome)) == (before, kept)
    assert by_id(chrome, "filter").get_attribute("value") == "speedup > 3"
    assert not by_id(chrome, "lost").is_displayed()
    chrome.execute_script(
        """location.hash = "see=" + encodeURIComponent('{"axes":{"x":["gone"]}}')"""
    )
    WebDriverWait(chrome, 10).until(lambda _: by_id(chrome, "lost").is_displayed())
    assert "does not have: the column gone" in by_id(chrome, "lost").text


def test_pinned_designs_are_alternatives_with_the_rows_that_differ(
    chrome: Chrome, front: pd.DataFrame
) -> None:
    pair = front[front["interface"] == "user-port"].index[[0, 5]].tolist()
    for number in pair:
        chrome.execute_script("select(designs.indexOf(arguments[0]))", number)
        click(chrome, by_id(chrome, "pin"))
    heads = chrome.find_elements(By.CSS_SELECTOR, "#alternatives-table thead th")[1:]
    numbers = [int(head.text.split("design ")[1].rstrip("×")) for head in heads]
    assert "recommended" in heads[0].text
    assert set(numbers) >= {*pair, front["area"].idxmin(), front["speedup"].idxmax()}

    def rows() -> dict[str, list[str]]:
        return {
            str(row.get_attribute("data-name")): [
                cell.text for cell in row.find_elements(By.TAG_NAME, "td")
            ]
            for row in chrome.find_elements(By.CSS_SELECTOR, "#alternatives-table tbody tr")
        }

    shown, compared = rows(), front.loc[numbers]
    variables = ["acceleration", "interface", "schedule_period", "overhead_scale"]
    names = ["speedup", "break_even", "offload_latency", "area", *variables]
    assert list(shown) == [name for name in names if len(set(compared[name])) > 1]
    area = compared["area"] / compared["area"].iloc[0] - 1
    assert "%" not in shown["area"][0]
    for text, change in zip(shown["area"][1:], area.iloc[1:], strict=True):
        if change < 1:
            signed = text.split("LUT ")[1].replace("−", "-").removesuffix("\u2009%")
            assert float(signed) == pytest.approx(100 * change, rel=0.05)
    click(chrome, by_id(chrome, "all-rows"))
    assert set(names) == set(rows())
    more = [n for n in front.index if n not in numbers][:2]
    for number in more:
        chrome.execute_script("pin(designs.indexOf(arguments[0]))", number)
    chrome.execute_script("select(designs.indexOf(arguments[0]))", int(front.index[-1]))
    assert not by_id(chrome, "pin").is_enabled()
    click(chrome, chrome.find_element(By.CSS_SELECTOR, f'[aria-label="Unpin design {pair[0]}"]'))
    assert chrome.execute_script("return pins.map((row) => designs[row])") == [pair[1], *more]


def test_the_selection_leaves_as_csv_and_as_a_narrower_study(
    chrome: Chrome, front: pd.DataFrame, downloads: Path
) -> None:
    text = 'interface == "user-port" and 5 <= acceleration < 20'
    fill(chrome, by_id(chrome, "filter"), text)
    kept = front[(front["interface"] == "user-port") & front["acceleration"].between(5, 19)]
    assert 1 < len(kept) < len(front)
    download(chrome, "export-csv", downloads / "selection.csv")
    told = pd.read_csv(downloads / "selection.csv", index_col="design")
    pd.testing.assert_frame_equal(told, kept, check_dtype=False, check_exact=True)
    text = download(chrome, "export-toml", downloads / "narrowed.toml").read_text("utf-8")
    assert "[space] in a comment stays" in text
    narrow, whole = tomllib.loads(text), tomllib.loads(STUDY)
    assert narrow["study"] == whole["study"] | {"name": "crypto narrowed"}
    assert narrow["objective"] == whole["objective"]
    space = narrow["space"]
    ends = [int(kept["acceleration"].min()), int(kept["acceleration"].max())]
    assert space["acceleration"] == {"integer": ends}
    assert space["interface"] == {"catalog": "interfaces", "options": ["user-port"]}
    grid = np.geomspace(0.1, 1.0, 64)
    low, high = kept["overhead_scale"].min(), kept["overhead_scale"].max()
    inside = grid[(grid >= low) & (grid <= high)]
    assert space["overhead_scale"]["values"] == inside.tolist()


# The table ------------------------------------------------------------------------------------


def test_the_table_chooses_pages_filters_and_sorts(chrome: Chrome, front: pd.DataFrame) -> None:
    rows = chrome.find_elements(By.CSS_SELECTOR, "#front-table tbody tr")
    click(chrome, rows[0])
    assert by_id(chrome, "design-title").text.startswith(f"Design {front.index[0]:,}")
    assert by_id(chrome, "tornado").is_displayed()
    rows[3].send_keys(Keys.ENTER)
    assert by_id(chrome, "design-title").text.startswith(f"Design {front.index[3]:,}")
    assert rows[3].get_attribute("aria-current") == "true"
    command = chrome.find_element(By.CSS_SELECTOR, "#why code").text
    assert command.startswith("dse explain ")
    assert command.endswith(f" --design {front.index[3]}")
    names = "return [...document.querySelectorAll('#front-table thead th button')]"
    script = f"{names}.map((head) => head.textContent.split(' [')[0])"
    heads = chrome.execute_script(script)
    assert "utilization" in heads
    assert "overhead" not in heads
    click(chrome, by_id(chrome, "set-by-options"))
    assert {*chrome.execute_script(script)} - {*heads} == {"overhead", "latency"}
    assert designs(chrome) == front.index[:15].tolist()
    click(chrome, by_id(chrome, "next"))
    assert designs(chrome) == front.index[15:30].tolist()
    text = 'interface == "user-port" and speedup > 10 and area <= 20 kLUT'
    field = by_id(chrome, "filter")
    fill(chrome, field, text)
    is_kept = (front["interface"] == "user-port") & (front["speedup"] > 10)
    kept = front[is_kept & (front["area"] <= 20_000)]
    assert 0 < len(kept) < len(front)
    shown(chrome, kept, len(front))
    fill(chrome, field, " and sped > 1")
    assert by_id(chrome, "wrong").text == (
        "character 67: no column 'sped' (did you mean 'speedup'?)"
    )
    click(chrome, by_id(chrome, "unbrush"))
    check_order(chrome, front)


def check_order(chrome: Chrome, front: pd.DataFrame) -> None:
    """Sort the table by numbers and by text, in both directions."""
    never = int(np.isinf(front["break_even"]).sum())
    assert never
    for name in ("area", "break_even", "acceleration"):
        for way in ("ascending", "descending"):
            click(chrome, head(chrome, name))
            ordered = front.reset_index().sort_values(
                [name, "design"], ascending=[way == "ascending", True]
            )
            assert designs(chrome) == ordered["design"].head(15).tolist()
            sorted_heads = chrome.find_elements(By.CSS_SELECTOR, "#front-table th[aria-sort]")
            assert [h.get_attribute("aria-sort") for h in sorted_heads] == [way]
        if name == "break_even":
            assert column(chrome, name)[:never] == ["never"] * min(15, never)
    assert "never" not in column(chrome, "area")
    head(chrome, "interface").send_keys(Keys.ENTER)
    assert column(chrome, "interface") == sorted(front["interface"])[:15]
    assert chrome.switch_to.active_element.get_property("textContent") == "interface"
