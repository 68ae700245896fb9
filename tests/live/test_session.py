"""An open study: changes are searched, an older search ends, and a saved file is read again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.live.controls import change_study, list_controls
from dse.live.session import Session, State, provisional_front
from dse.problems import InputError
from dse.study.study import read_study
from tests.docs.pages import ROOT
from tests.toy import MODEL, SMALL, written

FIXED = SMALL.replace('size = { values = ["1 KiB", "2 KiB", "4 KiB"] }', "").replace(
    "[space]", '[inputs]\nsize = "1 KiB"\n[space]'
)
SLOW = MODEL.replace(
    "    return Toy(lanes * clock",
    "    time.sleep(0.003 * np.size(lanes))\n    return Toy(lanes * clock",
).replace("import numpy", "import time\n\nimport numpy")


@contextmanager
def opened(source: Path) -> Iterator[tuple[Session, Callable[[int], State]]]:
    """Open a study; the function waits until a change is done or has failed."""
    workspace = source.parent / "workspace"
    workspace.mkdir()
    session, pause = Session(source, workspace), threading.Event()

    def wait(asked: int) -> State:
        for _ in range(1200):
            state = session.state
            if state.asked >= asked and state.status in ("done", "failed"):
                return state
            pause.wait(0.05)
        raise AssertionError(session.state)

    try:
        yield session, wait
    finally:
        session.close()


def test_changes_are_searched_as_a_script_does(tmp_path: Path) -> None:
    path = written(tmp_path, text=FIXED)
    with opened(path) as (session, wait):
        first = wait(1)
        assert (first.status, first.report, first.fraction) == ("done", 1, 1.0)
        assert not session.before
        cost = "cost at most"
        session.change({"inputs": {"size": "4 MiB", "lanes": 3}, "limits": {cost: "2 kLUT"}})
        assert wait(2).report == 2
        assert session.report_of(2).is_file()
        session.change({"inputs": {"size": "4 bits per call"}})
        failed = wait(3)
        assert failed.status == "failed" and failed.report == 2 and "size" in failed.message
        session.change({"limits": {"costs": 1}})
        assert "costs" in wait(4).message and cost in wait(4).message


def test_a_saved_file_is_read_again_and_keeps_the_changes(tmp_path: Path) -> None:
    path = written(tmp_path, text=FIXED)
    text = path.read_text()
    with opened(path) as (session, wait):
        session.change({"inputs": {"size": "1 MiB"}})
        asked = wait(2).asked
        path.write_text(text.replace("integer", "whole"))
        broken = wait(asked + 1)
        assert (broken.status, broken.report) == ("failed", asked) and "lanes" in broken.message
        path.write_text(text.replace("[1, 12]", "[1, 2]"))
        saved = wait(asked + 2)
        assert (saved.status, saved.study, saved.report) == ("done", 3, asked + 2), saved.message
        session.change({})
        wait(asked + 3)
        expected = dse.load(path).with_inputs(size="1 MiB").run().front.designs
        assert session.before["speed"] == expected["speed"].tolist()
        assert sorted(each.name for each in session.report_of(1).parent.iterdir()) == [
            f"{asked + 2}.html",
            f"{asked + 3}.html",
        ]
    assert not list(tmp_path.glob("runs"))


def test_a_provisional_front_has_no_design_that_another_kept_one_dominates(tmp_path: Path) -> None:
    path = written(tmp_path, text=FIXED)
    study = dse.load(path)
    result = study.run()
    changed = study.with_inputs(size="64 MiB", clock="2 GHz")
    with pytest.raises(InputError, match="is not a limit"):
        change_study(study, {"limits": {"costly": 2}})
    changed = study.with_inputs(size="64 MiB")
    points = provisional_front(changed, result)
    table = changed.evaluate(result.designs)
    costs = table.loc[table["feasible"], ["speed", "cost"]].to_numpy() * (-1, 1)
    alone = [c for c in costs.tolist() if not ((costs <= c).all(1) & (costs < c).any(1)).any()]
    assert sorted(zip(points["speed"], points["cost"], strict=True)) == sorted(
        (-speed, cost) for speed, cost in alone
    )
    assert [*points] == [*result.columns]


def test_a_newer_change_ends_the_search(tmp_path: Path) -> None:
    path = written(tmp_path, '[search]\nmethod = "exhaustive"\n', model=SLOW)
    with opened(path) as (session, wait):
        session.change({"inputs": {"lanes": 2, "clock": "1 GHz"}})
        assert wait(2).status == "done"
        assert not session.report_of(1).is_file()
        assert session.report_of(2).is_file()


def test_each_control_takes_back_its_value() -> None:
    study = read_study(ROOT / "studies" / "crypto.toml")
    found = {each.name: each for each in list_controls(study)}
    assert (found["granularity"].value, found["granularity"].low) == ("1 KiB", 1 / 8)
    assert ("cxl-x8", "cxl-x8") in found["interface"].options
    assert found["area at most"].value == "400 kLUT"
    inputs = {c.name: c.value for c in found.values() if c.value and c.kind == "inputs"}
    limits = {c.name: c.value for c in found.values() if c.kind == "limits"}
    same = change_study(study, {"inputs": inputs, "limits": limits})
    assert same.evaluator.space == study.evaluator.space
    for name, number in study.constants.items():
        if np.isscalar(number):
            assert same.constants[name] == pytest.approx(number), name
