"""The answer of a run in words: what to build, what it gives and costs, what to change first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import scaled
from dse.evaluate.objective import Objective
from dse.evaluate.wiring import Wiring
from dse.explain.advice import PART, SPACE, Advice, first, worth_of
from dse.explain.breakdown import Part, divisor
from dse.explain.verdict import Explanation
from dse.explain.words import amount, listed, plain, settings
from dse.model.quantity import Quantity
from dse.model.units import base
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_RUNNERS_UP = 3
_HALF = 0.5
RECOMMENDED, NEAREST = "recommended", "nearest"


@dataclass(frozen=True)
class Recommendation:
    """One design in words; a sentence that has nothing to say is empty.

    Parameters
    ----------
    design : int
        Its number.
    role : str
        ``"recommended"``, ``"nearest"`` to paying if nothing pays, or in what it is best, such as
        ``"highest speedup"``.
    build : str
        What to build: every variable; of a runner-up those that differ from the recommended design.
    gives : str
        Its objectives: what is maximized, and for what.
    why : str
        Why this design.
    time : str
        What half of its time goes to.
    change : str
        What to change first within the space.
    part : str
        The best part that the study leaves out.
    """

    design: int
    role: str
    build: str
    gives: str
    why: str = ""
    time: str = ""
    change: str = ""
    part: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said of it, in order."""
        every = (self.build, self.gives, self.why, self.time, self.change, self.part)
        return tuple(each for each in every if each)


@dataclass(frozen=True)
class Answer:
    """What a run answers.

    Parameters
    ----------
    verdict : str
        Whether it pays, if a quantity of the study says from where on; empty if all of the front
        does, or nothing says so.
    pays : bool
        False if nothing on the front pays.
    designs : tuple of Recommendation
        The recommended design first, then runners-up; the nearest alone if nothing pays; none
        without a front.
    """

    verdict: str
    pays: bool
    designs: tuple[Recommendation, ...]

    @property
    def short(self) -> tuple[str, ...]:
        """The verdict, and of the recommended design what a few lines hold, for a terminal."""
        told = [self.verdict]
        if self.designs:
            best = self.designs[0]
            told += [best.build, best.gives, best.change]
        return tuple(each for each in told if each)

    def __str__(self) -> str:
        said = [self.verdict, *(" ".join(each.sentences) for each in self.designs)]
        return "\n".join(each for each in said if each)


def answer_of(
    study: ResolvedStudy, result: Result, explanations: Sequence[Explanation] = ()
) -> Answer:
    """Return the answer of a result.

    Parameters
    ----------
    explanations : sequence of Explanation
        Of some designs; where time goes and what to change is said of those alone.
    """
    if not len(result.front):
        return Answer("No design is on the front: none that was evaluated is feasible.", False, ())
    known = {each.design: each for each in explanations}
    paying, verdict = _worth(study.evaluator, result)
    numbers = result.front.designs.index.to_numpy()
    row, why = _recommended(study.evaluator, result, paying)
    variables, pays = list(study.evaluator.space.variables), bool(paying.any())
    role = RECOMMENDED if pays else NEAREST
    chosen = _recommendation(study, result, int(numbers[row]), role, known, variables)
    if not pays:  # what to change within the space makes nothing pay either
        return Answer(verdict, False, (replace(chosen, why=why, change=""),))
    others = []
    for number, role in _runners_up(study.evaluator, result, row):
        names = _differ(study.evaluator, result, int(numbers[row]), number)
        others.append(_recommendation(study, result, number, role, known, names))
    return Answer(verdict, True, (replace(chosen, why=why), *others))


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, for JSON."""
    return {"short": list(answer.short), **asdict(answer)}


def designs_of(study: ResolvedStudy, result: Result) -> list[int]:
    """Return the numbers of the designs that the answer names, the recommended one first."""
    if not len(result.front):
        return []
    paying, _ = _worth(study.evaluator, result)
    row, _ = _recommended(study.evaluator, result, paying)
    others = _runners_up(study.evaluator, result, row) if paying.any() else []
    named = [number for number, _ in others]
    return [int(result.front.designs.index[row]), *named]


def _worth(evaluator: Evaluator, result: Result) -> tuple[NDArray[np.bool_], str]:
    """Return which designs of the front pay, and what is to be said of it."""
    front = result.front.designs
    for objective in result.objectives:
        worth = worth_of(evaluator, objective)
        if worth is not None:
            values = front[objective.name].to_numpy(np.float64)
            pays = values > worth
            return pays, _verdict(result, objective, worth, float(values.max()), pays)
    return np.ones(len(front), dtype=bool), ""


def _verdict(
    result: Result, objective: Objective, worth: float, best: float, pays: NDArray[np.bool_]
) -> str:
    name, floor = plain(objective.name), amount(worth, objective.unit)
    if not pays.any():
        where = "in this space" if result.certificate.complete else "that was found"
        return (
            f"Nothing {where} is worth building: the best {name} is "
            f"{amount(best, objective.unit)}, and it pays only above {floor}."
        )
    if pays.all():
        return ""
    count = int((~pays).sum())
    designs = "design does" if count == 1 else "designs do"
    return (
        f"Of the {len(pays):,} designs on the front, {count:,} {designs} not pay: "
        f"their {name} is not above {floor}."
    )


def _recommended(
    evaluator: Evaluator, result: Result, paying: NDArray[np.bool_]
) -> tuple[int, str]:
    """Return the row of the front to recommend, and why: the knee of what pays."""
    front, count = result.front, len(result.front)
    for objective in result.objectives:
        if not paying.any() and worth_of(evaluator, objective) is not None:
            values = front.designs[objective.name].to_numpy(np.float64)
            return int(values.argmax()), ""
    if count == 1:
        return 0, "It is the only design on the front: no other is better in anything."
    among = paying if paying.any() else np.ones(count, dtype=bool)
    signs = np.array([o.sign for o in result.objectives])
    unit, _ = scaled(front.points, signs)
    row = int(np.flatnonzero(among)[np.argmin((unit**2).sum(axis=1)[among])])
    if np.all(front.points[row] == front.points.min(axis=0)):
        return row, "It is best in every objective."
    if len(result.objectives) == 1:
        return row, ""
    of = f"the {count:,} designs on the front" if among.all() else f"the {among.sum():,} that pay"
    return row, f"Of {of} it is the nearest to the best of every objective at once."


def _runners_up(evaluator: Evaluator, result: Result, row: int) -> list[tuple[int, str]]:
    """Return the best design of each objective that differs in its variables, with its role."""
    front = result.front
    names = [n for n in evaluator.space.variables if n in front.designs]
    seen = {tuple(front.designs.iloc[row][names])}
    found: list[tuple[int, str]] = []
    for objective in result.objectives:
        best = front.best(objective.name)
        same = front.designs[objective.name].iloc[row] == best[objective.name]
        if same or tuple(best[names]) in seen:
            continue
        seen.add(tuple(best[names]))
        word = "highest" if objective.direction == "maximize" else "lowest"
        found.append((int(str(best.name)), f"{word} {plain(objective.name)}"))
    return found[:_RUNNERS_UP]


def _differ(evaluator: Evaluator, result: Result, one: int, other: int) -> list[str]:
    a, b = result.designs.loc[one], result.designs.loc[other]
    return [name for name in evaluator.space.variables if name in a and a[name] != b[name]]


def _recommendation(
    study: ResolvedStudy,
    result: Result,
    number: int,
    role: str,
    known: Mapping[int, Explanation],
    names: Sequence[str],
) -> Recommendation:
    evaluator = study.evaluator
    values: dict[str, Any] = {str(n): v for n, v in result.designs.loc[number].items()}
    shown = [n for n in names if n not in {o.quantity for o in result.objectives}] or names
    parts = ", ".join(settings(evaluator.space, evaluator.wiring.quantities, values, shown))
    if role == RECOMMENDED:
        build = f"Build design {number}: {parts}" if parts else f"Build design {number}"
    elif role == NEAREST:
        build = f"Nearest to it is design {number}" + (f": {parts}" if parts else "")
    else:
        build = f"{role[0].upper()}{role[1:]}: design {number}" + (
            f", with {parts}" if parts else ""
        )
    gives = _gives(result, {o.name: float(values[o.name]) for o in result.objectives})
    explanation = known.get(number)
    if explanation is None:
        return Recommendation(number, role, f"{build}.", gives)
    return Recommendation(
        design=number,
        role=role,
        build=f"{build}.",
        gives=gives,
        time=_time(evaluator, explanation.parts),
        change=_change(first(explanation.advice, SPACE), bool(explanation.advice)),
        part=_part(first(explanation.advice, PART)),
    )


def _gives(result: Result, values: Mapping[str, float]) -> str:
    """Return what is maximized, and for what."""
    told: dict[str, list[str]] = {"maximize": [], "minimize": []}
    for objective in result.objectives:
        condition = f" ({objective.condition})" if objective.condition else ""
        shown = amount(values[objective.name], objective.unit)
        told[objective.direction].append(f"{plain(objective.quantity)} {shown}{condition}")
    gains, prices = listed(told["maximize"]), listed(told["minimize"])
    if not gains or not prices:
        return f"It has {gains or prices}."
    return f"It gives {gains}, for {prices}."


def _time(evaluator: Evaluator, parts: Sequence[Part]) -> str:
    """Return what half of the time of each objective goes to that is made of time."""
    wiring = evaluator.wiring
    told: dict[str, str] = {}
    for objective in evaluator.objectives:
        total = divisor(wiring, objective.quantity) or objective.quantity
        shares: dict[str, float] = {}
        for part in parts:
            if part.total == total and _is_time(part.unit) and total not in told:
                shares[part.name] = shares.get(part.name, 0.0) + part.share
        if sum(shares.values()) > 0:
            told[total] = f"of its {plain(total)}, {_half(wiring, total, shares)}"
    said = "; ".join(told.values())
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _half(wiring: Wiring, total: str, shares: Mapping[str, float]) -> str:
    """Return the largest parts of a total, until they are half of it."""
    whole, said, told = sum(shares.values()), 0.0, []
    for name, share in sorted(shares.items(), key=lambda item: -item[1]):
        told.append(_share(name, total, share / whole, wiring.quantities[name]))
        said += share / whole
        if said >= _HALF:
            break
    return listed(told)


def _share(name: str, total: str, share: float, quantity: Quantity) -> str:
    """Return a part of a total: its share, its own words, and what it is."""
    common = {*total.split("_"), "time"}
    own = " ".join(word for word in name.split("_") if word not in common) or plain(name)
    return f"{100 * share:.0f} % is {own} ({quantity.about})"


def _is_time(unit: str) -> bool:
    _, dimension = base(unit)
    return unit == "cycle" or dimension == {"[time]": 1}


def _change(item: Advice | None, any_part: bool) -> str:
    if item is None:
        return "No change of one variable improves anything." if any_part else ""
    if item.trade > 0:
        return f"To change first: {item}."
    return f"No single change gains more than it costs; the best trade: {item}."


def _part(item: Advice | None) -> str:
    return "" if item is None else f"Another part: {item}."
