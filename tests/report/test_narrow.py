"""A study narrowed to a selection: what the page is given, and that every kind of variable fits."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from selenium.webdriver import Chrome

import dse
from dse.model import Floats, Quantity
from dse.report.payload import narrow
from tests.browser import browser, open_report

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("narrow")
    (folder / "made.py").write_text(MODEL, "utf-8")
    (folder / "small.toml").write_text(STUDY, "utf-8")
    return folder


@pytest.fixture(scope="module")
def chrome(folder: Path) -> Iterator[Chrome]:
    with browser(folder) as opened:
        yield opened


def test_a_narrowed_study_is_valid_and_holds_the_selection(chrome: Chrome, folder: Path) -> None:
    result = dse.load(folder / "small.toml").run(folder / "run")
    open_report(chrome, folder / "run" / "report.html")
    text = 'lanes < 15 and width > 8 B and port != "wide" and delay <= 40 ns'
    front = result.front.designs
    kept = result.where(text).designs
    assert 2 < len(kept) < len(front)
    script = "ask.filter = arguments[0]; linked(); return narrowedStudy(rowsOf(selected))"
    path = folder / "narrowed.toml"
    path.write_text(chrome.execute_script(script, text), "utf-8")
    command = [sys.executable, "-m", "dse", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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


def _cost(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1)],
    delay: Annotated[Floats, Quantity("s", "delay", low=0)],
) -> _Cost:
    return _Cost(lanes * 10.0, delay / lanes)


class _Cost(NamedTuple):
    cost: Annotated[Floats, Quantity("1", "cost")]
    time: Annotated[Floats, Quantity("s", "time")]


CONTENT: dict[str, Any] = {
    "study": {"name": "script", "models": ["cost"], "about": 'a "text" of\nlines \u00e9'},
    "space": {"lanes": {"integer": [1, 8]}, "delay": {"real": [1e-9, 2e-9], "steps": 3}},
    "objective": [{"minimize": "cost"}, {"minimize": "time"}],
    "search": {"method": "exhaustive", "timeout": 1e3},
    "report": {"sections": []},
}


def test_a_study_of_a_script_becomes_a_file() -> None:
    study = dse.from_mapping(CONTENT, {"cost": _cost})
    found = narrow(study.run(), study.text)
    assert found is not None
    read = tomllib.loads(found["before"])
    wanted = {k: v for k, v in CONTENT.items() if k != "space"}
    assert read == wanted | {"study": CONTENT["study"] | {"name": "script narrowed"}}
    assert found["space"]["delay"]["grid"] == np.linspace(1e-9, 2e-9, 3).tolist()


def test_what_is_not_a_study_with_variables_is_not_narrowed() -> None:
    result = dse.from_mapping(CONTENT, {"cost": _cost}).run()
    assert narrow(result, "not toml {") is None
    assert narrow(result, '[study]\nname = "x"\ntable = "designs.csv"\n[space]\n') is None
    assert narrow(result, '[study]\nname = "x"\n[space]\nother = { real = [0, 1] }\n') is None
