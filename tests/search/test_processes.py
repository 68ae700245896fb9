"""With `processes = true` what prepares a search, and what bounds it, runs in processes too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.run import StoppedError, run
from dse.search.base import Start, method_of
from dse.search.workers import Workers
from tests.toy import MODEL, STUDY

DECLARED = "@monotonic(speed='+lanes +clock -size', cost='+lanes +clock')\ndef toy("
TELLS = """    import os
    with open({pids!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return Toy(l"""
ENDS = """    import os
    if np.size(lanes) > 64:
        os._exit(9)
    return Toy(l"""


def _study(folder: Path, body: str, search: str) -> dse.Study:
    text = MODEL.replace("def toy(", DECLARED).replace(
        "from dse import", "from dse import monotonic,"
    )
    (folder / "toy_model.py").write_text(text.replace("    return Toy(l", body, 1))
    text = f'{STUDY}[search]\nmethod = "bound"\n{search}[run]\nprocesses = true\nworkers = 2\n'
    (folder / "study.toml").write_text(text)
    return dse.load(folder / "study.toml")


def _searched(study: dse.Study, workers: Workers) -> Any:
    search = method_of(study.plan.method).start(Start(study.evaluator, study.plan, workers=workers))
    for _ in search.steps():
        pass
    return search.outcome()


@pytest.mark.parametrize("continuous", [False, True])  # tabulated, and bounded by declared moves
def test_bounds_run_models_in_processes_alone(continuous: bool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    study = _study(tmp_path, TELLS.format(pids=str(pids)), "tolerance = 0.2\n")
    if continuous:
        text = (tmp_path / "study.toml").read_text().replace("steps = 100, ", "")
        (tmp_path / "study.toml").write_text(text)
        study = dse.load(tmp_path / "study.toml")
    found = _searched(study, Workers(2, "loky"))
    assert str(os.getpid()) not in pids.read_text().split()
    here = _searched(study, Workers(1))
    assert str(os.getpid()) in pids.read_text().split()
    np.testing.assert_array_equal(found.judged.objectives, here.judged.objectives)
    assert found.statement == here.statement


def test_a_model_that_ends_the_process_of_a_table_ends_the_run_with_a_message(
    tmp_path: Path,
) -> None:
    study = _study(tmp_path, ENDS, "")  # beyond what the models are held to their contract on
    with pytest.raises(StoppedError, match="toy: a process of the workers ended"):
        run(study, tmp_path / "out")
