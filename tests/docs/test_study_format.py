"""The page of the study format: as its program writes it, with every key and sound examples."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.study.input_files import to_toml
from tests.docs.pages import ROOT, load_script

PROGRAM = load_script("docs/study_format.py")
PAGE = ROOT / "docs" / "reference" / "study-format.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
CSV = (
    "lanes,depth,banks,latency,area,host_load,host_load_before\n"
    "2,2,8,5,1,1,2\n4,2,8,3,2,1,2\n8,2,8,1,3,1,2\n4,1,8,FAIL,1,1,2\n"
)


NOT_SHOWN = {  # no example could use these
    *("evaluations", "seed", "generation", "options"),  # of a search
    *("processes", "chunk", "storage"),  # of a run
    *("step", "of", "report", "sections", "own_host"),
}


def test_every_key_of_the_schema_is_on_the_page_and_most_are_in_an_example() -> None:
    text, shown = PAGE.read_text(encoding="utf-8"), "\n".join(EXAMPLES)
    for name, table in PROGRAM.tables().items():
        for key, field in table.model_fields.items():
            assert f"`{key}`" in text, f"{name}.{key}"
            assert field.description, f"{name}.{key} is not described"
            if key not in NOT_SHOWN:
                assert re.search(rf"\b{key}\b", shown), f"{name}.{key}"
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
    space = study.evaluator.space
    corners = np.full((2, len(space.variables)), [[0.01], [0.99]])
    judged = study.evaluator.evaluate(space.from_unit(corners))
    assert judged.objectives.shape[1] == len(whole["objective"])
