"""Problems of a study: each with its place and words, all of a stage at once, and nothing kept."""

from __future__ import annotations

import copy
import datetime
import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands, main
from dse.model import Array, Floats, Quantity
from dse.problems import InputError, Problem, nearest
from tests.toy import SMALL, written

Lanes = Annotated[Floats, Quantity("1", "lanes of an engine", low=1, integer=True)]
Size = Annotated[Floats, Quantity("B", "size of a request", above=0, better="lower")]
Delay = Annotated[Floats, Quantity("cycle", "delay of the link", low=0)]
PROFILES = Path(__file__).parents[2] / "studies" / "profiles"


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


def odd(size: Annotated[Floats, Quantity("furlong", "a size")]) -> Cost:
    return Cost(np.asarray(size) * 1.0)


MODELS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (timing, cost, misfit, small, odd)
}
STUDY = """
study = { name = "t", models = ["timing", { use = "cost", rename = { cost = "area" } }] }
inputs = { size = "1 KiB", width = 64, clock = "1 GHz" }
search = { method = "evolution", evaluations = 50, seed = 3 }
regions = { axis = "size", low = "16 B", high = "1 MiB", objective = "short" }
[space]
lanes = { integer = [1, 8] }
link = { rows = { card = { delay = "1 us", pins = 8 }, port = { delay = 5, pins = 1 } } }
[[objective]]
minimize = "time"
at = { size = "64 B" }
name = "short"
[[objective]]
minimize = "time"
over = { size = [1, "2 KiB"] }
reduce = "mean"
weights = [3, 1]
[[objective]]
minimize = "area"
[[constraint]]
relation = "lanes * pins <= 32"
[[constraint]]
quantity = "area"
at_most = "30 kLUT"
at = { width = "32 bit" }
[[curve]]
name = "c"
axis = "size"
real = [1, "1 MiB"]
quantities = ["time"]
"""
PARTS = f"""
study = {{ name = "parts", models = ["objectives.communication:offload_functions"] }}
inputs = {{ dataflow = "{PROFILES}/jpeg.json", instruction_area = 32 }}
objective = [{{ maximize = "speedup" }}, {{ minimize = "area" }}]
[space]
computation_factor = {{ values = [2, 8] }}
accelerated = {{ subsets = "selection", of = ["idct"] }}
"""
CONTENT, PARTS_CONTENT = tomllib.loads(STUDY), tomllib.loads(PARTS)

# Each line: changes => the place of each problem, with words of it. "-" leaves a key out.
CASES = r"""
study.abot = "x" => study.abot: unknown key | 'about'
study = - => study: missing
spaces = {} => spaces: 'space'
study.name = "" => study.name: at least 1
inputs.sise = 1 => inputs.sise: 'size' | [B]
inputs.size = {} => inputs.size: {} is an empty table | 1 KiB
inputs.size = "inf" => inputs.size: 'inf' is not finite
inputs.size = nan => inputs.size: not finite
inputs.size = true => inputs.size: true is not a number
inputs.size = -1 => inputs.size: -1 B | (0, inf)
inputs.size = "64" => inputs.size: '64' has no unit | "64 KiB"
inputs.size = "29 furlong" => inputs.size: 'furlong'
inputs.size = "29 Kib" => inputs.size: did you mean '29 KiB'?
inputs.size = "29 ms" => inputs.size: 'ms' is a unit of time
inputs.size = "many bytes" => inputs.size: many bytes
inputs.size = {file = "x", exclude = ["a"]} => inputs.size: is a number, not a file
inputs.width = - => inputs: missing input 'width' [bit] | (0, inf) | cost | area
inputs.width = {value = 3, provenance = "measured"} => inputs.width.source: needs a source
inputs.width = {value = 3, provenance = "fitted", source = " "} => inputs.width.source: is missing
inputs.width = {between = [4, 6], provenance = "data sheet"} => inputs.width.source: is missing
inputs.width = {provenance = "measured", source = "a log"} => inputs.width.value: is missing
inputs.width = {value = true, provenance = "derived"} => inputs.width.value: true
inputs.width = {value = "5 s", provenance = "derived"} => inputs.width: 's'
inputs.width = {value = 3, provenance = "guessed"} => inputs.width.provenance: 'measured', 'fitted'
inputs.width = {value = 3, sorce = "x"} => inputs.width.sorce: 'source'
space.link.rows.port.delay = {value = 5, sorce = "x"} => space.link.rows.port.delay.sorce: 'source'
inputs.width = {valeu = 3} => inputs.width.valeu: 'value'
inputs.clock = 0 => inputs.clock:
inputs.clock = true => inputs.clock:
inputs.clock = - => space.link.rows.card.delay: give 'clock'
inputs.area = 3 => inputs.area: given twice | cost
inputs.link = {catalog = "interfaces", row = "pci-crad"} => inputs.link: did you mean 'pci-card'?
inputs.size = {between = [2, 1]} => inputs.size.between: is reversed
inputs.size = {between = [2, 2]} => inputs.size.between: is empty
inputs.size = {between = ["1 s", 2]} => inputs.size.between[1]: 's'
inputs.size = {between = [-5, 2]} => inputs.size.between: outside its domain
inputs.size = {normal = -1, deviation = 1} => inputs.size.normal: outside its domain
inputs.size = {normal = 1} => inputs.size: 'normal' and 'deviation' go together
inputs.size = {normal = 1, deviation = 0} => inputs.size.deviation: is not above 0
inputs.size = {lognormal = 1, factor = 1} => inputs.size.factor: greater than 1
inputs.size = {lognormal = 0, factor = 2} => inputs.size.lognormal: is not above 0
inputs.size = {between = [1, 2], uniform = [1, 2]} => inputs.size: has 2 laws
space.link.rows.card.delay = {uniform = ["1 W", "2 W"]} =>
 space.link.rows.card.delay.uniform[1]: 'W' & space.link.rows.card.delay.uniform[2]: 'W'
inputs.size = {betwen = [1, 2]} => inputs.size.betwen: 'between'
inputs.clock = {between = ["1 GHz", "2 GHz"]} => inputs.clock: cannot be uncertain
space.lanes = 3 => space.lanes: no kind
space.lanes = [2, 4] => space.lanes: write { values = [2, 4] }
space.lanes = {range = [2, 64]} => space.lanes: write { integer = [2, 64] }
space.lanes = {integr = [2, 64]} => space.lanes: integer = [low, high]
space.lanes = {integer = [2, 4], real = [1, 2]} => space.lanes: exactly one
space.lanes = {integer = [0, 3]} => space.lanes.integer: 0 is outside | [1, inf)
space.lanes = {integer = [4, 2]} => space.lanes.integer: low = 4 | lesser first
space.lanes = {integer = "x"} => space.lanes.integer: [low, high]
space.lanes = {integer = [1, 9007199254740994]} => space.lanes.integer: 2^53
space.lanes = {integer = ["2", 4]} => space.lanes.integer[1]: write 2 without quotes
space.lanes = {real = [1, 8]} => space.lanes.real: whole number | integer
space.lanes = {values = []} => space.lanes.values: at least 1
space.lanes = {values = [4, 4]} => space.lanes.values: listed twice
space.lanes = {values = [4, "inf"]} => space.lanes.values[2]: 'inf' is not finite
space.size = {real = [nan, 2]}; inputs.size = - => space.size.real[1]: not finite
space.size = {real = [0, 2], log = true}; inputs.size = - =>
 space.size.real: low = 0 | greater than 0
space.size = {real = [1, 2], steps = 1}; inputs.size = - => space.size.steps: steps >= 2
space.size = {values = [1, 2]} => space.size: 'size' is given twice | [inputs]
space.size = {values = [1, 2]}; inputs.size = - => space.size: no effect | they depend on delay
space.lnes = {values = [1, 2]} => space.lnes: 'lanes'
space.link = {catalog = "interfces"} => space.link.catalog: 'interfaces'
space.link = {catalog = "interfaces", options = ["pci-crad"]} => space.link: 'pci-card'
space.link.rows = {a = {delay = 1, pins = 1}, b = {pins = 1}} =>
 space.link.rows.b: does not set delay | same quantities
space.link.rows.card.delay = "1 W" => space.link.rows.card.delay: 'W'
space.idle = {rows = {a = {waiting = 1}, b = {waiting = 2}}} =>
 space.idle.rows.a.waiting: waiting & space.idle.rows.b.waiting: waiting & space.idle.rows: no model
objective = {max = "time"} => objective: write [[objective]]
objective = "time" => objective: write [[objective]]
objective = [] => objective: at least 1
objective.3.max = "area" => objective[3].max: 'maximize'
objective.3 = {best = "time"} => objective[3].best: known:
objective.3 = {name = "x"} => objective[3]: needs maximize or minimize
objective.3.maximize = "time" => objective[3]: both maximize and minimize | exactly one
objective.3.minimize = 3 => objective[3].minimize: 3 is not a text
objective.3.minimize = "are" => objective[3].minimize: 'are' | 'area' | [LUT]
objective.3 = {minimize = "time", name = "short"} => objective[3]: objective[1] | name =
objective.3.name = "lanes" => objective[3].name: another column
objective.1.at = {sise = 1} => objective[1].at.sise: 'size'
objective.1.at.size = -1 => objective[1].at.size: domain
objective.1.at.size = {} => objective[1].at.size: {} is an empty table
objective.1.at.size = {between = ["4 KiB", "1 KiB"]} => objective[1].at.size.between: is reversed
objective.1.at.size = {value = 1, provenance = "derived"} => objective[1].at.size: has no effect
objective.1.at.size = {value = 1, source = "a log"} => objective[1].at.size: 'source' has no effect
objective.2.over.size = [1, -1] => objective[2].over.size: domain
objective.2.at = {size = 1} => objective[2].over.size: also bound by at
objective.2.reduce = - => objective[2].reduce: "harmonic mean" & objective[2].weights: with a mean
objective.2.reduce = "max" => objective[2].weights: go with a mean | "harmonic mean"
objective.2.weights = [1, 2, 3] => objective[2].weights: 3 numbers for 2 scenarios | per scenario
objective.2.weights = [0, 0] => objective[2].weights: are all 0
objective.2.weights = [-1, 2] => objective[2].weights[1]: -1 | 0
objective.2.weights = [1e308, 1e308] => objective[2].weights: too large a sum
objective.2.weights = "x" => objective[2].weights: is not a list
objective.3 = {minimize = "area", at = {lanes = 2}} => space: no variable changes objective 'area'
objective.3.reduce = "mean" => objective[3].reduce: no scenarios
constraint.1.relation = 5 => constraint[1].relation: 5 is not a text
constraint.3 = {relation = "lanes"} => constraint[3].relation: <=
constraint.3 = {relation = "lnes <= 9"} => constraint[3].relation: 'lanes'
constraint.3 = {relation = "__import__('os').getcwd() <= 1"} =>
 constraint[3].relation: unknown function
constraint.3 = {relation = "lanes <= size"} =>
 constraint[3].relation: compares lanes [1] with size [B]
constraint.1.at_most = 3 => constraint[1].at_most: does not go with a relation
constraint.3 = {name = "x"} => constraint[3]: needs a quantity or a relation
constraint.3 = {quantity = "time"} => constraint[3]: at_most or at_least
constraint.3 = {quantity = "tme", at_most = 1} => constraint[3].quantity: 'time'
constraint.1.expr = "lanes <= 4" => constraint[1].expr: known:
constraint.2.max = 4 => constraint[2].max: known: at, at_least, at_most
constraint.2.at_most = "20" => constraint[2].at_most: '20' has no unit | is in LUT
constraint.2.reduce = "mean" => constraint[2].reduce: no samples
constraint.2.reduce = "120 %" => constraint[2].reduce: 120 % | fraction
study.models.2.rename = {cst = "area"} => study.models[2].rename.cst: 'cost'
study.models.2.rename.lanes = "area" => study.models[2].rename: two quantities called 'area'
study.models.2.use = "cots" => study.models[2]: does not name a model | module:function
study.models.2.use = "objectives.logcaa:f" => study.models[2]: 'objectives.logcaa' | logca:f
study.models.2.use = "objectives.logca:offlod" => study.models[2]: 'offload'
study.models.2.use = "os.path:basename" =>
 study.models[2]: p: has no quantity & study.models[2]: return
study.models.2 = 5 => study.models[2]: 5 is not a text
study.models.2.use = "m.py:f" => study.models[2]: without a folder
study.models.2 = "odd" => study.models[2]: 'furlong'
report.sections = ["objectives.logca:offload"] => report.sections[1]: does not write a section
report.sections = ["objectives.communication.report:functions"] =>
 report.sections[1]: needs the input 'dataflow'
report.sections = ["objectives.partition.report:integration"] =>
 report.sections[1]: needs the input 'profiles'
report.sections = ["plain"] => report.sections[1]: does not name a section
report.sections = ["objectives.logca:nothing"] => report.sections[1]: nothing
search.method = "NSGA5" => search.method: 'NSGA5' | NSGAIISampler | exhaustive
search = {method = "NSGAIISampler", options = {poplation_size = 9}} =>
 search.options.poplation_size: 'population_size'
search = {method = "NSGAIISampler", options = {population_size = 1}} =>
 search.options: population_size
search.evaluations = -4 => search.evaluations: -4
search = {method = "exhaustive"}; space.lanes.integer = [1, 4503599627370496] =>
 search.method: evolution | lanes
search = {method = "exhaustive"}; space.width = {real = [1, 9]}; inputs.width = - =>
 search.method: a continuum: width | "bound" with a tolerance
search = {method = "bound", tolerance = "11"} => search.tolerance: is 11 | 0 to 10
search = {method = "bound", tolerance = {aera = 0.1}} => search.tolerance.aera: 'area'
search = {method = "bound", tolerance = {area = "1 s"}} => search.tolerance.area: 's'
regions.objective = "shrt" => regions.objective: 'short'
regions = {axis = "time", low = 1, high = 9} => regions.axis: is an output
regions.axis = "sise" => regions.axis: 'size'
regions.high = "16 B" => regions: spans no range
regions.low = 0 => regions: no logarithm
curve.1 = {quantities = ["time"], alng = "size"} =>
 curve[1].name: is missing & curve[1].axis: is missing & curve[1].alng: unknown key
curve.1.values = [1, 2] => curve[1]: exactly one of values, integer, real
curve.1.real = - => curve[1]: exactly one of values, integer, real
curve.1.real = [9, 3] => curve[1].real: is greater than
curve.1.real = -; curve.1.values = [4, 4] => curve[1].values: spans no range
curve.1.axis = "lanes"; curve.1.real = [1.5, 9] => curve[1].real: whole numbers
curve.1.axis = "lanes"; curve.1.real = -; curve.1.integer = [0, 8] => curve[1].integer: [1, inf)
curve.1.axis = "sise" => curve[1].axis: 'size'
curve.1.axis = "time"; curve.1.real = [1, 9] => curve[1].axis: is an output
curve.1.at = {lnes = 4} => curve[1].at.lnes: 'lanes'
curve.1.quantities = ["tme"] => curve[1].quantities: 'time'
curve.1.at = {size = 1} => curve[1].at.size: is the axis
curve.1.quantities = ["area"]; inputs.width = -; objective.3 = -; constraint.2 = - =>
 curve[1]: needs 'width' | [inputs]
target = {reach = "lanes >"} => target.reach: the text ends
target = {reach = "short < 5", least = "aera"} => target.least: 'area'
target = {reach = "aera < 5"} => target.reach: 'area'
target = {reach = "area < 5 s"} => target.reach: 's'
run.storage = "me:secret@h" => run.storage: is not a database URL
uncertainty.samples = 1 => uncertainty.samples: 1
"""
PARTS_CASES = """
space.accelerated.of = ["idkt"] => space.accelerated.of: no part 'idkt' | did you mean 'idct'
space.accelerated.of = - => space.accelerated: 20 parts have 1,048,576 subsets | 12 of them at most
space.accelerated.subsets = "workload" => space.accelerated.subsets: no named parts | selection
space.accelerated.subsets = "selectoin" => space.accelerated.subsets: 'selection'
space.accelerated.least = 2 => space.accelerated: no subset of 1 part has 2 or more
inputs.dataflow = {fille = "x", include = ["idct"]} => inputs.dataflow.fille: 'file'
inputs.dataflow = {file = "x", incl = ["idct"]} => inputs.dataflow.incl: 'include'
inputs.dataflow = {path = "x"} => inputs.dataflow.path: known:
space.accelerated = -; inputs.dataflow = {between = [1, 2]} =>
 inputs.dataflow: an uncertain number is not a file
space.accelerated = -; inputs.dataflow = 3 => inputs.dataflow: 3.0 is not a file
space.accelerated = -; inputs.dataflow = "no such file" =>
 inputs.dataflow: there is no file 'no such file'
space.accelerated = -; inputs.dataflow = - =>
 inputs: missing input 'dataflow' | its file or folder & inputs: missing input 'selection'
space.computation_factor = {values = [1, 1e9]}; space.workload = {integer = [0, 3]} =>
 space.workload.integer: beyond the last choice
"""


def cases(table: str) -> list[str]:
    return table.replace("=>\n", "=>").strip().splitlines()


def put(content: dict[str, Any], place: str, value: Any) -> None:
    """Set a value at a place such as ``objective.1.at``; None leaves it out."""
    *keys, last = [int(key) - 1 if key.isdecimal() else key for key in place.split(".")]
    here: Any = content
    for key in keys:
        here = here.setdefault(key, {}) if isinstance(here, dict) else here[key]
    if value is None:
        del here[last]
    elif isinstance(here, list) and last == len(here):
        here.append(value)
    else:
        here[last] = value


def problems(content: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        dse.from_mapping(content, MODELS)
    return caught.value.problems


@pytest.mark.parametrize("case", [*cases(CASES), *cases(PARTS_CASES)])
def test_one_mistake_is_one_problem_with_its_place_and_words(case: str) -> None:
    content = copy.deepcopy(PARTS_CONTENT if case in PARTS_CASES.replace("=>\n", "=>") else CONTENT)
    changes, _, wanted = case.partition("=>")
    for change in changes.split("; "):
        place, _, value = change.strip().partition(" = ")
        put(content, place, None if value == "-" else tomllib.loads(f"v = {value}")["v"])
    found = problems(content)
    expected = [each.strip().partition(":") for each in wanted.split(" & ")]
    assert [p.where.partition(":")[0] for p in found] == [place for place, _, _ in expected]
    for problem, (_, _, words) in zip(found, expected, strict=True):
        assert all(word.strip() in str(problem) for word in words.split(" | ")), problem


def test_the_studies_of_these_tests_have_no_problem() -> None:
    study = dse.from_mapping(CONTENT, MODELS)
    assert [o.name for o in study.evaluator.objectives] == ["short", "time", "area"]
    assert dse.from_mapping(PARTS_CONTENT).evaluator.space.size == 4


def test_each_stage_reports_all_its_problems() -> None:
    """The schema first, then what the study names, then names and numbers, then the whole."""
    stages: list[dict[str, tuple[Any, str]]] = [
        {"study.abut": ("x", "study.abut"), "search.seed": (-1, "search.seed")},
        {
            "study.models": (["tming", "objectives:x"], "study.models[1] study.models[2]"),
            "space.link": ({"catalog": "x"}, "space.link.catalog"),
        },
        {
            "inputs.size": (-1, "inputs.size"),
            "objective": (
                [{"minimize": "tme"}, {"minimize": "are"}],
                "objective[1].minimize objective[2].minimize",
            ),
        },
        {"inputs.width": (None, "inputs"), "search.method": ("x", "")},
    ]
    content = copy.deepcopy(CONTENT)
    for stage in reversed(stages):
        for place, (value, _) in stage.items():
            put(content, place, value)
        places = " ".join(place for _, place in stage.values()).split()
        assert [problem.where for problem in problems(content)] == places


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"use": "cost", "rename": {"cost": "time"}}, "given twice"),
        ({"use": "cost", "rename": {"width": "time", "cost": "delay"}}, "in a circle"),
        ("misfit", "in 'cycle'"),
    ],
)
def test_models_that_do_not_fit_hide_no_other_problem(model: Any, words: str) -> None:
    content = copy.deepcopy(CONTENT)
    content["study"]["models"][1], content["inputs"]["size"] = model, -1
    content["objective"] = [{"minimize": "time"}, {"minimize": "tme"}]
    found = problems(content)
    assert any(words in problem.message for problem in found)
    assert {"study.models", "inputs.size", "objective[2].minimize"} <= {p.where for p in found}


def test_an_input_is_in_the_domain_of_every_model_in_its_own_unit() -> None:
    content = {name: CONTENT[name] for name in ("study", "space", "objective", "constraint")}
    content = copy.deepcopy(content) | {"inputs": {"size": "65 KiB", "clock": "1 GHz"}}
    content["study"]["models"] = ["timing", "small"]
    content["objective"] = [{"minimize": "time"}]
    content["constraint"][1] = {"quantity": "cost", "at_most": 64}
    (problem,) = problems(content)
    assert problem.message == "size = 65 KiB is outside its domain"
    content["inputs"]["size"] = "64 KiB"
    study = dse.from_mapping(content, MODELS)
    found = study.evaluator.evaluate({"lanes": np.array([8.0]), "link": np.array([1])})
    assert found.objectives.tolist() == [[2**16 / 8 + 5]]
    assert found.constrained[:, 1].tolist() == [64.0]


ODD: list[Any] = [
    *(datetime.date(2020, 1, 1), [[1, 2], [3]], {}, {"a": {"b": 1}}, True, 10**400, math.nan),
    *(math.inf, "", "x", 0, -0.5, "1e999 B", "5 furlong", "\x00", {"catalog": "", "row": ""}),
]


def _places(content: Any, place: str) -> Iterator[str]:
    yield place
    inner = dict(enumerate(content, 1)) if isinstance(content, list) else content
    for key, value in inner.items() if isinstance(inner, dict) else ():
        yield from _places(value, f"{place}.{key}")


@pytest.mark.parametrize("section", CONTENT)
def test_odd_values_anywhere_are_reported_in_words(section: str) -> None:
    for place in _places(CONTENT[section], section):
        for value in ODD:
            content = copy.deepcopy(CONTENT)
            put(content, place, value)
            try:
                dse.from_mapping(content, MODELS)
            except InputError as error:
                text = str(error)
                assert "pydantic" not in text and "Traceback" not in text
                assert all(problem.message for problem in error.problems)


def test_long_texts_are_refused_and_long_lists_of_problems_end_with_their_number() -> None:
    content = copy.deepcopy(CONTENT)
    content["inputs"]["size"] = "x" * 100_000
    (problem,) = problems(content)
    assert problem.where == "inputs.size"
    assert problem.message.startswith("is 100,000 characters long")
    with pytest.raises(InputError, match="the name of the file is not UTF-8"):
        dse.load("\udcff.toml")
    error = InputError("s.toml", [Problem(f"inputs.x{i}", "is wrong") for i in range(42)])
    lines = str(error).splitlines()
    assert lines[0] == "s.toml: 42 problems"
    assert lines[-2:] == ["  inputs.x29: is wrong", "  … and 12 more"]
    assert len(error.problems) == 42
    assert "more" not in str(InputError("s", [Problem(f"{i}", "is wrong") for i in range(30)]))
    assert nearest("xyz", [f"name{i:02}" for i in range(20)]).endswith("and 8 more")
    assert nearest("xyz", []) == ""


def test_a_name_that_has_all_words_of_another_is_near_and_one_of_another_class_is_not() -> None:
    inputs = {"profiles": str(PROFILES / "jpeg.json"), "workload": 0}
    content = {
        "study": {"name": "p", "models": ["objectives.partition:optimal"]},
        "space": {"accelerator_size": {"values": [64, 128]}},
        "objective": [{"maximize": "speedup"}, {"minimize": "size_used"}],
    }
    for name, remedy in (
        ("instruction_time", "did you mean 'cpu_instruction_time'?"),
        ("cpu_add_cost", "known: cpu_cast_cost, cpu_divide_cost, cpu_float_cost"),  # not multiply
    ):
        (problem,) = problems(content | {"inputs": inputs | {name: 3}})
        assert problem.remedy.startswith(remedy)


# On the command line

LOGCA = """
[study]
name = "t"
models = ["objectives.logca:offload"]
[inputs]
overhead = 29000
computational_index = 90
[space]
acceleration = { integer = [2, 64] }
latency = { values = [100, 1500] }
[[objective]]
maximize = "speedup"
at = { granularity = "1 KiB" }
[[objective]]
minimize = "break_even"
"""
FAST = '[[constraint]]\nquantity = "speedup"\nat_least = 100\nat = { granularity = "1 KiB" }\n'
STORAGE = '[run]\nstorage = "postgresql://bob:hunter2@127.0.0.1:1/none"\n'
ON_THE_COMMAND_LINE: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", ["the file is empty", "dse new"]),
    "not TOML": (LOGCA.replace("[study]", "[study"), ["not TOML", "line 2"]),
    "two problems": (
        LOGCA.replace("29000", '"29 kB"').replace('"break_even"', '"brake_even"'),
        ["2 problems\n", "  inputs.overhead", "  objective[2].minimize"],
    ),
    "a file outside": (
        LOGCA.replace('"objectives.logca:offload"', '"../m.py:f"'),
        ["'../m.py'", "outside the study's folder"],
    ),
    "a file that is not there": (
        LOGCA.replace('"objectives.logca:offload"', '"m.py:f"'),
        ["study.models[1]", "'m.py'"],
    ),
    "infeasible": (
        LOGCA + FAST,
        ["no design is feasible", "excludes 126", "at_least = 3.01", "124"],
    ),
    "two constraints": (
        LOGCA + FAST + '[[constraint]]\nrelation = "acceleration * latency <= 150"\n',
        [
            "'speedup >= 100 at granularity = 1 KiB' excludes 126",
            "'acceleration * latency <= 150' excludes 126",
            "would admit design",
        ],
    ),
    "no server": (LOGCA + STORAGE, ["run.storage", "postgresql://bob:***@127.0.0.1:1/none"]),
}


def _message(arguments: list[str], monkeypatch: Any, capsys: Any) -> str:
    monkeypatch.setattr("sys.argv", ["dse", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    message: str = capsys.readouterr().err
    assert "Traceback" not in message and "hunter2" not in message
    return message


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_a_bad_study_ends_with_code_2_and_leaves_nothing(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, words = ON_THE_COMMAND_LINE[case]
    path = tmp_path / "study.toml"
    path.write_text(text)
    message = _message(["run", str(path), "--out", str(tmp_path / "out")], monkeypatch, capsys)
    assert all(word in message for word in words), message
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("command", ["run", "check"])
def test_no_study(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xff\xfe")
    for name, words in (
        ("studdy.toml", "did you mean 'study.toml'?"),
        ("", "is a folder"),
        ("study.toml", "is not UTF-8 text"),
    ):
        assert words in _message([command, str(tmp_path / name)], monkeypatch, capsys)


def test_a_run_that_is_moved_aside_is_reported_in_a_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["run", str(written(tmp_path, text=SMALL)), "--out", str(out)]
    assert "held another" not in CliRunner().invoke(commands, command).output
    written(tmp_path, text=SMALL.replace("steps = 10", "steps = 11"))
    second = CliRunner().invoke(commands, command)
    assert second.exit_code == 0
    (line,) = [each for each in second.output.split("\n") if "held another" in each]
    assert line == f"{out} held another run or study: that is {out}.1 now"
    assert (tmp_path / "out.1" / "summary.json").is_file()
    certified = CliRunner().invoke(commands, ["certify", str(out)])
    assert "Not refuted: of 396 designs, " in certified.output  # each is tried
