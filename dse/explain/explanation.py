"""Bottlenecks: which input, improved, improves an objective, by how much, and where along an axis.

The rule is LogCA's (Altaf and Wood, LogCA, ISCA 2017, section 3.2), for any model: an input is a
bottleneck where a 10x improvement of it improves the objective by at least 20 %. Both are settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.model.quantity import Array


@dataclass(frozen=True)
class Sensitivity:
    """What improving one input does to one objective of one design.

    Parameters
    ----------
    objective : str
        Name of the objective.
    input, symbol, unit : str
        The input.
    value, improved : float
        The input before and after the improvement [unit].
    before, after : float
        The objective before and after.
    gain : float
        The factor by which the objective gets better (1 = not at all).
    bottleneck : bool
        Whether the gain reaches the threshold.
    """

    objective: str
    input: str
    symbol: str
    unit: str
    value: float
    improved: float
    before: float
    after: float
    gain: float
    bottleneck: bool


@dataclass(frozen=True)
class Part:
    """One additive part of an output of one design: where the time, or the area, goes.

    Parameters
    ----------
    objective : str
        The objective for whose conditions it was computed (``at``), or "" for none.
    total, name, unit : str
        The output, its part, and their unit.
    value, share : float
        The part [unit] and its share of the total in [0, 1].
    """

    objective: str
    total: str
    name: str
    unit: str
    value: float
    share: float


@dataclass(frozen=True)
class Span:
    """One interval of the axis on which an input is a bottleneck.

    Parameters
    ----------
    input, symbol : str
        The input.
    low, high : float
        The interval, in the axis's unit; the axis's own end where it is cut off there.
    low_exact, high_exact : bool
        Whether the end is a cut-off that was solved for, and not the end of the axis.
    """

    input: str
    symbol: str
    low: float
    high: float
    low_exact: bool
    high_exact: bool


@dataclass(frozen=True)
class Region:
    """An interval of the axis on which the same inputs are bottlenecks; label such as ``"oC"``."""

    low: float
    high: float
    inputs: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Regions:
    """The optimization regions of one design for one objective along one axis.

    Parameters
    ----------
    objective, axis, axis_unit, unit : str
        The objective, the swept input, and their units.
    factor, threshold : float
        The improvement of the inputs (10) and the gain that counts (0.2).
    grid, base : ndarray, shape (points,)
        The axis and the objective along it.
    improved : dict of str to ndarray, shape (points,)
        The objective with each input improved.
    spans : tuple of Span
        For each input, where it is a bottleneck.
    regions : tuple of Region
        The axis cut into regions, ascending.
    """

    objective: str
    axis: str
    axis_unit: str
    unit: str
    factor: float
    threshold: float
    grid: Array
    base: Array
    improved: dict[str, Array]
    spans: tuple[Span, ...]
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Line:
    """One quantity along a curve's axis.

    Parameters
    ----------
    quantity, unit, about : str
        What is drawn.
    values : ndarray, shape (points,)
        Along the axis.
    low, high : ndarray or None, shape (points,)
        An interval around it, where models give ``<quantity>_low`` and ``<quantity>_high``.
    """

    quantity: str
    unit: str
    about: str
    values: Array
    low: Array | None
    high: Array | None


@dataclass(frozen=True)
class Curve:
    """Quantities of one design along an axis: what the study's ``[[curve]]`` asks for.

    Parameters
    ----------
    name, axis, axis_unit, axis_about : str
        The title, and the swept input.
    here : float
        Where the design itself stands on the axis; NaN where it has no place there.
    grid : ndarray, shape (points,)
        The axis, ascending.
    log : bool
        Whether the axis is better drawn in the logarithm.
    lines : tuple of Line
        The quantities.
    """

    name: str
    axis: str
    axis_unit: str
    axis_about: str
    here: float
    grid: Array
    log: bool
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Explanation:
    """What limits one design, and what to change next.

    Parameters
    ----------
    design : int
        Its number.
    values : dict of str to Any
        Variables (option names and numbers), inputs and objectives, by column name.
    parts : tuple of Part
        Where the time and the area go.
    sensitivities : tuple of Sensitivity
        Every improvable input against every objective, best gain first.
    regions : tuple of Regions
        One for each objective that the study sweeps.
    curves : tuple of Curve
        One for each ``[[curve]]`` of the study.
    """

    design: int
    values: dict[str, Any]
    parts: tuple[Part, ...]
    sensitivities: tuple[Sensitivity, ...]
    regions: tuple[Regions, ...]
    curves: tuple[Curve, ...] = ()
