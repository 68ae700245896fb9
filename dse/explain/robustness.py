"""Robustness: in how many samples of the uncertain inputs a design is on the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions, Reduction, scenarios
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import is_nondominated, scaled
from dse.evaluate.input_ranges import without_samples
from dse.evaluate.samples import sample_count
from dse.evaluate.space import Points
from dse.explain.discovery import Box, find_failure_box, sobol_indices
from dse.model.quantity import Array
from dse.model.section import Bars, Section, Table
from dse.model.values import as_data, percent, plural, show, worded
from dse.result.record import Result
from dse.study.study import ResolvedStudy

FRONT, NEAR = 300, 200
"""Designs of the front, and next to it, that are compared if inputs are uncertain."""
_HELD = 1 << 21  # designs times samples that are held at once
_ROWS = 1 << 22  # designs times scenarios that are evaluated at once
_MUCH = 0.1  # of the variance: smaller fractions are not shown


@dataclass(frozen=True)
class Holding:
    """How far one design holds.

    Parameters
    ----------
    samples : int
        The number of samples without the corners of intervals.
    chance : float
        The share of them in which the design is feasible and no other is better.
    verdict : {"certainly", "possibly", "never"}
        Whether it is on the front in all samples, corners included, in some or in none.
    interval : bool
        Whether all that is uncertain is intervals: a fraction of samples is then no chance.
    regrets : mapping of str to float
        By objective: the fraction by which it is worse, in the worst sample, than a
        design that is no worse in any other; infinite if it is infeasible in a sample.
    of : str
        What the shares explain: ``"whether it holds"``, or the objective that varies most.
    shares : mapping of str to float
        By uncertain input: the share of the variance that it explains without others.
    fails : Box or None
        Where the design does not hold.
    """

    samples: int
    chance: float
    verdict: str
    interval: bool
    regrets: Mapping[str, float]
    of: str
    shares: Mapping[str, float]
    fails: Box | None

    def sentence(self, subject: str = "The design") -> str:
        """Return the same in a sentence."""
        each = f"{self.samples:,} samples"
        part = "all" if self.chance == 1.0 else f"{percent(self.chance, digits=2)} of"
        where = f"{part} {each}"
        said = f"{subject} is valid and on the front in {where}"
        if self.chance == 0.0:
            said = f"{subject} is valid and on the front in none of {each}"
        if self.interval:
            said = f"{subject} is {self.verdict} on the front: it is valid and on it in {where}"
        return f"{said}{self._decided()}."

    def _decided(self) -> str:
        """Return what decides, as the second half of a sentence."""
        name, share = next(iter(self.shares.items()), ("", 0.0))
        if not name:
            return ""
        what = "it" if self.of == "whether it holds" else f"its {worded(self.of)}"
        if share < _MUCH:
            return f"; no single input decides {what}"
        return f"; {worded(name)} decides {percent(share, digits=2)} of {what}"

    def where(self) -> str:
        """Return where it does not hold, in a sentence; empty if that is nowhere or not known."""
        if self.fails is None:
            return ""
        sides = " and ".join(_side(s.input, s.unit, s.low, s.high) for s in self.fails.sides)
        return (
            f"It fails mostly if {sides}: "
            f"in {percent(self.fails.density, digits=2)} of the samples there, "
            f"which are {percent(self.fails.coverage, digits=2)} of all samples in which it fails."
        )


def _side(name: str, unit: str, low: float, high: float) -> str:
    if np.isinf(high):
        return f"{worded(name)} is above {show(low, unit)}"
    if np.isinf(low):
        return f"{worded(name)} is below {show(high, unit)}"
    return f"{worded(name)} is between {show(low, unit)} and {show(high, unit)}"


@dataclass(frozen=True)
class Robustness:
    """The robustness of designs that are compared with each other in every sample.

    Parameters
    ----------
    designs : mapping of int to Holding
        By number: designs of the front, designs near it, and designs that the user named.
    samples : int
        Of the uncertain inputs, corners of intervals included.
    """

    designs: Mapping[int, Holding] = field(default_factory=dict)
    samples: int = 0


def assess_robustness(
    study: ResolvedStudy, result: Result, numbers: Sequence[int] = (), points: Points | None = None
) -> Robustness:
    """Return how far the designs of a front hold, those near it, and some others.

    Parameters
    ----------
    numbers : sequence of int
        Designs that were asked for.
    points : Points, optional
        What they are; looked up in the result if it is not given.

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
    found = {}
    for k, number in enumerate(every):
        found[int(number)] = Holding(
            samples=uncertainty.samples - uncertainty.corners,
            chance=float(on_front[uncertainty.corners :, k].mean()),
            verdict=_verdict(on_front[:, k]),
            interval=uncertainty.intervals,
            regrets={o.name: float(regrets[k, i]) for i, o in enumerate(evaluator.objectives)},
            **_decided(
                evaluator,
                inputs,
                values[uncertainty.corners :, k],
                on_front[uncertainty.corners :, k],
            ),
        )
    return Robustness(found, uncertainty.samples)


def _verdict(on_front: NDArray[np.bool_]) -> str:
    return "certainly" if on_front.all() else "possibly" if on_front.any() else "never"


def select_candidates(result: Result, samples: int) -> list[int]:
    """Return all designs on and near the front, or the compromise, best and an even sample."""
    most = max(8, _HELD // max(samples, 1))
    front = result.front
    every = front.designs.index.to_numpy()
    few = min(FRONT, most)
    spread = every[np.unique(np.linspace(0, len(every) - 1, few).astype(int))]
    best = [front.compromise().name, *(front.best(o.name).name for o in result.objectives)]
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
    both, _ = scaled(np.concatenate([front.points, values]), signs)
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
    samples = max((sample_count(conditions) for _, conditions in evaluator.requests()), default=1)
    answers = iter(evaluator.wiring.evaluate(evaluator.requests(), columns))
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
    every = sample_count(conditions)
    each = scenarios(conditions) // every
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
    """Return what decides on one design, and where it fails; the fields of `Holding`."""
    plain_inputs = {name: drawn for name, (_, drawn) in inputs.items()}
    fails = find_failure_box(inputs, ~on_front)
    if 0 < on_front.sum() < len(on_front):
        found = sobol_indices(plain_inputs, on_front.astype(np.float64))
        return {"of": "whether it holds", "shares": found, "fails": fails}
    with np.errstate(all="ignore"):
        spread = np.std(values, axis=0) / np.abs(np.mean(values, axis=0))
    most = int(np.argmax(np.nan_to_num(spread, nan=-1.0, posinf=-1.0)))
    found = sobol_indices(plain_inputs, values[:, most])
    return {"of": evaluator.objectives[most].name, "shares": found, "fails": fails}


def robustness_data(found: Robustness) -> dict[str, Any]:
    """Return how far designs hold as plain values, for JSON; empty if nothing is uncertain."""
    if not found.designs:
        return {}
    designs = {str(number): asdict(holding) for number, holding in found.designs.items()}
    data: dict[str, Any] = as_data(designs)
    return {"uncertainty": {"samples": found.samples, "designs": data}}


TITLE = "If the inputs are not what you think"
_ROWS_UNCERTAIN_SECTION = 12  # designs and inputs shown
_HOW = (
    "A design is robust in a sample if it meets every constraint there and no other design of the "
    "front or near it dominates it. The regret in an objective is the fraction by which it is "
    "worse, in its worst sample, than a design that is no worse in any other objective."
)


def uncertain_section(found: Robustness, choice: int | None) -> list[Section]:
    """Return the section on uncertain inputs; none if there are none.

    Parameters
    ----------
    choice : int or None
        The design that is recommended, which must be one of the compared designs.
    """
    if not found.designs:
        return []
    words, parts = [], []
    mine = None if choice is None else found.designs.get(choice)
    if mine is not None:
        words.append(
            " ".join(s for s in (mine.sentence("The recommended design"), mine.where()) if s)
        )
        if mine.shares:
            parts.append(_bars(mine))
    words.append(_HOW)
    return [Section(TITLE, "\n\n".join(words), [*parts, _designs(found, choice)])]


def _bars(mine: Holding) -> Bars:
    some = dict(list(mine.shares.items())[:_ROWS_UNCERTAIN_SECTION])
    title = "Inputs that decide whether the recommended design is robust"
    if mine.of != "whether it holds":
        title = f"Inputs that decide the {worded(mine.of)} of the recommended design"
    names = [worded(name) for name in some]
    values = [100.0 * share for share in some.values()]
    note = "First-order Sobol indices; the rest to 100 % comes from interactions, or from chance."
    return Bars(title, names, [("share", values)], "share of the variance [%]", note=note)


def _designs(found: Robustness, choice: int | None) -> Table:
    ranked = sorted(found.designs.items(), key=lambda item: (item[0] != choice, -item[1].chance))
    interval = any(holding.interval for _, holding in ranked)
    rows = []
    for number, holding in ranked[:_ROWS_UNCERTAIN_SECTION]:
        row: dict[str, object] = {"design": number, "robust in [%]": round(100 * holding.chance, 1)}
        if interval:
            row["on the front"] = holding.verdict
        row |= {f"regret, {n} [%]": _share(share) for n, share in holding.regrets.items()}
        rows.append(row)
    more = len(ranked) - len(rows)
    note = (
        f"The choice first; {plural(more, 'more is', 'more are')} in summary.json."
        if more
        else "The choice first."
    )
    return Table("Designs that hold most often", pd.DataFrame(rows), note)


def _share(share: float) -> object:
    return round(100 * share, 1) if share < 1e6 else "fails"
