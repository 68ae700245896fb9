"""The report as a reader has it: in a real browser, without a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from dse.explain.explanation import Violation
from dse.model.values import plural
from dse.report import write_report
from tests.browser import (
    click,
    colored_pixels,
    designs,
    open_report,
    open_tab,
)
from tests.report.examples import STUDY_TEXT, explanation, result
from tests.report.visits import Visit, front_of

NASTY = "<script>window.broken = 1</script>"
OPTION = '<img src=x onerror="window.broken = 2">, "port"'


def test_every_plot_is_drawn(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = visit(result(4, 1_500), explained=1_000)
    points = chrome.find_elements(By.CSS_SELECTOR, "#plane .scatterlayer .point")
    held = int(found.designs["feasible"].sum())
    assert len(points) == held + 2  # and the marks of compromise and choice
    assert colored_pixels(chrome, one("#plane")) > 2_000
    for name in ("space", "parallel"):
        plot = open_tab(chrome, name)
        assert colored_pixels(chrome, plot) > 2_000
    assert not one("#plane").is_displayed()
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#regions-0 .scatterlayer .trace")) == 4
    assert chrome.find_elements(By.ID, "convergence-0") == []


@pytest.mark.parametrize(("objectives", "count"), [(1, 600), (2, 600), (6, 4_000)])
def test_any_number_of_objectives(
    chrome: Chrome,
    visit: Visit,
    one: Callable[[str], WebElement],
    objectives: int,
    count: int,
) -> None:
    found = visit(result(objectives, count, sampled=True))
    assert f"of {plural(len(front_of(found)), 'design')}" in one("#matches").text
    rows = chrome.find_elements(By.CSS_SELECTOR, "#best tbody tr")
    assert len(rows) == objectives + (objectives > 1)
    assert one("#convergence-0 .scatterlayer").is_displayed()
    for name in ("space", "parallel", "plane"):
        assert colored_pixels(chrome, open_tab(chrome, name)) > 20


PLACE = """
const at = designs.indexOf(arguments[0]), x = byName.get("speedup"), y = byName.get("area");
const { xaxis, yaxis } = document.getElementById("plane")._fullLayout;
return [xaxis.c2p(x.values[at] / x.scale), yaxis.c2p(y.values[at] / y.scale)];
"""
DOWNLOAD = """
document.querySelector("#plane .modebar-btn[data-title^=Download]").click();
"""


def test_a_front_of_thousands_is_painted_hovered_chosen_and_selected(
    chrome: Chrome,
    visit: Visit,
    one: Callable[[str], WebElement],
    downloads: Path,
) -> None:
    found = visit(result(6, 12_000))
    front = front_of(found)
    assert len(found.designs) > 5_000
    assert len(front) > 1_000
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#plane .scatterlayer .point")) < 10
    for which, name in (("x", "speedup"), ("y", "area")):
        Select(one(f"#axis-{which}")).select_by_visible_text(name)
    assert colored_pixels(chrome, one("#plane")) > 1_000
    best = int(str(front["speedup"].idxmax()))  # plotly's axes say where it should be
    area = one("#plane .nsewdrag")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", area)
    x, y = chrome.execute_script(PLACE, best)
    dx, dy = round(x - area.size["width"] / 2), round(y - area.size["height"] / 2)
    ActionChains(chrome).move_to_element_with_offset(area, dx, dy).perform()
    WebDriverWait(chrome, 20).until(lambda _: one("#tooltip").is_displayed())
    assert one("#tooltip strong").text == f"Design {best}"
    ActionChains(chrome).click().perform()
    WebDriverWait(chrome, 20).until(lambda _: f"Design {best}" in one("#design-title").text)
    chrome.execute_script("arguments[0].click()", one('#plane .modebar-btn[data-val="lasso"]'))
    chain = ActionChains(chrome, duration=20).move_to_element_with_offset(area, dx + 9, dy + 9)
    for step in ((0, -60), (-60, 0), (0, 70)):
        chain = (chain.click_and_hold() if step == (0, -60) else chain).move_by_offset(*step)
    chain.release().perform()
    WebDriverWait(chrome, 20).until(lambda _: chrome.execute_script("return ask.outline"))
    chosen = chrome.execute_script("return rowsOf(selected).map((row) => designs[row])")
    assert best in chosen
    assert len(chosen) < len(front) / 2
    painted = chrome.execute_script("return dots.layers.at(-1).rows.map((row) => designs[row])")
    assert painted == chosen
    chrome.execute_script(DOWNLOAD)
    WebDriverWait(chrome, 20).until(lambda _: (downloads / "front.png").exists())
    policy = one("meta[http-equiv]").get_attribute("content")
    assert "unsafe-eval" not in str(policy)
    click(chrome, one("#unbrush"))
    Select(one("#page-size")).select_by_visible_text("200")
    assert len(designs(chrome)) == 200


def test_far_dominated_designs_do_not_crush_the_front(chrome: Chrome, visit: Visit) -> None:
    found = result(4, 600)
    far = found.designs.index[found.designs["feasible"] & ~found.designs["on_front"]][0]
    found.designs.loc[far, "break_even"] = 1e12
    visit(found)
    Select(chrome.find_element(By.ID, "axis-y")).select_by_visible_text("break_even")
    shown = chrome.execute_script("return document.getElementById('plane').layout.yaxis.range")
    front = np.log10(front_of(found)["break_even"][lambda values: np.isfinite(values)])
    assert shown[0] < front.min()
    assert front.max() < shown[1] < 11


def test_hover_names_every_input_and_objective(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = visit(result(4, 300))
    drawn = "#plane .scatterlayer .trace .point"
    WebDriverWait(chrome, 20).until(lambda _: len(chrome.find_elements(By.CSS_SELECTOR, drawn)) > 3)
    point = chrome.find_elements(By.CSS_SELECTOR, drawn)[-3]
    ActionChains(chrome).move_to_element(point).perform()
    WebDriverWait(chrome, 20).until(lambda _: one("#tooltip").is_displayed())
    design = int(one("#tooltip strong").text.removeprefix("Design ").replace(",", ""))
    row = found.designs.loc[design]
    lines = chrome.find_elements(By.CSS_SELECTOR, "#tooltip tr")
    told = {
        cells[0].text: cells[1].text
        for cells in (line.find_elements(By.TAG_NAME, "td") for line in lines)
    }
    assert set(told) == set(found.columns)
    assert told["interface"] == row["interface"]
    assert told["acceleration"] == str(row["acceleration"])
    assert told["latency"] == f"{row['latency']:,.4g} cycle"
    assert float(told["speedup"].replace(",", "")) == pytest.approx(row["speedup"], rel=1e-3)
    ActionChains(chrome).move_to_element(one("h1")).perform()
    WebDriverWait(chrome, 20).until(lambda _: not one("#tooltip").is_displayed())


def test_hover_in_space_and_on_parallel_lines(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = visit(result(4, 1_200))
    for name in ("space", "parallel"):
        plot = open_tab(chrome, name)
        size = plot.size
        for share in np.linspace(-0.42, 0.42, 60):  # along a diagonal until a design is met
            x, y = int(share * size["width"]), int(-share * size["height"] * 0.7)
            ActionChains(chrome, duration=5).move_to_element_with_offset(plot, x, y).perform()
            if one("#tooltip").is_displayed():
                break
        assert all(each in one("#tooltip").text for each in found.columns), name


def test_a_click_chooses_a_design_and_shows_its_bottlenecks(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = visit(result(2, 300), explained=1_000)
    before = one("#design-title").text
    target = chrome.find_elements(
        By.CSS_SELECTOR, "#plane .scatterlayer .trace:nth-child(2) .point"
    )
    ActionChains(chrome).move_to_element(target[0]).click().perform()
    WebDriverWait(chrome, 20).until(lambda _: one("#design-title").text != before)
    number = one("#design-title").text.split()[1]
    assert int(number.replace(",", "")) in front_of(found).index
    assert one("#limits-title").text == f"What limits design {number}"
    advised = one("#verdict").text
    assert f"interface slow → quick (design {int(number.replace(',', '')) + 1})" in advised
    row = found.designs.loc[int(number.replace(",", ""))]
    assert str(row["interface"]) in one("#design-values").text
    lines = one("#bottlenecks tbody").text
    assert "speedup" in lines
    assert "×" in lines
    below = chrome.find_elements(By.CSS_SELECTOR, "#bottlenecks tr.below")
    assert below
    assert not below[0].is_displayed()
    click(chrome, one("#bottlenecks p button"))
    assert below[0].is_displayed()
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#design .bar")) == 2


def test_axes_are_chosen(chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]) -> None:
    visit(result(4, 300, option=OPTION))
    assert one("#plane .ytitle").text == "speedup at 1 KiB · higher is better"
    Select(one("#axis-y")).select_by_visible_text("break_even")
    assert one("#log-y").is_selected()
    assert one("#plane .ytitle").text == "break_even [B] · lower is better"
    Select(one("#axis-x")).select_by_visible_text("interface")
    Select(one("#axis-color")).select_by_visible_text("interface")
    ticks = chrome.find_elements(By.CSS_SELECTOR, "#plane .xtick text")
    assert OPTION in {tick.text for tick in ticks}
    assert not one("#log-x").is_enabled()
    names = chrome.find_elements(By.CSS_SELECTOR, "#plane .legendtext")
    assert OPTION in {name.text for name in names}
    open_tab(chrome, "parallel")
    ticks = chrome.find_elements(By.CSS_SELECTOR, "#parallel .axis text")
    assert f"{OPTION[:15]}…" in {tick.text for tick in ticks}


def test_names_of_users_stay_text(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    visit(result(3, 300, name=NASTY, option=OPTION))
    assert one("h1").text == NASTY
    assert chrome.title.startswith(NASTY)
    assert chrome.find_elements(By.TAG_NAME, "img") == []
    click(chrome, one("details:has(#study-text) summary"))
    assert one("#study-text").text == STUDY_TEXT.strip()


def test_the_policy_stops_what_would_leave_the_page(chrome: Chrome, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(result(2, 200), [], path, STUDY_TEXT)
    open_report(chrome, path)
    script = """
    const done = arguments[0], stopped = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      stopped.push(event.effectiveDirective);
      if (stopped.length === 2) done(stopped.sort());
    });
    document.body.append(Object.assign(new Image(), { src: "http://127.0.0.1:9/pixel.png" }));
    document.body.append(Object.assign(document.createElement("script"), { text: "broken = 3" }));
    """
    assert chrome.execute_async_script(script) == ["img-src", "script-src-elem"]
    assert chrome.execute_script("return window.broken") is None


def test_a_report_without_a_front_says_so(
    chrome: Chrome, visit: Visit, one: Callable[[str], WebElement]
) -> None:
    found = result(2, 100)
    found.designs["feasible"] = False
    found.designs["on_front"] = False
    visit(found, 1)
    assert "No feasible design was found." in one("#best").text
    assert not one("#front").is_displayed()


def test_a_thinned_front_is_said_to_be_one(
    chrome: Chrome,
    visit: Visit,
    one: Callable[[str], WebElement],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dse.report.payload.HELD", 200)
    found = visit(result(6, 4_000), 5)
    total = f"{len(front_of(found)):,}"
    assert f"This page holds 200 of {total} designs" in one("#thinned").text
    assert one("#matches").text == "200 of 200 designs on this page"
    assert one("#download").text == "Download the 200 on this page (CSV)"
    names = chrome.find_elements(By.CSS_SELECTOR, "#plane .legendtext")
    assert f"front (200 of {total})" in {name.text for name in names}


def test_an_infeasible_design_is_called_so_and_not_dominated(
    chrome: Chrome, tmp_path: Path, one: Callable[[str], WebElement]
) -> None:
    found = result(2, 100)
    number = int(found.designs.index[~found.designs["feasible"]][0])
    violated = (Violation("utilization <= 0.85", "1", 0.9, 0.05),)
    told = replace(explanation(found, number), violations=violated)
    write_report(found, [told], tmp_path / "report.html", STUDY_TEXT)
    open_report(chrome, tmp_path / "report.html")
    row = chrome.execute_script("return designs.indexOf(arguments[0])", number)
    chrome.execute_script("select(arguments[0])", row)
    assert [b.text for b in chrome.find_elements(By.CSS_SELECTOR, ".badge")] == ["infeasible"]
    assert "utilization <= 0.85 is violated by 0.05" in one("#verdict").text
    script = "return document.getElementById('plane').data.map((d) => [d.name, d.customdata])"
    drawn = dict(chrome.execute_script(script))
    assert row not in drawn["dominated"]
    assert drawn["infeasible"] == [row]
