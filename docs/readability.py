"""Print the words, the reading ease and the longest sentence of pages.

Run with ``python docs/readability.py [PAGE...]``; the default page is README.md. The reading ease
is that of Flesch (1948): 206.835 − 1.015 · words per sentence − 84.6 · syllables per word.
Code, tables, headings and links' targets are no prose.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Readability(NamedTuple):
    """The numbers of a page."""

    words: int
    reading_ease: float
    longest_sentence: str


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = ["" if re.match(r"\||#|    ", line) else line for line in text.split("\n")]
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:\*|\d+\.) )", "\n".join(lines))
    found = [s for block in blocks for s in re.split(r"(?<=[.?!])\s+", block.strip())]
    return [" ".join(s.split()) for s in found if re.search(r"[A-Za-z]{2}", s)]


def count_syllables(word: str) -> int:
    """Estimate the syllables of a word: its groups of vowels without a silent e."""
    word = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", word))
    silent = re.search(r"(?<![aeiouyl])e$|(?<![aeiouytd])ed$|(?<![aeiouycsxz])es$", word)
    return max(1, groups - bool(silent))


def measure(text: str) -> Readability:
    """Return the numbers of a page's text."""
    prose = sentences(text)
    words = [word for s in prose for word in s.split() if re.search(r"[A-Za-z]", word)]
    syllables = sum(count_syllables(word) for word in words)
    ease = 206.835 - 1.015 * len(words) / len(prose) - 84.6 * syllables / len(words)
    return Readability(len(text.split()), ease, max(prose, key=lambda s: len(s.split())))


if __name__ == "__main__":
    for name in sys.argv[1:] or ["README.md"]:
        page = measure((ROOT / name).read_text(encoding="utf-8"))
        longest = len(page.longest_sentence.split())
        print(f"{name}: {page.words} words, reading ease {page.reading_ease:.0f}")
        print(f"  longest sentence, {longest} words: {page.longest_sentence}")
