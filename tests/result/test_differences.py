"""What differs between two runs: inputs, the study, the code, and versions."""

from __future__ import annotations

from pathlib import Path

import dse
from dse.result.compare import Comparison
from tests.toy import MODEL, STUDY


def _toy(folder: Path, text: str = STUDY, model: str = MODEL) -> dse.Study:
    folder.mkdir(exist_ok=True)
    (folder / "toy_model.py").write_text(model)
    (folder / "study.toml").write_text(text)
    return dse.load(folder / "study.toml")


def _told(comparison: Comparison) -> dict[str, tuple[str, str]]:
    return {d.what: (d.first, d.second) for d in comparison.differences}


def test_equal_runs_differ_in_nothing(tmp_path: Path) -> None:
    one, other = (_toy(tmp_path / n).run(workers=1) for n in ("a", "b"))
    assert _told(dse.compare(one, other)) == {}


def test_the_study_and_its_inputs(tmp_path: Path) -> None:
    content = STUDY.replace("size = { values", "# size = { values").replace(
        "[space]", '[inputs]\nsize = "1 KiB"\n[space]'
    )
    study = _toy(tmp_path / "a", content)
    other = _toy(
        tmp_path / "b", content.replace("[1, 64]", "[1, 32]").replace("20 kLUT", "10 kLUT")
    )
    both = dse.compare(study.run(workers=1), other.with_inputs(size="2 KiB").run(workers=1))
    assert _told(both) == {
        "size": ("1,024 B", "2,048 B"),
        "space.lanes.integer": ("[1, 64]", "[1, 32]"),
        "constraint[1].at_most": ("20 kLUT", "10 kLUT"),
    }
    assert "differs: size: 1,024 B against 2,048 B" in str(both)
    assert both.data()["differences"][0] == {
        "what": "size", "first": "1,024 B", "second": "2,048 B",
    }  # fmt: skip
    assert list(both.differing().index) == list(_told(both))


def test_code_and_versions_of_runs_in_folders(tmp_path: Path) -> None:
    one = _toy(tmp_path / "a")
    other = _toy(tmp_path / "b", model=MODEL.replace("* 100 *", "* 110 *"))
    one.run(tmp_path / "runs" / "a", workers=1)
    other.run(tmp_path / "runs" / "b", workers=1)
    first, second = (dse.load_result(tmp_path / "runs" / n) for n in ("a", "b"))
    versions = second.provenance["versions"]
    versions["numpy"] = "0.0.1"
    told = _told(dse.compare(first, second))
    assert set(told) == {"toy_model.py", "numpy"}
    assert told["numpy"] == (first.provenance["versions"]["numpy"], "0.0.1")
    assert all(text.startswith("text ") for text in told["toy_model.py"])


def test_an_override_is_told() -> None:
    study = dse.load("studies/sparc_evolution.toml")
    other = study.with_row("accelerator", "aes-sparc-t3", overhead=1)
    told = _told(dse.compare(study.run(workers=1), other.run(workers=1)))
    assert told == {"space.accelerator.override.aes-sparc-t3.overhead": ("absent", "1")}
