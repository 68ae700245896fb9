"""Inputs that mean harm, and models that end the process that runs them."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import dse
from dse import cli
from dse.problems import InputError, printable
from dse.result import files
from dse.result.folder import read_json
from dse.run import StoppedError, run
from dse.search.base import Start, method_of
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import Ranges
from dse.search.workers import EndedError, Workers
from dse.study.catalog import load_catalog
from dse.study.design_table import read_table
from dse.terminal.layout import escape
from objectives.communication import load_dataflow
from tests.toy import MODEL, STUDY


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[study]", f"{'a' * 70_000} = 1\n[study]", "70,000 characters long"),
        ('"toy"', f'"{"x" * 100_000}"', r"study\.name: is 100,000 characters long"),
        ("[study]", f"x = {'9' * 400}\n[study]", "x: is too large a number"),
        ('"toy"', '"to\\u001b[31my"', r"study\.name: holds control characters: U\+001B"),
        ('"toy"', '"to\\u009b2Jy"', r"study\.name: holds control characters: U\+009B"),
        ("toy_model.py:toy", "toy\\u0000.py:toy", r"study\.models\[1\]: holds .* U\+0000"),
        ("size = {", '"si\\u0007ze" = {', r"space: holds control characters: U\+0007"),
        ("toy_model.py:toy", "builtins:eval", "builtins has no function 'eval'"),
    ],
)
def test_what_no_study_can_hold_is_told(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    assert old in STUDY
    (tmp_path / "study.toml").write_text(STUDY.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        dse.load(tmp_path / "study.toml")


def test_a_script_gives_no_control_characters_either() -> None:
    with pytest.raises(InputError, match=r"study\.name: holds control characters: U\+001B"):
        dse.from_mapping({"study": {"name": "a\x1b[2J", "models": []}})


def test_a_terminal_obeys_no_text() -> None:
    assert escape("a\x1b[2J\x9b1m[b]") == "a\\x1b[2J\\x9b1m\\[b]"
    assert printable("two\nlines\tβ") == "two\nlines\tβ"


def test_a_summary_nested_without_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match="is not JSON"):
        read_json(tmp_path / "summary.json")


def test_an_edited_or_broken_checkpoint_is_told(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    state = {"done": np.array(7), "points": np.eye(3)}
    files.write_state(path, state, "digest")
    assert files.read_state(path, "digest").keys() == state.keys()
    whole = path.read_bytes()
    for damaged in (b"", b"PK", whole[:-30], whole.replace(b"(3, 3)", b"(9**9)")):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read|is not as"):
            files.read_state(path, "digest")


ENDS = (
    "    import os\n\n    if (np.asarray(lanes) == 37).any():\n        os._exit(9)\n    return Toy("
)


@pytest.mark.parametrize("at", [1, 37])
def test_a_model_that_ends_its_process_ends_the_run_with_a_message(at: int, tmp_path: Path) -> None:
    ends = ENDS.replace("37", str(at))
    (tmp_path / "toy_model.py").write_text(MODEL.replace("    return Toy(", ends, 1))
    (tmp_path / "study.toml").write_text(STUDY + "[run]\nprocesses = true\nworkers = 2\n")
    with pytest.raises(StoppedError, match="a process of the workers ended: a model crashed"):
        run(dse.load(tmp_path / "study.toml"), tmp_path / "out")


@pytest.mark.parametrize(
    ("search", "options", "most"),
    [("exhaustive", "", 36 * 300), ("evolution", "evaluations = 2000\n", 1_999)],
)
def test_designs_at_which_a_process_ended_are_named(
    search: str, options: str, most: int, tmp_path: Path
) -> None:
    """Of the first task that was not done: what ended it is there, or in one under way with it."""
    (tmp_path / "toy_model.py").write_text(MODEL.replace("    return Toy(", ENDS, 1))
    (tmp_path / "study.toml").write_text(f'{STUDY}[search]\nmethod = "{search}"\n{options}')
    study = dse.load(tmp_path / "study.toml")
    workers = Workers(2, "loky")
    under_way = method_of(search).start(Start(study.evaluator, study.plan, 512, workers))
    with pytest.raises(EndedError) as ended:
        for _ in under_way.steps():
            pass
    named = re.search(r"; it was at designs? (\d+)(?: to (\d+))?, or soon", str(ended.value))
    assert named is not None
    assert under_way.progress().done <= int(named[1]) <= min(int(named[2] or named[1]), most)


def test_the_second_signal_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` sends the first one twice, to the process and to its group: that is one."""
    ended, now = list[int](), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    signs = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(sign) for sign in signs]
    monkeypatch.setattr(os, "_exit", ended.append)
    try:
        with pytest.raises(KeyboardInterrupt):
            cli._end()
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == []
        now[0] = 1.0
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == [130]
    finally:
        for sign, handler in zip(signs, before, strict=True):
            signal.signal(sign, handler)


def test_a_weight_of_a_value_that_cannot_be_read_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    over = '[[objective]]\nminimize = "cost"\nover = { clock = ["1 GHz", "2 sheep"] }\n'
    over += 'reduce = "mean"\nweights = [1, 2]\n'
    (tmp_path / "study.toml").write_text(STUDY + over)
    with pytest.raises(InputError, match=r"over\.clock: unknown unit .sheep"):
        dse.load(tmp_path / "study.toml")


def test_an_open_quotation_mark_in_a_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n1,2\n3,"4\n')
    with pytest.raises(InputError, match=r"t\.csv is not a table: .*\n +close each quotation mark"):
        read_table("t.csv", tmp_path)


def test_a_study_of_many_designs_with_a_problem_is_not_bounded(tmp_path: Path) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    over = '[[objective]]\nminimize = "cost"\nover = { clock = ["1 GHz", "2 GHz"] }\n'
    text = STUDY.replace("steps = 100", "steps = 10000000") + over
    (tmp_path / "study.toml").write_text(text + "[search]\nnothing = 1\n")
    with pytest.raises(InputError, match="unknown key 'nothing'"):
        dse.load(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("values", "moves"),
    [
        ("integer = [1, 9007199254740991]", True),
        ("integer = [4, 9007199254740991], step = 9007199254740990", False),  # one value
    ],
)
def test_a_variable_of_countless_values_is_not_written_out_to_see_that_it_has_several(
    values: str, moves: bool, tmp_path: Path
) -> None:
    (tmp_path / "toy_model.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY.replace("integer = [1, 64]", values))
    told = find_missing_declarations(Ranges(dse.load(tmp_path / "study.toml").evaluator))
    assert any(each.endswith("'speed' changes with 'lanes'") for each in told) == moves


def test_costs_of_calls_below_another_function_are_told(tmp_path: Path) -> None:
    lines = ["# callgrind format", "events: Ir", "fn=(1) main", "cfn=(2) f", "calls=1 1", "fn=(1)"]
    (tmp_path / "callgrind.out.1").write_text("\n".join([*lines, "1 5", ""]))
    words = r"line 7: '1 5' is not callgrind output\n +costs of calls must follow cfn=NAME"
    with pytest.raises(InputError, match=words):
        load_dataflow(tmp_path / "callgrind.out.1")


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 3_000])
def test_a_catalog_with_a_number_without_end_is_told(value: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f'about = "a"\nn = {value}\n')
    with pytest.raises(InputError, match=r"is not TOML|is nested too deeply"):
        load_catalog(tmp_path / "c.toml")


def test_a_cost_that_no_number_holds_is_told(tmp_path: Path) -> None:
    lines = ["# callgrind format", "events: Ir", "fn=(1) main", f"1 {'9' * 400}", ""]
    (tmp_path / "callgrind.out.1").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"line 4: '1 9+' is not callgrind output"):
        load_dataflow(tmp_path / "callgrind.out.1")
