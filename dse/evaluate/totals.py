"""Totals: quantities that add up over the kernels of a system.

The options of a variable set what its kernels add, such as ``aes_area``. A model per total adds
them in the order of the kernels, so that a sum has one value to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Real, Space
from dse.model.contract import Model
from dse.model.quantity import Array, Quantity

NOT_BUILT = "not built"
"""The option of a kernel that stays on the host."""
BUILT = "built"
"""The input of kernels' models that is 1 if an engine does the calls, and 0 if the host does."""


@dataclass(frozen=True)
class Total:
    """The function of a model that adds what the kernels give."""

    name: str
    total: str
    """What kernels give; another name than the output if only some kernels are added."""
    parts: tuple[str, ...]
    """The inputs, in the order of the kernels."""

    def __call__(self, **values: Any) -> SimpleNamespace:
        """Return the total of values that broadcast.

        >>> Total("area", "area", ("aes_area", "sha_area"))(aes_area=2.0, sha_area=3.0).area
        5.0
        """
        total = values[self.parts[0]]
        for part in self.parts[1:]:
            total = total + values[part]
        return SimpleNamespace(**{self.name: total})


def part_name(kernel: str, total: str) -> str:
    """Return the name of a kernel's part of a total."""
    return f"{kernel}_{total}"


def make_total_model(name: str, total: str, quantity: Quantity, kernels: Sequence[str]) -> Model:
    """Return the model that adds what kernels give to a total, under a name."""
    parts = {part_name(kernel, total): kernel for kernel in kernels}
    added = {
        part: replace(quantity, about=f"{quantity.about}, of {k}") for part, k in parts.items()
    }
    return Model(
        f"total of {name}",
        Total(name, total, tuple(parts)),
        added,
        {},
        {name: quantity},
        {part: part for part in parts},
        {name: name},
        monotonic={name: dict.fromkeys(parts, 1)},
    )


def make_part_total(part: str, sums: Iterable[Model]) -> Model:
    """Return the part of one kernel as a separate total."""
    source = next(model for model in sums if part in model.inputs)
    total = getattr(source.function, "total", "")
    quantity = next(iter(source.outputs.values()))
    function = Total(part, total, (part,))
    return replace(
        source, name=part, function=function, inputs={part: quantity}, outputs={part: quantity}
    )


@dataclass(frozen=True)
class System:
    """An evaluator of a system, seen as options that add up and a function of their totals."""

    totals: tuple[str, ...]
    """The totals that objectives or constraints depend on."""
    names: Mapping[str, tuple[str, ...]]
    """By variable: its options. A variable is a kernel, or several that share something."""
    options: Mapping[str, Array]
    """By variable: the amounts that each option adds. Shape (options, totals)."""
    inner: Evaluator
    """The same objectives and constraints, with a continuous variable for each total."""

    def on_host(self, variable: str) -> Array | None:
        """Return what a variable adds if nothing is built; None if something always is."""
        names = self.names[variable]
        return self.options[variable][names.index(NOT_BUILT)] if NOT_BUILT in names else None

    @property
    def limits(self) -> dict[str, float]:
        """The upper bounds that constraints set on totals."""
        bounds: dict[str, float] = {}
        for constraint in self.inner.constraints:
            name = constraint.quantity
            if name in self.totals and constraint.upper and not constraint.conditions:
                bounds[name] = min(bounds.get(name, constraint.bound), constraint.bound)
        return bounds


def find_system(evaluator: Evaluator) -> System | None:
    """Return the structure of a system; None if the evaluator has another one.

    Only models of totals then read what the variables set.
    """
    graph, variables = evaluator.model_graph, evaluator.space.variables
    sums = {name: m for m in graph.models if isinstance(m.function, Total) for name in m.outputs}
    others = [m for m in graph.models if not isinstance(m.function, Total)]
    wanted = {name for name, _ in evaluator.requests()}
    parts = {part for m in sums.values() for part in m.inputs}
    read = {name for m in others for name in m.inputs} | wanted
    if not sums or not evaluator.space.quantities().keys() <= parts or read & parts - wanted:
        return None
    needed = graph.needs(sorted(wanted)).names
    own = {part: make_part_total(part, sums.values()) for part in sorted(wanted & parts)}
    sums |= own  # of one kernel: an objective or a constraint names it
    names = tuple(name for name in sums if name in needed)
    free = dict(graph.free) | {name: sums[name].outputs[name] for name in names}
    choices = {k: v for k, v in variables.items() if isinstance(v, Choice)}
    inner = replace(
        evaluator,
        model_graph=replace(graph, models=tuple(others), varied=frozenset(names), free=free),
        space=Space({name: Real(*_range(sums[name].outputs[name])) for name in names}),
    )
    options = {key: _added(v, [sums[name] for name in names]) for key, v in choices.items()}
    return System(names, {key: v.names for key, v in choices.items()}, options, inner)


def _added(variable: Choice, sums: Sequence[Model]) -> Array:
    """Return what the options of a variable add (options, totals)."""
    rows = variable.rows.values()
    return np.array(
        [[sum(row[part] for part in m.inputs if part in row) for m in sums] for row in rows],
        dtype=np.float64,
    )


def _range(quantity: Quantity) -> tuple[float, float]:
    low = max(quantity.low, quantity.above)
    return (low, low + 1.0) if low > -np.inf else (-1.0, 1.0)
