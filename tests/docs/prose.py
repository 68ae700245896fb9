"""Count phrases that docs/contributing/style.md discourages, per kind of text.

Run with ``python -m tests.docs.prose`` to print the counts, with a rule's name to print its places,
and with ``--write`` to lower the baseline to today's counts.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

BASELINE = Path(__file__).parent / "prose_baseline.json"
RULES = {
    "tell: report, list, show": r"\btells?\b|\b(?:is|are|was|were) told\b",
    "clause with what: a noun": r"\b(?:and|of|by|to|from|with|in|for) what\b|(?:^|[.:;,] )what (?!if\b)",
    "figure: value, number": r"\b(?:a|its|each|every|such|these|those|other) figures?\b(?! \d)"
    r"|\bfigures? (?:is|are|that|of)\b",
    "draw: sample": r"\b(?:a|each|every|all) draws?\b|\b(?:is|are|were) drawn\b",
    "ends: bounds, limits": r"\b(?:both|its|their|lower|upper|the) ends\b",
    "move: change": r"\bmoves? (?:the|an?|most|with|by)\b|\bmoved alone\b",
    "worth, pays: beneficial": r"\bworth (?:having|building|it|accelerating)\b|\bpays?\b",
    "held to, holds: checked, satisfied": r"\bheld (?:to|against)\b|\bholds? (?:in|if|every)\b",
    "least, most: minimum, maximum": r"\bthe (?:least|most) (?:is|of|that|it)\b",
    "asked, wanted: needed": r"\b(?:is|are) (?:asked|wanted)\b",
    "anew: again": r"\banew\b",
    "beside: next to, in addition to": r"\bbeside\b",
    "stands, lies: is": r"\b(?:stands?|lies?) (?:in|at|on|for|above|below|behind|outside)\b",
    "so that: a new sentence": r", so that\b",
    "knob: variable": r"\bknobs?\b",
    "share: fraction": r"\b(?:the|a|which|that|by|as) shares? (?:of|such)\b|\bas shares?\b",
    "alone: only, by itself": r"\b(?:this|that|it|one|these|them|here) alone\b",
    "of its own: its": r"\bof (?:its|their|one's) own\b",
    "those that, one that: the noun": r"\bthose (?:that|of|which)\b|\bthat of\b|\bone (?:that|which)\b",
    "colour: plain words": r"\b(?:mends?|dead|ticks?|hangs? on)\b",
    "say: such as, write, state": r", say\b|\bsays? (?:what|how|so|that|which|whether)\b",
}
KINDS = ("docs", "message", "docstring")
_EXEMPT = {"style.md", "glossary.md", "CHANGELOG.md"}


def texts() -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the place and the text of everything that is counted."""
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        if path.name not in _EXEMPT:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield "docs", f"{path.relative_to(ROOT)}:{number}", line
    for package in ("dse", "objectives"):
        for path in (ROOT / package).rglob("*.py"):
            yield from _strings(path)


def _strings(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the docstrings and the messages of a module."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(v) for node in nodes if isinstance(node, ast.JoinedStr) for v in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            values = (v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
            text, kind = "".join(map(str, values)), "message"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text, kind = node.value, "docstring" if id(node) in docstrings else "message"
        else:
            continue
        if len(text.split()) > 2:
            yield kind, f"{path.relative_to(ROOT)}:{node.lineno}", text


def places() -> Iterator[tuple[str, str, str, str]]:
    """Yield the kind, the rule, the place and the text of each hit."""
    patterns = {rule: re.compile(pattern, re.IGNORECASE) for rule, pattern in RULES.items()}
    for kind, place, text in texts():
        for rule, pattern in patterns.items():
            for _ in pattern.findall(text):
                yield kind, rule, place, " ".join(text.split())


def count() -> dict[str, dict[str, int]]:
    """Return the number of hits by kind and rule."""
    counts = Counter((kind, rule) for kind, rule, _, _ in places())
    return {kind: {rule: counts[kind, rule] for rule in RULES} for kind in KINDS}


def totals() -> dict[str, int]:
    """Return the number of hits by kind."""
    return {kind: sum(rules.values()) for kind, rules in count().items()}


def main(arguments: list[str]) -> None:
    """Print the counts or the places, or lower the baseline."""
    if arguments == ["--write"]:
        counts = totals()
        if BASELINE.exists():
            old = json.loads(BASELINE.read_text(encoding="utf-8"))
            counts = {kind: min(number, old[kind]) for kind, number in counts.items()}
        BASELINE.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    elif arguments:
        for kind, rule, place, text in places():
            if arguments[0] in rule:
                print(f"{kind} {place}: {text[:140]}")
    else:
        for kind, rules in count().items():
            print(f"{kind}: {sum(rules.values())}", {r: n for r, n in rules.items() if n})


if __name__ == "__main__":
    main(sys.argv[1:])
