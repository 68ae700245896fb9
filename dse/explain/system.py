"""The answer of a study of a system: a line and a table row per kernel, and the order to build in.

The options of a kernel are compared with the other kernels as they are. So the reason for a kernel
that is not built is exact: each of its options was evaluated in the recommended system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.evaluate.totals import NOT_BUILT, System, find_system
from dse.explain.changes import compare_objectives
from dse.model.quantity import Array
from dse.model.section import Bars, Section, Table
from dse.model.values import add_unit, show_amount, show_percent, word_name
from dse.result.record import Result
from dse.search.portfolio.merging import Merging
from dse.search.portfolio.search import SystemSums
from dse.study.study import ResolvedStudy

_SHOWN, _OTHERS = 3, 2  # totals in a line of the answer; of them, not named by the study
_COLUMNS = 6  # totals of the table
_BARS = 24  # designs of the chart
_MORE = 0.2  # of a limit
_MAX_SUMS = 100_000  # sums of a search that is repeated for each limit


@dataclass(frozen=True)
class KernelAnswer:
    """One kernel of a design."""

    kernel: str
    option: str  # how it is built
    values: Mapping[str, float]  # by total: the amount that it adds
    on_host: Mapping[str, float]  # by total: the amount without an engine
    fractions: Mapping[str, float]  # by total: its fraction of the sum; left out if the sum is 0
    reason: str = ""  # why it is not built


def answer_kernels(study: ResolvedStudy, design: Mapping[str, object]) -> list[KernelAnswer]:
    """Return the kernels of a design, given by its columns; nothing without a system."""
    evaluator = study.evaluator
    system = find_system(evaluator)
    if system is None:
        return []
    point = evaluator.space.from_labels({k: [design[k]] for k in system.names})
    added = {k: options[int(point[k][0])] for k, options in system.options.items()}
    sums = np.sum([*added.values()], axis=0)
    answers = []
    for kernel, values in added.items():
        host, option = system.on_host(kernel), str(design[kernel])
        with np.errstate(all="ignore"):
            fractions = values / sums
        shares = zip(system.totals, fractions.tolist(), strict=True)
        answers.append(
            KernelAnswer(
                kernel,
                option,
                dict(zip(system.totals, values.tolist(), strict=True)),
                {} if host is None else dict(zip(system.totals, host.tolist(), strict=True)),
                {total: fraction for total, fraction in shares if np.isfinite(fraction)},
                _explain_host(evaluator, system, point, kernel) if option == NOT_BUILT else "",
            )
        )
    return answers


def describe_kernels(study: ResolvedStudy, answers: Sequence[KernelAnswer]) -> dict[str, str]:
    """Return a line per kernel: its option and its changes, or the reason for the host."""
    quantities = study.evaluator.model_graph.quantities
    lines = {}
    for answer in answers:
        texts = [answer.reason] if answer.reason else []
        for total in [] if answer.reason else _important(study, answer.values, _OTHERS):
            before, value = answer.on_host.get(total, 0.0), answer.values[total]
            if value == before:
                continue
            unit, label = quantities[total].unit, quantities[total].label_of(total)
            text = (
                f"{show_amount(before, unit)} → {show_amount(value, unit)}"
                if before
                else show_amount(value, unit)
            )
            if not before and total in answer.fractions:
                text += f" ({show_percent(answer.fractions[total], 2)})"
            texts.append(f"{label} {text}")
        lines[word_name(answer.kernel)] = f"{answer.option}: {', '.join(texts[:_SHOWN])}"
    return lines


def describe_nothing_built(study: ResolvedStudy) -> str:
    """Return the objectives if each kernel stays on the host; empty if one is always built."""
    evaluator = study.evaluator
    system = find_system(evaluator)
    if system is None or not all(NOT_BUILT in names for names in system.names.values()):
        return ""
    values = _objectives(evaluator, [{k: n.index(NOT_BUILT) for k, n in system.names.items()}])[0]
    if np.isnan(values).any():
        return "not feasible: the host cannot do all calls"
    pairs = zip(evaluator.objectives, values.tolist(), strict=True)
    return ", ".join(f"{word_name(o.name)} {show_amount(value, o.unit)}" for o, value in pairs)


def describe_losses(study: ResolvedStudy, values: Mapping[str, object]) -> str:
    """Return the objectives that are worse than if nothing is built, without costs of engines."""
    evaluator = study.evaluator
    system = find_system(evaluator)
    if system is None or not all(NOT_BUILT in names for names in system.names.values()):
        return ""
    nothing = _objectives(evaluator, [{k: n.index(NOT_BUILT) for k, n in system.names.items()}])[0]
    own = np.array([float(str(values[o.name])) for o in evaluator.objectives])
    effects = compare_objectives(evaluator.objectives, nothing, own)
    costs = {o.name for o in evaluator.objectives if o.quantity in system.totals}
    return ", ".join(str(e) for e in effects if e.gain < 1 and e.objective not in costs)


def _important(study: ResolvedStudy, totals: Iterable[str], others: int) -> list[str]:
    """Return the totals that an objective or a constraint names, and the first others."""
    evaluator = study.evaluator
    named = {o.quantity for o in evaluator.objectives} | {c.quantity for c in evaluator.constraints}
    rest = [total for total in totals if total not in named]
    return [*(total for total in totals if total in named), *rest[:others]]


def _explain_host(evaluator: Evaluator, system: System, point: Points, kernel: str) -> str:
    """Return why a kernel stays on the host in a design."""
    others = np.flatnonzero([name != NOT_BUILT for name in system.names[kernel]])
    if not len(others):
        return "no feasible design"
    points = {n: np.repeat(v, len(others) + 1) for n, v in point.items()}
    points[kernel] = np.concatenate([point[kernel], others])
    evaluated = evaluator.evaluate(points)
    now, rest = evaluated.rows(slice(0, 1)), evaluated.rows(slice(1, None))
    feasible = np.flatnonzero(rest.feasible)
    if not len(feasible):
        broken = evaluator.violations(rest.constrained) > 0
        fewest = broken[np.argmin(broken.sum(axis=1))]
        names = [
            c.name.partition(", required by")[0]
            for c, bad in zip(evaluator.constraints, fewest, strict=True)
            if bad
        ]
        why = ", ".join(names) or "a constraint"
        return f"all its {len(others)} designs violate: {why}, with the other kernels as they are"
    signed, own = rest.objectives[feasible] * evaluator.signs, now.objectives[0] * evaluator.signs
    main = int(np.argmin(np.where(signed < own, 0, 1).sum(axis=0)))
    better = signed[:, main] < own[main]
    if not better.any():
        return f"none of {len(feasible)} feasible designs is better in any objective"
    best = int(feasible[np.argmin(signed[:, main])])
    effects = compare_objectives(evaluator.objectives, now.objectives[0], rest.objectives[best])
    changed = (f"{word_name(e.objective)} {e.change}" for e in effects if e.before != e.after)
    return f"the best design changes {', '.join(changed)}"


# The report


def system_section(study: ResolvedStudy, result: Result, number: int | None) -> list[Section]:
    """Return the section of the report: kernels, the front by cost, and the order to build in."""
    system = find_system(study.evaluator)
    if system is None or number is None:
        return []
    answers = answer_kernels(study, dict(result.designs.loc[number]))
    quantities, rows = study.evaluator.model_graph.quantities, []
    shown = [
        total
        for total in _important(study, system.totals, _COLUMNS)
        if any(a.values[total] != a.on_host.get(total, 0.0) for a in answers)
    ][:_COLUMNS]
    for answer in answers:
        row: dict[str, object] = {"kernel": word_name(answer.kernel), "built as": answer.option}
        for total in shown:
            name = add_unit(quantities[total].label_of(total), quantities[total].unit)
            if any(a.on_host.get(total) for a in answers):
                row[f"{name}, on the host"] = answer.on_host.get(total, 0.0)
            row[name] = answer.values[total]
        rows.append(row | {"why not built": answer.reason})
    table = pd.DataFrame(rows)
    if not any(answer.reason for answer in answers):
        table = table.drop(columns="why not built")
    items: list[Table | Bars] = [Table(f"Kernels of design {number}", table)]
    cost = _cost(study, system)
    if cost is not None:
        items += [_chart(study, system, result, cost), _order(study, system, cost)]
    items += _price_limits(study)
    return [Section("System", "", items)]


def _cost(study: ResolvedStudy, system: System) -> Objective | None:
    """Return the first minimized objective that is a total and 0 if nothing is built."""
    hosts = [host for kernel in system.names if (host := system.on_host(kernel)) is not None]
    for objective in study.evaluator.objectives:
        if objective.direction == "minimize" and objective.quantity in system.totals:
            column = system.totals.index(objective.quantity)
            if not any(host[column] for host in hosts):
                return objective
    return None


def _chart(study: ResolvedStudy, system: System, result: Result, cost: Objective) -> Bars:
    """Return the parts of the cost of designs along the front, as stacked bars."""
    front = result.front.designs.sort_values(cost.name)
    rows = np.unique(np.linspace(0, len(front) - 1, min(_BARS, len(front))).astype(int))
    shown = front.iloc[rows]
    column, bars = system.totals.index(cost.quantity), []
    for variable, names in system.names.items():
        added = dict(zip(names, system.options[variable][:, column].tolist(), strict=True))
        bars.append((word_name(variable), np.array([added[str(name)] for name in shown[variable]])))
    return Bars(
        f"The build at each {word_name(cost.quantity)}",
        [f"design {number}" for number in shown.index],
        bars,
        add_unit(word_name(cost.quantity), cost.unit),
        stacked=True,
        note="The designs on the front, from the lowest cost to the highest.",
    )


def _order(study: ResolvedStudy, system: System, cost: Objective) -> Table:
    """Return the order in which to build kernels, one per step, with nothing taken back.

    Each step adds the option with the largest gain in the first other objective per cost.
    """
    evaluator, objectives = study.evaluator, study.evaluator.objectives
    position = [o.name for o in objectives].index(cost.name)
    main = next((i for i in range(len(objectives)) if i != position), position)
    state = {k: n.index(NOT_BUILT) if NOT_BUILT in n else 0 for k, n in system.names.items()}
    waiting = [k for k, names in system.names.items() if NOT_BUILT in names]
    values = _objectives(evaluator, [state])[0]
    rows = [_step("nothing", "", objectives, values)]
    while waiting:
        tries = [state | {k: i} for k in waiting for i in range(len(system.names[k]))]
        found = _objectives(evaluator, tries)
        gain = (values[main] - found[:, main]) * objectives[main].sign
        added = np.maximum(found[:, position] - values[position], np.finfo(float).tiny)
        with np.errstate(all="ignore"):
            rate = np.where(gain > 0, gain / added, 0.0)
        best = int(np.argmax(rate))
        if not rate[best]:
            break
        kernel = next(k for k in waiting if tries[best][k] != state[k])
        waiting.remove(kernel)
        state, values = tries[best], found[best]
        option = system.names[kernel][state[kernel]]
        rows.append(_step(word_name(kernel), option, objectives, values))
    gained = f"{word_name(objectives[main].name)} per {word_name(cost.name)}"
    note = f"Each step has the largest gain in {gained}, and takes nothing back."
    return Table("Order in which to build, if the budget comes in steps", pd.DataFrame(rows), note)


def _price_limits(study: ResolvedStudy) -> list[Table]:
    """Return the best value of each objective if one limit were 20 % higher, of limits that matter.

    Each row is a separate search with the same proof.
    """
    evaluator, rows = study.evaluator, []
    before = _best_values(evaluator)
    for position, constraint in enumerate(evaluator.constraints):
        if constraint.relation or not constraint.upper or constraint.bound <= 0 or before is None:
            continue
        looser = replace(constraint, bound=constraint.bound * (1 + _MORE))
        others = evaluator.constraints
        changed = (*others[:position], looser, *others[position + 1 :])
        after = _best_values(replace(evaluator, constraints=changed))
        if after is not None:
            effects = compare_objectives(evaluator.objectives, before, after)
            better = ", ".join(f"best {e}" for e in effects if e.gain > 1)
            rows.append({"limit": constraint.name, "best values": better or "no change"})
    title = f"The value of {show_percent(_MORE)} more of each limit"
    return [Table(title, pd.DataFrame(rows), "Each row is a new search.")] if rows else []


def _best_values(evaluator: Evaluator) -> Array | None:
    """Return the best value of each objective; None if that takes long, or nothing is feasible."""
    system = find_system(evaluator)
    if system is None:
        return None
    merging = Merging(SystemSums.of(system).portfolio())
    state = merging.start()
    for _ in system.names:
        state = merging.step(state)
        if state.kept[-1] > _MAX_SUMS:
            return None
    objectives = merging.front(state).objectives
    return objectives.min(axis=0) * evaluator.signs if len(objectives) else None


def _step(
    kernel: str, option: str, objectives: Sequence[Objective], values: Array
) -> dict[str, object]:
    row: dict[str, object] = {"add": kernel, "built as": option}
    for objective, value in zip(objectives, values, strict=True):
        row[add_unit(word_name(objective.name), objective.unit)] = float(value)
    return row


def _objectives(evaluator: Evaluator, states: Sequence[Mapping[str, int]]) -> Array:
    """Return the objectives of combinations of options; NaN if one is not feasible."""
    points = {n: np.array([s[n] for s in states]) for n in evaluator.space.variables}
    evaluated = evaluator.evaluate(points)
    return np.where(evaluated.feasible[:, None], evaluated.objectives, np.nan)
