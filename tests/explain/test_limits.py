"""Limits near an answer and their prices, against searches with looser limits."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.explain.limits import Limits
from dse.explain.recommendation import assess_changes, named_designs
from tests.explain.examples import content, machine
from tests.pages import read_page

AREA, TIME = 880.0, 548.0


def small(area: float = AREA, time: float = TIME, **change: Any) -> dse.Study:
    """Return a study of 96 designs with limits of three kinds."""
    made = copy.deepcopy(content())
    made["constraint"] = [
        {"quantity": "area", "at_most": f"{area!r} LUT"},
        {"relation": f"time + bus_wait <= {time!r} cycle"},
        {"relation": "depth <= 4 * lanes"},
        {"relation": "lanes <= 8"},
    ]
    return dse.from_mapping(made | change, {"machine": machine})


def limits_of(study: dse.Study, result: Any, thorough: bool = True) -> Limits:
    """Return the limits of a result; none if no limit is near."""
    found = [c for c in assess_changes(study, result, thorough) if isinstance(c, Limits)]
    return found[0] if found else Limits((), "")


@cache
def searched(area: float, time: float) -> tuple[int, dict[str, float], Limits]:
    """Return the recommendation of a search, the best of each objective, and the limits."""
    study = small(area, time)
    result = study.run(workers=1)
    limits = limits_of(study, result)
    best = {o.name: float(result.front.best(o.name)[o.name]) for o in result.objectives}
    return named_designs(study, result)[0], best, limits


@pytest.mark.parametrize("more", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("name", ["area", "time"])
def test_prices_are_those_of_searches_with_a_looser_limit(name: str, more: float) -> None:
    recommended, best, limits = searched(AREA, TIME)
    (limit,) = (limit for limit in limits.limits if limit.name.startswith(name))
    (price,) = (price for price in limit.prices if price.more == more)
    looser = {"area": AREA, "time": TIME}
    looser[name] *= 1 + more
    other, better, _ = searched(looser["area"], looser["time"])
    assert {e.objective: e.after for e in price.best} == {
        n: pytest.approx(value, rel=1e-12) for n, value in better.items() if value != best[n]
    }
    assert price.recommended == (None if other == recommended else other)


def test_limits_with_slack_and_rules_on_variables_have_no_price() -> None:
    _, _, limits = searched(AREA, TIME)
    names = [limit.name for limit in limits.limits]
    assert not [name for name in names if "lanes" in name]
    assert limits.searched == "among all 96 designs of the space"
    assert all(0 <= slack < 0.1 for limit in limits.limits for slack in limit.slack.values())
    _, _, wide = searched(1e6, 1e6)
    assert wide.limits == ()


def test_some_limit_changes_an_objective_and_the_recommendation() -> None:
    _, _, limits = searched(AREA, TIME)
    prices = [price for limit in limits.limits for price in limit.prices]
    assert any(price.best for price in prices)
    assert any(price.recommended is not None for price in prices)


def test_a_large_space_is_searched_only_near_the_front_and_on_demand() -> None:
    wide = content()["space"] | {"depth": {"integer": [1, 1_000_000]}}
    study = small(space=wide, search={"method": "evolution", "evaluations": 2_000})
    result = study.run(workers=1)
    quick, limits = limits_of(study, result, thorough=False), limits_of(study, result)
    assert quick.searched == "dse explain searches them"
    assert all(not limit.prices for limit in quick.limits)
    assert "designs evaluated" in limits.searched
    area = next(limit for limit in limits.limits if limit.name.startswith("area"))
    assert area.prices[-1].best[0].gain > 1.01


def test_answers_and_reports_have_the_limits(tmp_path: Path) -> None:
    study = small()
    result = study.run(tmp_path / "run", workers=1)
    answer = json.loads((tmp_path / "run" / "summary.json").read_text())["answer"]
    _, _, limits = searched(AREA, TIME)
    kept = answer["input_values"]["study_limits"]["limits"]
    assert [limit["name"] for limit in kept] == [limit.name for limit in limits.limits]
    assert answer["fields"]["near limits"] == "; ".join(limit.name for limit in limits.limits)
    assert result.answer().fields["near limits"] == answer["fields"]["near limits"]
    assert "Limits with less than 10 % left" in read_page(tmp_path / "run" / "report.html")
