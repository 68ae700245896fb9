"""The ways from a kernel and from a C program to a design, with the commands of README and docs."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.commands import called, leave_out_assumptions
from tests.pages import read_page
from tests.profile.examples import needs_compiler

ROOT = Path(__file__).parents[1]


def dse(*arguments: str, cwd: Path, code: int = 0) -> str:
    verbose = ["--verbose"] * (arguments[0] in ("run", "explain"))
    done = called(*arguments, *verbose, cwd=cwd, columns=400)
    assert done.returncode == code, done.stderr
    return done.stdout


# ── From a kernel ──


def read_front(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "front.csv", index_col="design")


def narrowed(text: str, design: Mapping[Any, Any]) -> str:
    """Return a study whose space is one design, as study-format.md says to write it."""
    for name in ("lanes", "pipeline_depth", "streams", "schedule_period", "calls_in_flight"):
        text = re.sub(
            rf"^{name} = .*$", f"{name} = {{ values = [{design[name]}] }}", text, flags=re.M
        )
    for name in ("engine", "interface"):
        table = rf'(\[space\.{name}\]\ncatalog = "\w+"\noptions = )\[.*?\n\]'
        text = re.sub(table, rf'\1["{design[name]}"]', text, flags=re.S)
    arbitration = r'(arbitration = \{ catalog = "arbitrations", options = )\[.*?\]'
    text = re.sub(arbitration, rf'\1["{design["arbitration"]}"]', text)
    return text.replace('name = "aes"', 'name = "changed"', 1)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("architect")
    told = dse("new", "aes.toml", "--kernel", "aes", "--interface", "axi-dma", cwd=folder)
    assert "next: dse check aes.toml, then dse run aes.toml" in told
    assert "no problems" in dse("check", "aes.toml", cwd=folder)
    text = (folder / "aes.toml").read_text()
    fewer = {"lanes": "1, 2, 4, 8, 16", "schedule_period": "1, 8", "streams": "16, 64"}
    for name, values in fewer.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {{ values = [{values}] }}", text, flags=re.M)
    (folder / "aes.toml").write_text(text)
    with pytest.MonkeyPatch.context() as monkeypatch:
        leave_out_assumptions(monkeypatch)
        (folder / "said.txt").write_text(dse("run", "aes.toml", cwd=folder))
    return folder


def test_from_a_kernel_to_the_design_that_the_advice_promised(
    walked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_assumptions(monkeypatch)
    said = (walked / "said.txt").read_text()
    front = read_front(walked / "runs/aes")
    answer = json.loads((walked / "runs/aes/summary.json").read_text())["answer"]

    # the first lines give the design, its values and its limits
    build = re.search(r"recommended +design (\d+): (.*)\ngives +speedup ([\d.]+)", said)
    assert build is not None
    number = int(build[1])
    assert f"lanes {front['lanes'][number]}," in build[2]
    assert f"interface {front['interface'][number]}" in build[2]
    assert float(build[3]) == pytest.approx(front["speedup"][number], rel=0.005)
    assert said.index("recommended") < said.index("limits ") < said.index("Complete:")

    # the Nash design is that design, and its advice names designs
    explained = dse("explain", "runs/aes", "--design", "nash", cwd=walked)
    assert explained.startswith(f"design {number} of aes\n")
    advice = re.findall(r"^change .*\(design (\d+)\).*$", explained, flags=re.M)
    assert advice

    # a step up from it is promised, and made: a study of that design alone gives these figures
    step = answer["steps"]["at least 10 % less area"]
    assert step in said
    changed = int(re.findall(r"design (\d+)", step)[0])
    text = (walked / "aes.toml").read_text()
    (walked / "changed.toml").write_text(narrowed(text, front.loc[changed].to_dict()))
    assert "no problems; 1 design" in dse("check", "changed.toml", cwd=walked)
    dse("run", "changed.toml", cwd=walked)
    found = read_front(walked / "runs/changed")
    assert len(found) == 1
    (promised,) = re.findall(r"\barea −([\d.]+) %", step)
    fraction = found["area"].iloc[0] / front["area"][number]
    assert fraction == pytest.approx(1 - float(promised) / 100, abs=0.001)
    assert fraction <= 0.9


def test_what_a_target_takes_is_the_least_of_the_front(
    walked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_assumptions(monkeypatch)
    said = dse("run", "aes.toml", "--target", "speedup >= 20", "--least", "area", cwd=walked)
    front = read_front(walked / "runs/aes")
    reaching = front[front["speedup"] >= 20]
    cheapest = int(str(reaching["area"].idxmin()))
    assert re.search(rf"recommended +design {cheapest}: ", said)
    assert re.search(r"why +meets speedup >= 20, best area", said)
    explained = dse("explain", "runs/aes", cwd=walked)
    assert explained.startswith(f"design {cheapest} of aes\n")
    for other in re.findall(r"^(?:change| ) .*\(design (\d+)\): .*$", explained, flags=re.M):
        assert int(other) not in front.index or front["speedup"][int(other)] >= 20
    assert "speedup" in explained

    # one that nothing reaches: the nearest, and what stands in the way
    said = dse("run", "aes.toml", "--target", "speedup >= 500", cwd=walked, code=3)
    fastest = int(str(front["speedup"].idxmax()))
    assert "No design in this space meets speedup >= 500." in said
    assert re.search(rf"nearest +design {fastest}: lanes {front['lanes'][fastest]}, ", said)
    assert "recommended" not in said


# ── From a C program ──


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Run the commands of docs/how-to/profile.md; return the folder and their outputs."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "studies").symlink_to(ROOT / "studies")
    page = (ROOT / "docs" / "how-to" / "profile.md").read_text()
    section = page.partition("## From a program")[2].partition("\n## ")[0]
    lines = re.findall(r"^    dse (.*?)(?: *#.*)?$", section, re.MULTILINE)
    with pytest.MonkeyPatch.context() as monkeypatch:
        leave_out_assumptions(monkeypatch)
        outputs = [(line.split()[0], dse(*shlex.split(line), cwd=folder)) for line in lines]
    assert [name for name, _ in outputs] == ["profile"] * 2 + ["new", "check", "run", "explain"]
    return folder, dict(outputs)


@needs_compiler
def test_from_a_program_to_the_functions_to_build(commands: tuple[Path, dict[str, str]]) -> None:
    folder, said = commands
    assert (folder / "fft.html").exists()
    assert "dse check fft.toml" in said["new"]
    study = (folder / "fft.toml").read_text()
    lines = (ROOT / "studies" / "programs" / "fft.c").read_text().splitlines()
    begins = next(n for n, line in enumerate(lines, 1) if line.startswith("static void transform("))
    assert f"fft.c:{begins};" in study
    assert tomllib.loads(study)["space"]["accelerated"]["of"][0] == "transform"
    assert "no problems" in said["check"]
    assert "transform" in said["run"]
    assert re.search(r"^accelerated +.*transform", said["explain"], re.MULTILINE)
    assert "selection" not in said["explain"]  # a number made of bits says nothing to a person
    columns = json.loads((folder / "runs/fft/summary.json").read_text())["columns"]
    roles = {column["name"]: column["role"] for column in columns}
    assert (roles["accelerated"], roles["selection"]) == ("variable", "code")
    assert "Which functions to accelerate" in read_page(folder / "runs/fft/report.html")
