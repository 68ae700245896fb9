"""Sections of the report: loaded with the study, checked, drawn as data, every text escaped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.model.section import Bars, Heatmap, Lines, Section, Table, Tree
from dse.model.values import cell
from dse.report.panels import section_data
from dse.report.section_plot import height, section_plot
from dse.run import StoppedError

MODEL = """
from typing import Annotated, NamedTuple
import pandas as pd
from dse import Floats, Quantity, Resource
from dse.model.section import Bars, Heatmap, Lines, Section, Table, Tree

X = Annotated[Floats, Quantity("1", "a knob", low=0)]

def names(path):
    from pathlib import Path
    return sorted(p.name for p in Path(path).iterdir())

class Out(NamedTuple):
    gain: Annotated[Floats, Quantity("1", "what is gained")]

def model(x: X, table: Annotated[object, Resource(names, "a folder of tables")]) -> Out:
    return Out(x * len(table))

def answer(study, result):
    best = result.best("gain")
    return Section(
        "The <b>answer</b>",
        f"Best at x = {best.x:g}.\\n\\nIt is <i>so</i>.",
        [
            Table(
                "All",
                pd.DataFrame({"x": [1.0, 2.0], "who": ["<script>alert(1)</script>", "b"]}),
            ),
            Lines("Along x", "x", "gain", [("<i>one</i>", [1, 2], [3, 4])]),
            Bars("Per <u>kind</u>", ["a<b", "c"], [("u", [1, 2]), ("v", [2, 1])], "gain"),
            Heatmap("Who to whom", ["a<b", "c"], ["d", "e"], [[1, 0], [2e6, 3]], "B", log=True),
            Tree("Calls", ["main", "f<g>"], [-1, 0], [10, 4], ["10 words", "4 words"]),
        ],
    )

def raises(study, result):
    raise ZeroDivisionError("nothing to divide")

def no_section(study, result):
    return 3

def wrong(one):
    return None
"""

STUDY = """
[study]
name = "sectioned"
models = ["model.py:model"]
[inputs]
table = "tables"
[space]
x = {{ values = [1, 2, 3] }}
[[objective]]
maximize = "gain"
[report]
sections = [{sections}]
"""


def written(folder: Path, *sections: str) -> Path:
    """Write a study with these sections."""
    (folder / "model.py").write_text(MODEL)
    (folder / "tables").mkdir()
    for name in ("one.csv", "two.csv"):
        (folder / "tables" / name).write_text("1\n")
    path = folder / "sectioned.toml"
    path.write_text(STUDY.format(sections=", ".join(json.dumps(s) for s in sections)))
    return path


def test_a_folder_is_a_resource_and_part_of_the_digest(tmp_path: Path) -> None:
    """All files of the folder decide the result; the run folder holds a copy of them."""
    path = written(tmp_path, "model.py:answer")
    study = dse.load(path)
    before = study.digest
    result = study.run(tmp_path / "run")
    assert result.best("gain")["gain"] == 6.0  # three times two files
    assert (tmp_path / "run" / "study" / "tables" / "two.csv").read_text() == "1\n"
    (tmp_path / "tables" / "two.csv").write_text("2\n")
    assert dse.load(path).digest != before


def test_sections_are_in_the_report_with_their_texts_escaped(tmp_path: Path) -> None:
    """The page holds the section's data, and no markup of its own making."""
    dse.load(written(tmp_path, "model.py:answer")).run(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "Best at x = 3." in page


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "raised ZeroDivisionError: nothing to divide"),
        ("no_section", "returned int"),
    ],
)
def test_a_section_that_fails_is_named_and_the_rest_is_kept(
    tmp_path: Path, name: str, said: str
) -> None:
    """Results and the other sections are written before the error is told."""
    study = dse.load(written(tmp_path, f"model.py:{name}", "model.py:answer"))
    with pytest.raises(StoppedError, match=said):
        study.run(tmp_path / "run")
    assert "Best at x = 3." in (tmp_path / "run" / "report.html").read_text()
    assert len(dse.load_result(tmp_path / "run").front) == 1


def test_bad_sections_are_reported_with_the_study(tmp_path: Path) -> None:
    """Unknown functions, and functions of other parameters, are problems of the study file."""
    path = written(tmp_path, "model.py:answr", "model.py:wrong", "objectives.nothing:x", "plain")
    with pytest.raises(dse.InputError) as raised:
        dse.load(path)
    told = str(raised.value)
    assert "report.sections[1]" in told
    assert "answer" in told
    assert "model.py:wrong does not write a section" in told
    assert "report.sections[3]" in told
    assert "'plain' does not name a section" in told


def test_parts_require_matching_shapes() -> None:
    """A picture that cannot be drawn is refused where it is made."""
    with pytest.raises(ValueError, match="values for 2 categories"):
        Bars("b", ["a", "b"], [("u", [1.0])], "y")
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        Heatmap("h", ["a", "b"], ["c"], [[1.0]])
    with pytest.raises(ValueError, match="before its children"):
        Tree("t", ["a", "b"], [1, -1], [1.0, 1.0])


def test_plots_are_json_and_keep_the_numbers() -> None:
    """What is not finite becomes null; bytes take a prefix; hovering tells the value itself."""
    lines = section_plot(Lines("l", "x", "y", [("a", [1, 2], [np.inf, 3])], log_x=True))
    assert lines["data"][0]["y"] == [None, 3.0]
    assert lines["layout"]["xaxis"]["type"] == "log"
    heat = section_plot(Heatmap("h", ["r"], ["a", "b"], [[2048.0, 0.0]], "B", log=True))
    assert heat["data"][0]["customdata"] == [[2.0, None]]
    assert heat["data"][0]["z"] == [[pytest.approx(np.log10(2.0)), None]]
    tree = Tree("t", ["a", "b", "c"], [-1, 0, 1], [4.0, 3.0, 1.0])
    assert section_plot(tree)["data"][0]["parents"] == ["", "0", "1"]
    assert height(tree) == 90 + 46 * 3
    for plot in (lines, heat, section_plot(tree)):
        json.dumps(plot, allow_nan=False)


def test_tables_show_cells_as_people_write_them() -> None:
    """A named index is a column; words and numbers are told apart."""
    frame = pd.DataFrame({"bytes": [1536, 12], "bound": ["compute", None]}, index=["f", "g"])
    shown = section_data(Section("s", "", [Table("t", frame.rename_axis("function"))]))
    table = shown["panels"][0]["table"]
    assert table["columns"] == ["function", "bytes", "bound"]
    assert table["numbers"] == [False, True, False]
    assert table["rows"] == [["f", "1,536", "compute"], ["g", "12", "–"]]
    assert cell(np.float64(12345.678)) == "12,346"
    assert cell(6255.28) == "6,255"  # as its neighbours in the column
    assert cell(np.bool_(False)) == "no"
