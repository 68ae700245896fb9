"""Uncertain inputs, read where they stand; `drawing` draws them once all are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.evaluate.conditions import Reduction
from dse.evaluate.laws import Kind, Law
from dse.evaluate.samples import (
    SAMPLE,
    Middle,
    Source,
)
from dse.evaluate.samples import Together as Fitted
from dse.evaluate.wiring import Wiring
from dse.problems import nearest
from dse.study.catalog import Together
from dse.study.resolve.context import Context, declarations, shown
from dse.study.uncertain import LAWS, UncertainTable

_CUT = 0.01  # of a law outside the domain, from which on it is told
_WITH = {"normal": "deviation", "lognormal": "factor"}


def read_figure(
    ctx: Context, wiring: Wiring, where: str, name: str, given: Any, clock: float | None
) -> float | None:
    """Read a number that may be uncertain: then its middle, and the law is kept in mind.

    Returns
    -------
    float or None
        A `Middle` for an uncertain one; None, and a problem, if it cannot be.
    """
    if not isinstance(given, UncertainTable):
        return ctx.value(wiring, where, name, given, clock)
    before = len(ctx.problems)
    law = _law(ctx, wiring, where, name, given, clock)
    if law is None or len(ctx.problems) > before:
        ctx.doubtful.add(name)
        return None
    label = _label(where, name)
    unit = wiring.quantities[name].unit
    told = in_words(given)
    ctx.uncertain[where] = Source(where, (label,), (unit,), law, told)
    if law.cut_off > _CUT:
        ctx.notes.append(f"{where}: {law.cut_off:.0%} of {told} is outside the domain, and cut off")
    return Middle.at(law.middle, where)


def read_together(
    ctx: Context, wiring: Wiring, where: str, given: Together, values: dict[str, float]
) -> None:
    """Put middles in the place of figures that vary together, and keep in mind how they do.

    Parameters
    ----------
    where : str
        The place of the row.
    values : dict of str to float
        The figures of the row that models take, in base units.
    """
    some = [i for i, name in enumerate(given.of) if _varies(wiring, given, name, values)]
    if not some:
        return
    names = [given.of[i] for i in some]
    law = Fitted(
        tuple(float(values[name]) for name in names),
        tuple(name not in given.normal for name in names),
        tuple(tuple(given.covariance[i][k] for k in some) for i in some),
        tuple(_domain(wiring, name) for name in names),
    )
    parts = where.split(".")
    labels = [f"{n} of {parts[-1]}" if parts[0] == "space" else n for n in names]
    units = tuple(wiring.quantities[name].unit for name in names)
    ctx.uncertain[where] = Source(where, tuple(labels), units, law, "as fitted, together")
    for number, name in enumerate(names):
        values[name] = Middle.at(values[name], where, number)


def _varies(wiring: Wiring, given: Together, name: str, values: Mapping[str, float]) -> bool:
    """Tell whether a figure can be drawn: it is there, not whole, and above 0 if it must."""
    if name not in values or any(quantity.integer for quantity, _ in declarations(wiring, name)):
        return False
    return name in given.normal or values[name] > 0


def in_words(given: UncertainTable) -> str:
    """Return how a number is uncertain as the study wrote it."""
    for kind in LAWS:
        value = getattr(given, kind)
        if value is None:
            continue
        if kind == "between":
            return f"between {shown(value[0])} and {shown(value[1])}"
        if isinstance(value, list):
            return f"{kind} from {' to '.join(shown(v) for v in value)}"
        other = getattr(given, _WITH[kind])
        return f"{kind}, {shown(value)}, {_WITH[kind]} {shown(other)}"
    return "uncertain"


def _label(where: str, name: str) -> str:
    """Return what an uncertain number is called: by its row or objective, if it has one."""
    parts = where.split(".")
    if parts[0] == "space":
        return f"{name} of {parts[-2]}"
    return f"{name} of {parts[0]}" if "at" in parts else name


def _law(
    ctx: Context,
    wiring: Wiring,
    where: str,
    name: str,
    table: UncertainTable,
    clock: float | None,
) -> Law | None:
    """Read a law; None, and a problem, if there is none."""
    for key in table.model_extra or {}:
        ctx.add(f"{where}.{key}", f"unknown key '{key}'", nearest(key, UncertainTable.model_fields))
    kinds = [kind for kind in LAWS if getattr(table, kind) is not None]
    if len(kinds) != 1:
        said = f"says it {len(kinds)} times" if kinds else "does not say"
        ctx.add(where, f"{said} how {name} is uncertain", f"give one of {', '.join(LAWS)}")
        return None
    if any(quantity.integer for quantity, _ in declarations(wiring, name)):
        remedy = "list its values under over, with weights if some are likelier"
        ctx.add(where, f"{name} is a whole number, which is not drawn", remedy)
        return None
    kind: Kind = kinds[0]  # type: ignore[assignment]
    for first, other in _WITH.items():
        if (kind == first) != (getattr(table, other) is not None):
            message = f"'{first}' and '{other}' go together"
            ctx.add(f"{where}.{other}", message, f"{other}: {_what(other)}")
            return None
    numbers = _numbers(ctx, wiring, where, name, table, kind, clock)
    if numbers is None or not _sound(ctx, wiring, where, name, kind, numbers):
        return None
    return Law(kind, numbers, _domain(wiring, name))


def _what(key: str) -> str:
    return UncertainTable.model_fields[key].description or ""


def _numbers(
    ctx: Context,
    wiring: Wiring,
    where: str,
    name: str,
    table: UncertainTable,
    kind: str,
    clock: float | None,
) -> tuple[float, ...] | None:
    """Read the numbers of a law in the quantity's unit; None, and a problem, if one cannot be."""
    given = getattr(table, kind)
    unit = wiring.quantities[name].unit
    listed = [given] if not isinstance(given, list) else given
    places = [f"{where}.{kind}"] if not isinstance(given, list) else []
    places = places or [f"{where}.{kind}[{i + 1}]" for i in range(len(listed))]
    read = [
        ctx.number(place, name, number, unit, clock)
        for place, number in zip(places, listed, strict=True)
    ]
    if kind == "normal":
        read.append(ctx.number(f"{where}.deviation", name, table.deviation or 0.0, unit, clock))
    if kind == "lognormal":
        read.append(float(table.factor or 0.0))
    numbers = tuple(number for number in read if number is not None)
    if len(numbers) < len(read):
        return None
    if not all(map(math.isfinite, numbers)):
        ctx.add(where, "a number of it is infinite", "give finite numbers")
        return None
    return numbers


def _sound(
    ctx: Context,
    wiring: Wiring,
    where: str,
    name: str,
    kind: str,
    numbers: tuple[float, ...],
) -> bool:
    """Require numbers in order and in the domain."""
    place = f"{where}.{kind}"
    if kind == "normal" and not numbers[1] > 0:
        ctx.add(f"{where}.deviation", "is not above 0", "a number that is known is given as such")
        return False
    if kind == "lognormal" and not (numbers[1] > 1 and numbers[0] > 0):
        key, least = ("factor", "1") if numbers[0] > 0 else ("lognormal", "0")
        ctx.add(f"{where}.{key}", f"is not above {least}", _what(key))
        return False
    ends = numbers[:1] if kind in _WITH else numbers
    if list(ends) != sorted(ends):
        ctx.add(place, "is reversed", "write the lesser number first: [low, high]")
        return False
    if len(ends) > 1 and ends[0] == ends[-1]:
        ctx.add(place, "is empty: its ends are equal", "a number that is known is given as such")
        return False
    return ctx.in_domain(wiring, place, name, np.array(ends))


def _domain(wiring: Wiring, name: str) -> tuple[float, float]:
    """Return the least and the greatest number that every model takes."""
    low, high = -math.inf, math.inf
    for quantity, scale in declarations(wiring, name):
        low = max(low, quantity.low / scale, math.nextafter(quantity.above / scale, math.inf))
        high = min(high, quantity.high / scale, math.nextafter(quantity.below / scale, -math.inf))
    return low, high


def reduction_of(
    ctx: Context, where: str, reduce: str | None, upper: bool, quantile: float | None = None
) -> Reduction | None:
    """Read how scenarios become one number; None if it is not said.

    Parameters
    ----------
    upper : bool
        Whether less is better, or the bound is an upper one: then the greatest is the worst.
    """
    if reduce is None:
        return None
    if reduce == "worst":
        return Reduction("max" if upper else "min", told="worst")
    if reduce.strip().endswith("%"):
        share = float(reduce.strip().removesuffix("%")) / 100.0
        if not 0.0 <= share <= 1.0:
            ctx.add(f"{where}.reduce", f"{reduce} is not a share", "give 0 % to 100 %")
            return None
        return Reduction("quantile", share if upper else 1.0 - share, told=reduce.strip())
    if reduce == "regret":
        message = "is known after a search, not in it: it takes the best design of each sample"
        ctx.add(f"{where}.reduce", message, "the report says it for the designs of the front")
        return None
    how: Any = reduce
    return Reduction(how, 0.5 if quantile is None else quantile)


def asks_samples(wiring: Wiring, names: Sequence[str], conditions: Mapping[str, Any]) -> bool:
    """Tell whether some quantities depend on what is uncertain."""
    needed = wiring.needs(names, conditions).names
    return SAMPLE in needed or any(isinstance(conditions.get(n), Middle) for n in needed)
