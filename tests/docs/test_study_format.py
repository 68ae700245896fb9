"""The page of the study format: as its program writes it, with every key and sound examples."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dse
from dse.study.input_files import to_toml
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "study-format.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
CSV = "lanes,depth,banks,latency,area\n2,2,8,5,1\n4,2,8,3,2\n8,2,8,1,3\n4,1,8,FAIL,1\n"


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("study_format", ROOT / "docs" / "study_format.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_its_program_writes() -> None:
    assert program().page() == PAGE.read_text(encoding="utf-8"), "run python docs/study_format.py"


def test_every_key_of_the_schema_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in program().tables().items():
        for key, field in table.model_fields.items():
            assert f"`{key}`" in text, f"{name}.{key}"
            assert field.description, f"{name}.{key} is not described"
    assert "[columns]" in text


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_study(number: int, tmp_path: Path) -> None:
    """One with [study] stands alone; tables of another take the place of the first one's."""
    (tmp_path / "designs.csv").write_text(CSV)
    profiles = tmp_path / "profiles" / "compress"
    profiles.mkdir(parents=True)
    shutil.copy(ROOT / "studies/profiles/compress/compress.json", profiles)
    given = tomllib.loads(EXAMPLES[number])
    whole = given if "study" in given else tomllib.loads(EXAMPLES[0]) | given
    (tmp_path / "study.toml").write_text(to_toml(whole))
    study = dse.load(tmp_path / "study.toml")
    points = study.evaluator.space.from_unit(_corners(len(study.evaluator.space.variables)))
    judged = study.evaluator.evaluate(points)
    assert judged.objectives.shape[1] == len(whole["objective"])


def _corners(count: int) -> Any:
    import numpy as np

    return np.array([[0.01] * count, [0.99] * count])


def test_examples_show_every_kind_of_table() -> None:
    """What a reader may want to write stands in an example, but for what no example could use."""
    shown = "\n".join(EXAMPLES)
    for name, table in program().tables().items():
        for key in table.model_fields:
            if key not in NOT_SHOWN:
                assert re.search(rf"\b{key}\b", shown), f"{name}.{key}"


NOT_SHOWN = {
    *("evaluations", "seed", "generation", "options"),  # of a search
    *("processes", "chunk", "storage"),  # of a run
    *("step", "of", "report", "sections"),
}
