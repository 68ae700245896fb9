"""Options of the command line: one value where one is taken, and names of files."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.options import Single


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run s.toml -o a --out b", "'-o' / '--out': takes one value, but 'a' and 'b' are given"),
        ("run s.toml --workers 1 --workers 2", "'--workers': takes one value, but '1' and '2'"),
        ("new s.toml --kernel aes --kernel sha", "'--kernel': takes one value"),
        ("explain r --where a --where b --design 1 --design 2", "'--where': takes one value"),
        ("fit t.csv --html a --html b", "'--html': takes one value, but 'a' and 'b' are given"),
        ("profile p.c -O 1 -O 2", "'-O' / '--optimisation': takes one value"),
        ("certify r --seed 1 --seed 2", "'--seed': takes one value, but '1' and '2' are given"),
        ("run s.toml -o -", "'-' is not a file: give a name"),
        ("profile p.c -o -", "'-' is not a file"),
        ("profile p.json --html -", "'-' is not a file"),
        ("fit t.csv --json -", "'-' is not a file"),
    ],
)
def test_two_values_of_one_option_and_standard_output_are_refused(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last value was taken without a word, and a file named - was written."""
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(commands, line.split())
    assert found.exit_code == 2
    assert told in " ".join(found.output.split())
    assert not any(tmp_path.iterdir())


def test_equal_values_and_several_of_what_may_be_several_are_taken(tmp_path: Path) -> None:
    run = str(tmp_path / "none")
    line = ["explain", run, "--where", "a", "--where", "a", "--design", "1", "--design", "2"]
    found = CliRunner().invoke(commands, line)
    assert isinstance(found.exception, dse.InputError)
    assert "is not a run folder" in str(found.exception)


def test_every_option_of_every_command_is_one_of_ours() -> None:
    context = click.Context(commands)
    listed = [commands.get_command(context, name) for name in commands.list_commands(context)]
    assert None not in listed
    every = [p for c in listed if c for p in c.params if p.param_type_name == "option"]
    assert len(every) > 30
    assert [p.name for p in every if not isinstance(p, Single)] == []
