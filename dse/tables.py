"""From the outcome of a search to the tables of a result."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import platform

import numpy as np
import pandas as pd

from dse.result import Certificate, Column, StudyResult
from dse.search.exhaustive import Workers
from dse.search.outcome import Outcome
from dse.space import Choice
from dse.study import Study


def result_of(
    study: Study, outcome: Outcome, stopped: str, seconds: float, workers: Workers
) -> StudyResult:
    """Return the result of a study whose search ended for the reason `stopped`."""
    certificate = _certificate(study, outcome, stopped)
    return StudyResult(
        name=study.name,
        about=study.file.study.about,
        objectives=tuple(goal.info for goal in study.evaluator.goals),
        columns=_columns(study),
        designs=_designs(study, outcome),
        certificate=certificate,
        convergence=outcome.convergence,
        notes=(*study.notes, *_flat_knobs(study, outcome)),
        provenance=_provenance(study, certificate, seconds, workers),
        constants=_constants(study),
    )


def _constants(study: Study) -> dict[str, tuple[float, str]]:
    wiring = study.evaluator.wiring
    units = {name: quantity.unit for name, quantity in wiring.quantities.items()} | {"clock": "Hz"}
    return {
        name: (float(value), units[name])
        for name, value in wiring.constants.items()
        if name in units and name not in wiring.resources
    }


def _certificate(study: Study, outcome: Outcome, stopped: str) -> Certificate:
    tally, plan = outcome.tally, study.plan
    size = study.evaluator.space.size
    front = int(outcome.on_front.sum())
    complete = plan.method == "exhaustive" and stopped == "complete"
    if not complete and stopped == "complete":
        stopped = "evaluations"
    if complete:
        statement = (
            f"Complete: all {tally.evaluated:,} designs of the space were evaluated, and the "
            f"{front:,} on the front are its whole Pareto front{_distinct(outcome, front)}."
        )
    else:
        share = f" of {size:,}" if size is not None else " of a continuous space"
        why = {
            "evaluations": "the evaluations that the study allows were used",
            "interrupted": "it was interrupted",
            "timeout": f"the time of {plan.timeout:g} s was over" if plan.timeout else "",
        }.get(stopped, stopped)
        statement = (
            f"Not certified: {tally.evaluated:,} designs{share} were evaluated by {plan.method}; "
            f"{front:,} are non-dominated among them. The search ended because {why}."
        )
    return Certificate(
        complete, plan.method, size, tally.evaluated, tally.feasible, front, statement, stopped
    )


def _distinct(outcome: Outcome, front: int) -> str:
    """Return how many points the front has, where designs share them."""
    points = len(np.unique(outcome.judged.objectives[outcome.on_front], axis=0))
    return f" ({points:,} distinct points)" if points < front else ""


def _columns(study: Study) -> dict[str, Column]:
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
    for limit in evaluator.limits:
        if limit.quantity and limit.quantity not in columns:
            about = quantities[limit.quantity].about
            columns[limit.quantity] = Column(limit.quantity, limit.unit, about, "constraint")
    for goal in evaluator.goals:
        info = goal.info
        columns[info.name] = Column(info.name, info.unit, info.about, "objective")
    return columns


def _designs(study: Study, outcome: Outcome) -> pd.DataFrame:
    evaluator = study.evaluator
    names = _columns(study)
    content = dict(evaluator.space.labels(outcome.points))
    for name, values in evaluator.space.columns(outcome.points).items():
        content.setdefault(name, values)
    for k, limit in enumerate(evaluator.limits):
        if limit.quantity in names and names[limit.quantity].role == "constraint":
            sign = 1.0 if limit.upper else -1.0
            content[limit.quantity] = limit.bound + sign * outcome.judged.excess[:, k]
    for i, goal in enumerate(evaluator.goals):
        content[goal.info.name] = outcome.judged.objectives[:, i]
    table = pd.DataFrame({name: content[name] for name in names})
    table["feasible"] = outcome.judged.feasible
    table["on_front"] = outcome.on_front
    table.index = pd.Index(outcome.numbers, name="design")
    return table


def _flat_knobs(study: Study, outcome: Outcome) -> list[str]:
    """Return a note for each variable that changes nothing, though a model takes it.

    Sampled: up to 64 kept designs, with the variable set to each end of its range in turn.
    """
    evaluator = study.evaluator
    count = len(outcome.numbers)
    rows = np.unique(np.linspace(0, count - 1, 64).astype(int))
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
            and np.array_equal(a.excess, answers[0].excess, equal_nan=True)
            for a in answers[1:]
        )
        if same and (evaluator.space.variables[name].count or 2) > 1:
            notes.append(
                f"space.{name} changed no objective and no constraint in {len(rows)} sampled "
                "designs: it may be a dead knob in this range"
            )
    return notes


def _provenance(
    study: Study, certificate: Certificate, seconds: float, workers: Workers
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
