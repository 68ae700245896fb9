"""Explaining and reporting runs of scripts, and fronts without designs."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np

import dse
from dse.terminal import Terminal
from tests.commands import called
from tests.explain.examples import MODELS, TINY
from tests.toy import MODEL, written

LOGCA: dict[str, Any] = {
    "study": {"name": "script", "models": ["objectives.logca:offload"]},
    "inputs": {"latency": 0.0, "computational_index": 50.0, "complexity": 1.0, "overhead": 1e3},
    "space": {"acceleration": {"integer": [2, 9]}},
    "objective": [{"maximize": "speedup", "at": {"granularity": "1 KiB"}}],
}


def test_a_run_of_a_script_explains_itself(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    dse.from_mapping(LOGCA).run(folder)
    code, out, _ = called("explain", str(folder), "--design", "7", cwd=tmp_path, columns=200)
    assert code == 0
    assert "acceleration (A)" in out
    (folder / "report.html").unlink()
    assert called("report", str(folder), cwd=tmp_path, columns=200)[0] == 0
    assert (folder / "report.html").is_file()


def test_functions_of_a_script_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    study = dse.from_mapping(TINY, MODELS)
    result = study.run(folder)
    code, _, err = called("explain", str(folder), cwd=tmp_path, columns=200)
    assert code == 2
    assert "its script gave the functions call, loaded as models" in err
    assert "study.explain(result, 17)" in err
    (found,) = study.explain(result)  # the way that the message names
    assert found.design == result.compromise().name
    study.report(result, tmp_path / "own.html")
    assert "</html>" in (tmp_path / "own.html").read_text()


def test_a_quantity_without_a_unit_is_a_number_when_it_is_read_again(tmp_path: Path) -> None:
    unitless = MODEL.replace('Quantity("1", "speed"', 'Quantity("", "speed"')
    undefined = unitless.replace(
        "Toy(lanes * clock", "Toy(np.where(lanes > 60, np.nan, lanes) * clock"
    )
    result = dse.load(written(tmp_path, model=undefined)).run(tmp_path / "run")
    read = dse.load_result(tmp_path / "run")
    assert result.designs["speed"].isna().any()
    assert read.designs["speed"].dtype == np.float64
    assert read.columns["speed"].unit == "1"
    assert called("explain", str(tmp_path / "run"), cwd=tmp_path, columns=200)[0] == 0


def test_a_run_cut_short_before_anything_fits_has_a_page_and_a_summary(tmp_path: Path) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    impossible = LOGCA | {
        "space": {"acceleration": {"integer": [2, 2000]}},
        "constraint": [{"quantity": "speedup", "at_least": 1e6, "at": {"granularity": "1 KiB"}}],
        "run": {"chunk": 64},
    }
    folder = tmp_path / "run"
    result = dse.from_mapping(impossible).run(folder, workers=1, progress=stop)
    assert result.certificate.stopped == "interrupted"
    assert len(result.front) == 0
    assert "script: Not certified" in str(result)
    page = (folder / "report.html").read_text()
    assert "No design on a front yet" in page
    assert "Best front found" not in page
    assert len(dse.load_result(folder).front) == 0
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        Terminal().summary(result, folder / "report.html")
    assert "no design is on the front" in shown.getvalue()
    code, _, err = called("explain", str(folder), cwd=tmp_path, columns=200)
    assert code == 2
    assert "there is no design on the front" in err
