"""The reader's preferences: the page recommends as Python does, and keeps what was set."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

import dse
from dse.api import StudyResult
from dse.evaluate.front import find_nash_design
from dse.report.overview import EMPTY
from dse.report.page import write_report
from tests.browser import click, download, open_report
from tests.report.examples import STUDY
from tests.report.test_linked_browser import by_id


def recommended(chrome: Chrome) -> str:
    """Return the head of the first column of the alternatives."""
    return chrome.find_element(By.CSS_SELECTOR, "#alternatives-table thead th:nth-child(2)").text


def preferred(found: StudyResult, preferences: dict[str, Any]) -> int:
    """Return the number of the design that Python recommends under some preferences."""
    front = found.front
    among = np.ones(len(front), dtype=bool)
    for name, bound in preferences["bounds"].items():
        values = front.designs[name].to_numpy()
        objective = next(o for o in found.objectives if o.name == name)
        among &= values <= bound if objective.direction == "minimize" else values >= bound
    for name, options in preferences["excluded"].items():
        among &= ~front.designs[name].isin(options).to_numpy()
    assert among.any()
    objectives = [replace(o, weight=preferences["weights"][o.name]) for o in found.objectives]
    return int(front.designs.index[find_nash_design(front.points, objectives, among)])


def test_a_front_without_a_beneficial_design_recommends_to_build_nothing(
    chrome: Chrome, found: StudyResult, tmp_path: Path
) -> None:
    numbers = frozenset(found.front.designs.index.tolist())
    path, overview = tmp_path / "report.html", {**EMPTY, "rejected": numbers, "main": "speedup"}
    write_report(found, [], path, STUDY, overview=overview)
    open_report(chrome, path)
    best = int(str(found.front.best("speedup").name))
    lines = by_id(chrome, "sentence").text.splitlines()
    assert lines[0] == "Build nothing."
    assert lines[1].startswith(f"Design {best} has the best speedup: ")
    assert "nearest" in recommended(chrome)
    shown = by_id(chrome, "lines").text
    assert "Confidence" in shown and "Next step" not in shown


def test_the_page_and_the_saved_study_recommend_as_the_run_does(
    chrome: Chrome, run: Path, downloads: Path
) -> None:
    """Preferences of a study are the page's first, and a saved study has the page's last ones."""
    result, folder = dse.load_result(run.parent), run.parents[1]
    open_report(chrome, run)
    now = "return [designs[chosen.row], chosen.role]"
    (first,) = result.answer().designs[:1]
    lines = by_id(chrome, "lines").text
    assert result.answer().next_step in lines
    assert chrome.execute_script(now) == [first.design, "recommended"]
    assert not by_id(chrome, "reset-preferences").is_enabled()
    change = """
    preferences.weights.cost = 2;
    preferences.bounds.speed = 1.5;
    preferences.excluded.lanes.push("2");
    followPreferences();
    document.getElementById("preferences").open = true;
    """
    chrome.execute_script(change)
    design, role = chrome.execute_script(now)
    assert design != first.design
    assert role == "recommended"
    saved = folder / "saved.toml"
    saved.write_bytes(download(chrome, "save-study", downloads / "study.toml").read_bytes())
    again = dse.load(saved).run()
    assert again.answer().designs[0].design == design
    assert len(again.front) == len(result.front)


def test_preferences_are_followed_kept_in_the_address_and_saved_as_a_study(
    chrome: Chrome, front: pd.DataFrame, found: StudyResult, downloads: Path
) -> None:
    weights = {o.name: o.weight for o in found.objectives}
    before = preferred(found, {"weights": weights, "bounds": {}, "excluded": {}})
    assert f"design {before}" in recommended(chrome)
    click(chrome, chrome.find_element(By.CSS_SELECTOR, "#preferences > summary"))

    field = by_id(chrome, "weight-area")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("3", Keys.TAB)
    bound = by_id(chrome, "bound-speedup")
    bound.send_keys("two", Keys.TAB)
    assert "two" in by_id(chrome, "wrong-bound").text
    bound.send_keys(Keys.CONTROL, "a")
    bound.send_keys("8", Keys.TAB)
    assert not by_id(chrome, "wrong-bound").is_displayed()
    option = str(front.loc[before, "interface"])
    Select(by_id(chrome, "exclude-option")).select_by_visible_text(option)

    preferences = {
        "weights": weights | {"area": 3.0},
        "bounds": {"speedup": 8.0},
        "excluded": {"interface": [option]},
    }
    after = preferred(found, preferences)
    assert after != before
    assert f"design {after}" in recommended(chrome)
    assert f"Design {after}" in by_id(chrome, "design-title").text
    acceleration = int(front["acceleration"][after])
    assert f"acceleration {acceleration}, interface" in by_id(chrome, "sentence").text

    saved = tomllib.loads(download(chrome, "save-study", downloads / "study.toml").read_text())
    assert saved.pop("recommend") == {
        "weights": {"area": 3},
        "require": ["speedup >= 8"],
        "exclude": {"interface": [option]},
    }
    assert saved == tomllib.loads(STUDY)

    address = chrome.current_url
    chrome.get("about:blank")
    chrome.get(address)
    assert f"design {after}" in recommended(chrome)
    assert "area weighs 3; speedup at least 8" in by_id(chrome, "preferred").text
    click(chrome, chrome.find_element(By.CSS_SELECTOR, "#preferences > summary"))
    click(chrome, by_id(chrome, "reset-preferences"))
    assert f"design {before}" in recommended(chrome)
