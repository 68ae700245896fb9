"""Problems of a study: all of them at once, where they stand, and none that only follows."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse
from dse.model import Array, Floats, Quantity
from dse.problems import InputError, Problem

Lanes = Annotated[Floats, Quantity("1", "lanes of an engine", low=1, integer=True)]
Size = Annotated[Floats, Quantity("B", "size of a request", above=0, better="lower")]
Delay = Annotated[Floats, Quantity("cycle", "delay of the link", low=0)]


class Timing(NamedTuple):
    time: Annotated[Array, Quantity("cycle", "time of a request")]


class Cost(NamedTuple):
    cost: Annotated[Array, Quantity("LUT", "cost of an engine")]


def timing(lanes: Lanes, size: Size, delay: Delay) -> Timing:
    return Timing(np.asarray(size / lanes + delay))


def cost(lanes: Lanes, width: Annotated[Floats, Quantity("bit", "width", above=0)]) -> Cost:
    return Cost(np.asarray(100.0 * lanes * width))


def misfit(time: Annotated[Floats, Quantity("B", "not a time")]) -> Cost:
    return Cost(np.asarray(time) * 1.0)


def small(size: Annotated[Floats, Quantity("KiB", "size of a buffer", high=64)]) -> Cost:
    return Cost(np.asarray(size) * 1.0)


MODELS: dict[str, Callable[..., Any]] = {
    "timing": timing,
    "cost": cost,
    "misfit": misfit,
    "small": small,
}
STUDY: dict[str, Any] = {
    "study": {"name": "t", "models": ["timing", {"use": "cost", "rename": {"cost": "area"}}]},
    "inputs": {"size": "1 KiB", "width": 64, "clock": "1 GHz"},
    "space": {
        "lanes": {"integer": [1, 8]},
        "link": {"rows": {"card": {"delay": "1 us", "pins": 8}, "port": {"delay": 5, "pins": 1}}},
    },
    "objective": [
        {"minimize": "time", "at": {"size": "64 B"}, "name": "short"},
        {"minimize": "time", "over": {"size": [1, "2 KiB"]}, "reduce": "quantile", "quantile": 0.9},
        {"minimize": "area"},
    ],
    "constraint": [
        {"relation": "lanes * pins <= 32"},
        {"quantity": "area", "at_most": "30 kLUT", "at": {"width": "32 bit"}},
    ],
    "search": {"method": "evolution", "evaluations": 50, "seed": 3},
    "regions": {"axis": "size", "low": "16 B", "high": "1 MiB", "objective": "short"},
    "curve": [{"name": "c", "axis": "size", "real": [1, "1 MiB"], "quantities": ["time"]}],
}


def problems(content: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        dse.from_mapping(content, MODELS)
    return caught.value.problems


def places(content: dict[str, Any]) -> list[str]:
    return [problem.where for problem in problems(content)]


def changed(**sections: Any) -> dict[str, Any]:
    return {name: v for name, v in (copy.deepcopy(STUDY) | sections).items() if v is not None}


def put(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    content = copy.deepcopy(STUDY)
    here: Any = content
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = value
    return content


def test_the_study_of_these_tests_has_no_problem() -> None:
    study = dse.from_mapping(STUDY, MODELS)
    assert [o.name for o in study.evaluator.objectives] == ["short", "time", "area"]


def test_models_that_cannot_be_wired_hide_no_other_problem() -> None:
    again = {"use": "cost", "rename": {"cost": "time"}}
    closing = {"use": "cost", "rename": {"width": "time", "cost": "delay"}}
    for model, words in (
        (again, "given twice"),
        (closing, "in a circle"),
        ("misfit", "in 'cycle'"),
    ):
        content = changed(
            study={"name": "t", "models": ["timing", model]},
            inputs={"size": -1, "width": 64, "clock": "1 GHz"},
            objective=[{"minimize": "time"}, {"minimize": "tme"}],
            constraint=[{"relation": "lanes * pins <= 32"}],
            curve=None,
            regions=None,
        )
        found = problems(content)
        assert any(words in problem.message for problem in found)
        assert {"study.models", "inputs.size", "objective[2].minimize"} <= {p.where for p in found}


@pytest.mark.parametrize(
    ("place", "value", "wanted"),
    [
        (("inputs", "size"), -1, ["inputs.size"]),
        (("inputs", "clock"), 0, ["inputs.clock"]),
        (("inputs", "clock"), True, ["inputs.clock"]),
        (("inputs", "width"), True, ["inputs.width"]),
        (("space", "lanes"), {"integer": [0, 3]}, ["space.lanes.integer"]),
        (("space", "lanes"), {"integer": "x"}, ["space.lanes.integer"]),
        (("space", "link"), {"catalog": "nosuch"}, ["space.link.catalog"]),
        (("space", "link"), 3, ["space.link"]),
        (("objective", 0, "at", "size"), -1, ["objective[1].at.size"]),
        (("objective", 0, "at"), {"sise": 1}, ["objective[1].at.sise"]),
        (("objective", 1, "over", "size"), [1, -1], ["objective[2].over.size"]),
        (("objective", 2), {"minimize": 3}, ["objective[3].minimize"]),
        (("constraint", 0, "relation"), 5, ["constraint[1].relation"]),
        (("study", "models", 1, "rename"), {"cst": "area"}, ["study.models[2].rename.cst"]),
        (("study", "models", 1), {"use": "cots", "rename": {"cost": "area"}}, ["study.models[2]"]),
        (("study", "models", 1), 5, ["study.models[2]"]),
        (("regions", "objective"), "shrt", ["regions.objective"]),
    ],
)
def test_one_mistake_is_one_problem(place: tuple[Any, ...], value: Any, wanted: list[str]) -> None:
    assert places(put(place, value)) == wanted


def test_a_row_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    rows = "\n".join(f'[{n}]\nabout = "x"\npins = 3\ndelay = 1' for n in ("port", "card"))
    (tmp_path / "links.toml").write_text(f'about = "links"\nsource = "x"\n{rows}\n')
    (tmp_path / "m.py").write_text(
        "from typing import Annotated, NamedTuple\nfrom dse import Array, Floats, Quantity\n"
        "class Out(NamedTuple):\n    time: Annotated[Array, Quantity('cycle', 'time')]\n"
        "def f(lanes: Annotated[Floats, Quantity('1', 'lanes')],\n"
        "      delay: Annotated[Floats, Quantity('cycle', 'delay')]) -> Out:\n"
        "    return Out(delay / lanes)\n"
    )
    for line, where in (
        ('link = { catalog = "links", options = ["prt"] }', "space.link"),
        ('[inputs]\nlink = { catalog = "links", row = "prt" }', "inputs.link"),
    ):
        text = f"""
            [study]
            name = "t"
            models = ["m.py:f"]
            [space]
            lanes = {{ integer = [1, 3] }}
            {line}
            [[objective]]
            minimize = "time"
            [[constraint]]
            relation = "lanes * pins <= 9"
        """
        (tmp_path / "s.toml").write_text(text)
        with pytest.raises(InputError) as caught:
            dse.load(tmp_path / "s.toml")
        (problem,) = caught.value.problems
        assert (problem.where, problem.remedy) == (where, "did you mean 'port'?")


def test_an_input_is_in_the_domain_of_every_model_in_its_own_unit() -> None:
    content = changed(
        study={"name": "t", "models": ["timing", "small"]},
        inputs={"size": "65 KiB", "clock": "1 GHz"},
        objective=[{"minimize": "time"}],
        constraint=[{"relation": "lanes * pins <= 32"}, {"quantity": "cost", "at_most": 64}],
        curve=None,
        regions=None,
    )
    (problem,) = problems(content)
    assert problem.message == "size = 65 KiB is outside its domain"
    content["inputs"]["size"] = "64 KiB"
    study = dse.from_mapping(content, MODELS)
    found = study.evaluator.evaluate({"lanes": np.array([8.0]), "link": np.array([1])})
    assert found.objectives.tolist() == [[2**16 / 8 + 5]]
    assert found.constrained[:, 1].tolist() == [64.0]


ODD: list[Any] = [
    datetime.date(2020, 1, 1),
    [[1, 2], [3]],
    {},
    {"a": {"b": 1}},
    True,
    10**400,
    math.nan,
    math.inf,
    "",
    "x",
    0,
    -0.5,
    "1e999 B",
    "5 furlong",
    "\x00",
    {"catalog": "", "row": ""},
]


def _everywhere(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    keys = (
        content
        if isinstance(content, dict)
        else range(len(content) if isinstance(content, list) else 0)
    )
    for key in keys:
        yield from _everywhere(content[key], (*place, key))


@pytest.mark.parametrize("section", STUDY)
def test_odd_values_anywhere_are_reported_in_words(section: str) -> None:
    for place in _everywhere(STUDY[section], (section,)):
        for value in ODD:
            try:
                dse.from_mapping(put(place, value), MODELS)
            except InputError as error:
                text = str(error)
                assert "pydantic" not in text and "Traceback" not in text
                assert all(problem.message for problem in error.problems)


def test_long_lists_of_problems_end_with_their_number() -> None:
    error = InputError("s.toml", [Problem(f"inputs.x{i}", "is wrong") for i in range(42)])
    lines = str(error).splitlines()
    assert lines[0] == "s.toml: 42 problems"
    assert lines[-2:] == ["  inputs.x29: is wrong", "  … and 12 more"]
    assert len(error.problems) == 42
    assert "more" not in str(InputError("s", [Problem(f"{i}", "is wrong") for i in range(30)]))


def test_each_stage_tells_all_its_problems() -> None:
    """The schema first, then what the study names, then names and numbers, then the whole."""
    stages = (
        ({("study", "abut"): "x", ("search", "seed"): -1}, ["study.abut", "search.seed"]),
        (
            {("study", "models"): ["tming", "objectives:x"], ("space", "link"): {"catalog": "x"}},
            ["study.models[1]", "study.models[2]", "space.link.catalog"],
        ),
        (
            {("inputs", "size"): -1, ("objective",): [{"minimize": "tme"}, {"minimize": "are"}]},
            ["inputs.size", "objective[1].minimize", "objective[2].minimize"],
        ),
        ({("inputs", "width"): None, ("search", "method"): "x"}, ["inputs"]),
    )
    content: dict[str, Any] = copy.deepcopy(STUDY)
    for changes, places in reversed(stages):
        for (section, *keys), value in changes.items():
            if value is None:
                del content[section][keys[0]]
            elif keys:
                content[section][keys[0]] = value
            else:
                content[section] = value
        assert [problem.where for problem in problems(content)] == places
