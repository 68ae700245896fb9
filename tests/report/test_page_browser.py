"""The report as a reader has it, in a real browser without a network: pictures, words, layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

import dse
from dse.api import StudyResult
from dse.explain.explanation import Violation
from dse.model.section import Heatmap, Lines, Section, Table
from dse.model.values import plural
from dse.report.page import write_report
from dse.result.record import Cut
from tests.browser import (
    click,
    colored_pixels,
    console,
    designs,
    download,
    open_report,
    open_tab,
)
from tests.report.examples import NASTY, OPTION, STUDY_TEXT, Visit, explanation, result

ROOT = Path(__file__).parents[2]
One = Callable[[str], WebElement]
PLACE = """
const at = designs.indexOf(arguments[0]), x = byName.get("speedup"), y = byName.get("area");
const { xaxis, yaxis } = document.getElementById("plane")._fullLayout;
return [xaxis.c2p(x.values[at] / x.scale), yaxis.c2p(y.values[at] / y.scale)];
"""
DOWNLOAD = """
document.querySelector("#plane .modebar-btn[data-title^=Download]").click();
"""
CUT = """
const tables = document.querySelectorAll(".scroll, .panels, .facts, .card");
const named = (element) => element.id || element.querySelector("[id]")?.id || element.className;
return {
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  cut: [...tables].filter((each) => each.offsetParent !== null
      && !each.querySelector("#front-table, #model-graph, #parallel, #alternatives-table")
      && each.scrollWidth > each.clientWidth + 1).map(named),
};
"""


def texts(chrome: Chrome, selector: str) -> list[str]:
    return [each.text for each in chrome.find_elements(By.CSS_SELECTOR, selector)]


def number_of(title: str) -> int:
    """Return the number in the title of a design."""
    return int(title.split()[1].replace(",", ""))


def is_shown(chrome: Chrome, selector: str) -> None:
    """Wait until an element is displayed."""
    found = chrome.find_element(By.CSS_SELECTOR, selector)
    WebDriverWait(chrome, 20).until(lambda _: found.is_displayed())


# Pictures -------------------------------------------------------------------------------------


def test_every_plot_is_drawn_and_hover_and_words_name_what_they_show(
    chrome: Chrome, found: StudyResult, front: pd.DataFrame, one: One
) -> None:
    assert len(front)
    check_words(chrome, one)
    points = chrome.find_elements(By.CSS_SELECTOR, "#plane .scatterlayer .point")
    held = int(found.designs["feasible"].sum())
    assert len(points) == held + 2  # and the marks of Nash design and choice
    assert colored_pixels(chrome, one("#plane")) > 2_000
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#regions-0 .scatterlayer .trace")) == 1
    assert chrome.find_elements(By.ID, "convergence-0") == []
    check_hover(chrome, found, one)
    assert not one("#plane").is_displayed()
    assert colored_pixels(chrome, one("#parallel")) > 2_000


def check_words(chrome: Chrome, one: One) -> None:
    """Read the first screen."""
    click(chrome, one("#details > summary"))
    side = one("#chosen").text
    for words in (
        "speedup at 1 KiB",
        "host time over accelerated time",
        "Inputs set by options",
    ):
        assert words in side
    order = [each.get_attribute("id") for each in chrome.find_elements(By.TAG_NAME, "section")]
    wanted = ["answer", "alternatives", "tradeoffs", "why", "callsize", "importance", "confidence"]
    assert [name for name in order if name in wanted] == wanted
    assert "of the designs" not in one("#files").text
    assert "designs.csv" in one("#files").text
    regions = one(".regions table").text
    assert "latency, acceleration" in regions
    assert not {"L", "A", "LA"} & set(regions.split())
    ticks = chrome.execute_script("return document.getElementById('plane').layout")
    assert ticks["xaxis"]["title"]["text"].startswith("area [LUT]")
    assert ticks["yaxis"]["title"]["text"].startswith("speedup at 1 KiB")


def check_hover(chrome: Chrome, found: StudyResult, one: One) -> None:
    """Hover over a point and over a line: ten rows name objectives and variables."""
    drawn = "#plane .scatterlayer .trace .point"
    WebDriverWait(chrome, 20).until(lambda _: len(chrome.find_elements(By.CSS_SELECTOR, drawn)) > 3)
    point = chrome.find_elements(By.CSS_SELECTOR, drawn)[-3]
    ActionChains(chrome).move_to_element(point).perform()
    is_shown(chrome, "#tooltip")
    row = found.designs.loc[number_of(one("#tooltip strong").text)]
    cells = texts(chrome, "#tooltip td")
    told = dict(zip(cells[::2], cells[1::2], strict=True))
    assert len(told) == 10
    roles = {name: found.columns[name].role for name in told}
    assert [*roles.values()].count("objective") == [*roles.values()].count("variable") == 4
    assert told["interface"] == row["interface"]
    assert told["acceleration"] == str(row["acceleration"])
    assert float(told["speedup"].replace(",", "")) == pytest.approx(row["speedup"], rel=1e-3)
    ActionChains(chrome).move_to_element(one("h1")).perform()
    WebDriverWait(chrome, 20).until(lambda _: not one("#tooltip").is_displayed())
    plot = open_tab(chrome, "parallel")
    size = plot.size
    for share in np.linspace(-0.42, 0.42, 60):  # along a diagonal until a design is met
        x, y = int(share * size["width"]), int(-share * size["height"] * 0.7)
        ActionChains(chrome, duration=5).move_to_element_with_offset(plot, x, y).perform()
        if one("#tooltip").is_displayed():
            break
    assert all(each in one("#tooltip").text for each in told)


def test_one_objective(chrome: Chrome, visit: Visit, one: One) -> None:
    total = len(visit(result(1, 600, sampled=True)).front)
    assert f"of {plural(total, 'design')}" in one("#matches").text
    check_counts(chrome, one, 1)


def check_counts(chrome: Chrome, one: One, objectives: int) -> None:
    """Read the tiles, and draw the search and both views."""
    assert len(texts(chrome, "#tiles .tile")) == objectives
    click(chrome, one("#details > summary"))
    drawn = "#convergence-0 .scatterlayer"
    WebDriverWait(chrome, 20).until(lambda _: chrome.find_elements(By.CSS_SELECTOR, drawn))
    for name in ("parallel", "plane"):
        assert colored_pixels(chrome, open_tab(chrome, name)) > 20


def test_equal_designs_are_one_point_and_a_click_shows_the_bottlenecks_of_a_design(
    chrome: Chrome, visit: Visit, one: One
) -> None:
    made = result(2, 300)
    (first, copy), names = made.front.designs.index[:2], [o.name for o in made.objectives]
    designs = made.designs.copy()
    designs.loc[copy, names] = designs.loc[first, names].to_numpy()
    made = replace(made, designs=designs)
    number = int(made.designs.index[~made.designs["feasible"]][0])
    violated = (Violation("utilization <= 0.85", "1", 0.9, 0.05),)
    explained = [explanation(made, int(number)) for number in made.front.designs.index]
    explained.append(replace(explanation(made, number), violations=violated))
    visit(made, explained)
    count = len(made.front)
    assert one("#matches").text == f"{count} of {count} designs ({count - 1} distinct)"
    of_front = "return document.getElementById('plane').data"
    script = f"{of_front}.filter(({{ marker }}) => !/open/.test(marker.symbol))"
    drawn = chrome.execute_script(f"{script}.flatMap((each) => each.customdata)")
    front = chrome.execute_script("return data.front")
    assert sum(row < front for row in drawn) == count - 1
    searched = str(one("#search .facts").get_attribute("textContent"))
    assert "distinct on the front" in " ".join(searched.split())
    check_click(chrome, made, one)
    check_infeasible(chrome, number, one)


def check_click(chrome: Chrome, made: StudyResult, one: One) -> None:
    front = made.front.designs
    before = one("#design-title").text
    script = "return plane.data.findIndex(({ name }) => name.startsWith('front'))"
    place = 1 + int(chrome.execute_script(script))
    point = one(f"#plane .scatterlayer .trace:nth-child({place}) .point")
    ActionChains(chrome).move_to_element(point).click().perform()
    WebDriverWait(chrome, 20).until(lambda _: one("#design-title").text != before)
    number = number_of(one("#design-title").text)
    change = one("#what-if tbody tr").text
    assert change.startswith("interface slow → quick")
    assert f"design {number + 1}" in change
    assert change.endswith("2 ×2")  # the speedup doubles
    assert str(front.loc[number, "interface"]) in str(
        one("#design-values").get_attribute("textContent")
    )
    assert texts(chrome, "#tornado thead th")[2:] == ["speedup"]
    gains = texts(chrome, "#tornado tbody tr")
    assert 1 <= len(gains) <= 8
    assert "×" in gains[0]
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#why .bar")) == 2
    column = f"design {number}"
    assert any(column in head for head in texts(chrome, "#alternatives-table thead th"))


def check_infeasible(chrome: Chrome, number: int, one: One) -> None:
    """Choose an infeasible design: it is called so, and not dominated."""
    row = chrome.execute_script("return designs.indexOf(arguments[0])", number)
    chrome.execute_script("select(arguments[0])", row)
    assert texts(chrome, ".badge") == ["infeasible"]
    assert "utilization <= 0.85 is violated by 0.05" in one("#fields").text
    script = "return document.getElementById('plane').data.map((d) => [d.name, d.customdata])"
    drawn = dict(chrome.execute_script(script))
    assert row not in drawn["dominated"]
    assert drawn["infeasible"] == [row]


def test_a_front_of_thousands_is_painted_hovered_chosen_and_selected(
    chrome: Chrome, visit: Visit, one: One, downloads: Path
) -> None:
    front = visit(result(6, 6_500)).front.designs
    assert len(front) > 1_000
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#plane .scatterlayer .point")) < 10
    for which, name in (("x", "speedup"), ("y", "area")):
        Select(one(f"#axis-{which}")).select_by_visible_text(name)
    assert colored_pixels(chrome, one("#plane")) > 1_000
    click(chrome, one("#dominated"))  # one of them is within a pixel of the best
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


def test_a_thinned_front_axes_are_chosen_and_names_of_users_stay_text(
    chrome: Chrome,
    visit: Visit,
    one: One,
    downloads: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dse.report.payload.HELD", 200)
    front = visit(result(6, 600, name=NASTY, option=OPTION, sampled=True)).front.designs
    assert len(front) > 200
    assert f"This page holds 200 of {len(front):,} designs" in one("#thinned").text
    assert one("#matches").text == "200 of 200 designs on this page"
    assert one("#download").get_attribute("title") == "The 200 designs on this page"
    assert f"front (200 of {len(front):,})" in texts(chrome, "#plane .legendtext")
    table = pd.read_csv(
        download(chrome, "download", downloads / "front-some.csv"), index_col="design"
    )
    held = front.loc[table.index]
    assert len(held) == 200
    pd.testing.assert_frame_equal(table, held, check_dtype=False, check_exact=True)
    assert one("h1").text == NASTY
    assert chrome.title.startswith(NASTY)
    assert chrome.find_elements(By.TAG_NAME, "img") == []
    check_counts(chrome, one, 6)
    assert one("#study-text").text == STUDY_TEXT.strip()
    open_tab(chrome, "plane")
    assert one("#plane .ytitle").text == "speedup at 1 KiB · higher is better"
    Select(one("#axis-y")).select_by_visible_text("break_even")
    assert one("#log-y").is_selected()
    assert one("#plane .ytitle").text == "break_even [B] · lower is better"
    Select(one("#axis-x")).select_by_visible_text("interface")
    Select(one("#axis-color")).select_by_visible_text("interface")
    assert OPTION in texts(chrome, "#plane .xtick text")
    assert not one("#log-x").is_enabled()
    assert OPTION in texts(chrome, "#plane .legendtext")
    open_tab(chrome, "parallel")
    assert f"{OPTION[:15]}…" in texts(chrome, "#parallel .axis text")


def test_the_curves_of_a_study(chrome: Chrome, tmp_path: Path, one: One) -> None:
    dse.load(ROOT / "studies" / "shared_pipeline.toml").run(tmp_path / "run")
    open_report(chrome, tmp_path / "run" / "report.html")
    assert one("#sentence").text == "Build an accelerator: schedule period 3."
    diagram = one("#diagram svg").get_attribute("aria-label")
    assert diagram == "8 streams → accelerator"
    assert chrome.execute_script("return [chosen.row, chosen.role]") == [
        *(chrome.execute_script("return data.start"), "recommended")
    ]
    WebDriverWait(chrome, 10).until(lambda _: texts(chrome, "#curve-0 .legendtext"))
    plot = one("#curve-0")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    names = ["latency_printed", "latency", "latency_simulated"]
    assert texts(chrome, "#curve-0 .legendtext") == names
    abouts = chrome.find_elements(By.CSS_SELECTOR, "#curve-0 .legend .traces title")
    assert abouts[1].get_attribute("textContent") == (
        "latency: exact mean latency, from arrival to the end of the pipeline"
    )
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#curve-0 .shapelayer path")) == 1
    assert colored_pixels(chrome, plot) > 1_000
    marked = set(texts(chrome, "#curve-0 .annotation-text"))
    at_load = {"186.9 ns at 5", "211.2 ns at 4"}, {"112.3 ns at 2", "141.1 ns at 2"}
    assert "this design" in marked
    assert any(marked >= least for least in at_load)  # whichever load the Nash design is at
    assert len(texts(chrome, "#importance-table tbody tr")) == len(texts(chrome, ".slice"))
    assert texts(chrome, ".slice")
    rows = texts(chrome, ".curve tbody tr")
    assert [row.split()[0] for row in rows] == 2 * names  # a curve per load
    assert console(chrome) == []


# States of a run ------------------------------------------------------------------------------


def test_a_report_without_a_front_says_so_and_offers_no_narrower_study(
    visit: Visit, one: One
) -> None:
    made = result(2, 100)
    made.designs[["feasible", "on_front"]] = False
    visit(made)
    assert not one("#export-toml").is_displayed()
    assert one("#sentence").text == "No feasible design was found."
    assert not one("#tradeoffs").is_displayed()


# Layout ---------------------------------------------------------------------------------------


def set_width(chrome: Chrome, width: int) -> None:
    """Give the page so many pixels; a window has a frame."""
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def check_policy(chrome: Chrome) -> None:
    """Try to leave the open page: its policy stops that."""
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
    assert len(console(chrome)) == 2


def check_layout(chrome: Chrome, one: One) -> None:
    """Widen a page that was opened narrow: nothing is cut, and the plot fills its card."""
    for width in (700, 1280):
        set_width(chrome, width)
        assert chrome.execute_script(CUT) == {"page": 0, "cut": []}, width
        card, ends = one("#picture").rect, [one("#hint").rect, one("#multiples").rect]
        low = max(end["y"] + end["height"] for end in ends)
        assert card["y"] + card["height"] - low < 25, width
        drawn = one("#plane .main-svg").rect["height"]
        assert drawn >= one("#view").rect["height"] - 2, width


@pytest.mark.usefixtures("any_width")
def test_long_tables_fold_long_words_wrap_and_numbers_stay_in_their_cells(
    chrome: Chrome, tmp_path: Path, one: One
) -> None:
    requirement = (
        "the engine's slots of a stream carry the calls it is offered: utilization < 1, " * 2
    )
    made = replace(result(4, 500), cuts=(Cut(f"{requirement}required by a.b:c", 40, 7, ()),))
    functions = pd.DataFrame(
        {
            "function": [f"function_{i}" for i in range(40)],
            **{f"share of column {i}": [0.5, 1.25] * 20 for i in range(8)},
            "reason": ["its accelerator takes 12 times as long as it may, and that is long"] * 40,
        }
    )
    line = Lines("alone", "x", "y", [("a", [1.0, 900.0], [1.0, 2.0])], log_x=True)
    values = [[3.0, 0.00781] * 10, [0.00783, 2.0] * 10]
    heat = Heatmap("m", ["a", "b"], [f"f{i}" for i in range(20)], values)
    sections = [Section("Functions", "", [Table("t", functions), line]), Section("m", "", [heat])]
    path = tmp_path / "report.html"
    write_report(made, [], path, STUDY_TEXT, sections)
    set_width(chrome, 1400)
    open_report(chrome, path)
    click(chrome, one("#details > summary"))
    for width in (1400, 700):
        set_width(chrome, width)
        assert one("#cuts-table").rect["width"] <= one("#cuts").rect["width"], width
        section = one("#models .card")
        rows = [row for row in section.find_elements(By.CSS_SELECTOR, "tbody tr") if row.text]
        assert len(rows) == 12
        assert max(row.rect["height"] for row in rows) < 120, width  # four lines of words
        assert rows[0].text.split()[1:4] == ["0.50"] * 3  # one count of decimals a column
        plot = section.find_element(By.CSS_SELECTOR, ".plot")
        assert plot.rect["width"] > section.rect["width"] - 50, width
        cells = chrome.find_elements(By.CSS_SELECTOR, "#models .heat tbody tr:first-child td")
        assert [cell.text for cell in cells] == ["3", "0.00781"] * 10
        wide = "return arguments[0].scrollWidth <= arguments[0].clientWidth"
        assert all(chrome.execute_script(wide, cell) for cell in cells), width
    click(chrome, section.find_element(By.CSS_SELECTOR, ".scroll > button"))
    rows = [row for row in section.find_elements(By.CSS_SELECTOR, "tbody tr") if row.text]
    assert len(rows) == 40
    title = "speedup, mean over programs of a workload at shared_penalty = 0 · <higher> is better"
    lines = chrome.execute_script("return titleOf('y', arguments[0])", title).split("<br>")
    assert [len(line) < 60 for line in lines] == [True] * 3
    assert lines[-1] == "&lt;higher&gt; is better"
    assert {"1", "2", "5", "10", "500"} <= set(texts(chrome, "#models .xtick"))  # each in full
    assert console(chrome) == []
