"""The common part of all searches: settings, progress, protocol, and the table of methods.

A search method is one module and a line in `METHODS`. The module has the functions of `Method`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.outcome import Outcome, Tolerance
from dse.search.workers import ALONE, NEVER, BatchEvaluator, Workers

METHODS: Mapping[str, str] = {
    "exhaustive": "dse.search.exhaustive",
    "bound": "dse.search.bound.search",
    "merge": "dse.search.portfolio.search",
    "evolution": "dse.search.evolution",
    "guided": "dse.search.guided",
    "NSGAIISampler": "dse.search.optuna_adapter",
    "NSGAIIISampler": "dse.search.optuna_adapter",
    "TPESampler": "dse.search.optuna_adapter",
    "GPSampler": "dse.search.optuna_adapter",
    "RandomSampler": "dse.search.optuna_adapter",
    "QMCSampler": "dse.search.optuna_adapter",
}
"""The module of each method. It is imported when a study uses it, as some are slow to import."""

UNLIMITED = 2**62
"""Evaluations of a search that ends by itself."""


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a search: as a study gives them, and then as the method completes them."""

    method: str = "auto"
    """A name of `METHODS`, or ``"auto"`` before a method is chosen."""
    evaluations: int = 0
    """Designs to evaluate at most; samples of a sampler, which may repeat designs. 0 before the
    method sets its default."""
    generation: int = 0
    """Designs evaluated together; 0 before the method sets its default."""
    seed: int = 0
    timeout: float | None = None
    """Seconds after which the search ends."""
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    """The fraction by which the front may miss the best in each objective; 0 for none."""
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    """Tolerances of single objectives; these replace `tolerance`."""
    reason: str = ""
    """Why this method was chosen, if the study names none."""
    guided: SearchSettings | None = None
    """The settings of a guided search that replaces this one if the models are slow; None if the
    study names a method."""
    bounded: SearchSettings | None = None
    """The settings of an exact search by bounds that replaces this one if a probe shows that it
    costs less; None if the study names a method or a limit, or if bounds are not known."""

    @property
    def key(self) -> str:
        """The name of the method in a checkpoint, from which a run goes on with it."""
        return f"{self.method}, exact" if self.method == "bound" and self.exact else self.method

    @property
    def exact(self) -> bool:
        """Whether the front may miss nothing."""
        return not self.tolerance and not any(map(any, self.tolerances.values()))

    def arrays_of_tolerances(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return the fraction and the amount of each objective."""
        rows = [self.tolerances.get(name, Tolerance(self.tolerance)) for name in names]
        fractions, amounts = np.array(rows, dtype=np.float64).reshape(-1, 2).T
        return fractions, amounts


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    done: int
    total: int
    """Designs evaluated, and to evaluate; samples of a sampler."""
    front: int
    """Non-dominated designs so far; of a large front a recent number."""
    repeats: int = 0
    """Samples whose design was evaluated before."""
    kept: int = 0
    """Designs that the search holds: the result has as many, or fewer."""
    bounded: int = 0
    """Designs evaluated and boxes bounded, by a search by bounds."""

    @property
    def work(self) -> int:
        """The amount of work done, which decides when a checkpoint is due."""
        return self.bounded or self.done


class Search(Protocol):
    """A search under way.

    A search has one frozen state. A step computes the next state and replaces the old one when it
    is complete. So an error of a model, Ctrl-C or SIGTERM at any point of a step leaves the state
    before the step; `progress`, `outcome` and `state` describe that one.
    """

    def steps(self, until: float = NEVER) -> Iterator[None]:
        """Work; yield after each step, and end early once `time.time` is beyond `until`.

        Raises
        ------
        DesignError
            If a model raises.
        """

    def progress(self) -> Progress:
        """Return how far the search is; before the first step, how far earlier sessions were."""

    def outcome(self) -> Outcome:
        """Return the designs found so far, and the statement of the certificate."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which to continue; nothing if the storage has them."""


@dataclass(frozen=True)
class Start:
    """The start of a search: its study, workers and state."""

    evaluator: Evaluator
    plan: SearchSettings
    """Completed by the method's `plan`."""
    chunk: int = 65_536
    """Designs evaluated at once, at most."""
    workers: Workers = ALONE
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The arrays of an earlier `Search.state`; empty on a first run."""
    trials: Any = None
    """The storage, for a method that writes designs there as it goes."""

    def batch_evaluator(self, keep_small: bool = False) -> BatchEvaluator:
        """Return the evaluator of the batches; see `BatchEvaluator` for `keep_small`."""
        return BatchEvaluator(self.evaluator, self.workers, self.chunk, keep_small)


class Method(Protocol):
    """A search method: the functions of a module of `METHODS`."""

    def plan(
        self, settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
    ) -> SearchSettings:
        """Return the settings with the method's defaults; add to `problems` what is wrong."""

    def start(self, setup: Start) -> Search:
        """Return the search, at the point where a checkpoint or the storage left it."""


def refuse_options(settings: SearchSettings, remedy: str, problems: list[Problem]) -> None:
    """Add a problem if options are given to a method that has none."""
    if settings.options:
        message = f"{settings.method} has no options"
        problems.append(Problem("search.options", message, remedy))


def find_method(name: str) -> Method:
    """Return a search method by its name in `METHODS`."""
    return cast("Method", import_module(METHODS[name]))
