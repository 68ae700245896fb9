"""What the page knows: a result and its explanations as JSON, each number once.

Columns are packed: a number is 8 bytes in base64, and a column of few distinct values is its values
and one or two bytes a design. That is exact, also for infinities, and quick for 50,000 designs.
"""

from __future__ import annotations

import base64
import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.front import knee
from dse.explain.explanation import Curve, Explanation, Regions
from dse.explain.least import least
from dse.model.section import Section
from dse.report.axes import (
    NEUTRAL,
    PALETTE,
    PREFIXED,
    axis,
    change_next,
    default_axes,
    evenly,
    infinite_word,
)
from dse.report.curve_plot import curve_plot
from dse.report.sections import section_data
from dse.report.static_plots import convergence_plot, region_colors, regions_plot
from dse.result.record import Result

_DOMINATED = 4_000
"""Dominated designs that the page holds, to show where they lie."""


def payload(
    result: Result,
    explanations: Sequence[Explanation],
    folder: Path,
    sections: Sequence[Section] = (),
) -> dict[str, Any]:
    """Return the data of the page, ready for JSON.

    The designs are the front first, by number, then a sample of those that it dominates.
    """
    rows, count = _rows(result, explanations)
    designs = result.designs.iloc[rows]
    searched = len(result.convergence) > 1
    return {
        "study": result.name,
        "objectives": [
            {"name": o.name, "direction": o.direction, "condition": o.condition}
            for o in result.objectives
        ],
        "columns": [_column(result, name, designs) for name in result.columns],
        "designs": _packed(designs.index.to_numpy(np.float64)),
        "front": count,
        "knee": _knee(result, designs.iloc[:count]),
        "axes": default_axes(result),
        "palette": PALETTE,
        "neutral": NEUTRAL,
        "prefixed": PREFIXED,
        "explanations": {str(e.design): _explanation(e) for e in explanations},
        "convergence": convergence_plot(result.convergence) if searched else None,
        "sections": [section_data(section) for section in sections],
        "explain": f"dse explain {shlex.quote(str(folder))} --design ",
    }


def as_json(content: Any) -> str:
    r"""Return JSON that is safe inside a script element: no character there can end it.

    >>> as_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _rows(result: Result, explanations: Sequence[Explanation]) -> tuple[NDArray[np.int64], int]:
    """Return the positions of the designs that the page holds, and how many are the front's."""
    on_front = result.designs["on_front"].to_numpy(bool)
    front = np.flatnonzero(on_front)
    others = np.flatnonzero(result.designs["feasible"].to_numpy(bool) & ~on_front)
    explained = result.designs.index.isin([e.design for e in explanations]) & ~on_front
    more = np.union1d(evenly(others, _DOMINATED), np.flatnonzero(explained))
    return np.concatenate([front, more]).astype(np.int64), len(front)


def _knee(result: Result, front: pd.DataFrame) -> int | None:
    """Return the row of the front's knee; None where there is no front to have one."""
    if front.empty or len(result.objectives) < 2:
        return None
    signs = np.array([1.0 if o.direction == "minimize" else -1.0 for o in result.objectives])
    points = front[[o.name for o in result.objectives]].to_numpy(np.float64)
    return knee(points * signs, signs)


def _column(result: Result, name: str, designs: pd.DataFrame) -> dict[str, Any]:
    column = result.columns[name]
    number = pd.api.types.is_numeric_dtype(designs[name].dtype)
    how = axis(result, name, designs[name])
    return {
        "name": name,
        "role": column.role,
        "about": column.about,
        "unit": column.unit if number else "",
        "title": how.title,
        "shown": how.unit,
        "scale": how.scale,
        "log": how.log,
        "infinite": how.infinite,
        "number": number,
        "values": _packed(designs[name].to_numpy(np.float64) if number else designs[name]),
    }


def _packed(values: Any) -> dict[str, Any]:
    """Return a column as numbers, or as its distinct values and a code for each design."""
    codes, distinct = pd.factorize(values, sort=True, use_na_sentinel=False)
    width = 1 if len(distinct) <= 2**8 else 2 if len(distinct) <= 2**16 else 4
    number = pd.api.types.is_numeric_dtype(np.asarray(distinct).dtype)
    if number and len(distinct) * 8 + len(codes) * width >= len(codes) * 8:
        return {"numbers": _base64(np.asarray(values, dtype="<f8"))}
    kept: Any = [str(value) for value in distinct]
    if number:
        kept = {"numbers": _base64(np.asarray(distinct, dtype="<f8"))}
    return {"codes": _base64(codes.astype(f"<u{width}")), "width": width, "distinct": kept}


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _number(value: float) -> float | str | None:
    """Return a number as JSON has it: infinities by name, NaN as null."""
    number = float(value)
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _explanation(explanation: Explanation) -> dict[str, Any]:
    items = explanation.sensitivities
    return {
        "parts": [
            [p.objective, p.total, p.name, p.unit, _number(p.value), _number(p.share)]
            for p in explanation.parts
        ],
        "sensitivities": [
            [s.objective, s.input, s.symbol, s.unit]
            + [_number(v) for v in (s.value, s.improved, s.before, s.after, s.gain)]
            + [bool(s.bottleneck)]
            for s in items
        ],
        "next": [items.index(s) for s in change_next(items)],
        "regions": [_regions(regions) for regions in explanation.regions],
        "curves": [_curve(curve) for curve in explanation.curves],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "axis": curve.axis,
        "unit": curve.axis_unit,
        "panels": len({line.unit for line in curve.lines}),
        "plot": curve_plot(curve),
        "infinite": bool(np.any([np.isposinf(line.values) for line in curve.lines])),
        "rows": [
            [line.quantity, line.about, line.unit]
            + [_number(v) for v in (found.value, found.at, found.here)]
            + [found.edge, infinite_word(line.unit)]
            for line, found in zip(curve.lines, least(curve), strict=True)
        ],
    }


def _regions(regions: Regions) -> dict[str, Any]:
    colors = region_colors(regions)
    plot = regions_plot(regions)
    for curve in plot["data"][1:]:  # all curves share the axis of the first
        del curve["x"]
    return {
        "objective": regions.objective,
        "axis": regions.axis,
        "unit": regions.axis_unit,
        "factor": regions.factor,
        "threshold": regions.threshold,
        "plot": plot,
        "rows": [
            [r.label, list(r.inputs), _number(r.low), _number(r.high), colors.get(r.label)]
            for r in regions.regions
        ],
    }
