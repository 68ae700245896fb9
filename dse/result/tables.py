"""From the outcome of a search to the tables of a result."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import platform

import numpy as np
import pandas as pd

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice
from dse.result.record import Certificate, Column, Result
from dse.result.spare import affordable
from dse.search.outcome import Outcome
from dse.search.workers import Workers
from dse.study.study import ResolvedStudy


def result_of(
    study: ResolvedStudy, outcome: Outcome, stopped: str, seconds: float, workers: Workers
) -> Result:
    """Return the result of a study whose search ended for the reason `stopped`."""
    certificate = _certificate(study, outcome, stopped)
    return Result(
        name=study.name,
        about=study.file.study.about,
        objectives=study.evaluator.objectives,
        columns=_columns(study),
        designs=_designs(study, outcome),
        certificate=certificate,
        convergence=outcome.convergence,
        notes=(*study.notes, *_flat_knobs(study, outcome, stopped)),
        provenance=_provenance(study, certificate, seconds, workers),
        constants=_constants(study),
    )


def _constants(study: ResolvedStudy) -> dict[str, tuple[float, str]]:
    wiring = study.evaluator.wiring
    units = {name: quantity.unit for name, quantity in wiring.quantities.items()} | {"clock": "Hz"}
    return {
        name: (float(value), units[name])
        for name, value in wiring.constants.items()
        if name in units and name not in wiring.resources
    }


def _certificate(study: ResolvedStudy, outcome: Outcome, stopped: str) -> Certificate:
    tally, plan = outcome.tally, study.plan
    statement = outcome.statement
    if outcome.complete:
        stopped = "complete"
    else:
        stopped = "evaluations" if stopped == "complete" else stopped
        why = {
            "evaluations": "the evaluations that the study allows were used",
            "interrupted": "it was interrupted",
            "timeout": f"the time of {plan.timeout:g} s was over" if plan.timeout else "",
        }.get(stopped, stopped)
        statement += f" The search ended because {why}."
    return Certificate(
        outcome.complete,
        plan.method,
        study.evaluator.space.size,
        tally.evaluated,
        tally.feasible,
        int(outcome.on_front.sum()),
        statement,
        stopped,
        outcome.numbered,
    )


def _columns(study: ResolvedStudy) -> dict[str, Column]:
    evaluator = study.evaluator
    quantities = evaluator.wiring.quantities
    columns: dict[str, Column] = {}
    for name, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice):
            columns[name] = Column(name, "", "option", "variable")
        else:
            columns[name] = Column(name, quantities[name].unit, quantities[name].about, "variable")
    for name in evaluator.space.quantities():
        if name not in columns:
            columns[name] = Column(name, quantities[name].unit, quantities[name].about, "input")
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


def _constrained(evaluator: Evaluator) -> dict[str, int]:
    """Return the columns of constrained quantities, each with a constraint that has its values.

    A quantity under two conditions has two columns; one that is a column already has none.
    """
    inputs = evaluator.space.quantities()
    names = {*inputs, *(o.name for o in evaluator.objectives)}
    shown = {(o.quantity, frozenset(o.conditions.items())) for o in evaluator.objectives}
    found: dict[str, int] = {}
    for k, constraint in enumerate(evaluator.constraints):
        name, key = constraint.quantity, frozenset(constraint.conditions.items())
        if not name or name in inputs or (name, key) in shown:
            continue
        shown.add((name, key))
        if name in names:
            name = f"{name} {constraint.condition or 'as given'}"
        names.add(name)
        found[name] = k
    return found


def _designs(study: ResolvedStudy, outcome: Outcome) -> pd.DataFrame:
    evaluator = study.evaluator
    names = _columns(study)
    content = dict(evaluator.space.labels(outcome.points))
    for name, values in evaluator.space.columns(outcome.points).items():
        content.setdefault(name, values)
    for name, k in _constrained(evaluator).items():
        content[name] = outcome.judged.constrained[:, k]
    for i, objective in enumerate(evaluator.objectives):
        content[objective.name] = outcome.judged.objectives[:, i]
    table = pd.DataFrame({name: content[name] for name in names})
    table["feasible"] = outcome.judged.feasible
    table["on_front"] = outcome.on_front
    table.index = pd.Index(outcome.numbers, name="design")
    return table


def _flat_knobs(study: ResolvedStudy, outcome: Outcome, stopped: str) -> list[str]:
    """Return a note for each variable that changes nothing, though a model takes it.

    Sampled: up to 64 kept designs, with the variable set to each end of its range in turn; after a
    time-out as many of them as half a second allows.
    """
    evaluator = study.evaluator
    count, most = len(outcome.numbers), 64
    if stopped == "timeout":
        each = 3 * len(evaluator.space.variables)
        most = min(most, affordable(evaluator, outcome.points, 0.5) // each)
    rows = np.unique(np.linspace(0, count - 1, most).astype(int))
    if len(rows) == 0:
        return []
    unit = evaluator.space.to_unit({n: v[rows] for n, v in outcome.points.items()})
    notes = []
    for i, name in enumerate(evaluator.space.variables):
        answers = []
        for position in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            moved = unit.copy()
            moved[:, i] = position
            answers.append(evaluator.evaluate(evaluator.space.from_unit(moved)))
        same = all(
            np.array_equal(a.objectives, answers[0].objectives, equal_nan=True)
            and np.array_equal(a.constrained, answers[0].constrained, equal_nan=True)
            for a in answers[1:]
        )
        if same and (evaluator.space.variables[name].count or 2) > 1:
            notes.append(
                f"space.{name} changed no objective and no constraint in {len(rows)} sampled "
                "designs: it may be a dead knob in this range"
            )
    return notes


def _provenance(
    study: ResolvedStudy, certificate: Certificate, seconds: float, workers: Workers
) -> dict[str, object]:
    packages = ("dse-accelerators", "numpy", "scipy", "pandas", "optuna", "moocore", "joblib")
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "designs_per_second": round(certificate.evaluated / max(seconds, 1e-9)),
        "workers": workers.count,
        "backend": workers.backend,
        "seed": study.plan.seed,
        "study": study.path.name if study.path else "",
        "digest": study.digest,
        "storage": study.shown_storage,
        "models": [model.name for model in study.evaluator.wiring.models],
        "loaded": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            for path in sorted(set(study.code))
        },
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in packages},
    }
