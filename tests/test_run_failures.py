"""What goes wrong around a run: models that misbehave, folders in use, files cut short."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import optuna
import pytest

import dse
from dse.evaluate.audit import audit
from dse.result.folder import MARKER
from dse.run import StoppedError, run
from tests.toy import MODEL, STUDY

HEAD = """
from typing import Annotated, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity


class Out(NamedTuple):
    y: Annotated[Array, Quantity("1", "y")]


def f(x: Annotated[Floats, Quantity("1", "x", low=0, better="higher")]) -> Out:
"""
ONE = """
[study]
name = "one"
models = ["m.py:f"]
[space]
x = { integer = [1, 50] }
[[objective]]
maximize = "y"
"""


def _one(folder: Path, body: str) -> dse.Study:
    (folder / "m.py").write_text(HEAD + body)
    (folder / "study.toml").write_text(ONE)
    return dse.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    x += 1\n    return Out(x)\n", "read-only .it changes its inputs: copy them first"),
        ("    return None\n", "returned NoneType, which has no 'y'"),
        ("    return Out(np.ones(3))\n", r"returned 'y' of shape \(3,\)"),
        ("    return Out(x * 1j)\n", "returned complex numbers for 'y', not numbers"),
        ("    return Out('abc')\n", "returned texts for 'y', not numbers"),
        ("    raise SystemExit(0)\n", "raised SystemExit"),
    ],
)
def test_a_model_that_misbehaves_is_told(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises((StoppedError, dse.InputError), match=words):
        run(_one(tmp_path, body), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_wrong_declaration_is_told(tmp_path: Path) -> None:
    for old, new, words in (
        ('"1", "x"', '"flurb", "x"', "unknown unit 'flurb'"),
        ('better="higher"', 'better="bigger"', "better = 'bigger'"),
        ("low=0", "low=5, high=2", "is empty"),
    ):
        (tmp_path / "m.py").write_text((HEAD + "    return Out(x)\n").replace(old, new))
        (tmp_path / "study.toml").write_text(ONE)
        with pytest.raises(dse.InputError, match=words):
            dse.load(tmp_path / "study.toml")


def _toy(folder: Path, added: str = "") -> Path:
    (folder / "toy_model.py").write_text(MODEL)
    (folder / "study.toml").write_text(STUDY + added)
    return folder / "study.toml"


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    study = dse.load(_toy(tmp_path))
    (tmp_path / "out").mkdir()
    run(study, tmp_path / "out")
    (tmp_path / "out" / "designs.csv").unlink()  # so that there is something to do again
    with (tmp_path / "out" / MARKER).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(dse.InputError, match="is in use by another run"):
            run(study, tmp_path / "out")
    assert len(run(study, tmp_path / "out").front) > 0
    assert (tmp_path / "out" / "designs.csv").is_file()


def test_a_failed_edit_leaves_the_earlier_run_in_its_place(tmp_path: Path) -> None:
    run(dse.load(_toy(tmp_path)), tmp_path / "out")
    before = (tmp_path / "out" / "front.csv").read_bytes()
    impossible = '[[constraint]]\nquantity = "speed"\nat_least = 1e9\n'
    with pytest.raises(dse.InputError, match="no design is feasible"):
        run(dse.load(_toy(tmp_path, impossible)), tmp_path / "out")
    assert (tmp_path / "out" / "front.csv").read_bytes() == before
    assert not (tmp_path / "out.1").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(dse.InputError, match="no design is feasible"):
        run(dse.load(_toy(tmp_path, impossible)), tmp_path / "empty")
    assert (tmp_path / "empty").is_dir()


def test_files_that_were_cut_short_are_told(tmp_path: Path) -> None:
    run(dse.load(_toy(tmp_path)), tmp_path / "out")
    designs = tmp_path / "out" / "designs.csv"
    lines = designs.read_text().splitlines(keepends=True)
    designs.write_text("".join(lines[: len(lines) // 2]))
    with pytest.raises(dse.InputError, match=r"designs\.csv: is not as its run wrote it"):
        dse.load_result(tmp_path / "out")
    (tmp_path / "out" / "summary.json").write_text("{")
    with pytest.raises(dse.InputError, match="is not JSON"):
        dse.load_result(tmp_path / "out")
    (tmp_path / "out" / "summary.json").unlink()
    (tmp_path / "out" / "checkpoint.npz").write_text("garbage")
    with pytest.raises(dse.InputError, match=r"checkpoint\.npz"):
        run(dse.load(tmp_path / "study.toml"), tmp_path / "out")


def test_options_may_be_called_none(tmp_path: Path) -> None:
    text = ONE.replace(
        "x = { integer = [1, 50] }", "kind = { rows = { None = { x = 1 }, nan = { x = 2 } } }"
    )
    (tmp_path / "m.py").write_text(HEAD + "    return Out(x * 1.0)\n")
    (tmp_path / "study.toml").write_text(text)
    run(dse.load(tmp_path / "study.toml"), tmp_path / "out")
    assert dse.load_result(tmp_path / "out").designs["kind"].tolist() == ["None", "nan"]


def test_a_helper_next_to_the_model_is_kept_and_counts(tmp_path: Path) -> None:
    costs = []
    for factor in (100, 300):
        path = _toy(tmp_path)
        (tmp_path / "helper_of_toy.py").write_text(f"FACTOR = {factor}\n")
        text = MODEL.replace("* 100 *", "* helper_of_toy.FACTOR *")
        (tmp_path / "toy_model.py").write_text("import helper_of_toy\n" + text)
        costs.append(run(dse.load(path), tmp_path / "out").designs["cost"].min())
        assert (tmp_path / "out" / "study" / "helper_of_toy.py").is_file()
    assert costs[1] == pytest.approx(3 * costs[0])


def test_a_shared_storage_keeps_studies_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    search = '[search]\nmethod = "NSGAIISampler"\nevaluations = 100\n'
    added = f'{search}[run]\nstorage = "{url}"\n'
    run(dse.load(_toy(tmp_path, added)), tmp_path / "a")
    path = _toy(tmp_path, added)
    path.write_text(path.read_text().replace("[1, 64]", "[1, 8]"))
    second = run(dse.load(path), tmp_path / "b")
    assert second.designs["lanes"].max() <= 8
    names = optuna.get_all_study_names(url)
    assert len(names) == 2
    assert all(name == "toy" or name.startswith("toy@") for name in names)


def test_numbers_too_large_are_told(tmp_path: Path) -> None:
    for text, words in (
        (f"integer = [1, {10**25}]", r"2\^53"),
        ("real = [1, 10], steps = 100000000000", "10000000"),
    ):
        (tmp_path / "m.py").write_text(HEAD + "    return Out(x * 1.0)\n")
        (tmp_path / "study.toml").write_text(ONE.replace("integer = [1, 50]", text))
        with pytest.raises(dse.InputError, match=words):
            dse.load(tmp_path / "study.toml")


def test_a_model_that_raises_after_the_search_loses_no_result(tmp_path: Path) -> None:
    """No design of the search is at the end of the range; the probe for dead knobs goes there."""
    body = "    if np.any(np.asarray(x) == 1):\n        raise ValueError('it is 1')\n"
    (tmp_path / "m.py").write_text(HEAD + body + "    return Out(x * 1.0)\n")
    text = ONE.replace("integer = [1, 50]", "real = [1, 50]")
    search = '[search]\nmethod = "evolution"\nevaluations = 20\ngeneration = 20\n'
    (tmp_path / "study.toml").write_text(text + search)
    result = run(dse.load(tmp_path / "study.toml"), tmp_path / "out")
    assert result.certificate.evaluated == 20
    (note,) = result.notes
    assert note.startswith("space.x ")
    assert "m.py:f raised ValueError: it is 1" in note
    assert dse.load_result(tmp_path / "out").notes == result.notes


def _narrow(
    x: Annotated[dse.Floats, dse.Quantity("1", "x")],
    z: Annotated[dse.Floats, dse.Quantity("1", "z")],
) -> Doubled:
    if np.any(np.asarray(x) > 9_990):
        raise ValueError("too many")
    return Doubled(np.multiply(x, 2.0) + np.multiply(z, 0.0))


def test_dead_knobs_are_probed_where_no_constraint_excludes_designs() -> None:
    """The search asks nothing of most designs that are excluded; the model raises for them."""
    study = {
        "study": {"name": "narrow", "models": ["narrow"]},
        "space": {"x": {"integer": [1, 10_000]}, "z": {"integer": [1, 4]}},
        "objective": [{"maximize": "y"}],
        "constraint": [{"relation": "x <= 9900"}],
    }
    result = dse.from_mapping(study, {"narrow": _narrow}).run()
    assert result.certificate.complete
    (note,) = result.notes
    assert note.startswith("space.z changed no objective and no constraint in 63 sampled designs")


class Shared(NamedTuple):
    share: Annotated[dse.Array, dse.Quantity("1", "share")]


def _share(x: Annotated[dse.Floats, dse.Quantity("1", "x")]) -> Shared:
    time.sleep(0.06)  # costly: the smallest sample alone is taken
    return Shared(np.asarray(x) / np.max(x))


def test_models_are_held_to_the_contract_beside_one_that_raises_for_excluded_designs() -> None:
    study = {
        "study": {"name": "narrow", "models": ["narrow", "share"]},
        "space": {"x": {"integer": [1, 20_000]}, "z": {"integer": [1, 4]}},
        "objective": [{"maximize": "y"}, {"maximize": "share"}],
        "constraint": [{"relation": "x <= 9900"}],
    }
    for models in (["narrow", "share"], ["share", "narrow"]):
        study["study"] = {"name": "narrow", "models": models}
        found = audit(dse.from_mapping(study, {"narrow": _narrow, "share": _share}).evaluator)
        assert [p.message.partition(":")[0] for p in found.problems] == ["share is not elementwise"]


def _doubled(x: Annotated[dse.Floats, dse.Quantity("1", "x", low=0)]) -> Doubled:
    return Doubled(np.multiply(x, 2.0))


class Doubled(NamedTuple):
    y: Annotated[dse.Array, dse.Quantity("1", "y")]


def _content(**space: object) -> dict[str, object]:
    return {
        "study": {"name": "script", "models": ("f",)},
        "space": space,
        "objective": [{"maximize": "y"}],
    }


def test_a_script_gives_arrays_and_numbers_of_numpy(tmp_path: Path) -> None:
    plain = _content(x={"values": [1, 2.5, 4]})
    for values in (np.array([1, 2.5, 4]), (np.int64(1), np.float32(2.5), 4), [np.array(1), 2.5, 4]):
        study = dse.from_mapping(_content(x={"values": values}), {"f": _doubled})
        assert study.run().front.designs["y"].tolist() == [8.0]
        assert study.values == {"x": (1.0, 2.5, 4.0)}
    several = _content(x={"integer": np.arange(1, 3)}) | {"run": {"chunk": np.int32(7)}}
    study = dse.from_mapping(several, {"f": _doubled})
    assert study.run(tmp_path / "out").certificate.designs == 2
    assert dse.from_mapping(plain, {"f": _doubled}).digest != study.digest


def test_what_no_file_could_hold_is_told_with_its_place() -> None:
    content = _content(x={"values": [1, {2}, 3]}, z={"values": object()}, w={1: 2})
    with pytest.raises(dse.InputError) as raised:
        dse.from_mapping(content, {"f": _doubled})
    told = [(p.where, p.message) for p in raised.value.problems]
    assert told == [
        ("space.x.values[2]", "is of the type set, which a study cannot hold"),
        ("space.z.values", "is of the type object, which a study cannot hold"),
        ("space.w", "the key 1 is not a text"),
    ]


def test_an_edited_function_of_a_script_is_another_study(tmp_path: Path) -> None:
    def made(factor: float) -> object:
        def model(x: Annotated[dse.Floats, dse.Quantity("1", "x", low=0)]) -> Doubled:
            return Doubled(np.multiply(x, factor))

        return model

    best = []
    for factor in (2.0, 3.0):
        study = dse.from_mapping(_content(x={"values": [1, 2]}), {"f": made(factor)})  # type: ignore[dict-item]
        best.append(study.run(tmp_path / "out").best("y")["y"])
    assert best == [4.0, 6.0]


def test_a_time_out_explains_no_more_designs_than_other_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "dse.run.report", lambda study, result, path, explained=40: asked.append(explained)
    )
    text = _toy(tmp_path).read_text().replace("steps = 100,", "steps = 10000000,")
    path = tmp_path / "long.toml"
    path.write_text(text + "[search]\nmethod = 'exhaustive'\ntimeout = 0.2\n")
    result = run(dse.load(path), tmp_path / "out")
    assert result.certificate.stopped == "timeout"
    assert len(asked) == 1
    assert asked[0] <= 40
