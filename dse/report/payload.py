"""The data of the page: a result and its explanations as JSON, each number once.

Columns are packed: a number is 8 bytes in base64, and a column of few distinct values is its values
and one or two bytes a design. That is exact, also for infinities, and quick for 50,000 designs.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.space import Real
from dse.explain.breakdown import Part, group_parts
from dse.explain.changes import ENTRY, SPACE, Change
from dse.explain.explanation import Explanation, Slice
from dse.explain.sensitivity import Sensitivity
from dse.model.section import Section
from dse.model.units import UnitError, load_vocabulary, read_value
from dse.model.values import (
    INFINITE,
    PREFIXES,
    add_conditions,
    json_value,
    show_amount,
    show_change,
    show_value,
)
from dse.report.front_view import (
    HELD,
    MANY,
    MOST,
    ColumnLooks,
    DrawnDesigns,
    choose_designs,
    default_axes,
    describe_column,
    list_best,
)
from dse.report.overview import EMPTY
from dse.report.panels import of_design, of_run, section_data
from dse.report.scales import NEUTRAL, PALETTE, VALUES, color_scale
from dse.result.record import ROLES, Result
from dse.study.input_files import to_toml


def payload(
    result: Result,
    explanations: Sequence[Explanation],
    folder: Path,
    sections: Sequence[Section] = (),
    study_text: str = "",
    start: int | None = None,
    overview: Mapping[str, Any] = EMPTY,
    evidence: Sequence[Section] = (),
    slices: Mapping[int, Sequence[Slice]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the data of the page, ready for JSON.

    The designs are the front first, by number, then a sample of dominated ones. The page
    opens with the design `start`; by default with the Nash design.
    """
    overview = overview if overview["main"] else {**overview, "main": result.objectives[0].name}
    explained = [e.design for e in explanations]
    cut = {number: k for k, each in enumerate(result.cuts) for number in each.first}
    drawn = choose_designs(result, [*explained, *cut, *([] if start is None else [start])], HELD)
    feasible = drawn.designs["feasible"].to_numpy(bool)
    units = {name: column.unit for name, column in result.columns.items()}
    return {
        "study": result.name,
        "objectives": [
            {
                "name": o.name,
                "label": add_conditions(o.name, o.condition),
                "direction": o.direction,
                "condition": o.condition,
                "weight": o.weight,
                "worth": o.worth,
                "best": _row(drawn.designs, best) if best is not None else None,
            }
            for o, best in zip(result.objectives, list_best(result), strict=True)
        ],
        "roles": list(ROLES.items()),
        "columns": [
            _column(describe_column(result, drawn, name)) | {"choices": list(column.options)}
            for name, column in result.columns.items()
        ],
        "designs": _packed(drawn.designs.index.to_numpy(np.float64)),
        "front": drawn.front,
        "many": len(drawn.designs) > MANY,
        "total": drawn.total,
        "nash": drawn.nash,
        "start": drawn.nash if start is None else _row(drawn.designs, start),
        "infeasible": np.flatnonzero(~feasible).tolist(),
        "drawn": MOST,
        "cuts": [{"name": c.name, "violated": c.violated, "alone": c.alone} for c in result.cuts],
        "violated": {str(n): k for n, k in cut.items()},
        "evaluated": result.certificate.evaluated,
        "axes": default_axes(result),
        "palette": PALETTE,
        "neutral": NEUTRAL,
        "colorscale": color_scale(VALUES),
        "overview": _overview(overview, drawn),
        "units": dict(zip(("prefixes", "units"), load_vocabulary(), strict=True)),
        "clock": result.constants["clock"][0] if "clock" in result.constants else None,
        "narrow": narrowing_data(result, study_text),
        "restudy": remove_table(study_text, "recommend"),
        "prefixes": PREFIXES,
        "words": INFINITE,
        "explanations": {
            str(e.design): _explanation(e, units)
            | {"slices": [_slice(each) for each in slices.get(e.design, ())]}
            for e in explanations
        },
        "panels": of_run(result),
        "sections": [section_data(each, f"section-{i}") for i, each in enumerate(sections)],
        "evidence": [section_data(each, f"evidence-{i}") for i, each in enumerate(evidence)],
        "explain": f"dse explain {shlex.quote(_named(folder))} --design ",
        "folder": _named(folder),
    }


def _overview(overview: Mapping[str, Any], drawn: DrawnDesigns) -> dict[str, Any]:
    """Return the overview, with rows of the front in the place of numbers of designs."""
    numbers, engines = drawn.designs.index[: drawn.front].tolist(), overview["engines"]
    counts = [engines.get(number, np.nan) for number in numbers]
    return {name: value for name, value in overview.items() if name != "assumed"} | {
        "rejected": [row for row, n in enumerate(numbers) if n in overview["rejected"]],
        "engines": json_value(counts) if engines else [],
    }


def _named(folder: Path) -> str:
    """Return how a command names the run folder from here: in full only if it is elsewhere."""
    whole = os.path.abspath(folder)
    beside = os.path.relpath(whole)
    return whole if beside.startswith(os.pardir) else beside


def _row(designs: pd.DataFrame, number: int) -> int:
    return int(np.flatnonzero(designs.index.to_numpy() == number)[0])


def _column(column: ColumnLooks) -> dict[str, Any]:
    scales = [None if scale is None else scale._asdict() for scale in column.scales]
    return column._asdict() | {"scales": scales, "values": _packed(column.values)}


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


_ELSEWHERE = ("feasible", "on the front", "limits", "change", ENTRY)
"""Labels of fields of a feasible design that the page shows in another form."""


def _explanation(explanation: Explanation, units: dict[str, str]) -> dict[str, Any]:
    items = explanation.sensitivities
    shown = _ELSEWHERE if explanation.feasible else ()
    return {
        "fields": [(label, text) for label, text in explanation.fields if label not in shown],
        "limits": explanation.limits,
        "parts": _breakdown(explanation.parts),
        "sensitivities": [_sensitivity(item, units.get(item.objective, "1")) for item in items],
        "changes": [_change(item) for item in explanation.advice] if explanation.feasible else [],
        "panels": of_design(explanation),
    }


def _slice(piece: Slice) -> dict[str, Any]:
    return {
        "variable": piece.variable,
        "at": piece.values.tolist(),
        "values": json_value(piece.objectives.tolist()),
        "feasible": piece.feasible.tolist(),
    }


def _change(item: Change) -> dict[str, Any]:
    """Return a change: the design, and the value, text and gain of each objective."""
    return {
        "change": ", ".join(map(str, item.settings)),
        "design": item.design,
        "entry": item.kind != SPACE,
        "beneficial": item.beneficial,
        "trade": item.trade,
        "effects": [
            [json_value(e.before), json_value(e.after), json_value(e.gain)] for e in item.effects
        ],
    }


def _sensitivity(item: Sensitivity, unit: str) -> dict[str, Any]:
    """Return an input against an objective [unit] as the page shows it."""
    return {
        "objective": item.objective,
        "input": item.label,
        "who": item.set_by,
        "change": show_change(*item.shown),
        "effect": show_change(show_amount(item.before, unit), show_amount(item.after, unit)),
        "gained": item.gain_text,
        "gain": json_value(item.gain),
        "bottleneck": item.bottleneck,
    }


def _breakdown(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return for each total its parts, with the conditions for which they hold."""
    return [
        {
            "total": total,
            "sum": show_value(sum(part.value for part in mine), mine[0].unit),
            "unit": mine[0].unit,
            "condition": condition,
            "parts": [[p.name, show_value(p.value, p.unit), json_value(p.share)] for p in mine],
        }
        for (total, condition), mine in group_parts(parts).items()
    ]


# A study as the page narrows it to a selection: its text without the space, and each variable.

_KINDS = ("real", "integer", "values", "catalog", "rows", "subsets")
_LISTED = 256  # values of a grid that are listed one by one
_NOTE = """# Narrowed to designs that were selected in a report. Keep it in the folder of that
# study: the files that it names are found from there.

"""


def narrowing_data(result: Result, text: str) -> dict[str, Any] | None:
    """Return what the page needs to narrow a study, given as TOML or as a script's JSON.

    Returns
    -------
    dict or None
        ``before``, a study file without its space, and ``space``: for each variable its kind, its
        table with numbers in base units, and the values of its grid if there are few. None for a
        study of a table, whose rows are its space, and for a text that is not a study.
    """
    content = _parsed(text)
    space = content.get("space") if isinstance(content, Mapping) else None
    study = content.get("study", {}) if isinstance(content, Mapping) else {}
    if not isinstance(space, Mapping) or "table" in study:
        return None
    clock = result.constants.get("clock")
    try:
        variables = {
            name: _variable(table, result.columns[name].unit, clock[0] if clock else None)
            for name, table in space.items()
        }
    except (KeyError, TypeError, StopIteration, ValueError, UnitError):
        return None
    before = remove_table(text, "space", f"{study.get('name', '')} narrowed")
    return {"before": _NOTE + before, "space": variables}


def remove_table(text: str, table: str, name: str = "") -> str:
    """Return a study file without one of its tables, and under another name if one is given.

    TOML keeps its comments. A text that is not a study gives an empty one.
    """
    import tomlkit  # 30 ms, and only for pages

    content = _parsed(text)
    if not isinstance(content, Mapping):
        return ""
    wanted = {key: value for key, value in content.items() if key != table}
    if name:
        wanted["study"] = {**wanted["study"], "name": name}
    try:
        document: Any = tomlkit.parse(text)
        document.pop(table, None)
        if name:
            document["study"]["name"] = name
        if document.unwrap() == wanted:
            return tomlkit.dumps(document).rstrip() + "\n"
    except ValueError:  # it is JSON
        pass
    return to_toml(wanted)


def _parsed(text: str) -> Any:
    for parse in (tomllib.loads, json.loads):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def _variable(table: Mapping[str, Any], unit: str, clock: float | None) -> dict[str, Any]:
    kind = next(each for each in _KINDS if each in table)
    grid = None
    if kind in ("real", "values"):
        numbers = [
            read_value(v, unit, clock) if isinstance(v, str) else float(v) for v in table[kind]
        ]
        table = {**table, kind: numbers}
        grid = numbers if kind == "values" else None
        if table.get("steps", _LISTED + 1) <= _LISTED:
            low, high = numbers
            grid = Real(low, high, table.get("log", False), table["steps"]).levels().tolist()
    return {"kind": kind, "table": dict(table), "grid": grid}
