"""Dispatch rules as text to paste: C, C++, Python and Rust."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dse.fit.rule import ANY, Range, Rule, describe_rule
from dse.problems import printable

_TEMPLATES = {
    "rule.c.jinja": (".h", ".c", ".hpp", ".hh", ".hxx", ".cpp", ".cc", ".cxx"),
    "rule.py.jinja": (".py",),
    "rule.rs.jinja": (".rs",),
}
ENDINGS = tuple(ending for endings in _TEMPLATES.values() for ending in endings)
"""The endings of files that a rule is written to."""
_NAME = "should_offload"
_WIDTH = 110  # characters of a line of a comment


def emit_rules(rules: Sequence[Rule], source: Sequence[str], target: Path) -> str:
    """Return rules as the text of a file, in the language of its ending.

    `rules`: one is ``should_offload``; of several, each has its name at the end of the function's.
    """
    template = next(name for name, ends in _TEMPLATES.items() if target.suffix in ends)
    environment = Environment(  # noqa: S701 (source code is not HTML)
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    head = ["Whether a call should be offloaded to an accelerator; written by dse.", *source]
    content: list[dict[str, Any]] = [
        {
            "function": name,
            "comment": _as_comment([rule.name, *describe_rule(rule)]),
            "conditions": [_conditions(each) for each in rule.ranges],
            "spread": rule.spread,
        }
        for rule, name in zip(rules, name_functions(rules), strict=True)
    ]
    guard = re.sub(r"\W", "_", f"OFFLOAD_{target.stem}_H".upper(), flags=re.ASCII)
    return environment.get_template(template).render(
        head=_as_comment(head), guard=guard, rules=content
    )


def name_functions(rules: Sequence[Rule]) -> list[str]:
    """Return the name of the function of each rule, all different."""
    if len(rules) == 1:
        return [_NAME]
    names: list[str] = []
    for rule in rules:
        word = re.sub(r"[\W_]+", "_", rule.name.lower(), flags=re.ASCII).strip("_")
        stem = name = f"{_NAME}_{word or 'series'}"
        count = 1
        while name in names:
            count += 1
            name = f"{stem}_{count}"
        names.append(name)
    return names


def _conditions(one: Range) -> list[str]:
    terms = ["cores_busy >= OFFLOAD_CORES"] if one.all_busy else []
    terms.append(f"outstanding <= {one.outstanding}")
    terms += [f"bytes >= {one.low}"] if one.low > 0 else []
    terms += [f"bytes <= {one.high}"] if one.high < ANY else []
    return terms


def _as_comment(lines: Sequence[str]) -> list[str]:
    """Return lines of a comment: wrapped, without a backslash, which would continue the line."""
    plain = (printable(line).replace("\\", "/") for line in lines)
    return [part for line in plain for part in wrap(line, _WIDTH, subsequent_indent="  ")]
