"""Every example in a document runs, and every link leads somewhere."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

import dse
from dse.testing import check_model
from tests.docs.pages import PAGES, ROOT, code_blocks, indented_blocks, read_page


@pytest.mark.parametrize("name", PAGES)
def test_python_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in indented_blocks(name):
        if re.match(r"\s*(?:from|import) ", block):
            exec(compile("if True:\n" + block, name, "exec"), {})  # noqa: S102 - our own documents


@pytest.mark.parametrize("name", [*PAGES, "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_links_lead_to_files(name: str) -> None:
    folder = (ROOT / name).parent
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", read_page(name)):
        target = (folder / link).resolve()
        assert target.exists() or _is_generated(target), link
    for path in re.findall(
        r"`((?:docs|studies|tests|benchmarks|spaces)/[\w./-]+\.\w+)`", read_page(name)
    ):
        assert (ROOT / path).exists(), path


def _is_generated(target: Path) -> bool:
    """Return whether the site makes a page: it is in the navigation, or in a folder of them."""
    place = target.relative_to(ROOT / "docs").as_posix()
    return f"- {place}\n" in read_page("mkdocs.yml") or "/models/" in place


def test_the_study_of_threading_has_a_front_of_all_three() -> None:
    (block,) = code_blocks("docs/explanation/accelerometer.md", "toml")
    front = dse.from_mapping(tomllib.loads(block)).run().front.designs
    assert set(front["threading"]) == {0, 1, 2}
    assert set(front[front["speedup"] == front["speedup"].max()]["threading"]) == {2}


def test_the_study_of_a_table_runs(tmp_path: Path) -> None:
    blocks = "\n".join(indented_blocks("docs/how-to/tables.md"))
    study = textwrap.dedent(blocks[blocks.index("    [study]") :])
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    rows = "lanes,depth,banks,latency,area\n2,2,8,5,1\n4,2,8,3,2\n8,2,8,1,3\n2,1,4,9,9\n"
    (tmp_path / "designs.csv").write_text(rows, encoding="utf-8")
    front = dse.load(tmp_path / "study.toml").run(workers=1).front.designs
    assert list(front["latency"]) == [5, 3]  # the third has too many banks


def test_the_model_obeys_the_contract_and_works_in_a_study(tmp_path: Path) -> None:
    (block,) = code_blocks("docs/how-to/models.md", "python")
    (tmp_path / "my_model.py").write_text(block)
    (tmp_path / "study.toml").write_text(
        """
[study]
name = "link"
models = ["my_model.py:link"]
[space]
size = { values = ["1 KiB", "1 MiB"] }
bandwidth = { real = ["1 GB/s", "16 GB/s"], steps = 16 }
[[objective]]
minimize = "transfer_time"
[[objective]]
maximize = "size"
"""
    )
    study = dse.load(tmp_path / "study.toml")
    front = study.run().front.designs
    assert front["transfer_time"].tolist() == pytest.approx([2**10 / 16e9, 2**20 / 16e9])
    check_model(study.evaluator.model_graph.models[0].function)


def test_the_readme_shows_the_answer_of_its_command(crypto_run: Path) -> None:
    block = read_page("README.md").partition("```\nrecommended")[2].partition("\n```")[0]
    result = dse.load_result(crypto_run)
    answer = f"{result.answer()}\n{result.certificate.statement}"
    printed = re.sub(r"^([a-z ]+):", r"\1", answer, flags=re.MULTILINE).split()
    for part in f"recommended{block}".split("…"):
        assert " ".join(part.split()) in " ".join(printed)
