"""Certificates are checked before they are given, and put to the test by `dse certify`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import dse
from benchmarks.adversarial_models import CASES, HONEST, VARIABLE, Case, write_study
from dse.cli import commands
from dse.problems import InputError
from dse.run import StoppedError
from dse.search.verification import detectable_fraction, sample_size


def _study(case: Case, folder: Path, values: int = 24) -> dse.Study:
    study = write_study(case, "bound" if case.declares else "exhaustive", folder)
    study.write_text(study.read_text().replace("[1, 60]", f"[1, {values}]"))
    return dse.load(study)


def _certify(folder: Path) -> tuple[int, str]:
    done = CliRunner().invoke(commands, ["certify", str(folder), "--designs", "20000"])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", ["a running sum of 100", "wrong beyond 1000 rows", "the thread"])
def test_a_run_refutes_models_that_depend_on_more_than_their_inputs(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises((StoppedError, InputError), match=r"m\.py:f") as raised:
        _study(CASES[name], tmp_path, 60).run(tmp_path / "out", workers=2)
    assert any(words in str(raised.value) for words in ("same value twice", "determin", "element"))
    assert not (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize("name", ["a masked array", "complex numbers", "objects"])
def test_what_is_not_an_array_of_numbers_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"m\.py:f returned "):
        _study(CASES[name], tmp_path).run(None, workers=1)


@pytest.mark.parametrize("name", ["a variable of the environment", "the hash of a text"])
def test_certify_refutes_in_a_fresh_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    _study(CASES[name], tmp_path).run(tmp_path / "out", workers=1)
    code, output = _certify(tmp_path / "out")
    assert code == 1
    assert "REFUTED: m.py:f does not give the same value twice" in output
    assert "in a fresh process" in output
    assert os.environ[VARIABLE] == "1"


def test_certify_refutes_a_model_that_differs_in_all_processes_of_workers(tmp_path: Path) -> None:
    """The check at the end of the run is in one of these processes too, and cannot see it."""
    path = write_study(CASES["the kind of process"], "exhaustive", tmp_path)
    text = path.read_text().replace("[1, 60]", "[1, 24]")
    path.write_text(f"{text}[run]\nprocesses = true\n")
    dse.load(path).run(tmp_path / "out", workers=2)
    code, output = _certify(tmp_path / "out")
    assert code == 1
    assert "REFUTED: m.py:f does not give the same value twice" in output
    assert "in the run" in output


def test_a_spike_is_refuted_by_certify_and_an_honest_model_is_not(tmp_path: Path) -> None:
    """The run checks 256 random designs of the space; the spike concerns 11 of 216,000."""
    spike = next(case for name, case in CASES.items() if name.startswith("a spike"))
    _study(spike, tmp_path / "spike", 60).run(tmp_path / "out", workers=1)
    done = CliRunner().invoke(commands, ["certify", str(tmp_path / "out")])
    assert (done.exit_code, "REFUTED" in done.output) == (1, True)
    honest = Case("honest", HONEST, declares=False)
    result = _study(honest, tmp_path / "honest").run(tmp_path / "sound", workers=1)
    code, output = _certify(tmp_path / "sound")
    assert code == 0
    assert "gave the same values again, also in a fresh process" in output
    assert result.certificate.checked == 256 + result.certificate.non_dominated
    assert "depend only on its inputs" in result.certificate.basis
    assert "if it affects at least 1.2 % of the designs" in result.certificate.basis
    assert result.certificate.basis in " ".join(output.split())


def test_a_sample_is_bounded_by_the_evaluations() -> None:
    assert [sample_size(n, certified=True) for n in (1, 100, 1_000, 10**6)] == [16, 16, 50, 256]
    assert sample_size(100, certified=False) == 5
    assert 0.0115 < detectable_fraction(256) < 0.0117


@pytest.mark.parametrize("wrong", [7, 43])
def test_the_best_design_of_each_objective_is_always_evaluated_again(
    wrong: int, tmp_path: Path
) -> None:
    """One value that is much too good, in one large batch, is not left to a random sample."""
    there = f"(a == {wrong}) & (b == 50) & (c == 9)"
    lines = f"if np.size(speed) > 1000:\n    speed = np.where({there}, 1e9, speed)\n"
    case = Case("one value", lines + HONEST, declares=False)
    with pytest.raises(StoppedError) as raised:
        _study(case, tmp_path, 60).run(None, workers=1)
    message = str(raised.value)
    assert "m.py:f does not give the same value twice: 'speed' of design " in message
    assert " was " in message
    assert " in the search and is " in message
    assert f"(a = {wrong}, b = 50, c = 9" in message
