"""An architect's walk from a kernel to a design, with nothing but what README and docs say."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from dse.cli import commands

ROOT = Path(__file__).parents[1]
OBJECTIVES = ("speedup", "break_even", "call_time", "area")


def _dse(*arguments: str, cwd: Path) -> str:
    with contextlib.chdir(cwd):
        done = CliRunner(env={"COLUMNS": "400"}).invoke(commands, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def _front(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "front.csv", index_col="design")


def _row(front: pd.DataFrame, number: int) -> dict[str, Any]:
    return {str(name): value for name, value in front.loc[number].items()}


def _answer(run: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((run / "summary.json").read_text())["answer"]
    return answer


def _promised(words: str, name: str) -> float | None:
    """Return the value that a text gives for an objective; None if it gives none."""
    value = re.search(rf"{name.replace('_', ' ')} ([\d,.]+)( million)?", words)
    if value is None:
        return None
    return float(value[1].rstrip(".,").replace(",", "")) * (1e6 if value[2] else 1)


def _narrowed(text: str, design: Mapping[str, Any]) -> str:
    """Return a study whose space is one design, as docs/study-format.md says to write it."""
    for name in ("lanes", "pipeline_depth", "streams", "schedule_period", "calls_in_flight"):
        text = re.sub(
            rf"^{name} = .*$", f"{name} = {{ values = [{design[name]}] }}", text, flags=re.M
        )
    for name in ("engine", "interface"):
        table = rf'(\[space\.{name}\]\ncatalog = "\w+"\noptions = )\[.*?\n\]'
        text = re.sub(table, rf'\1["{design[name]}"]', text, flags=re.S)
    return text.replace('name = "aes"', 'name = "changed"', 1)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("architect")
    told = _dse("new", "aes.toml", "--kernel", "aes", "--interface", "axi-dma", cwd=folder)
    assert "next: dse check aes.toml, then dse run aes.toml" in told
    assert "no problems" in _dse("check", "aes.toml", cwd=folder)
    (folder / "said.txt").write_text(_dse("run", "aes.toml", cwd=folder))
    return folder


def test_from_a_kernel_to_the_design_that_the_advice_promised(walked: Path) -> None:
    said = (walked / "said.txt").read_text()
    front, answer = _front(walked / "runs/aes"), _answer(walked / "runs/aes")

    # the first lines give the design, its values and its limits
    build = re.search(r"recommended +design (\d+): (.*)\ngives +speedup ([\d.]+)", said)
    assert build is not None
    number = int(build[1])
    assert f"lanes {front['lanes'][number]}," in build[2]
    assert f"interface {front['interface'][number]}" in build[2]
    assert float(build[3]) == pytest.approx(front["speedup"][number], rel=0.005)
    assert said.index("recommended") < said.index("limits ") < said.index("Complete:")

    # the compromise is that design, and its advice names designs
    explained = _dse("explain", "runs/aes", "--design", "compromise", cwd=walked)
    assert explained.startswith(f"design {number} of aes\n")
    advice = re.findall(r"^change .*\(design (\d+)\).*$", explained, flags=re.M)
    assert advice

    # a step up from it is promised, and made: a study of that design alone gives these figures
    step = answer["steps"]["10 % less area"]
    assert step in said
    changed = int(re.findall(r"design (\d+)", step)[0])
    text = (walked / "aes.toml").read_text()
    (walked / "changed.toml").write_text(_narrowed(text, _row(front, changed)))
    assert "no problems; 1 design" in _dse("check", "changed.toml", cwd=walked)
    _dse("run", "changed.toml", cwd=walked)
    found = _front(walked / "runs/changed")
    assert len(found) == 1
    told = [name for name in OBJECTIVES if _promised(step, name) is not None]
    assert "area" in told
    for name in told:
        assert found[name].iloc[0] == pytest.approx(_promised(step, name), rel=0.005)
    assert found["area"].iloc[0] <= 0.9 * front["area"][number]


def test_what_a_target_takes_is_the_least_of_the_front(walked: Path) -> None:
    said = _dse("run", "aes.toml", "--target", "speedup >= 20", "--least", "area", cwd=walked)
    front = _front(walked / "runs/aes")
    reaching = front[front["speedup"] >= 20]
    cheapest = int(str(reaching["area"].idxmin()))
    assert re.search(rf"recommended +design {cheapest}: ", said)
    assert re.search(r"why +meets speedup >= 20, best area", said)
    explained = _dse("explain", "runs/aes", cwd=walked)
    assert explained.startswith(f"design {cheapest} of aes\n")
    for other in re.findall(r"^(?:change| ) .*\(design (\d+)\): .*$", explained, flags=re.M):
        assert int(other) not in front.index or front["speedup"][int(other)] >= 20
    assert "speedup" in explained

    # one that nothing reaches: the nearest, and what stands in the way
    said = _dse("run", "aes.toml", "--target", "speedup >= 500", cwd=walked)
    fastest = int(str(front["speedup"].idxmax()))
    assert "No design in this space meets speedup >= 500." in said
    assert re.search(rf"nearest +design {fastest}: lanes {front['lanes'][fastest]}, ", said)
    assert "recommended" not in said


def test_advice_to_change_one_variable_gives_what_it_says(walked: Path) -> None:
    front = _front(walked / "runs/aes")
    ends = [str(front["area"].idxmin()), str(front["speedup"].idxmax())]
    text = _dse("explain", "runs/aes", "--design", ends[0], "--design", ends[1], cwd=walked)
    lines = re.findall(r"^(?:change| ) .*\(design (\d+)\): (.*)$", text, flags=re.M)
    checked = 0
    for number, words in lines:
        for name in OBJECTIVES if int(number) in front.index else ():
            promised = _promised(words, name)
            if promised is not None:
                assert front.loc[int(number), name] == pytest.approx(promised, rel=0.005)
                checked += 1
    assert checked > 3


def test_the_walk_is_that_of_the_readme() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    for step in (
        "dse new aes.toml --kernel aes --interface axi-dma",
        "dse check",
        "dse run",
        "dse explain runs/crypto --design compromise",
        '--target "speedup >= 5" --least area',
    ):
        assert step in readme
