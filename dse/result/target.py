"""The answer of a result to a target: the designs that meet it, and the best values of them."""

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
        The direction that is better.
    value : float
        The best value.
    design : int
        The design with this value: of several, the nearest to the best of every objective.
    equal : int
        The number of designs with this value.
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
    """Return in words how a tie is broken; nothing for one design.

    >>> tie_words(2)
    '; of the 2 designs with that, it is the nearest to the best of every objective at once'
    """
    if equal == 1:
        return ""
    nearest = "the nearest to the best of every objective at once"
    return f"; of the {equal:,} designs with that, it is {nearest}"


@dataclass(frozen=True)
class TargetAnswer:
    """The answer of a front to a target.

    Parameters
    ----------
    reach, least : str
        The target as written, and the objective to minimize.
    designs : tuple of int
        The designs of the front that meet it.
    best : tuple of Best
        The best value of each requested objective among these designs.
    nearest : tuple of Best
        If none meets it: the best value of each bounded objective among the designs that meet the
        other bounds, if there are any.
    words : tuple of str
        The same in sentences, with the reason if no design meets the target.
    """

    reach: str
    least: str
    designs: tuple[int, ...]
    best: tuple[Best, ...]
    nearest: tuple[Best, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> TargetAnswer:
        """Return an answer from JSON, in which a tuple is a list and an infinity a text."""

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
