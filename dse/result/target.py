"""The answer to a target, as a result holds it: which designs reach it, and the least it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.model.amounts import amount
from dse.model.values import worded


@dataclass(frozen=True)
class Best:
    """The best value of an objective among some designs of the front.

    Parameters
    ----------
    objective, unit : str
        The objective and its unit.
    word : {"least", "most"}
        Which way is better.
    value : float
        The value.
    design : int
        The design that has it: of several, the nearest to the best of every objective.
    equal : int
        How many have it.
    """

    objective: str
    unit: str
    word: str
    value: float
    design: int
    equal: int = 1

    def __str__(self) -> str:
        value = amount(self.value, self.unit)
        told = f"{self.word} {worded(self.objective)} is {value}, of design {self.design}"
        return f"{told}{tie_words(self.equal)}"


def tie_words(equal: int) -> str:
    """Return how a tie is broken; nothing for one design.

    >>> tie_words(2)
    '; of the 2 designs with that, it is the nearest to the best of every objective at once'
    """
    if equal == 1:
        return ""
    nearest = "the nearest to the best of every objective at once"
    return f"; of the {equal:,} designs with that, it is {nearest}"


@dataclass(frozen=True)
class TargetAnswer:
    """What a front says to a target.

    Parameters
    ----------
    reach, least : str
        The target as written, and the objective of which as little as possible was asked.
    designs : tuple of int
        The designs of the front that reach it.
    best : tuple of Best
        The least of each objective that was asked for, among these.
    nearest : tuple of Best
        If none reaches it: of each bounded objective its best value, the other bounds kept if any
        design keeps them.
    words : tuple of str
        All of it in sentences, with what stands in the way.
    """

    reach: str
    least: str
    designs: tuple[int, ...]
    best: tuple[Best, ...]
    nearest: tuple[Best, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> TargetAnswer:
        """Return an answer from JSON, where a tuple is a list and an infinity a text."""

        def best(entries: Sequence[Mapping[str, Any]]) -> tuple[Best, ...]:
            return tuple(Best(**{**each, "value": float(each["value"])}) for each in entries)

        return cls(
            data["reach"],
            data["least"],
            tuple(data["designs"]),
            best(data["best"]),
            best(data["nearest"]),
            tuple(data["words"]),
        )
