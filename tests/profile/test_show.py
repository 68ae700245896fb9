"""A profile as text and as a page, also at its extremes."""

from __future__ import annotations

import io
import json
from html import escape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from dse.profile.document import Block, Edge, Profile
from dse.profile.show.page import LARGEST, control_flow, function_rows, page
from dse.profile.show.text import print_profile
from tests.browser import browser, console, requests
from tests.profile.examples import hollow_profile

PROFILES = Path(__file__).parents[2] / "studies" / "profiles"
SOR, ROTATE = PROFILES / "sor.json", PROFILES / "rotate" / "recursive-064.json"


def shown(**changed: Any) -> tuple[Profile, str]:
    profile = Profile.model_validate(json.loads(SOR.read_text()) | changed)
    text = io.StringIO()
    print_profile(profile, Console(file=text, width=100))
    return profile, text.getvalue()


def test_the_text_shows_functions_blocks_and_the_matrix() -> None:
    _, text = shown()
    for words in ("hot functions, by computation", "hot blocks", "bytes moved", "sweep", "sor.c"):
        assert words in text
    assert "bytes moved: none" not in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_terminal_and_cut_no_number(width: int) -> None:
    text = io.StringIO()
    print_profile(Profile.load(ROTATE), Console(file=text, width=width))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    cells = [cell.strip() for line in lines if line.startswith("│") for cell in line.split("│")[2:]]
    assert not any("…" in cell for cell in cells)
    assert any("a wider terminal also shows" in line for line in lines) == (width == 60)


def test_a_program_that_passes_nothing_on_or_of_which_nothing_ran_is_shown() -> None:
    profile, text = shown(transfers=[])
    assert "bytes moved: none" in text
    assert "sweep" in text
    assert "sweep" in page(profile)
    functions = json.loads(SOR.read_text())["functions"]
    profile, text = shown(functions=[{**function, "invocations": 0} for function in functions])
    assert "hot functions, by computation and bytes in and out" in text
    assert "sor.c" in page(profile)


def test_work_in_libraries_is_shown_at_the_function_that_calls_them() -> None:
    content = json.loads(SOR.read_text())
    works = [{"library": "libm.so.6", "instructions": n} for n in (7_000_000, 89)]
    functions = [
        function
        | {"instructions": 1_000, "libraries": works if function["name"] == "sweep" else []}
        for function in content["functions"]
    ]
    run = content["run"] | {"libraries_counted": True}
    for changed, there in (({"functions": functions, "run": run}, True), ({}, False)):
        profile, text = shown(**changed)
        for whole in (text, page(profile)):
            assert ("7,000,089" in whole) == there
        assert (">in libraries<" in page(profile)) == there


def test_the_page_shows_the_source_as_it_is_written() -> None:
    content = json.loads(SOR.read_text())
    hot = max(content["blocks"], key=lambda block: block["executions"] * block["area"])
    nasty = "</code><script>alert('&')</script>"
    profile, _ = shown(lines=[{"file": "sor.c", "line": hot["line"], "text": nasty}])
    whole = page(profile)
    assert nasty not in whole
    assert f"<code>{escape(nasty)}</code>" in whole.replace("&#39;", "&#x27;")
    assert f"sor.c:{hot['line']}" in whole
    assert "Lines that execute most" not in page(shown(lines=[])[0])
    for words in ('id="tree"', 'id="transfers"', "<svg viewBox", "for.body"):
        assert words in whole
    assert "http" not in whole.replace("http-equiv", "")
    renamed = profile.dumps().replace("sweep", "<script>alert(1)</script>")
    hostile = page(Profile.model_validate_json(renamed))
    assert "<script>alert" not in hostile
    assert "&lt;script&gt;alert" in hostile


def test_the_page_has_the_reports_style_and_policy(tmp_path: Path) -> None:
    """In both themes, without a request; its script runs under the policy; nothing is cut."""
    path = tmp_path / "profile.html"
    path.write_text(page(Profile.load(SOR)))
    with browser(tmp_path) as chrome:
        grounds = []
        for scheme, width in (("light", 1400), ("dark", 1400), ("light", 700)):
            size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
            chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
            chrome.get(path.as_uri())
            ground = "return getComputedStyle(document.body).backgroundColor"
            grounds.append(chrome.execute_script(ground))
            wide = "const e = document.documentElement; return e.scrollWidth - e.clientWidth"
            assert chrome.execute_script(wide) == 0, width
            assert "double mean = 0.25 *" in chrome.find_element(By.ID, "lines").text
        Select(chrome.find_element(By.ID, "choose")).select_by_index(1)
        assert chrome.find_element(By.ID, "graph-2").is_displayed()
        assert not chrome.find_element(By.ID, "graph-1").is_displayed()
        assert grounds == ["rgb(245, 246, 248)", "rgb(20, 24, 30)", "rgb(245, 246, 248)"]
        search_and_sort(chrome, Profile.load(SOR))
        assert console(chrome) == []
        assert {url for url in requests(chrome) if url[:4] != "data"} == {path.as_uri()}


def search_and_sort(chrome: Any, profile: Profile) -> None:
    """Search the table of functions on the open page, and sort it by misses of L1."""
    shown = "return [...document.querySelectorAll('#functions tbody tr:not([hidden])')]"
    names = f"{shown}.map(row => row.dataset.name)"
    rows = {row.function.name: row for row in function_rows(profile)}
    assert set(chrome.execute_script(names)) == {*rows}
    [heading] = [
        b
        for b in chrome.find_elements(By.CSS_SELECTOR, "#functions th button")
        if b.text == "beyond L1"
    ]
    heading.click()
    misses = [rows[name].beyond_l1 for name in chrome.execute_script(names)]
    assert misses == sorted(misses, reverse=True)
    assert misses[0] > 0
    heading.click()
    misses = [rows[name].beyond_l1 for name in chrome.execute_script(names)]
    assert misses == sorted(misses)
    chrome.find_element(By.CSS_SELECTOR, "input[data-table=functions]").send_keys("SWEEP")
    assert chrome.execute_script(names) == ["sweep"]


def test_functions_have_the_accesses_and_misses_of_their_loads_and_stores() -> None:
    profile = Profile.load(SOR)
    rows = function_rows(profile)
    for at, figure in enumerate(("accesses", "beyond_l1", "beyond_l2")):
        whole = sum(sum(access.hits[0][at:]) for access in profile.accesses)
        assert sum(getattr(row, figure) for row in rows) == whole


def chain(count: int) -> Profile:
    """Return a program of one function whose blocks follow each other; the last ones are hot."""
    main = Profile.load(SOR).functions[0].model_copy(update={"name": "main", "entry": 0})
    block = {"function": "main", "line": 1, "exits": 0, "area": 1, "instructions": {}}
    blocks = [{**block, "id": i, "name": f"b{i}", "executions": i + 1} for i in range(count)]
    return hollow_profile(
        functions=(main,),
        blocks=tuple(map(Block.model_validate, blocks)),
        edges=tuple(Edge(source=i, to=i + 1, count=1) for i in range(count - 1)),
    )


def test_the_hottest_function_is_drawn_however_large() -> None:
    profile = chain(LARGEST + 100)
    (graph,) = control_flow(profile)
    assert (graph.name, graph.blocks, graph.shown) == ("main", LARGEST + 100, LARGEST)
    assert ">b0<" in graph.drawing  # its entry
    assert f">b{LARGEST + 99}<" in graph.drawing  # what executes most
    assert ">b50<" not in graph.drawing
    assert f"the {LARGEST} of {LARGEST + 100} blocks that execute most" in page(profile)
    (whole,) = control_flow(chain(20))
    assert whole.shown == whole.blocks == 20
    assert "blocks that execute most" not in page(chain(20))
