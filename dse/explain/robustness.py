"""Robustness: in how many samples of the uncertain inputs a design is on the front, and why.

First-order Sobol indices rank the inputs, and scenario discovery finds a box of samples in which a
design fails. Both use samples that are known: no model runs again. The same indices rank the
variables of a table, which has no models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions, Reduction, count_scenarios
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import is_nondominated, scale_front
from dse.evaluate.input_variation import without_samples
from dse.evaluate.samples import count_samples
from dse.evaluate.space import Choice, Points
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Array
from dse.model.section import Bars, Section, Table
from dse.model.values import json_value, plural, show, show_percent, word_name
from dse.result.record import Result
from dse.study.study import ResolvedStudy

FRONT, NEAR = 300, 200
"""Designs of the front, and next to it, that are compared if inputs are uncertain."""
_HELD = 1 << 21  # designs times samples that are held at once
_ROWS = 1 << 22  # designs times scenarios that are evaluated at once
_MIN_INDEX = 0.1  # of the variance: smaller fractions are not shown
_BINS, _MIN_BIN = 16, 8  # bins of the samples, and samples in a bin
_PEEL = 0.1  # fraction of the samples in a box that one cut removes
_SUPPORT = 0.05  # fraction of all samples that a box has at least
_PURE = 0.98  # a box is not cut further if this fraction of its samples fails
_PASTE = 0.02  # by which a side must raise the fraction that fails, or it is left out
_DECADE = 10.0  # ratio of positive values above which their logarithm is ranked
_SHOWN = 12  # designs and inputs in the section


# Sobol indices --------------------------------------------------------------------------------


def sobol_indices(inputs: Mapping[str, Array], values: Array) -> dict[str, float]:
    """Return the first-order Sobol index of each input: its own fraction of the variance.

    The index (Sobol 1993) is estimated from the samples themselves, by an analysis of variance:
    samples are grouped along the input, and the variance between the means of groups, less the
    part of chance, is compared with the whole. Samples without a finite value are left out. The
    largest index comes first; there is none if the values do not vary.
    """
    known = np.isfinite(values)
    y = values[known]
    bins = int(min(_BINS, len(y) // _MIN_BIN))
    if bins < 2 or not np.ptp(y) > 1e-12 * np.abs(y).max():
        return {}
    y = (y - y.mean()) / np.abs(y - y.mean()).max()  # squares then neither overflow nor vanish
    indices = {name: _index(x[known], y, bins) for name, x in inputs.items()}
    return dict(sorted(indices.items(), key=lambda item: -item[1]))


def _index(x: Array, y: Array, bins: int) -> float:
    """Return the index of one input: few values are groups, else bins of equal size are."""
    groups, distinct = pd.factorize(x, sort=True, use_na_sentinel=False)
    if len(distinct) > bins:
        groups = np.argsort(np.argsort(x, kind="stable")) * bins // len(x)
    sizes = np.bincount(groups)
    count = len(sizes)
    if count < 2:
        return 0.0
    means = np.bincount(groups, y) / sizes
    within = ((y - means[groups]) ** 2).sum() / (len(y) - count)
    between = (sizes * (means - y.mean()) ** 2).sum()
    explained = max(0.0, (between - (count - 1) * within) / len(y))
    return float(explained / (explained + within)) if explained else 0.0


def rank_table_variables(evaluator: Evaluator) -> dict[str, dict[str, float]]:
    """Return for each objective of a table the Sobol indices of its variables.

    A positive objective that spans more than a decade is ranked by its logarithm. Empty for a study
    with models.
    """
    space = evaluator.space
    if not isinstance(space, TableSpace):
        return {}
    inputs = {
        name: pd.factorize(space.texts[name])[0].astype(np.float64)
        if isinstance(variable, Choice)
        else space.numbers[name]
        for name, variable in space.variables.items()
    }
    ranking = {}
    for objective in evaluator.objectives:
        values = space.numbers[objective.quantity]
        finite = values[np.isfinite(values)]
        if finite.size and finite.min() > 0 and finite.max() > _DECADE * finite.min():
            values = np.log(values)
        ranking[objective.name] = sobol_indices(inputs, values)
    return ranking


# Scenario discovery ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One side of a box: an input is at least `low` and at most `high`; infinite if it is open."""

    input: str
    unit: str
    low: float
    high: float

    def __str__(self) -> str:
        name, low, high = (
            word_name(self.input),
            show(self.low, self.unit),
            show(self.high, self.unit),
        )
        if np.isinf(self.high):
            return f"{name} above {low}"
        return f"{name} below {high}" if np.isinf(self.low) else f"{name} {low} to {high}"


@dataclass(frozen=True)
class Box:
    """Where something fails: a few inputs, each between two numbers."""

    sides: tuple[Side, ...]  # the inputs that matter
    density: float  # the fraction of the samples in the box that fail
    coverage: float  # the fraction of all that fail that is in it


def find_failure_box(
    inputs: Mapping[str, tuple[str, Array]], fails: NDArray[np.bool_]
) -> Box | None:
    """Return a box of the inputs in which most samples fail; None if none or all of them do.

    Found by peeling (PRIM; Friedman and Fisher 1999): the end of one input whose removal raises
    the share that fails most is cut off, a tenth of the samples at a time; then each side without
    which the share is as high is left out. `inputs` are the unit and the values of each.
    """
    if not fails.any() or fails.all():
        return None
    table = {name: values for name, (_, values) in inputs.items() if np.ptp(values) > 0}
    ends = {name: [-np.inf, np.inf] for name in table}
    least = max(2, int(np.ceil(_SUPPORT * len(fails))))
    while True:
        inside = _inside(table, ends)
        if fails[inside].mean() >= _PURE:
            break
        cut = _best_cut(table, fails, inside, least)
        if cut is None:
            break
        name, side, end = cut
        ends[name][side] = end
    kept = _pasted(table, ends, fails)
    inside = _inside(table, kept)
    sides = tuple(Side(n, inputs[n][0], low, high) for n, (low, high) in kept.items())
    if not sides:
        return None
    return Box(sides, float(fails[inside].mean()), float(fails[inside].sum() / fails.sum()))


def _inside(table: Mapping[str, Array], ends: Mapping[str, list[float]]) -> NDArray[np.bool_]:
    found = np.ones(len(next(iter(table.values()))), dtype=bool)
    for name, (low, high) in ends.items():
        found &= (table[name] >= low) & (table[name] <= high)
    return found


def _best_cut(
    table: Mapping[str, Array], fails: NDArray[np.bool_], inside: NDArray[np.bool_], least: int
) -> tuple[str, int, float] | None:
    """Return the input, the side and the new end that raise the share that fails most."""
    best, found = float(fails[inside].mean()), None
    for name, values in table.items():
        here = np.sort(values[inside])
        drop = max(1, int(_PEEL * len(here)))
        if len(here) - drop < least:
            continue
        for side, end in ((0, here[drop]), (1, here[-drop - 1])):
            left = inside & ((values >= end) if side == 0 else (values <= end))
            if left.sum() >= least and left.sum() < inside.sum():
                share = float(fails[left].mean())
                if share > best:
                    best, found = share, (name, side, float(end))
    return found


def _pasted(
    table: Mapping[str, Array], ends: Mapping[str, list[float]], fails: NDArray[np.bool_]
) -> dict[str, list[float]]:
    """Return the sides that matter."""
    kept = {name: list(each) for name, each in ends.items()}
    for name in list(kept):
        for side, open_ in ((0, -np.inf), (1, np.inf)):
            if not np.isinf(kept[name][side]):
                wider = {n: list(each) for n, each in kept.items()}
                wider[name][side] = open_
                share = fails[_inside(table, kept)].mean()
                if fails[_inside(table, wider)].mean() >= share - _PASTE:
                    kept = wider
    return {n: each for n, each in kept.items() if not np.isinf(each).all()}


# Robustness of designs ----------------------------------------------------------------------


@dataclass(frozen=True)
class DesignRobustness:
    """The robustness of one design.

    The verdict is "certainly", "possibly" or "never": whether the design is on the front in all
    samples, corners of intervals included, in some or in none. The regret in an objective is the
    fraction by which it is worse, in the worst sample, than a design that is no worse in any other
    objective; it is infinite if the design is infeasible in a sample.
    """

    samples: int  # without the corners of intervals
    chance: float  # the fraction of them in which the design is feasible and on the front
    verdict: str
    interval: bool  # whether all that is uncertain is intervals: a fraction is then no chance
    regrets: Mapping[str, float]
    of: str  # what indices explain: the objective that varies most; "" for being on the front
    indices: Mapping[str, float]  # the first-order Sobol index of each uncertain input
    fails: Box | None  # where the design is not feasible and on the front

    @property
    def fields(self) -> dict[str, str]:
        """Its texts by label: how often it is on the front, what decides, and where it fails."""
        name, index = next(iter(self.indices.items()), ("", 0.0))
        part = "all" if self.chance == 1.0 else "none" if not self.chance else _percent(self.chance)
        on_front = f"on the front in {part} of {self.samples:,} samples"
        decided = (
            f"{_percent(index)} by {word_name(name)}"
            if index >= _MIN_INDEX
            else "by no single input"
        )
        what = f"{word_name(self.of)} decided" if self.of else "decided"
        fails = ""
        if self.fails is not None:
            sides = ", ".join(map(str, self.fails.sides))
            density, coverage = _percent(self.fails.density), _percent(self.fails.coverage)
            fails = f"{sides} ({density} of these samples, {coverage} of all that fail)"
        fields = {
            "robust": f"{self.verdict} {on_front}" if self.interval else on_front,
            what: decided if name else "",
            "fails if": fails,
        }
        return {label: text for label, text in fields.items() if text}


def _percent(fraction: float) -> str:
    return show_percent(fraction, digits=2)


@dataclass(frozen=True)
class Robustness:
    """The robustness of designs, by number, that are compared with each other in every sample."""

    designs: Mapping[int, DesignRobustness] = field(default_factory=dict)
    samples: int = 0  # of the uncertain inputs, corners of intervals included


def assess_robustness(
    study: ResolvedStudy, result: Result, numbers: Sequence[int] = (), points: Points | None = None
) -> Robustness:
    """Return how far the designs of a front hold, those near it, and some others by number.

    The result knows their `points` if they are not given.

    Raises
    ------
    ModelError
        If a model raises.
    """
    uncertainty, evaluator = study.uncertainty, study.evaluator
    if not uncertainty.sources or not len(result.front):
        return Robustness()
    space = evaluator.space
    others = [n for n in select_candidates(result, uncertainty.samples) if n not in set(numbers)]
    if points is None:
        others, numbers = list(dict.fromkeys([*numbers, *others])), []
    rows = result.designs.loc[others]
    whole = space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    if points is not None:
        whole = {n: np.concatenate([points[n], values]) for n, values in whole.items()}
    every = [*numbers, *others]
    values, holds = evaluate_samples(evaluator, space.columns(whole), len(every))
    on_front = _on_front(values * evaluator.signs, holds)
    regrets = _regrets(values * evaluator.signs, holds, on_front)
    inputs = {n: (unit, v[uncertainty.corners :]) for n, (unit, v) in uncertainty.inputs.items()}
    designs = {}
    for k, number in enumerate(every):
        mine, sampled = on_front[:, k], on_front[uncertainty.corners :, k]
        designs[int(number)] = DesignRobustness(
            samples=uncertainty.samples - uncertainty.corners,
            chance=float(sampled.mean()),
            verdict="certainly" if mine.all() else "possibly" if mine.any() else "never",
            interval=uncertainty.intervals,
            regrets={o.name: float(regrets[k, i]) for i, o in enumerate(evaluator.objectives)},
            **_decided(evaluator, inputs, values[uncertainty.corners :, k], sampled),
        )
    return Robustness(designs, uncertainty.samples)


def select_candidates(result: Result, samples: int) -> list[int]:
    """Return all designs on and near the front, or the Nash, best and an even sample."""
    most = max(8, _HELD // max(samples, 1))
    front = result.front
    every = front.designs.index.to_numpy()
    few = min(FRONT, most)
    spread = every[np.unique(np.linspace(0, len(every) - 1, few).astype(int))]
    best = [front.nash().name, *(front.best(o.name).name for o in result.objectives)]
    chosen = list(dict.fromkeys(int(n) for n in (*best, *spread)))
    return chosen + _near(result, min(NEAR, most // 2))


def _near(result: Result, count: int) -> list[int]:
    """Return the feasible designs nearest to the front."""
    front = result.front
    designs = result.designs
    rows = designs[designs["feasible"].to_numpy(bool) & ~designs["on_front"].to_numpy(bool)]
    if not len(rows):
        return []
    signs = np.array([o.sign for o in result.objectives])
    values = rows[[o.name for o in result.objectives]].to_numpy(dtype=np.float64) * signs
    both, _ = scale_front(np.concatenate([front.points, values]), signs)
    ahead, behind = both[: len(front)], both[len(front) :]
    ahead = ahead[np.unique(np.linspace(0, len(ahead) - 1, FRONT).astype(int))]
    lacks = np.full(len(behind), -np.inf)
    for point in ahead:
        lacks = np.maximum(lacks, (behind - point).min(axis=1))
    return [int(n) for n in rows.index[np.argsort(lacks, kind="stable")[:count]]]


def evaluate_samples(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Return what designs are in each sample, scenarios of ``over`` made one number.

    Returns
    -------
    values : ndarray, shape (samples, designs, objectives)
        In the objectives' units.
    holds : ndarray of bool, shape (samples, designs)
        Whether the sample meets every constraint and every objective is a number.
    """
    step = max(1, _ROWS // evaluator.scenarios)
    parts = []
    for low in range(0, count, step):
        size = min(step, count - low)
        some = {n: v[low : low + size] if np.ndim(v) else v for n, v in columns.items()}
        parts.append(_in_samples(evaluator, some, size))
    values, holds = zip(*parts, strict=True)
    return np.concatenate(values, axis=1), np.concatenate(holds, axis=1)


def _in_samples(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> tuple[Array, NDArray[np.bool_]]:
    samples = max((count_samples(conditions) for _, conditions in evaluator.requests()), default=1)
    answers = iter(evaluator.model_graph.evaluate(evaluator.requests(), columns))
    values = np.empty((samples, count, len(evaluator.objectives)))
    for i, objective in enumerate(evaluator.objectives):
        reduction = without_samples(objective).reduction
        values[:, :, i] = _by_sample(next(answers), objective.conditions, reduction, samples, count)
    holds = np.asarray(~np.isnan(values).any(axis=2))
    with np.errstate(all="ignore"):
        for constraint in evaluator.constraints:
            given = {name: next(answers) for name in constraint.names}
            found = (
                constraint.relation.violation(given)
                if constraint.relation is not None
                else given[constraint.quantity]
            )
            reduction = without_samples(constraint).reduction
            found = _by_sample(found, constraint.conditions, reduction, samples, count)
            holds &= np.asarray(constraint.violation(found) <= 0)
    return values, holds


def _by_sample(
    answer: Any, conditions: Conditions, reduction: Reduction | None, samples: int, count: int
) -> Array:
    """Return one number for each sample and design: scenarios of ``over`` are reduced."""
    every = count_samples(conditions)
    each = count_scenarios(conditions) // every
    values = np.broadcast_to(np.asarray(answer, dtype=np.float64), (every * each, count))
    if reduction is not None:
        flat = values.reshape(every, each, count).swapaxes(0, 1).reshape(each, -1)
        values = reduction(flat).reshape(every, count)
    return np.broadcast_to(values, (samples, count))


def _on_front(points: Array, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return in which samples each design is feasible and not dominated."""
    found = np.zeros(holds.shape, dtype=bool)
    for sample, rows in enumerate(holds):
        found[sample, rows] = is_nondominated(points[sample, rows])
    return found


def _regrets(points: Array, holds: NDArray[np.bool_], on_front: NDArray[np.bool_]) -> Array:
    """Return the largest fraction by which each design is worse than needed.

    In an objective: than a design of that sample which is no worse in any other one. It is infinite
    if the design is infeasible in some sample.
    """
    count = points.shape[2]
    found = np.zeros(points.shape[1:])
    for sample, ahead in enumerate(on_front):
        rows = np.flatnonzero(holds[sample] & ~ahead)
        mine, best = points[sample][rows][:, None], points[sample][ahead][None]
        for i in range(count):
            others = [k for k in range(count) if k != i]
            rival = (best[..., others] <= mine[..., others]).all(axis=-1)
            with np.errstate(all="ignore"):
                lost = (mine[..., i] - best[..., i]) / np.abs(best[..., i])
            lost = np.where(rival, np.nan_to_num(lost, nan=np.inf), 0.0)
            found[rows, i] = np.maximum(found[rows, i], lost.max(axis=1, initial=0.0))
    found[~holds.all(axis=0)] = np.inf
    return found


def _decided(
    evaluator: Evaluator,
    inputs: Mapping[str, tuple[str, Array]],
    values: Array,
    on_front: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return what decides on one design, and where it fails; the fields of `DesignRobustness`."""
    plain_inputs = {name: drawn for name, (_, drawn) in inputs.items()}
    fails = find_failure_box(inputs, ~on_front)
    if 0 < on_front.sum() < len(on_front):
        indices = sobol_indices(plain_inputs, on_front.astype(np.float64))
        return {"of": "", "indices": indices, "fails": fails}
    with np.errstate(all="ignore"):
        spread = np.std(values, axis=0) / np.abs(np.mean(values, axis=0))
    most = int(np.argmax(np.nan_to_num(spread, nan=-1.0, posinf=-1.0)))
    indices = sobol_indices(plain_inputs, values[:, most])
    return {"of": evaluator.objectives[most].name, "indices": indices, "fails": fails}


def robustness_data(found: Robustness) -> dict[str, Any]:
    """Return how far designs hold as plain values, for JSON; empty if nothing is uncertain."""
    if not found.designs:
        return {}
    designs = {str(number): asdict(holding) for number, holding in found.designs.items()}
    data: dict[str, Any] = json_value(designs)
    return {"uncertainty": {"samples": found.samples, "designs": data}}


_HOW = (
    "A design is robust in a sample if it meets every constraint there and no other design of the "
    "front or near it dominates it. The regret in an objective is the fraction by which it is "
    "worse, in its worst sample, than a design that is no worse in any other objective."
)
_INDEX_NOTE = (
    "First-order Sobol indices: the fraction of the variance that an input explains without others."
)


def robustness_section(found: Robustness, recommended: int | None) -> list[Section]:
    """Return the section on uncertain inputs; none if there are none."""
    if not found.designs:
        return []
    parts: list[Bars | Table] = []
    mine = None if recommended is None else found.designs.get(recommended)
    if mine is not None and mine.indices:
        what = f"the {word_name(mine.of)}" if mine.of else "the robustness"
        parts.append(
            _index_bars(f"Inputs that decide {what} of the recommended design", mine.indices)
        )
    ranked = sorted(found.designs.items(), key=lambda d: (d[0] != recommended, -d[1].chance))
    interval = any(design.interval for _, design in ranked)
    rows = [
        {"design": number, "robust in [%]": round(100 * design.chance, 1)}
        | ({"on the front": design.verdict} if interval else {})
        | {
            f"regret, {name} [%]": round(100 * regret, 1) if regret < 1e6 else "infeasible"
            for name, regret in design.regrets.items()
        }
        for number, design in ranked[:_SHOWN]
    ]
    note = "The recommended design is first."
    if len(ranked) > len(rows):
        note += f" summary.json has {plural(len(ranked) - len(rows), 'more design')}."
    parts.append(Table("The most robust designs", pd.DataFrame(rows), note))
    return [Section("Robustness under uncertain inputs", _HOW, parts)]


def _index_bars(title: str, indices: Mapping[str, float]) -> Bars:
    some = dict(list(indices.items())[:_SHOWN])
    values = [100.0 * index for index in some.values()]
    names = [word_name(name) for name in some]
    return Bars(title, names, [("index", values)], "of the variance [%]", note=_INDEX_NOTE)


def ranking_section(ranking: Mapping[str, Mapping[str, float]]) -> list[Section]:
    """Return the section that ranks the variables of a table; none without a ranking."""
    bars = [_index_bars(name, indices) for name, indices in ranking.items() if indices]
    words = "Variables that change together in the table share their fraction."
    return [Section("Variables that decide the objectives", words, bars)] if bars else []
