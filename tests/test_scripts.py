"""What scripts give in error is told as bad input, with its remedy, and not as a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse


class Out(NamedTuple):
    speed: Annotated[dse.Array, dse.Quantity("1", "speed", low=0)]
    area: Annotated[dse.Array, dse.Quantity("1", "area", low=0)]


def lanes_model(x: Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1)]) -> Out:
    return Out(np.asarray(x), np.asarray(x) * 2)


def _content(**changed: Any) -> dict[str, Any]:
    return {
        "study": {"name": "script", "models": ["f"]},
        "space": {"x": {"integer": [1, 4]}},
        "objective": [{"maximize": "speed"}, {"minimize": "area"}],
        **changed,
    }


def _study() -> dse.Study:
    return dse.from_mapping(_content(), models={"f": lanes_model})


@functools.cache
def _result() -> dse.StudyResult:
    return _study().run(workers=1)


@pytest.mark.parametrize("content", [None, 3, "x", [1]])
def test_a_study_that_is_not_a_mapping(content: Any) -> None:
    with pytest.raises(dse.InputError, match="the study is not a mapping"):
        dse.from_mapping(content)


@pytest.mark.parametrize("models", [[lanes_model], lanes_model, {"f": 3}, {3: lanes_model}, 3])
def test_models_that_are_not_functions_by_name(models: Any) -> None:
    with pytest.raises(dse.InputError, match="give models="):
        dse.from_mapping(_content(), models=models)


def test_a_function_in_the_place_of_its_name() -> None:
    content = _content(study={"name": "script", "models": [lanes_model]})
    with pytest.raises(dse.InputError, match=r'models=\{"lanes_model": lanes_model\}'):
        dse.from_mapping(content)


def test_a_study_is_shown_in_a_line() -> None:
    assert repr(_study()) == "<Study 'script': f; 4 designs>"


def failing(x: Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1)]) -> Out:
    if np.any(np.asarray(x) == 3):
        raise ArithmeticError("3 lanes do not fit")
    return lanes_model(x)


def test_a_model_that_raises() -> None:
    study = dse.from_mapping(_content(), models={"f": failing})
    for call in (study.run, lambda: study.sweep("x", [3])):
        with pytest.raises(dse.StoppedError, match=r"\(x = 3\): f raised .* 3 lanes do not fit"):
            call()
    with pytest.raises(dse.ModelError, match="3 lanes do not fit"):
        study.evaluate({"x": 3})


def test_what_columns_hold() -> None:
    kinds = {"i": {"integer": [1, 200_000]}, "f": {"values": [8, 16]}}
    for kind, values in kinds.items():
        content = _content(space={"x": values}, objective=[{"minimize": "area"}])
        result = dse.from_mapping(content, models={"f": lanes_model}).run(workers=1)
        assert result.designs["x"].dtype.kind == kind
        if kind == "i":  # the front, and a sample of the rest
            assert result.certificate.evaluated == 200_000
            assert 1 < len(result.designs) < 50_000
            assert set(result.front.designs.index) <= set(result.designs.index)


def test_bottlenecks_are_not_denied_if_no_input_says_which_way_is_better() -> None:
    (found,) = _study().explain(_result(), 0)
    for told in (str(found), found._repr_html_()):
        assert "no input of the objectives declares its better direction" in told
        assert "single input" not in told
    size = dse.Quantity("1", "lanes", low=1, high=1.01, better="higher")
    declared = dse.from_mapping(
        _content(space={"x": {"values": [1, 1.01]}}),
        models={"f": _typed(size)},
    )
    (found,) = declared.explain(declared.run(workers=1), 0)
    assert str(found).endswith("bottlenecks: no single input")


def _typed(quantity: dse.Quantity) -> Callable[..., Out]:
    def typed(x: Any) -> Out:
        return lanes_model(x)

    typed.__annotations__ = {"x": Annotated[dse.Floats, quantity], "return": Out}
    return typed


@pytest.mark.parametrize("design", ["31", None, [1, 2], 1.5, True, pd.Series([1], name="x")])
def test_what_is_not_the_number_of_a_design(design: Any) -> None:
    with pytest.raises(dse.InputError, match="not the number of a design"):
        _study().explain(_result(), design)


def test_a_design_is_given_by_its_number_or_its_row() -> None:
    compromise = _result().compromise()
    by_row, by_number = _study().explain(_result(), compromise, int(str(compromise.name)))
    assert by_row.design == by_number.design == compromise.name
    with pytest.raises(dse.InputError, match="there is no design 99") as caught:
        _study().explain(_result(), 99)
    assert "--design" not in str(caught.value)


@pytest.mark.parametrize("workers", [0, -1, "2", 2.5, True])
def test_workers_are_a_whole_number_from_1(workers: Any) -> None:
    with pytest.raises(dse.InputError, match="is not a whole number from 1"):
        _study().run(workers=workers)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.front.where("aera < 1"), "no column 'aera'\\s+did you mean 'area'"),
        (lambda r: r.where("area <"), "character 7: the text ends"),
        (lambda r: r.where(3), "character 2: the text ends"),
        (lambda r: r.best("sped"), "no objective 'sped'\\s+did you mean 'speed'"),
        (lambda r: r.front.plot("aera"), "no column 'aera'\\s+did you mean 'area'"),
        (lambda r: r.hypervolume({"area": 1.0}), "lacks speed"),
    ],
)
def test_a_question_to_a_result(ask: Callable[[dse.StudyResult], object], words: str) -> None:
    with pytest.raises(dse.InputError, match=words):
        ask(_result())
