"""The dispatch rule of a design: its study's models give the speedup over the size of a call."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.explain.explanation import find_points
from dse.fit.emission import ENDINGS, emit_rules
from dse.fit.rule import Rule, TimesCurve, find_ranges, summarize_rule
from dse.model.values import show
from dse.problems import InputError, Problem
from dse.result.files import write_text
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_POINTS = 4001  # sizes between which the speedup is a straight line
_FREED = "freed_time"


def write_design_rule(
    study: ResolvedStudy, result: Result, number: int, target: Path, *, force: bool
) -> str:
    """Write the rule of a design to a file, and return a text on it.

    InputError if the file cannot be written, or the design has no rule.
    """
    message, remedy = "", ""
    if target.suffix not in ENDINGS:
        message = f"{target} does not end in .h, .hpp, .py or .rs"
        remedy = f"a rule is in C, C++, Python or Rust: {target.with_suffix('.h')}"
    elif target.exists() and not force:
        message, remedy = f"{target} is there already", "--force replaces it"
    elif not target.parent.is_dir():
        message, remedy = f"there is no folder {target.parent}", "make it first"
    if message:
        raise InputError("dse explain", [Problem("--emit", message, remedy)])
    rule = make_design_rule(study, result, number)
    source = [f"source: study {study.name}: {study.file.study.about}"]
    write_text(target, emit_rules([rule], source, target))
    return f"{target}: should_offload: {summarize_rule(rule)}"


def make_design_rule(study: ResolvedStudy, result: Result, number: int) -> Rule:
    """Return the rule of a design along the axis of the study's regions.

    InputError if the study has no regions along a size, or no speedup.
    """
    graph, plan = study.evaluator.model_graph, study.regions
    message, remedy = "", ""
    if plan is None or graph.quantities[plan.axis].unit != "B":
        message = "a rule needs the size of a call as an axis, which the study does not have"
        remedy = 'add [regions] with axis = "granularity", low and high'
    elif "speedup" not in graph.producers:
        message, remedy = "no model of the study gives a speedup", "add objectives.logca:offload"
    if message or plan is None:
        raise InputError(study.name, [Problem("--emit", message, remedy)])
    points = find_points(study, result, [number])
    columns = study.evaluator.space.columns(points)
    variables = ", ".join(f"{n} {v[0]}" for n, v in study.evaluator.space.labels(points).items())
    name = f"design {number}: {variables}"
    size = np.geomspace(plan.low, plan.high, _POINTS)
    wanted = ["speedup", *(n for n in (_FREED, "host_time") if _FREED in graph.producers)]
    found = graph.evaluate([(n, {}) for n in wanted], {**columns, plan.axis: size})
    speedup, *rest = (np.broadcast_to(np.asarray(each, np.float64), size.shape) for each in found)
    known = np.isfinite(speedup)
    if not known.any():
        problem = Problem("--emit", "the speedup is undefined at all sizes of the axis")
        raise InputError(name, [problem])
    speedup, size = speedup[known], size[known]
    busy = 1.0 - rest[0][known] / rest[1][known] if rest else 1.0 / speedup
    # The host's time is the unit: a call takes 1, or 1 / speedup with the accelerator.
    curve = TimesCurve(size, np.ones_like(size), 1.0 / speedup, np.minimum(busy, 1.0 / speedup))
    load = "the busy time of the host decides" if rest else "no effect: no model gives freed_time"
    return Rule(
        name,
        find_ranges(curve),
        (float(size[0]), float(size[-1])),
        "the nearest of these sizes decides",
        f"the speedup of the study's models, from {show(plan.low, 'B')} to {show(plan.high, 'B')}",
        (
            "outstanding: assumption: each call at the accelerator delays the next by the whole "
            "time of a call of its size",
            f"cores_busy: {'with OFFLOAD_CORES or more, ' * bool(rest)}{load}",
            "regret: unknown; no measured time is in the rule",
        ),
        {},
    )
