"""Results: tables underneath, thin frozen objects around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd


@dataclass(frozen=True)
class Objective:
    """One resolved objective.

    Parameters
    ----------
    name : str
        The column; the quantity's name where only one objective asks for it.
    quantity, unit, symbol, about : str
        The quantity.
    direction : {"maximize", "minimize"}
        Which way is better.
    condition : str
        Under which conditions, such as ``"at granularity = 1 KiB"``; empty for none.
    """

    name: str
    quantity: str
    direction: Literal["maximize", "minimize"]
    unit: str
    symbol: str
    about: str
    condition: str = ""


@dataclass(frozen=True)
class Column:
    """What a column of `StudyResult.designs` holds.

    Parameters
    ----------
    role : {"variable", "input", "objective", "constraint"}
        A variable of the space, an input that a chosen row sets, an objective or a constraint's
        quantity.
    """

    name: str
    unit: str
    about: str
    role: Literal["variable", "input", "objective", "constraint"]


@dataclass(frozen=True)
class Certificate:
    """How far the front is to be trusted.

    Parameters
    ----------
    complete : bool
        Whether every design of the space was evaluated: the front is then the whole Pareto front.
    method : str
        ``"exhaustive"``, or the search method.
    designs : int or None
        Size of the space; None where it is continuous.
    evaluated, feasible, non_dominated : int
        Counts of designs.
    statement : str
        The same in a sentence.
    stopped : str
        Why the search ended: ``"complete"``, ``"evaluations"``, ``"interrupted"``, ``"timeout"`` or
        the error.
    """

    complete: bool
    method: str
    designs: int | None
    evaluated: int
    feasible: int
    non_dominated: int
    statement: str
    stopped: str


@dataclass(frozen=True)
class StudyResult:
    """What a run found.

    Parameters
    ----------
    name, about : str
        The study's.
    objectives : tuple of Objective
        In the study's order.
    columns : mapping of str to Column
        What each column of `designs` holds, but for ``feasible`` and ``on_front``.
    designs : DataFrame
        One row a design, indexed by design number (``design``): variables, inputs that rows set,
        constrained quantities, objectives, ``feasible``, ``on_front``. All evaluated designs of a
        sampled run; of an exhaustive run the front and an even sample of the rest.
    certificate : Certificate
        How far to trust it.
    convergence : DataFrame
        ``evaluations``, ``front`` (size) and ``hypervolume`` (share of the final) as the run went.
    notes : tuple of str
        What a reader should know: knobs without effect, inputs that nothing uses.
    provenance : mapping
        Versions, seed, digest, times, what code was loaded.
    constants : mapping of str to (float, str)
        The inputs that are the same for all designs: value and unit.
    """

    name: str
    about: str
    objectives: tuple[Objective, ...]
    columns: Mapping[str, Column]
    designs: pd.DataFrame
    certificate: Certificate
    convergence: pd.DataFrame
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, tuple[float, str]] = field(default_factory=dict)
