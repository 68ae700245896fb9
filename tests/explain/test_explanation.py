"""Explanations of designs: values, violations, scenarios, and the commands that show them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.breakdown import largest_parts, part_fields
from dse.explain.explanation import Violation, explain, find_slices
from dse.explain.sensitivity import improvable_inputs
from dse.model import Array, Floats, Quantity
from dse.model.values import show
from dse.problems import InputError
from dse.terminal import Terminal
from dse.terminal.documents import explanation_data
from tests.commands import Done, called
from tests.explain.examples import MODELS, TINY, call, calls
from tests.pages import read_page
from tests.toy import MODEL, written

ROOT = Path(__file__).parents[2]
CRYPTO = ROOT / "studies" / "crypto.toml"
DESIGN = 603_675  # on its front, as README has it


def test_no_advice_for_crypto_leaves_a_domain(crypto_run: Path) -> None:
    crypto = dse.load(CRYPTO)
    model_graph = crypto.evaluator.model_graph
    (found,) = explain(crypto, dse.load_result(crypto_run), [DESIGN])
    advised = {s.input: s for s in found.sensitivities}
    assert {"calls_in_flight", "interface_latency"} <= set(advised)
    for name, item in advised.items():
        for model in model_graph.models:
            declared = model.inputs.get(name)
            if isinstance(declared, Quantity) and declared.unit == item.unit:
                assert declared.contains(item.improved), name


def test_the_shown_value_is_in_the_domain_too() -> None:
    near = calls(inputs={"overlap": 0.9996})
    (found,) = near.explain(near.run(), 3)
    (item,) = [s for s in found.sensitivities if s.objective == "time"]
    assert item.improved == pytest.approx(0.99996, abs=1e-15)
    assert float(item.shown[1]) < 1.0
    share = Quantity("1", "share", low=0, below=1)
    for value in (0.99999, math.nextafter(1.0, 0.0)):
        assert share.contains(float(show(value, "1", share)))
    period = Quantity("s", "period", above=1e-6)
    text = show(1.00001e-6, "s", period)
    assert text.endswith(" µs")
    assert float(text.split()[0]) > 1.0


class Exposed(NamedTuple):
    exposed: Annotated[Array, Quantity("1", "share that stays", low=0)]


def test_a_model_with_a_narrower_domain_bounds_the_advice() -> None:
    def share(
        overlap: Annotated[Floats, Quantity("1", "share that is hidden", low=0, high=0.9)],
    ) -> Exposed:
        return Exposed(np.asarray(1.0 - overlap))

    content = TINY | {
        "study": {"name": "narrow", "models": [*MODELS, "share"]},
        "inputs": {"overlap": 0.75, "size": 1.0},
    }
    content["constraint"] = [{"quantity": "exposed", "at_most": 1}]
    both = dse.from_mapping(content, {**MODELS, "share": share})
    assert improvable_inputs(both.evaluator)["overlap"].high == 0.9
    (found,) = both.explain(both.run(), 0)
    assert {s.improved for s in found.sensitivities if s.input == "overlap"} == {0.9}


def test_an_infeasible_design_says_so() -> None:
    bounded = calls(
        constraint=[{"quantity": "load", "at_most": 0.5}, {"relation": "lanes * 2 <= 12"}]
    )
    bad, good = bounded.explain(bounded.run(), 7, 1)  # 8 lanes, and 2
    assert good.feasible
    assert good.violations == ()
    assert not bad.feasible
    assert [(v.name, v.amount) for v in bad.violations] == [
        ("load <= 0.5", 0.5),
        ("lanes * 2 <= 12", 4.0),
    ]
    assert bad.fields[:3] == [
        ("feasible", "no"),
        ("violation", "load <= 0.5 is violated by 0.5"),
        ("violation", "lanes * 2 <= 12 is violated by 4"),
    ]
    data = json.loads(json.dumps(explanation_data(bad)))
    assert data["feasible"] is False
    wanted = {"name": "load <= 0.5", "unit": "1", "value": 1.0, "amount": 0.5, "why": ""}
    assert data["violations"][0] == wanted
    assert str(Violation("time", "s", math.nan, math.nan)).startswith("time has no value")


def test_scenarios_are_reported_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    several = calls()
    result = several.run()
    (found,) = several.explain(result, 3)  # 4 lanes
    direct = {size: call(size, 0.75, 4.0) for size in (64.0, 1024.0)}
    assert [(s.objective, s.scenario, s.value) for s in found.scenarios] == [
        ("time", "size = 64 B", float(direct[64.0].time)),
        ("time", "size = 1,024 B", float(direct[1024.0].time)),
    ]
    for part in found.parts:
        size = 64.0 if part.scenario == "size = 64 B" else 1024.0
        assert part.value == float(getattr(direct[size], part.name))
    assert len(found.parts) == 4
    Terminal().whole_explanation(result, found)
    text = capsys.readouterr().out
    assert "time at size = 64 B" in text
    assert ("time (for time, size = 1,024 B)", "work 91 %, setup 9 %") in part_fields(found.parts)


def test_a_total_that_scenarios_do_not_change_is_reported_once() -> None:
    made = calls(objective=[{"minimize": "time", "at": {"size": 64}}, {"minimize": "load"}])
    parts = made.explain(made.run(), 0)[0].parts
    assert [(p.name, p.scenario) for p in parts] == [("setup", ""), ("work", "")]


def test_an_infinite_time_is_saturated_in_the_summary(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = dse.from_mapping(TINY, MODELS).run()
    endless = replace(result, designs=result.designs.assign(time=math.inf))
    Terminal().summary(endless, tmp_path / "report.html")
    text = capsys.readouterr().out
    assert "saturated" in text
    assert "never" not in text


class Root(NamedTuple):
    root: Annotated[Array, Quantity("1", "root")]


class Twice(NamedTuple):
    twice: Annotated[Array, Quantity("1", "twice the root")]


def rooted(x: Annotated[Floats, Quantity("1", "any number")]) -> Root:
    with np.errstate(all="ignore"):
        return Root(np.sqrt(np.asarray(x, dtype=np.float64)))


def twice(root: Annotated[Floats, Quantity("1", "a root", low=0, high=2)]) -> Twice:
    return Twice(np.asarray(root) * 2.0)


def chained(**change: object) -> dse.Study:
    content = {
        "study": {"name": "chained", "models": ["rooted", "twice"]},
        "space": {"x": {"values": [-1, 4, 9]}},
        "objective": [{"minimize": "twice"}, {"minimize": "x"}],
    }
    return dse.from_mapping(content | change, {"rooted": rooted, "twice": twice})


def test_a_design_without_a_value_says_which_quantity_was_first_to_have_none() -> None:
    made = chained()
    result = made.run()
    first, second, third = explain(made, result, [0, 1, 2])
    (violation,) = first.violations
    assert "root, which rooted gives, is not a number" in violation.why
    assert violation.why in str(violation)
    assert second.feasible
    (violation,) = third.violations
    assert violation.why == "root = 3 is outside the domain [0, 2] of twice"
    assert any("for design 0: root, which rooted gives, is not a number" in n for n in result.notes)


def test_a_run_without_any_value_says_why() -> None:
    for method in ("exhaustive", "random"):
        made = chained(
            space={"x": {"values": [-1, -4]}}, search={"method": method, "evaluations": 2}
        )
        with pytest.raises(InputError, match="root, which rooted gives, is not a number"):
            made.run()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("standing")
    dse.load(ROOT / "benchmarks" / "studies" / "shared_pipeline.toml").run(folder / "run")
    return folder / "run"


def ask(folder: Path, *options: str) -> Done:
    return called("explain", str(folder), *options, cwd=folder, columns=200)


def test_explain_on_the_command_line(folder: Path) -> None:
    _, out, _ = called(
        "explain", str(folder), "--design", "1", "--design", "130", cwd=folder, columns=200
    )
    assert "design 1 of shared_pipeline\nFeasible " in out
    assert "design 130 of shared_pipeline\nFeasible " in out
    _, out, _ = ask(folder, "--design", "1", "--verbose")
    assert "context_switch" in out
    _, out, _ = ask(folder, "--design", "1", "--json")
    (data,) = json.loads(out)["designs"]
    assert data["dominance"]["on_front"] is True
    assert data["fields"][0] == ["feasible", "yes"]
    for change in data["advice"]:
        assert change["kind"] == "within your space"
        assert all({"before", "after", "gain"} <= effect.keys() for effect in change["effects"])


def test_a_filter_chooses_the_design_to_explain(folder: Path) -> None:
    wanted = dse.load_result(folder).where("schedule_period > 100").nash().name
    text = "schedule_period > 100"
    _, out, _ = ask(folder, "--where", text, "--json")
    assert [each["design"] for each in json.loads(out)["designs"]] == [wanted]
    code, _, err = called(
        "explain", str(folder), "--where", "latency < 1 ns", cwd=folder, columns=200
    )
    assert code == 2
    assert "none of the 252 designs on the front satisfies 'latency < 1 ns'" in err


def test_an_advised_value_on_which_a_model_raises_loses_that_advice_alone(tmp_path: Path) -> None:
    end = "    return Toy(lanes * clock"
    check = "    if (np.asarray(lanes) > 64).any():\n        raise ValueError('too many lanes')\n"
    found = {}
    for name, text in (("fine", MODEL), ("raises", MODEL.replace(end, check + end))):
        study = dse.load(written(tmp_path, model=text))
        result = study.run(tmp_path / name)  # its report has the explanations, or it would raise
        front = result.front.designs
        few, many = front["lanes"] == 3, front["lanes"] > 9
        chosen = (int(front.index[mask][0]) for mask in (few, many))
        found[name] = study.explain(result, *chosen)
    for fine, raises, kept in zip(found["fine"], found["raises"], (True, False), strict=True):
        advice = {(s.input, s.objective): s for s in fine.sensitivities}
        for told in raises.sensitivities:
            if told.input != "lanes" or kept:
                assert told == advice[told.input, told.objective]
            else:
                assert told.gain_text == "undefined"
                assert not told.bottleneck
        assert len(raises.sensitivities) == len(advice)
        assert raises.parts == fine.parts


# Runs of scripts, and fronts without designs --------------------------------------------------


LOGCA: dict[str, Any] = {
    "study": {"name": "script", "models": ["objectives.logca:offload"]},
    "inputs": {"latency": 0.0, "computational_index": 50.0, "complexity": 1.0, "overhead": 1e3},
    "space": {"acceleration": {"integer": [2, 9]}},
    "objective": [{"maximize": "speedup", "at": {"granularity": "1 KiB"}}],
}


def test_functions_of_a_script_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    study = dse.from_mapping(TINY, MODELS)
    result = study.run(folder)
    code, _, err = called("explain", str(folder), cwd=tmp_path, columns=200)
    assert code == 2
    assert "its script gave the functions call, loaded as models" in err
    assert "study.explain(result, 17)" in err
    (found,) = study.explain(result)  # the way that the message names
    assert found.design == result.nash().name
    study.report(result, tmp_path / "own.html")
    assert "</html>" in (tmp_path / "own.html").read_text()


def test_a_quantity_without_a_unit_is_a_number_when_it_is_read_again(tmp_path: Path) -> None:
    unitless = MODEL.replace('Quantity("1", "speed"', 'Quantity("", "speed"')
    undefined = unitless.replace(
        "Toy(lanes * clock", "Toy(np.where(lanes > 60, np.nan, lanes) * clock"
    )
    result = dse.load(written(tmp_path, model=undefined)).run(tmp_path / "run")
    read = dse.load_result(tmp_path / "run")
    assert result.designs["speed"].isna().any()
    assert read.designs["speed"].dtype == np.float64
    assert read.columns["speed"].unit == "1"
    assert called("explain", str(tmp_path / "run"), cwd=tmp_path, columns=200)[0] == 0


def test_a_run_cut_short_before_anything_fits_has_a_page_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    impossible = LOGCA | {
        "space": {"acceleration": {"integer": [2, 2000]}},
        "constraint": [{"quantity": "speedup", "at_least": 1e6, "at": {"granularity": "1 KiB"}}],
        "run": {"chunk": 64},
    }
    folder = tmp_path / "run"
    result = dse.from_mapping(impossible).run(folder, workers=1, progress=stop)
    assert result.certificate.stopped == "interrupted"
    assert len(result.front) == 0
    assert "script: Not certified" in str(result)
    page = read_page(folder / "report.html")
    assert "No feasible design yet" in page
    assert len(dse.load_result(folder).front) == 0
    capsys.readouterr()
    Terminal().summary(result, folder / "report.html")
    assert "no design that was evaluated is feasible" in capsys.readouterr().out
    code, _, err = called("explain", str(folder), cwd=tmp_path, columns=200)
    assert code == 2
    assert "there is no design on the front" in err


def test_objectives_with_different_limits_each_have_theirs() -> None:
    """A small call waits for its set-up and a large one computes; their mean would name neither."""
    study = dse.load(ROOT / "studies" / "gpu_memory.toml")
    (found,) = explain(study, study.run(), [0])
    small, large = found.limits.split(", ")
    assert small == "overhead time 95 % of accelerated time (for small call duration)"
    assert large == "compute time 99 % of accelerated time (for large call duration)"
    texts = largest_parts(study.evaluator, found.parts, {"accelerated_time": " (idle)"})
    assert texts.split(", ")[0] == small.replace(" (for", " (idle) (for")


# Slices ---------------------------------------------------------------------------------------


def test_a_slice_holds_each_value_of_one_variable(tmp_path: Path) -> None:
    study = dse.load(written(tmp_path))
    result = study.run()
    design = int(str(result.front.nash().name))
    own = result.designs.loc[design]
    slices = find_slices(study, result, [design])[design]
    variables = list(study.evaluator.space.variables)
    assert [each.variable for each in slices] == variables
    for each in slices:
        others = {name: own[name] for name in variables if name != each.variable}
        designs = [{**others, each.variable: value} for value in each.values.tolist()]
        table = study.evaluate(pd.DataFrame(designs))
        names = [objective.name for objective in result.objectives]
        np.testing.assert_allclose(each.objectives, table[names].to_numpy(float))
        assert each.feasible.tolist() == table["feasible"].tolist()
        assert own[each.variable] in each.values.tolist()
        assert (np.diff(each.values) > 0).all()
    assert slices[variables.index("size")].values.tolist() == [1024.0, 2048.0, 4096.0]


def test_a_slice_of_a_table_holds_its_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("lanes,mode,speed\n1,a,2\n2,a,3\n2,b,5\n4,b,9\n")
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "t"\ntable = "rows.csv"\n[[objective]]\nmaximize = "speed"\n')
    study = dse.load(path)
    lanes, mode = find_slices(study, study.run(), [2])[2]
    assert (lanes.variable, lanes.values.tolist()) == ("lanes", [2, 4])
    assert lanes.objectives.tolist() == [[5.0], [9.0]]
    assert mode.values.tolist() == ["a", "b"]
    assert mode.objectives.tolist() == [[3.0], [5.0]]
