"""The tables of a result: made from the outcome of a search, and as CSV files."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Constraint, measure_violations
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.space import SUBSET, Choice, Points
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Quantity
from dse.model.values import plural
from dse.problems import without_passwords
from dse.result.files import write_whole
from dse.result.record import CUT_SHORT, ERROR, Certificate, Column, Cut, Result, Role
from dse.search.base import UNLIMITED, Progress
from dse.search.diagnosis import (
    describe_skipped,
    explain_undefined,
    note_skipped,
)
from dse.search.formulation import review_study
from dse.search.outcome import Outcome, count_distinct
from dse.search.tally import Tally
from dse.search.workers import Workers
from dse.study.study import ResolvedStudy

SAMPLE = 2_000
"""The maximum number of infeasible designs with their first constraint: an even sample."""
_BEGINNING = Progress(0, 0, 0)
_MIN_REVIEWED, _REVIEWED = 100, 0.25  # evaluations of a review: at least, and per design
_EXACT = 2.0**53  # up to here, floats hold all whole numbers
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet that opens a CSV file runs the cells which begin with one of these."""
_TEXT = "'"  # spreadsheets read the rest of the cell as a text


def make_result(
    study: ResolvedStudy,
    outcome: Outcome,
    stopped: str,
    seconds: float,
    workers: Workers,
    seen: Mapping[str, str] = MappingProxyType({}),
    before: Progress = _BEGINNING,
) -> Result:
    """Return the result of a study; its search ended for the reason `stopped`.

    `seen` are the notes of `audit_models` by quantity. `before` is the progress of the search
    before this session, which took `seconds`.
    """
    certificate = _certificate(study, outcome, stopped)
    return Result(
        name=study.name,
        about=without_passwords(study.file.study.about),
        objectives=study.evaluator.objectives,
        columns=_columns(study),
        designs=designs_table(
            study, outcome.numbers, outcome.points, outcome.evaluated, outcome.on_front
        ),
        certificate=certificate,
        convergence=outcome.convergence,
        notes=(
            *study.notes,
            *_resumed(before),
            *note_skipped(outcome.tally),
            *_broken(study.evaluator, outcome.tally),
            *_odd(study, outcome, seen),
            *([] if stopped in CUT_SHORT else _review(study.evaluator, outcome)),
        ),
        provenance=_provenance(study, certificate, seconds, workers, before),
        constants=_constants(study),
        cuts=list_cuts(study.evaluator.constraints, outcome),
    )


def _review(evaluator: Evaluator, outcome: Outcome) -> list[str]:
    budget = max(_MIN_REVIEWED, int(_REVIEWED * outcome.tally.evaluated))
    return review_study(evaluator, outcome.points, budget)


def _constants(study: ResolvedStudy) -> dict[str, tuple[float, str]]:
    model_graph = study.evaluator.model_graph
    units = {name: quantity.unit for name, quantity in model_graph.quantities.items()} | {
        "clock": "Hz"
    }
    return {
        name: (float(value), units[name])
        for name, value in model_graph.constants.items()
        if name in units and name not in model_graph.resources
    }


def _certificate(study: ResolvedStudy, outcome: Outcome, stopped: str) -> Certificate:
    tally, plan = outcome.tally, study.plan
    failed = stopped.startswith(ERROR)  # perhaps the bounds rest on a wrong declaration
    statement = describe_skipped(outcome) if tally.raised else outcome.statement
    if failed and outcome.gap is not None:
        count = plural(tally.evaluated, "design was", "designs were")
        statement = f"Nothing is certified: {count} evaluated."
    if _broken(study.evaluator, tally):
        statement += " Designs that break what a model requires are infeasible: see the notes."
    if outcome.complete:
        stopped = "complete"
        if tally.odd[:, 2].any():
            statement += " But values are outside their declared domains: see the notes."
    else:
        if stopped == "complete":
            stopped = "stalled" if outcome.ended else "evaluations"
        why = {
            "evaluations": "the evaluations that the study allows were used",
            "stalled": outcome.ended,
            "interrupted": "it was interrupted",
            "timeout": f"its time limit of {plan.timeout:g} s was over" if plan.timeout else "",
        }.get(stopped, stopped)
        statement += f" The search ended {'with an ' if failed else 'because '}{why}."
    return Certificate(
        outcome.complete and not tally.raised,
        plan.method,
        study.evaluator.space.size,
        tally.evaluated,
        tally.feasible,
        int(outcome.on_front.sum()),
        statement,
        stopped,
        outcome.numbered,
        distinct=count_distinct(outcome.evaluated.objectives[outcome.on_front]),
        **({} if failed or tally.raised else _proven(outcome)),
    )


def _proven(outcome: Outcome) -> dict[str, Any]:
    gap = outcome.gap
    if gap is None:
        return {"gap": 0.0, "decided": 1.0} if outcome.complete else {}
    finite = bool(np.isfinite(gap.reached))
    return {
        "tolerance": gap.tolerance,
        "gap": gap.reached if finite else None,
        "boxes": gap.boxes,
        "decided": gap.decided,
        "rests_on": tuple(ground._asdict() for ground in gap.rests_on),
        "tolerances": {n: list(pair) for n, pair in gap.tolerances.items()} if finite else {},
    }


def _resumed(before: Progress) -> list[str]:
    if before.done == 0:
        return []
    count = plural(before.done - before.repeats, "design")
    return [
        f"the run went on from {count} of an earlier session; "
        "its seconds and designs per second count only the last session"
    ]


def _broken(evaluator: Evaluator, tally: Tally) -> list[str]:
    """Return a note on requirements of models that some designs do not meet."""
    counts = zip(evaluator.constraints, tally.violated.tolist(), strict=True)
    broken = [(count, c.name) for c, count in counts if c.required_by and count]
    if not broken:
        return []
    several = " (a design may break several)" if len(broken) > 1 else ""
    texts = [f"{n:,} {'breaks' if n == 1 else 'break'} this: {name}" for n, name in broken]
    return [f"infeasible, of {plural(tally.evaluated, 'design')}{several}: {'; '.join(texts)}"]


def _odd(study: ResolvedStudy, outcome: Outcome, seen: Mapping[str, str]) -> list[str]:
    """Return notes on values that are missing or outside their declared domains."""
    evaluator = study.evaluator
    names = [
        *((o.name, o.quantity, o.conditions) for o in evaluator.objectives),
        *(
            (f"{c.quantity} {c.condition}".strip(), c.quantity, c.conditions)
            for c in evaluator.constraints
        ),
    ]
    notes: dict[str, None] = {}
    tallied = set()
    for (name, quantity, conditions), domain, odd in zip(
        names, evaluator.domains, outcome.tally.odd.tolist(), strict=False
    ):
        tallied.add(quantity)
        outside = f"is outside its declared domain {domain.domain() if domain else ''}"
        for fault, (count, first) in (("has no value (NaN)", odd[:2]), (outside, odd[2:])):
            if count:
                of = f"{count:,} of {plural(outcome.tally.evaluated, 'design')}"
                why = quantity and explain_undefined(
                    evaluator, outcome, quantity, conditions, first
                )
                because = f": {why}" if why else ""
                notes[f"{name} {fault} for {of}, first for design {first}{because}"] = None
    return [*notes, *(note for name, note in seen.items() if name not in tallied)]


def _columns(study: ResolvedStudy) -> dict[str, Column]:
    evaluator = study.evaluator
    quantities = evaluator.model_graph.quantities
    columns: dict[str, Column] = {}
    for name, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice):
            columns[name] = Column(name, "", variable.about, "variable", variable.names)
        else:
            columns[name] = Column(name, quantities[name].unit, quantities[name].about, "variable")
    columns |= _others(evaluator, columns)
    constrained = {k: name for name, k in _constrained(evaluator).items()}
    objectives = {
        o.name: Column(o.name, o.unit, o.about, "objective") for o in evaluator.objectives
    }
    for k, constraint in enumerate(evaluator.constraints):
        name = constrained.get(k, constraint.quantity)
        if name in objectives:
            columns[name] = objectives[name]
        elif k in constrained:
            about = quantities[constraint.quantity].about
            columns[name] = Column(name, constraint.unit, about, "constraint")
    return columns | objectives


def _others(evaluator: Evaluator, known: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns that the space sets, except variables; of a table, its other columns."""
    space, quantities = evaluator.space, evaluator.model_graph.quantities
    codes = {
        name
        for variable in space.variables.values()
        if isinstance(variable, Choice) and variable.about == SUBSET
        for name in next(iter(variable.rows.values()))
    }
    names: list[tuple[str, Role]] = [
        (name, "code" if name in codes else "input") for name in space.quantities()
    ]
    if isinstance(space, TableSpace):
        bounded = {name for c in evaluator.constraints for name in c.names}
        shown = {o.quantity for o in evaluator.objectives} - bounded
        names = [(n, "constraint" if n in bounded else "column") for n, _ in names]
        names = [(n, role) for n, role in names if n not in shown]
    found = {
        n: Column(n, quantities[n].unit, quantities[n].about, role)
        for n, role in names
        if n not in known
    }
    if isinstance(space, TableSpace):
        found |= {n: Column(n, "", "text", "column") for n in space.texts if n not in known}
    return found


def _constrained(evaluator: Evaluator) -> dict[str, int]:
    """Return the columns of constrained quantities, each with a constraint that has its values.

    A quantity under two conditions has two columns; one with a column already gets none.
    """
    inputs = evaluator.space.quantities()
    names = {*inputs, *(o.name for o in evaluator.objectives)}
    shown = {
        (o.quantity, frozenset(o.conditions.items()), o.reduction) for o in evaluator.objectives
    }
    found: dict[str, int] = {}
    for k, constraint in enumerate(evaluator.constraints):
        name, key = constraint.quantity, frozenset(constraint.conditions.items())
        if not name or name in inputs or (name, key, constraint.reduction) in shown:
            continue
        shown.add((name, key, constraint.reduction))
        if name in names:
            name = f"{name} {constraint.condition or 'as given'}"
        names.add(name)
        found[name] = k
    return found


def designs_table(
    study: ResolvedStudy,
    numbers: NDArray[np.int64],
    points: Points,
    judged: Evaluated,
    on_front: NDArray[np.bool_],
) -> pd.DataFrame:
    """Return the table of designs for `Result.designs`; the parameters are as in `Outcome`."""
    evaluator = study.evaluator
    names = _columns(study)
    content = dict(evaluator.space.labels(points))
    for name, values in evaluator.space.columns(points).items():
        content.setdefault(name, values)
    for name, k in _constrained(evaluator).items():
        content[name] = judged.constrained[:, k]
    for i, objective in enumerate(evaluator.objectives):
        content[objective.name] = judged.objectives[:, i]
    integers = _whole_numbers(study)
    table = pd.DataFrame({name: whole_numbers(content[name], integers.get(name)) for name in names})
    table["feasible"] = judged.feasible
    table["on_front"] = on_front
    table.index = pd.Index(numbers, name="design")
    return table


def _whole_numbers(study: ResolvedStudy) -> dict[str, Quantity | None]:
    """Return the declaration of each column that may hold whole numbers."""
    evaluator = study.evaluator
    found: dict[str, Quantity | None] = dict(evaluator.model_graph.quantities)
    found |= {
        n: found.get(evaluator.constraints[k].quantity) for n, k in _constrained(evaluator).items()
    }
    return found | dict(
        zip((o.name for o in evaluator.objectives), evaluator.domains, strict=False)
    )


def whole_numbers(values: NDArray[Any], declared: Quantity | None) -> NDArray[Any]:
    """Return values of a whole quantity as integers, if each of them is a whole number."""
    if declared is None or not declared.integer or values.dtype.kind != "f":
        return values
    if not (np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < _EXACT)).all():
        return values
    return values.astype(np.int64)


def _provenance(
    study: ResolvedStudy,
    certificate: Certificate,
    seconds: float,
    workers: Workers,
    before: Progress,
) -> dict[str, object]:
    done = max(certificate.evaluated - (before.done - before.repeats), 0)  # in this session
    packages = ("dse-accelerators", "numpy", "scipy", "pandas", "optuna", "moocore", "joblib")
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "designs_per_second": round(done / max(seconds, 1e-9)),
        "workers": workers.count,
        "backend": workers.backend,
        "seed": study.plan.seed,
        **({"total": before.total} if 0 < before.total < UNLIMITED else {}),
        **({} if study.plan.timeout is None else {"timeout": study.plan.timeout}),
        "study": study.path.name if study.path else "",
        "digest": study.digest,
        "storage": study.shown_storage,
        "models": [model.name for model in study.evaluator.model_graph.models],
        "loaded": {path.name: sha256[:16] for path, sha256 in study.code.items()},
        "versions": {"python": platform.python_version()}
        | {name: _version(name) for name in packages},
    }


@cache
def _version(package: str) -> str:
    """Return the version of a package, which is parsed from a file, once."""
    return importlib.metadata.version(package)


def make_front(study: ResolvedStudy, result: Result) -> Outcome:
    """Return the front of a result as the outcome of a search that kept no other designs."""
    evaluator, front = study.evaluator, result.front.designs
    count, constraints = len(front), len(evaluator.constraints)
    values = front[[o.name for o in evaluator.objectives]].to_numpy(dtype=np.float64)
    space = evaluator.space
    if isinstance(space, TableSpace):
        points = space.from_index(front.index.to_numpy())
    else:
        points = space.from_labels({n: front[n].to_numpy() for n in space.variables})
    return Outcome(
        front.index.to_numpy(),
        points,
        Evaluated(values, np.full((count, constraints), np.nan), np.ones(count, dtype=bool)),
        np.ones(count, dtype=bool),
        Tally.empty(constraints),
        result.convergence,
        result.certificate.complete,
        result.certificate.numbered,
        result.certificate.statement,
    )


def list_cuts(constraints: Sequence[Constraint], outcome: Outcome) -> tuple[Cut, ...]:
    """Return the designs that each constraint excludes.

    The infeasible designs that a search kept are an even sample. Each of them counts for the first
    constraint, in the study's order, that it violates.
    """
    kept = ~(
        measure_violations(constraints, outcome.evaluated.constrained) <= 0
    )  # a violation may be NaN
    rows = np.flatnonzero(kept.any(axis=1) & ~outcome.evaluated.feasible)
    if len(rows) > SAMPLE:
        rows = rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]
    first = kept[rows].argmax(axis=1) if len(constraints) else np.empty(0, dtype=np.int64)
    numbers, tally = outcome.numbers[rows], outcome.tally
    counts = zip(constraints, tally.violated.tolist(), tally.alone.tolist(), strict=True)
    return tuple(
        Cut(constraint.name, violated, alone, tuple(numbers[first == k].tolist()))
        for k, (constraint, violated, alone) in enumerate(counts)
    )


# Tables as CSV files: a spreadsheet never runs a cell as a formula


def protect_cell(text: str) -> str:
    """Return a text for a cell: a text that a spreadsheet would run gets an apostrophe in front.

    >>> [protect_cell(text) for text in ("=A1", "-x", "-5", "aes", "'s")]
    ["'=A1", "'-x", '-5', 'aes', "''s"]
    """
    formula = text.startswith(_FORMULAS) and not _is_number(text)
    return _TEXT + text if formula or text.startswith(_TEXT) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return not text.startswith(("\t", "\r"))


def write_designs(designs: pd.DataFrame, front: Path, whole: Path, point: Sequence[str]) -> None:
    """Write the points of all designs into one file and the front into another, both or none.

    The file of the front has all its designs, without the columns ``feasible`` and ``on_front``.
    The other file has one line per point: the first of the designs that are tied, and their number
    in the column ``ties``. Tied designs are equal in the columns `point`.
    """
    table = designs.rename(columns=protect_cell)
    for name in [n for n in table if not pd.api.types.is_numeric_dtype(table[n].dtype)]:
        cells = {text: protect_cell(text) for text in table[name].unique() if isinstance(text, str)}
        if any(text != cell for text, cell in cells.items()):
            table[name] = table[name].map(lambda text, cells=cells: cells.get(text, text))
    short = table[table["on_front"].to_numpy(dtype=bool)].drop(columns=["feasible", "on_front"])
    same = [*map(protect_cell, point), "feasible", "on_front"]
    ties = table.groupby(same, sort=False, dropna=False)["feasible"].transform("size")
    long = table.assign(ties=ties)[~table.duplicated(same)]

    def write(short_path: Path, long_path: Path) -> None:
        short.to_csv(short_path, lineterminator="\n", encoding="utf-8")
        long.to_csv(long_path, lineterminator="\n", encoding="utf-8")

    write_whole(front, lambda first: write_whole(whole, lambda second: write(first, second)))


def read_designs(
    front: Path, whole: Path, texts: Collection[str], numbers: Collection[str]
) -> pd.DataFrame:
    """Read all designs of the front, and one design per other point, from files of `write_designs`.

    The columns of each kind are named.
    """
    points, designs = (_read_table(path, texts, numbers) for path in (whole, front))
    if "on_front" not in points or "feasible" not in points:
        return points
    behind = points[~points["on_front"].to_numpy(dtype=bool)].drop(columns="ties", errors="ignore")
    return pd.concat([designs.assign(feasible=True, on_front=True), behind]).sort_index()


def _read_table(path: Path, texts: Collection[str], numbers: Collection[str]) -> pd.DataFrame:

    def unprotect(text: str) -> str:
        return text.removeprefix(_TEXT)

    designs = pd.read_csv(
        path,
        index_col="design",
        dtype={protect_cell(name): str for name in texts},
        keep_default_na=False,  # an option may be called "None"
        na_values={protect_cell(name): ["", "nan"] for name in numbers},
    ).rename(columns=unprotect)
    for name in texts:
        if name in designs and designs[name].str.startswith(_TEXT).any():
            designs[name] = designs[name].map(unprotect)
    return designs
