"""The report's data and page, read back without a browser."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dse.api import StudyResult
from dse.explain.changes import Change, Effect, Setting
from dse.report.overview import explain_stop, list_key_numbers
from dse.report.page import flatten_mapping, write_report
from dse.report.page_assets import script_json
from dse.report.payload import payload
from dse.result.folder import load_result
from tests.pages import page_data
from tests.report.examples import (
    NASTY,
    STUDY_TEXT,
    explanation,
    explanations,
    result,
    unpacked,
)

OPTION = '<img src=x onerror="alert(2)">, "port"\u2028&amp;'


class Page(HTMLParser):
    """The elements of a page and the text of its scripts and elements with an id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self._open.append(dict(attrs).get("id") or tag)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data


def written(tmp_path: Path, found: StudyResult, study: str = STUDY_TEXT) -> tuple[Page, str]:
    path = tmp_path / "report.html"
    write_report(found, explanations(found, 5), path, study)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    text = path.read_text(encoding="utf-8")
    return Page(text), text


@pytest.mark.parametrize("objectives", [1, 2, 4, 6])
def test_designs_come_back_exactly(tmp_path: Path, objectives: int) -> None:
    found = result(objectives)
    data = json.loads(page_data(written(tmp_path, found)[1]))
    front = found.designs[found.designs["on_front"]]
    numbers = unpacked(data["designs"]).tolist()
    assert data["front"] == len(front)
    assert numbers[: len(front)] == front.index.tolist()
    held = found.designs.loc[[int(number) for number in numbers]]
    assert held["feasible"].all()
    assert held["on_front"].sum() == len(front)
    assert [column["name"] for column in data["columns"]] == list(found.columns)
    for column in data["columns"]:
        assert unpacked(column["values"]).tolist() == held[column["name"]].tolist()


def test_infinite_and_undefined_values_survive() -> None:
    found = result(4, 300)
    first = found.front.designs.index[:3]
    found.designs.loc[first, "break_even"] = [np.inf, -np.inf, np.nan]
    slow = int(found.designs.index[0])  # no faster than the host
    data = payload(found, [explanation(found, slow)], Path("run"))
    column = next(column for column in data["columns"] if column["name"] == "break_even")
    assert column["infinite"] == "never"
    np.testing.assert_array_equal(unpacked(column["values"])[:3], [np.inf, -np.inf, np.nan])
    rows = data["explanations"][str(slow)]["sensitivities"]
    assert any("never" in row["effect"] for row in rows)
    json.loads(script_json(data))


def test_explained_designs_are_held_even_where_dominated() -> None:
    found = result(4, 20_000)
    dominated = found.designs.index[found.designs["feasible"] & ~found.designs["on_front"]]
    chosen = [explanation(found, int(number)) for number in dominated[[1, 5_001]]]
    numbers = unpacked(payload(found, chosen, Path("run"))["designs"])
    assert {e.design for e in chosen} <= set(numbers)
    assert len(numbers) < len(found.designs) / 2


def test_the_nash_design_is_on_the_front_and_no_objective_is_at_its_worst() -> None:
    found = result(4)
    data = payload(found, [], Path("run"))
    front = found.designs[found.designs["on_front"]]
    design = front.iloc[data["nash"]]
    for objective in found.objectives:
        values = front[objective.name]
        worst = values.max() if objective.direction == "minimize" else values.min()
        assert design[objective.name] != worst
    assert payload(result(1), [], Path("run"))["nash"] is None


def test_the_page_has_the_fields_of_an_explanation() -> None:
    found = result(4)
    number = int(found.designs.index[found.designs["on_front"]][0])
    change = Change((Setting("lanes", "1", "2"),), 17, (Effect("speedup", "1", 2.0, 3.0, 1.5),))
    told = replace(explanation(found, number), advice=(change,))
    shown = payload(found, [told], Path("run"))["explanations"][str(number)]
    (told_change,) = shown["changes"]
    assert told_change["change"] == "lanes 1 → 2"
    assert (told_change["design"], told_change["entry"]) == (17, False)
    assert told_change["effects"] == [[2.0, 3.0, 1.5]]


def test_names_from_users_stay_text(tmp_path: Path) -> None:
    _, plain = written(tmp_path, result(3))
    found = replace(
        result(3, name=NASTY, option=OPTION),
        about=NASTY,
        notes=(NASTY,),
        constants={NASTY: (1.0, NASTY)},
        provenance={NASTY: {NASTY: NASTY}},
    )
    page, text = written(tmp_path, found, f"{NASTY}</pre>")
    assert page.texts["h1"] == NASTY
    assert page.texts["study-text"] == f"{NASTY}</pre>"
    for tag in ("<script", "<img"):
        assert text.count(tag) == plain.count(tag)
    data = page_data(text)
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data)["study"] == NASTY


def test_the_page_asks_for_nothing_and_allows_only_its_own_scripts(tmp_path: Path) -> None:
    page, _ = written(tmp_path, result(2, 300))
    loads = [
        value
        for tag, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href") and tag != "a"
    ]
    assert loads == ["data:,"]
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    assert written(tmp_path, result(4, 500))[1] == written(tmp_path, result(4, 500))[1]


def test_nothing_is_left_where_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(result(2, 200), [], tmp_path / "report.html", STUDY_TEXT)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_front_without_designs_is_said_and_not_raised(tmp_path: Path) -> None:
    found = result(2, 200)
    found.designs[["feasible", "on_front"]] = False
    data = json.loads(page_data(written(tmp_path, found)[1]))
    assert (data["front"], data["nash"]) == (0, None)


def test_key_figures_the_end_of_a_search_and_provenance_in_words() -> None:
    found = result(4)
    figures = dict(list_key_numbers(found))
    assert figures["designs in the space"] == figures["evaluated"] == "4,000"
    assert figures["seconds"] == "3.21"
    assert dict(list_key_numbers(result(4, sampled=True)))["designs in the space"] == "continuous"
    assert "seconds" not in dict(list_key_numbers(replace(found, provenance={})))
    assert "whole space" in explain_stop(found.certificate)
    assert "out of memory" in explain_stop(replace(found.certificate, stopped="out of memory"))
    assert flatten_mapping({"a": {"b": 1.25}, "c": ("x", "y")}) == [("a b", "1.25"), ("c", "x, y")]


def test_the_best_designs_of_the_page_are_those_of_the_result(crypto_run: Path) -> None:
    """Of equals in one objective, too: many designs of crypto break even at 16 B."""
    found = load_result(crypto_run)
    data = payload(found, [], crypto_run)
    numbers = unpacked(data["designs"])
    best = {o["name"]: int(numbers[o["best"]]) for o in data["objectives"]}
    assert best == {o.name: found.front.best(o.name).name for o in found.objectives}
    assert best["break_even"] == int(str(found.front.nash().name))


def test_the_page_of_a_run_is_small(crypto_run: Path) -> None:
    assert (crypto_run / "report.html").stat().st_size < 1_500_000
