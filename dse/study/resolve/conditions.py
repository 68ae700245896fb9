"""Conditions: the inputs that an objective, a constraint or a curve binds for itself alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from dse.evaluate.conditions import Conditions
from dse.evaluate.wiring import Wiring
from dse.study.provenance import ASSUMED, origin_of
from dse.study.resolve.context import Context, shown
from dse.study.resolve.uncertain import in_words as in_samples
from dse.study.resolve.uncertain import read_figure
from dse.study.uncertain import UncertainTable

_SCENARIOS = 100_000
"""Scenarios beyond which a study is refused: each is an evaluation of every design."""


def read_conditions(
    ctx: Context, wiring: Wiring, where: str, given: Mapping[str, Any]
) -> dict[str, float]:
    """Read the inputs that are bound for one target alone; those with a problem are left out."""
    clock = wiring.constants.get("clock")
    conditions = {}
    for name, number in given.items():
        place = f"{where}.{name}"
        if name not in wiring.quantities:
            ctx.unknown(wiring, place, name, "input")
            if not isinstance(number, UncertainTable):
                ctx.readable(place, number)
            continue
        if (origin := origin_of(number)) != ASSUMED and not isinstance(number, UncertainTable):
            key = "source" if origin.source else "provenance"
            message = f"'{key}' has no effect: what is asked is no figure unless it is uncertain"
            ctx.add(place, message, f"{name} = {shown(number)}")
        value = read_figure(ctx, wiring, place, name, number, clock)
        if value is not None:
            conditions[name] = value
            ctx.origins[place, "", name] = origin
    return conditions


def read_scenarios(
    ctx: Context, wiring: Wiring, where: str, given: Mapping[str, list[Any]]
) -> Conditions:
    """Read lists of values: every combination of them is a scenario."""
    count = math.prod(len(values) for values in given.values())
    if count > _SCENARIOS:
        message = f"makes {count:,} scenarios, more than {_SCENARIOS:,}"
        ctx.add(where, message, "every combination of the values is one: give fewer")
        return {}
    read = {
        name: [
            bound[name]
            for value in values
            if name in (bound := read_conditions(ctx, wiring, where, {name: value}))
        ]
        for name, values in given.items()
    }
    every = tuple(itertools.product(*read.values()))
    return {name: tuple(row[i] for row in every) for i, name in enumerate(read)}


def in_words(at: Mapping[str, Any]) -> str:
    """Return bound inputs as the study wrote them.

    >>> in_words({"granularity": "1 KiB", "lanes": 4})
    'at granularity = 1 KiB, lanes = 4'
    """
    told = [
        f"{n} {in_samples(v)}" if isinstance(v, UncertainTable) else f"{n} = {shown(v)}"
        for n, v in at.items()
    ]
    return f"at {', '.join(told)}" if at else ""
