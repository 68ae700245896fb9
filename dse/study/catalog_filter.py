"""Finding entries of a catalog by facts and values: ``kernel = AES and lane_area < 5 kLUT``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.model.filter import Field, read_filter
from dse.model.grammar import GrammarError
from dse.problems import InputError
from dse.study.catalog import Catalog, entry_values

_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
_WORD = r"""[^\s"'()<>=!,]+"""


def filter_catalog(catalog: Catalog, condition: str) -> Catalog:
    """Return a catalog with the entries that satisfy a condition.

    The condition is a filter of `dse.model.grammar` on the values of the entries, their facts, and
    ``entry``, the name. A text needs no quotes if it is one word, its case does not matter, and
    ``=`` means ``==``. An entry without a value satisfies no comparison with it.

    InputError if the condition cannot be read; it lists every problem.
    """
    rows = list(catalog.rows.values())
    names = dict.fromkeys(name for row in rows for name in row.text)
    facts = {"entry": [*catalog.rows]} | {n: [row.text.get(n, "") for row in rows] for n in names}
    quantities = dict.fromkeys(name for row in rows for name in row.values)
    numbers = {name: entry_values(rows, name) for name in quantities}
    fields = {name: Field("", tuple(dict.fromkeys(texts))) for name, texts in facts.items()}
    fields |= {name: Field(unit) for name, (unit, _) in numbers.items()}
    columns = {name: values for name, (_, values) in numbers.items()}
    columns |= {name: np.array(texts) for name, texts in facts.items()}
    try:
        chosen = read_filter(_quote_texts(condition, facts), fields).holds(columns, len(rows))
    except GrammarError as error:
        raise InputError("where", list(error.problems)) from None
    kept = {row.name: row for row, is_chosen in zip(rows, chosen, strict=True) if is_chosen}
    return replace(catalog, rows=kept)


def _quote_texts(condition: str, facts: Mapping[str, list[str]]) -> str:
    """Return a condition in the grammar of filters, with ``==`` and with texts in quotes."""
    parts = _QUOTED.split(condition)
    parts[::2] = [re.sub(r"(?<![<>=!])=(?!=)", "==", part) for part in parts[::2]]
    names = "|".join(map(re.escape, facts))
    spelled = {name: {text.casefold(): text for text in facts[name]} for name in facts}

    def quote(name: str, word: str) -> str:
        text = word.strip().strip("\"'")
        return f'"{spelled[name].get(text.casefold(), text)}"'

    compared = rf"\b({names})\s*(==|!=)\s*({_WORD}|{_QUOTED.pattern})"
    listed = rf"\b({names})(\s+(?:not\s+)?in\s*)\(([^()]*)\)"
    text = re.sub(compared, lambda m: f"{m[1]} {m[2]} {quote(m[1], m[3])}", "".join(parts))
    return re.sub(
        listed,
        lambda m: f"{m[1]}{m[2]}({', '.join(quote(m[1], word) for word in m[3].split(','))})",
        text,
    )
