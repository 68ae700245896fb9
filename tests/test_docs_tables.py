"""The figures of docs/tables.md, and the study that it shows."""

from __future__ import annotations

import textwrap
from pathlib import Path

import dse
from tests.docs_figures import ROOT, Document


def test_figures_of_tables(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    shown = "".join(line + "\n" for line in text.split("\n") if line.startswith("    ") or not line)
    study = textwrap.dedent(shown[shown.index("    [study]") :])
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    rows = "lanes,depth,banks,latency,area\n2,2,8,5,1\n4,2,8,3,2\n8,2,8,1,3\n"
    (tmp_path / "designs.csv").write_text(rows, encoding="utf-8")
    front = dse.load(tmp_path / "study.toml").run(workers=1).front.designs
    assert list(front["latency"]) == [5, 3]  # the third has too many banks
    doc = Document("docs/tables.md")
    doc.says("the first below the names is design @.", int(front.index[0]))
    doc.check()
