"""Grounds: what bounds rest on, as data: tables of values, declarations, domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dse.evaluate.ranges import Ranges
from dse.model.contract import Model

_SIGNS = {1: "+", -1: "-", 0: "="}


class Ground(NamedTuple):
    """What the bounds of one output rest on.

    Parameters
    ----------
    model, output : str
        Whose.
    by : str
        ``"table"``: all values of the variables that reach it were run. ``"monotonic"``: the
        author declares it. ``"lower bound"``: a function that the author
        declares.
        ``"domain"``: the declared domain alone, until its inputs have one value.
    how : str
        The variables of the table, the signs of the inputs, the lower bound, or the domain.
    """

    model: str
    output: str
    by: str
    how: str


def grounds(ranges: Ranges) -> tuple[Ground, ...]:
    """Return what all bounds so far rest on, each once."""
    wiring = ranges.evaluator.wiring
    models = {model.name: model for model in wiring.models}
    found: dict[Ground, None] = {}
    for (key, name), table in ranges.tables().items():
        model = models[key[0]]
        if table is None:
            found |= dict.fromkeys(_declared(model, name))
        else:
            names = ", ".join(ranges.axes[i].name for i in table.variables)
            found[Ground(model.name, name, "table", names or "constants")] = None
    return tuple(found)


def _declared(model: Model, name: str) -> list[Ground]:
    found = []
    moves = model.monotonic.get(name, {})
    if moves:
        text = " ".join(f"{_SIGNS[sign]}{each}" for each, sign in moves.items())
        found.append(Ground(model.name, name, "monotonic", text))
    for floor in model.lower_bounds.get(name, ()):
        own = getattr(floor.function, "__name__", "a function")
        found.append(Ground(model.name, name, "lower bound", own))
    domain = model.outputs[name].domain()
    return found or [Ground(model.name, name, "domain", domain)]


def told(ground: Mapping[str, str]) -> str:
    """Return a ground in words.

    >>> told(Ground("m:f", "speedup", "monotonic", "+lanes")._asdict())
    'speedup (m:f) is monotonic as declared: +lanes'
    """
    words = {
        "table": "was run for all values of",
        "monotonic": "is monotonic as declared:",
        "lower bound": "is never below its lower bound",
        "domain": "is in its declared domain",
    }
    return f"{ground['output']} ({ground['model']}) {words[ground['by']]} {ground['how']}"
