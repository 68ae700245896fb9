"""Functions of the page's script: each computes as its counterpart in Python does."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import Chrome

from dse.api import StudyResult
from dse.model.values import show_number
from dse.result.tables import protect_cell
from tests.report.test_recommend import preferred

CASES = Path(__file__).parents[1] / "model" / "filter_cases.json"
RECOMMENDED = """
return arguments[0].map((preferences) => {
  const { row, role } = recommend(preferences);
  return [row === null ? null : designs[row], role];
});
"""


pytestmark = pytest.mark.usefixtures("front")  # the report of most tests, which stays as it is


def test_the_pages_filter_reads_as_pythons(chrome: Chrome) -> None:
    cases = json.loads(CASES.read_text("utf-8"))
    script = """
    const [fields, cases, clock] = arguments;
    const number = (v) => (v === null ? NaN : Number(v === "inf" ? Infinity : v));
    const made = new Map(Object.entries(fields).map(([name, { unit, options, values }]) =>
        [name, { unit: unit || "1", options, values: options ? values : values.map(number) }]));
    return cases.map((one) => {
      const read = readFilter(one.filter, made, clock === null ? null : () => clock);
      const told = read.problems.map(({ at, message, remedy }) => [at + 1, message, remedy]);
      if (told.length) return { problems: told };
      return { rows: [0, 1, 2, 3, 4, 5].filter((row) => read.keeps(row)) };
    });
    """
    for key, clock in (("cases", cases["clock"]), ("without_clock", None)):
        told = chrome.execute_script(script, cases["fields"], cases[key], clock)
        for mine, case in zip(told, cases[key], strict=True):
            expected = {k: case[k] for k in ("rows", "problems") if k in case}
            for i, problem in enumerate(expected.get("problems", [])):
                if problem[2] is None:
                    problem[2] = mine["problems"][i][2]
            assert mine == expected, case["filter"]


def test_cells_of_the_page_s_tables_are_protected_as_those_of_the_run(chrome: Chrome) -> None:
    texts = ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\t=1", "\r=1", "'s", "'=1", "=1,2"]
    texts += ['="a"', "=1\n", "-5", "+5", "-1e-3", "-", "+", "", "aes", "a=1", "5-6", "- 5", "\t5"]
    told = chrome.execute_script("return arguments[0].map(protectedCell)", texts)
    assert told == [protect_cell(text) for text in texts]
    assert all(cell.startswith("'") for cell in told[:11])
    script = """
        const name = columns.find((column) => !column.number).name;
        const column = byName.get(name), kept = column.values;
        column.values = arguments[0];
        try { return [name, csv(arguments[0].map((_, row) => row))]; }
        finally { column.values = kept; }
    """
    name, text = chrome.execute_script(script, texts)
    read = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, index_col="design")
    expected = [protect_cell(text) for text in texts]
    assert read[name].tolist() == expected


def test_the_page_rounds_as_the_terminal_does(chrome: Chrome) -> None:
    """A time of 45,064.5 cycles was 45,065 on the page only."""
    ties = [45064.5, 45065.5, 312.25, -312.75, 12_345_000.0, 0.12345, 1.00005, 9999.5, 0.000099999]
    values = [*ties, *np.geomspace(1e-7, 1e11, 500).round(9).tolist()]
    assert chrome.execute_script("return arguments[0].map(digits)", values) == [
        *map(show_number, values)
    ]
    shown = chrome.execute_script("return arguments[0].map((x) => fixed(x, 2))", ties)
    assert shown == [f"{value:,.2f}" for value in ties]


def test_fifty_preferences_move_the_recommendation_as_python_says(
    chrome: Chrome, found: StudyResult
) -> None:
    rng, cases = np.random.default_rng(3), list[dict[str, Any]]()
    front, names = found.front.designs, [o.name for o in found.objectives]
    for k in range(50):
        weights = dict(
            zip(names, np.round(10 ** rng.uniform(-1, 1, len(names)), 3).tolist(), strict=True)
        )
        bounds, excluded = {}, {}
        if k % 2:
            name = names[int(rng.integers(len(names)))]
            finite = front[name][np.isfinite(front[name])]
            bounds[name] = float(finite.quantile(0.5))
        if k % 5 == 0:
            excluded["interface"] = [str(rng.choice(front["interface"].unique()))]
        cases.append({"weights": weights, "bounds": bounds, "excluded": excluded})
    shown = chrome.execute_script(RECOMMENDED, cases)
    assert [role for _, role in shown] == ["recommended"] * 50
    assert [number for number, _ in shown] == [preferred(found, case) for case in cases]
    assert len({number for number, _ in shown}) > 10
