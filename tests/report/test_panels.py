"""Panels of the page: curves of a design, and sections that models write, as data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dse
from dse.explain.curves import Curve, Line
from dse.explain.explanation import list_best_points
from dse.model.section import Bars, Heatmap, Section, Table, Tree
from dse.model.values import show_cell
from dse.report.page_assets import script_json
from dse.report.panels import section_data
from dse.report.payload import payload
from dse.run import StoppedError
from tests.pages import read_page
from tests.report.examples import explanation, result

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


def test_a_section_is_in_the_report_with_its_texts_escaped(tmp_path: Path) -> None:
    result = dse.load(written(tmp_path, "model.py:answer")).run(tmp_path / "run")
    assert result.best("gain")["gain"] == 6.0  # three times two files
    page = read_page(tmp_path / "run" / "report.html")
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
    assert "Best at x = 3." in read_page(tmp_path / "run" / "report.html")
    assert len(dse.load_result(tmp_path / "run").front) == 1


def test_parts_require_matching_shapes() -> None:
    """A picture that cannot be drawn is refused where it is made."""
    with pytest.raises(ValueError, match="values for 2 categories"):
        Bars("b", ["a", "b"], [("u", [1.0])], "y")
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        Heatmap("h", ["a", "b"], ["c"], [[1.0]])
    with pytest.raises(ValueError, match="before its children"):
        Tree("t", ["a", "b"], [1, -1], [1.0, 1.0])


def test_tables_show_cells_as_people_write_them() -> None:
    """A named index is a column; words and numbers are told apart."""
    frame = pd.DataFrame({"bytes": [1536, 12], "bound": ["compute", None]}, index=["f", "g"])
    shown = section_data(Section("s", "", [Table("t", frame.rename_axis("function"))]))
    table = shown["panels"][0]["table"]
    assert table["columns"] == ["function", "bytes", "bound"]
    assert table["numbers"] == [False, True, False]
    assert table["rows"] == [["f", "1,536", "compute"], ["g", "12", "–"]]
    wide = section_data(Section("s", "", [Table("t", pd.DataFrame({"x": [1e-9, 1e6]}))]))
    assert wide["panels"][0]["table"]["rows"] == [[show_cell(1e-9)], [show_cell(1e6)]]
    assert show_cell(np.float64(12345.678)) == "12,346"
    assert show_cell(6255.28) == "6,255"  # as its neighbours in the column
    assert show_cell(np.bool_(False)) == "no"


def test_a_panel_lists_the_best_point_of_each_quantity_and_so_do_fields() -> None:
    grid, bowl = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([9e-7, 3e-7, 2e-7, 4e-7, 8e-7])
    lines = tuple(
        Line(name, unit, f"about {name}", np.asarray(values), None, None, "lower")
        for name, unit, values in (
            ("latency", "s", bowl),
            ("printed", "s", [1e-7, 2e-7, 3e-7, np.inf, np.inf]),
            ("never", "B", np.full(5, np.inf)),
        )
    )
    shown = Curve("a curve", "period", "1", "turns", 8.0, grid, True, lines)
    found = result(2, 100)
    plain = explanation(found, int(found.designs.index[0]))
    (held,) = payload(found, [replace(plain, curves=(shown,))], Path())["explanations"].values()
    (panel,) = [p for p in held["panels"] if p["kind"] == "curve"]
    assert panel["table"]["columns"] == ["quantity", "least", "at period", "this design"]
    assert panel["table"]["rows"] == [
        (("latency", "about latency"), "200 ns", "4", "400 ns"),
        (("printed", "about printed"), "100 ns", ("1", "end of the axis"), "saturated"),
        (("never", "about never"), "–", "–", "never"),
    ]
    script_json(held)
    (held,) = payload(found, [plain], Path())["explanations"].values()
    assert [p["kind"] for p in held["panels"]] == ["regions"]
    assert list_best_points(replace(plain, curves=(shown,))) == [
        ("curve", "a curve"),
        ("latency", "least 200 ns at period 4; this design 400 ns"),
        ("printed", "least 100 ns at period 1; this design saturated"),
        ("never", "nowhere finite; this design never"),
    ]
    assert list_best_points(plain) == []
