"""Every number that a document prints: computed here, or listed as given with the reason.

A test of a document makes claims on its text and asks at the end what is left::

    doc = Document("docs/sharing.md")
    doc.says("over R_S from 1 to 128 the printed W is @ to @ % low", least, most)
    doc.cells(doc.table("## Figure 2")["exact"], latencies)
    doc.given("the setting of the paper", r"8 streams")
    doc.check()

`check` fails on each number that no claim covers: a figure that is added to a document is computed
as well, or called what it is. A printed number stands for all that rounds to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]

_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_NUMBER = (
    r"(?:(?<=[\s(|±])[−+])?(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
    r"(?:e-?\d+|[×·]10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
)
_CODE = (
    re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE),
    re.compile(r"(?:^    .*\n)+", re.MULTILINE),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\]\([^)]*\)"),  # where a link leads
)
_COMMENT = re.compile(r"# .*$", re.MULTILINE)
_NAMES = (  # never a figure, whatever the document
    r"\b[Ee]quations? \d+(?:[–-]\d+)?(?:(?:, | and | to )\d+)*",
    r"\b(?:Figures?|Fig\.|Tables?|[Ss]ections?|Implications?) \d+(?:\.\d+)?"
    r"(?:(?:, | and | to |–)\d+)*",
    r"(?<=[\s(])(?:19|20)[0-9]{2}(?=[,.;:)*\s|])",  # a year
    r"\b[A-Za-z]+[-/]\d+\b",  # SHA-256
    r"\bM/D/1\b",
    r"\bPython 3\.\d+",
    r"\b\d+\(\d+\)(?::\d+)?(?=,)",  # volume and issue
    r"(?:[≥>≤<≠→=] |default )[01](?![\d.,]\d|\d)",  # 0 and 1 in a condition or a domain
    r"[−+] 1(?=[)\s])",  # in a formula
    r"\b1 ?/ ?\(?[A-Za-zβμ]",
    r"\| 1 \|",  # the unit of a ratio
)


class Number(NamedTuple):
    """A number as a document prints it, and how far from it a computed value may be."""

    start: int
    end: int
    text: str

    def stands_for(self, value: float) -> bool:
        """Tell whether the value rounds to the printed number."""
        text = self.text.replace(",", "").replace("−", "-")
        mantissa, _, power = re.sub(r"[×·]10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", "e", text).partition("e")
        scale = 10.0 ** int(power.translate(_RAISED)) if power else 1.0
        digits = re.match(r"[-+]?[\d.]+", mantissa)
        assert digits
        plain, raised = digits[0], mantissa[digits.end() :]
        if raised and plain == "10":  # an order of magnitude
            return 10 ** (-0.5) <= value / 10.0 ** int(raised.translate(_RAISED)) <= 10**0.5
        printed = float(plain) ** int(raised.translate(_RAISED)) if raised else float(plain)
        half = 0.0 if raised else 0.5 * 10.0 ** -len(plain.partition(".")[2])
        return abs(value - printed * scale) <= half * scale * (1 + 1e-6) + 1e-12 * abs(value)


class Cell(NamedTuple):
    """A cell of a table: where its text is."""

    start: int
    end: int


class Document:
    """A document of the repository, its numbers, and which of them claims cover."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (ROOT / name).read_text(encoding="utf-8")
        self.numbers = [Number(m.start(), m.end(), m[0]) for m in re.finditer(_NUMBER, self.text)]
        self._covered: set[Number] = set()
        for pattern in _CODE:
            for found in pattern.finditer(self.text):
                comments = [c.span() for c in _COMMENT.finditer(found[0])]
                inside = self._between(found.start(), found.end())
                offset = found.start()
                self._covered.update(
                    n for n in inside if not any(a <= n.start - offset < b for a, b in comments)
                )
        for name_pattern in _NAMES:
            self._cover(name_pattern)

    def _between(self, start: int, end: int) -> list[Number]:
        return [n for n in self.numbers if start <= n.start and n.end <= end]

    def _cover(self, pattern: str) -> bool:
        spaced = pattern.replace(" ", r"(?:\s+)")
        spans = [m.span() for m in re.finditer(spaced, self.text)]
        for start, end in spans:
            self._covered.update(self._between(start, end))
        return bool(spans)

    def given(self, why: str, *patterns: str) -> None:
        """Except the numbers in what matches: figures of a paper, of a benchmark, of a setting."""
        assert why
        for pattern in patterns:
            assert self._cover(pattern), f"{self.name} has no longer {pattern!r} ({why})"

    def says(self, template: str, *values: Any) -> None:
        """Compare a sentence's numbers, each @ in the template, with computed values."""
        parts = [re.escape(part).replace(r"\ ", r"\s+") for part in template.split("@")]
        found = list(re.finditer(f"({_NUMBER})".join(parts), self.text))
        assert len(found) == 1, f"{self.name}: {len(found)} times {template!r}"
        numbers = [Number(*found[0].span(i + 1), found[0][i + 1]) for i in range(len(parts) - 1)]
        self._compare(numbers, values, template)

    def table(self, heading: str, number: int = 0) -> dict[str, list[Cell]]:
        """Return a table under a heading (or after any text), its columns by their heads."""
        at = self.text.index(heading)
        tables = re.finditer(r"(?:^\|.*\|\n)+", self.text[at:], re.MULTILINE)
        found = list(tables)[number]
        rows = []
        for line in re.finditer(r"^\|.*\|$", found[0], re.MULTILINE):
            start = at + found.start() + line.start()
            bars = [start + m.start() for m in re.finditer(r"\|", line[0])]
            rows.append([Cell(a + 1, b) for a, b in pairwise(bars)])
        heads = [self.at(cell) for cell in rows[0]]
        names = [
            h if heads.count(h) == 1 else f"{h} {heads[:i].count(h) + 1}"
            for i, h in enumerate(heads)
        ]
        return {name: [row[i] for row in rows[2:]] for i, name in enumerate(names)}

    def at(self, cell: Cell) -> str:
        """Return a cell's text."""
        return self.text[cell.start : cell.end].strip(" `")

    def cells(self, cells: Sequence[Cell], values: Iterable[Any], significant: int = 15) -> None:
        """Compare the numbers in cells, in order, with a value or several for each cell.

        Where a table rounds to significant digits its trailing zeros are none: say how many are.
        """
        for cell, value in zip(cells, values, strict=True):
            numbers = self._between(cell.start - 1, cell.end)
            several = list(value) if isinstance(value, Sequence) else [value]
            rounded = [float(f"{float(each):.{significant}g}") for each in several]
            self._compare(numbers, rounded, self.at(cell))

    def exactly(self, cell: Cell, text: str) -> None:
        """Compare a cell with a text that was computed, numbers and words."""
        assert self.at(cell) == text, f"{self.name}: {self.at(cell)!r} is {text!r}"
        self._covered.update(self._between(cell.start - 1, cell.end))

    def _compare(self, numbers: Sequence[Number], values: Sequence[Any], where: str) -> None:
        assert len(numbers) == len(values), f"{self.name}: {where!r} for {list(values)}"
        for number, value in zip(numbers, values, strict=True):
            assert number.stands_for(float(value)), (
                f"{self.name}: {where!r}: {number.text} is {value}"
            )
        self._covered.update(numbers)

    def rest(self) -> list[str]:
        """Return what no claim covers, each number with the text around it."""
        left = [n for n in self.numbers if n not in self._covered]
        return [
            f"{self.text.count(chr(10), 0, n.start) + 1}: {n.text} in "
            f"{' '.join(self.text[max(0, n.start - 40) : n.end + 40].split())!r}"
            for n in left
        ]

    def check(self) -> None:
        """Fail on each number that is neither computed nor given."""
        left = self.rest()
        assert not left, f"{self.name}: neither computed nor given:\n" + "\n".join(left)
