"""Scripts: what they may give, and bad input with its remedy instead of a traceback."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from tests.toy import written

_API = ("dse.api.study", "dse.api.result")


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


@pytest.mark.parametrize("models", [[lanes_model], lanes_model, {"f": 3}, {3: lanes_model}, 3])
def test_models_that_are_not_functions_by_name(models: Any) -> None:
    with pytest.raises(dse.InputError, match="give models="):
        dse.from_mapping(_content(), models=models)
    content = _content(study={"name": "script", "models": [lanes_model]})
    with pytest.raises(dse.InputError, match=r'models=\{"lanes_model": lanes_model\}'):
        dse.from_mapping(content)


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


def test_a_result_holds_the_front_and_a_sample_of_the_rest() -> None:
    content = _content(space={"x": {"integer": [1, 200_000]}}, objective=[{"minimize": "area"}])
    result = dse.from_mapping(content, models={"f": lanes_model}).run(workers=1)
    assert result.certificate.evaluated == 200_000
    assert 1 < len(result.designs) < 50_000
    assert set(result.front.designs.index) <= set(result.designs.index)
    assert result.designs["x"].dtype.kind == "i"
    content["space"] = {"x": {"values": [8, 16]}}
    result = dse.from_mapping(content, models={"f": lanes_model}).run(workers=1)
    assert result.designs["x"].dtype.kind == "f"


Directed = dse.Quantity("1", "lanes", low=1, high=1.01, better="higher")


def directed(x: Annotated[dse.Floats, Directed]) -> Out:
    return lanes_model(x)


def test_bottlenecks_are_not_denied_if_no_input_says_which_way_is_better() -> None:
    (found,) = _study().explain(_result(), 0)
    for told in (str(found), found._repr_html_()):
        assert "no input of the objectives declares its better direction" in told
        assert "single input" not in told
    content = _content(space={"x": {"values": [1, 1.01]}})
    declared = dse.from_mapping(content, models={"f": directed})
    (found,) = declared.explain(declared.run(workers=1), 0)
    assert str(found).endswith("bottlenecks: no single input")


def test_a_design_is_given_by_its_number_or_its_row() -> None:
    design = _result().nash()
    by_row, by_number = _study().explain(_result(), design, int(str(design.name)))
    assert by_row.design == by_number.design == design.name
    with pytest.raises(dse.InputError, match="there is no design 99") as caught:
        _study().explain(_result(), 99)
    assert "--design" not in str(caught.value)
    others: list[Any] = ["31", None, [1, 2], 1.5, True, pd.Series([1], name="x")]
    for other in others:
        with pytest.raises(dse.InputError, match="not the number of a design"):
            _study().explain(_result(), other)


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
    ],
)
def test_a_question_to_a_result(ask: Callable[[dse.StudyResult], object], words: str) -> None:
    with pytest.raises(dse.InputError, match=words):
        ask(_result())


def test_a_script_gives_arrays_and_numbers_of_numpy(tmp_path: Path) -> None:
    for values in (np.array([1, 2.5, 4]), (np.int64(1), np.float32(2.5), 4), [np.array(1), 2.5, 4]):
        content = _content(space={"x": {"values": values}}, run={"chunk": np.int32(7)})
        study = dse.from_mapping(content, {"f": lanes_model})
        assert study.run(tmp_path / "out").best("speed")["speed"] == 4.0
        assert study.values == {"x": (1.0, 2.5, 4.0)}


def test_what_no_file_could_hold_is_reported_with_its_place() -> None:
    space = {"x": {"values": [1, {2}, 3]}, "z": {"values": object()}, "w": {1: 2}}
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(_content(space=space), {"f": lanes_model})
    assert [(p.where, p.message) for p in raised.value.problems] == [
        ("space.x.values[2]", "is of the type set, which a study cannot hold"),
        ("space.z.values", "is of the type object, which a study cannot hold"),
        ("space.w", "the key 1 is not a text"),
    ]
    with pytest.raises(dse.InputError, match=r"study\.name: holds control characters: U\+001B"):
        dse.from_mapping({"study": {"name": "a\x1b[2J", "models": []}})
    for other in (None, 3, "x", [1]):
        with pytest.raises(dse.InputError, match="the study is not a mapping"):
            dse.from_mapping(other)  # type: ignore[arg-type]


def test_an_edited_function_of_a_script_is_another_study(tmp_path: Path) -> None:
    def made(factor: float) -> Callable[..., Out]:
        def scaled(x: Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1)]) -> Out:
            return Out(np.multiply(x, factor), np.asarray(x) * 2)

        return scaled

    for factor in (2.0, 3.0):
        study = dse.from_mapping(_content(), {"f": made(factor)})
        assert study.run(tmp_path / "out").best("speed")["speed"] == 4 * factor


def test_a_script_explores_a_model_of_its_own(tmp_path: Path) -> None:
    content = _content(constraint=[{"quantity": "area", "at_most": 6}])
    study = dse.from_mapping(content, models={"f": lanes_model})
    tried = study.evaluate({"x": [2, 4]})
    assert tried["feasible"].tolist() == [True, False]
    assert "area <= 6 is violated by 2" in tried["violations"].iloc[1]
    result = study.run(tmp_path / "run")
    assert result.where("speed > 2").best("speed")["x"] == 3
    assert result.explain(result.best("speed")).bottlenecks().empty  # no input has a direction
    wider = dse.from_mapping(_content(), models={"f": lanes_model}).run()
    both = dse.compare(result, wider)
    assert (both.first.survive, both.second.survive) == (3, 4)
    assert [d.what for d in both.differences] == ["constraint[1].quantity", "constraint[1].at_most"]
    again = dse.load_result(tmp_path / "run")
    assert again.front.designs.equals(result.front.designs)
    with pytest.raises(dse.InputError, match="its script gave the functions f"):
        again.explain()
    result.report(tmp_path / "page.html")
    assert "speed" in (tmp_path / "page.html").read_text()


# Sweeps: each value is a run of its own; tables, figures, and values without a design ---------


SIZES = ["1 KiB", "2 KiB", "4 KiB"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dse.Study:
    return dse.load(written(tmp_path_factory.mktemp("toy")))


def test_each_value_is_a_run_of_its_own_and_a_point_of_the_figure(toy: dse.Study) -> None:
    sweep = toy.sweep("size", SIZES, workers=1)
    assert list(sweep.results) == SIZES
    for size in SIZES:
        alone = toy.with_inputs(size=size).run(workers=1)
        assert sweep.results[size].designs.equals(alone.designs)
        assert sweep.table.loc[size, "front"] == len(alone.front)
        assert sweep.table.loc[size, "best speed"] == alone.best("speed")["speed"]
        assert sweep.table.loc[size, "nash cost"] == alone.nash()["cost"]
        assert sweep.nash().loc[size, "design"] == alone.nash().name
        assert sweep.best("cost").loc[size, "lanes"] == alone.best("cost")["lanes"]
    assert sweep.table.index.name == "size"
    assert sweep.best("cost")["lanes"].dtype == int
    figure = sweep.plot()
    best = next(t for t in figure.data if t.name == "best" and t.yaxis == "y")
    assert list(best.x) == SIZES
    assert list(best.y) == pytest.approx(sweep.table["best speed"].tolist())
    assert figure.layout.yaxis2.title.text == "cost [LUT]"
    assert {t.name for t in figure.data} == {"best", "nash"}


def test_a_value_without_a_feasible_design_is_reported_and_kept(toy: dse.Study) -> None:
    sweep = toy.sweep("clock", ["1 GHz", "100 GHz"], workers=1)
    assert list(sweep.results) == ["1 GHz"]
    assert "no design is feasible" in sweep.infeasible["100 GHz"]
    assert sweep.table.loc["100 GHz", "front"] == 0
    assert sweep.table["best speed"].isna().tolist() == [False, True]
    assert repr(sweep) == "<Sweep of clock: 1 GHz, 100 GHz; no design is feasible at 100 GHz>"
    sweep.plot()
    nowhere = toy.sweep("clock", ["100 GHz"], workers=1)
    assert nowhere.table["front"].tolist() == [0]
    assert len(nowhere.nash()) == 0
    nowhere.plot()


def test_every_value_that_cannot_be_is_reported_before_anything_runs(
    toy: dse.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dse.Study, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(dse.InputError) as caught:
        toy.sweep("size", ["1 KiB", "2 s", "-1 B"])
    assert len(caught.value.problems) == 2
    with pytest.raises(dse.InputError, match="did you mean 'size'"):
        toy.sweep("sise", SIZES)
    with pytest.raises(dse.InputError, match="no value is given"):
        toy.sweep("size", [])


def test_each_public_function_has_an_example() -> None:
    functions = {name: f for name in dse.__all__ if inspect.isfunction(f := getattr(dse, name))}
    for kind in (dse.Study, dse.StudyResult):
        methods = inspect.getmembers(kind, inspect.isfunction)
        functions |= {f"{kind.__name__}.{n}": f for n, f in methods if f.__module__ in _API}
    public = {n: f for n, f in functions.items() if not n.rpartition(".")[2].startswith("_")}
    assert len(public) > 20
    assert [n for n, f in public.items() if ">>> " not in (inspect.getdoc(f) or "")] == []
