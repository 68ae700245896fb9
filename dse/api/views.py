"""Studies and results in one line, and as HTML in notebooks; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import pandas as pd

from dse.evaluate.space import Choice, Integer, Real, Variable
from dse.evaluate.table_space import TableSpace
from dse.model.values import add_unit, plural, show, show_value
from dse.result.record import Front, Result
from dse.study.study import ResolvedStudy

_MAX_ROWS = 10  # designs of a front that a notebook shows
_MAX_VALUES = 6  # values of a variable that a notebook shows


def study_line(study: ResolvedStudy) -> str:
    """Return a study in one line."""
    models = ", ".join(model.name for model in study.evaluator.model_graph.models)
    count = len(study.evaluator.model_graph.models)
    named = models if count <= 2 else f"{count} models"
    return f"<Study '{study.name}': {named or 'a table'}; {_size(study)}>"


def study_html(study: ResolvedStudy) -> str:
    """Return a study's variables, objectives and constraints as HTML."""
    evaluator = study.evaluator
    quantities = evaluator.model_graph.quantities
    rows = []
    for name, variable in evaluator.space.variables.items():
        unit = quantities[name].unit if name in quantities else ""
        rows.append(("variable", name, _values(variable, unit)))
    rows += [(o.direction, add_unit(o.name, o.unit), o.condition) for o in evaluator.objectives]
    rows += [("constraint", c.name, c.condition) for c in evaluator.constraints]
    table = pd.DataFrame(rows, columns=["", "name", "values"])
    about = study.file.study.about
    title = f"{study.name}: {about}" if about else study.name
    return page(f"{title} ({_size(study)})", table.set_index(""))


def result_line(result: Result) -> str:
    """Return a result in one line."""
    certificate, designs = result.certificate, result.front.size
    status = f"not certified ({certificate.stopped})"
    if certificate.complete:
        status = "certified" + (f" within {certificate.gap:.3g}" if certificate.gap else "")
    return f"<StudyResult '{result.name}': {designs} on the front, {status}>"


def result_html(result: Result) -> str:
    """Return the certificate's statement, and the best design in each objective, as HTML."""
    front = result.front
    if not len(front):
        return page(f"{result.name}: {result.certificate.statement}")
    names = {f"best {o.name}": front.best(o.name) for o in result.objectives}
    return page(
        f"{result.name}: {result.certificate.statement}",
        _designs(result, [*names.values(), front.nash()], [*names, "Nash design"]),
    )


def front_line(front: Front) -> str:
    """Return a front in one line."""
    wanted = ", ".join(f"{o.direction} {o.name}" for o in front.objectives)
    return f"<Front of '{front.source.name}': {front.size}; {wanted}>"


def front_html(front: Front) -> str:
    """Return the first designs of a front as HTML."""
    count = min(_MAX_ROWS, len(front))
    few = [front.row(i) for i in range(count)]
    more = f"; the first {count} are shown" if len(front) > count else ""
    return page(f"{front_line(front)[1:-1]}{more}", _designs(front.source, few))


def sweep_line(name: str, values: Iterable[str], infeasible: Mapping[str, str]) -> str:
    """Return a sweep in one line."""
    without = f"; no design is feasible at {', '.join(infeasible)}" if infeasible else ""
    return f"<Sweep of {name}: {', '.join(values)}{without}>"


def page(title: str, table: pd.DataFrame | None = None) -> str:
    """Return a title and a table as HTML, escaped."""
    rows = "" if table is None else table.to_html(escape=True, border=0)
    return f"<p>{escape(title)}</p>{rows}"


def _designs(
    result: Result, designs: Iterable[pd.Series[Any]], labels: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return designs as texts with units: variables and objectives."""
    roles = {n: c for n, c in result.columns.items() if c.role in ("variable", "objective")}
    rows = [
        {"design": str(design.name)}
        | {
            n: v if isinstance(v := design[n], str) else show_value(float(v), c.unit or "1")
            for n, c in roles.items()
            if n in design
        }
        for design in designs
    ]
    table = pd.DataFrame(rows, index=pd.Index(list(labels)) if labels else None)
    return table if labels or table.empty else table.set_index("design")


def _values(variable: Variable, unit: str) -> str:
    """Return the possible values of a variable in words."""
    unit = unit or "1"
    if isinstance(variable, Choice):
        return _few(variable.names)
    if isinstance(variable, Real | Integer):
        bounds = f"{show(float(variable.low), unit)} to {show(float(variable.high), unit)}"
        return bounds if variable.count is None else f"{bounds}, {variable.count:,} values"
    return _few([show(value, unit) for value in variable.values])


def _few(texts: Iterable[str]) -> str:
    names = list(texts)
    more = f" and {len(names) - _MAX_VALUES:,} more" if len(names) > _MAX_VALUES else ""
    return ", ".join(names[:_MAX_VALUES]) + more


def _size(study: ResolvedStudy) -> str:
    size = study.evaluator.space.size
    rows = isinstance(study.evaluator.space, TableSpace)
    return "a continuous space" if size is None else plural(size, "row" if rows else "design")
