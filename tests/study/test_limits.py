"""Inputs of absurd sizes and kinds: each is one short message, and quickly so."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import dse
from dse.problems import LONGEST_MESSAGE
from tests.study.test_study import STUDY

_TABLE = '[study]\nname = "t"\ntable = "t.csv"\n[[objective]]\nminimize = "a"\n'
_OBJECTIVE = '[[objective]]\nminimize = "break_even"\n'
LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_TABLE.replace('"t.csv"', '["t.csv"]'), r"study\.table: .* is not a text"),
        (STUDY + _OBJECTIVE * 12 + "[[objective]]\nminimize = 3\n", "objective: .* at most 10"),
        (STUDY.partition("[[")[0].replace("[study]", f"objective = [{'{}, ' * 50_000}]\n[study]"),
         "objective: .* at most 10"),
        (STUDY.replace('"speedup"', f'"{LONG}"'), r"objective\[1\]\.maximize: is 100,000 char"),
        (STUDY.replace("29000", f'"{LONG}"'), r"inputs\.overhead: is 100,000 characters"),
        (STUDY.replace('name = "t"', f'name = "{LONG}"'), r"study\.name: is 100,000 characters"),
        (STUDY.replace("overhead", LONG), "inputs: is 100,000 characters"),
        (f'{STUDY}[[constraint]]\nquantity = "speedup"\nat_most = "{LONG}"\n', "at_most: is 100"),
        (f'{STUDY}[[constraint]]\nrelation = "{LONG}"\n', "relation: is 100,000 characters"),
        (STUDY.replace("29000", "9" * 400), r"inputs\.overhead: is too large a number"),
        (_TABLE, "column name of 100,000 characters"),
    ],
)  # fmt: skip
def test_sizes_have_limits(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"b,{LONG}\n1,2\n2,3\n")
    (tmp_path / "study.toml").write_text(text)
    started = time.process_time()
    with pytest.raises(dse.InputError, match=f"(?s){words}") as error:
        dse.load(tmp_path / "study.toml")
    assert time.process_time() - started < 5
    assert len(str(error.value)) <= LONGEST_MESSAGE


def test_a_long_comment_with_signs_of_urls_is_read_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"{STUDY}# @ {'x:/y:' * 20_000} {LONG}\n")
    started = time.process_time()
    dse.load(tmp_path / "study.toml")
    assert time.process_time() - started < 5


def test_a_file_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml"))
    path.write_text(STUDY)
    with pytest.raises(dse.InputError, match="name of the file is not UTF-8"):
        dse.load(path)
