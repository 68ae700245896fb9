"""The common part of all searches: settings, plan, progress, and the table of methods.

A search method is one module and a line in `METHODS`. The module has what `Method` names.
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
from dse.search.judges import Judges
from dse.search.outcome import Outcome, Tolerance
from dse.search.workers import ALONE, NEVER, Workers

METHODS: Mapping[str, str] = {
    "exhaustive": "dse.search.exhaustive",
    "bound": "dse.search.bound.search",
    "evolution": "dse.search.evolution",
    "guided": "dse.search.guided",
    "NSGAIISampler": "dse.search.samplers",
    "NSGAIIISampler": "dse.search.samplers",
    "TPESampler": "dse.search.samplers",
    "GPSampler": "dse.search.samplers",
    "RandomSampler": "dse.search.samplers",
    "QMCSampler": "dse.search.samplers",
}
"""What each method is called, and its module: imported when a study asks for it, as some are slow
to import."""


UNLIMITED = 2**62
"""Evaluations of a search that ends by itself."""


@dataclass(frozen=True)
class Settings:
    """The settings of a study for its search; the plan replaces None.

    Parameters
    ----------
    method : str
        ``"auto"`` or a method's name.
    evaluations, generation : int or None
        Designs to evaluate at most, and together.
    seed : int
        Of everything random.
    timeout : float or None
        Seconds after which the run ends.
    options : mapping
        The method's own.
    tolerance : float
        The fraction by which a front may miss the best in each objective; 0 for none.
    apart : mapping of str to Tolerance
        Of objectives with their own tolerance.
    floor : mapping of str to float
        By objective, the value below which the tolerance is a fraction of this value.
    """

    method: str = "auto"
    evaluations: int | None = None
    seed: int = 0
    generation: int | None = None
    timeout: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    apart: Mapping[str, Tolerance] = field(default_factory=dict)
    floor: Mapping[str, float] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether the front may miss nothing."""
        return not self.tolerance and not any(map(any, self.apart.values()))

    def planned(self, method: str, evaluations: int, generation: int = 1) -> Plan:
        """Return the plan of a method that these settings ask for."""
        return Plan(
            method,
            evaluations,
            generation,
            self.seed,
            self.timeout,
            self.options,
            self.tolerance,
            self.floor,
            apart=self.apart,
        )


@dataclass(frozen=True)
class Plan:
    """How a space is searched.

    Parameters
    ----------
    method : str
        A name of `METHODS`.
    evaluations : int
        How many designs are evaluated; draws of a sampler, which may repeat designs.
    generation : int
        How many together.
    seed : int
        Of everything random.
    timeout : float or None
        Seconds after which the run ends.
    options : mapping
        The method's own.
    tolerance : float
        The fraction by which the front may miss the best in each objective.
    floor : mapping of str to float
        By objective, the value below which the tolerance is a fraction of this value.
    reason : str
        Why this method was chosen, if nobody named one.
    apart : mapping of str to Tolerance
        Of objectives with their own tolerance.
    guided : Settings or None
        What a guided search gets in its place if models turn out to be costly; None if the study
        asks for this one.
    """

    method: str
    evaluations: int
    generation: int
    seed: int
    timeout: float | None
    options: Mapping[str, Any]
    tolerance: float = 0.0
    floor: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    apart: Mapping[str, Tolerance] = field(default_factory=dict)
    guided: Settings | None = None

    def tolerances(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return the share and the amount of each objective."""
        every = [self.apart.get(name, Tolerance(self.tolerance)) for name in names]
        shares, amounts = np.array(every, dtype=np.float64).reshape(-1, 2).T
        return shares, amounts


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Parameters
    ----------
    done, total : int
        Designs evaluated, and to evaluate; draws of a sampler.
    front : int
        Non-dominated designs so far; of a large front a recent figure.
    repeats : int
        How many of those done were designs that had been evaluated before.
    kept : int
        Designs that the search holds: the result has as many, or fewer.
    bounded : int
        Designs evaluated and boxes bounded, by a search by bounds.
    """

    done: int
    total: int
    front: int
    repeats: int = 0
    kept: int = 0
    bounded: int = 0

    @property
    def work(self) -> int:
        """Return the amount of work done, which checkpoints follow."""
        return self.bounded or self.done


class Trials(Protocol):
    """A storage as a sampler sees it: finished trials, in order, in the sampler's own terms."""

    def trials(self) -> Sequence[Any]:
        """Return the finished trials."""

    def append(self, trials: Sequence[Any], state: Mapping[str, Any] | None = None) -> None:
        """Write finished trials in one transaction, and what `state` is to return from now on."""

    def state(self) -> dict[str, Any]:
        """Return what a sampler noted of the study itself."""


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
        """Return how far it is."""

    def earlier(self) -> Progress:
        """Return how far it was when it began to work: what earlier sessions have done."""

    def outcome(self) -> Outcome:
        """Return what it has found so far, and what its certificate says."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which to continue; nothing if the storage has them."""


@dataclass(frozen=True)
class Start:
    """The start of a search: its study, workers and state.

    Parameters
    ----------
    evaluator : Evaluator
        What judges designs.
    plan : Plan
        Of the method itself.
    chunk : int
        Designs evaluated at once.
    workers : Workers
        Who evaluates.
    state : mapping of str to ndarray
        What an earlier `Search.state` returned; empty on a first run.
    trials : Trials, optional
        The storage, for a method that writes designs there as it goes.
    """

    evaluator: Evaluator
    plan: Plan
    chunk: int = 65_536
    workers: Workers = ALONE
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    trials: Trials | None = None

    def judges(self) -> Judges:
        """Return who judges the batches of the search."""
        return Judges(self.evaluator, self.workers, self.chunk)


class Method(Protocol):
    """A search method: the functions of a module of `METHODS`."""

    def plan(
        self,
        method: str,
        settings: Settings,
        space: Space,
        objectives: int,
        problems: list[Problem],
    ) -> Plan:
        """Check what a study asks for, add what is wrong to `problems`, and return the plan."""

    def start(self, begun: Start) -> Search:
        """Return the search, at the point where a checkpoint or the storage left it."""


def no_options(method: str, settings: Settings, remedy: str, problems: list[Problem]) -> None:
    """Add a problem if options are given to a method that has none."""
    if settings.options:
        problems.append(Problem("search.options", f"{method} has no options", remedy))


def method_of(name: str) -> Method:
    """Return a search method by its name in `METHODS`."""
    return cast("Method", import_module(METHODS[name]))
