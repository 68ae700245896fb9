"""A study that names no method gets one that suits its size, its declarations and its models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from benchmarks import peer_problems
from dse.cli import commands
from dse.evaluate.evaluator import Evaluator
from dse.run import run
from dse.search.base import Progress, SearchSettings
from dse.search.method_choice import adapt_to_bounds, adapt_to_pace
from dse.study.execution import choose_search
from tests.toy import changed

pytestmark = pytest.mark.usefixtures("no_report")

EXACT = SearchSettings("bound")


def _study(folder: Path, search: str = "", steps: int = 100) -> dse.Study:
    return changed(folder, search, ("steps = 100", f"steps = {steps}"))


@pytest.mark.parametrize(
    ("search", "steps", "seconds", "method"),
    [
        ("", 100, 0.02, "exhaustive"),  # 19,200 designs: 384 s
        ("", 100, 0.1, "guided"),  # 32 minutes
        ("timeout = 30", 100, 0.02, "guided"),
        ("timeout = 30", 100, 0.9e-3, "exhaustive"),  # formulas, whatever the time
        ("", 1_000_000, 1e-6, "evolution"),
        ("", 1_000_000, 0.1, "guided"),
        ("evaluations = 500", 100, 0.1, "evolution"),  # 50 s
        ("evaluations = 20_000", 1_000_000, 0.1, "evolution"),  # more than it can learn from
        ('tolerance = "1 %"', 1_000_000, 0.1, "evolution"),
        ('method = "exhaustive"', 100, 60.0, "exhaustive"),  # as it says
    ],
)
def test_the_rule(search: str, steps: int, seconds: float, method: str, tmp_path: Path) -> None:
    study = _study(tmp_path, search, steps)
    found = adapt_to_pace(study.plan, study.evaluator, seconds)
    assert found.method == method
    assert (found is study.plan) == (method != "guided")
    if method == "guided":
        shown = f"a design takes about {seconds * 1e3:.0f} ms"
        assert shown in found.reason
        assert found.timeout == study.plan.timeout


def test_a_resumed_run_keeps_the_method_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = _study(tmp_path, "seed = 3\n")
    monkeypatch.setattr(Evaluator, "pace", 0.5)
    begun: list[str] = []

    def cut(progress: Progress) -> None:
        if progress.done > 60:
            raise KeyboardInterrupt

    def note(study: Any) -> None:
        begun.append(study.plan.method)

    first = run(study, tmp_path / "out", 1, cut, begins=note)
    assert first.certificate.stopped == "interrupted"
    monkeypatch.setattr(Evaluator, "pace", 1e-6)
    assert study.plan.guided is not None
    guided = replace(study.plan.guided, evaluations=128)
    short = replace(study, plan=replace(study.plan, guided=guided))
    found = run(short, tmp_path / "out", 1, begins=note)
    assert begun == ["guided", "guided"]
    assert found.certificate.method == "guided"
    assert found.certificate.evaluated == 128
    assert any("guided search was chosen: a design takes about 500 ms" in n for n in first.notes)


BETTER = 'method = "exhaustive" evaluates no more than all 19,200 designs, and is certain'


@pytest.mark.parametrize(
    ("search", "pace", "shown", "hidden"),
    [
        (
            "",
            2.0,
            "guided search of 2,000 (a design takes about 2 s, and exhaustive search",
            BETTER,
        ),
        ('method = "RandomSampler"\nevaluations = 30_000', 1e-6, BETTER, "guided"),
        ('method = "evolution"\nevaluations = 5_000', 1e-6, "evolution", BETTER),
    ],
)
def test_check_says_which_method_and_why(
    search: str,
    pace: float,
    shown: str,
    hidden: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _study(tmp_path, search)
    monkeypatch.setattr(Evaluator, "pace", pace)
    output = (
        CliRunner().invoke(commands, ["check", str(tmp_path / "study.toml"), "--verbose"]).output
    )
    text = " ".join(output.split())
    assert shown in text
    assert hidden not in text


@pytest.mark.parametrize(
    ("size", "left", "planned", "method", "exact"),
    [
        (3_000_000, 200_000, "exhaustive", "bound", True),
        (3_000_000, 900_000, "exhaustive", "exhaustive", True),
        (10**10, 2_000_000, "bound", "bound", True),  # more than an enumeration may have
        (10**10, 20_000_000, "bound", "bound", False),
    ],
)
def test_bounds_replace_an_enumeration_that_costs_more(
    size: int, left: int, planned: str, method: str, exact: bool
) -> None:
    plan = SearchSettings(planned, tolerance=0.01 * (planned == "bound"), bounded=EXACT)
    probe = Progress(size - left, size, 10, bounded=100_000)
    found = adapt_to_bounds(plan, probe)
    assert (found.method, found.exact) == (method, exact)
    assert f"at most {left:,} of {size:,} designs" in found.reason
    assert adapt_to_bounds(plan, None) is plan  # a declaration is refuted


def test_a_probe_selects_bounds_and_a_resumed_run_keeps_them() -> None:
    study = peer_problems.five(24)
    assert study.plan.method == "exhaustive"
    found = choose_search(study)
    assert found.plan.key == "bound, exact"
    assert "bound search was chosen: after" in found.notes[-1]
    assert choose_search(study, began="bound, exact").plan.key == "bound, exact"
    assert choose_search(study, began="exhaustive") is study
    limited = replace(study, plan=replace(study.plan, bounded=None))
    assert choose_search(limited).plan.method == "exhaustive"
