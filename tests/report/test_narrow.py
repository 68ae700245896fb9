"""A study narrowed to a selection: what the page is given, and that every kind of variable fits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from selenium.webdriver import Chrome

import dse
from dse.report.payload import narrowing_data
from tests.browser import open_report
from tests.commands import called
from tests.explain.examples import MODELS

MODEL = """
from typing import Annotated, NamedTuple

from dse.model import Floats, Quantity


class Out(NamedTuple):
    cost: Annotated[Floats, Quantity("LUT", "cost")]
    time: Annotated[Floats, Quantity("s", "time")]


def made(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
    width: Annotated[Floats, Quantity("B", "width", above=0)],
    delay: Annotated[Floats, Quantity("s", "delay", above=0)],
    share: Annotated[Floats, Quantity("1", "share", low=0, high=1)],
    port: Annotated[Floats, Quantity("LUT", "area of the port", low=0)],
) -> Out:
    work = 1e6 / (lanes * width)
    return Out(lanes * width * 10.0 + port + 100.0 * share, delay * work * (2.0 - share))
"""
STUDY = """# What is built.
[study]
models = ["made.py:made"]
name = "small \\"one\\""

[space.lanes]    # in a table of its own
integer = [2, 20]
step = 3

[inputs]         # none

[space]
width = { values = ["16 B", 8, "1 KiB"] }
delay = { real = ["1 ns", "100 ns"], log = true, steps = 9 }
share = { real = [0.25, 0.75] }
port.rows = { "a \\"port\\"" = { port = 100 }, none = { port = 0 }, wide = { port = 900 } }

[[objective]]
minimize = "cost"

[[objective]]
minimize = "time"

[[constraint]]
quantity = "cost"
at_most = "20 kLUT"

[search]
method = "evolution"
evaluations = 2000
"""


def test_a_narrowed_study_is_valid_and_holds_the_selection(chrome: Chrome, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(MODEL, "utf-8")
    (tmp_path / "small.toml").write_text(STUDY, "utf-8")
    result = dse.load(tmp_path / "small.toml").run(tmp_path / "run")
    open_report(chrome, tmp_path / "run" / "report.html")
    text = 'lanes < 15 and width > 8 B and port != "wide" and delay <= 40 ns'
    front = result.front.designs
    kept = result.where(text).designs
    assert 2 < len(kept) < len(front)
    script = "ask.filter = arguments[0]; linked(); return narrowedStudy(rowsOf(selected))"
    path = tmp_path / "narrowed.toml"
    path.write_text(chrome.execute_script(script, text), "utf-8")
    done = called("check", str(path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    study = dse.load(path)
    assert study.name == 'small "one" narrowed'
    variables = study.evaluator.space.variables
    for name in ("lanes", "width", "delay", "share"):
        variable: Any = variables[name]
        values = kept[name].to_numpy(dtype=np.float64)
        if variable.count is None:
            assert (variable.low, variable.high) == (values.min(), values.max())
        else:
            assert set(values) <= set(variable.levels())
            assert {values.min(), values.max()} == {
                variable.levels().min(),
                variable.levels().max(),
            }
    port: Any = variables["port"]
    assert port.names == tuple(n for n in ('a "port"', "none") if n in set(kept["port"]))
    again = study.evaluate(kept)
    assert again["feasible"].all()
    np.testing.assert_allclose(again["time"], kept["time"], rtol=1e-12)


CONTENT: dict[str, Any] = {
    "study": {"name": "script", "models": list(MODELS), "about": 'a "text" of\nlines \u00e9'},
    "inputs": {"size": 1.0},
    "space": {"lanes": {"integer": [1, 8]}, "overlap": {"real": [0, 0.5], "steps": 3}},
    "objective": [{"minimize": "time"}, {"minimize": "load"}],
    "search": {"method": "exhaustive", "timeout": 1e3},
    "report": {"sections": []},
}


def test_a_study_of_a_script_becomes_a_file_and_other_texts_do_not() -> None:
    study = dse.from_mapping(CONTENT, MODELS)
    result = study.run()
    found = narrowing_data(result, study.text)
    assert found is not None
    wanted = {k: v for k, v in CONTENT.items() if k != "space"}
    wanted["study"] = CONTENT["study"] | {"name": "script narrowed"}
    assert tomllib.loads(found["before"]) == wanted
    assert found["space"]["overlap"]["grid"] == [0.0, 0.25, 0.5]
    assert narrowing_data(result, "not toml {") is None
    assert narrowing_data(result, '[study]\nname = "x"\ntable = "designs.csv"\n[space]\n') is None
    assert (
        narrowing_data(result, '[study]\nname = "x"\n[space]\nother = { real = [0, 1] }\n') is None
    )
