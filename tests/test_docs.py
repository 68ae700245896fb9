"""Every document: its figures are looked after and its examples run. The helper of these tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dse
from benchmarks.debian_programs import PACKAGES
from dse.profile import Profile
from tests import docs_figures
from tests.docs_figures import ROOT, Document, Number

DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_is_checked(name: str) -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_docs*.py"))
    pattern = rf'Document\("{re.escape(name)}"\)(?:.*\n)+?.*\bdoc\.check\(\)'
    assert any(re.search(pattern, text) for text in texts), (
        f"no test computes the figures of {name}"
    )


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_in_python_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in re.findall(
        r"(?:^    .*\n|^\n(?=    ))+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
    ):
        if re.match(r"\s*(?:from|import) ", block):
            exec(compile("if True:\n" + block, name, "exec"), {})  # noqa: S102 - our own documents


def test_figures_of_the_readme() -> None:
    doc = Document("README.md")
    doc.says(
        "evaluates the @ designs of",
        dse.load(ROOT / "studies" / "crypto.toml").evaluator.space.size,
    )
    measured = Document("docs/performance.md")
    shares, designs = (_by_search(measured, "five", number) for number in (0, 1))
    ours, pygmo, rustuna, optuna = (
        max(row[0] for name, row in designs.items() if name.startswith(peer))
        for peer in ("dse evolution", "pygmo", "rustuna", "optuna NSGA")
    )
    doc.says(
        "evolution evaluates @ times as many designs as pygmo, @ times as many as Rustuna and @ "
        "times as many as Optuna's NSGA-II, and reaches @ of the front's points, the best of "
        "them @",
        ours / pygmo,
        ours / rustuna,
        ours / optuna,
        shares["dse evolution"][1],
        max(r[1] for n, r in shares.items() if n.split()[0] in ("pygmo", "rustuna", "optuna")),
    )
    doc.check()


def _by_search(doc: Document, problem: str, number: int) -> dict[str, list[float]]:
    """Return the pairs of numbers of a problem in a table of the searches beside their peers."""
    table = doc.table("## Searches beside their peers", number)
    return {
        doc.at(name): [float(text.replace(",", "")) for text in doc.at(cell).split(", ")]
        for name, cell in zip(table["search"], table[problem], strict=True)
    }


def test_figures_of_the_assumptions() -> None:
    doc = Document("docs/assumptions.md")
    doc.given("families of LUTs", r"4-input LUTs", r"6-input LUTs")
    doc.check()


def test_figures_of_the_system() -> None:
    doc = Document("docs/system.md")
    doc.given("steps of what happens", r"\n[1-5]\. ")
    doc.given("a switch, and a bound", r"`shared_link` is 1,", r"if it is 0,", r"is below 1 in")
    doc.given("formulas", r"ρx / 2\(1 − ρ\)", r"x / \(1 − ρ", r"at least 128 calls")
    doc.given(
        "measured against the simulation; tests/test_system_crypto.py holds sixty designs to 5 %",
        r"then to 1 % at a quiet link, to 5 % at half load",
        r"(?s)Up to a `link_utilization` of.*is up to 20 % off",
    )
    doc.check()


def test_figures_of_the_performance() -> None:
    doc = Document("docs/performance.md")
    doc.given(
        "measured on one machine: benchmarks/ prints what yours does", r"(?s)^# Performance.*\Z"
    )
    doc.check()


def test_figures_of_the_profile_format() -> None:
    doc = Document("docs/profile-format.md")
    doc.says(
        "`version` is @; a change", Profile.load(ROOT / "studies" / "profiles" / "sor.json").version
    )
    doc.given("versions of tools", r"clang 22\)", r"\(LLVM 22\)", r"of version 22", r"x86-64")
    doc.given(
        "options and exit codes, tests/profile/test_command.py",
        r"1 to 64; a transfer",
        r"0: variables in memory; 1 \(default\)",
        r"mean it; 2, 3 \|",
        r"Exit code: 0; 2 for bad input; 3 if",
        r"status than 0",
    )
    doc.given(
        "the format, tests/profile/test_profile.py",
        r"`size` 0 is",
        r"words of 4 bytes",
        r"-1 for a root",
    )
    doc.given("how the program is laid out, tests/profile/test_addresses.py", r"16 MiB and 256 KiB")
    doc.given(
        "benchmarks/profile.py",
        r"5\.5 bytes for",
        r"pages of 64 KiB, 12 more in",
        r"4 bytes for each",
    )
    rows = doc.table("## What it costs")
    assert [doc.at(cell) for cell in rows["program"]] == list(PACKAGES)
    for cell, package in zip(rows["built by"], PACKAGES.values(), strict=True):
        tool = "CMake" if "cmake" in package.build else "makefile"
        doc.exactly(cell, tool if package.own else "compiler alone")
    doc.given(
        "benchmarks/built_programs.py",
        r"\| [\w.-]+ \| (?:makefile|CMake|compiler alone) \|[^\n]*",
        r"four caches of 2 to 16 ways",
    )
    doc.check()


def test_figures_of_communication() -> None:
    doc = Document("docs/communication.md")
    doc.given(
        "domains and defaults of the code",
        r"of at least 0",
        r"At most 4000 contexts",
        r"2\^k",
        r"20 at most",
        r"1 cycle each",
        r"LogCA; 0 by",
        r"\(1\.01 by default",
        r"but not below 1:",
        r"\(12 parts at most\), `least` 0,",
        r"8 × working set",
        r"`pipeline_depth` 1\)",
        r"the default\)",
        r"not above 0",
        r"requires 0",
        r"at least 99 % of instructions",
        r"relative gap 0\.",
        r": 0 up to 20,000 nodes",
    )
    doc.given("a call tree that was tried", r"4,198 contexts", r"in 0\.3 to 0\.6 s")
    doc.given(
        "the example, tests/test_communication_calls.py",
        r"same 4,000 B moves 4,000 B\. With 0 each",
        r"12,000 B here",
    )
    doc.check()


# ── The helper ───────────────────────────────────────────────────────────────


def written(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Document:
    (folder / "a.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(docs_figures, "ROOT", folder)
    return Document("a.md")


@pytest.mark.parametrize(
    ("text", "value", "stands"),
    [
        ("24,066.5", 24066.549, True),
        ("24,066.5", 24066.56, False),
        ("2.1×10²⁰", 2.1021e20, True),
        ("2.1×10²⁰", 2.16e20, False),
        ("−8.9", -8.94, True),
        ("10⁻⁹", 2e-9, True),
        ("10⁻⁹", 4e-9, False),
        ("8²", 64, True),
        ("8²", 64.4, False),
        ("1e-9", 1e-9, True),
        ("57", 56, False),
    ],
)
def test_a_number_stands_for_what_rounds_to_it(text: str, value: float, stands: bool) -> None:
    assert Number(0, len(text), text).stands_for(value) is stands


def test_a_new_number_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    doc = written(
        "Twice 3 is 6.5, see section 4.\n\n    code(7)    # 8 ns\n", monkeypatch, tmp_path
    )
    assert [line.split(" in ")[0] for line in doc.rest()] == ["1: 3", "1: 6.5", "3: 8"]
    doc.given("the input", r"Twice 3")
    doc.says("is @, see", 6.54)
    doc.says("# @ ns", 8)
    doc.check()
    doc = written("Twice 3 is 6.5, and 9.\n", monkeypatch, tmp_path)
    doc.says("Twice @ is @,", 3, 6.5)
    with pytest.raises(AssertionError, match="neither computed nor given:\n1: 9"):
        doc.check()


@pytest.mark.parametrize(
    ("claim", "match"),
    [
        (lambda d: d.says("is @", 6.6), "6.5 is 6.6"),
        (lambda d: d.says("was @", 6.5), "0 times"),
        (lambda d: d.given("nothing", r"nine"), "no longer"),
        (lambda d: d.cells(d.table("| a |")["b"], [2.0]), "'3' for"),
    ],
)
def test_a_wrong_claim_fails(
    claim: Any, match: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    doc = written("It is 6.5.\n\n| a | b |\n|---|---|\n| x | 3 |\n", monkeypatch, tmp_path)
    with pytest.raises(AssertionError, match=match if match != "'3' for" else "3 is 2.0"):
        claim(doc)
