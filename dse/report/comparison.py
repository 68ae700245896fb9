"""The page of a comparison: two fronts in one plot, the differences, and one target for both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from dse.model.values import show_value, word_name
from dse.report.page_assets import embed, embed_policy, load_template, read_own, script_json, style
from dse.report.payload import payload
from dse.result.compare import Comparison
from dse.result.files import write_text
from dse.result.record import Result

_SCRIPTS = ("data", "colors", "filter", "selection", "plots", "dots", "parallel", "comparison")


def write_comparison(comparison: Comparison, first: Result, second: Result, path: Path) -> None:
    """Write the page of a comparison of two results.

    The page makes no request, and the template escapes all texts.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    script = "\n".join(read_own(f"{name}.js") for name in _SCRIPTS)
    both = _both_fronts(first, second)
    content = payload(both, (), path.parent) | {
        "numbers": [*first.front.designs.index.tolist(), *second.front.designs.index.tolist()],
        "first": len(first.front.designs),
        "runs": [comparison.first.name, comparison.second.name],
        "target": next((r.target.reach for r in (second, first) if r.target is not None), ""),
    }
    text = load_template("comparison.html").render(
        comparison=comparison,
        rows=[
            (word_name(label), *_shown(comparison, label, row))
            for label, row in comparison.rows().items()
        ],
        style=style(),
        policy=embed_policy(script),
        scripts=embed(script_json(content), script),
    )
    write_text(path, text)


def _shown(comparison: Comparison, label: str, row: tuple[float, float]) -> list[str]:
    units = {f"best {o.name}": o.unit for o in comparison.objectives}
    if label in units:
        return [show_value(float(value), units[label]) for value in row]
    return [f"{v:,}" if isinstance(v, int) else f"{v:.3f}" for v in row]


def _both_fronts(first: Result, second: Result) -> Result:
    """Return a result whose front is one front after the other, in the columns of both."""
    fronts = [result.front.designs for result in (first, second)]
    names = [
        name
        for name in second.columns.keys() & first.columns.keys()
        if is_numeric_dtype(fronts[0][name]) == is_numeric_dtype(fronts[1][name])
    ]
    columns = {n: _joined(first, second, n) for n in second.columns if n in names}
    designs = pd.concat([front[[*columns]] for front in fronts], ignore_index=True)
    designs = designs.assign(feasible=True, on_front=True, ties=1)
    return replace(second, columns=columns, designs=designs, cuts=())


def _joined(first: Result, second: Result, name: str) -> Any:
    """Return a column with the options of both results."""
    options = dict.fromkeys([*second.columns[name].options, *first.columns[name].options])
    return replace(second.columns[name], options=tuple(options))
