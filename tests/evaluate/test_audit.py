"""What a model promises is checked on the study's own designs, before the search and during it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.evaluate.audit import audit_models
from dse.evaluate.space import Integer, Real, Space, sample_designs
from dse.problems import InputError
from dse.run import StoppedError, check_contract, run
from tests.commands import called
from tests.toy import HEAD, ONE

pytestmark = pytest.mark.usefixtures("no_report")

BASIC = "    return Out(x * 1.0)\n"


def _study(folder: Path, body: str, text: str = ONE, head: str = HEAD) -> dse.Study:
    (folder / "m.py").write_text(head + body)
    (folder / "study.toml").write_text(text)
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "    return Out(x + np.random.default_rng().random(np.shape(x)))\n",
            "is not deterministic",
        ),
        ("    calls.append(1)\n    return Out(x * (1 + 1e-15 * len(calls)))\n", "is not determin"),
        ("    return Out(np.cumsum(x))\n", "is not elementwise: 'y' of the design x = "),
        ("    return Out(np.sort(np.atleast_1d(x))[::-1] * 1.0)\n", "is not elementwise"),
        ("    return Out(x * 2.0 if x > 4 else x * 1.0)\n", "takes designs one at a time"),
        ("    return Out(__import__('math').sqrt(x))\n", "takes designs one at a time"),
        ("    return Out(np.ones(50))\n", r"returned 'y' of shape \(50,\)"),  # all designs
    ],
)
def test_a_model_that_breaks_its_promise_is_refused_before_the_search(
    body: str, words: str, tmp_path: Path
) -> None:
    study = _study(tmp_path, body, head=f"calls = []\n{HEAD}")
    with pytest.raises(InputError, match=f"m.py:f {words}") as raised:
        run(study, tmp_path / "out")
    assert raised.value.problems[0].where == "study.models"
    assert not (tmp_path / "out").exists()


def test_check_and_run_exit_with_2(tmp_path: Path) -> None:
    _study(tmp_path, "    return Out(np.cumsum(x))\n")
    for command in ("check", "run"):
        done = called(command, "study.toml", cwd=tmp_path)
        assert done.returncode == 2
        assert "m.py:f is not elementwise" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_every_model_is_named_and_honest_ones_are_not(tmp_path: Path) -> None:
    head = HEAD.replace("class Out", "class Other(NamedTuple):\n"
        '    z: Annotated[Array, Quantity("1", "z")]\n\n\nclass Out')  # fmt: skip
    body = (
        BASIC
        + 'def g(y: Annotated[Floats, Quantity("1", "y")]) -> Other:\n'
        + "    return Other(np.cumsum(y))\n"
    )
    text = ONE.replace('"m.py:f"', '"m.py:f", "m.py:g"') + '[[objective]]\nminimize = "z"\n'
    problems = audit_models(_study(tmp_path, body, text, head).evaluator).problems
    assert [p.message.split()[0] for p in problems] == ["m.py:g"]


def test_a_model_that_raises_for_a_design_is_left_to_the_search(tmp_path: Path) -> None:
    body = "    if np.any(np.asarray(x) == 37):\n        raise ValueError('37')\n" + BASIC
    assert audit_models(_study(tmp_path, body).evaluator).problems == []


def test_values_that_are_missing_or_undeclared_are_counted_on_the_whole_space(
    tmp_path: Path,
) -> None:
    head = HEAD.replace('Quantity("1", "y")', 'Quantity("1", "y", low=0, high=40)')
    body = "    return Out(np.where(x % 10 == 3, np.nan, x * 1.0))\n"
    for search in ("", '[search]\nmethod = "evolution"\nevaluations = 50\ngeneration = 50\n'):
        result = run(_study(tmp_path, body, ONE + search, head), None)
        missing, outside = (n for n in result.notes if n.startswith("y "))
        # 3, 13, 23, 33, 43 have no value; 41 to 50 but for 43 are beyond 40
        assert missing.startswith("y has no value (NaN) for 5 of 50 designs, first for design ")
        assert outside.startswith(
            "y is outside its declared domain [0, 40] for 9 of 50 designs, first for design "
        )
        if not search:
            assert "first for design 2: y, which m.py:f gives, is not a number" in missing
            assert outside.endswith("design 40")
            assert "values are outside their declared domains" in result.certificate.statement


def test_the_counts_do_not_depend_on_how_the_work_is_cut(tmp_path: Path) -> None:
    head = HEAD.replace('Quantity("1", "y")', 'Quantity("1", "y", high=40)')
    notes = []
    for chunk, workers in ((1, 1), (7, 2), (4096, 1)):
        text = ONE + f"[run]\nchunk = {chunk}\n"
        notes.append(run(_study(tmp_path, BASIC, text, head), None, workers).notes)
    assert notes[0] == notes[1] == notes[2] != ()


def test_an_interrupted_run_counts_on(tmp_path: Path) -> None:
    head = HEAD.replace('Quantity("1", "y")', 'Quantity("1", "y", high=40)')
    study = _study(tmp_path, BASIC, ONE + "[run]\nchunk = 5\n", head)

    def interrupt(state: object) -> None:
        raise KeyboardInterrupt

    run(study, tmp_path / "out", 1, interrupt)
    went_on, *notes = run(study, tmp_path / "out", 1).notes
    assert "went on from 1 design of" in went_on
    assert tuple(notes) == run(study, None).notes


def test_check_tells_of_values_outside_their_domain(tmp_path: Path) -> None:
    head = HEAD.replace('Quantity("1", "y")', 'Quantity("1", "y", high=0)')
    notes = check_contract(_study(tmp_path, BASIC, ONE, head))
    assert notes["y"].startswith("m.py:f gives y = ")
    assert notes["y"].endswith("declared is (-inf, 0]")
    done = called("check", "study.toml", cwd=tmp_path)
    assert done.returncode == 0
    assert "m.py:f gives y = " in " ".join(done.stdout.split())


def test_the_sample_is_spread_over_every_variable() -> None:
    space = Space({"a": Integer(1, 64), "b": Real(0.0, 1.0), "c": Integer(0, 1)})
    points = sample_designs(space, 64)
    assert sorted(points["a"]) == list(range(1, 65))
    assert np.diff(np.sort(points["b"])).max() < 2 / 64
    assert np.bincount(points["c"].astype(int)).tolist() == [32, 32]


def test_a_batch_too_large_for_the_memory_is_left_to_the_search(tmp_path: Path) -> None:
    body = "    if np.size(x) > 4:\n        raise MemoryError('8 GiB')\n" + BASIC
    study = _study(tmp_path, body)
    assert audit_models(study.evaluator).problems == []
    with pytest.raises(StoppedError, match=r"give a smaller run\.chunk"):
        run(study, None)


def test_check_tells_of_a_model_that_raises(tmp_path: Path) -> None:
    notes = check_contract(_study(tmp_path, "    x += 1\n" + BASIC))
    assert "m.py:f raised " in notes["m.py:f"]
    assert "on a sample of designs: " in notes["m.py:f"]
