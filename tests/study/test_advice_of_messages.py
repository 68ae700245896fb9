"""Messages name the place of a mistake and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.problems import InputError
from tests.toy import MODEL, STUDY


def write(folder: Path, model: str = MODEL, text: str = STUDY) -> Path:
    (folder / "toy_model.py").write_text(model)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_a_misspelt_move_is_reported_at_the_line_of_the_function(tmp_path: Path) -> None:
    declared = MODEL.replace("def toy(", '@monotonic(speed="+lanez")\ndef toy(')
    model = declared.replace("import Array,", "import monotonic, Array,")
    line = model.split("\n").index('@monotonic(speed="+lanez")') + 1
    with pytest.raises(InputError) as error:
        dse.load(write(tmp_path, model))
    text = str(error.value)
    assert f"toy_model.py, line {line}: toy: 1 problem" in text
    assert "speed: '+lanez' is not a sign and an input" in text
    assert "declarations.py" not in text


def test_what_raises_inside_the_engine_is_reported_at_the_users_line(tmp_path: Path) -> None:
    model = MODEL.replace('"speed", low=0)', '"speed", low=5, high=1)')
    line = next(i for i, each in enumerate(model.split("\n"), 1) if "high=1" in each)
    with pytest.raises(InputError) as error:
        dse.load(write(tmp_path, model))
    assert [str(p) for p in error.value.problems] == [
        "study.models[1]: importing toy_model.py raised ValueError: the domain [5, 1] of 'speed' "
        f"is empty, line {line} of toy_model.py"
    ]


def test_exhaustive_on_a_continuum_advises_bounds_first(tmp_path: Path) -> None:
    text = STUDY.replace(", steps = 100", "") + '[search]\nmethod = "exhaustive"\n'
    with pytest.raises(InputError) as error:
        dse.load(write(tmp_path, text=text))
    said = str(error.value)
    assert "exhaustive cannot enumerate a continuum: clock" in said
    assert said.index('"bound" with a tolerance') < said.index('"evolution"')


def test_a_run_that_is_moved_aside_is_reported_in_a_line(tmp_path: Path) -> None:
    path, out = write(tmp_path, text=STUDY.replace("steps = 100", "steps = 3")), tmp_path / "out"
    first = CliRunner().invoke(commands, ["run", str(path), "--out", str(out)])
    assert "held another" not in first.output
    path.write_text(path.read_text().replace("steps = 3", "steps = 4"))
    second = CliRunner().invoke(commands, ["run", str(path), "--out", str(out)])
    assert second.exit_code == 0
    (line,) = [each for each in second.output.split("\n") if "held another" in each]
    assert line == f"{out} held another run or study: that is {out}.1 now"
    assert (tmp_path / "out.1" / "summary.json").is_file()
