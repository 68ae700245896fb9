"""The answer of a run in words: what to build, what it gives and costs, what to change first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dse.explain.chosen import NEAREST, RECOMMENDED, Chosen, choose
from dse.explain.founded import Founded
from dse.explain.sentences import (
    build_words,
    change_words,
    cut_words,
    gives_words,
    part_words,
    step_words,
    verdict_words,
    why_words,
)
from dse.explain.times import time_words
from dse.explain.verdict import Explanation
from dse.explain.worth import built_for
from dse.result.more import more
from dse.result.record import Result
from dse.study.study import ResolvedStudy


@dataclass(frozen=True)
class Recommendation:
    """One design in words; a sentence that has nothing to say is empty.

    Parameters
    ----------
    design : int
        Its number.
    role : str
        ``"recommended"``; ``"nearest"`` to what is asked for, if nothing pays or nothing reaches
        the target; or in what it is best, such as ``"highest speedup"``.
    build : str
        What to build: every variable; of a runner-up those that differ from the recommended design.
    gives : str
        Its objectives: what is maximized, and for what.
    why : str
        Why this design.
    time : str
        What half of its time goes to, and what would shorten that.
    change : str
        What to change first within the space: it leaves what the design is for as good as it is.
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
        How far the search came if it was cut short; whether the target is reached, and whether it
        pays, if a quantity of the study says from where on. Empty if all of the front does.
    pays : bool
        False if nothing on the front reaches the target and pays.
    designs : tuple of Recommendation
        The recommended design first, then runners-up; the nearest alone if nothing pays; none
        without a front.
    steps : tuple of str
        What a tenth more of each objective costs, from the recommended design.
    holds : str
        How far the recommended design holds if inputs are uncertain; empty if none is.
    rests : str
        How well the figures are founded that it rests on, and which to check before building.
    """

    verdict: str
    pays: bool
    designs: tuple[Recommendation, ...]
    steps: tuple[str, ...] = ()
    holds: str = ""
    rests: str = ""

    @property
    def short(self) -> tuple[str, ...]:
        """The verdict, and all that is said of the recommended design, for a terminal."""
        told = [self.verdict]
        if self.designs:
            best = self.designs[0]
            told += [*best.sentences, self.holds, self.rests]
        return tuple(each for each in told if each)

    def __str__(self) -> str:
        said = [self.verdict, *(" ".join(each.sentences) for each in self.designs)]
        said += [self.holds, self.rests]
        return "\n".join(each for each in said if each)


def answer_of(
    study: ResolvedStudy,
    result: Result,
    explanations: Sequence[Explanation] = (),
    founded: Founded | None = None,
) -> Answer:
    """Return the answer of a result.

    Parameters
    ----------
    explanations : sequence of Explanation
        Of some designs; where time goes and what to change is said of those alone.
    founded : Founded, optional
        Where the figures are from.
    """
    chosen = choose(study, result)
    if chosen is None:
        return Answer("No design is on the front: none that was evaluated is feasible.", False, ())
    known = {each.design: each for each in explanations}
    every = [_recommendation(study, result, chosen, chosen.design, chosen.role, known)]
    for number, role in chosen.others:
        every.append(_recommendation(study, result, chosen, number, role, known))
    steps = _steps(study, result, chosen) if chosen.role == RECOMMENDED else ()
    pays = chosen.role == RECOMMENDED
    mine = known.get(chosen.design)
    holds = mine.holding.sentence("The choice") if mine is not None and mine.holding else ""
    rests = founded.sentence() if founded is not None else ""
    verdict = " ".join(
        filter(None, (cut_words(result.certificate), verdict_words(study, result, chosen)))
    )
    return Answer(verdict, pays, tuple(every), steps, holds, rests)


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, for JSON."""
    return {"short": list(answer.short), **asdict(answer)}


def designs_of(study: ResolvedStudy, result: Result) -> list[int]:
    """Return the numbers of the designs that the answer names, the recommended one first."""
    chosen = choose(study, result)
    return [] if chosen is None else [chosen.design, *(number for number, _ in chosen.others)]


def _steps(study: ResolvedStudy, result: Result, chosen: Chosen) -> tuple[str, ...]:
    """Return what a tenth more costs, among the designs that are worth building."""
    steps = more(result, chosen.design, among=chosen.among)
    return tuple(
        step_words(study, result, chosen.design, step)
        for step in steps
        if step.design is not None or chosen.among.all()
    )


def _recommendation(
    study: ResolvedStudy,
    result: Result,
    chosen: Chosen,
    number: int,
    role: str,
    known: Mapping[int, Explanation],
) -> Recommendation:
    build = build_words(study, result, chosen, number, role)
    why = why_words(study, result, chosen) if number == chosen.design else ""
    gives = gives_words(result, number)
    explanation = known.get(number)
    if explanation is None:
        return Recommendation(number, role, build, gives, why)
    objective = chosen.role_objective(role) or built_for(study.evaluator, result.objectives)
    change = ""
    if role != NEAREST:  # what to change within the space does not make that pay either
        change = change_words(study, result, chosen, explanation, objective, role == RECOMMENDED)
    return Recommendation(
        design=number,
        role=role,
        build=build,
        gives=gives,
        why=why,
        time=" ".join(time_words(explanation.halves)),
        change=change,
        part=part_words(explanation, objective),
    )
