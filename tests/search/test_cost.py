"""A study that names no method gets one that suits what its models take."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.run import run
from dse.search import cost
from dse.search.base import Progress
from tests.toy import MODEL, STUDY


class Clock:
    """Time that passes while models work: a hundred seconds a design."""

    now = 0.0

    def wait(self, lanes: Any) -> None:
        self.now += 100.0 * np.size(lanes)


clock_ = Clock()


def _study(folder: Path, search: str = "", steps: int = 100) -> dse.Study:
    (folder / "toy_model.py").write_text(MODEL)
    text = STUDY.replace("steps = 100", f"steps = {steps}")
    (folder / "study.toml").write_text(f"{text}[search]\n{search}")
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("search", "steps", "seconds", "method"),
    [
        ("", 100, 1e-5, "exhaustive"),
        ("", 100, 0.02, "exhaustive"),  # 19,200 designs: 384 s
        ("", 100, 0.1, "guided"),  # 32 minutes
        ("", 100, math.nan, "exhaustive"),
        ("timeout = 30", 100, 0.02, "guided"),
        ("timeout = 30", 100, 0.9e-3, "exhaustive"),  # formulas, whatever the time
        ("", 1_000_000, 1e-6, "evolution"),
        ("", 1_000_000, 0.1, "guided"),
        ("evaluations = 500", 100, 0.1, "evolution"),  # 50 s
        ("evaluations = 500", 100, 5.0, "guided"),
        ("evaluations = 20_000", 1_000_000, 0.1, "evolution"),  # more than it can learn from
        ('tolerance = "1 %"', 1_000_000, 0.1, "evolution"),
        ('method = "exhaustive"', 100, 60.0, "exhaustive"),  # as it says
    ],
)
def test_the_rule(search: str, steps: int, seconds: float, method: str, tmp_path: Path) -> None:
    study = _study(tmp_path, search, steps)
    found = cost.settled(study.plan, study.evaluator, seconds)
    assert found.method == method
    assert (found is study.plan) == (method != "guided")
    if method == "guided":
        assert f"a design takes about {seconds * 1e3:.0f} ms" in found.reason.replace(
            "5 s", "5000 ms"
        )
        assert found.timeout == study.plan.timeout


def test_what_a_design_takes_is_measured_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, now, asked = _study(tmp_path), [0.0], list[int]()

    def taking(each: float, batch: float) -> Any:
        def evaluate(points: Any) -> None:
            asked.append(len(points["lanes"]))
            now[0] += batch + each * asked[-1]

        return type("Evaluator", (), {"space": study.evaluator.space, "evaluate": evaluate})

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    assert cost.pace(taking(1e-6, 5e-3)) == pytest.approx(1e-6 + 5e-3 / 512)  # of a batch: little
    assert (
        cost.pace(taking(1e-6, 0.1)) < 1e-3
    )  # nor on a machine that makes each call ten times as long
    assert cost.pace(taking(2e-2, 0.0)) == pytest.approx(2e-2)
    asked.clear()
    assert cost.pace(taking(60.0, 0.0)) == pytest.approx(60.0)
    assert asked == [1]


def test_a_resumed_run_keeps_the_method_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = _study(tmp_path, "seed = 3\n")
    monkeypatch.setattr(cost, "pace", lambda _: 0.5)
    begun: list[str] = []

    def told(study: Any) -> None:
        begun.append(study.plan.method)

    def cut(progress: Progress) -> None:
        if progress.done > 60:
            raise KeyboardInterrupt

    first = run(study, tmp_path / "out", 1, cut, begins=told)
    assert first.certificate.stopped == "interrupted"
    monkeypatch.setattr(cost, "pace", lambda _: 1e-6)
    settings = study.plan.guided
    assert settings is not None
    plan = replace(study.plan, guided=replace(settings, evaluations=128))
    short = replace(study, plan=plan)
    found = run(short, tmp_path / "out", 1, begins=told)
    assert begun == ["guided", "guided"]
    assert found.certificate.method == "guided"
    assert found.certificate.evaluated == 128
    assert any("guided search was chosen: a design takes about 500 ms" in n for n in first.notes)


def test_check_measures_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _study(tmp_path)
    monkeypatch.setattr(cost, "pace", lambda _: 2.0)
    told = CliRunner().invoke(commands, ["check", str(tmp_path / "study.toml")]).output
    why = "guided search of 2,000 (a design takes about 2 s, and exhaustive search could take"
    assert why in " ".join(told.split())


def test_check_is_quick_whatever_the_models_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _study(tmp_path, "", 1_000_000)
    slow = MODEL.replace("    return Toy(l", "    clock_.wait(lanes)\n    return Toy(l", 1)
    (tmp_path / "toy_model.py").write_text(f"from tests.search.test_cost import clock_\n{slow}")
    clock_.now = 1e6
    for name in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: clock_.now)
    done = CliRunner().invoke(commands, ["check", str(tmp_path / "study.toml")])
    assert done.exit_code == 0
    assert clock_.now - 1e6 <= 4 * 100.0
    told = " ".join(done.output.split())
    assert "not held to their contract: one design took 100.0 s, too long for the 5 s" in told
    assert "guided search" in told


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ('method = "RandomSampler"\nevaluations = 30_000', True),
        ('method = "guided"\nevaluations = 19_200', True),
        ('method = "evolution"\nevaluations = 5_000', False),
        ('method = "exhaustive"', False),
    ],
)
def test_who_asks_for_a_sampler_of_a_small_space_is_told_of_enumeration(
    search: str, told: bool, tmp_path: Path
) -> None:
    _study(tmp_path, search)
    shown = CliRunner().invoke(commands, ["check", str(tmp_path / "study.toml")]).output
    better = 'method = "exhaustive" evaluates no more than all 19,200 designs, and is certain'
    assert (better in " ".join(shown.split())) == told
