"""What every search shares: what a study asks for, what is planned, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """What a study asks of its search; None leaves it to the plan.

    Parameters
    ----------
    method : str
        ``"auto"`` or a method's name.
    evaluations, generation : int or None
        Designs to evaluate at most, and together.
    seed : int
        Of everything random.
    timeout : float or None
        Seconds after which the search stops.
    options : mapping
        The method's own.
    """

    method: str = "auto"
    evaluations: int | None = None
    seed: int = 0
    generation: int | None = None
    timeout: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How a space is searched.

    Parameters
    ----------
    method : str
        ``"exhaustive"``, ``"evolution"`` or the class name of an Optuna sampler.
    evaluations : int
        How many designs are evaluated.
    generation : int
        How many together.
    seed : int
        Of everything random.
    timeout : float or None
        Seconds after which the search stops.
    options : mapping
        The sampler's own.
    """

    method: str
    evaluations: int
    generation: int
    seed: int
    timeout: float | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Parameters
    ----------
    done, total : int
        Designs evaluated, and to evaluate.
    front : int
        Non-dominated designs so far.
    """

    done: int
    total: int
    front: int
