"""The filter language in Python; the report's reader is held to the same cases in a browser."""

from __future__ import annotations

import json
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.model.filter import Field, read_filter
from dse.model.grammar import GrammarError
from tests.report.examples import result

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("filter_cases.json").read_text("utf-8"))
FIELDS = {
    name: Field(field.get("unit", ""), tuple(field["options"]) if "options" in field else None)
    for name, field in CASES["fields"].items()
}


def _values() -> dict[str, Any]:
    found: dict[str, Any] = {"clock": CASES["clock"]}
    for name, field in CASES["fields"].items():
        if "options" in field:
            found[name] = np.array(field["values"], dtype=object)
        else:
            found[name] = np.array([np.nan if v is None else float(v) for v in field["values"]])
    return found


def _check(case: dict[str, Any], clocked: bool) -> None:
    if "rows" in case:
        holds = read_filter(case["filter"], FIELDS, clocked).holds(_values(), 6)
        assert np.flatnonzero(holds).tolist() == case["rows"]
        return
    with pytest.raises(GrammarError) as caught:
        read_filter(case["filter"], FIELDS, clocked)
    told = [[p.where, p.message, p.remedy] for p in caught.value.problems]
    expected = [[f"character {at}", message, remedy] for at, message, remedy in case["problems"]]
    for mine, theirs in zip(told, expected, strict=True):
        assert mine == [*theirs[:2], mine[2] if theirs[2] is None else theirs[2]]


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["filter"] or "empty")
def test_a_filter_names_designs_or_says_what_is_wrong(case: dict[str, Any]) -> None:
    _check(case, clocked=True)


@pytest.mark.parametrize("case", CASES["without_clock"], ids=lambda case: case["filter"])
def test_without_a_clock_seconds_are_not_cycles(case: dict[str, Any]) -> None:
    _check(case, clocked=False)


def test_a_clock_that_is_a_column_is_each_designs_own() -> None:
    fields = {"latency": Field("cycle"), "clock": Field("Hz")}
    values = {"latency": np.array([10.0, 10.0]), "clock": np.array([1e9, 2e9])}
    assert read_filter("latency <= 5 ns", fields).holds(values, 2).tolist() == [False, True]


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_reported(text: str) -> None:
    try:
        holds = read_filter(text, FIELDS, True).holds(_values(), 6)
    except GrammarError as error:
        assert error.problems
    else:
        assert holds.shape == (6,)


def test_deep_and_long_filters_are_reported() -> None:
    with pytest.raises(GrammarError, match="nested more than 50 levels"):
        read_filter("(" * 60 + "lanes < 2" + ")" * 60, FIELDS)
    with pytest.raises(GrammarError, match="longer than 2,000 characters"):
        read_filter(" or ".join(["lanes < 2"] * 300), FIELDS)


_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@st.composite
def _formulas(draw: st.DrawFn, depth: int = 3) -> tuple[str, Any]:
    """Return a filter as text, and as a function of a row of numbers."""
    if depth == 0 or draw(st.booleans()):
        name, sign = draw(st.sampled_from("ab")), draw(st.sampled_from(sorted(_SIGNS)))
        bound = draw(st.integers(0, 4))
        return f"{name} {sign} {bound}", lambda row: _SIGNS[sign](row[name], bound)
    (left, one), (right, other) = draw(_formulas(depth - 1)), draw(_formulas(depth - 1))
    match draw(st.sampled_from(["and", "or", "not"])):
        case "and":
            return f"({left}) and ({right})", lambda row: one(row) and other(row)
        case "or":
            return f"({left}) or ({right})", lambda row: one(row) or other(row)
    return f"not ({left})", lambda row: not one(row)


@given(_formulas())
def test_words_join_as_in_logic(formula: tuple[str, Any]) -> None:
    text, truth = formula
    a, b = (each.ravel().astype(float) for each in np.meshgrid(np.arange(5), np.arange(5)))
    holds = read_filter(text, {"a": Field(), "b": Field()}).holds({"a": a, "b": b}, 25)
    rows = zip(a.tolist(), b.tolist(), strict=True)
    assert holds.tolist() == [truth({"a": x, "b": y}) for x, y in rows]


def test_a_result_is_filtered_by_texts_units_and_numbers() -> None:
    found = result(4)
    front = found.front.designs
    some = found.where('area < 20 kLUT and interface == "user-port" and latency <= 130 ns').designs
    cycles = front["latency"] <= 130e-9 * 1.16e9
    expected = front[(front["area"] < 20_000) & (front["interface"] == "user-port") & cycles]
    assert 0 < len(some) < len(front)
    assert some.index.tolist() == expected.index.tolist()
    numbers = front.index[[0, 3]].tolist()
    assert found.where(f"design in {tuple(numbers)}").designs.index.tolist() == numbers


def test_every_problem_of_a_filter_is_reported_with_its_place() -> None:
    with pytest.raises(dse.InputError) as caught:
        result(4).where('aera < 2 and interface == "user-prot"')
    assert "where: character 1: no column 'aera'\n      did you mean 'area'?" in str(caught.value)
    assert "where: character 27: interface is never 'user-prot'" in str(caught.value)
    assert "crypto: 2 problems" in str(caught.value)
